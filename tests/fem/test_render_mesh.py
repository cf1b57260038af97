"""Surfaces that follow a mesh: identities of their weights, errors, and where they are shown."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from sapwood import fem
from sapwood.geometry.meshes import distances_to_triangles

RUBBER = fem.Material(young=1e5, poisson=0.3, density=1000.0)


def distances_to_tetrahedra(mesh, point):
    """0 for those that contain the point."""
    corners = mesh.vertices[mesh.tetrahedra]
    inverse = np.linalg.inv(np.moveaxis(corners[:, 1:] - corners[:, :1], 1, 2))
    weights = np.einsum("tij,tj->ti", inverse, point - corners[:, 0])
    is_inside = (weights.min(axis=1) >= 0) & (weights.sum(axis=1) <= 1)
    faces = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
    outside = np.min([distances_to_triangles(point, corners[:, face]) for face in faces], axis=0)
    return np.where(is_inside, 0.0, outside)


def random_surface(rng, n=60, reach=0.08):
    """Points around a ball of radius 0.1, many of them outside."""
    x = rng.uniform(-0.1 - reach, 0.1 + reach, size=(n, 3))
    return x, rng.integers(0, n, size=(2 * n, 3))


def test_an_affine_motion_of_the_mesh_moves_all_points_affinely(rng):
    mesh = fem.ball(0.1, cells=3)
    x, triangles = random_surface(rng)
    surface = fem.RenderMesh(mesh, x, triangles)
    assert np.any(surface.weights < 0)
    np.testing.assert_allclose(surface.weights.sum(axis=1), 1, rtol=0, atol=1e-14)
    A, b = rng.normal(size=(3, 3)), rng.normal(size=3)
    found = surface.interpolate(mesh.vertices @ A.T + b)
    np.testing.assert_allclose(found, x @ A.T + b, rtol=0, atol=1e-13)


def test_vertices_of_the_mesh_follow_exactly(rng):
    mesh = fem.ball(0.1, cells=3)
    surface = fem.RenderMesh(mesh, mesh.vertices, mesh.faces)
    x = mesh.vertices + rng.normal(size=mesh.vertices.shape)
    np.testing.assert_allclose(surface.interpolate(x), x, rtol=0, atol=1e-13)
    np.testing.assert_allclose(surface.weights.max(axis=1), 1, rtol=0, atol=1e-14)


def test_points_inside_have_the_tetrahedron_around_them(rng):
    mesh = fem.ball(0.1, cells=4)
    cells = rng.integers(0, len(mesh.tetrahedra), size=200)
    weights = rng.dirichlet(np.ones(4), size=200)
    x = np.einsum("na,naj->nj", weights, mesh.vertices[mesh.tetrahedra[cells]])
    surface = fem.RenderMesh(mesh, x, [[0, 1, 2]])
    np.testing.assert_array_equal(surface.tetrahedra, cells)
    np.testing.assert_allclose(surface.weights, weights, rtol=0, atol=1e-10)


def test_points_outside_have_a_tetrahedron_beside_the_nearest_one(rng):
    mesh = fem.ball(0.1, cells=4)
    x, triangles = random_surface(rng)
    surface = fem.RenderMesh(mesh, x, triangles)
    for point, found, weights in zip(x, surface.tetrahedra, surface.weights, strict=True):
        away = distances_to_tetrahedra(mesh, point)
        nearest = np.flatnonzero(away <= away.min() + 1e-15)
        around = np.isin(mesh.tetrahedra, mesh.tetrahedra[nearest]).any(axis=1)
        assert around[found]
        assert (weights.min() >= 0) == (away.min() == 0)


def test_points_near_the_boundary_are_not_moved_by_flat_tetrahedra():
    """The ball has tetrahedra whose corners are almost in a plane, under its surface."""
    mesh, fine = fem.ball(0.1, cells=8), fem.ball(0.1, cells=20)
    surface = fem.RenderMesh(mesh, 1.01 * fine.vertices[fine.boundary_vertices], [[0, 1, 2]])
    heights = 3 * mesh.volumes / np.linalg.norm(mesh.gradients, axis=2).max(axis=1)
    assert heights.min() < 0.1 * np.median(heights)
    assert -0.4 < surface.weights.min() < 0


def test_values_of_triangles_are_means_over_their_corners():
    mesh = fem.box([0.1] * 3, 1)
    surface = fem.RenderMesh(mesh, mesh.vertices[mesh.tetrahedra].mean(axis=1), [[0, 1, 3]])
    np.testing.assert_array_equal(surface.tetrahedra, np.arange(len(mesh.tetrahedra)))
    np.testing.assert_allclose(surface.average(np.arange(6.0)), [4 / 3])


def test_a_copied_body_keeps_its_surface():
    mesh = fem.box([0.1] * 3, 1)
    body = fem.SoftBody(mesh, RUBBER, render_mesh=fem.RenderMesh(mesh, mesh.vertices, mesh.faces))
    for twin in (copy.copy(body), copy.deepcopy(body), pickle.loads(pickle.dumps(body))):
        assert twin.render_mesh.mesh is twin.mesh
        np.testing.assert_array_equal(twin.render_mesh.weights, body.render_mesh.weights)


def test_files_are_read_in_their_units_and_quads_are_split(tmp_path):
    pytest.importorskip("meshio")
    mesh = fem.box([0.1] * 3, 1)
    corners = [[-50, -50, 50], [50, -50, 50], [50, 50, 50], [-50, 50, 50]]
    lines = [f"v {x} {y} {z}" for x, y, z in corners]
    (tmp_path / "top.obj").write_text("\n".join([*lines, "f 1 2 3 4", "f 1 2 3", ""]))
    read = fem.RenderMesh.from_file(mesh, tmp_path / "top.obj", scale=1e-3)
    np.testing.assert_allclose(read.vertices, 1e-3 * np.array(corners), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(read.triangles, [[0, 1, 2], [0, 2, 3], [0, 1, 2]])


def test_surfaces_in_other_units_are_refused():
    mesh = fem.box([0.1] * 3, 1)
    with pytest.raises(ValueError, match=r"vertices\[0\]: is 50 m away .*, of 0.1 m: another sc"):
        fem.RenderMesh(mesh, 1e3 * mesh.vertices, mesh.faces)


def test_bad_surfaces_and_files(tmp_path):
    mesh, other = fem.box([0.1] * 3, 1), fem.box([0.1] * 3, 1)
    x, triangles = mesh.vertices, mesh.faces
    with pytest.raises(TypeError, match="mesh must be a Mesh, not ndarray"):
        fem.RenderMesh(x, x, triangles)
    with pytest.raises(ValueError, match=r"vertices\[0, 0\]"):
        fem.RenderMesh(mesh, np.full((3, 3), np.nan), [[0, 1, 2]])
    with pytest.raises(ValueError, match=r"triangles has shape \(0, 3\), expected \(m, 3\)"):
        fem.RenderMesh(mesh, x, np.zeros((0, 3), int))
    with pytest.raises(ValueError, match=r"triangles\[1, 2\] = 8: names a vertex"):
        fem.RenderMesh(mesh, x, [[0, 1, 2], [0, 1, 8]])
    surface = fem.RenderMesh(mesh, x, triangles)
    with pytest.raises(ValueError, match=r"values has shape \(7, 3\), expected \(8, 3\)"):
        surface.interpolate(x[1:])
    with pytest.raises(TypeError, match="render_mesh must be a RenderMesh, not Mesh"):
        fem.SoftBody(mesh, RUBBER, render_mesh=mesh)
    with pytest.raises(ValueError, match="render_mesh: must follow the mesh of the body"):
        fem.SoftBody(other, RUBBER, render_mesh=surface)
    pytest.importorskip("meshio")
    with pytest.raises(ValueError, match=r"scale = 0\.0: must be finite and > 0"):
        fem.RenderMesh.from_file(mesh, __file__, scale=0.0)
    lines = [f"v {i} {i * i} 0" for i in range(5)]
    (tmp_path / "a.obj").write_text("\n".join([*lines, "f 1 2 3 4 5", ""]))
    with pytest.raises(ValueError, match=r"a\.obj: has polygons of 5 corners"):
        fem.RenderMesh.from_file(mesh, tmp_path / "a.obj")
    (tmp_path / "b.obj").write_text("\n".join([*lines, "f 1 2 9", ""]))
    with pytest.raises(ValueError, match=r"b\.obj: triangles\[0, 2\] = 8: names a vertex"):
        fem.RenderMesh.from_file(mesh, tmp_path / "b.obj")
    (tmp_path / "c.obj").write_text("v 0 0 0\n")
    with pytest.raises(ValueError, match=r"c\.obj: has no triangles"):
        fem.RenderMesh.from_file(mesh, tmp_path / "c.obj")
