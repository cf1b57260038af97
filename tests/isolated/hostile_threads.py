"""Threads that change arrays, and callbacks that call back, while other threads solve.

Nothing may crash, hang or read out of bounds. Values changed under a solve may end it in any
outcome or a ValueError; index arrays changed under a solve must change nothing. Exits with 1 and a
line per failure.
"""

from __future__ import annotations

import faulthandler
import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import helpers
import sapwood
from row_groups import random_groups
from sapwood.invdyn import InverseDynamics

SEED = 20240917
ROUNDS = 300


SIZES = (6, 6, 1, 9, 6, 3)


def hostile_groups(
    rng: np.random.Generator, names: tuple[str, ...]
) -> tuple[list[sapwood.Bilaterals], dict[str, np.ndarray]]:
    """Groups of given rows, and by group and name the arrays that they were made of."""
    model = helpers.random_problem(rng, SIZES, constraints=random_groups(rng, SIZES))
    groups, arrays = [], {}
    for k, group in enumerate(model.constraints):
        own = {name: np.array(getattr(group, name)) for name in names}
        rest = ("J", "tree_a", "tree_b", "size", "R", "v_hat", "lower", "upper")
        given = {name: getattr(group, name) for name in rest}
        groups.append(sapwood.Bilaterals(**{**given, **own}))
        arrays |= {f"{k}.{name}": array for name, array in own.items() if array.size > 0}
    return groups, arrays


def run_beside(
    overwrite: Callable[[threading.Event], None], solve: Callable[[], None], n_solvers: int
) -> None:
    """Run the solvers, and one thread that overwrites until the last of them has ended."""
    stop = threading.Event()
    writer = threading.Thread(target=overwrite, args=(stop,))
    solvers = [threading.Thread(target=solve) for _ in range(n_solvers)]
    for thread in (writer, *solvers):
        thread.start()
    for thread in solvers:
        thread.join()
    stop.set()
    writer.join()


def values_change(rng: np.random.Generator) -> list[str]:
    """Float arrays are overwritten with anything while four threads solve with one solver."""
    model = helpers.random_problem(rng, SIZES)
    arrays = {
        name: getattr(model, name).copy()
        for name in ("A", "v_star", "J", "mu", "R_t", "R_n", "v_hat_n")
    }
    groups, of_groups = hostile_groups(rng, ("J", "R", "v_hat", "lower", "upper"))
    problem = helpers.rebuild(model, **arrays, constraints=groups)
    arrays |= of_groups
    names = list(arrays)
    originals = {name: array.copy() for name, array in arrays.items()}
    solver = sapwood.SapSolver(sapwood.SapSettings(record_history=True, max_iterations=20))
    failures: list[str] = []

    def overwrite(stop: threading.Event) -> None:
        wild = np.array([np.nan, np.inf, -1.0, 1e308, 1e-308, 0.0])
        while not stop.is_set():
            name = names[rng.integers(len(names))]
            at = rng.integers(arrays[name].size)
            arrays[name][at] = wild[rng.integers(len(wild))]
            arrays[name][:] = originals[name]

    def solve() -> None:
        for _ in range(ROUNDS):
            try:
                solution = solver.solve(problem)
            except ValueError:
                continue
            except Exception as error:
                failures.append(f"values: {error!r}")
                return
            if solution.v.shape != (problem.nv,):
                failures.append("values: wrong shape")

    run_beside(overwrite, solve, 4)
    return failures


