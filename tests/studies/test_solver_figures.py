"""Figures 12 and 13: solvers side by side, at equal accuracy and at their usual tolerances."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("scipy")

import helpers
import sapwood
from sapwood.studies import peers
from sapwood.studies.experiments import solver_comparison
from sapwood.studies.experiments.clutter_runs import measured, simulation
from sapwood.studies.experiments.equal_accuracy import (
    BEST_CONIC,
    CONIC,
    best_times,
    geometric_mean,
    problems,
    ratios,
    time_at,
    times_at,
)
from sapwood.studies.experiments.figures import FIGURES
from sapwood.studies.experiments.solver_comparison import ROWS, SOLVERS, compare, compare_on, record
from sapwood.studies.experiments.sweep import Sweep, run_sweep
from sapwood.studies.plotting import read_steps

pytestmark = pytest.mark.slow

# these stop by e_m, and their impulses are those of the contact law
SAP = ("sapwood", "sapwood-warm", "sapwood-plain", "scipy")
OTHERS = (*CONIC, "geodesic")
PROBLEM = sapwood.load_problem(helpers.DATA / "mujoco_b_clutter_10_impact.npz")


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


# ---- equal accuracy ----------------------------------------------------------------------------


def test_times_are_interpolated_as_powers(rng):
    """On t = c e_m^-p the time is exact anywhere between the points, whatever is slower there."""
    c, p = 1e-3, 0.3
    e_m = 10.0 ** rng.uniform(-9, -1, 12)
    slower = rng.uniform(1.0, 5.0, 30)
    e_slow = 10.0 ** rng.uniform(np.log10(e_m.min()), 0, 30)
    e = np.concatenate([e_m, e_slow, [np.nan, 1e-3]])
    t = np.concatenate([c * e_m**-p, slower * c * e_m.min() ** -p, [1e-9, np.nan]])
    mixed = rng.permutation(len(e))
    for target in 10.0 ** rng.uniform(np.log10(e_m.min()), np.log10(e_m.max()), 20):
        assert time_at(e[mixed], t[mixed], target) == pytest.approx(c * target**-p, rel=1e-9)
    # looser than the loosest, tighter than the tightest
    assert time_at(e, t, 1.0) == pytest.approx(c * e_m.max() ** -p)
    assert math.isnan(time_at(e, t, 0.9 * e_m.min()))
    assert math.isnan(time_at(np.array([]), np.array([]), 1e-5))
    # a solution without error is as good as any
    assert time_at(np.array([0.0, 1e-3]), np.array([2.0, 1.0]), 1e-10) == pytest.approx(
        2.0 ** (7.0 / 15.0)
    )


def test_best_times_are_those_of_all_pairs(rng):
    e_m, seconds = rng.integers(0, 6, 40) / 10.0, rng.uniform(size=40)
    pairs = [seconds[e_m <= e].min() for e in e_m]
    assert np.array_equal(best_times(e_m, seconds), pairs)


def test_ratios_and_means():
    nan = math.nan
    columns = [("walls", int), ("bodies", int), ("step", int), ("solver", "U16"),
               ("e_m", float), ("seconds", float)]  # fmt: skip
    rows = np.array(
        [
            (1, 4, 20, "sapwood", 1e-6, 1.0), (1, 4, 20, "qoco", 1e-6, 4.0),
            (1, 4, 20, "scs", 1e-6, 3.0), (1, 4, 60, "sapwood", 1e-6, 2.0),
            (1, 4, 60, "qoco", 1e-6, 32.0), (1, 4, 60, "scs", 1e-4, 3.0),
            (0, 8, 20, "sapwood", 1e-6, 1.0), (0, 8, 20, "scs", nan, nan),
        ],
        dtype=columns,
    )  # fmt: skip
    times = times_at(rows, 1e-5)
    assert list(problems(rows)) == [(1, 4, 20), (1, 4, 60), (0, 8, 20)]
    assert ratios(times, "qoco").tolist() == pytest.approx([4.0, 16.0])
    np.testing.assert_allclose(ratios(times, "scs"), [3.0, nan, nan])
    np.testing.assert_allclose(ratios(times, BEST_CONIC), [3.0, 16.0, nan])
    np.testing.assert_allclose(ratios(times, "scs", walls=1, bodies=4), [3.0, nan])
    assert geometric_mean(ratios(times, "qoco")) == pytest.approx(8.0)
    assert math.isnan(geometric_mean([nan]))
    assert ratios(times, "nobody").size == 0


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


def test_columns_and_statuses(rows, table):
    assert set(rows["solver"]) == set(SOLVERS)
    assert set(rows["status"]) <= {"solved", "failed", "late", "missing"}
    assert table.read_text().splitlines()[0].split(",")[:6] == [
        "walls", "bodies", "step", "seed", "repeat", "limit",
    ]  # fmt: skip
    for walls, bodies, step in problems(rows):
        here = rows[(rows["walls"] == walls) & (rows["bodies"] == bodies) & (rows["step"] == step)]
        assert len(set(here["contacts"])) == 1
        usual = here[here["usual"] == 1]["solver"].tolist()
        assert sorted(usual) == sorted(installed(here, SOLVERS))
    solved = rows[rows["status"] == "solved"]
    assert np.all(solved["seconds"] > 0.0)
    assert np.all(solved["samples"] >= 1)
    assert np.all(np.isfinite(solved["e_m"]))
    other = rows[rows["status"] != "solved"]
    assert np.all(np.isnan(other["e_m"]))
    assert np.all(np.isnan(other["seconds"]))


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


# ---- failures ----------------------------------------------------------------------------------


def test_what_fails_is_a_row(monkeypatch):
    """A package that is missing, an exception, a panic, and no time: the others are measured."""
    load = peers.load

    def break_some(name, patience=math.inf):
        if name == "scipy":
            raise ImportError("no scipy here")
        peer = load(name, patience)
        if name == "sapwood-plain":

            def form(_problem):
                raise BaseException("a panic\nof two lines")

            peer.form = form
            peer.variants = lambda _problem: (peer,)
        return peer

    monkeypatch.setattr(solver_comparison.peers, "load", break_some)
    rows = compare_on(PROBLEM, ("sapwood", "sapwood-plain", "scipy", "geodesic"), 1, 5.0)
    status = {name: set(rows["status"][rows["solver"] == name]) for name in SOLVERS}
    assert status["sapwood"] == status["geodesic"] == {"solved"}
    assert status["sapwood-plain"] == {"failed"}
    assert status["scipy"] == {"missing"}
    details = rows["detail"][rows["status"] == "failed"]
    assert set(details) == {"BaseException: a panic of two lines"}
    assert "no scipy here" in rows["detail"][rows["status"] == "missing"][0]


# ---- figures -----------------------------------------------------------------------------------


def test_both_figures_come_from_one_sweep():
    for quick in (True, False):
        twelve, thirteen = (FIGURES[name].plan(quick) for name in ("12", "13"))
        assert twelve.sweeps == thirteen.sweeps
        bodies = {point["bodies"] for point in twelve.sweeps[0].points}
        assert (min(bodies), max(bodies)) == ((4, 40) if quick else (4, 200))
