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


def names_of(key, row):
    """Names that stand for an item in paper_numbers.md: of its figure, its equations, or its own.

    They are 9 for Figure 9 of the paper on contact, id-table-3 for Table 3 of that on inverse
    dynamics, (21) to (23) for "Equations 21-23", lemma-3 for "Lemma 3".
    """
    prefix = {"contact": "", "invdyn": "id-"}.get(key, f"{key}-")
    kind, _, number = row["item"].partition(" ")
    if kind.startswith("Equation"):
        names = {f"{prefix}({n})" for n in numbers_of(row["item"])}
    else:
        names = {prefix + (number if kind == "Figure" else row["item"].lower().replace(" ", "-"))}
    return names | {row.get("command", "").removeprefix("sapwood figure ")} - {""}


def compared(text):
    """Rows of the tables of compared numbers in the text of a page, by the names of columns."""
    header = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            header = None
        elif header is None:
            header = cells
        elif set(line) - set("|- "):
            yield dict(zip(header, cells, strict=True))


def counts_of_numbers():
    """Pairs of the names in the first column of a row and the number of its published numbers."""
    page = (REFERENCE / "paper_numbers.md").read_text(encoding="utf-8")
    return [
        (set(row["N"].split(", ")), sum(bool(row[name]) for name in row if "paper" in name))
        for row in compared(page)
    ]


def numbers_among(names, counts):
    """How many published numbers have one of the names."""
    return sum(count for row, count in counts if row & names)


def place(path):
    """A link to a page, or the folder and the name of a file, between which a line may end."""
    if path.startswith("docs/"):
        page = path.removeprefix("docs/")
        return f"[{page.removesuffix('.md')}](/{page})"
    folder, _, name = path.rpartition("/")
    return f"`{folder}/` `{name}`"


def inventory(counts):
    """The table of counts: a row per document."""
    lines = [
        "| document | figures | tables | results | numbered equations | numbers compared | "
        + " | ".join(STATES)
        + " |",
        "| --- " * (6 + len(STATES)) + "|",
    ]
    for document in documents():
        states = Counter(row["state"] for row in document["rows"])
        names = set().union(*(names_of(document["key"], row) for row in document["rows"]))
        totals = [document["figures"], document["tables"], len(document["results"])]
        totals += [document["equations"], numbers_among(names, counts)]
        totals += [states[state] for state in STATES]
        lines.append(f"| {document['title']} | " + " | ".join(map(str, totals)) + " |")
    return "\n".join(lines)


def table(document, counts):
    """The items of one document."""
    lines = ["| item | shows | here | where | command | numbers compared | remark |",
             "| --- " * 7 + "|"]  # fmt: skip
    for row in document["rows"]:
        count = numbers_among(names_of(document["key"], row), counts)
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
        counts = counts_of_numbers()
        made = self.parse_text_to_nodes(inventory(counts))
        for document in documents():
            section = nodes.section(ids=[f"paper-{document['key']}"])
            section += nodes.title("", f"{document['authors']}: {document['title']}")
            section += self.parse_text_to_nodes(table(document, counts))
            made.append(section)
        return made


def setup(app):
    """Sphinx's entry point."""
    app.add_directive("papers", Papers)
    return {"parallel_read_safe": True}
