"""Newton's method on (17) as one would write it with SciPy: sparse matrices and SuperLU.

The same algorithm as sapwood's on the whole problem: exact line search, stopping rule (20). The
Hessian H = A + J^T G J is a sparse product over the contacts that push, factored by `splu` in
symmetric mode; contacts are evaluated all at once in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from sapwood import ContactProblem, SapSettings
from sapwood.reference.solver.line_search import exact
from sapwood.studies.peers.base import Answer, Peer, powers_of_ten, tightening
from sapwood.studies.peers.sparse import SparseProblem

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class ContactLaw:
    """Projection onto the friction cone (18) and its derivative for all contacts at once."""

    def __init__(self, mu: Array, R: Array) -> None:
        self.mu = mu
        self.R_t, self.R_n = R[:, 0], R[:, 2]
        self.mu_hat = mu * self.R_t / self.R_n
        self.shrink = 1.0 / (1.0 + mu * self.mu_hat)  # 1 / (1 + mu~^2)

    def project(self, y: Array) -> tuple[Array, Array, Array, Mask]:
        """Impulse gamma (m, 3), slip tangent t (m, 2), |y_t| (m,), and which stick (m,)."""
        y_n = y[:, 2]
        y_r = np.hypot(y[:, 0], y[:, 1])
        stiction = (y_n >= 0.0) & (y_r <= self.mu * y_n)
        t = y[:, :2] / np.where(y_r > 0.0, y_r, 1.0)[:, None]
        gamma = np.empty_like(y)
        gamma[:, 2] = np.maximum(y_n + self.mu_hat * y_r, 0.0) * self.shrink
        gamma[:, :2] = (self.mu * gamma[:, 2])[:, None] * t
        gamma[stiction] = y[stiction]
        return gamma, t, y_r, stiction

    def hessian(self, gamma: Array, t: Array, y_r: Array, stiction: Mask) -> Array:
        """G = -dgamma/dv_c (m, 3, 3), Eq. (31)."""
        push = gamma[:, 2] > 0.0
        G_nn = push * self.shrink / self.R_n
        across = push * self.mu / self.R_t * gamma[:, 2] / np.where(y_r > 0.0, y_r, 1.0)
        along = self.mu**2 * G_nn
        G = np.empty((len(y_r), 3, 3))
        G[:, :2, :2] = ((along - across)[:, None] * t)[:, :, None] * t[:, None, :]
        G[:, 0, 0] += across
        G[:, 1, 1] += across
        G[:, :2, 2] = G[:, 2, :2] = (self.mu * G_nn)[:, None] * t
        G[:, 2, 2] = G_nn
        G[stiction] = 0.0
        G[stiction, 0, 0] = G[stiction, 1, 1] = 1.0 / self.R_t[stiction]
        G[stiction, 2, 2] = 1.0 / self.R_n[stiction]
        return G

    def curvature(self, w: Array, gamma: Array, t: Array, y_r: Array, stiction: Mask) -> float:
        """Sum of w_i^T G_i w_i over the contacts, without forming G."""
        push = gamma[:, 2] > 0.0
        w_t2 = w[:, 0] ** 2 + w[:, 1] ** 2
        along = w[:, 0] * t[:, 0] + w[:, 1] * t[:, 1]
        across = gamma[:, 2] / np.where(y_r > 0.0, y_r, 1.0) * self.mu / self.R_t
        sliding = (w[:, 2] + self.mu * along) ** 2 * self.shrink / self.R_n + across * (
            w_t2 - along**2
        )
        sticking = w_t2 / self.R_t + w[:, 2] ** 2 / self.R_n
        return float(np.where(stiction, sticking, np.where(push, sliding, 0.0)).sum())


class Line:
    """l_p along v + alpha dv (section VIII-C)."""

    def __init__(
        self, law: ContactLaw, y: Array, R: Array, dv_c: Array, dp_v: float, dv_dp: float
    ) -> None:
        self.law, self.y, self.dv_c = law, y, dv_c
        self.dy = -dv_c / R
        self.dp_v, self.dv_dp = dp_v, dv_dp

    def derivatives(self, alpha: float) -> tuple[float, float]:
        """Slope and curvature at alpha."""
        gamma, t, y_r, stiction = self.law.project(self.y + alpha * self.dy)
        slope = self.dp_v + alpha * self.dv_dp - float(np.vdot(self.dv_c, gamma))
        return slope, self.dv_dp + self.law.curvature(self.dv_c, gamma, t, y_r, stiction)

    def moves(self, alpha: float) -> bool:
        """Whether the step changes any impulse before projection."""
        return bool(np.any(self.y + alpha * self.dy != self.y))

    def wall(self, alpha: float) -> float:
        """Nothing is in the way."""
        return alpha


class Result(NamedTuple):
    """The result of `minimize`."""

    v: Array
    gamma: Array
    status: str
    iterations: int


def minimize(problem: SparseProblem, tolerance: float) -> Result:
    """Newton's method from v_guess until (20) holds with eps_r = tolerance."""
    settings = SapSettings(relative_tolerance=tolerance)
    A, J, R = problem.A, problem.J, problem.R
    J_T = J.T.tocsr()
    law = ContactLaw(problem.mu, R)
    D = 1.0 / np.sqrt(A.diagonal())
    v, v_star = problem.v_guess, problem.v_star

    for iteration in range(settings.max_iterations + 1):
        y = (problem.v_hat - (J @ v).reshape(-1, 3)) / R
        gamma, t, y_r, stiction = law.project(y)
        j_c = J_T @ gamma.ravel()
        momentum = A @ (v - v_star)
        gradient = momentum - j_c
        scale = max(np.linalg.norm(D * (A @ v)), np.linalg.norm(D * j_c))
        if np.linalg.norm(D * gradient) <= settings.absolute_tolerance + tolerance * scale:
            return Result(v, gamma, "converged", iteration)
        if iteration == settings.max_iterations:
            break

        G = law.hessian(gamma, t, y_r, stiction)
        dv = newton_direction(A, J, G, gamma, gradient)
        slope = float(gradient @ dv)
        if not slope < 0.0:
            return Result(v, gamma, "stalled", iteration)
        dp = A @ dv
        line = Line(law, y, R, (J @ dv).reshape(-1, 3), float(dp @ (v - v_star)), float(dp @ dv))
        alpha, _ = exact(line, slope, settings)
        v = v + alpha * dv
    return Result(v, gamma, "iteration limit", settings.max_iterations)


