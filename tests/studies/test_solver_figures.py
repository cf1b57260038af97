"""Figures 12 and 13: solvers side by side, at equal accuracy and at their usual tolerances."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("scipy")

from sapwood.studies.experiments.algorithms.equal_accuracy import (
    CONIC,
    geometric_mean,
    problems,
)
from sapwood.studies.experiments.algorithms.solver_comparison import ROWS, compare, record
from sapwood.studies.experiments.clutter_runs import measured, simulation
from sapwood.studies.experiments.sweep import Sweep, run_sweep
from sapwood.studies.plotting import read_steps, speedup_figure

pytestmark = pytest.mark.slow

# these stop by e_m, and their impulses are those of the contact law
SAP = ("sapwood", "sapwood-warm", "sapwood-plain", "scipy")
OTHERS = (*CONIC, "geodesic")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """CSV file of a small comparison: falling and at rest, with and without walls."""
    points = [
        {"walls": walls, "bodies": bodies, "step": step, "seed": 0, "repeat": 1, "limit": 4.0}
        for bodies in (8, 16)
        for walls in (True, False)
        for step in (20, 300)
    ]
    sweep = Sweep("solvers", compare, points, ROWS)
    result = run_sweep(sweep, tmp_path_factory.mktemp("solvers"), progress=False)
    assert not result.failures
    return result.csv


@pytest.fixture(scope="module")
def rows(table):
    return read_steps(table)


def installed(rows, names):
    """The solvers whose package is there; at least one must be."""
    found = [name for name in names if np.any(rows["status"][rows["solver"] == name] != "missing")]
    assert found
    return found


# ---- what is measured --------------------------------------------------------------------------


def test_the_problem_is_that_of_the_step():
    """The state before it, and as many contacts as the simulation counts in it."""
    scene = simulation(12, True, 3, "sapwood")
    steps = measured(scene, 30)
    for _ in range(29):
        next(steps)
    v = scene.data.qvel.copy()
    problem = record(12, True, 30, 3)
    assert problem.n_contacts == next(steps)["contacts"] > 0
    assert np.array_equal(problem.v_guess, v)


def test_errors_of_the_sap_family(rows):
    """e_m is at or below the tolerance that (20) sets, e_mu at round-off.

    The solver's sum of norms and that of the measurement round differently: by less than 1e-12 of
    the scale, far below the tightest tolerance of 1e-10.
    """
    solved = rows[rows["status"] == "solved"]
    for name in SAP:
        own = solved[solved["solver"] == name]
        assert own.size
        assert np.all(own["e_m"] <= own["tolerance"] + 1e-12), name
        assert np.all(own["e_mu"] <= 1e-15), name
        np.testing.assert_allclose(own["e_m_own"], own["e_m"], rtol=1e-3, atol=1e-12)


def test_errors_of_the_others_fall_with_their_tolerance(rows):
    """In geometric mean over problems and variants, and their own e_mu with it.

    Not tested below 1e-8, where some of them lose their last digits.
    """
    solved = rows[rows["status"] == "solved"]
    for name in installed(rows, OTHERS):
        own = solved[solved["solver"] == name]
        for error in ("e_m", "e_mu"):
            means = [
                geometric_mean(np.maximum(own[error][own["tolerance"] == t], 1e-18))
                for t in (1e-2, 1e-5, 1e-8)
            ]
            assert means[0] > 3.0 * means[1] > 9.0 * means[2], (name, error, means)


def test_the_others_end_near_our_solution(rows):
    """The best e_m of each is small: the problem that they solve is the same."""
    solved = rows[rows["status"] == "solved"]
    limits = {"mujoco": 1e-9, "mujoco-mindeg": 1e-9, "scs": 1e-7, "clarabel": 1e-5}
    for name in installed(rows, (*OTHERS, *limits)):
        for walls, bodies, step in problems(rows):
            own = solved[
                (solved["solver"] == name)
                & (solved["walls"] == walls)
                & (solved["bodies"] == bodies)
                & (solved["step"] == step)
            ]
            assert own["e_m"].min() <= limits.get(name, 1e-3), (name, walls, bodies, step)


# ---- what is drawn -----------------------------------------------------------------------------


def test_speed_ups_are_over_the_quickest_conic_solver_of_each_problem(tmp_path):
    """Two problems on which another conic solver is the quickest, at made-up times."""
    pytest.importorskip("matplotlib")
    seconds = {
        "sapwood": (1.0, 1.0), "clarabel": (8.0, 64.0), "qoco": (16.0, 32.0),
        "geodesic": (2.0, 4.0),
    }  # fmt: skip
    lines = ["walls,bodies,step,solver,e_m,seconds"]
    for step in (0, 1):
        lines += [f"1,8,{step},{name},1e-6,{times[step]}" for name, times in seconds.items()]
    table = tmp_path / "solvers.csv"
    table.write_text("\n".join(lines) + "\n")
    panel = speedup_figure(table, tmp_path / "a.png").axes[0]
    drawn = {line.get_label(): line.get_ydata() for line in panel.get_lines()}
    assert drawn["sapwood"] == pytest.approx([16.0])
    assert drawn["geodesic IPM, SciPy"] == pytest.approx([np.sqrt(4.0 * 8.0)])
