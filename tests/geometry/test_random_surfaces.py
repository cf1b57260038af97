"""Random pairs: against the reference, under motions and swapping, and what their sums must be."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest

from pressure_fields import random_pose, random_shape, shape_of, small_cases
from sapwood.geometry import (
    ContactSurface,
    FieldShape,
    PressureField,
    contact_surface,
    contact_surfaces,
)
from sapwood.geometry.splitting import boundary, volumes
from sapwood.reference import contact_faces

FIELDS = {field.name for field in dataclasses.fields(ContactSurface)}


def random_pairs(rng, n):
    """Overlapping in most cases, some deeply, some rigid, some half spaces.

    Of n pairs, each with poses of its own; a thousand share a hundred shapes.
    """
    few = min(n, 100)
    soft = [random_shape(rng) for _ in range(few)]
    rigid = [random_shape(rng, math.inf) for _ in range(few)]
    pairs = []
    for _ in range(n):
        a = soft[rng.integers(few)]
        kind = rng.integers(4)
        if kind == 0:
            b = FieldShape.half_space()
        else:
            b = rigid[rng.integers(few)] if kind == 1 else soft[rng.integers(few)]
        if kind == 1 and rng.integers(4) == 0:
            a = FieldShape.half_space(10 ** rng.uniform(5, 8), rng.choice([0.0, 0.002]))
        pair = (a, random_pose(rng, 1.0), b, random_pose(rng))
        pair[3][:3, 3] = pair[1][:3, 3] + rng.uniform(-0.05, 0.05, 3)
        pairs.append(pair)
    return pairs


def scale_of(surface):
    """Largest force that its faces could have, N."""
    return np.abs(surface.loads).sum() + 1e-9


# ---- one implementation against the other --------------------------------------------------------


def test_reference(rng):
    """The kernel is as accurate as float64 allows: the reference has more digits."""
    met = 0
    for pair in random_pairs(rng, 25):
        surface = contact_surface(*pair)
        faces = contact_faces(*pair, dtype=np.longdouble)
        expected = {(face.cell_a, face.cell_b): face for face in faces}
        largest = max((face.area for face in faces), default=1e-4)
        steep = max((abs(face.p0) for face in faces), default=1.0) + 1.0
        found = zip(surface.cells_a, surface.cells_b, strict=True)
        ours = {key: i for i, key in enumerate(found)}
        for key in expected.keys() | ours.keys():
            area = expected[key].area if key in expected else 0.0
            i = ours.get(key)
            assert abs((surface.areas[i] if i is not None else 0.0) - area) <= 1e-9 * largest
            if i is not None and key in expected and area > 1e-6 * largest:
                face = expected[key]
                assert np.allclose(surface.centroids[i], face.centroid.astype(float), atol=1e-9)
                assert np.allclose(surface.normals[i], face.normal.astype(float), atol=1e-9)
                assert abs(surface.pressures[i] - face.p0) <= 1e-8 * steep
                assert abs(surface.g_a[i] - face.g_a) <= 1e-9 * abs(face.g_a) + 1e-3
                assert abs(surface.steepness[i] - face.steepness) <= 1e-9 * face.steepness
                assert abs(surface.k[i] - face.k) <= 1e-8 * abs(face.k) + 1e-9
        met += len(surface) > 0
    assert met > 0


@pytest.mark.parametrize("path", small_cases(), ids=lambda path: path.stem)
def test_reference_on_cases(path):
    """In float64 too, where faces are as large as the surface."""
    case = np.load(path)
    pair = (shape_of(case, "A"), case["X_WA"], shape_of(case, "B"), case["X_WB"])
    surface, faces = contact_surface(*pair), contact_faces(*pair)
    assert len(faces) == len(surface)
    force = sum(face.area * face.p0 * face.normal for face in faces)
    assert np.linalg.norm(surface.force - force) <= 1e-12 * np.linalg.norm(force)
    assert abs(surface.k.sum() - sum(face.k for face in faces)) <= 1e-12 * surface.k.sum()


# ---- symmetries ----------------------------------------------------------------------------------


def test_moved_pairs(rng):
    pairs = random_pairs(rng, 1000)
    X = random_pose(rng, 0.5)
    moved = [(a, X @ pose_a, b, X @ pose_b) for a, pose_a, b, pose_b in pairs]
    for at_rest, carried in zip(contact_surfaces(pairs), contact_surfaces(moved), strict=True):
        assert abs(at_rest.areas.sum() - carried.areas.sum()) <= 1e-9
        force = X[:3, :3] @ at_rest.force
        assert np.linalg.norm(carried.force - force) <= 1e-7 * scale_of(at_rest)
        torque = X[:3, :3] @ at_rest.torque + np.cross(X[:3, 3], force)
        assert np.linalg.norm(carried.torque - torque) <= 1e-7 * scale_of(at_rest)


def test_swapped_pairs(rng):
    pairs = random_pairs(rng, 1000)
    swapped = [(b, pose_b, a, pose_a) for a, pose_a, b, pose_b in pairs]
    for one, other in zip(contact_surfaces(pairs), contact_surfaces(swapped), strict=True):
        assert abs(one.areas.sum() - other.areas.sum()) <= 1e-9
        assert np.linalg.norm(one.force + other.force) <= 1e-7 * scale_of(one)
        assert np.linalg.norm(one.torque + other.torque) <= 1e-7 * scale_of(one)
        assert abs(one.k.sum() - other.k.sum()) <= 1e-6 * (one.k.sum() + 1)


def test_everything_is_finite(rng):
    """Whatever the depth: apart, grazing, one inside of the other, both in the same place."""
    pairs = random_pairs(rng, 1000)
    for i, (a, pose_a, b, _) in enumerate(pairs):
        depth = 10 ** rng.uniform(-14, -1)
        pose_b = pose_a @ random_pose(rng, depth) if i % 2 else pose_a.copy()
        pairs[i] = (a, pose_a, b, pose_b)
    for surface in contact_surfaces(pairs) + contact_surfaces(pairs, faces="triangles"):
        for name in FIELDS - {"g_a", "g_b"}:
            assert np.all(np.isfinite(getattr(surface, name))), name
        assert not np.any(np.isnan(surface.g_a) | np.isnan(surface.g_b))
        assert np.all(surface.areas > 0)
        g = surface.k[surface.kept] / surface.areas[surface.kept]
        assert np.all(g <= surface.steepness[surface.kept] * (1 + 1e-12))
        assert np.allclose(np.linalg.norm(surface.normals, axis=1), 1, atol=1e-9)
        assert np.all(np.diff(surface.face_starts) >= 3)


def test_polygons_are_right_handed_and_plane(rng):
    for surface in contact_surfaces(random_pairs(rng, 100)):
        for i, polygon in enumerate(surface.polygons):
            edges = polygon[1:] - polygon[0]
            area = 0.5 * np.cross(edges[:-1], edges[1:]).sum(axis=0) @ surface.normals[i]
            assert area == pytest.approx(surface.areas[i], rel=1e-6, abs=1e-13)
            height = (polygon - surface.centroids[i]) @ surface.normals[i]
            assert np.all(np.abs(height) <= 1e-9)


def test_batches_and_bits(rng):
    """One call for all is as many calls; the same numbers again, in the same order."""
    pairs = random_pairs(rng, 40)
    together = contact_surfaces(pairs)
    for pair, surface in zip(pairs, together, strict=True):
        alone = contact_surface(*pickle.loads(pickle.dumps(pair)))
        for name in FIELDS:
            assert np.array_equal(getattr(alone, name), getattr(surface, name)), name


def test_arrays_are_made_when_asked_for(rng):
    """Copies and pickles have them whether or not the surface was asked before."""
    pair = next(p for p in random_pairs(rng, 100) if len(contact_surface(*p)) > 0)
    expected = contact_surface(*pair)
    for asked in (False, True):
        surface = contact_surface(*pair)
        if asked:
            assert surface.areas is surface.areas
        twins = [copy.copy(surface), pickle.loads(pickle.dumps(surface))]
        twins += [dataclasses.replace(surface), copy.deepcopy(surface), surface]
        for twin in twins:
            for name in FIELDS:
                assert np.array_equal(getattr(twin, name), getattr(expected, name)), name
            assert vars(twin).keys() == FIELDS
    with pytest.raises(AttributeError, match="'area'"):
        contact_surface(*pair).area  # noqa: B018
    with pytest.raises(dataclasses.FrozenInstanceError):
        surface.areas = np.zeros(1)


# ---- sums that are known -------------------------------------------------------------------------


def test_slices_add_up(rng):
    """Areas of slices by a plane integrate to the volume, their forces to the integral of p.

    Between two vertices they are polynomials of degree two and three in the height, which Simpson's
    rule integrates without error.
    """
    for _ in range(10):
        shape = random_shape(rng)
        pose = random_pose(rng)
        heights = np.unique(shape.vertices @ pose[2, :3] + pose[2, 3])
        steps = np.diff(heights)
        floor = FieldShape.half_space()
        sums = np.zeros(2)
        # at the ends of an interval the surface may run along faces: take Gauss' points inside
        for part, weight in ((-math.sqrt(0.6), 5 / 18), (0.0, 4 / 9), (math.sqrt(0.6), 5 / 18)):
            levels = heights[:-1] + steps * (1 + part) / 2
            lifted = []
            for level in levels:
                X = pose.copy()
                X[2, 3] -= level
                lifted.append((shape, X, floor, None))
            surfaces = contact_surfaces(lifted)
            values = np.array([[s.areas.sum(), s.force[2]] for s in surfaces])
            sums += weight * steps @ values
        parts = volumes(shape.vertices, shape.cells)
        # without a gradient there are no faces: shapes of the kind have none such
        integral = parts @ shape.pressure[shape.cells].mean(axis=1)
        assert sums[0] == pytest.approx(parts.sum(), rel=1e-10)
        assert sums[1] == pytest.approx(integral, rel=1e-9, abs=1e-12 * shape.pressure.max())


def test_box_pressed_flat_on_a_box(rng):
    """Equal cubes, face to face: p = E depth/edge on a square smaller by the depth, and a bevel.

    Near the sides the pressures are equal in a whole volume; the surface goes along one side of it,
    where faces of one box lie in it, up to p = 0. Moved by a hair it goes along either.
    """
    for _ in range(20):
        E, L = 10 ** rng.uniform(4, 7), rng.uniform(0.05, 0.3)
        depth = L * rng.uniform(0.02, 0.5)
        cube = PressureField(E).box([L, L, L])
        X = random_pose(rng, 0.3)
        above = X.copy()
        above[:3, 3] += X[:3, 2] * (L - depth)
        surface = contact_surface(cube, above, cube, X)
        expected = E * depth * ((L - depth) ** 2 / L + depth - 2 / 3 * depth**2 / L)
        assert surface.force @ X[:3, 2] == pytest.approx(expected, rel=1e-9)


def test_surfaces_along_inner_faces(rng):
    """Half spaces and rigid faces in the plane of a face that two tetrahedra share: counted once.

    The force is that of a plane moved a little to one side or the other, though all of the cells
    there change. Rigid faces lose those whose field rises away from them: there the two differ, and
    of several faces in the plane each may go to a side of its own.
    """
    slab = PressureField(math.inf).box([1.0, 1.0, 1.0])
    for _ in range(6):
        shape = random_shape(rng)
        faces = shape.cells[:, [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]].reshape(-1, 3)
        outer = {tuple(sorted(face)) for face in boundary(shape.cells)}
        inner = [face for face in faces if tuple(sorted(face)) not in outer]
        size = np.abs(shape.pressure).max() * np.ptp(shape.vertices, axis=0).max() ** 2
        X = random_pose(rng, 0.2)
        for face in rng.permutation(inner)[:10]:
            corner, u, w = shape.vertices[face]
            plane = np.eye(4)
            plane[:3, :3] = frame_along(u - corner, w - corner)
            for other, thickness in ((FieldShape.half_space(), 0.0), (slab, 0.5)):
                along = []
                for step in (-1e-9, 0.0, 1e-9):
                    plane[:3, 3] = corner + (step - thickness) * plane[:3, 2]
                    surface = contact_surface(shape, X, other, X @ plane)
                    along.append(surface.force @ X[:3, :3] @ plane[:3, 2])
                slack = 1e-6 * size + 0.1 * abs(along[2] - along[0])
                assert min(along[::2]) - slack <= along[1] <= max(along[::2]) + slack


def frame_along(u, w):
    """A rotation whose z axis is along u x w."""
    Q, _ = np.linalg.qr(np.column_stack([np.cross(u, w), u, w]))
    R = Q[:, [1, 2, 0]]
    R[:, 0] *= np.sign(np.linalg.det(R))
    return R


def test_load_does_not_depend_on_the_slope():
    """Sides of a box that is tilted by an angle: g falls with it, phi0 grows, their load stays."""
    box, floor = PressureField(1e6).box([0.1, 0.1, 0.1]), FieldShape.half_space()
    loads = []
    for tilt in (1e-5, 1e-8, 1e-11):
        X = np.eye(4)
        X[[1, 1, 2, 2], [1, 2, 1, 2]] = (
            math.cos(tilt),
            -math.sin(tilt),
            math.sin(tilt),
            math.cos(tilt),
        )
        X[2, 3] = 0.0499
        surface = contact_surface(box, X, floor, None)
        flat = surface.kept & (surface.g_a < 1e-3 * surface.g_a.max())
        assert np.allclose(surface.loads[flat], -surface.k[flat] * surface.phi0[flat], rtol=1e-15)
        loads.append(surface.loads[flat].sum() / surface.force[2])
    assert 1e-4 < loads[0] < 1e-2
    assert np.allclose(loads, loads[0], rtol=0.05)


def test_plot(rng):
    pytest.importorskip("matplotlib")
    ball = PressureField(1e5, resolution=0.03).sphere(0.05)
    X = random_pose(rng)
    X[:3, 3] = X[:3, 2] * 0.06
    surface = contact_surface(ball, X, ball, None)
    ax = surface.plot()
    (patch,) = ax.collections
    assert len(patch.get_facecolor()) == len(surface) > 0
    ax.figure.canvas.draw()
    assert surface.plot(ax) is ax
