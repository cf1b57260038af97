"""Programs in the documentation run, and its links lead to something."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import sapwood

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "tests/**/*.md")
    for page in ROOT.glob(pattern)
    # written by the site
    if page.parent != ROOT / "docs/reference/api"
)
# folders whose files are named in text, from the root
SOURCES = (
    "benchmarks",
    "cmake",
    "csrc",
    "docs",
    "examples",
    "notebooks",
    "python",
    "scripts",
    "tests",
)

# modules that act when imported
NOT_IMPORTED = {"sapwood.__main__"}


def modules():
    """Names of all modules of the installed package."""
    found = pkgutil.walk_packages(sapwood.__path__, "sapwood.")
    return ["sapwood", *(module.name for module in found if module.name not in NOT_IMPORTED)]


FENCED = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SITE = [page.relative_to(ROOT) for page in PAGES if page.is_relative_to(ROOT / "docs")]
GUIDE = [Path("README.md"), *SITE]
# programs with tests of their own
ELSEWHERE = {"docs/how-to/stepper.md", "docs/how-to/stepping.md"}
SLOW = {"docs/how-to/figures.md"}
# packages that a page needs which imports these
NEEDED = {
    "mujoco": "mujoco",
    "sapwood.studies.experiments": "matplotlib",
    "sapwood.mujoco": "mujoco",
    "sapwood.viewer": "viser",
    "sapwood.rendering": "imageio",
    "matplotlib": "matplotlib",
    "gymnasium": "gymnasium",
    "distributed": "distributed",
    "torch": "torch",
    "jax": "jax",
}


PROGRAMMED = [
    pytest.param(page, marks=[pytest.mark.nightly] if page in SLOW else [])
    for page in map(Path.as_posix, GUIDE)
    if page not in ELSEWHERE and FENCED.search((ROOT / page).read_text())
]


class Window:
    """In the place of MuJoCo's, which needs a display; open for three frames."""

    def __init__(self, model, data):
        import mujoco

        self.user_scn, self.frames = mujoco.MjvScene(model, 100), 0
        assert data.qpos.shape == (model.nq,)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        assert error == (None, None, None)
        assert self.frames == 3

    def is_running(self):
        return self.frames < 3

    def sync(self):
        self.frames += 1


@pytest.mark.parametrize("page", PROGRAMMED)
def test_examples_of_a_page_run(page, tmp_path, monkeypatch):
    """Run the Python blocks of a page one after the other, as a reader would."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text()
    for module, package in NEEDED.items():
        if re.search(rf"^(import|from) {module}\b", text, re.MULTILINE):
            pytest.importorskip(package)
    if "matplotlib" in text:  # figures end where they are shown, as in a notebook
        pyplot = pytest.importorskip("matplotlib.pyplot")
        monkeypatch.setattr(pyplot, "show", lambda: pyplot.close("all"))
    if "mujoco.viewer" in text:
        monkeypatch.setattr("mujoco.viewer.launch_passive", Window)
    names = {"__name__": "page"}
    for block in FENCED.findall(text):
        exec(compile(block, page, "exec"), names)


@pytest.mark.slow  # processes import all anew
def test_batches_run_on_two_workers():
    """With other worlds in each."""
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("mujoco")
    names = {"__name__": "page"}
    (block,) = FENCED.findall((ROOT / "docs/how-to/cluster.md").read_text())
    exec(compile(block, "cluster.md", "exec"), names)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.Client(**options) as client:
        observations = names["collect"](client, nsim=4, steps=2)
    assert observations.shape == (8, 39)
    assert len({row.tobytes() for row in observations}) == 8


def test_the_page_on_stepping_runs(capsys):
    """The puck turns at the wall, which it meets within a millimetre or so."""
    text = (ROOT / "docs/how-to/stepping.md").read_text()
    pyplot = pytest.importorskip("matplotlib.pyplot")
    names = {"__name__": "page"}
    for block in FENCED.findall(text):
        exec(compile(block, "stepping.md", "exec"), names)
    pyplot.close("all")
    assert "converged" in capsys.readouterr().out
    assert 0.3 < np.max(names["path"], axis=0)[0] < 0.32


@pytest.mark.parametrize("name", modules())
def test_docstring_examples(name, tmp_path, monkeypatch):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        pytest.skip(f"needs {error.name}")
    monkeypatch.chdir(tmp_path)
    with np.printoptions():
        failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert failed == 0


# ---- pages -------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert broken_links(page) == []


def broken_links(page):
    """Links of a page to files that are not there, or to headings that such a file has not.

    Pages that are written when the site is built may be missing; Sphinx checks links to them.
    """
    written = ROOT / "docs/reference/api"
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        file, _, anchor = target.partition("#")
        path = page.parent / file if file else page
        if "://" in target or path.parent == written:
            continue
        if not (path.exists() and (not anchor or anchor in anchors_of(path.read_text()))):
            broken.append(target)
    return broken


def anchors_of(text):
    """Anchors of the headings of a page, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}


def missing_files(text):
    """Files that a text names, in code, by paths from the root that lead nowhere."""
    named = re.findall(rf"`((?:{'|'.join(SOURCES)})/[\w./*<>-]*)`", text)
    return [path for path in named if not list(ROOT.glob(re.sub("<[^>]*>", "*", path).rstrip("/")))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page):
    assert missing_files(page.read_text()) == []


STEPS = re.compile(r"^\| \d+ \| `([\w.]+)` \| `([\w/.]+)` \|", re.MULTILINE)


@pytest.mark.parametrize("page", ["architecture", "tour"])
def test_the_way_of_a_solve_names_functions_that_are_there(page):
    """Each row of these tables has a function and the file that defines it."""
    steps = STEPS.findall((ROOT / f"docs/development/{page}.md").read_text())
    assert len(steps) > 20
    for name, path in steps:
        defined = rf"^(?:[a-z].*\b| *def ){name.split('.')[-1]}_?[([)]"
        assert re.search(defined, (ROOT / path).read_text(), re.MULTILINE), (name, path)


def rows_of_figures():
    """Figure and files of the table of figures."""
    text = (ROOT / "docs/how-to/figures.md").read_text()
    rows = re.findall(
        r"^\| (\S[^|]*) \| ([^|]+) \| ([^|]*`[^|]+) \| [^|]+ \| [^|]+ \|$", text, re.MULTILINE
    )
    return {
        name.strip(): (shows, files) for names, shows, files in rows for name in names.split(",")
    }


def test_the_table_of_figures_names_their_files():
    """The data that a figure is drawn from: figures cannot change places in one of both alone."""
    for package in ("mujoco", "scipy", "matplotlib"):
        pytest.importorskip(package)
    from sapwood.studies.experiments.figures import FIGURES

    rows = rows_of_figures()
    assert set(rows) == set(FIGURES)
    for name, (_, files) in rows.items():
        named = set(re.findall(r"`(\w+)\.csv`", files))
        if not re.search("those of", files):
            assert {sweep.name for sweep in FIGURES[name].plan(False).sweeps} <= named, name


def test_every_status_is_explained():
    """Every outcome of a solve has a row on the page of statuses."""
    page = (ROOT / "docs/how-to/troubleshooting.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert set(rows) == {status.name for status in sapwood.Status}
