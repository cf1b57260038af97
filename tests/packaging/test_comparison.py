"""Numbers of the comparison with other programs are those that the benchmarks have measured."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks/results"


def rows_of(name):
    """Rows of a file of results."""
    with open(RESULTS / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cells_of(beginning):
    """Numbers in the columns of sapwood, MuJoCo and Drake of a row of the page."""
    page = (ROOT / "docs/comparison.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {re.escape(beginning)}.*$", page, re.MULTILINE)
    cells = [cell.strip() for cell in row.strip("|").split(" | ")]
    return [[float(x) for x in re.findall(r"\d+(?:\.\d+)?", cell)] for cell in cells[1:4]]


@pytest.mark.parametrize(
    ("beginning", "scene", "unit"),
    [("a step, 40 bodies", "clutter-40", 1.0), ("a step, 200 bodies", "clutter-200", 1e-3)],
)
def test_times_of_steps(beginning, scene, unit):
    steps = {r["engine"]: unit * float(r["step"]) for r in rows_of("engines.csv")
             if r["scene"] == scene}  # fmt: skip
    ours, mujoco, drake = cells_of(beginning)
    assert ours == pytest.approx([steps["sapwood"]], rel=0.005)
    assert mujoco[0] == pytest.approx(steps["mujoco"], rel=0.005)
    assert drake == pytest.approx([steps["drake-sap"], steps["drake-lagged"]], rel=0.005)


def test_the_pushed_box():
    rows = {r["engine"]: r for r in rows_of("engines.csv") if r["scene"] == "push"}
    engines = ("sapwood",), ("mujoco",), ("drake-sap", "drake-lagged")
    for cell, names in zip(cells_of("a pushed box"), engines, strict=True):
        exact = [1e3 * float(rows[n][c]) for n in names for c in ("clearance", "speed_error")]
        np.testing.assert_allclose(cell, exact, rtol=0.03, atol=0.01)


def test_models_and_surfaces():
    zero = [r for r in rows_of("models_speed.csv") if r["controls"] == "zero"]
    speeds = np.array([float(r["speed"] or "nan") for r in zero])
    assert cells_of("a step, 127 models")[1][0] == pytest.approx(np.nanmedian(speeds), abs=0.005)
    pairs = [r for r in rows_of("surfaces.csv") if r["part"] == "pairs"]
    ratios = [float(r["drake"]) / float(r["call"]) for r in pairs]
    mean = np.exp(np.mean(np.log(ratios)))
    assert cells_of("patches of pressure")[2] == pytest.approx([mean], abs=0.05)
