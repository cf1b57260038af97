"""Python without memory: each allocation of each call fails in turn.

A call gives its result or MemoryError, never another exception and never a crash; SystemErrors that
the interpreter and NumPy raise of themselves are not ours. Files are read by NumPy, which crashes
where some of its allocations fail; what the core allocates is failed by the C tests. Exits with 1
and a line per wrong end.
"""

from __future__ import annotations

import _testcapi
import faulthandler
import sys
from collections.abc import Callable

import numpy as np

import sapwood
from sapwood import _core
from sapwood.invdyn import InverseDynamics

N = 3
ARRAYS = {
    "tree_nv": [3] * N,
    "A": np.tile(np.eye(3).ravel(), N),
    "v_star": np.linspace(-1.0, 1.0, 3 * N),
    "tree_a": list(range(N)),
    "tree_b": [-1] * N,
    "J": np.tile(np.eye(3).ravel(), N),
    "mu": np.full(N, 0.5),
}
PHYSICAL = {"phi0": np.zeros(N), "k": np.full(N, 1e5), "tau_d": np.zeros(N)}
SPINS = {"spin_contact": [1], "spin_J": np.ones(9), "spin_mu": [[0.1, 0.0, 0.1]]}
WHEELS = sapwood.DryFrictions(J=[1.0, 0.0, 0.0], tree_a=[0], tree_b=[-1], f=[1.0])
SETTINGS = {"record_history": True, "line_search": "backtracking"}


def make_problem() -> sapwood.ContactProblem:
    """Lists and arrays, in place and converted, physical parameters, a spin, a group."""
    return sapwood.ContactProblem(
        **ARRAYS, **PHYSICAL, **SPINS, dt=0.01, delassus="diagonal", constraints=[WHEELS]
    )


def calls() -> dict[str, Callable[[], object]]:
    """Calls by name; each gives the same every time."""
    problem = make_problem()
    y, ones = np.linspace(-1.0, 1.0, 12).reshape(4, 3), np.ones(4)
    solver = sapwood.SapSolver(sapwood.SapSettings(**SETTINGS))
    return {
        "project": lambda: [x.tolist() for x in sapwood.project(y, ones, ones, ones)],
        "clamp": lambda: [x.tolist() for x in sapwood.clamp(y[:, 0], ones, -ones, ones)],
        "ContactProblem": make_problem,
        "SapSettings": lambda: sapwood.SapSettings(**SETTINGS),
        "SapSolver.solve": lambda: solver.solve(problem),
        "solve": lambda: sapwood.solve(problem),
        "solve_batch": lambda: sapwood.solve_batch([problem, problem]),
        "evaluate": lambda: solver.evaluate(problem, problem.v_star),
    }


def calls_of_programs() -> dict[str, Callable[[], object]]:
    """Complementarity problems, quadratic programs and inverse dynamics."""
    M, q = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-5.0, -6.0])
    zeros = np.zeros(2)
    start = sapwood.qp.solve(M, q, lower=zeros)
    made = InverseDynamics("qp_coulomb", actuated=[3], dt=0.01)
    arrays = np.eye(4), np.ones(4), np.zeros(4), [1.0], np.eye(1, 4), np.eye(4)[None, 1:3], [0.5]

    def of_lcps() -> list[object]:
        return [s.z.tolist() for s in sapwood.lcp.solve_batch([M, M], [q, -q], threads=2)]

    def of_qps() -> list[object]:
        return [sapwood.qp.solve(M, q, lower=zeros, start=start).x.tolist()]

    def of_motors() -> list[object]:
        result = made.solve(*arrays)
        return [result.tau.tolist(), result.forces.tolist(), result.status]

    return {"lcp.solve_batch": of_lcps, "qp.solve": of_qps, "InverseDynamics.solve": of_motors}


def calls_of_derivatives() -> dict[str, Callable[[], object]]:
    """Linearizations, and both directions, one by one and in batches."""
    problem = make_problem()
    solution = sapwood.solve(problem, sensitivity=True)
    two = np.full((2, N), 0.5)
    varied = problem._core, {"mu": two, "constraints": ({},)}, 2, None, 2
    at, bars = (np.stack([solution.v] * 2), 1), (np.ones((2, 3 * N)), None, None, None)
    bar, dot = np.ones(3 * N), sapwood.Differential(mu=np.ones(N), v_star=np.ones(3 * N))

    def linearized() -> list[object]:
        made = sapwood.solve(problem, sensitivity=True).sensitivity
        return [made.regions.tolist(), made.distance.tolist()]

    def pulled() -> list[object]:
        gradient = solution.vjp(bar)
        return [gradient.mu.tolist(), gradient.J.tolist()]

    def pulled_together() -> list[object]:
        found = sapwood.vjp_batch([solution] * 2, [bar, bar], threads=2)
        return [gradient.v_star.tolist() for gradient in found]

    def pushed_together() -> list[object]:
        found = sapwood.jvp_batch([solution] * 2, [dot, dot], threads=2)
        return [change.v.tolist() for change in found]

    return {
        "solve, sensitivity": linearized,
        "vjp": pulled,
        "jvp": lambda: solution.jvp(dot).v.tolist(),
        "vjp_batch": pulled_together,
        "jvp_batch": pushed_together,
        "solve_varied": lambda: [x.tolist() for x in _core.solve_varied(*varied)],
        "vjp_varied": lambda: _core.vjp_varied(*varied, *at, *bars, False, False)[0]["mu"].tolist(),
        "jvp_varied": lambda: _core.jvp_varied(*varied, *at, {"mu": two}, False)[0].tolist(),
    }


def end_of(call: Callable[[], object], number: int) -> tuple[object, bool]:
    """The result of a call in which one allocation fails, and whether it made that many."""
    result: object = None
    reached = True
    _testcapi.set_nomemory(number, number + 1)
    try:
        result = call()
    except BaseException as error:
        result = error
    try:
        # these fail where the call has left it to them; many, as threads make the number vary
        for _ in range(1000):
            object()
    except MemoryError:
        reached = False
    finally:
        _testcapi.remove_mem_hooks()
    return result, reached


def is_of_others(end: object) -> bool:
    """Was a lost MemoryError not lost by the extension module?"""
    return isinstance(end, SystemError) and "sapwood._core" not in str(end)


def wrong_ends(name: str, call: Callable[[], object]) -> list[str]:
    """Ends of a call that should not be."""
    # twice: what is made once is there
    call()
    expected = call()
    found = []
    number, n_failed, reached = 0, 0, True
    while reached:
        end, reached = end_of(call, number)
        if isinstance(end, MemoryError):
            n_failed += 1
        elif not is_of_others(end) and (isinstance(end, BaseException) or end != expected):
            found.append(f"{name}, allocation {number}: {end!r}")
        number += 1
    print(f"{name}: {n_failed} of {number - 1} allocations are needed")
    if n_failed == 0:
        found.append(f"{name}: no allocation failed")
    return found


def main() -> int:
    """All calls, or those named on the command line."""
    faulthandler.enable()
    chosen = {
        name: call
        for name, call in (calls() | calls_of_programs() | calls_of_derivatives()).items()
        if name in sys.argv[1:] or len(sys.argv) == 1
    }
    wrong = [line for name, call in chosen.items() for line in wrong_ends(name, call)]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
