"""README as a package index shows it, with no file of the repository beside it.

The build asks ``dynamic_metadata`` for it, with the settings of ``pyproject.toml``.
"""

import re
from pathlib import Path

LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")
PICTURE = re.compile("!" + LINK.pattern)
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def long_description(text, pages="", pictures=""):
    """Markdown without a relative link.

    Parameters
    ----------
    text : str
        Markdown of the repository's root.
    pages, pictures : str
        Where a browser finds its files and its pictures, with a slash at the end. Without the first
        a link becomes the name of its file, without the second a picture is left out.
    """

    def link(match):
        text, file = match.groups()
        if pages:
            return f"[{text}]({pages}{file})"
        return f"`{file}`" if text == file else f"{text} (`{file}`)"

    def prose(part):
        part = PICTURE.sub(rf"![\1]({pictures}\2)" if pictures else "", part)
        return LINK.sub(link, part)

    parts = FENCED.split(text)
    parts[::2] = map(prose, parts[::2])
    return "".join(parts)


def dynamic_metadata(settings, _project):
    """The readme of the package's metadata."""
    text = long_description(Path("README.md").read_text(encoding="utf-8"), **settings)
    return {"readme": {"content-type": "text/markdown", "text": text}}
