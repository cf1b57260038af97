"""Contacts of boundary faces in C against the NumPy mirror, and their rows."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import _core, fem
from sapwood.reference import contact_axes, contact_rows, plane_contacts


def random_body(rng):
    """A ball of random positions near those of the mesh, some tetrahedra turned over."""
    mesh = fem.ball(0.1, cells=4)
    soft = fem.Material(young=1e5, poisson=0.3, density=1000.0)
    body = fem.SoftBody(mesh, soft, contact_stiffness=1e7)
    body.positions += 0.02 * rng.standard_normal(body.positions.shape)
    return body


def found_by_core(body, normal, offset):
    mesh = body.mesh
    return _core.fem_plane_contacts(
        mesh._mesh, mesh.faces, mesh.face_tetrahedra, body.positions, normal, offset, 1e7
    )


def test_the_core_agrees_with_the_mirror(rng):
    for _ in range(20):
        body = random_body(rng)
        normal = rng.standard_normal(3)
        normal /= np.linalg.norm(normal)
        offset = rng.uniform(-0.1, 0.1)
        corners = body.positions[body.mesh.tetrahedra[body.mesh.face_tetrahedra]]
        usable = np.linalg.det(corners[:, 1:] - corners[:, :1]) > 0
        assert not usable.all()
        triangles = body.positions[body.mesh.faces]
        expected = plane_contacts(triangles, usable, normal, offset, 1e7)
        found = found_by_core(body, normal, offset)
        np.testing.assert_array_equal(found[0], expected[0])
        movers = np.take_along_axis(body.mesh.faces[expected[0]], expected[1], axis=1)
        np.testing.assert_array_equal(found[1], movers)
        for one, other in zip(found[2:], expected[2:], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-13)


def test_the_load_is_that_of_the_part_below(rng):
    """k phi0 integrates the depth over the part of each triangle below the plane."""
    mesh = fem.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    body = fem.SoftBody(mesh, fem.Material(young=1e5, poisson=0.3, density=1e3), contact="none")
    n = 400
    s = (np.arange(n) + 0.5) / n
    grid = np.stack(np.meshgrid(s, s), axis=-1).reshape(-1, 2)
    grid = grid[grid.sum(axis=1) < 1]
    for _ in range(5):
        normal, offset = np.array([0.6, 0.0, 0.8]), rng.uniform(0.2, 0.7)
        face, _, _, _, k, phi0 = found_by_core(body, normal, offset)
        assert len(face)
        for f, load in zip(face, -k * phi0, strict=True):
            a, b, c = body.positions[mesh.faces[f]]
            x = a + grid[:, :1] * (b - a) + grid[:, 1:] * (c - a)
            depth = np.maximum(0, offset - x @ normal).mean()
            area = -np.cross(b - a, c - a) @ normal / 2
            assert load == pytest.approx(1e7 * area * depth, rel=2e-2)


def test_rows(rng):
    normals = rng.standard_normal((7, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    normals[0] = [0, 0, 1]
    weights = rng.uniform(-1, 1, (7, 4))
    columns = np.array([rng.permutation(9)[:4] for _ in range(7)], np.int32)
    axes, J = _core.fem_contact_rows(columns, weights, normals, 9)
    np.testing.assert_allclose(axes, contact_axes(normals), rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        axes @ np.swapaxes(axes, 1, 2), np.tile(np.eye(3), (7, 1, 1)), atol=1e-15
    )
    assert np.all(np.linalg.det(axes) > 0)
    np.testing.assert_allclose(J, contact_rows(columns, weights, normals, 9), rtol=0, atol=1e-15)
    v = rng.standard_normal((9, 3))
    point = np.einsum("cm,cmi->ci", weights, v[columns])
    np.testing.assert_allclose(J @ v.ravel(), np.einsum("cij,cj->ci", axes, point), atol=1e-14)


def test_frames_of_normals_near_an_axis_are_smooth(rng):
    """A normal along an axis that tilts a little tilts its frame a little."""
    one = np.zeros((1, 1), np.int32), np.ones((1, 1))
    for normal in [*np.eye(3), *-np.eye(3)]:
        tilted = normal + 1e-7 * rng.standard_normal(3)
        frames = [
            _core.fem_contact_rows(*one, [n / np.linalg.norm(n)], 1)[0] for n in (normal, tilted)
        ]
        np.testing.assert_allclose(*frames, rtol=0, atol=1e-6)


def test_wrong_numbers_are_errors():
    one = np.zeros((1, 1), np.int32)
    with pytest.raises(ValueError, match=r"columns\[0\] = 0: must be >= 0 and < 0"):
        _core.fem_contact_rows(one, [[1.0]], [[0, 0, 1.0]], 0)
    mesh = fem.box([1, 1, 1], 1)
    wrong = mesh.faces.copy()
    wrong[1, 2] = 8
    with pytest.raises(ValueError, match=r"faces\[5\] = 8: must be >= 0 and < 8"):
        _core.fem_plane_contacts(
            mesh._mesh, wrong, mesh.face_tetrahedra, mesh.vertices, [0, 0, 1.0], 0.0, 1.0
        )
