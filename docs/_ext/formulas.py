r"""Formulas as pictures made with the page: no script, no font and no network where it is read.

``\tag{17}`` at the end of a formula on a line of its own is its number, at the right margin.
"""

import html
import re

import ziamath
from docutils import nodes
from sphinx.errors import ExtensionError

SIZE = 20.0  # pixels per em of the drawing, which takes the size of the text around it
TAG = re.compile(r"\\tag\{([^}]*)\}")

# glyphs as paths: names of shared ones would meet on a page
ziamath.config.svg2 = False


def drawn(tex, inline):
    """A formula as SVG, as large as its text and in its colour; its source is read aloud."""
    try:
        formula = ziamath.Latex(tex, size=SIZE, inline=inline, color="currentColor")
        svg = formula.svg()
    except Exception as error:
        raise ExtensionError(f"the formula {tex!r} cannot be drawn: {error}") from error
    size = re.search(r' width="([\d.]+)" height="([\d.]+)"', svg)
    width, height = (float(side) / SIZE for side in size.groups())
    style = f"width:{width:.3f}em;height:{height:.3f}em"
    style += f";vertical-align:{formula.getyofst() / SIZE:.3f}em"
    attributes = f' role="img" aria-label="{html.escape(tex.strip())}" style="{style}"'
    return svg.replace(size[0], attributes, 1)


def visit_math(self, node):
    """Within a line."""
    self.body.append(f'<span class="formula">{drawn(node.astext(), inline=True)}</span>')
    raise nodes.SkipNode


def parts_of(tex):
    r"""What a formula is made of between ``\qquad``, where that is not within anything."""
    parts = tex.split(r"\qquad")
    pairs = (("{", "}"), (r"\left", r"\right"), (r"\begin", r"\end"))
    whole = all(part.count(a) == part.count(b) for part in parts for a, b in pairs)
    return parts if whole else [tex]


def visit_math_block(self, node):
    """On lines of its own: parts go on in the next one where the page is narrow."""
    tex = node.astext()
    tag = TAG.search(tex)
    number = f'<span class="number">({html.escape(tag[1])})</span>' if tag else ""
    parts = " ".join(drawn(part, inline=False) for part in parts_of(TAG.sub("", tex)))
    self.body.append(f'<div class="formula"><span>{parts}</span>{number}</div>')
    raise nodes.SkipNode


def setup(app):
    """Sphinx's entry point."""
    app.add_html_math_renderer("pictures", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True}
