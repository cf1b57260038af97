"""Time series of soft bodies, which ParaView opens: VTK files, or XDMF."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sapwood.base.checks import file_name, instances, real
from sapwood.base.files import write_file

from .bodies import SoftBody, check_distinct
from .pieces import Piece, pieces_of
from .xdmf import XdmfSeries

_VTK_TYPES = {"tetra": 10, "triangle": 5}


class SeriesWriter:
    """Writes the states of soft bodies as a time series.

    - ``.pvd`` lists files ``.vtu``, one for each body and time, with the positions.
    - ``.xdmf`` describes one file ``.h5`` beside it. Vertices have the positions of the first time
      and ``displacement`` from these (m), which ParaView adds by *Warp By Vector*; cells have the
      number of their ``body``.

    All is whole after each call of :meth:`write`. Vertices have their velocity (m/s), tetrahedra
    von Mises' stress (Pa), the pressure (Pa) and det F. Triangles of render meshes have the means
    of these over their corners; in ``.vtu`` they are files of their own.

    Parameters
    ----------
    path : str or path
        The ``.pvd`` or ``.xdmf``; the other files stand beside it and begin with its name.
    bodies : sequence of SoftBody
        The bodies.

    Raises
    ------
    TypeError, ValueError
        For a path with another suffix, what is no soft body, or no bodies.
    ImportError
        For ``.xdmf`` without meshio and h5py, which the extra ``geometry`` installs.

    Examples
    --------
    >>> import tempfile
    >>> from sapwood import fem
    >>> foam = fem.Material(young=1e5, poisson=0.3, density=1000.0)
    >>> body = fem.SoftBody(fem.box([0.1] * 3, 2), foam)
    >>> world = fem.World([body], planes=[fem.HalfSpace(offset=-0.06)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     series = fem.SeriesWriter(f"{folder}/fall.pvd", world.bodies)
    ...     for _ in range(3):
    ...         _ = world.step(5)
    ...         series.write(world.time)
    """

    def __init__(self, path: str | PathLike[str], bodies: Sequence[SoftBody]) -> None:
        self._path = Path(file_name(path, "path"))
        if self._path.suffix not in (".pvd", ".xdmf"):
            raise ValueError(f"path = {str(self._path)!r}: must end with .pvd or .xdmf")
        self._bodies = instances(bodies, SoftBody, "bodies")
        if not self._bodies:
            raise ValueError("bodies: names none")
        check_distinct(self._bodies, "bodies")
        kind = XdmfSeries if self._path.suffix == ".xdmf" else _VtkSeries
        self._series: XdmfSeries | _VtkSeries = kind(self._path)

    def write(self, time: float) -> None:
        """Write the present state.

        Parameters
        ----------
        time : float
            Its time, s.

        Raises
        ------
        OSError
            If a file cannot be written.
        ValueError
            If a render mesh of an ``.xdmf`` has come or gone since the first time.
        """
        self._series.write(real(time, "time"), pieces_of(self._bodies))


class _VtkSeries:
    """Files ``.vtu``, and the ``.pvd`` that lists them."""

    def __init__(self, path: Path) -> None:
        self._path, self._frames = path, 0
        self._listed: list[str] = []

    def write(self, time: float, pieces: list[Piece]) -> None:
        """Write one time."""
        for part, piece in enumerate(pieces):
            name = f"{self._path.stem}_{part}_{self._frames:05d}.vtu"
            write_file(str(self._path.with_name(name)), _grid(piece))
            self._listed.append(f'<DataSet timestep="{time!r}" part="{part}" file="{name}"/>')
        self._frames += 1
        lines = [
            '<VTKFile type="Collection" version="0.1">',
            "<Collection>",
            *self._listed,
            "</Collection>",
            "</VTKFile>",
            "",
        ]
        write_file(str(self._path), "\n".join(lines))


def _grid(piece: Piece) -> str:
    n, (m, corners) = len(piece.points), piece.cells.shape
    lines = [
        '<VTKFile type="UnstructuredGrid" version="0.1">',
        "<UnstructuredGrid>",
        f'<Piece NumberOfPoints="{n}" NumberOfCells="{m}">',
        "<Points>",
        *_array("positions", piece.points),
        "</Points>",
        "<Cells>",
        *_array("connectivity", piece.cells),
        *_array("offsets", corners * np.arange(1, m + 1)),
        *_array("types", np.full(m, _VTK_TYPES[piece.kind])),
        "</Cells>",
        '<PointData Vectors="velocity">',
        *_array("velocity", piece.velocities),
        "</PointData>",
        '<CellData Scalars="von Mises">',
        *(line for name, values in piece.fields.items() for line in _array(name, values)),
        "</CellData>",
        "</Piece>",
        "</UnstructuredGrid>",
        "</VTKFile>",
        "",
    ]
    return "\n".join(lines)


def _array(name: str, values: NDArray[np.generic]) -> Iterable[str]:
    kind = "Float64" if values.dtype.kind == "f" else "Int64"
    width = f' NumberOfComponents="{values.shape[1]}"' if values.ndim == 2 else ""
    yield f'<DataArray type="{kind}" Name="{name}"{width} format="ascii">'
    for row in values.tolist():
        yield " ".join(map(repr, row)) if isinstance(row, list) else repr(row)
    yield "</DataArray>"
