"""Links to files of the repository that are no pages are shown as what they are: names of files."""

import posixpath
import re

LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def _source(app, docname, content):
    folder = posixpath.dirname(docname)

    def replaced(match):
        text, target = match[1], match[2]
        found = posixpath.normpath(posixpath.join(folder, target))
        inside = not found.startswith("..")
        if docname.startswith("notebooks/") and found.startswith("docs/"):
            return f"[{text}](/{found.removeprefix('docs/')})"
        if found.startswith("../notebooks/"):
            return f"[{text}](/{found.removeprefix('../')})"
        if inside or (app.srcdir / found).suffix == ".png":
            return match[0]
        file = found.removeprefix("../")
        return text if text.strip("`") == file else f"{text} (`{file}`)"

    content[0] = LINK.sub(replaced, content[0])


def setup(app):
    """Sphinx's entry point."""
    app.connect("source-read", _source)
    return {"parallel_read_safe": True}
