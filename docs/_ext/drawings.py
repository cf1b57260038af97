"""``{drawn} NAME``: a picture that a function of drawn_*.py makes from calls of the library.

The argument is the function's name; the content is the caption, which is the alternative text, too.
Pictures are made when the site is built, with or without notebooks, and again where a drawing file
has changed.
"""

import hashlib
from pathlib import Path

import drawn_concepts
import drawn_contact
import drawn_papers
import drawn_solver
import matplotlib.pyplot as plt
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FILES = (drawn_concepts, drawn_contact, drawn_papers, drawn_solver)
# colours of Okabe and Ito, which colour-blind readers tell apart
STYLE = {
    "axes.prop_cycle": plt.cycler(color=["#0072b2", "#d55e00", "#009e73", "#cc79a7"]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": 110,
    "font.size": 10.0,
    "legend.frameon": False,
    "svg.hashsalt": "sapwood",
}


def draw(name, folder):
    """Draw one picture into a folder, unless it is there already; return its file."""
    (module,) = (file for file in FILES if name in file.DRAWINGS)
    digest = hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest()[:12]
    path = folder / f"{name}-{digest}.svg"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        with plt.rc_context(STYLE):
            figure = module.DRAWINGS[name]()
            figure.savefig(path, metadata={"Date": None})
            plt.close(figure)
    return path


class Drawn(SphinxDirective):
    """A picture with its caption."""

    required_arguments = 1
    has_content = True

    def run(self):
        """What stands on the page."""
        path = draw(self.arguments[0], Path(self.env.srcdir, "pictures"))
        for module in FILES:
            self.env.note_dependency(module.__file__)
        text = " ".join(self.content)
        image = nodes.image(uri=f"/pictures/{path.name}", alt=text, classes=["drawn"])
        caption = nodes.caption("", "", *self.parse_inline(text, lineno=self.lineno)[0])
        return [nodes.figure("", image, caption)]


def setup(app):
    """Sphinx's entry point."""
    app.add_directive("drawn", Drawn)
    return {"parallel_read_safe": True}
