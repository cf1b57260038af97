"""Mesh files: legacy VTK by code of our own, other formats by meshio."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import file_name, instance, regular_file
from sapwood.base.files import write_file
from sapwood.base.foreign_mesh import read_foreign

from .mesh import Mesh

_TETRAHEDRON = 10  # VTK's number of the cell type
_TYPES = {
    "float": ">f4",
    "double": ">f8",
    "int": ">i4",
    "long": ">i8",
    "vtktypeint64": ">i8",
    "vtktypeint32": ">i4",
}


def read_mesh(path: str | PathLike[str], *, orient: bool = False, prune: bool = False) -> Mesh:
    """Read the tetrahedra of a mesh file.

    Parameters
    ----------
    path : str or path
        A legacy VTK file (``.vtk``, an unstructured grid, ASCII or binary), or a file that meshio
        reads (``.vtu``, ``.msh``, ``.mesh``, ...). Cells other than tetrahedra are left out.
    orient, prune : bool, optional
        As :class:`Mesh` has them.

    Returns
    -------
    Mesh
        The mesh.

    Raises
    ------
    ValueError
        If the file is not valid, has no tetrahedra, or no valid ones; the text has its name.
    ImportError
        If meshio is needed and not installed.
    """
    name = regular_file(path, "path")
    try:
        if Path(name).suffix.lower() == ".vtk":
            vertices, tetrahedra = _read_vtk(Path(name).read_bytes())
        else:
            vertices, tetrahedra = _read_by_meshio(name)
        return Mesh(vertices, tetrahedra, orient=orient, prune=prune)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def write_mesh(path: str | PathLike[str], mesh: Mesh, x: ArrayLike | None = None) -> None:
    """Write a mesh as a legacy VTK file, ASCII, with all digits.

    Parameters
    ----------
    path : str or path
        The file, ``.vtk``.
    mesh : Mesh
        The mesh.
    x : array_like (n, 3), optional
        Positions, by default the reference positions.

    Raises
    ------
    OSError
        If the file cannot be written.
    TypeError, ValueError
        For an argument of wrong type or shape, or positions that are not finite.
    """
    name, points = file_name(path, "path"), instance(mesh, Mesh, "mesh").vertices
    if x is not None:
        points = _core.as_float64(x, "x", points.shape, "finite")
    m = len(mesh.tetrahedra)
    lines = ["# vtk DataFile Version 3.0", "sapwood", "ASCII", "DATASET UNSTRUCTURED_GRID"]
    lines += [f"POINTS {len(points)} double"]
    lines += [" ".join(map(repr, row)) for row in points.tolist()]
    lines += [f"CELLS {m} {5 * m}"]
    lines += ["4 " + " ".join(map(str, row)) for row in mesh.tetrahedra.tolist()]
    lines += [f"CELL_TYPES {m}", *[str(_TETRAHEDRON)] * m, ""]
    write_file(name, "\n".join(lines))


def _read_by_meshio(name: str) -> tuple[ArrayLike, ArrayLike]:
    found, _ = read_foreign(name, "sapwood.fem.read_mesh")
    cells = [block.data for block in found.cells if block.type == "tetra"]
    if not cells:
        raise ValueError("has no tetrahedra")
    return found.points, np.concatenate(cells)


class _Reader:
    """Words and arrays of a legacy VTK file."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at, self.binary = content, 0, False

    def line(self) -> str:
        end = self.content.find(b"\n", self.at)
        end = len(self.content) if end < 0 else end
        text = self.content[self.at : end].decode("ascii", "replace").strip()
        self.at = end + 1
        return text

    def words(self) -> list[str]:
        """Words of the next line that is not empty; none at the end of the file."""
        while self.at < len(self.content):
            found = self.line().split()
            if found:
                return found
        return []

    def array(self, count: int, kind: str) -> NDArray[np.generic]:
        if kind not in _TYPES:
            raise ValueError(f"data type {kind!r} is not supported")
        dtype = np.dtype(_TYPES[kind])
        if count < 0 or count > len(self.content):
            raise ValueError(f"{count} numbers announced, which the file cannot hold")
        if self.binary:
            end = self.at + count * dtype.itemsize
            if end > len(self.content):
                raise ValueError("ends in the middle of an array")
            found = np.frombuffer(self.content, dtype, count, self.at)
            self.at = end
            return found.astype(dtype.newbyteorder("="))
        values: list[str] = []
        while len(values) < count:
            row = self.words()
            if not row:
                raise ValueError("ends in the middle of an array")
            values += row
        if len(values) > count:
            raise ValueError(f"a line has more numbers than the {count} announced")
        try:
            return np.array(values).astype(dtype.newbyteorder("="))
        except OverflowError as error:
            raise ValueError(f"has a number that {kind!r} cannot hold") from error


