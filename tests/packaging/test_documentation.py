"""What the documentation shows runs, and what it points to exists."""

import ast
import contextlib
import doctest
import importlib
import inspect
import pkgutil
import re
import textwrap
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
    if page.parent != ROOT / "docs/reference"
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
INDENTED = re.compile(r"(?:^    .*\n|^\n(?=    ))+", re.MULTILINE)
GUIDE = [Path("README.md"), *(page.relative_to(ROOT) for page in sorted(ROOT.glob("docs/*.md")))]
# what tests of their own ask more of than that they run
ELSEWHERE = {"docs/stepper.md", "docs/stepping.md"}
SLOW = {"docs/experiments.md"}
# packages that a page needs which imports these
NEEDED = {
    "mujoco": "mujoco",
    "sapwood.studies.experiments": "matplotlib",
    "sapwood.mujoco": "mujoco",
    "sapwood.viewer": "viser",
    "gymnasium": "gymnasium",
    "torch": "torch",
    "jax": "jax",
}


PROGRAMMED = [
    pytest.param(page, marks=[pytest.mark.slow] if page in SLOW else [])
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
    if "mujoco.viewer" in text:
        monkeypatch.setattr("mujoco.viewer.launch_passive", Window)
    names = {"__name__": "page"}
    for block in FENCED.findall(text):
        exec(compile(block, page, "exec"), names)


def unfenced(text):
    """Python that stands in indented blocks, which nothing runs: all that parses and acts."""
    found = []
    for block in INDENTED.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        with contextlib.suppress(SyntaxError):
            code = textwrap.dedent(block).strip()
            acts = ast.Import | ast.ImportFrom | ast.Assign
            if any(isinstance(node, acts) for node in ast.parse(code).body):
                found.append(code)
    return found


@pytest.mark.parametrize("page", GUIDE, ids=str)
def test_python_of_a_page_is_fenced(page):
    assert unfenced((ROOT / page).read_text()) == []


def test_unfenced_python_is_found():
    assert unfenced("```python\n    import a\n```\n\n    v = J x\n\nis\n\n    sapwood view\n") == []
    assert unfenced("So:\n\n    import a\n\n    b = a.c\n") == ["import a\n\nb = a.c"]


def test_the_page_on_stepping_runs(capsys):
    """The puck turns at the wall, which it meets within a millimetre or so."""
    text = (ROOT / "docs" / "stepping.md").read_text()
    (block,) = FENCED.findall(text)
    names = {"__name__": "page"}
    exec(compile(block, "stepping.md", "exec"), names)
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


def test_docstrings_have_examples():
    """So that the test above runs some."""
    modules = [importlib.import_module(f"sapwood.{name}") for name in ("problem", "solver")]
    finder = doctest.DocTestFinder()
    assert sum(len(test.examples) for m in modules for test in finder.find(m)) >= 4


# ---- docstrings --------------------------------------------------------------------------------


def missing_in_function(node):
    """What the docstring of a function lacks, by the sections that its signature asks for."""
    text = ast.get_docstring(node)
    if not text:
        return [f"{node.name}: docstring"]
    sections = set(re.findall(r"^(\w+)\n-+$", text, re.MULTILINE))
    decorators = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
    arguments = node.args
    names = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
    needed = set()
    if set(names) - {"self", "cls"} or arguments.vararg or arguments.kwarg:
        needed.add("Parameters")
    returns = "None" if node.returns is None else ast.unparse(node.returns)
    if returns != "None" and "property" not in decorators:
        needed.add("Returns")
    return [f"{node.name}: {section}" for section in sorted(needed - sections)]


def missing_in_class(node):
    """What the docstrings of a class and of its public methods lack.

    Fields and arguments stand under Parameters or Attributes, or each has a text of its own.
    """
    text = ast.get_docstring(node) or ""
    missing = [] if text else [f"{node.name}: docstring"]
    functions = [item for item in node.body if isinstance(item, ast.FunctionDef)]
    sections = set(re.findall(r"^(\w+)\n-+$", text, re.MULTILINE))
    if not sections & {"Parameters", "Attributes"}:
        if any(function.name == "__init__" for function in functions):
            missing.append(f"{node.name}: Parameters")
        for item, after in zip(node.body, [*node.body[1:], None], strict=True):
            if isinstance(item, (ast.Assign, ast.AnnAssign)):
                target = item.target if isinstance(item, ast.AnnAssign) else item.targets[0]
                described = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                if not (described or ast.unparse(target).startswith("_")):
                    missing.append(f"{node.name}: {ast.unparse(target)}")
    for function in functions:
        if not function.name.startswith("_"):
            missing += [f"{node.name}.{entry}" for entry in missing_in_function(function)]
    return missing


def missing_in(source):
    """What the docstrings in the source of a class or function lack."""
    (node,) = ast.parse(textwrap.dedent(source)).body
    return missing_in_class(node) if isinstance(node, ast.ClassDef) else missing_in_function(node)


# as written in the source: docstrings that Python makes up for dataclasses and tuples do not count
@pytest.mark.parametrize("module", ["sapwood", "sapwood.mujoco"])
def test_everything_public_is_documented(module):
    if module == "sapwood.mujoco":
        pytest.importorskip("mujoco")
    module = importlib.import_module(module)
    public = [getattr(module, name) for name in module.__all__]
    items = [item for item in public if inspect.isclass(item) or inspect.isfunction(item)]
    assert len(items) >= 5
    assert [entry for item in items for entry in missing_in(inspect.getsource(item))] == []


UNDOCUMENTED = {
    "def f(): pass": ["f: docstring"],
    "def f(x): 'Do.'": ["f: Parameters"],
    "def f(*, x) -> int: 'Do.'": ["f: Parameters", "f: Returns"],
    "def f() -> None: 'Do.'": [],
    "@dataclass\nclass C:\n  x: int": ["C: docstring", "C: x"],
    "class C(NamedTuple):\n  'C.'\n  x: int\n  'X.'\n  y: int": ["C: y"],
    "class C(IntEnum):\n  'C.'\n  one = 1": ["C: one"],
    "class C:\n  'C.'\n  def __init__(self): pass": ["C: Parameters"],
    "class C:\n  'C.'\n  def f(self, x): 'Do.'\n  def _g(self, x): pass": ["C.f: Parameters"],
    "class C:\n  'C.'\n  @property\n  def x(self) -> int: 'X.'": [],
}


@pytest.mark.parametrize("source", UNDOCUMENTED)
def test_missing_documentation_is_found(source):
    assert missing_in(source) == UNDOCUMENTED[source]


# ---- pages -------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert broken_links(page) == []


def broken_links(page):
    """Links of a page to files that are not there, or to headings that such a file has not."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        file, _, anchor = target.partition("#")
        path = page.parent / file if file else page
        if "://" not in target and not (
            path.exists() and (not anchor or anchor in anchors_of(path.read_text()))
        ):
            broken.append(target)
    return broken


def anchors_of(text):
    """Anchors of the headings of a page, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}


