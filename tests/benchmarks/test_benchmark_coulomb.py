"""The benchmark of Coulomb's friction: its rows, ratios and files."""

from __future__ import annotations

import math

import pytest

import helpers
from benchmarks import coulomb, coulomb_report, rows

FILE = helpers.DATA / "clutter_12_impact_block.npz"


@pytest.fixture(scope="module")
def measured():
    return coulomb.measure(FILE, repeat=2, budget=1.0)


def test_rows_of_a_problem(measured):
    assert [(row.law, row.tolerance) for row in measured] == list(coulomb.CASES)
    convex, rough, fine = measured
    assert math.isnan(convex.momentum)
    assert convex.glide > 1e-4
    assert rough.error <= 1e-3
    assert fine.error <= 1e-6
    for row in (rough, fine):
        assert row.status == "converged"
        assert row.glide <= 1e-9
        assert row.law_error <= 1e-9
        assert row.momentum <= row.error * 1.01 + 1e-12
    for row in measured:
        assert 0.0 < row.cpu_min <= row.cpu_median
        assert row.total_iterations >= row.iterations >= 1
        assert row.samples == 2


def test_steps_of_each_law():
    pytest.importorskip("mujoco")
    from benchmarks import coulomb_steps

    measured = coulomb_steps.measure("open-4", seconds=0.4, repeat=2)
    assert [(row.listed, row.law, row.part) for row in measured] == [
        (listed, law, part)
        for listed in ("overlapping", "speculative")
        for law in coulomb_steps.LAWS
        for part in ("all", "settled")
    ]
    for row in measured:
        assert row.steps == 40
        assert row.contacts > 0.0
        assert 0.0 < row.solve < row.step
        assert row.unconverged == 0
        assert math.isnan(row.error) == (row.law == "convex")
    contacts = {(row.listed, row.law): row.contacts for row in measured if row.part == "all"}
    assert contacts["speculative", "convex"] > contacts["overlapping", "convex"]
    lines = coulomb_report.step_table(measured).splitlines()
    assert len(lines) == 13
    assert lines[1].split()[-5:] == ["1.00", "1.00", "1.00", "0", "-"]


@pytest.mark.slow
def test_quick_run(quick):
    pytest.importorskip("mujoco")
    out, printed = quick("coulomb", helpers.DATA)
    files = {row.file for row in rows.read(out / "coulomb.csv", coulomb.Row)}
    assert len(files) == 3
    assert "clutter-4" in printed.out
    assert (out / "coulomb_steps.csv").exists()
