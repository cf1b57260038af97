"""Pages of the documentation with tables that benchmarks renew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sapwood.base.files import write_file

DOCS = Path(__file__).resolve().parents[1] / "docs"


def renew(page: Path, name: str, text: str) -> None:
    """Put a text between the marks of a page, ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``.

    Parameters
    ----------
    page
        The file.
    name
        Of the marks.
    text
        Markdown.

    Raises
    ------
    OSError
        The page cannot be read or written.
    ValueError
        It lacks the marks.
    """
    old = page.read_text(encoding="utf-8")
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found_begin, rest = old.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"{page} has no line {begin} with {end} after it")
    write_file(page, f"{before}{begin}\n\n{text}\n\n{end}{after}")


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, of which the first line is the head; thousands without an exponent."""

    def cell(word: str) -> str:
        return re.sub(r"\b\d(\.\d+)?e\+0[34]\b", lambda x: f"{float(x[0]):.0f}", word)

    def line(words: Sequence[str]) -> str:
        return f"| {' | '.join(cell(word).replace('|', '/') for word in words)} |"

    return "\n".join([line(lines[0]), line(["---"] * len(lines[0])), *map(line, lines[1:])])
