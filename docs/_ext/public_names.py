"""Writes reference/api/*.md: a page per public module with all names that it lists in __all__."""

import importlib.util
import inspect
import sys
from pathlib import Path
from unittest.mock import MagicMock

from uses import Examples

MODULES = {
    "sapwood": "contact problems and their solutions",
    "sapwood.mujoco": "simulation of MuJoCo models",
    "sapwood.gymnasium": "environments of Gymnasium on batches",
    "sapwood.viewer": "simulations in the browser",
    "sapwood.rendering": "pictures and videos without a screen",
    "sapwood.constraints": "constraints beside contact",
    "sapwood.laws": "laws of contact and their materials",
    "sapwood.stepping": "theta-method on arrays",
    "sapwood.trajectory": "trajectories with derivatives",
    "sapwood.torch": "contact within PyTorch",
    "sapwood.jax": "contact within JAX",
    "sapwood.invdyn": "inverse dynamics with rigid contact",
    "sapwood.lcp": "complementarity problems",
    "sapwood.qp": "quadratic programs",
    "sapwood.geometry": "pressure fields and contact surfaces",
    "sapwood.problem": "problem files",
    "sapwood.reference": "the same algorithms in plain NumPy",
    "sapwood.studies.experiments": "experiments and figures",
    "sapwood.studies.scenes": "scenes of the experiments",
}


# what is installed after all else, if at all
LATER = {"sapwood.torch": ("torch",), "sapwood.jax": ("jax", "jax.numpy")}


def imported(name):
    """A module; its functions have docstrings and signatures without what it stands on, too."""
    packages = LATER.get(name, ())
    missing = packages if packages and importlib.util.find_spec(packages[0]) is None else ()
    sys.modules.update(dict.fromkeys(missing, MagicMock()))
    try:
        return importlib.import_module(name)
    finally:
        for package in missing:
            del sys.modules[package]


def names_of(module):
    """Public names of a module, classes first."""
    listed = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
    ]
    return [name for name in listed if not name.startswith("_")]


def shown_in(paths):
    """A line with links to the first of the files that show a name."""
    links = []
    for path in filter(None, paths[:4]):
        # what README shows stands on that page
        path = "docs/tutorials/start.md" if path == "README.md" else path
        document = path.removeprefix("docs/").rpartition(".")[0]
        is_page = path.startswith(("docs/", "notebooks/"))
        links.append(f":doc:`/{document}`" if is_page else f"``{path}``")
    return [f"Shown in: {', '.join(links)}.", ""] if links else []


def page(name, title, seen, examples):
    """The page of one module; what is on the page of another is linked to."""
    module = imported(name)
    lines = [f"# {name}", "", f"{title[0].upper()}{title[1:]}.", "", "```{eval-rst}"]
    lines += [f".. automodule:: {name}", "   :no-members:", ""]
    elsewhere = []
    for public in names_of(module):
        value = getattr(module, public)
        where = (getattr(value, "__module__", name), public)
        if where in seen:
            elsewhere.append(f":py:obj:`{public} <{seen[where]}.{public}>`")
        elif inspect.isclass(value):
            lines += [f".. autoclass:: {name}.{public}", "   :members:", ""]
        elif callable(value):
            lines += [f".. autofunction:: {name}.{public}", ""]
        else:
            lines += [f".. autodata:: {name}.{public}", "   :no-value:", ""]
        if where not in seen:
            lines += shown_in(examples.of(name, public))
        seen.setdefault(where, name)
    if elsewhere:
        lines += ["Also here: " + ", ".join(elsewhere) + ".", ""]
    return "\n".join([*lines, "```", ""])


def write(app):
    """Write the pages, those that changed."""
    folder = Path(app.srcdir) / "reference/api"
    folder.mkdir(exist_ok=True)
    seen = {}
    examples = Examples({name: names_of(imported(name)) for name in MODULES})
    pages = {name: page(name, title, seen, examples) for name, title in MODULES.items()}
    toc = "\n".join(pages)
    pages["index"] = f"# Python modules\n\n```{{toctree}}\n:maxdepth: 1\n\n{toc}\n```\n"
    for name, text in pages.items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def setup(app):
    """Sphinx's entry point."""
    # before autosummary, which numpydoc brings along, imports what is on the pages
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True}
