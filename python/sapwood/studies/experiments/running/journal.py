"""Finished points of a sweep, on disk as they come, so that a run that was stopped can go on.

A journal is a file of JSON lines. The first says what the rest was computed with: function,
columns, versions of sapwood, NumPy and other packages, a digest of the code. Every other line is a
point with its rows. Numbers survive the way through JSON to the last bit.

A journal that was computed with something else, or that shall not be resumed, is put aside as
``NAME.old``, and a line that a killed run or a full disk left unfinished is cut off. Points that
are not asked for stay in the file. One run at a time writes a journal: it holds a lock on the file,
which ends with its process.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sapwood
from sapwood import _core
from sapwood.base.files import write_file
from sapwood.studies.experiments.running.points import Point

if sys.platform != "win32":
    import fcntl

#: Parts of the package that compute nothing.
_NO_CODE = (Path("cli"), Path("studies", "commands"), Path("studies", "plotting"))


class Journal:
    """The finished points of one function; a context manager that closes its file.

    Parameters
    ----------
    path
        File of the journal, made or continued.
    function
        What is called at every point.
    columns
        Type of the rows.
    resume
        False begins anew.
    packages
        Names of packages, besides NumPy, whose versions the rows depend on.

    Attributes
    ----------
    started_over : str
        Why an old file was put aside, empty where none was.

    Raises
    ------
    OSError
        The file cannot be written, or another run is writing it.
    """

    def __init__(
        self,
        path: Path,
        function: Callable[..., Any],
        columns: np.dtype[np.void],
        resume: bool,
        packages: Sequence[str] = (),
    ) -> None:
        self._columns = columns
        self._rows: dict[str, NDArray[np.void]] = {}
        self.started_over = ""
        header = {
            "function": f"{function.__module__}.{function.__qualname__}",
            "columns": [[name, columns[name].str] for name in columns.names or ()],
            **provenance(function, packages),
        }
        self._file = open(path, "ab+")  # noqa: SIM115 (see __exit__)
        try:
            self._lock(path)
            if resume:
                self.started_over = self._read(header)
            if self.started_over or not resume:
                self._put_aside(path.with_name(path.name + ".old"))
            if self._file.seek(0, os.SEEK_END) == 0:
                self._write(header)
        except BaseException:
            self._file.close()
            raise

    def _lock(self, path: Path) -> None:
        """Keep other runs from the file until this process closes it or ends."""
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BlockingIOError(f"another run is writing {path.name}") from None

    def _content(self) -> bytes:
        self._file.seek(0)
        return self._file.read()

    def _put_aside(self, old: Path) -> None:
        content = self._content()
        if content:
            write_file(old, content)
        self._file.truncate(0)

    def _read(self, header: Mapping[str, Any]) -> str:
        """Take over the finished points; return why that cannot be, or nothing."""
        content = self._content()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            self._file.truncate(len(whole))
        if not whole:
            return ""
        rows = {}
        try:
            found, *entries = map(json.loads, whole.splitlines())
            changed = [name for name in header if found.get(name) != header[name]]
            if changed:
                return "changed since it was computed: " + ", ".join(changed)
            for entry in entries:
                values = [tuple(row) for row in entry["rows"]]
                rows[_key(entry["point"])] = np.array(values, self._columns)
        except (ValueError, TypeError, KeyError, AttributeError):
            return "it cannot be read"
        self._rows = rows
        return ""

    def find(self, point: Point) -> NDArray[np.void] | None:
        """Rows of a finished point, or None.

        Parameters
        ----------
        point
            The point, with all its values.
        """
        return self._rows.get(_key(point))

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, point: Point, rows: NDArray[np.void]) -> None:
        """Keep the rows of a finished point; they are on disk when this returns.

        Parameters
        ----------
        point
            The point, with all its values.
        rows
            Its rows, of the journal's type.
        """
        self._rows[_key(point)] = rows
        self._write({"point": dict(point), "rows": rows.tolist()})

    def _write(self, entry: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _key(point: Point) -> str:
    return json.dumps(dict(point), sort_keys=True)


def provenance(function: Callable[..., Any], packages: Sequence[str] = ()) -> dict[str, str]:
    """Everything that the results of a function depend on besides its arguments.

    Parameters
    ----------
    function
        At the top level of a module.
    packages
        Names of packages besides NumPy.

    Returns
    -------
    dict of str to str
        Versions by the names of the packages, and a digest of the code.
    """
    return {
        "version": sapwood.__version__,
        "numpy": np.__version__,
        **{name: _version(name) for name in packages},
        "code": _digest(importlib.import_module(function.__module__)),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return str(getattr(importlib.import_module(package), "__version__", "unknown"))


def _digest(module: ModuleType) -> str:
    """Digest of the package's code that computes, and of the module of a function outside of it."""
    package = Path(sapwood.__file__).parent
    files = [
        path
        for path in sorted(package.rglob("*.py"))
        if not any(path.relative_to(package).is_relative_to(part) for part in _NO_CODE)
    ]
    files += [Path(name) for name in (_core.__file__, module.__file__) if name is not None]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()