def test_broken_links_are_found(tmp_path):
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# A `b` [c](d)\n")
    page.write_text("[](other.md#a-b-c) [](other.md#a) [](none.md) [](#here) [](https://x.y/z)\n")
    assert broken_links(page) == ["other.md#a", "none.md", "#here"]


def missing_files(text):
    """Files that a text names, in code, by paths from the root that lead nowhere."""
    named = re.findall(rf"`((?:{'|'.join(SOURCES)})/[\w./*<>-]*)`", text)
    return [path for path in named if not list(ROOT.glob(re.sub("<[^>]*>", "*", path).rstrip("/")))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page):
    assert missing_files(page.read_text()) == []


def test_missing_files_are_found():
    text = (
        "`csrc/solver/newton/newton.c` `csrc/solver/none.c` `csrc/<folder>/newton/newton.c` "
        "`docs/*.none` `sapwood/x`"
    )
    assert missing_files(text) == ["csrc/solver/none.c", "docs/*.none"]


def rows_of_figures():
    """Figure and files of the table of figures."""
    text = (ROOT / "docs/experiments.md").read_text()
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


def test_figures_16_and_17_are_those_of_the_paper():
    """Patches coloured by pressure; grip force and pitch against time."""
    from sapwood.studies.experiments.figures import FIGURES

    for name, words in (("16", ("patch", "pressure")), ("17", ("grip force", "pitch"))):
        texts = FIGURES[name].title, rows_of_figures()[name][0]
        assert [word for text in texts for word in words if word not in text] == []


def test_solves_that_warn_are_explained():
    """Every status with which a step is taken and warns has a row on the page of the stepper."""
    pytest.importorskip("mujoco")
    from sapwood.mujoco.results.results import UNCONVERGED

    _, section = (ROOT / "docs/stepper.md").read_text().split("\n## Troubleshooting\n")
    rows = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert set(rows) == {status.name for status in UNCONVERGED}
