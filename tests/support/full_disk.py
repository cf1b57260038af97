"""A disk that is full: files grow to a limit and no further."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

resource = pytest.importorskip("resource", reason="no limits of processes here")


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """Let writes fail where a file would grow beyond some bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def contents(folder: Path) -> dict[str, bytes]:
    """The contents of the files of a folder, by their names."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
