"""Meshes: shapes, files, and the errors of damaged ones."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

from sapwood import fem
from sapwood.fem.meshes.mesh import check_manifold

SOFT = {"young": 1e5, "poisson": 0.3, "density": 1000.0}
ONE = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])


@pytest.mark.parametrize("cells", [1, 2, 5])
def test_shapes(cells):
    box = fem.box([0.1, 0.2, 0.3], [cells, 2, 1])
    assert box.volume == pytest.approx(0.006, rel=1e-13)
    assert len(box.tetrahedra) == 6 * cells * 2
    ball, rod = fem.ball(0.1, 2 * cells), fem.rod(0.5, 0.1, [2 * cells, cells])
    assert ball.volume < 4 / 3 * np.pi * 0.1**3
    np.testing.assert_allclose(np.linalg.norm(ball.vertices[np.unique(ball.faces)], axis=1), 0.1)
    assert rod.volume < np.pi * 0.1**2 * 0.5
    for mesh in (box, ball, rod):
        check_manifold(mesh.faces)
        a, b, c = np.swapaxes(mesh.vertices[mesh.faces], 0, 1)
        # the divergence theorem: faces are outward
        assert np.sum(a * np.cross(b, c)) / 6 == pytest.approx(mesh.volume, rel=1e-12)
        assert np.all(
            np.sum(
                mesh.tetrahedra[mesh.face_tetrahedra, :, None] == mesh.faces[:, None], axis=(1, 2)
            )
            == 3
        )


def test_volumes_of_balls_converge():
    exact = 4 / 3 * np.pi
    errors = [exact - fem.ball(1.0, n).volume for n in (4, 8, 16)]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.2)


def test_pairs_are_the_edges():
    mesh = fem.box([1, 1, 1], 3)
    edges = {
        tuple(sorted(e))
        for t in mesh.tetrahedra.tolist()
        for e in (
            (t[0], t[1]),
            (t[0], t[2]),
            (t[0], t[3]),
            (t[1], t[2]),
            (t[1], t[3]),
            (t[2], t[3]),
        )
    }
    assert [tuple(pair) for pair in mesh.pairs.tolist()] == sorted(edges)


def test_pickle():
    mesh = fem.box([1, 1, 1], 2)
    again = pickle.loads(pickle.dumps(mesh))
    np.testing.assert_array_equal(again.pairs, mesh.pairs)
    np.testing.assert_array_equal(again.faces, mesh.faces)


def test_meshes_do_not_change():
    mesh = fem.box([1, 1, 1], 1)
    for name in ("vertices", "tetrahedra", "gradients", "volumes", "pairs", "faces"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(mesh, name)[0] = 0


# ---- bad input ----------------------------------------------------------------------------------

TWO = np.vstack([ONE, [[1, 1, 1]]])
BAD = [
    (ONE[:, :2], [[0, 1, 2, 3]], r"vertices has shape \(4, 2\)"),
    (np.where(ONE == 1, np.nan, ONE), [[0, 1, 2, 3]], r"vertices\[1\]: must be finite"),
    (np.full((4, 3), np.inf), [[0, 1, 2, 3]], r"vertices\[0\]: must be finite"),
    (ONE, [[0, 1, 2]], r"tetrahedra has shape \(1, 3\)"),
    (ONE, [0, 1, 2, 3], r"tetrahedra has shape \(4,\)"),
    (ONE, [[0, 1, 2, 4]], r"tetrahedra\[0\] = 4: names a vertex that is not there"),
    (ONE, [[0, 1, 2, -1]], r"tetrahedra\[0\] = -1: names a vertex"),
    (ONE, [[0, 1, 2, 2**40]], r"tetrahedra"),
    (ONE, [[0, 1, 2, 1]], r"tetrahedra\[0\] = 1: has this vertex twice"),
    (ONE * [1, 1, 0], [[0, 1, 2, 3]], r"tetrahedra\[0\] = 0: is flat"),
    (ONE * [1, 1, 1e-16], [[0, 1, 2, 3]], r"tetrahedra\[0\] = .*: is flat"),
    (ONE * 1e-150, [[0, 1, 2, 3]], r"tetrahedra\[0\]"),
    (ONE * 1e150, [[0, 1, 2, 3]], r"tetrahedra\[0\]"),
    (ONE, [[1, 0, 2, 3]], r"tetrahedra\[0\] = -0.1666.*: its volume .* must be > 0"),
    (TWO, [[0, 1, 2, 3]], r"vertices\[4\]: must be in a tetrahedron"),
    (ONE, np.empty((0, 4), int), r"tetrahedra: must be 1 to"),
    (np.empty((0, 3)), [[0, 1, 2, 3]], r"vertices: must not be empty"),
    (ONE, [[0, 1, 2, 3], [0, 1, 2, 3]], r"tetrahedra\[1\]: lies on the same side .* tetrahedron 0"),
    (TWO, [[0, 1, 2, 3], [0, 1, 2, 4]], r"tetrahedra\[1\]: lies on the same side of a face"),
]


@pytest.mark.parametrize(("vertices", "tetrahedra", "text"), BAD)
def test_bad_meshes_are_refused(vertices, tetrahedra, text):
    with pytest.raises(ValueError, match=text):
        fem.Mesh(vertices, tetrahedra)


BRICK = fem.box([0.1] * 3, 1)
PAIRS = len(BRICK.pairs)
FOAM = fem.Material(young=1e5, poisson=0.3, density=1e3)
RAGGED = [[1, 2], [3]]
DIAGONAL, COUPLING = np.zeros((8, 3, 3)), np.zeros((PAIRS, 3, 3))
WRONG_CALLS = [
    (lambda: fem.Mesh(ONE, RAGGED), "tetrahedra cannot be read"),
    (lambda: fem.Mesh(ONE, [[0, 1, 2, 3]], orient="no"), "orient = 'no'"),
    (lambda: fem.Mesh(ONE, [[0, 1, 2, 3]], prune=1), "prune = 1"),
    (lambda: fem.box([0.1] * 3, RAGGED), "cells = "),
    (lambda: fem.box([0.1] * 3, [2, 2]), r"cells = \[2, 2\]: must be 3 integers"),
    (lambda: fem.box([0.1] * 3, [2, 2.5, 2]), r"cells\[1\] must be an integer"),
    # too many for int32, found before they take memory
    (lambda: fem.box([0.1] * 3, 2000), "cells make 8012006001 vertices"),
    (lambda: fem.ball(0.1, 2**63), "vertices: at most 2147483647"),
    (lambda: fem.rod(0.1, 0.01, 5), "cells = 5: must be 2 integers"),
    (lambda: fem.rod(0.1, 0.01, [10**6, 10**6]), "vertices: at most 2147483647"),
    (lambda: fem.evaluate(None, FOAM, ONE), "mesh must be a Mesh, not NoneType"),
    (lambda: fem.evaluate(BRICK, "rubber", BRICK.vertices), "material must be a Material, not str"),
    (lambda: fem.evaluate(BRICK, FOAM, BRICK.vertices, exact="yes"), "exact = 'yes'"),
    (lambda: fem.rotations(ONE, ONE), "mesh must be a Mesh"),
    (lambda: fem.mass_matrix(FOAM, 1e3), "mesh must be a Mesh"),
    (lambda: fem.mass_matrix(BRICK, "light"), "density must be a real number"),
    (lambda: fem.scatter_blocks([1, 2], DIAGONAL, COUPLING), "pairs has shape"),
    (lambda: fem.scatter_blocks(BRICK.pairs, np.zeros((8, 3)), COUPLING), "diagonal has shape"),
    (lambda: fem.scatter_blocks(BRICK.pairs, DIAGONAL, COUPLING[1:]), "off_diagonal has shape"),
    (lambda: fem.scatter_blocks([[0, 9]], DIAGONAL, COUPLING[:1]), r"pairs\[0\] = \[0 9\]"),
    (lambda: fem.write_mesh("x.vtk", ONE), "mesh must be a Mesh"),
    (lambda: fem.write_mesh("x.vtk", BRICK, BRICK.vertices[1:]), "x has shape"),
    (lambda: fem.write_mesh("x.vtk", BRICK, np.full((8, 3), np.nan)), r"x\[0"),
    (lambda: fem.RenderMesh(BRICK, BRICK.vertices, RAGGED), "triangles cannot be read"),
    (lambda: fem.SeriesWriter("x.pvd", None), "bodies must be a sequence of SoftBody, not None"),
]


@pytest.mark.parametrize(("call", "text"), WRONG_CALLS)
def test_wrong_calls_name_their_argument(call, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TypeError, ValueError), match=text):
        call()
    assert not any(tmp_path.iterdir())


def test_wrong_types_are_refused():
    with pytest.raises((TypeError, ValueError), match="vertices"):
        fem.Mesh("abc", [[0, 1, 2, 3]])
    with pytest.raises((TypeError, ValueError), match="tetrahedra"):
        fem.Mesh(ONE, [[0.5, 1, 2, 3]])


def test_a_face_of_three_tetrahedra_is_refused():
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 1], [0.3, 0.3, -1], [0.2, 0.2, 2]])
    with pytest.raises(ValueError, match=r"tetrahedra\[2\]: has a face that two others have"):
        fem.Mesh(x, [[0, 1, 2, 3], [0, 2, 1, 4], [0, 1, 2, 5]])


def test_orient_and_prune():
    x = np.vstack([[[9, 9, 9]], ONE, [[8, 8, 8]]])
    mesh = fem.Mesh(x, [[2, 1, 3, 4]], orient=True, prune=True)
    assert mesh.n_swapped == 1
    assert mesh.kept.tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(mesh.vertices, ONE)
    with pytest.raises(ValueError, match="not there"):
        fem.Mesh(x, [[2, 1, 3, 77]], orient=True, prune=True)


def test_duplicate_vertices_are_a_warning():
    x = np.vstack(
        [
            ONE,
            ONE + [0, 0, 0],
        ]
    )
    with pytest.warns(UserWarning, match=r"vertices\[\d\]: has the position of another vertex"):
        fem.Mesh(x, [[0, 1, 2, 3], [4, 5, 6, 7]])


def test_boundaries_that_touch_at_an_edge_or_a_vertex():
    edge = np.vstack([ONE, [[-1, 0, 0], [0, -1, 0]]])
    mesh = fem.Mesh(edge, [[0, 1, 2, 3], [0, 4, 5, 3]])
    with pytest.raises(ValueError, match=r"faces\[\d\]: its edge \(0, 3\) has 4 faces"):
        check_manifold(mesh.faces)
    vertex = np.vstack([ONE, -ONE[1:]])
    mesh = fem.Mesh(vertex, [[0, 1, 2, 3], [0, 5, 4, 6]], orient=True)
    with pytest.raises(ValueError, match=r"faces\[\d\]: its vertex 0 joins two parts"):
        check_manifold(mesh.faces)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"young": 0.0}, "young = 0.0: must be finite and > 0"),
        ({"young": np.inf}, "young = inf"),
        ({"young": "hard"}, "young must be a real number"),
        ({"poisson": 0.5}, "poisson = 0.5: must be > -1 and < 0.5"),
        ({"poisson": -1.0}, "poisson = -1.0"),
        ({"poisson": np.nan}, "poisson = nan"),
        ({"density": -1.0}, "density = -1.0"),
        ({"mass_damping": -1.0}, "mass_damping = -1.0: must be finite and >= 0"),
        ({"stiffness_damping": np.nan}, "stiffness_damping = nan"),
        ({"model": "rubber"}, "model = 'rubber': must be one of linear, "),
    ],
)
def test_bad_materials_are_refused(change, text):
    with pytest.raises((TypeError, ValueError), match=re.escape(text)):
        fem.Material(**SOFT | change)


def test_locking_is_a_warning():
    with pytest.warns(UserWarning, match=r"poisson = 0.495: linear tetrahedra lock"):
        fem.Material(**SOFT | {"poisson": 0.495})


def test_bad_positions_are_refused():
    mesh, soft = fem.box([1, 1, 1], 1), fem.Material(**SOFT)
    x = mesh.vertices.copy()
    x[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"x\[7\] = nan|x\[2"):
        fem.evaluate(mesh, soft, x)
    with pytest.raises(ValueError, match=r"x has shape"):
        fem.evaluate(mesh, soft, mesh.vertices[:3])
    with pytest.raises(ValueError, match=r"rotations has shape"):
        fem.evaluate(mesh, soft, mesh.vertices, np.eye(3))
    with pytest.raises(ValueError, match=r"density = 0: must be finite and > 0"):
        fem.mass_matrix(mesh, 0.0)
    with pytest.raises(ValueError, match=r"mass = 'heavy'|mass"):
        fem.mass_matrix(mesh, 1.0, "heavy")


def test_damaged_meshes_at_random(rng):
    """Every damaged mesh is a ValueError or works: nothing else, no crash, no NaN."""
    box, refused = fem.box([1, 1, 1], 2), 0
    soft = fem.Material(**SOFT, model="corotated")
    for _ in range(500):
        x, cells = box.vertices.copy(), box.tetrahedra.astype(np.int64)
        for _ in range(rng.integers(1, 4)):
            kind, i, j = rng.integers(5), rng.integers(len(x)), rng.integers(len(cells))
            if kind == 0:
                x[i, rng.integers(3)] = rng.choice([np.nan, np.inf, 1e300, 1e-300, 0, 5])
            elif kind == 1:
                cells[j, rng.integers(4)] = rng.choice([-1, len(x), 0, 3, 2**31 - 1, -(2**31)])
            elif kind == 2:
                cells[j] = cells[rng.integers(len(cells))]
            elif kind == 3:
                x[i] = x[rng.integers(len(x))]
            else:
                cells = np.delete(cells, j, axis=0)
        try:
            mesh = fem.Mesh(x, cells, orient=bool(rng.integers(2)), prune=bool(rng.integers(2)))
        except ValueError:
            refused += 1
            continue
        assert np.all(mesh.volumes > 0)
        assert np.all(np.isfinite(fem.evaluate(mesh, soft, mesh.vertices).force))
    assert 50 < refused < 500


# ---- files --------------------------------------------------------------------------------------


def test_files_keep_all_digits(tmp_path):
    mesh = fem.ball(0.1, 3)
    fem.write_mesh(tmp_path / "ball.vtk", mesh)
    again = fem.read_mesh(tmp_path / "ball.vtk")
    np.testing.assert_array_equal(again.vertices, mesh.vertices)
    np.testing.assert_array_equal(again.tetrahedra, mesh.tetrahedra)


@pytest.mark.parametrize("name", ["a.vtu", "a.msh", "a.mesh", "a.vtk"])
@pytest.mark.parametrize("binary", [False, True])
def test_files_of_meshio(tmp_path, name, binary):
    meshio = pytest.importorskip("meshio")
    mesh = fem.box([1, 2, 3], 2)
    cells = [("tetra", mesh.tetrahedra), ("triangle", mesh.faces)]
    options = {} if name.endswith(".mesh") else {"binary": binary}
    meshio.Mesh(mesh.vertices, cells).write(tmp_path / name, **options)
    again = fem.read_mesh(tmp_path / name)
    np.testing.assert_allclose(again.vertices, mesh.vertices, rtol=1e-15)
    np.testing.assert_array_equal(again.tetrahedra, mesh.tetrahedra)


SURFACES = (".stl", ".obj", ".ply")


@pytest.mark.undisturbed
@pytest.mark.parametrize("kind", ["vtk", "vtu", "mesh", "msh", "stl", "obj", "ply"])
def test_damaged_files_at_random(kind, tmp_path, rng, capfd):
    """A damaged file is a ValueError that has its name, or still a mesh; nothing is printed."""
    name, box = f"box.{kind}", fem.box([1, 1, 1], 1)
    path = tmp_path / name
    if kind == "vtk":
        fem.write_mesh(path, box)
    else:
        meshio = pytest.importorskip("meshio")
        is_surface = path.suffix in SURFACES
        cells = ("triangle", box.faces) if is_surface else ("tetra", box.tetrahedra)
        options = {"file_format": "gmsh"} if kind == "msh" else {}
        meshio.Mesh(box.vertices, [cells]).write(path, **options)
    content, refused = path.read_bytes(), 0
    capfd.readouterr()
    for _ in range(400):
        damaged = bytearray(content)
        for _ in range(rng.integers(1, 6)):
            i = int(rng.integers(len(damaged)))
            how = rng.integers(4)
            if how == 0:
                damaged[i] = int(rng.integers(256))
            elif how == 1:
                del damaged[i : i + int(rng.integers(1, 40))]
            elif how == 2:
                damaged[i:i] = rng.choice([b" 9", b"-", b"nan", b"99999999999999", b"\n"])
            elif len(damaged) > 200:
                del damaged[len(damaged) - i // 8 :]
        path.write_bytes(bytes(damaged))
        try:
            if path.suffix in SURFACES:
                fem.RenderMesh.from_file(box, path)
            else:
                fem.read_mesh(path, orient=True, prune=True)
        except ValueError as error:
            refused += 1
            text = str(error)
        else:
            text = name
        assert name in text
    assert refused > 100
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.msh", "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n", r"a\.msh: meshio cannot read it"),
        (
            "a.msh",
            "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n",
            r"a\.msh: meshio cannot read it",
        ),
        ("a.msh", "(2 3)\n(10 (1 1 4 1 3)\n", r"a\.msh: meshio .*EOFError: it ends too early"),
        (
            "a.msh",
            '(0 "of Ansys")\n(3010 (1 1 4 1 3)',
            r"a\.msh: meshio .*EOFError: it ends too early",
        ),
        ("a.ply", "ply\nformat ascii 1.0\n", r"a\.ply: meshio .*EOFError: it ends too early"),
        ("a.mesh", "Vertexes\n", r"a\.mesh: meshio cannot read it: .*Vert"),
        ("a.xyz", "1 2 3\n", r"a\.xyz: meshio cannot read it: .*Could not deduce file format"),
    ],
)
def test_files_that_meshio_cannot_read(name, content, text, tmp_path):
    """Some it reads for ever, and of others it prints the reason and ends the process."""
    pytest.importorskip("meshio")
    (tmp_path / name).write_text(content)
    read = fem.read_surface if name == "a.ply" else fem.read_mesh
    with pytest.raises(ValueError, match=text):
        read(tmp_path / name)


def test_numbers_beyond_their_type_are_refused(tmp_path):
    fem.write_mesh(tmp_path / "a.vtk", fem.box([1, 1, 1], 1))
    content = (tmp_path / "a.vtk").read_text().replace("\n4 ", "\n4999999999 ", 1)
    (tmp_path / "a.vtk").write_text(content)
    with pytest.raises(ValueError, match=r"a\.vtk: has a number that 'int' cannot hold"):
        fem.read_mesh(tmp_path / "a.vtk")


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        fem.read_mesh(tmp_path / "none.vtk")
    (tmp_path / "empty.vtk").write_text("")
    with pytest.raises(ValueError, match=r"empty\.vtk: is not a legacy VTK file"):
        fem.read_mesh(tmp_path / "empty.vtk")
