"""``{run}`NAME; LABEL; COLUMN```: a number of a stored run.

It stands in docs/_static/full/NAME.txt, which holds the output of `sapwood figure NAME`, or in
benchmarks/results/NAME.txt: number COLUMN after LABEL, on the first line that begins with LABEL.
A label "TITLE > ROW" means the first such row below the line that begins with TITLE. The number
of spaces between words does not matter.
"""

import re
from decimal import Decimal
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "docs/_static/full", ROOT / "benchmarks/results")
ROLE = re.compile(r"\{run\}`([^`]+)`")
# words that are numbers, not parts of names such as s^2 and algorithm_1
NUMBER = re.compile(r"(?<![\w.^-])[-+]?\d[\d.,e+-]*%?")


def lines_of(name):
    """The lines of a stored run, with single spaces."""
    files = [folder / f"{name}.txt" for folder in FOLDERS]
    file = next((file for file in files if file.exists()), None)
    if file is None:
        raise ExtensionError(f"no run {name!r} is stored")
    return [" ".join(line.split()) for line in file.read_text(encoding="utf-8").splitlines()]


def number_of(text):
    """The number of a stored run: "NAME; LABEL; COLUMN"."""
    name, label, column = (part.strip() for part in text.split(";"))
    lines, rest = lines_of(name), None
    for part in label.split(" > "):
        begins = re.compile(re.escape(" ".join(part.split())) + r"(?![\w.])")
        found = next((i for i, line in enumerate(lines) if begins.match(line)), None)
        if found is None:
            raise ExtensionError(f"{name}.txt has no line that begins with {part!r}")
        rest = begins.sub("", lines[found], count=1)
        lines = lines[found + 1 :]
    words = NUMBER.findall(rest)
    if len(words) < int(column):
        raise ExtensionError(f"{name}.txt has no number {column} after {label!r}")
    return written(words[int(column) - 1].strip("+,"))


def written(word):
    """A number as a page has it: a power of ten only where it saves many zeros."""
    if "e" in word and 1e-3 <= abs(float(word)) < 1e5:
        word = format(Decimal(word), "f")
    return re.sub(r"e\+?(-?)0*(\d)", r"e\1\2", word).replace("%", " %")


def with_numbers(text):
    """The text with the numbers of its ``{run}`` roles."""
    return ROLE.sub(lambda role: number_of(role[1]), text)


def run_role(_name, _rawtext, text, _lineno, _inliner, options=None, content=()):
    """The role: text with the number."""
    return [nodes.Text(number_of(text))], []


def setup(app):
    """Sphinx's entry point."""
    app.add_role("run", run_role)
    return {"parallel_read_safe": True}
