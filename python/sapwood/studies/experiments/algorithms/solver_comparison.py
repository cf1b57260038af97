"""Solvers side by side on the contact problems of the clutter: Figs. 12 and 13 of section X-C.

A problem is that of one step of the simulation: while bodies fall, when they hit the ground, at
rest. Every solver of `SOLVERS` solves it at all tolerances of its grid, in each of the ways in
which it can be run; errors of all are measured by one function (`sapwood.studies.peers.accuracy`).
Times at equal accuracy are read off later
(`sapwood.studies.experiments.algorithms.equal_accuracy`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood import ContactProblem
from sapwood.studies import peers
from sapwood.studies.experiments.algorithms.equal_accuracy import best_times
from sapwood.studies.experiments.clutter import TOLERANCE
from sapwood.studies.experiments.clutter_runs import measured, simulation
from sapwood.studies.experiments.running.timing import Times, interleaved
from sapwood.studies.peers import Peer
from sapwood.studies.peers.accuracy import Accuracy

#: Solvers that are compared: their names in `sapwood.studies.peers`, and whether each solve begins
#: from nothing (cold) or keeps the set-up of the one before (warm); MuJoCo's never counts.
SOLVERS = {
    "sapwood": ("sapwood", "cold"),
    "sapwood-warm": ("sapwood", "warm"),
    "sapwood-plain": ("sapwood-plain", "cold"),
    "mujoco": ("mujoco", "cold"),
    "mujoco-mindeg": ("mujoco-mindeg", "cold"),
    "clarabel": ("clarabel", "cold"),
    "qoco": ("qoco", "cold"),
    "scs": ("scs", "cold"),
    "ecos": ("ecos", "cold"),
    "geodesic": ("geodesic", "cold"),
    "scipy": ("scipy", "cold"),
}

#: One row per solver, way of running it and tolerance.
ROWS = np.dtype(
    [
        ("contacts", np.int64),
        ("solver", "U16"),
        ("variant", "U56"),
        ("tolerance", np.float64),
        ("usual", np.int64),
        ("status", "U8"),
        ("detail", "U120"),
        ("e_m", np.float64),
        ("e_m_own", np.float64),
        ("e_mu", np.float64),
        ("iterations", np.int64),
        ("seconds", np.float64),
        ("samples", np.int64),
    ]
)

#: Outcomes: a velocity, none, no time left to try, a package that is not installed.
SOLVED, FAILED, LATE, MISSING = "solved", "failed", "late", "missing"

# closer than this nobody asks
_FLOOR = 1e-10
# a setting is timed again where its first time is within this factor of the best at its accuracy
_PROMISING = 1.5


@dataclass(frozen=True)
class _Trial:
    """A row, and what to time for it; no call where there was no velocity."""

    row: dict[str, Any]
    call: Callable[[], Any] | None = None
    times: Times | None = None


def compare(
    bodies: int, walls: bool, step: int, seed: int, repeat: int, limit: float
) -> NDArray[np.void]:
    """Solve the problem of one step of the clutter by all solvers: a point of the sweep.

    Parameters
    ----------
    bodies, walls, seed
        The scene, see `sapwood.studies.experiments.clutter_runs.simulation`.
    step
        Number of the step, from 1.
    repeat
        Timed samples of every setting that is near a solver's best; the least one counts.
    limit
        CPU time after which a solver gets no further settings to try, s.

    Returns
    -------
    ndarray of `ROWS`
        ``usual`` marks the solver's default tolerance in its default variant (the paper's 1e-5 for
        ours); ``e_m`` (24) has the impulses of the contact law at the solver's velocity,
        ``e_m_own`` and ``e_mu`` (25) the solver's own; ``seconds`` is the CPU time of a solve from
        v_guess, set-up included; NaN, or -1 iterations, where a solver tells or reaches nothing.
    """
    return compare_on(record(bodies, walls, step, seed), tuple(SOLVERS), repeat, limit)


def record(bodies: int, walls: bool, step: int, seed: int) -> ContactProblem:
    """The contact problem of one step of the clutter, simulated by sapwood.

    Parameters
    ----------
    bodies, walls, step, seed
        As for `compare`.

    Returns
    -------
    ContactProblem
        With the velocity before the step as v_guess.
    """
    scene = simulation(bodies, walls, seed, "sapwood")
    for _ in measured(scene, step - 1):
        pass
    return scene.stepper.problem(scene.data)


def compare_on(
    problem: ContactProblem, solvers: Sequence[str], repeat: int, limit: float
) -> NDArray[np.void]:
    """Solve one problem by some solvers, see `compare`.

    Parameters
    ----------
    problem
        Any problem.
    solvers
        Names in `SOLVERS`.
    repeat, limit
        As for `compare`.

    Returns
    -------
    ndarray of `ROWS`
        In the order of solvers, variants and tolerances.
    """
    accuracy = Accuracy(problem)
    trials: list[_Trial] = []
    for name in solvers:
        trials += _try_all(name, problem, accuracy, limit)

    # the promising ones again, all solvers in turn
    again = [trial for group in _by_solver(trials) for trial in _promising(group)]
    calls = [trial.call for trial in again if trial.call is not None]
    first = [trial.times for trial in again if trial.times is not None]
    for trial, times in zip(again, interleaved(calls, first, repeat, limit / 200), strict=True):
        trial.row["seconds"], trial.row["samples"] = times.cpu_min, len(times.cpu)
    rows = np.zeros(len(trials), ROWS)
    for row, trial in zip(rows, trials, strict=True):
        row["contacts"] = problem.n_contacts
        for column, value in trial.row.items():
            row[column] = value
    return rows


# ---- one solver ---------------------------------------------------------------------------------


def _try_all(
    name: str, problem: ContactProblem, accuracy: Accuracy, limit: float
) -> Iterator[_Trial]:
    """Solve once with each setting of one solver."""
    try:
        peer_name, mode = SOLVERS[name]
        peer = peers.load(peer_name, patience=limit)
    except ImportError as error:
        trial = _nothing("", math.nan, MISSING, error)
        trial.row["solver"] = name
        yield trial
        return
    usual = _usual_tolerance(peer)
    variants = peer.variants(problem)
    start = time.thread_time()
    for k, variant in enumerate(variants):
        # all variants get their share
        end = start + limit * (k + 1) / len(variants)
        for trial in _try_grid(variant, mode, problem, accuracy, end):
            row = trial.row
            row["solver"] = name
            row["usual"] = int(k == 0 and math.isclose(row["tolerance"], usual))
            yield trial


def _usual_tolerance(peer: Peer) -> float:
    """The tolerance of Fig. 13: the paper's for the solvers that stop by e_m."""
    return TOLERANCE if peer.tolerances(TOLERANCE)[0] == TOLERANCE else peer.default_tolerance


