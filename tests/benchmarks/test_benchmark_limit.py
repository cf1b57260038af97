"""The benchmark of the limit: peaks, least times, and a run of it."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import helpers
import sapwood
from benchmarks import limit, native, peaks, rows
from benchmarks.work import PHASES

pytestmark = pytest.mark.slow


def test_panels_are_those_of_the_factor(library):
    """They hold every velocity of a touched tree once, and at least the columns of L."""
    problem = sapwood.load_problem(helpers.DATA / "mujoco_clutter_10_settled.npz")
    sizes, islands = library.panels(problem)
    touched = helpers.touched_trees(problem)
    assert sizes[:, 1].sum() == problem.tree_nv[touched].sum()
    assert islands.max() + 1 == sapwood.solve(problem).n_islands
    assert (np.diff(islands) >= 0).all()
    # nothing lies below the last panel of an island
    assert (sizes[np.append(np.flatnonzero(np.diff(islands)), len(islands) - 1), 0] == 0).all()


def test_phases_take_time_and_change_nothing(library):
    problem = sapwood.load_problem(helpers.DATA / "mujoco_clutter_10_settled.npz")
    solution = sapwood.solve(problem)
    v = solution.v.copy()
    seconds = library.phases(problem, solution.v, solution.n_islands, 20)
    assert seconds.shape == (solution.n_islands, len(native.PHASES))
    assert (seconds < 1.0).all()
    assert seconds[:, native.PHASES.index("factorization")].max() > 0.0
    assert np.array_equal(solution.v, v)
    with pytest.raises(ValueError, match="cannot be timed"):
        library.phases(problem, solution.v, solution.n_islands + 1, 1)


def test_quick_run(library, tmp_path, quick, monkeypatch):
    monkeypatch.setattr(native, "Native", lambda _folder: library)
    problems = tmp_path / "problems"
    problems.mkdir()
    files = ("clutter_12_impact_block.npz", "mujoco_clutter_10_settled.npz")
    for file in files:
        shutil.copy(helpers.DATA / file, problems)
    (problems / "a_bad.npz").write_bytes(b"no archive")
    out, printed = quick("limit", problems)
    assert "left out: a_bad.npz" in printed.err

    found = peaks.Peaks(rows.read(out / "limit_peaks.csv", peaks.Row))
    assert found.flops > found.roots > 0.0
    kinds = {row.kind for row in found.rows}
    assert kinds == {"multiply_add", "roots", "factor", "multiply", *peaks.MEMORY}

    measured = rows.read(out / "limit.csv", limit.Row)
    assert [(row.file, row.phase) for row in measured] == [
        (file, phase) for file in files for phase in (*PHASES, limit.ALL)
    ]
    for file in files:
        *parts, whole = [row for row in measured if row.file == file]
        for name in ("flops", "roots", "bytes", "least", "measured"):
            total = sum(getattr(row, name) for row in parts)
            np.testing.assert_allclose(getattr(whole, name), total, err_msg=name)
        assert {row.solve for row in parts} == {whole.solve}
        for row in parts:
            # never less than any of the three by itself
            assert row.least >= 1e6 * row.flops / found.flops * (1 - 1e-9)
            assert row.least >= 1e6 * row.roots / found.roots * (1 - 1e-9)
            assert (row.kernels > 0) == (row.phase == "factorization")
    assert all(file in printed.out for file in files)
