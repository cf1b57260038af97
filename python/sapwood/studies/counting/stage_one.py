"""Stage I of inverse dynamics in three forms, with the operations that each step takes.

Zapolsky and Drumwright set up the objective z^T H z / 2 + z^T g of the contact impulses z twice: by
a factorization of X = [M P^T; P 0] (Table 1), and by blocks of M and of M^-1 (Table 2). Both have
the H = R_b^T A^-1 R_b that the rows of the unactuated velocities and their block A of M give, which
is the third form and that of `sapwood.invdyn`. Formulas are those of Table 1, and products and
factorizations by the counts of Hunger, "Floating Point Operations in Matrix-Vector Calculus".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.counting.counted import (
    Counter,
    Numbers,
    backward,
    cholesky,
    forward,
    ldl,
    ldl_solve,
    values,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Robot:
    """A system in contact at one instant; unactuated velocities come first.

    Attributes
    ----------
    M : ndarray (m, m)
        Mass matrix.
    c : ndarray (m,)
        Momentum at the end of the step without torques and contacts, -kappa in print.
    v_q : ndarray (n_q,)
        Velocities that the joints are to have.
    R : ndarray (n (edges + 1), m)
        Generalized wrenches of the contacts: normals, then edges of the friction pyramids.
    z : ndarray (n (edges + 1),)
        Impulses for which torques are recovered.
    n : int
        Number of contacts.
    """

    M: Array
    c: Array
    v_q: Array
    R: Array
    z: Array
    n: int


@dataclass(frozen=True)
class StageOne:
    """The set-up of a form.

    Attributes
    ----------
    H, g : ndarray (k, k), (k,)
        Objective z^T H z / 2 + z^T g.
    impulse : ndarray (n_q,)
        Impulses of the motors for the impulses z of the robot.
    counts : dict
        Operation to its counted number.
    """

    H: Array
    g: Array
    impulse: Array
    counts: dict[str, int]


def random_robot(m: int, n_q: int, n: int, edges: int, seed: int = 1) -> Robot:
    """Draw a robot.

    Parameters
    ----------
    m, n_q, n, edges
        Velocities, motors, contacts, and edges of a friction pyramid (even).
    seed
        Of the draw.

    Returns
    -------
    Robot
        Edges come in opposite pairs, as in print.
    """
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(m, m))
    half = rng.normal(size=(edges // 2 * n, m))
    return Robot(
        root @ root.T / m + np.eye(m), rng.normal(size=m), rng.normal(size=n_q),
        np.vstack([rng.normal(size=(n, m)), half, -half]), rng.uniform(size=n * (edges + 1)), n,
    )  # fmt: skip


def _printed(robot: Robot) -> StageOne:
    """By X, section 6.2.1."""
    m, n_q, n = len(robot.M), len(robot.v_q), robot.n
    counter = Counter()
    P = np.zeros((n_q, m))
    P[:, m - n_q :] = np.eye(n_q)
    X = np.block([[robot.M, P.T], [P, np.zeros((n_q, n_q))]])
    N, F = counter.array(robot.R[:n]), counter.array(robot.R[n:])
    zeros = np.zeros((n_q, 1))

    def right(rows: Array) -> Numbers:
        return counter.array(np.vstack([rows.T, np.repeat(zeros, len(rows), axis=1)]))

    counts: dict[str, int] = {}
    factor = ldl(counter.array(X))
    counts["LDL(X)"] = counter.lap()
    XN = ldl_solve(factor, right(robot.R[:n]))[:m]
    counts["X^-1 N"] = counter.lap()
    XF = ldl_solve(factor, right(robot.R[n:]))[:m]
    counts["X^-1 F"] = counter.lap()
    NN = N @ XN
    counts["N X^-1 N"] = counter.lap()
    FN = F @ XN
    counts["F X^-1 N"] = counter.lap()
    FF = F @ XF
    counts["F X^-1 F"] = counter.lap()
    # kappa is M v + dt f: the robot has it, and the product is counted on M
    counter.array(robot.M) @ counter.array(np.ones(m))
    counts["kappa"] = counter.lap()
    Xc = ldl_solve(factor, right(robot.c[None]))[:m, 0]
    counts["X^-1 kappa"] = counter.lap()
    Nc = N @ Xc
    counts["N X^-1 kappa"] = counter.lap()
    Fc = F @ Xc
    counts["F X^-1 kappa"] = counter.lap()
    load = robot.c + robot.R.T @ robot.z
    found = ldl_solve(factor, counter.array(np.r_[load, robot.v_q][:, None]))
    counts["tau"] = counter.lap()
    H = np.block([[values(NN), values(FN).T], [values(FN), values(FF)]])
    # P^T lambda is on the other side than in X
    return StageOne(H, np.r_[values(Nc), values(Fc)], -values(found[m:, 0]), counts)


def _simplified(robot: Robot) -> StageOne:
    """By Z = ([D E] - E G^-1 [E^T G]) R, section 6.2.2."""
    m, n_q = len(robot.M), len(robot.v_q)
    b, counter, counts = m - n_q, Counter(), {}
    M, R = counter.array(robot.M), counter.array(robot.R.T)
    A, B = M[:b, :b], M[:b, b:]
    L = cholesky(M)
    counts["Cholesky(M)"] = counter.lap()
    inverse = backward(L, forward(L, counter.array(np.eye(m))))
    counts["M^-1"] = counter.lap()
    DE, EG, E, G = inverse[:b], inverse[b:], inverse[:b, b:], inverse[b:, b:]
    L_G = cholesky(G)
    counts["Cholesky(G)"] = counter.lap()
    EG1 = backward(L_G, forward(L_G, E.T)).T
    counts["E G^-1"] = counter.lap()
    K = DE - EG1 @ EG
    counts["[D E] - E G^-1 [E^T G]"] = counter.lap()
    Z = K @ R
    counts["Z"] = counter.lap()
    AZ = A @ Z
    counts["A Z"] = counter.lap()
    H = Z.T @ AZ
    counts["Z^T A Z"] = counter.lap()
    # j and k are the velocities without contact and motors
    counter.array(robot.M) @ counter.array(np.ones(m))
    counts["kappa"] = counter.lap()
    c, v_q = counter.array(robot.c), counter.array(robot.v_q)
    j, k = DE @ c, EG @ c
    counts["j, k"] = counter.lap()
    p = j + EG1 @ (v_q - k)
    counts["p"] = counter.lap()
    g = Z.T @ (A @ p + B @ v_q)
    counts["Z^T (A p + B v_q)"] = counter.lap()
    load = R @ counter.array(robot.z)
    rest = v_q - k - EG @ load
    impulse = backward(L_G, forward(L_G, rest[:, None]))[:, 0]
    counts["tau"] = counter.lap()
    return StageOne(values(H), values(g), values(impulse), counts)


def _reduced(robot: Robot) -> StageOne:
    """By a factorization of A alone, H = (L^-1 R_b)^T (L^-1 R_b)."""
    m, n_q = len(robot.M), len(robot.v_q)
    b, counter, counts = m - n_q, Counter(), {}
    M, R = counter.array(robot.M), counter.array(robot.R.T)
    L = cholesky(M[:b, :b])
    counts["Cholesky(A)"] = counter.lap()
    J_y = forward(L, R[:b])
    counts["L^-1 R_b"] = counter.lap()
    H = J_y.T @ J_y
    counts["R_b^T A^-1 R_b"] = counter.lap()
    counter.array(robot.M) @ counter.array(np.ones(m))
    counts["kappa"] = counter.lap()
    c, v_q = counter.array(robot.c), counter.array(robot.v_q)
    y_c = forward(L, c[:b, None])[:, 0]
    counts["L^-1 c_b"] = counter.lap()
    g = J_y.T @ y_c
    counts["R_b^T A^-1 c_b"] = counter.lap()
    B_y = forward(L, M[:b, b:])
    counts["L^-1 B"] = counter.lap()
    z = counter.array(robot.z)
    y = y_c - B_y @ v_q + J_y @ z
    impulse = B_y.T @ y + M[b:, b:] @ v_q - c[b:] - R[b:] @ z
    counts["tau"] = counter.lap()
    return StageOne(values(H), values(g), values(impulse), counts)


#: Forms of Stage I by name.
FORMS: dict[str, Callable[[Robot], StageOne]] = {
    "printed": _printed,
    "simplified": _simplified,
    "reduced": _reduced,
}


# ---- formulas ------------------------------------------------------------------------------------


def _product(rows: float, inner: float, columns: float) -> float:
    return 2.0 * rows * inner * columns - rows * columns


def _cholesky(n: float) -> float:
    return n**3 / 3.0 + n**2 / 2.0 + n / 6.0


def formulas(form: str, m: int, n_q: int, n: int, edges: int) -> dict[str, float]:
    """Operations by formula.

    Parameters
    ----------
    form
        Of `FORMS`. The rows of "printed" are those of Table 1, with the square that its row of
        F X^-1 F^T lacks and its sum has.
    m, n_q, n, edges
        As for `random_robot`.

    Returns
    -------
    dict
        Operation to its number, for the same operations as `StageOne.counts`.
    """
    k, b, N = n * (edges + 1), m - n_q, m + n_q
    if form == "printed":
        return {
            "LDL(X)": N**3 / 3.0 + N**2 - 7.0 * N / 3.0 + 1.0,
            "X^-1 N": N + 2.0 * n * N**2,
            "X^-1 F": N + 2.0 * n * edges * N**2,
            "N X^-1 N": 2.0 * m * n**2 - m * n,
            "F X^-1 N": 2.0 * m * n**2 * edges - m * n,
            "F X^-1 F": 2.0 * m * (n * edges) ** 2 - m * n * edges,
            "kappa": 2.0 * m**2 - m,
            "X^-1 kappa": 2.0 * N**2,
            "N X^-1 kappa": m * n - m,
            "F X^-1 kappa": m * n * edges - m,
            "tau": 2.0 * N**2,
        }
    if form == "simplified":
        return {
            "Cholesky(M)": _cholesky(m),
            "M^-1": 2.0 * m**3,
            "Cholesky(G)": _cholesky(n_q),
            "E G^-1": 2.0 * b * n_q**2,
            "[D E] - E G^-1 [E^T G]": _product(b, n_q, m) + b * m,
            "Z": _product(b, m, k),
            "A Z": _product(b, b, k),
            "Z^T A Z": _product(k, b, k),
            "kappa": _product(m, m, 1),
            "j, k": _product(m, m, 1),
            "p": n_q + _product(b, n_q, 1) + b,
            "Z^T (A p + B v_q)": _product(b, b, 1) + _product(b, n_q, 1) + b + _product(k, b, 1),
            "tau": _product(m, k, 1) + 2.0 * n_q + _product(n_q, m, 1) + 2.0 * n_q**2,
        }
    return {
        "Cholesky(A)": _cholesky(b),
        "L^-1 R_b": 1.0 * k * b**2,
        "R_b^T A^-1 R_b": _product(k, b, k),
        "kappa": _product(m, m, 1),
        "L^-1 c_b": 1.0 * b**2,
        "R_b^T A^-1 c_b": _product(k, b, 1),
        "L^-1 B": 1.0 * n_q * b**2,
        "tau": _product(b, n_q, 1) + _product(b, k, 1) + 2.0 * b
        + _product(n_q, b, 1) + _product(n_q, n_q, 1) + _product(n_q, k, 1) + 3.0 * n_q,
    }  # fmt: skip