def _try_grid(
    variant: Peer, mode: str, problem: ContactProblem, accuracy: Accuracy, end: float
) -> Iterator[_Trial]:
    """Solve once at each tolerance, the loosest first, until nobody would ask for more."""
    usual = _usual_tolerance(variant)
    form: Any = None
    for tolerance in variant.grid:
        if time.thread_time() > end:
            yield _nothing(variant.variant, tolerance, LATE, None)
            continue
        try:
            form = variant.form(problem) if form is None else form
            trial = _try(variant, mode, form, tolerance, accuracy)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        # whatever a solver raises is a row; panics of Rust are no Exception
        except BaseException as error:
            yield _nothing(variant.variant, tolerance, FAILED, error)
            continue
        yield trial
        if trial.row["e_m"] <= _FLOOR and tolerance <= 1.01 * usual:
            return


def _try(variant: Peer, mode: str, form: Any, tolerance: float, accuracy: Accuracy) -> _Trial:
    """Solve once and measure."""
    call = variant.solve(form, tolerance, mode)
    times = Times()
    result = times.sample(call)
    answer = variant.answer(form, result)
    with np.errstate(over="ignore", invalid="ignore"):
        e_m = accuracy.errors(answer.v).momentum
        own = accuracy.errors(answer.v, answer.gamma)
    if not math.isfinite(e_m):
        raise peers.PeerError(f"no finite velocity ({answer.status})")
    row = {
        "variant": variant.variant,
        "tolerance": tolerance,
        "status": SOLVED,
        "detail": answer.status,
        "e_m": e_m,
        "e_m_own": own.momentum,
        "e_mu": own.complementarity,
        "iterations": -1 if answer.iterations is None else answer.iterations,
        "seconds": times.cpu_min,
        "samples": 1,
    }
    return _Trial(row, call, times)


def _nothing(variant: str, tolerance: float, status: str, error: BaseException | None) -> _Trial:
    """The row of a solver that gave no velocity."""
    detail = "" if error is None else " ".join(f"{type(error).__name__}: {error}".split())
    errors = dict.fromkeys(("e_m", "e_m_own", "e_mu", "seconds"), math.nan)
    return _Trial(
        {
            "variant": variant,
            "tolerance": tolerance,
            "status": status,
            "detail": detail,
            "iterations": -1,
            **errors,
        }
    )


# ---- what is timed again ------------------------------------------------------------------------


def _by_solver(trials: Sequence[_Trial]) -> list[list[_Trial]]:
    groups: dict[str, list[_Trial]] = {}
    for trial in trials:
        if trial.call is not None:
            groups.setdefault(trial.row["solver"], []).append(trial)
    return list(groups.values())


def _promising(trials: Sequence[_Trial]) -> list[_Trial]:
    """Settings whose first time is near the least one among those of at least their accuracy."""
    e_m = np.array([trial.row["e_m"] for trial in trials])
    seconds = np.array([trial.row["seconds"] for trial in trials])
    near = seconds <= _PROMISING * best_times(e_m, seconds)
    return [trial for trial, chosen in zip(trials, near, strict=True) if chosen]
