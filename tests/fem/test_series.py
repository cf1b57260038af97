"""Time series of VTK files, and meshes of closed surfaces."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from sapwood import fem

RUBBER = fem.Material(young=1e5, poisson=0.3, density=1000.0)


def numbers(element, name):
    (array,) = [each for each in element.iter("DataArray") if each.get("Name") == name]
    found = np.array(array.text.split(), float)
    width = array.get("NumberOfComponents")
    return found if width is None else found.reshape(-1, int(width))


def test_a_series_has_states_and_stresses(tmp_path):
    mesh = fem.box([0.1] * 3, 1)
    bodies = [fem.SoftBody(mesh, RUBBER, name=name, contact="none") for name in "ab"]
    world = fem.World(bodies, time_step=0.01)
    series = fem.SeriesWriter(tmp_path / "fall.pvd", world.bodies)
    bodies[1].positions[0] += [0.0, 0.0, 0.01]
    for _ in range(2):
        world.step()
        series.write(world.time)
    listed = ET.parse(tmp_path / "fall.pvd").getroot().findall("Collection/DataSet")
    assert [float(each.get("timestep")) for each in listed] == [0.01, 0.01, 0.02, 0.02]
    assert [each.get("part") for each in listed] == ["0", "1", "0", "1"]
    grid = ET.parse(tmp_path / listed[3].get("file")).getroot()
    np.testing.assert_array_equal(numbers(grid, "positions"), bodies[1].positions)
    np.testing.assert_array_equal(numbers(grid, "velocity"), bodies[1].velocities)
    np.testing.assert_array_equal(
        numbers(grid, "connectivity").reshape(-1, 4), bodies[1].mesh.tetrahedra
    )
    found = bodies[1].evaluate()
    np.testing.assert_array_equal(numbers(grid, "von Mises"), found.von_mises)
    np.testing.assert_array_equal(numbers(grid, "det F"), np.linalg.det(found.deformation))
    assert numbers(grid, "offsets")[-1] == 4 * len(found.energies)


def with_render_mesh():
    """A moving body, and one that shows a triangle inside."""
    mesh = fem.box([0.1] * 3, 2)
    inner = [[0.01, 0.0, 0.0], [0.0, 0.01, 0.0], [0.0, 0.0, 0.01]]
    surface = fem.RenderMesh(mesh, inner, [[0, 1, 2]])
    bodies = [
        fem.SoftBody(fem.box([0.1] * 3, 1), RUBBER, contact="none", velocity=[0.1, 0.2, 0.3]),
        fem.SoftBody(mesh, RUBBER, contact="none", render_mesh=surface),
    ]
    bodies[1].positions *= [1.0, 1.1, 1.0]
    bodies[1].velocities[:] = bodies[1].positions
    return bodies


def test_a_render_mesh_has_files_of_its_own(tmp_path):
    bodies = with_render_mesh()
    series = fem.SeriesWriter(tmp_path / "run.pvd", bodies)
    series.write(0.5)
    listed = ET.parse(tmp_path / "run.pvd").getroot().findall("Collection/DataSet")
    assert [each.get("part") for each in listed] == ["0", "1", "2"]
    grid = ET.parse(tmp_path / listed[2].get("file")).getroot()
    surface = bodies[1].render_mesh
    moved = [1.0, 1.1, 1.0] * surface.vertices
    np.testing.assert_allclose(numbers(grid, "positions"), moved, rtol=0, atol=1e-15)
    np.testing.assert_allclose(numbers(grid, "velocity"), moved, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(numbers(grid, "connectivity"), [[0, 1, 2]])
    np.testing.assert_array_equal(numbers(grid, "types"), [5])
    stress = surface.average(bodies[1].evaluate().von_mises)
    np.testing.assert_array_equal(numbers(grid, "von Mises"), stress)
    np.testing.assert_allclose(numbers(grid, "det F"), 1.1, rtol=1e-13)


def test_a_series_can_be_read_by_meshio(tmp_path):
    meshio = pytest.importorskip("meshio")
    body = fem.SoftBody(fem.box([0.1] * 3, 2), RUBBER)
    fem.SeriesWriter(tmp_path / "rest.pvd", [body]).write(0.0)
    read = meshio.read(tmp_path / "rest_0_00000.vtu")
    np.testing.assert_array_equal(read.points, body.positions)
    np.testing.assert_array_equal(read.cells_dict["tetra"], body.mesh.tetrahedra)


@pytest.mark.parametrize("render", [False, True])
def test_a_series_in_xdmf_is_read_back_by_meshio(tmp_path, monkeypatch, render):
    xdmf = pytest.importorskip("meshio").xdmf
    pytest.importorskip("h5py")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    bodies = with_render_mesh()
    surface = bodies[1].render_mesh
    bodies[1].render_mesh = surface if render else None
    world = fem.World(bodies, time_step=0.01)
    series, states = fem.SeriesWriter(tmp_path / "run.xdmf", bodies), []
    for _ in range(3):
        series.write(world.time)
        found = [body.evaluate().von_mises for body in bodies]
        x, v = ([getattr(b, name) for b in bodies] for name in ("positions", "velocities"))
        if render:
            x, v = ([*listed, surface.interpolate(listed[1])] for listed in (x, v))
            found.append(surface.average(found[1]))
        states.append((world.time, *(np.concatenate(listed) for listed in (x, v, found))))
        world.step()
    assert {path.name for path in tmp_path.iterdir()} == {"run.xdmf", "run.h5", "elsewhere"}
    assert not list((tmp_path / "elsewhere").iterdir())
    # ParaView shows all that the domain has
    assert len(ET.parse(tmp_path / "run.xdmf").find("Domain")) == 1
    with xdmf.TimeSeriesReader(tmp_path / "run.xdmf") as reader:
        points, cells = reader.read_points_cells()
        assert [block.type for block in cells] == ["tetra", "triangle"][: 1 + render]
        second = bodies[1].mesh.tetrahedra + len(bodies[0].mesh.vertices)
        tetrahedra = np.concatenate([bodies[0].mesh.tetrahedra, second])
        np.testing.assert_array_equal(cells[0].data, tetrahedra)
        if render:
            np.testing.assert_array_equal(cells[1].data, [np.arange(len(points) - 3, len(points))])
        assert reader.num_steps == len(states)
        for k, (time, x, v, stress) in enumerate(states):
            t, point_data, cell_data = reader.read_data(k)
            assert t == time
            np.testing.assert_allclose(points + point_data["displacement"], x, rtol=0, atol=1e-16)
            np.testing.assert_array_equal(point_data["velocity"], v)
            np.testing.assert_array_equal(np.concatenate(cell_data["von Mises"]), stress)
            first = len(bodies[0].mesh.tetrahedra)
            is_second = np.arange(len(stress)) >= first
            np.testing.assert_array_equal(np.concatenate(cell_data["body"]), is_second)


def test_an_xdmf_is_whole_after_each_time_and_replaces_an_old_one(tmp_path):
    xdmf = pytest.importorskip("meshio").xdmf
    pytest.importorskip("h5py")
    bodies = with_render_mesh()
    for n_times in (3, 1):
        series = fem.SeriesWriter(tmp_path / "run.xdmf", bodies)
        for i in range(n_times):
            series.write(0.1 * i)
            with xdmf.TimeSeriesReader(tmp_path / "run.xdmf") as reader:
                reader.read_points_cells()
                assert reader.num_steps == i + 1
                assert reader.read_data(i)[0] == 0.1 * i
    bodies[1].render_mesh = None
    with pytest.raises(ValueError, match="bodies: have 35 points, and had 38 at first"):
        series.write(1.0)


@pytest.mark.parametrize("missing", ["meshio", "h5py"])
def test_an_xdmf_without_its_packages_is_refused_by_name(tmp_path, monkeypatch, missing):
    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    message = rf"SeriesWriter in XDMF needs {missing}.*: pip install '\.\[geometry\]'"
    with pytest.raises(ModuleNotFoundError, match=message):
        fem.SeriesWriter(tmp_path / "a.xdmf", with_render_mesh())
    assert not list(tmp_path.iterdir())


def test_bad_series(tmp_path):
    body = fem.SoftBody(fem.box([0.1] * 3, 1), RUBBER)
    with pytest.raises(ValueError, match=r"must end with \.pvd or \.xdmf"):
        fem.SeriesWriter(tmp_path / "a.vtk", [body])
    with pytest.raises(ValueError, match="bodies: names none"):
        fem.SeriesWriter(tmp_path / "a.pvd", [])
    with pytest.raises(TypeError, match=r"bodies\[0\] must be a SoftBody, not int"):
        fem.SeriesWriter(tmp_path / "a.pvd", [1])
    with pytest.raises(ValueError, match="bodies: has the same body twice"):
        fem.SeriesWriter(tmp_path / "a.pvd", [body, body])


def cube_surface():
    mesh = fem.box([0.1, 0.1, 0.1], 1)
    return mesh.vertices, mesh.faces


def test_bad_surfaces(tmp_path):
    x, triangles = cube_surface()
    with pytest.raises(ValueError, match=r"triangles has shape \(0,\), expected \(any, 3\)"):
        fem.fill_surface(x, np.zeros(0, int), 0.05)
    with pytest.raises(ValueError, match=r"triangles\[0, 1\] = 99: names a vertex"):
        fem.fill_surface(x, [[0, 99, 1]], 0.05)
    with pytest.raises(ValueError, match="vertices"):
        fem.fill_surface(np.full((8, 3), np.nan), triangles, 0.05)
    with pytest.raises(ValueError, match="vertices: the triangles are one point"):
        fem.fill_surface(x, [[0, 0, 0]], 0.05)
    with pytest.raises(ValueError, match=r"edge = -1\.0: must be finite and > 0"):
        fem.fill_surface(x, triangles, -1.0)
    with pytest.raises(ValueError, match=r"tolerance = 0\.0: must be finite and > 0"):
        fem.fill_surface(x, triangles, 0.05, tolerance=0.0)
    pytest.importorskip("meshio")
    (tmp_path / "a.stl").write_text("no surface")
    with pytest.raises(ValueError, match=r"a\.stl: "):
        fem.read_surface(tmp_path / "a.stl", 0.05)
    fem.write_mesh(tmp_path / "a.vtk", fem.box([0.1] * 3, 1))
    with pytest.raises(ValueError, match=r"a\.vtk: has no triangles"):
        fem.read_surface(tmp_path / "a.vtk", 0.05)


def test_surfaces_are_filled(tmp_path):
    """Arrays, and an STL file in millimetres, of a cube: its volume comes back."""
    pytest.importorskip("pytetwild")
    meshio = pytest.importorskip("meshio")
    x, triangles = cube_surface()
    filled = fem.fill_surface(x, triangles, 0.05)
    assert filled.volumes.sum() == pytest.approx(1e-3, rel=0.02)
    assert not Path("__tracked_surface.stl").exists()
    meshio.write(tmp_path / "cube.stl", meshio.Mesh(1e3 * x, [("triangle", triangles)]))
    read = fem.read_surface(tmp_path / "cube.stl", 0.05, scale=1e-3)
    assert read.volumes.sum() == pytest.approx(1e-3, rel=0.02)
    assert fem.SoftBody(read, RUBBER).vertex_mass.sum() == pytest.approx(1.0, rel=0.02)
    # an open sheet encloses nothing
    with pytest.raises(ValueError, match="the surface encloses nothing"):
        fem.fill_surface(x, triangles[:1], 0.05)
