"""Writes reference/api/*.md: a page per public module with all names that it lists in __all__."""

import importlib.util
import inspect
import sys
from pathlib import Path
from unittest.mock import MagicMock

from uses import Examples

MODULES = {
    "sapwood": "Contact problems from arrays, their solver, and solutions with error bounds.",
    "sapwood.mujoco": "Simulation of MuJoCo models: single worlds, batches, environments.",
    "sapwood.gymnasium": "Vector environments of Gymnasium on batches of worlds.",
    "sapwood.viewer": "Simulations in the browser, live or recorded.",
    "sapwood.rendering": "Pictures and videos of a model, drawn without a screen.",
    "sapwood.constraints": "Constraints beside contact: limits, welds, controllers, dry friction.",
    "sapwood.laws": "Laws of contact and the materials of geoms.",
    "sapwood.stepping": "Time stepping by the theta-method, for models of your own.",
    "sapwood.trajectory": "Whole runs with derivatives by states, inputs and parameters.",
    "sapwood.torch": "Contact as a function of PyTorch.",
    "sapwood.jax": "Contact as a function of JAX.",
    "sapwood.invdyn": "Inverse dynamics with rigid contact: torques for desired accelerations.",
    "sapwood.lcp": "Linear complementarity problems.",
    "sapwood.qp": "Convex quadratic programs.",
    "sapwood.fem": "Deformable bodies of elastic tetrahedra.",
    "sapwood.geometry": "Pressure fields on meshes and the contact surfaces between them.",
    "sapwood.problem": "Problem files: loading, saving, checking.",
    "sapwood.reference": "The same algorithms in plain NumPy, to read and to check against.",
    "sapwood.studies.experiments": "Experiments and figures of the papers.",
    "sapwood.studies.scenes": "Scenes of the experiments, as MuJoCo models.",
}
# Main names of the modules, in the order in which a summary table lists them.
MAIN = {
    "sapwood": [
        "ContactProblem", "solve", "Solution", "SapSettings", "SapSolver", "Status", "Region",
    ],
    "sapwood.mujoco": [
        "Stepper", "Batch", "rollout", "patch", "RunResult", "StepContacts", "DifferentiableModel",
    ],
    "sapwood.invdyn": ["InverseDynamics", "InverseDynamicsResult"],
    "sapwood.viewer": ["view", "Viewer", "record"],
    "sapwood.rendering": ["render_scene", "render_video"],
    "sapwood.trajectory": ["simulate", "Trajectory", "TrajectoryGradient", "FreeBodies"],
    "sapwood.stepping": ["ThetaStepper", "Scheme", "FreeModel"],
    "sapwood.geometry": ["PressureField", "contact_surface", "ContactSurface"],
    "sapwood.fem": ["World", "SoftBody", "Material", "Mesh", "box", "linearize"],
    "sapwood.lcp": ["solve"],
    "sapwood.qp": ["solve", "solve_batch"],
    "sapwood.laws": ["project", "ContactMaterial"],
}  # fmt: skip


# what is installed after all else, if at all
LATER = {
    "sapwood.torch": ("torch",),
    "sapwood.jax": ("jax", "jax.numpy", "jax.experimental", "jax.experimental.buffer_callback"),
}


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
    """Public names of a module: the main ones, then the others in the module's order."""
    listed = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
    ]
    public = [name for name in listed if not name.startswith("_")]
    first = MAIN.get(module.__name__, [])
    return [name for name in first if name in public] + [n for n in public if n not in first]


def summary_of(value):
    """The first sentence of a docstring, on one line."""
    text = (inspect.getdoc(value) or "").split("\n\n")[0]
    return " ".join(text.split()).replace("|", r"\|")


def summary_table(name, names, module):
    """A table of the names of a page, each with a link and its first sentence."""
    if not names:
        return []
    rows = [".. list-table::", "   :widths: auto", "   :class: summary", ""]
    for public in names:
        value = getattr(module, public)
        described = inspect.isclass(value) or callable(value)
        rows += [f"   * - :py:obj:`{public} <{name}.{public}>`",
                 f"     - {summary_of(value) if described else ''}"]  # fmt: skip
    return [*rows, ""]


def shown_in(paths):
    """A line with links to the first of the files that show a name."""
    links = []
    for path in filter(None, paths[:4]):
        document = path.removeprefix("docs/").rpartition(".")[0]
        is_page = path.startswith(("docs/", "notebooks/"))
        links.append(f":doc:`/{document}`" if is_page else f"``{path}``")
    return [f"Shown in: {', '.join(links)}.", ""] if links else []


def page(name, sentence, seen, examples):
    """The page of one module; what is on the page of another is linked to."""
    module = imported(name)
    lines = [f"# {name}", "", sentence, "", "```{eval-rst}"]
    lines += [f".. automodule:: {name}", "   :no-members:", ""]
    names, elsewhere = [], []
    for public in names_of(module):
        where = (getattr(getattr(module, public), "__module__", name), public)
        if where in seen:
            elsewhere.append(f":py:obj:`{public} <{seen[where]}.{public}>`")
        else:
            names.append(public)
            seen[where] = name
    lines += summary_table(name, names, module)
    for public in names:
        value = getattr(module, public)
        if inspect.isclass(value):
            lines += [f".. autoclass:: {name}.{public}", "   :members:", ""]
        elif callable(value):
            lines += [f".. autofunction:: {name}.{public}", ""]
        else:
            lines += [f".. autodata:: {name}.{public}", "   :no-value:", ""]
        lines += shown_in(examples.of(name, public))
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
    rows = "\n".join(f"| [{name}]({name}.md) | {text} |" for name, text in MODULES.items())
    pages["index"] = (
        "# Python modules\n\nEach page opens with a table of its names, the main ones first.\n\n"
        f"| module | for |\n| --- | --- |\n{rows}\n\n"
        f"```{{toctree}}\n:hidden:\n:titlesonly:\n\n{toc}\n```\n"
    )
    for name, text in pages.items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def setup(app):
    """Sphinx's entry point."""
    # before autosummary, which numpydoc brings along, imports what is on the pages
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True}