def indices_change(rng: np.random.Generator) -> list[str]:
    """Index arrays, the caller's and the exposed ones, are overwritten while threads solve."""
    names = ("tree_nv", "tree_a", "tree_b")
    model = helpers.random_problem(rng, SIZES)
    arrays = {name: getattr(model, name).copy() for name in names}
    groups, of_groups = hostile_groups(rng, ("size", "tree_a", "tree_b"))
    problem = helpers.rebuild(model, **arrays, constraints=groups)
    expected = sapwood.solve(problem)
    exposed = [getattr(problem, name) for name in arrays]
    exposed += [
        getattr(group, name)
        for group in problem.constraints
        for name in ("size", "tree_a", "tree_b")
        if len(group) > 0
    ]
    arrays |= of_groups
    for array in exposed:
        array.flags.writeable = True
    failures: list[str] = []

    def overwrite(stop: threading.Event) -> None:
        while not stop.is_set():
            for array in (*arrays.values(), *exposed):
                array[:] = rng.integers(-(2**31), 2**31, array.size)

    def solve() -> None:
        solver = sapwood.SapSolver()
        for _ in range(ROUNDS):
            if solver.solve(problem) != expected:
                failures.append("indices: a solution changed")
                return

    run_beside(overwrite, solve, 2)
    return failures


def one_controller_by_many(rng: np.random.Generator) -> list[str]:
    """Threads share a controller of inverse dynamics, and solve batches whose arrays change."""
    m, n = 12, 5
    system = {
        "M": np.eye(m), "h": rng.normal(size=m), "v": rng.normal(size=m),
        "qdd_desired": rng.normal(size=m - 6), "J_n": rng.normal(size=(n, m)),
        "J_t": rng.normal(size=(n, 2, m)), "mu": np.full(n, 0.5),
    }  # fmt: skip
    made = InverseDynamics("qp_coulomb", actuated=range(6, m), dt=0.01)
    expected = made.solve(**system)
    G = rng.normal(size=(4, 20, 6))
    M, q = G @ G.transpose(0, 2, 1), rng.normal(size=(4, 20))
    failures: list[str] = []

    def overwrite(stop: threading.Event) -> None:
        wild = np.array([np.nan, np.inf, -1.0, 1e308, 0.0])
        while not stop.is_set():
            for array in (M, q):
                at = np.unravel_index(rng.integers(array.size), array.shape)
                array[at], kept = wild[rng.integers(len(wild))], array[at]
                array[at] = kept

    def solve() -> None:
        for _ in range(ROUNDS):
            result = made.solve(**system)
            if not np.array_equal(result.tau, expected.tau):
                failures.append("controller: another result")
                return
            try:
                sapwood.lcp.solve_batch(M, q, threads=2)
                sapwood.qp.solve_batch(M, q, lower=np.zeros((4, 20)), threads=2)
            except ValueError:
                continue
            except Exception as error:
                failures.append(f"batches: {error!r}")
                return

    run_beside(overwrite, solve, 4)
    return failures


def garbage_collector_calls(rng: np.random.Generator) -> list[str]:
    """The garbage collector calls the solver that is being called."""
    problem = helpers.random_problem(rng)
    solver = sapwood.SapSolver(sapwood.SapSettings(record_history=True))
    expected = solver.solve(problem)
    depth, calls = 0, 0
    failures: list[str] = []

    def call_back(_phase: str, _info: dict[str, int]) -> None:
        nonlocal depth, calls
        if depth == 0:
            depth, calls = 1, calls + 1
            if solver.solve(problem) != expected:
                failures.append("collector: inner solution differs")
            depth = 0

    threshold = gc.get_threshold()
    gc.callbacks.append(call_back)
    gc.set_threshold(1, 1, 1)
    for _ in range(ROUNDS):
        if solver.solve(problem) != expected:
            failures.append("collector: outer solution differs")
            break
    gc.set_threshold(*threshold)
    gc.callbacks.remove(call_back)
    # without a GIL the collector waits for hundreds of new objects of a thread
    if calls == 0 and getattr(sys, "_is_gil_enabled", lambda: True)():
        failures.append("collector: never called")
    return failures


def main() -> int:
    """Run all scenarios."""
    faulthandler.enable()
    faulthandler.dump_traceback_later(240, exit=True)
    found = []
    scenarios = values_change, indices_change, one_controller_by_many, garbage_collector_calls
    for scenario in scenarios:
        found += scenario(np.random.default_rng(SEED))
    for line in found:
        print(f"{line} (seed {SEED})")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
