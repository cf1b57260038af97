"""Contacts of boundary faces in C against the NumPy mirror, and their rows."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import _core, fem
from sapwood.geometry import FieldShape, PressureField
from sapwood.reference import contact_axes, contact_rows, plane_contacts, shape_contacts


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


def is_upright(body):
    """Whether the tetrahedra behind the faces are not turned over."""
    corners = body.positions[body.mesh.tetrahedra[body.mesh.face_tetrahedra]]
    return np.linalg.det(corners[:, 1:] - corners[:, :1]) > 0


def turned(rng):
    """A random rotation."""
    q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    return q * np.linalg.det(q)


def field_contacts(body, shape, pose, is_depth):
    mesh = body.mesh
    arrays = mesh._mesh, mesh.faces, mesh.face_tetrahedra, body.positions
    return _core.fem_shape_contacts(*arrays, shape._shape, pose, 1e7, is_depth)


def test_the_core_agrees_with_the_mirror(rng):
    for _ in range(20):
        body = random_body(rng)
        normal = rng.standard_normal(3)
        normal /= np.linalg.norm(normal)
        offset = rng.uniform(-0.1, 0.1)
        usable = is_upright(body)
        assert not usable.all()
        triangles = body.positions[body.mesh.faces]
        expected = plane_contacts(triangles, usable, normal, offset, 1e7)
        found = found_by_core(body, normal, offset)
        np.testing.assert_array_equal(found[0], expected[0])
        movers = np.take_along_axis(body.mesh.faces[expected[0]], expected[1], axis=1)
        np.testing.assert_array_equal(found[1], movers)
        np.testing.assert_array_equal(found[4], np.broadcast_to(normal, found[3].shape))
        for one, other in zip(found[2:4] + found[5:], expected[2:], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("is_depth", [False, True])
def test_the_core_agrees_with_the_mirror_on_pressure_fields(rng, is_depth):
    box = PressureField(1e5, resolution=0.05).box([0.15, 0.1, 0.07])
    merged = 0
    for _ in range(10):
        body = random_body(rng)
        pose = np.eye(4)
        pose[:3, :3] = turned(rng)
        pose[:3, 3] = rng.uniform(-0.05, 0.05, 3) + pose[:3, :3] @ [0, 0, 0.1]
        usable, faces = is_upright(body), body.mesh.faces
        assert not usable.all()
        args = body.positions[faces], usable, box, pose, 1e7
        expected = shape_contacts(*args, is_depth=is_depth)
        found = field_contacts(body, box, pose, is_depth)
        np.testing.assert_array_equal(found[1], faces[found[0]])
        # there may be several contacts on a face
        order, other = (np.lexsort((c[-2], c[0])) for c in (found, expected))
        np.testing.assert_array_equal(found[0][order], expected[0][other])
        for one, two in zip(found[2:], expected[1:], strict=True):
            np.testing.assert_allclose(one[order], two[other], rtol=1e-8, atol=1e-12)
        assert len(found[0])
        if is_depth:
            assert np.all(np.diff(found[0]) > 0)
            merged += len(field_contacts(body, box, pose, False)[0]) - len(found[0])
    assert merged > 0 or not is_depth


def test_a_field_far_away_has_no_contacts(rng):
    body, box = random_body(rng), PressureField(1e5, resolution=0.05).box([0.1, 0.1, 0.1])
    pose = np.eye(4)
    pose[0, 3] = 0.5
    assert [len(x) for x in field_contacts(body, box, pose, False)] == [0] * 7


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
        face, _, _, _, _, k, phi0 = found_by_core(body, normal, offset)
        assert len(face)
        for f, load in zip(face, -k * phi0, strict=True):
            a, b, c = body.positions[mesh.faces[f]]
            x = a + grid[:, :1] * (b - a) + grid[:, 1:] * (c - a)
            depth = np.maximum(0, offset - x @ normal).mean()
            area = -np.cross(b - a, c - a) @ normal / 2
            assert load == pytest.approx(1e7 * area * depth, rel=2e-2)


def test_the_pressure_of_depths_is_that_of_a_half_space():
    """A block of depths meets the bottom of a cube as a half space does."""
    mesh = fem.box([0.1, 0.1, 0.1], 3)
    body = fem.SoftBody(mesh, fem.Material(young=1e5, poisson=0.3, density=1e3), contact="none")
    body.positions += [0, 0, 0.049]
    x = np.array([[-1, -1, 0], [1, -1, 0], [0, 2, 0], [0, 0, -1.0]])
    # any unit: the pressure is 40 times the depth
    block = FieldShape.tetrahedra(x, [[0, 2, 1, 3]], [0, 0, 0, 40.0])
    found = field_contacts(body, block, None, True)
    expected = found_by_core(body, np.array([0, 0, 1.0]), 0.0)
    np.testing.assert_array_equal(found[0], expected[0])
    for one, two in zip(found[2:], expected[2:], strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-15)


def part_of(n_last, *, tree=0, place=None, column=None, T=None, c=None, start=None):
    """A soft body all of whose vertices are last, and move with a tree of their own by default."""
    place = np.arange(n_last, dtype=np.int32) if place is None else place
    column = 3 * np.arange(n_last, dtype=np.int32) if column is None else column
    return tree, place, column, T, c, np.zeros((len(place), 3)) if start is None else start


def unit(rng, n):
    normals = rng.standard_normal((n, 3))
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def numbers(x):
    return np.array(x, np.int32)


def test_rows(rng):
    normals = unit(rng, 7)
    normals[0] = [0, 0, 1]
    weights = rng.uniform(-1, 1, (7, 4))
    columns = np.array([rng.permutation(9)[:4] for _ in range(7)], np.int32)
    v = rng.standard_normal((9, 3))
    parts, side = (part_of(9, start=v),), (0, columns, weights)
    axes, bias, slip, tree_a, tree_b, J = _core.fem_rows(
        numbers([27]), parts, ((normals, side, None, None),)
    )
    np.testing.assert_allclose(axes, contact_axes(normals), rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        axes @ np.swapaxes(axes, 1, 2), np.tile(np.eye(3), (7, 1, 1)), atol=1e-15
    )
    assert np.all(np.linalg.det(axes) > 0)
    J = J.reshape(7, 3, 27)
    np.testing.assert_allclose(J, contact_rows(columns, weights, normals, 9), rtol=0, atol=1e-15)
    point = np.einsum("cm,cmi->ci", weights, v[columns])
    along = np.einsum("cij,cj->ci", axes, point)
    np.testing.assert_allclose(J @ v.ravel(), along, atol=1e-14)
    np.testing.assert_allclose(slip, np.hypot(*along[:, :2].T), atol=1e-14)
    assert not bias.any()
    np.testing.assert_array_equal([tree_a, tree_b], [[0] * 7, [-1] * 7])


def test_rows_of_two_bodies_are_the_relative_velocity(rng):
    """A body with told and held vertices against another, and against a rigid tree."""
    n, nv = 6, numbers([8 + 6, 9])
    # vertex 0 of the first body moves as told, 1 with the rigid part of its tree, 2 and 3 freely
    T = np.zeros((4, 3, 14))
    T[1, :, 1:7] = rng.standard_normal((3, 6))
    T[2, :, 8:11], T[3, :, 11:14] = np.eye(3), np.eye(3)
    c = np.concatenate([rng.standard_normal((2, 3)), np.zeros((2, 3))])
    first = part_of(4, column=numbers([-1, -1, 8, 11]), T=T.reshape(12, 14), c=c)
    second = part_of(3, tree=1)
    sides = [
        (i, rng.integers(size, size=(n, 3)).astype(np.int32), rng.uniform(-1, 1, (n, 3)))
        for i, size in enumerate((4, 3))
    ]
    normals, J_rigid = unit(rng, n), rng.standard_normal((n, 3, 6))
    x, y = rng.standard_normal(14), rng.standard_normal(9)
    points = [
        np.einsum("cm,cmi->ci", weights, velocities[vertices])
        for (_, vertices, weights), velocities in zip(
            sides, ((T @ x) + c, y.reshape(3, 3)), strict=True
        )
    ]
    frames = contact_axes(normals)
    meetings = (
        (normals, sides[0], sides[1], None),
        (normals, sides[1], sides[0], None),
        (normals, sides[1], None, (0, 1, J_rigid, np.zeros(6))),
        (normals, sides[0], None, (0, 1, J_rigid, np.zeros(6))),
    )
    other = J_rigid @ x[1:7]
    expected = [points[0] - points[1], points[1] - points[0], points[1] - other, points[0] - other]
    *_, tree_a, tree_b, J = rows = _core.fem_rows(nv, (first, second), meetings)
    begin, trees = 0, [[0, 1], [1, 0], [1, 0], [0]]
    for m, (relative, own) in enumerate(zip(expected, trees, strict=True)):
        size = 3 * int(sum(nv[t] for t in own))
        for k in range(n):
            at = m * n + k
            assert [tree_a[at], tree_b[at]] == (own + [-1])[:2]
            row = J[begin : begin + size]
            begin += size
            cut = 3 * nv[own[0]]
            blocks = [row[:cut].reshape(3, -1), row[cut:].reshape(3, -1)]
            velocity = rows[1][at] + sum(
                (block @ (x, y)[t] for block, t in zip(blocks, own, strict=False)), np.zeros(3)
            )
            np.testing.assert_allclose(velocity, frames[k] @ relative[k], atol=1e-13)
    assert begin == len(J)


def test_contacts_of_vertices_that_move_as_told_have_no_rows(rng):
    """All vertices of the first body are told, and one of the second."""
    c = rng.standard_normal((2, 3))
    told = part_of(2, tree=-1, column=numbers([-1, -1]), c=c)
    half = part_of(2, column=numbers([-1, 0]), c=c * [[1], [0]])
    one, normals = numbers([[0], [1]]), unit(rng, 2)
    sides = [(i, one, np.ones((2, 1))) for i in range(2)]
    axes, bias, _, tree_a, tree_b, J = _core.fem_rows(
        numbers([3]),
        (told, half),
        ((normals, sides[0], None, None), (normals, sides[1], None, None)),
    )
    np.testing.assert_array_equal(tree_a, [-1, -1, -1, 0])
    assert np.all(tree_b == -1)
    np.testing.assert_array_equal(J.reshape(3, 3), axes[3])
    moved = np.concatenate([c, c[:1], np.zeros((1, 3))])
    np.testing.assert_allclose(bias, np.einsum("cij,cj->ci", axes, moved), atol=1e-15)


def test_loads_are_dual_to_velocities(rng):
    """Impulses on vertices times their velocities are those of contacts times theirs."""
    vertices = rng.integers(5, size=(8, 3)).astype(np.int32)
    weights, gamma, v = (rng.standard_normal(shape) for shape in ((8, 3), (8, 3), (5, 3)))
    impulses = np.zeros((5, 3))
    _core.fem_add_loads(impulses, vertices, weights, gamma, -1.0)
    point = np.einsum("cm,cmi->ci", weights, v[vertices])
    assert np.sum(impulses * v) == pytest.approx(-np.sum(gamma * point), rel=1e-12)


def test_frames_of_normals_near_an_axis_are_smooth(rng):
    """A normal along an axis that tilts a little tilts its frame a little."""
    side = 0, np.zeros((2, 1), np.int32), np.ones((2, 1))
    for normal in [*np.eye(3), *-np.eye(3)]:
        normals = normal + 1e-7 * np.outer([0, 1], rng.standard_normal(3))
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        frames = _core.fem_rows(numbers([3]), (part_of(1),), ((normals, side, None, None),))[0]
        np.testing.assert_allclose(*frames, rtol=0, atol=1e-6)


ONE = 0, np.zeros((1, 1), np.int32), np.ones((1, 1))
UP = np.array([[0, 0, 1.0]])


@pytest.mark.parametrize(
    ("parts", "meeting", "text"),
    [
        ([part_of(1)], (UP, (1, *ONE[1:]), None, None), "part = 1: is out of range"),
        ([part_of(1, tree=1)], (UP, ONE, None, None), "tree = 1: is out of range"),
        ([part_of(1, column=numbers([1]))], (UP, ONE, None, None), r"column\[0\] = 1: must be"),
        ([part_of(1, place=numbers([1]))], (UP, ONE, None, None), r"place\[0\] = 1: must be"),
        (
            [part_of(1, place=numbers([-1]))],
            (UP, ONE, None, None),
            r"vertices\[0\] = 0: is not among the last ones",
        ),
        ([part_of(1)], (UP, (0, ONE[1] + 1, ONE[2]), None, None), r"vertices\[0\] = 1: must be"),
        ([part_of(1)], (UP, (0, ONE[1], np.ones((2, 1))), None, None), "weights has shape"),
        ([part_of(1)], (UP, ONE, ONE, (0, 0, np.zeros((1, 3, 3)), np.zeros(3))), "two bodies"),
        ([part_of(1)], (UP, ONE, None, (0, 1, np.zeros((1, 3, 3)), np.zeros(3))), "begin = 1"),
        ([part_of(1)], (UP, ONE, None, (0, 0, np.zeros((1, 3, 2)), np.zeros(3))), "J has shape"),
        ([part_of(1)], (UP, ONE, None, (-1, 0, np.zeros((1, 3, 3)), np.zeros(3))), "tree = -1"),
        ([part_of(1, T=np.zeros((3, 2)))], (UP, ONE, None, None), "T has shape"),
        ([part_of(1, c=np.zeros((2, 3)))], (UP, ONE, None, None), "c has shape"),
    ],
)
def test_wrong_parts_and_meetings_are_errors(parts, meeting, text):
    with pytest.raises(ValueError, match=text):
        _core.fem_rows(numbers([3]), tuple(parts), (meeting,))


def test_wrong_numbers_are_errors():
    impulses, gamma = np.zeros((1, 3)), np.zeros((1, 3))
    with pytest.raises(ValueError, match=r"vertices\[0\] = 1: must be >= 0 and < 1"):
        _core.fem_add_loads(impulses, ONE[1] + 1, ONE[2], gamma, 1.0)
    with pytest.raises(ValueError, match="gamma: must have a row for each contact"):
        _core.fem_add_loads(impulses, *ONE[1:], np.zeros((2, 3)), 1.0)
    mesh = fem.box([1, 1, 1], 1)
    wrong = mesh.faces.copy()
    wrong[1, 2] = 8
    rigid = FieldShape.triangles(np.eye(3), [[0, 1, 2]])
    body = fem.SoftBody(mesh, fem.Material(young=1e5, poisson=0.3, density=1e3), contact="none")
    with pytest.raises(ValueError, match="shape: must have tetrahedra"):
        field_contacts(body, rigid, None, False)
    with pytest.raises(ValueError, match=r"faces\[5\] = 8: must be >= 0 and < 8"):
        _core.fem_plane_contacts(
            mesh._mesh, wrong, mesh.face_tetrahedra, mesh.vertices, [0, 0, 1.0], 0.0, 1.0
        )
