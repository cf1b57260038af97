"""Commands that install extras: pages write them as in a clone, the site as error messages do."""

from sapwood.base import optional

IN_A_CLONE = "pip install '.["


def written(text):
    """The text of a page with the commands of the release."""
    return text.replace(IN_A_CLONE, f"pip install '{optional.SOURCE}[")


def _source(_app, _docname, content):
    content[0] = written(content[0])


def setup(app):
    """Sphinx's entry point."""
    app.connect("source-read", _source)
    return {"parallel_read_safe": True}
