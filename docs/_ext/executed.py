"""Pages whose Python blocks are run as notebooks are: what they print and draw stands beneath.

The files that they write are left in no folder of the sources. Comments that are for the formatter
of the sources alone are not shown.
"""

HEAD = """---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3, language: python}
language_info: {name: python}
mystnb: {execution_in_temp: true}
---

"""


def _source(app, docname, content):
    content[0] = content[0].replace("  # fmt: skip\n", "\n")
    if docname in app.config.executed_pages:
        content[0] = HEAD + content[0].replace("```python\n", "```{code-cell} python\n")


def setup(app):
    """Sphinx's entry point."""
    app.add_config_value("executed_pages", [], "env")
    app.connect("source-read", _source)
    return {"parallel_read_safe": True}
