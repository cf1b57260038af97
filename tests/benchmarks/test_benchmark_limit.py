"""The benchmark of the limit: peaks, least times, and a run of it."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest

import helpers
import sapwood
from benchmarks import limit, native, peaks, rows
from benchmarks.work import PHASES, Work

pytestmark = pytest.mark.slow

made = [
    peaks.Row("multiply_add", 0, 0, 100e9),
    peaks.Row("roots", 0, 0, 1e9),
    peaks.Row("copy", 1000, 0, 80e9),
    peaks.Row("triad", 1000, 0, 90e9),
    peaks.Row("copy", 100_000, 0, 10e9),
    # a large working set that is faster than a small one: the small one could be as fast
    peaks.Row("read", 10_000, 0, 20e9),
    peaks.Row("read", 100, 0, 70e9),
]


def made_work(resident, flops, roots, bytes_) -> Work:
    n = len(resident)
    shape = (n, len(PHASES))
    events = np.arange(3 * n, dtype=np.int32).reshape(3, n)
    values = [np.broadcast_to(np.reshape(x, (n, 1)), shape) for x in (flops, roots, bytes_)]
    return Work(*events, *values, np.array(resident, dtype=float))


def test_bandwidth_falls_with_the_working_set():
    found = peaks.Peaks(made)
    assert (found.flops, found.roots) == (100e9, 1e9)
    assert found.bandwidth(10) == found.bandwidth(100) == 90e9
    assert found.bandwidth(1000) == 90e9
    np.testing.assert_allclose(found.bandwidth(math.sqrt(1000 * 10_000)), 55e9)
    assert found.bandwidth(100_000) == found.bandwidth(1e9) == 10e9
    sizes = np.geomspace(10, 1e6, 50)
    assert (np.diff([found.bandwidth(size) for size in sizes]) <= 0).all()


def test_least_time_is_that_of_the_slowest_part():
    work = made_work([1000, 100_000], [100.0, 500.0], [2.0, 0.0], [90.0, 100.0])
    parts = limit.least_times(work, peaks.Peaks(made))
    for phase in range(len(PHASES)):
        np.testing.assert_allclose(parts[0, phase], [1e-9, 2e-9, 1e-9])
        np.testing.assert_allclose(parts[1, phase], [5e-9, 0.0, 10e-9])


def test_measured_time_is_events_times_their_time():
    work = made_work([1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0])
    assert (work.evaluations.tolist(), work.trials.tolist()) == ([0, 1], [4, 5])
    one = np.arange(1.0, 15.0).reshape(2, 7)
    law, gradient, assembly, factorization, solves, direction, trial = one.T
    np.testing.assert_array_equal(
        limit.measured_times(work, one),
        np.stack(
            [
                work.directions * assembly,
                work.directions * factorization,
                work.directions * solves,
                work.evaluations * gradient + work.directions * direction,
                work.evaluations * law,
                work.trials * trial,
            ],
            axis=1,
        ),
    )


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
