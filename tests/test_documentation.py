"""What the documentation shows runs, and what it points to exists."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import sapwood

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

# modules that act when imported
NOT_IMPORTED = {"sapwood.__main__"}


def modules():
    """Names of all modules of the installed package."""
    found = pkgutil.walk_packages(sapwood.__path__, "sapwood.")
    return ["sapwood", *(module.name for module in found if module.name not in NOT_IMPORTED)]


def test_readme_examples_run(tmp_path, monkeypatch):
    """Run the Python blocks of the README one after the other, as a reader would."""
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 4
    names = {"__name__": "readme"}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    missing = [
        target for target in targets if "://" not in target and not (page.parent / target).exists()
    ]
    assert not missing
