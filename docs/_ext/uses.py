"""Where examples use a public name: blocks of pages, notebooks, programs, and docstrings."""

import ast
import doctest
import functools
import importlib
import inspect
import json
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^    .*\n|^\n(?=    ))+", re.MULTILINE)


def blocks(path):
    """Python code of a page, a notebook or a program."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return [text]
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return FENCED.findall(text) + [textwrap.dedent(block) for block in INDENTED.findall(text)]


def names_in(code, known):
    """Full names that code uses; ``known`` are those of its names that stand for modules or names.

    What imports bind is added to them, so that a later block goes on from an earlier one.
    """
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a shell's, or prose
        return set()
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in known:
            used.add(known[node.id])
        elif isinstance(node, ast.Attribute):
            first, _, rest = ast.unparse(node).partition(".")
            if first in known:
                used.add(f"{known[first]}.{rest}")
    return used


@functools.cache
def uses_by_page():
    """Full names that each page, notebook and program uses, by paths from the root."""
    pages = [ROOT / "README.md", *sorted(ROOT.glob("docs/*/**/*.md"))]
    pages = [page for page in pages if page.parent != ROOT / "docs/reference/api"]
    pages += [*sorted(ROOT.glob("examples/*.py")), *sorted(ROOT.glob("notebooks/*.ipynb"))]
    # what is not for a page is used by the tests, which run too
    pages += sorted(ROOT.glob("tests/**/test_*.py"))
    found = {}
    for page in pages:
        known = {"sapwood": "sapwood"}
        used = [names_in(code, known) for code in blocks(page)]
        found[page.relative_to(ROOT).as_posix()] = set().union(*used)
    return found


def identity(module, name):
    """What a name stands for, the same wherever it is exported."""
    value = getattr(importlib.import_module(module), name)
    return (getattr(value, "__module__", None) or module, getattr(value, "__qualname__", name))


def shown_in_docstring(value):
    """Whether the docstring of a class, one of its methods, or a function has an example."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    return callable(value) and any(test.examples for test in finder.find(value, "value"))


def returned_by(name, value):
    """Whether a function, or a member of a class, returns a class by its annotation."""
    classes = inspect.getmro(value) if inspect.isclass(value) else ()
    members = [member for kind in classes for member in vars(kind).values()] or [value]
    for member in members:
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        annotated = getattr(function, "__annotations__", {}).get("return", "")
        if re.search(rf"\b{name}\b", str(annotated)):
            return True
    return False


class Examples:
    """Examples of all public names of some modules.

    Parameters
    ----------
    names : dict of str to list of str
        The public names of each module.
    """

    def __init__(self, names):
        self._aliases, self._values = {}, {}
        for module, listed in names.items():
            for name in listed:
                same = self._aliases.setdefault(identity(module, name), set())
                # modules of the studies are those of the package, too
                full = f"{module}.{name}"
                same |= {full, full.replace(".studies.", ".")}
                self._values[full] = getattr(importlib.import_module(module), name)

    def of(self, module, name):
        """Paths of files with an example, "" for the docstring itself; the nearest ones first.

        What users do not make themselves is shown where that is which returns it.
        """
        value = self._values[f"{module}.{name}"]
        same = self._aliases[identity(module, name)]
        found = [""] if shown_in_docstring(value) else []
        found += [page for page, used in uses_by_page().items() if used & same]
        if not any(
            page.startswith(("docs", "examples", "notebooks")) or not page for page in found
        ):
            makers = [full for full, maker in self._values.items()
                      if maker is not value and returned_by(name, maker)]  # fmt: skip
            pages = uses_by_page().items()
            found = [page for page, used in pages if used & {*makers}] + found
        return list(dict.fromkeys(found))
