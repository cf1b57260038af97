"""Each extra by itself brings what the code that it promises imports, and texts name it rightly."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from extra_programs import PROGRAMS
from sapwood.base import optional

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# extras that commands of the Makefile install
DEVELOPERS = {"dev", "docs", "lint", "test", "wheels"}
# 0.8 GB as builds for the CPU: where the user of `make test-bridges` has them anyway
LARGE = {"torch", "jax"}
# notebooks that need more than they import by name, and are run; and one of another extra
RUN, ELSEWHERE = ("dual_arm", "gradients"), {"friction_in_torch"}


@pytest.fixture
def environment(wheel, tmp_path):
    """A function that makes an environment with the wheel and one extra; returns its Python."""
    folder = tmp_path / "venv"

    def make(extra):
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        python = folder / "bin/python"
        run(
            sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile",
            f"{wheel}[{extra}]",
        )  # fmt: skip
        return python

    yield make
    # all extras together have several GB
    shutil.rmtree(folder, ignore_errors=True)


def run(*command, **options):
    """Run a command that must succeed, without what this environment adds to imports."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, env=clean, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr


def extras():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return set(pyproject["project"]["optional-dependencies"])


def test_every_extra_is_tried():
    assert extras() == {*PROGRAMS, "notebooks", *DEVELOPERS}


@pytest.mark.nightly
@pytest.mark.parametrize("extra", PROGRAMS)
def test_an_extra_brings_what_its_code_imports(extra, environment, tmp_path):
    if extra in LARGE and not os.environ.get("SAPWOOD_BRIDGES"):
        pytest.skip("large: make test-bridges")
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS[extra], encoding="utf-8")
    run(environment(extra), program, cwd=tmp_path)


def imports_of(notebook):
    """The import statements of a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    found = [n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Import | ast.ImportFrom)]
    return "\n".join(ast.unparse(node) for node in found)


NOTEBOOK = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
client = nbclient.NotebookClient
client(notebook, timeout=300, startup_timeout=300, kernel_name="python3").execute()
"""


@pytest.mark.nightly
def test_notebooks_need_no_more_than_their_extra(environment, tmp_path):
    """All by their imports; those that need SciPy for what they call are run."""
    python = environment("notebooks")
    for notebook in NOTEBOOKS:
        if notebook.stem not in ELSEWHERE:
            run(python, "-c", imports_of(notebook), cwd=tmp_path)
    for name in RUN:
        run(python, "-c", NOTEBOOK, ROOT / f"notebooks/{name}.ipynb", cwd=tmp_path)


# ---- texts ---------------------------------------------------------------------------------------


def test_texts_name_extras_that_there_are():
    named = set()
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*/**/*.md"), ROOT / "benchmarks/README.md"]:
        for words in re.findall(r"'\.\[([a-z,]+)\]'", page.read_text(encoding="utf-8")):
            named |= set(words.split(","))
    for path in [*ROOT.glob("python/**/*.py"), *ROOT.glob("benchmarks/**/*.py")]:
        text = path.read_text(encoding="utf-8")
        named |= set(re.findall(r"install_command\(['\"](\w+)['\"]\)", text))
        named |= set(re.findall(r"imported_for\(\"[^\"]*\", \"(\w+)\"\)", text))
    assert len(named) > 10
    assert named <= extras()


def test_an_error_names_what_is_missing_and_keeps_its_kind():
    with (
        pytest.raises(ModuleNotFoundError, match=r"^f needs no_such: pip install '\.\[plot\]'"),
        optional.imported_for("f", "plot"),
    ):
        import no_such  # noqa: F401
    with pytest.raises(ValueError, match=r"^other$"), optional.imported_for("f", "plot"):
        raise ValueError("other")
