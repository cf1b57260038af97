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
    page = (ROOT / "docs/explanation/comparison.md").read_text(encoding="utf-8")
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


def test_speeds_of_the_front_page():
    """Runs and single steps both, and the scene in which MuJoCo is level."""
    front = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split("## Try it")[0].split())
    zero = [r for r in rows_of("models_speed.csv") if r["controls"] == "zero" and r["speed"]]
    arms = [r for r in zero if r["group"] == "arm"]
    medians = [
        np.median([float(r[column]) for r in rows])
        for rows, column in ((zero, "speed"), (zero, "single_speed"), (arms, "single_speed"))
    ]
    (text,) = re.findall(r"is (\S+) times as fast .* it is (\S+) times .* and (\S+) times", front)
    np.testing.assert_allclose([float(x) for x in text], medians, atol=0.006)
    (text,) = re.findall(r"(\S+) ms \(MuJoCo (\S+) ms\), .* (\S+) us \(MuJoCo (\S+) us", front)
    found = {
        (r["scene"], r["engine"]): float(r["step"]) for r in rows_of("engines.csv") if r["step"]
    }
    expected = [
        found["clutter-200", "sapwood"] / 1e3, found["clutter-200", "mujoco"] / 1e3,
        found["clutter-40", "sapwood"], found["clutter-40", "mujoco"],
    ]  # fmt: skip
    np.testing.assert_allclose([float(x) for x in text], expected, rtol=0.005)


def test_what_a_single_step_adds():
    page = " ".join((ROOT / "docs/reference/speed.md").read_text(encoding="utf-8").split())
    (text,) = re.findall(r"that is (\S+) us in the median, (\S+) us .* and (\S+) us at most", page)
    rows = [r for r in rows_of("models_speed.csv") if r["controls"] == "zero" and r["single"]]
    added = [float(r["single"]) - float(r["step"]) for r in rows]
    expected = [*np.percentile(added, [50, 90]), max(added)]
    np.testing.assert_allclose([float(x) for x in text], expected, rtol=0.05)


def test_what_coulombs_law_costs():
    """The table at the top of the page and the one that is measured say the same."""
    page = (ROOT / "docs/explanation/sliding.md").read_text(encoding="utf-8")
    (top,) = re.findall(r"\| (\S+) times the Newton iterations at 1e-6, (\S+) times the time", page)
    measured = [re.findall(rf"^\| {name}: geometric mean.*\| (\S+),", page, re.MULTILINE)[0]
                for name in ("iterations", "time")]  # fmt: skip
    assert list(top) == measured
    (line,) = re.findall(r"^e_c <= 1e-06 .*$", (RESULTS / "coulomb.txt").read_text(), re.MULTILINE)
    assert {*top} <= {*line.split()}
