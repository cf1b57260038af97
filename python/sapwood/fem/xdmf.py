"""Time series of soft bodies in XDMF, with their numbers in one HDF5 file, by meshio."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from sapwood.base.files import write_file
from sapwood.base.optional import imported_for

from .pieces import Piece

_USER = "sapwood.fem.SeriesWriter in XDMF"


class XdmfSeries:
    """A time series of cells that stay the same: a file ``.xdmf``, and ``.h5`` beside it.

    Both are whole after each call of :meth:`write`.

    Parameters
    ----------
    path : Path
        The ``.xdmf``.

    Raises
    ------
    ImportError
        Without meshio and h5py, which the extra ``geometry`` installs.
    """

    def __init__(self, path: Path) -> None:
        with imported_for(_USER, "geometry"):
            import h5py  # noqa: F401
            from meshio.xdmf import TimeSeriesWriter
        self._path, self._numbers = path, path.with_suffix(".h5")
        # its context manager has the HDF5 file in the working directory, and no XML before its end
        self._writer: Any = TimeSeriesWriter(path)
        self._writer.h5_filename = str(self._numbers)
        self._start = np.zeros((0, 3))

    def write(self, time: float, pieces: list[Piece]) -> None:
        """Add one time.

        Parameters
        ----------
        time : float
            The time, s.
        pieces : list of Piece
            The pieces, tetrahedra first.

        Raises
        ------
        OSError
            If a file cannot be written.
        ValueError
            If a body has another number of points than at the first time.
        """
        import h5py

        is_first = not self._writer.has_mesh
        x = np.concatenate([piece.points for piece in pieces])
        if not is_first and x.shape != self._start.shape:
            raise ValueError(f"bodies: have {len(x)} points, and had {len(self._start)} at first")
        with h5py.File(self._numbers, "w" if is_first else "r+") as self._writer.h5_file:
            if is_first:
                self._start = x
                self._writer.write_points_cells(x, _cells(pieces))
            velocities = np.concatenate([piece.velocities for piece in pieces])
            point_data = {"displacement": x - self._start, "velocity": velocities}
            self._writer.write_data(time, point_data, _fields(pieces))
        if is_first:
            self._take_mesh()
        text = ElementTree.tostring(self._writer.xdmf_file, encoding="unicode")
        write_file(str(self._path), text)

    def _take_mesh(self) -> None:
        """Let the first time have the mesh, which ParaView would show beside it as a grid."""
        domain, (first,) = self._writer.domain, self._writer.collection
        mesh = domain.find("Grid[@GridType='Uniform']")
        domain.remove(mesh)
        first.attrib.update(mesh.attrib)
        first[:1] = list(mesh)  # in the place of the reference to the mesh


def _cells(pieces: list[Piece]) -> dict[str, Any]:
    """Corners of all cells by kind, among the points of all pieces."""
    firsts = np.cumsum([0] + [len(piece.points) for piece in pieces])
    cells: dict[str, list[Any]] = {}
    for piece, first in zip(pieces, firsts, strict=False):
        cells.setdefault(piece.kind, []).append(piece.cells + first)
    return {kind: np.concatenate(listed) for kind, listed in cells.items()}


def _fields(pieces: list[Piece]) -> dict[str, list[Any]]:
    """Values of all cells; ``body`` is the number of the body."""
    fields = {
        name: [piece.fields[name] for piece in pieces] for name in pieces[0].fields
    }  # fmt: skip
    return fields | {"body": [np.full(len(piece.cells), piece.body) for piece in pieces]}