def newton_direction(
    A: sparse.csc_array, J: sparse.csr_array, G: Array, gamma: Array, gradient: Array
) -> Array:
    """Solve (A + J^T G J) dv = -gradient; contacts that do not push have G = 0 and are left out."""
    push = np.flatnonzero(gamma[:, 2] > 0.0)
    rows = (3 * push[:, None] + np.arange(3)).ravel()
    dv: Array = factored(A, J[rows], G[push]).solve(-gradient)
    return dv


def factored(A: sparse.csc_array, J: sparse.csr_array, G: Array) -> Any:
    """Factors of A + J^T G J for m contacts: J has 3 m rows, G is (m, 3, 3)."""
    rows = 3 * len(G)
    blocks = sparse.csr_array(
        (
            G.ravel(),
            np.repeat(np.arange(rows).reshape(-1, 3), 3, axis=0).ravel(),
            np.arange(0, 3 * rows + 1, 3),
        ),
        shape=(rows, rows),
    )
    H = (A + J.T @ (blocks @ J)).tocsc()
    return splu(
        H, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )


class ScipyNewton(Peer):
    """See the module; the form is a sparse A and J."""

    name = "scipy"
    default_tolerance = SapSettings().relative_tolerance
    grid = powers_of_ten(1, 10)

    def describe(self) -> str:
        """See Peer."""
        return (
            f"SciPy {version('scipy')}: SuperLU, symmetric mode, MMD_AT_PLUS_A; exact line "
            "search; tolerance of (20) = e_m that is asked for"
        )

    def tolerances(self, target: float) -> tuple[float, ...]:
        """See Peer."""
        return tightening(target)

    def form(self, problem: ContactProblem) -> SparseProblem:
        """See Peer."""
        return SparseProblem.from_problem(problem)

    def solve(self, form: SparseProblem, tolerance: float, mode: str) -> Callable[[], Result]:  # noqa: ARG002
        """See Peer."""
        return lambda: minimize(form, tolerance)

    def answer(self, form: SparseProblem, result: Result) -> Answer:
        """See Peer."""
        return Answer(
            form.whole(result.v),
            result.status,
            result.iterations,
            result.iterations,
            result.gamma,
        )
