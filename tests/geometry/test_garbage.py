"""Wrong meshes, poses and pairs: errors that name what is wrong, and never a crash."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from pressure_fields import random_pose, random_shape
from sapwood import _core
from sapwood.geometry import FieldShape, PressureField, contact_surface, contact_surfaces


def degenerate(m):
    m.v[m.t[m.i, 3]] = m.v[m.t[m.i, 0]] + m.rng.uniform(-1, 1) * (
        m.v[m.t[m.i, 1]] - m.v[m.t[m.i, 0]]
    )


def duplicate(m):
    others = np.delete(np.arange(len(m.t)), m.i)
    m.t[m.i] = m.t[m.rng.choice(others)][[1, 2, 0, 3]]


def inverted(m):
    m.t[m.i] = m.t[m.i][[1, 0, 2, 3]]


def repeated(m):
    m.t[m.i, m.rng.integers(1, 4)] = m.t[m.i, 0]


def outside(m):
    m.t[m.i, m.rng.integers(4)] = m.rng.choice([-1, len(m.v), 2**31 - 1, -(2**31)])


def undefined(m):
    m.v[m.t[m.i, 0], m.rng.integers(3)] = m.rng.choice([math.nan, math.inf, -math.inf])


def pressureless(m):
    m.p[m.t[m.i, 0]] = m.rng.choice([math.nan, math.inf])


def huge(m):
    m.v[m.t[m.i, 0]] = 1e200


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (degenerate, r"tetrahedra\[\d+\] = .*: its volume \(m\^3\) must be finite and > 0"),
        (duplicate, r"tetrahedra\[\d+\]: is there twice"),
        (inverted, r"tetrahedra\[{i}\] = -.*: its volume \(m\^3\) must be finite and > 0"),
        (repeated, r"tetrahedra\[{i}\] = \d+.*: has this vertex twice"),
        (outside, r"tetrahedra\[{i}\] = -?\d+.*: names a vertex that is not there"),
        (undefined, r"vertices\[\d+, \d\] = (nan|-?inf): must be finite"),
        (pressureless, r"pressure\[\d+\] = (nan|inf): must be finite"),
        (huge, r"tetrahedra\[\d+\].*: its volume \(m\^3\) must be finite and > 0"),
    ],
)
def test_wrong_meshes_are_refused(rng, spoil, text):
    for _ in range(20):
        shape = random_shape(rng)
        v, t, p = shape.vertices.copy(), shape.cells.copy(), shape.pressure.copy()
        mesh = SimpleNamespace(v=v, t=t, p=p, i=int(rng.integers(len(t))), rng=rng)
        spoil(mesh)
        with pytest.raises(ValueError, match=text.replace("{i}", str(mesh.i))):
            FieldShape.tetrahedra(v, t, p)


def test_a_vertex_that_no_cell_has_changes_nothing(rng):
    """However far away: its distance from the origin overflows."""
    ball = PressureField(1e5, 0.5).sphere(1.0)
    v, t, p = np.eye(4, 3), np.array([[3, 0, 1, 2]]), np.array([0.0, 0.0, 0.0, 1.0])
    alone = FieldShape.tetrahedra(v, t, p)
    beside = FieldShape.tetrahedra([*v, [1e160, 0.0, 0.0]], t, [*p, 0.0])
    for _ in range(10):
        pose = random_pose(rng, 0.5)
        expected = contact_surface(alone, None, ball, pose)
        surface = contact_surface(beside, None, ball, pose)
        np.testing.assert_array_equal(surface.areas, expected.areas)
        np.testing.assert_array_equal(surface.force, expected.force)


def test_random_arrays_give_a_shape_or_an_error(rng):
    texts = []
    for _ in range(300):
        n, m = rng.integers(1, 7, 2)
        v = rng.choice([0.0, 1.0, -1.0, 1e-300, 1e160], size=(n, 3), p=[0.4, 0.3, 0.2, 0.05, 0.05])
        if rng.integers(2):
            v = rng.normal(size=(n, 3))
        t = rng.integers(-1 if rng.integers(3) == 0 else 0, n + (rng.integers(3) == 0), size=(m, 4))
        p = rng.choice([0.0, 1.0, 1e300, -1.0], size=n)
        for make in (
            lambda v=v, t=t, p=p: FieldShape.tetrahedra(v, t, p),
            lambda v=v, t=t: FieldShape.triangles(v, t[:, :3]),
        ):
            try:
                shape = make()
            except ValueError as error:
                texts.append(str(error))
                continue
            for other in (PressureField(1e5, 0.5).sphere(1.0), FieldShape.half_space()):
                if not (shape.rigid and other.rigid):
                    contact_surface(shape, None, other, random_pose(rng, 0.5))
    names = ("tetrahedra", "triangles", "vertices", "pressure")
    assert all(text.startswith(names) for text in texts)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: FieldShape.tetrahedra([], [], []), "tetrahedra: must be 1 to 2"),
        (lambda: FieldShape.tetrahedra([], [[0, 1, 2, 3]], []), "vertices: must not be empty"),
        (lambda: FieldShape.triangles(np.eye(3), []), "triangles: must be 1 to 2"),
        (lambda: FieldShape.triangles(np.eye(3), [[0, 1]]), r"triangles has shape \(1, 2\)"),
        (lambda: FieldShape.triangles(np.eye(2), [[0, 1, 2]]), r"vertices has shape \(2, 2\)"),
        (
            lambda: FieldShape.triangles(np.ones((3, 3)), [[0, 1, 2]]),
            r"triangles\[0\] = 0: its",
        ),
        (lambda: FieldShape.tetrahedra(np.eye(4, 3), [[0, 1, 2, 3]], [0]), "pressure has shape"),
        (lambda: FieldShape.half_space(-1.0), "slope = -1: must be finite and > 0"),
        (lambda: FieldShape.half_space(1.0, -1.0), "margin = -1: must be finite and >= 0"),
    ],
)
def test_wrong_arrays_are_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()


SOFT = PressureField(1e5, 0.05, thickness=0.1)
RIGID = PressureField(math.inf, 0.05)


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (RIGID.box([1, 1, 1]), RIGID.sphere(0.1), "two rigid shapes have no contact surface"),
        (RIGID.half_space(), RIGID.sphere(0.1), "two rigid shapes have no contact surface"),
        (SOFT.half_space(), SOFT.sphere(0.1), "a compliant half space meets rigid meshes alone"),
        (SOFT.sphere(0.1), SOFT.half_space(), "a compliant half space meets rigid meshes alone"),
        (SOFT.half_space(), RIGID.half_space(), "a compliant half space meets rigid meshes alone"),
        (RIGID.half_space(), SOFT.half_space(), "a compliant half space meets rigid meshes alone"),
    ],
)
def test_pairs_without_a_surface(a, b, text):
    good = (SOFT.sphere(0.1), None, RIGID.half_space(), None)
    with pytest.raises(ValueError, match=rf"pairs\[1\]: {text}"):
        contact_surfaces([good, (a, None, b, None)])


def scaled(X):
    X[:3, :3] *= 1.01


def mirrored(X):
    X[:3, 0] *= -1


def in_projective_space(X):
    X[3, 3] = 2


def nowhere(X):
    X[0, 3] = math.nan


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (scaled, r"pose_b\[0\]: R must be a rotation"),
        (mirrored, r"pose_b\[0\]: R must be a rotation"),
        (in_projective_space, r"pose_b\[3\]: the last row must be 0, 0, 0, 1"),
        (nowhere, r"pose_b\[0, 3\] = nan: must be finite"),
    ],
)
def test_wrong_poses_are_refused(rng, spoil, text):
    X = random_pose(rng, 0.1)
    spoil(X)
    with pytest.raises(ValueError, match=text):
        contact_surface(SOFT.sphere(0.1), None, RIGID.half_space(), X)


def test_wrong_types_are_refused():
    ball = SOFT.sphere(0.1)
    with pytest.raises(TypeError, match="b must be a FieldShape, not str"):
        contact_surface(ball, None, "floor", None)
    with pytest.raises(ValueError, match="faces must be one of polygons, triangles"):
        contact_surface(ball, None, ball, None, faces="squares")
    with pytest.raises(TypeError, match="a shape must be one of field_shape, not int"):
        _core.contact_surfaces([(1, None, 2, None)], False)
    with pytest.raises(TypeError, match="a pair must be a tuple of two shapes"):
        _core.contact_surfaces([(ball._shape, None)], False)
    assert contact_surfaces([]) == []
