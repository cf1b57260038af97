"""Meshes of shapes: counts, volumes, extents, and what Drake makes of the same."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pressure_fields import all_cases, random_shape
from sapwood.geometry import PressureField, ShapeKind
from sapwood.geometry.meshes import distances_to_triangles
from sapwood.geometry.primitives import box, capsule, cylinder, ellipsoid
from sapwood.geometry.splitting import boundary, volumes


def check_mesh(mesh):
    """Positive volumes, faces that meet, a closed boundary where the extent is 0."""
    cells = mesh.tetrahedra
    assert np.all(volumes(mesh.vertices, cells) > 0)
    faces = np.sort(cells[:, [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]].reshape(-1, 3), axis=1)
    _, counts = np.unique(faces, axis=0, return_counts=True)
    assert counts.max() == 2
    outer = boundary(cells)
    edges = np.concatenate([outer[:, [0, 1]], outer[:, [1, 2]], outer[:, [2, 0]]])
    # each edge once in either direction
    assert np.array_equal(np.unique(edges, axis=0), np.unique(edges[:, ::-1], axis=0))
    assert len(np.unique(edges, axis=0)) == len(edges)
    return outer


def between(rng, mesh, n=10):
    """Points in every tetrahedron, (n m, 3), with the extent there."""
    weights = rng.dirichlet(np.ones(4), size=n)
    points = np.einsum("nk,mkj->nmj", weights, mesh.vertices[mesh.tetrahedra])
    return points.reshape(-1, 3), (weights @ mesh.extent[mesh.tetrahedra].T).ravel()


@pytest.mark.parametrize("margin", [0.0, 0.003])
def test_boxes(rng, margin):
    for edges, n_vertices, n_cells in (
        (np.full(3, 0.1), 15, 24),
        (np.array([0.1, 0.1, 0.25]), 17, 40),
        (np.array([0.2, 0.05, 0.2]), 18, 44),
        (np.array([0.1, 0.15, 0.05]), 18, 44),
    ):
        order = rng.permutation(3)
        mesh = box(edges[order], margin)
        assert (len(mesh.vertices), len(mesh.tetrahedra)) == (n_vertices, n_cells)
        check_mesh(mesh)
        half = edges[order] / 2
        assert volumes(mesh.vertices, mesh.tetrahedra).sum() == pytest.approx(
            np.prod(2 * (half + margin)), rel=1e-13
        )
        points, extent = between(rng, mesh)
        # the medial set is resolved: the extent is that of the shape everywhere
        expected = (half - np.abs(points)).min(axis=1) / half.min()
        assert np.all(np.abs(extent - expected) <= 1e-13)


@pytest.mark.parametrize("margin", [0.0, 0.003])
def test_spheres(margin):
    for hint, level in ((0.2, 0), (0.07, 1), (0.03, 2), (0.012, 3)):
        radius = 0.05
        mesh = ellipsoid(np.full(3, radius), hint, margin)
        n = 4 ** (level + 1) + 3
        assert (len(mesh.vertices), len(mesh.tetrahedra)) == (n, 8 * 4**level)
        check_mesh(mesh)
        assert np.allclose(np.linalg.norm(mesh.vertices[1:], axis=1), radius + margin)
        assert np.allclose(mesh.extent, 1 - np.linalg.norm(mesh.vertices, axis=1) / radius)
    long = ellipsoid(np.array([0.05, 0.1, 0.02]), 0.04)
    assert np.allclose(np.sum((long.vertices[1:] / [0.05, 0.1, 0.02]) ** 2, axis=1), 1)
    assert np.allclose(long.extent, np.arange(len(long.vertices)) == 0)


@pytest.mark.parametrize("margin", [0.0, 0.003])
@pytest.mark.parametrize(
    ("length", "a", "b", "c"), [(0.2, 2, 4, 5), (0.1, 2, 3, 4), (0.06, 3, 3, 9)]
)
def test_cylinders(rng, margin, length, a, b, c):
    radius = 0.05
    mesh = cylinder(radius, length, 0.02, margin)
    n = math.ceil(2 * math.pi * (radius + margin) / 0.02)
    assert (len(mesh.vertices), len(mesh.tetrahedra)) == (a * n + b, c * n)
    check_mesh(mesh)
    prism = 0.5 * n * math.sin(2 * math.pi / n) * (radius + margin) ** 2 * (length + 2 * margin)
    assert volumes(mesh.vertices, mesh.tetrahedra).sum() == pytest.approx(prism, rel=1e-12)
    points, extent = between(rng, mesh)
    # between vertices on a circle the surface is nearer to the axis, by 1 - cos(pi/n) at most
    rho = np.hypot(points[:, 0], points[:, 1])
    depth = np.minimum(radius - rho, length / 2 - np.abs(points[:, 2]))
    assert np.all(extent - depth / min(radius, length / 2) <= 1e-12)
    nearer = radius * (1 - math.cos(math.pi / n)) / min(radius, length / 2)
    assert np.all(extent - depth / min(radius, length / 2) >= -nearer * 1.2 - 1e-12)


@pytest.mark.parametrize("margin", [0.0, 0.003])
def test_capsules(margin):
    for hint in (0.2, 0.03, 0.012):
        mesh = capsule(0.03, 0.1, hint, margin)
        n = max(3, math.floor(2 * math.pi * (0.03 + margin) / hint))
        m = n // 2
        assert len(mesh.vertices) == 2 * n * m + 4
        assert len(mesh.tetrahedra) == 4 * n * (m - 1) + 5 * n
        check_mesh(mesh)
        v = mesh.vertices
        off_axis = np.hypot(v[:, 0], v[:, 1])
        distance = np.hypot(off_axis, np.maximum(np.abs(v[:, 2]) - 0.05, 0))
        assert np.allclose(mesh.extent, 1 - distance / 0.03, atol=1e-12)


@pytest.mark.parametrize("path", all_cases())
@pytest.mark.parametrize("side", ["A", "B"])
def test_meshes_of_drake(path, side):
    """The same vertices with the same pressures, in another order; and the boundary where rigid."""
    case = np.load(path)
    kind, params = str(case[f"{side}_kind"]), case[f"{side}_params"]
    rigid = bool(case[f"{side}_rigid"])
    field = PressureField(
        math.inf if rigid else float(case[f"{side}_modulus"]),
        float(case[f"{side}_rez"]),
        float(case[f"{side}_margin"]),
    )
    if kind in ("half_space", "mesh", "convex"):
        return
    parameters = (params,) if kind in ("box", "ellipsoid") else tuple(params)
    shape = getattr(field, kind)(*(x if np.ndim(x) else float(x) for x in parameters))
    expected = case[f"{side}_v"]
    assert shape.vertices.shape == expected.shape
    assert len(shape.cells) == len(case[f"{side}_tri" if rigid else f"{side}_tet"])
    distance = np.linalg.norm(shape.vertices[:, None] - expected, axis=2)
    nearest = distance.argmin(axis=1)
    assert np.all(distance.min(axis=1) <= 1e-14)
    assert len(np.unique(nearest)) == len(nearest)
    if not rigid:
        error = np.abs(shape.pressure - case[f"{side}_p"][nearest])
        assert np.all(error <= 2e-15 * case[f"{side}_modulus"])


# ---- hulls and meshes of tetrahedra --------------------------------------------------------------


def test_hulls(rng):
    pytest.importorskip("scipy")
    points = rng.normal(size=(40, 3)) * 0.05
    shape = PressureField(1e5).convex(points)
    inside = np.argmax(shape.pressure)
    assert shape.pressure[inside] == 1e5
    assert np.all(np.delete(shape.pressure, inside) == 0)
    parts = volumes(shape.vertices, shape.cells)
    assert np.all(parts > 0)
    centroid = parts @ shape.vertices[shape.cells].mean(axis=1) / parts.sum()
    assert np.allclose(shape.vertices[inside], centroid, atol=1e-12)
    inflated = PressureField(1e5, margin=0.002).convex(points)
    larger = volumes(inflated.vertices, inflated.cells).sum()
    area = (
        np.linalg.norm(
            np.cross(*np.diff(shape.vertices[boundary(shape.cells)], axis=1).transpose(1, 0, 2)),
            axis=1,
        ).sum()
        / 2
    )
    assert larger > parts.sum() + 0.002 * area
    assert np.all(inflated.pressure[inflated.pressure < 1e5] < 0)
    with pytest.raises(ValueError, match="points: have no convex hull with a volume"):
        PressureField(1e5).convex(points * [1, 1, 0])


def test_tetrahedra_of_files(tmp_path):
    meshio = pytest.importorskip("meshio")
    mesh = ellipsoid(np.array([0.1, 0.08, 0.05]), 0.05)
    turned = mesh.tetrahedra.copy()
    turned[::2] = turned[::2][:, [1, 0, 2, 3]]
    for name in ("shape.vtk", "shape.msh"):
        path = tmp_path / name
        options = {"file_format": "gmsh"} if name.endswith("msh") else {}
        meshio.Mesh(mesh.vertices, [("tetra", turned)]).write(path, **options)
        shape = PressureField(2e5).mesh(path)
        assert shape.kind is ShapeKind.TETRAHEDRA
        assert np.allclose(shape.vertices, mesh.vertices, atol=1e-12)
        assert np.all(volumes(shape.vertices, shape.cells) > 0)
        assert np.allclose(shape.pressure, 2e5 * mesh.extent)
    rigid = PressureField(math.inf).mesh(mesh.vertices, mesh.tetrahedra)
    assert rigid.kind is ShapeKind.TRIANGLES
    assert len(rigid.cells) == len(mesh.tetrahedra)
    hull = PressureField(1e5).convex(tmp_path / "shape.vtk")
    assert volumes(hull.vertices, hull.cells).sum() == pytest.approx(
        volumes(mesh.vertices, mesh.tetrahedra).sum()
    )
    meshio.Mesh(mesh.vertices, [("triangle", boundary(mesh.tetrahedra))]).write(tmp_path / "s.vtk")
    with pytest.raises(ValueError, match=r"s\.vtk: has no tetrahedra"):
        PressureField(1e5).mesh(tmp_path / "s.vtk")


@pytest.mark.parametrize("more", [1e-12, 1e-10, 1e-8, 1e-7, 5e-7, 1e-6, 3e-6, 1e-5, 1e-3])
def test_boxes_that_are_nearly_cubes(more):
    """Whatever of the medial set is there, its cells are no flat ones, and all fill the box."""
    for edges in ([1, 1, 1 + more], [1, 1 + more, 1 + more], [1, 1 + more, 1 + 2 * more]):
        shape = PressureField(1e5).box(0.1 * np.array(edges))
        corners = shape.vertices[shape.cells]
        volumes = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6
        assert volumes.sum() == pytest.approx(1e-3 * np.prod(edges), rel=2e-6)


def test_margins_of_faces_in_symmetry():
    """Four faces around a vertex, whose weights are not unique."""
    pytest.importorskip("scipy")
    ball = ellipsoid(np.random.default_rng(101).uniform(0.05, 0.1, 3), 0.05)
    check_margins(ball)


def check_margins(ball):
    """All faces move outward by the margin, and those nearest to a vertex by no more."""
    shape = PressureField(1e5, margin=0.002).mesh(ball.vertices, ball.tetrahedra)
    faces = boundary(ball.tetrahedra)
    before, after = ball.vertices[faces], shape.vertices[faces]
    normal = np.cross(before[:, 1] - before[:, 0], before[:, 2] - before[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    steps = np.einsum("fkj,fj->fk", after - before, normal)
    for vertex in np.unique(faces):
        assert steps[faces == vertex].min() == pytest.approx(0.002, rel=1e-6)


def test_margins_of_tetrahedra(rng):
    """Boxes as meshes are boxes; on others all faces move outward by the margin, and by no more."""
    pytest.importorskip("scipy")
    for edges in (np.full(3, 0.1), rng.uniform(0.05, 0.2, 3)):
        plain, margin = box(edges), rng.uniform(1e-3, 1e-2)
        shape = PressureField(1e5, margin=margin).mesh(plain.vertices, plain.tetrahedra)
        assert np.allclose(np.ptp(shape.vertices, axis=0), edges + 2 * margin, atol=1e-14)
        assert np.all(shape.pressure[boundary(shape.cells)] < 0)
        inside = plain.extent > 0
        assert np.array_equal(shape.vertices[inside], plain.vertices[inside])
        assert np.allclose(shape.pressure[inside], 1e5 * plain.extent[inside])
    check_margins(ellipsoid(rng.uniform(0.05, 0.1, 3), 0.05))


def test_faces_that_cannot_be_moved_outward():
    """Two tetrahedra tip to tip: what is outward for one is inward for the other."""
    pytest.importorskip("scipy")
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) + 1.0
    half = np.concatenate([corners.mean(axis=0)[None], corners])
    cells = np.array([[0, 2, 4, 3], [0, 1, 3, 4], [0, 1, 4, 2], [0, 1, 2, 3]])
    points = np.concatenate([half, 2.0 - half])
    other = cells[:, [1, 0, 2, 3]] + 5
    other[other == 6] = 1  # the tip, where both are
    tips = np.concatenate([cells, other])
    with pytest.raises(ValueError, match=r"vertices\[1\]: its faces cannot all be moved outward"):
        PressureField(1e5, margin=0.01).mesh(points, tips)


def test_distances_to_triangles(rng):
    """No nearer than any point of them, and as near as the best of many."""
    triangles = rng.normal(size=(4, 3, 3))
    weights = rng.dirichlet(np.ones(3), size=20000)
    samples = np.einsum("sk,tkj->stj", weights, triangles).reshape(-1, 3)
    corners = triangles.reshape(-1, 3)
    for point in rng.normal(size=(20, 3)):
        nearest = np.linalg.norm(np.concatenate([samples, corners]) - point, axis=1).min()
        found = distances_to_triangles(point, triangles)
        assert nearest - 0.15 <= found.min() <= nearest + 1e-12
        # a point for each triangle
        each = distances_to_triangles(np.tile(point, (4, 1)), triangles)
        np.testing.assert_array_equal(each, found)


def test_drake_fields_of_a_mesh():
    """Distance to the boundary over the greatest such, at every vertex."""
    paths = [v.values[0] for v in all_cases() if v.id == "lmesh_sphere"]
    if not paths:
        pytest.skip("SAPWOOD_DATA names no folder with hydroelastic/*.npz")
    case = np.load(paths[0])
    shape = PressureField(float(case["A_modulus"])).mesh(case["A_v"], case["A_tet"])
    assert np.all(np.abs(shape.pressure - case["A_p"]) <= 2e-15 * case["A_modulus"])


# ---- errors --------------------------------------------------------------------------------------


def test_shapes_do_not_change(rng):
    shape = random_shape(rng)
    with pytest.raises(ValueError, match="read-only"):
        shape.vertices[0] = 0
    with pytest.raises(AttributeError, match="does not change"):
        shape.vertices = None


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: PressureField(0.0), "modulus = 0.0: must be > 0"),
        (lambda: PressureField(math.nan), "modulus = nan: must be > 0"),
        (lambda: PressureField(1e5, resolution=0.0), "resolution = 0.0: must be finite and > 0"),
        (lambda: PressureField(1e5, margin=-1.0), "margin = -1.0: must be finite and >= 0"),
        (lambda: PressureField(math.inf, margin=0.1), "margin = 0.1: rigid shapes have none"),
        (lambda: PressureField(1e5, thickness=math.inf), "thickness = inf: must be finite"),
        (lambda: PressureField(1e5).sphere(0.1), "resolution: must be given"),
        (lambda: PressureField(1e5).half_space(), "thickness: must be given"),
        (lambda: PressureField(1e5, 0.1).sphere(-1.0), "radius = -1.0: must be finite and > 0"),
        (lambda: PressureField(1e5, 0.1).capsule(1.0, 0.0), "length = 0.0: must be finite and > 0"),
        (lambda: PressureField(1e5).box([1.0, 0.0, 1.0]), r"edges\[1\] = 0:"),
    ],
)
def test_wrong_fields_are_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "sizes", "modulus"),
    [
        ("ellipsoid", [[0.05, 0.02, 0.1]], 1e5),
        ("capsule", [0.05, 0.2], 1e5),
        ("cylinder", [0.05, 0.2], math.inf),
        ("cylinder", [0.1, 0.2], 1e5),
        ("cylinder", [0.2, 0.05], 1e5),
    ],
)
def test_no_resolution_makes_too_many_cells(kind, sizes, modulus):
    """The error says which is the least one, and that one is accepted."""
    for resolution in (1e-300, 1e-9, 1e-5):
        with pytest.raises(ValueError, match=f"resolution = {resolution:g}: must be >= ") as error:
            getattr(PressureField(modulus, resolution), kind)(*sizes)
    least = float(str(error.value).split(">= ")[1].split()[0])
    shape = getattr(PressureField(modulus, least), kind)(*sizes)
    assert 131072 // 4 < len(shape.cells) <= 131072
    with pytest.raises(ValueError, match="resolution"):
        getattr(PressureField(modulus, 0.99 * least), kind)(*sizes)
