"""``{papers}``: what the papers contain, item by item, from reference/papers.toml.

Counts of the inventory and of compared numbers are made here, so that they cannot be wrong. The
role ``{run}`` writes a number of a stored full run: ``{run}`12; best conic; 2``` is the second
number of the first line that begins with "best conic" in `docs/_static/full/12.txt`, which is
what `sapwood figure 12` printed.
"""

import re
import tomllib
from collections import Counter
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

REFERENCE = Path(__file__).resolve().parents[1] / "reference"
FULL = REFERENCE.parent / "_static/full"
STATES = ("made", "drawn", "tested", "used", "partly", "missing")


def documents():
    """Return the documents of the data file."""
    return tomllib.loads((REFERENCE / "papers.toml").read_text(encoding="utf-8"))["document"]


def numbers_of(item):
    """Return the numbers of an item: 21, 22 and 23 of "Equations 21-23"."""
    first, _, last = re.search(r"(\d+)(-(\d+))?$", item).groups()
    return range(int(first), int(last or first) + 1)


def figure_name(key, item):
    """Return the name of a figure or a table on the command line."""
    kind, _, number = item.partition(" ")
    if kind not in ("Figure", "Table"):
        return None
    prefix = {"contact": "", "invdyn": "id-"}.get(key)
    if prefix is None:
        return None
    return prefix + ("table-" if kind == "Table" else "") + number


def compared():
    """Count the rows of paper_numbers.md by the names in their first column."""
    text = (REFERENCE / "paper_numbers.md").read_text(encoding="utf-8")
    found = Counter()
    for row in re.findall(r"^\| ([^|]+) \| .*\|$", text, re.MULTILINE):
        for name in row.split(","):
            table = re.fullmatch(r"Table (\d+)", name.strip())
            found[f"id-table-{table[1]}" if table else name.strip()] += 1
    return found


def number_of(text):
    """The number of a stored full run: "FIGURE; LABEL; COLUMN"."""
    figure, label, column = (part.strip() for part in text.split(";"))
    lines = (FULL / f"{figure}.txt").read_text(encoding="utf-8").splitlines()
    rest = next((x.strip()[len(label) :] for x in lines if x.strip().startswith(label)), None)
    words = re.findall(r"[-+\d][\d.,e+-]*%?", rest or "")
    if len(words) < int(column):
        raise ExtensionError(f"{figure}.txt has no number {column} after {label!r}")
    word = words[int(column) - 1].replace("%", " %")
    return re.sub(r"e\+?(-?)0*(\d)", r"e\1\2", word)


def with_numbers(text):
    """The text with the numbers of its ``{run}`` roles."""
    return re.sub(r"\{run\}`([^`]+)`", lambda role: number_of(role[1]), text)


def run_role(name, rawtext, text, lineno, inliner, options=None, content=()):
    """``{run}`FIGURE; LABEL; COLUMN```."""
    return [nodes.Text(number_of(text))], []


def place(path):
    """A link to a page, or the name of a file."""
    if path.startswith("docs/"):
        page = path.removeprefix("docs/")
        return f"[{page.removesuffix('.md')}](/{page})"
    return f"`{path}`"


def inventory():
    """The table of counts: a row per document."""
    lines = [
        "| document | figures | tables | results | numbered equations | "
        + " | ".join(STATES)
        + " |",
        "| --- " * (5 + len(STATES)) + "|",
    ]
    for document in documents():
        states = Counter(row["state"] for row in document["rows"])
        counts = [document["figures"], document["tables"], len(document["results"])]
        counts += [document["equations"], *(states[state] for state in STATES)]
        lines.append(f"| {document['title']} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines)


def table(document, numbers):
    """The items of one document."""
    lines = ["| item | shows | here | where | command | numbers compared | remark |",
             "| --- " * 7 + "|"]  # fmt: skip
    for row in document["rows"]:
        count = numbers[figure_name(document["key"], row["item"])]
        command = f"`{row['command']}`" if "command" in row else ""
        link = f"[{count}](/reference/paper_numbers.md)" if count else ""
        lines.append(
            f"| {row['item']} | {row['what']} | {row['state']} | {place(row['where'])} "
            f"| {command} | {link} | {row.get('note', '')} |"
        )
    return "\n".join(lines)


class Papers(SphinxDirective):
    """The inventory, and a table for each document."""

    def run(self):
        """What stands on the page."""
        self.env.note_dependency(str(REFERENCE / "papers.toml"))
        self.env.note_dependency(str(REFERENCE / "paper_numbers.md"))
        made, numbers = self.parse_text_to_nodes(inventory()), compared()
        for document in documents():
            section = nodes.section(ids=[f"paper-{document['key']}"])
            section += nodes.title("", f"{document['authors']}: {document['title']}")
            section += self.parse_text_to_nodes(table(document, numbers))
            made.append(section)
        return made


def setup(app):
    """Sphinx's entry point."""
    app.add_directive("papers", Papers)
    app.add_role("run", run_role)
    return {"parallel_read_safe": True}
