"""The documentation site: pages of this folder, notebooks, and every public name.

`make docs` builds it into build/docs/VERSION, with what is installed and no network.
"""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import sapwood

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "sapwood"
author = "the sapwood authors"
copyright = "2026, the sapwood authors"  # noqa: A001
version = release = sapwood.__version__
html_title = f"sapwood {version}"

extensions = [
    "code_links",
    "docstrings",
    "drawings",
    "engine_fields",
    "executed",
    "formulas",
    "gallery",
    "installation",
    "myst_nb",
    "numpydoc",
    "papers",
    "programs",
    "public_names",
    "repository_links",
    "runs",
    "sphinx.ext.autodoc",
    "versions",
]
exclude_patterns = ["_ext", "_templates", "jupyter_execute", "notebooks/results"]

# ---- pages ---------------------------------------------------------------------------------------

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
        "versions.html",
    ]
}
html_search_scorer = str(HERE / "_static/scorer.js")
html_show_sphinx = False
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "pictures"
highlight_language = "python"
# attributes of several classes have the same name
suppress_warnings = ["ref.python"]

executed_pages = [
    "tutorials/arrays",
    "tutorials/batch_training",
    "tutorials/first_simulation",
    "tutorials/gradients",
    "tutorials/robot",
    "tutorials/soft_bodies",
    "tutorials/standing_robot",
    "how-to/batch",
    "how-to/batches",
    "how-to/clutter",
    "how-to/complementarity",
    "how-to/constraints",
    "how-to/derivatives",
    "how-to/environments",
    "how-to/identification",
    "how-to/install",
    "how-to/inverse_dynamics",
    "how-to/materials",
    "how-to/pressure_fields",
    "how-to/simulation/accuracy",
    "how-to/simulation/contact_forces",
    "how-to/simulation/geom_friction",
    "how-to/simulation/migrate",
    "how-to/simulation/parameters",
    "how-to/simulation/randomize",
    "how-to/simulation/soft_bodies",
    "how-to/simulation/symptoms",
    "how-to/simulation/videos",
    "how-to/stepper",
    "how-to/stepping",
    "how-to/task_control",
    "how-to/troubleshooting",
]

# ---- notebooks, which are run --------------------------------------------------------------------

shutil.copytree(
    HERE.parent / "notebooks", HERE / "notebooks", dirs_exist_ok=True,
    ignore=shutil.ignore_patterns("results", ".ipynb_checkpoints"),
)  # fmt: skip
# their figures are those of the gallery, which are made before
RESULTS, GALLERY = HERE / "notebooks/results", HERE.parent / "build/gallery"
GALLERY.mkdir(parents=True, exist_ok=True)
if not RESULTS.exists():
    RESULTS.symlink_to(os.path.relpath(GALLERY, RESULTS.parent))
os.environ["MATPLOTLIBRC"] = str(HERE / "_static/matplotlibrc")
# small matrices: beside other work a second thread of BLAS makes soft bodies seven times slower
os.environ.setdefault("OMP_NUM_THREADS", "1")
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE.parent / "build/notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 600
# PyTorch is installed after all else, if at all
if importlib.util.find_spec("torch") is None:
    nb_execution_excludepatterns = ["friction_in_torch.ipynb"]

# ---- docstrings ----------------------------------------------------------------------------------

numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
