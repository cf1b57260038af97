"""Rows of a benchmark: a dataclass, written to a CSV file as they come, and read back."""

from __future__ import annotations

import csv
import dataclasses
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from sapwood.base.files import RowFile

Row = TypeVar("Row")


class Table(RowFile):
    """CSV file with one column per field of a dataclass; a context manager.

    Parameters
    ----------
    path
        File to write; an old one is replaced in the end.
    kind
        The dataclass.
    """

    def __init__(self, path: Path, kind: type) -> None:
        super().__init__(path, _names(kind), flush_seconds=0.0)

    def add(self, row: Any) -> None:
        """Append an instance of the dataclass."""
        self.write(dataclasses.astuple(row))


def read(path: Path, kind: type[Row]) -> list[Row]:
    """Rows of a CSV file; an unfinished last line, as a killed run leaves it, is dropped.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        Its header is not that of the dataclass, or a field is no such value.
    """
    text = path.read_text(encoding="utf-8")
    lines = list(csv.reader(text.splitlines()))
    if not lines or lines[0] != _names(kind):
        raise ValueError(f"{path}: the header is not that of this benchmark")
    if not text.endswith("\n"):
        del lines[-1]
    types = typing.get_type_hints(kind)
    names = lines[0]
    return [
        kind(**{name: _value(types[name], word) for name, word in zip(names, words, strict=True)})
        for words in lines[1:]
    ]


def _value(kind: type, word: str) -> Any:
    if kind is bool:
        if word not in ("True", "False"):
            raise ValueError(f"{word!r} is neither True nor False")
        return word == "True"
    return kind(word)


def _names(kind: type) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


# ---- text ----------------------------------------------------------------------------------------


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns padded to the widest entry; the first one to the left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0])]
            + [word.rjust(width) for word, width in zip(line[1:], widths[1:], strict=True)]
        ).rstrip()
        for line in lines
    )


def digits(value: float) -> str:
    """Three digits, or ``-`` for what is not a number."""
    if value != value:
        return "-"
    size = abs(value)
    return f"{value:.{0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 else 4}f}"
