"""The versions that lie beside each other, a folder each: their list, and a page that leads to one.

Every page reads the list when it is opened, from the folder above that of its version: pages of an
older version, which are not built again, offer the newer ones too.
"""

import json
from pathlib import Path

from packaging.version import InvalidVersion, Version

PAGE = """<!doctype html>
<meta charset="utf-8">
<title>sapwood</title>
<meta http-equiv="refresh" content="0; url={newest}/index.html">
<h1>sapwood</h1>
<ul>
{items}
</ul>
"""


def versions_in(folder):
    """Names of the folders that hold a site, the newest version first."""
    found = {}
    for inventory in folder.glob("*/objects.inv"):
        try:
            found[Version(inventory.parent.name)] = inventory.parent.name
        except InvalidVersion:
            continue
    return [found[version] for version in sorted(found, reverse=True)]


def write(folder):
    """Write versions.js and index.html into the folder of all versions."""
    versions = versions_in(folder)
    items = "\n".join(f'<li><a href="{name}/index.html">{name}</a></li>' for name in versions)
    (folder / "versions.js").write_text(f"window.documentedVersions = {json.dumps(versions)};\n")
    (folder / "index.html").write_text(PAGE.format(newest=versions[0], items=items))


def _finish(app, exception):
    folder = Path(app.outdir)
    # where it was told to build into another folder there are no versions
    if exception is None and folder.name == app.config.release:
        write(folder.parent)


def setup(app):
    """Sphinx's entry point."""
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True}