def _read_vtk(content: bytes) -> tuple[ArrayLike, ArrayLike]:
    reader = _Reader(content)
    if not reader.line().startswith("# vtk DataFile Version"):
        raise ValueError("is not a legacy VTK file")
    reader.line()
    form = reader.line()
    if form not in ("ASCII", "BINARY"):
        raise ValueError(f"{form!r}: must be ASCII or BINARY")
    reader.binary = form == "BINARY"
    points: NDArray[np.generic] | None = None
    rows: list[NDArray[np.generic]] = []
    types: NDArray[np.generic] | None = None
    while words := reader.words():
        key, rest = words[0].upper(), [word.lower() for word in words[1:]]
        if key == "DATASET" and rest != ["unstructured_grid"]:
            raise ValueError("must be an unstructured grid")
        if key == "POINTS":
            points = reader.array(3 * _count(rest, 0), rest[1] if len(rest) > 1 else "")
        elif key == "CELLS":
            rows = _read_cells(reader, _count(rest, 0), _count(rest, 1))
        elif key == "CELL_TYPES":
            types = reader.array(_count(rest, 0), "int")
        elif key in ("POINT_DATA", "CELL_DATA"):
            break
    if points is None or types is None or len(types) != len(rows):
        raise ValueError("must have POINTS, CELLS and CELL_TYPES of equal number")
    cells = [row for row, kind in zip(rows, types, strict=True) if kind == _TETRAHEDRON]
    if not cells or any(len(row) != 4 for row in cells):
        raise ValueError(
            "has no tetrahedra" if not cells else "has a tetrahedron without 4 corners"
        )
    return points.reshape(-1, 3).astype(float), np.array(cells).astype(np.int64)


def _count(words: list[str], i: int) -> int:
    if i >= len(words) or not words[i].isdecimal() or len(words[i]) > 12:
        raise ValueError("a number of points or cells is missing")
    return int(words[i])


def _read_cells(reader: _Reader, n: int, size: int) -> list[NDArray[np.generic]]:
    """Corners of each cell, from "n corners ..." or, since version 5, offsets and corners."""
    at = reader.at
    words = reader.words()
    if words and words[0].upper() == "OFFSETS":
        offsets = reader.array(n, words[1].lower() if len(words) > 1 else "").astype(np.int64)
        words = reader.words()
        if not words or words[0].upper() != "CONNECTIVITY":
            raise ValueError("CONNECTIVITY is missing")
        corners = reader.array(size, words[1].lower() if len(words) > 1 else "")
        if n < 1 or offsets[0] != 0 or offsets[-1] != size or np.any(np.diff(offsets) < 0):
            raise ValueError("offsets of cells are not valid")
        return np.split(corners, offsets[1:-1])
    reader.at = at
    flat = reader.array(size, "int").astype(np.int64)
    rows: list[NDArray[np.generic]] = []
    k = 0
    for _ in range(n):
        if k >= size or flat[k] < 0 or k + 1 + flat[k] > size:
            raise ValueError("cells are longer than announced")
        rows.append(flat[k + 1 : k + 1 + flat[k]])
        k += 1 + int(flat[k])
    return rows
