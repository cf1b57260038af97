"""Docstrings are written to be read in a terminal; on the site formulas are set, pages linked."""

import re

# code, roles such as :math:`x^2`, and formulas on a line of their own
CODE = re.compile(r"(``.*?``|:[\w:]+:`[^`]*`|^\s*\.\. math::.*)")
# what a block that is no prose follows
LITERAL = re.compile(r".*::\s*$|\s*\.\. (code-block|math)::")
# what stands for what in prose
SYMBOLS = {">=": "≥", "<=": "≤", "^-1": "⁻¹", "^2": "²", "^T": "ᵀ", "|": r"\|"}
# a page of this site
PAGE = re.compile(r"``docs/([\w/-]+)\.md``")
WRITTEN = re.compile("|".join(map(re.escape, SYMBOLS)))


def set_formulas(app, what, name, obj, options, lines):
    """Indented lines before the first section are formulas, shown as they are written."""
    end = next((i for i, line in enumerate(lines) if line and not line.strip("-")), len(lines))
    made, block = [], False
    for line in lines[:end]:
        indented = line.startswith("    ")
        if indented and not block and made and not made[-1].strip():
            before = next((text for text in reversed(made) if text.strip()), "")
            if not before.startswith(("    ", "- ", "* ", "..")) and not before.endswith("::"):
                made += [".. code-block:: text", ""]
        block = indented or (block and not line.strip())
        made.append(line)
    lines[:end] = made


def link_pages(app, what, name, obj, options, lines):
    """Pages that a docstring names by their files are links."""
    lines[:] = [PAGE.sub(r":doc:`/\1`", line) for line in lines]


def set_symbols(app, what, name, obj, options, lines):
    """Powers and inequalities of prose; |y| is a norm there, and no substitution."""
    literal = None  # indent of the line that a literal block follows
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is not None or line.lstrip().startswith((">>>", "...")):
            continue
        if LITERAL.match(line):
            literal = indent
        pieces = CODE.split(line)
        pieces[::2] = [WRITTEN.sub(lambda found: SYMBOLS[found[0]], p) for p in pieces[::2]]
        lines[i] = "".join(pieces)


def setup(app):
    """Sphinx's entry point."""
    app.setup_extension("sphinx.ext.autodoc")
    # before and after numpydoc
    app.connect("autodoc-process-docstring", set_formulas, priority=100)
    app.connect("autodoc-process-docstring", link_pages, priority=100)
    app.connect("autodoc-process-docstring", set_symbols, priority=900)
    return {"parallel_read_safe": True}
