"""Other solvers of small dense quadratic programs, each at an accuracy beside ours.

A program is what `sapwood.qp.solve` takes: H, g, and where it has them A, b, C, d, lower. What a
solver is given in its own form is made outside of the time that is measured, but for what it has to
set up anew for every program.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Program = dict[str, Array]

TOLERANCE = 1e-9
# tolerances of violations over the largest entry of solution and right sides, and of the objective
ACCURACY = 1e-6


def rows(p: Program) -> tuple[Array, Array, int]:
    """Equalities, inequalities and lower bounds as rows R x >= r, the first so many equal."""
    n = len(p["g"])
    A, b = p.get("A", np.zeros((0, n))), p.get("b", np.zeros(0))
    C, d = p.get("C", np.zeros((0, n))), p.get("d", np.zeros(0))
    bounded = np.isfinite(p["lower"])
    R = np.vstack([A, C, np.eye(n)[bounded]])
    return R, np.concatenate([b, d, p["lower"][bounded]]), len(b)


def by_quadprog(p: Program) -> Callable[[], Array]:
    """By Goldfarb and Idnani's method, which needs a definite H."""
    quadprog = importlib.import_module("quadprog")
    R, r, n_equal = rows(p)
    H = p["H"] + 1e-9 * np.abs(p["H"]).max() * np.eye(len(p["g"]))
    R_T = np.ascontiguousarray(R.T)
    return lambda: quadprog.solve_qp(H, -p["g"], R_T, r, n_equal)[0]


def by_daqp(p: Program) -> Callable[[], Array]:
    """By DAQP, a dual active-set method, with proximal steps where H is not definite."""
    daqp = importlib.import_module("daqp")
    n = len(p["g"])
    A, C = p.get("A", np.zeros((0, n))), p.get("C", np.zeros((0, n)))
    b, d = p.get("b", np.zeros(0)), p.get("d", np.zeros(0))
    R = np.ascontiguousarray(np.vstack([C, A]))
    upper = np.concatenate([np.full(n + len(d), 1e30), b])
    lower = np.concatenate([np.maximum(p["lower"], -1e30), d, b])
    sense = np.array([0] * (n + len(d)) + [5] * len(b), np.int32)
    definite = np.linalg.eigvalsh(p["H"])[0] > 1e-6 * np.abs(p["H"]).max()
    proximal = {} if definite else {"eps_prox": 1e-6}
    return lambda: daqp.solve(p["H"], p["g"], R, upper, lower, sense, **proximal)[0]


def by_proxqp(p: Program) -> Callable[[], Array]:
    """By ProxQP, a proximal augmented Lagrangian method."""
    proxqp = importlib.import_module("proxsuite").proxqp
    n, box = len(p["g"]), np.full(len(p["g"]), 1e20)
    A, b, C, d = (p.get(name) for name in "AbCd")
    upper = np.full(0 if d is None else len(d), 1e20)

    def solve() -> Array:
        qp = proxqp.dense.QP(n, 0 if b is None else len(b), len(upper), True)
        qp.settings.eps_abs, qp.settings.eps_rel = TOLERANCE, 0.0
        qp.init(p["H"], p["g"], A, b, C, d, upper, np.maximum(p["lower"], -box), box)
        qp.solve()
        x: Array = qp.results.x
        return x

    return solve


def by_osqp(p: Program) -> Callable[[], Array]:
    """By OSQP, operator splitting."""
    osqp, sparse = importlib.import_module("osqp"), importlib.import_module("scipy.sparse")
    R, r, n_equal = rows(p)
    H, matrix = sparse.csc_matrix(np.triu(p["H"])), sparse.csc_matrix(R)
    upper = np.concatenate([r[:n_equal], np.full(len(r) - n_equal, np.inf)])
    options = {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iter": 20_000}

    def solve() -> Array:
        solver = osqp.OSQP()
        solver.setup(H, p["g"], matrix, r, upper, verbose=False, **options)
        x: Array = solver.solve(raise_error=False).x
        return x

    return solve


def by_piqp(p: Program) -> Callable[[], Array]:
    """By PIQP, a proximal interior point method."""
    piqp = importlib.import_module("piqp")
    A, b, C, d = (p.get(name) for name in "AbCd")
    most = np.full(0 if d is None else len(d), np.inf)

    def solve() -> Array:
        solver = piqp.DenseSolver()
        solver.settings.eps_abs, solver.settings.eps_rel = TOLERANCE, TOLERANCE
        solver.setup(p["H"], p["g"], A, b, C, d, most, p["lower"], None)
        solver.solve()
        x: Array = solver.result.x
        return x

    return solve


PEERS: dict[str, Callable[[Program], Callable[[], Array]]] = {
    "quadprog": by_quadprog,
    "daqp": by_daqp,
    "proxqp": by_proxqp,
    "piqp": by_piqp,
    "osqp": by_osqp,
}


def installed() -> list[str]:
    """Peers that can be imported; those that cannot are told."""
    found = []
    modules = {"proxqp": "proxsuite"}
    for name in PEERS:
        try:
            importlib.import_module(modules.get(name, name))
        except ImportError as error:
            print(f"skipped: {name} ({error})", file=sys.stderr)
        else:
            found.append(name)
    return found


def is_solved(p: Program, x: Array, objective: float) -> bool:
    """Whether x is feasible, and as good as the objective known, to `ACCURACY`."""
    R, r, n_equal = rows(p)
    over = r - R @ x
    violation = np.concatenate([np.abs(over[:n_equal]), over[n_equal:]]).max(initial=0.0)
    value = 0.5 * x @ p["H"] @ x + p["g"] @ x
    size = max(np.abs(x).max(), np.abs(r).max(initial=0.0))
    cost = max(abs(objective), np.abs(p["g"]).max() * size)
    return bool(violation <= ACCURACY * size and value <= objective + ACCURACY * cost)
