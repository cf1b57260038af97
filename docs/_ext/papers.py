"""``{papers}``: what the papers contain, item by item, from reference/papers.toml.

Counts of the inventory and of compared numbers are made here, so that they cannot be wrong.
"""

import re
import tomllib
from collections import Counter
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

REFERENCE = Path(__file__).resolve().parents[1] / "reference"
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


def place(path):
    """A link to a page, or the folder and the name of a file, between which a line may end."""
    if path.startswith("docs/"):
        page = path.removeprefix("docs/")
        return f"[{page.removesuffix('.md')}](/{page})"
    folder, _, name = path.rpartition("/")
    return f"`{folder}/` `{name}`"


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
    return {"parallel_read_safe": True}
