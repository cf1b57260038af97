"""``{run-program} ../../examples/stack.py``: a program, and beneath it what it prints and draws.

With ``:picture: NAME.png`` it is given the name of a file to draw. Programs are run as notebooks
are, and not where ``nb_execution_mode`` is off.
"""

import subprocess
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective


class Program(SphinxDirective):
    """Source, output and picture of one program."""

    required_arguments = 1
    option_spec = {"picture": directives.path}  # noqa: RUF012

    def run(self):
        """What stands on the page."""
        relative, name = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(relative)
        path = Path(name)
        made = [nodes.literal_block(path.read_text(), path.read_text(), language="python")]
        if self.config.nb_execution_mode == "off":
            return made
        folder = Path(self.env.srcdir, "pictures")
        folder.mkdir(exist_ok=True)
        pictures = [self.options["picture"]] if "picture" in self.options else []
        files = [folder / picture for picture in pictures]
        done = subprocess.run(
            [sys.executable, path, *files], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise ExtensionError(f"{path} failed: {done.stderr}")
        made += [nodes.literal_block(done.stdout, done.stdout, language="text", classes=["output"])]
        return made + [
            nodes.image(uri=f"/pictures/{picture}", alt=path.stem) for picture in pictures
        ]


def setup(app):
    """Sphinx's entry point."""
    app.add_directive("run-program", Program)
    return {"parallel_read_safe": True}
