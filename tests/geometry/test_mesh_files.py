"""Mesh files that are damaged or missing: errors that name the file, and nothing else happens."""

from __future__ import annotations

import contextlib
import os
import re
import sys

import numpy as np
import pytest

from sapwood.geometry import PressureField, meshes

meshio = pytest.importorskip("meshio")

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.2, 0.2, 0.2]])
TETRAHEDRA = np.array([[1, 0, 2, 4], [3, 0, 1, 4], [2, 0, 3, 4], [3, 1, 2, 4]])
FORMATS = {
    "binary.vtk": {},
    "text.vtk": {"binary": False},
    "text.msh": {"file_format": "gmsh", "binary": False},
    "text.mesh": {},
}


def whole(path, name, tetrahedra=TETRAHEDRA):
    """Write a mesh; return its bytes."""
    meshio.Mesh(POINTS, [("tetra", tetrahedra)]).write(path, **FORMATS[name])
    return path.read_bytes()


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_was_cut_is_an_error_that_names_it(name, tmp_path, capsys):
    """Wherever: meshio ends the process at some lengths, and prints."""
    path = tmp_path / name
    content = whole(path, name)
    streams = sys.stdout, sys.stderr
    capsys.readouterr()
    refused = 0
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with contextlib.suppress(Exception):
            meshes.read_tetrahedra(path)
            continue
        with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: .+$"):
            meshes.read_tetrahedra(path)
        refused += 1
    assert refused > 0.9 * len(content) / 7
    assert (sys.stdout, sys.stderr) == streams
    assert capsys.readouterr() == ("", "")


def test_what_meshio_says_is_in_the_error(tmp_path):
    path = tmp_path / "empty.vtk"
    path.touch()
    with pytest.raises(ValueError, match=r"empty\.vtk: meshio cannot read it: Illegal VTK header"):
        PressureField(1e5).mesh(path)
    unknown = tmp_path / "mesh.unknown"
    unknown.touch()
    with pytest.raises(ValueError, match=r"mesh\.unknown: meshio cannot read it: ReadError"):
        PressureField(1e5).convex(unknown)


def test_what_meshio_says_of_a_file_that_it_reads_is_a_warning(tmp_path, capsys):
    content = whole(tmp_path / "whole.msh", "text.msh")
    path = tmp_path / "open.msh"
    path.write_bytes(content.replace(b"$EndElements\n", b""))
    with pytest.warns(UserWarning, match=r"open\.msh: .*\$Elements not closed"):
        meshes.read_tetrahedra(path)
    assert capsys.readouterr() == ("", "")


def test_missing_files_and_folders_are_errors_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        PressureField(1e5).mesh(tmp_path / "missing.vtk")
    assert missing.value.filename == str(tmp_path / "missing.vtk")
    with pytest.raises(IsADirectoryError):
        PressureField(1e5).mesh(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name are POSIX's")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.vtk")
    with pytest.raises(ValueError, match=r"pipe\.vtk: not a regular file"):
        PressureField(1e5).mesh(tmp_path / "pipe.vtk")


@pytest.mark.parametrize("vertex", [-1, 5])
def test_tetrahedra_of_vertices_that_are_not_there_are_refused(vertex, tmp_path):
    wrong = TETRAHEDRA.copy()
    wrong[2, 1] = vertex
    path = tmp_path / "mesh.vtk"
    whole(path, "binary.vtk", wrong)
    with pytest.raises(ValueError, match=r"mesh\.vtk: a tetrahedron names a vertex"):
        PressureField(1e5).mesh(path)


def test_vertices_that_are_not_finite_or_flat_are_refused(tmp_path):
    points = POINTS.copy()
    points[1, 1] = np.nan
    path = tmp_path / "mesh.vtk"
    meshio.Mesh(points, [("tetra", TETRAHEDRA)]).write(path)
    with pytest.raises(ValueError, match=r"mesh\.vtk: vertices must be finite"):
        PressureField(1e5).convex(path)
    flat = tmp_path / "flat.xml"
    flat.write_text(
        '<dolfin><mesh celltype="triangle" dim="2"><vertices size="3">'
        '<vertex index="0" x="0" y="0"/><vertex index="1" x="1" y="0"/>'
        '<vertex index="2" x="0" y="1"/></vertices><cells size="1">'
        '<triangle index="0" v0="0" v1="1" v2="2"/></cells></mesh></dolfin>'
    )
    with pytest.raises(ValueError, match=r"flat\.xml: .* wrong number of columns"):
        PressureField(1e5).convex(flat)
