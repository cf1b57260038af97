"""The site: every figure stands in the gallery once, formulas are drawn, versions are listed."""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from sapwood.studies.experiments.figures import FIGURES

ROOT = Path(__file__).resolve().parents[2]
EXTENSIONS = ROOT / "docs/_ext"
CARDS = re.findall(
    r"^```\{gallery\}\n(.*?)^```$", (ROOT / "docs/reference/gallery.md").read_text(), re.M | re.S
)


def shown(*, stored):
    """Lines of the cards of one kind."""
    blocks = [block for block in CARDS if block.startswith(":stored:") == stored]
    return [line for block in blocks for line in block.splitlines() if line != ":stored:"]


def test_every_figure_stands_in_the_gallery_once():
    assert Counter(line.split()[0] for line in shown(stored=False)) == Counter(list(FIGURES))


def test_every_picture_of_the_benchmarks_stands_in_the_gallery_once():
    pictures = [path.stem for path in (ROOT / "benchmarks/results").glob("*.png")]
    assert Counter(line.split(" | ")[0] for line in shown(stored=True)) == Counter(pictures)


def test_versions_lie_beside_each_other(tmp_path, monkeypatch):
    pytest.importorskip("packaging")
    monkeypatch.setattr(sys, "path", [str(EXTENSIONS), *sys.path])
    versions = importlib.import_module("versions")
    for name in ("0.9.0", "0.10.0", "0.10.0rc1", "figures"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "objects.inv").touch()
    (tmp_path / "0.11.0").mkdir()
    versions.write(tmp_path)
    listed = '["0.10.0", "0.10.0rc1", "0.9.0"]'
    assert listed in (tmp_path / "versions.js").read_text()
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text()


def test_formulas_of_docstrings_are_set(monkeypatch):
    """Powers and inequalities of prose, and neither code nor formulas; blocks in no language."""
    monkeypatch.setattr(sys, "path", [str(EXTENSIONS), *sys.path])
    docstrings = importlib.import_module("docstrings")
    lines = [
        "Finds |x|^2 <= 1, ``x^2``, :math:`x^2 >= 0`:", "", "    v^2 = |a|", "",
        ".. math:: x^2 \\le |y|", "", "Norms |y|.",
    ]  # fmt: skip
    for process in (docstrings.set_formulas, docstrings.set_symbols):
        process(None, "function", "f", None, {}, lines)
    assert lines == [
        r"Finds \|x\|² ≤ 1, ``x^2``, :math:`x^2 >= 0`:", "", ".. code-block:: text", "",
        "    v^2 = |a|", "", ".. math:: x^2 \\le |y|", "", r"Norms \|y\|.",
    ]  # fmt: skip
