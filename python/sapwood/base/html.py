"""Tables that notebooks show in place of a line of text."""

from __future__ import annotations

import html
from collections.abc import Iterable

_CELL = "text-align:left;padding:1px 12px 1px 0"


def table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """Names and values below a title.

    Parameters
    ----------
    title : str
        What the table is of.
    rows : iterable of (str, object)
        Name and value of each row; both are escaped.

    Returns
    -------
    str
        An HTML table, which inherits fonts and colours.
    """
    lines = [
        f'<tr><td style="{_CELL};opacity:.7">{html.escape(name)}</td>'
        f'<td style="{_CELL}">{html.escape(str(value))}</td></tr>'
        for name, value in rows
    ]
    caption = f'<tr><th colspan="2" style="{_CELL}">{html.escape(title)}</th></tr>'
    return f"<table>{caption}{''.join(lines)}</table>"
