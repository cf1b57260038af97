"""Mesh files by meshio, which prints, ends the process and reads on behind the end of files."""

from __future__ import annotations

import contextlib
import io
import threading
from pathlib import Path
from typing import Any

import numpy as np

from sapwood.base.optional import imported_for

# meshio prints to streams that all threads share
_READING = threading.Lock()

_MOST_EMPTY = 1000
"""Reads at the end of a file after which a reader of meshio would go on for ever."""


class _WithEnd(io.BufferedReader):
    """A file whose end is an error for those who do not look for it."""

    _empty = 0

    def _counted(self, found: bytes, size: int | None) -> bytes:
        self._empty = 0 if found or size == 0 else self._empty + 1
        if self._empty > _MOST_EMPTY:
            raise EOFError("it ends too early")
        return found

    def read(self, size: int | None = -1, /) -> bytes:
        """Bytes of the file, as of a BufferedReader."""
        return self._counted(super().read(size), size)

    def readline(self, size: int | None = -1, /) -> bytes:
        """A line of the file, as of a BufferedReader."""
        return self._counted(super().readline(size), size)


def read_foreign(name: str, user: str) -> tuple[Any, str]:
    """Read a mesh by meshio.

    Parameters
    ----------
    name : str
        The file.
    user : str
        The function that needs it, for errors.

    Returns
    -------
    mesh : meshio.Mesh
        Its mesh.
    told : str
        What meshio printed.

    Raises
    ------
    ValueError
        If meshio cannot read it; the text says why, and what meshio printed.
    ImportError
        Without meshio, the extra ``geometry``.
    """
    with imported_for(user, "geometry"):
        import meshio
    told = io.StringIO()
    suffix = Path(name).suffix.lower()
    with _WithEnd(io.FileIO(name)) as file:
        is_gmsh = suffix == ".msh" and file.peek(1)[:1] == b"$"  # others are of Ansys
        format_of_file = {".ply": "ply", ".msh": "ansys"}.get(suffix)
        try:
            with (
                _READING,
                contextlib.redirect_stdout(told),
                contextlib.redirect_stderr(told),
                np.errstate(over="ignore"),  # it tries binary STL first
            ):
                if is_gmsh:
                    found = meshio.gmsh.main.read_buffer(file)
                else:
                    found = meshio.read(file if format_of_file else name, format_of_file)
        except (Exception, SystemExit) as error:  # meshio ends the process for an unknown format
            reason = "" if isinstance(error, SystemExit) else f"{type(error).__name__}: {error} "
            text = " ".join(f"{reason}{told.getvalue()}".split())
            raise ValueError(f"meshio cannot read it: {text}") from error
    return found, " ".join(told.getvalue().split())
