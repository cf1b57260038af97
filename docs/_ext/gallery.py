"""``{gallery}``: pictures of figures beside the commands that make them and what explains them.

Each line of its content names a figure and the page, or a heading of it, by its path from docs/.
Quick versions of the figures are made in build/gallery when notebooks are run: not where
``nb_execution_mode`` is off, and again where the package has changed. Figures whose quick version
shows little have a picture of a full run in _static/full, which stands in its place. With
``:stored:`` lines name pictures of benchmarks/results, what they show, and the command.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import sapwood
from sapwood.studies.experiments.figures import FIGURES

ROOT = Path(__file__).resolve().parents[2]
MADE = ROOT / "build/gallery"
STORED = ROOT / "benchmarks/results"
FULL = ROOT / "docs/_static/full"
COMMAND = "sapwood figure {} --quick --out results/"


def picture_of(name):
    """The quick picture of a figure, where it is made."""
    return MADE / f"{'figure' if name.isdecimal() else ''}{name}_quick.png"


def shown(name):
    """The picture of a figure and its command: of a stored full run, or of the quick version."""
    stored = FULL / f"{'figure' if name.isdecimal() else ''}{name}.png"
    if stored.exists():
        return stored, COMMAND.format(name).replace(" --quick", "")
    return picture_of(name), COMMAND.format(name)


def package_digest():
    """A digest of the package as it is installed."""
    package = Path(sapwood.__file__).parent
    files = sorted(path for path in package.rglob("*") if path.suffix in (".py", ".so"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def make_figures(app):
    """All figures, where the package has changed since; points that still hold are kept."""
    stamp, digest = MADE / "package", package_digest()
    made = stamp.exists() and stamp.read_text() == digest
    if app.config.nb_execution_mode == "off" or made:
        return
    logging.getLogger(__name__).info("figures of the gallery, some minutes...")
    command = [sys.executable, "-m", "sapwood", "figure", "all", "--quick", "--quiet", "--out"]
    done = subprocess.run([*command, MADE], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ExtensionError(f"the figures of the gallery failed: {done.stderr}")
    stamp.write_text(digest)


class Gallery(SphinxDirective):
    """Cards of figures: picture, what it shows, command, and a link to the explanation."""

    has_content = True
    option_spec = {"stored": directives.flag}  # noqa: RUF012

    def run(self):
        """What stands on the page."""
        cards = []
        for line in self.content:
            if "stored" in self.options:
                stem, page, title, command = (word.strip() for word in line.split("|"))
                cards.append(self.card(STORED / f"{stem}.png", command, title, page))
            else:
                name, page = line.split()
                cards.append(self.card(*shown(name), FIGURES[name].title, page))
        return [nodes.container("", *cards, classes=["gallery"])]

    def card(self, picture, command, title, page):
        """One figure."""
        parts = []
        if picture.exists():
            folder = Path(self.env.srcdir, "pictures")
            folder.mkdir(exist_ok=True)
            shutil.copyfile(picture, folder / picture.name)
            up = "../" * self.env.docname.count("/")
            image = nodes.image(uri=f"/pictures/{picture.name}", alt=title)
            parts.append(nodes.reference("", "", image, refuri=f"{up}_images/{picture.name}"))
        caption = self.parse_text_to_nodes(f"{title[0].upper()}{title[1:]}: [explained](/{page}).")
        code = nodes.literal_block(command, command, language="console")
        return nodes.container("", *parts, *caption, code, classes=["card"])


class QuickFigure(SphinxDirective):
    """The quick picture of a figure, with a caption and a link to the gallery."""

    required_arguments = 1
    has_content = True

    def run(self):
        """What stands on the page."""
        picture = picture_of(self.arguments[0])
        if not picture.exists():
            return []
        folder = Path(self.env.srcdir, "pictures")
        folder.mkdir(exist_ok=True)
        shutil.copyfile(picture, folder / picture.name)
        text = " ".join(self.content)
        image = nodes.image(uri=f"/pictures/{picture.name}", alt=text)
        caption = nodes.caption("", "", *self.parse_inline(text, lineno=self.lineno)[0])
        return [nodes.figure("", image, caption)]


def setup(app):
    """Sphinx's entry point."""
    app.connect("builder-inited", make_figures)
    app.add_directive("quick-figure", QuickFigure)
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True}
