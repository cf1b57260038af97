"""A geodesic interior-point method, after Permenter (arXiv:2008.08047), with SciPy.

The optimality conditions of (15) with the impulses eliminated, gamma = W z and W = diag(mu, mu, 1),

    A (v - v*) = J^T W z,   s = W (J v - v_hat + R W z),   s and z in second-order cones

are relaxed to s o z = tau^2 e. The points that satisfy this are z = tau w, s = tau w^-1 with w
inside the cones. A step moves w along a geodesic, w <- Q(w^(1/2)) exp(d), so that the relaxed
complementarity holds all along; d makes the other two conditions hold to first order,

    z' = tau Q(w^(1/2)) (e + d),   s' = tau Q(w^(-1/2)) (e - d)

which contact by contact leaves one system on velocities, as sparse as that of SAP:

    (A + J^T G J) v = A v* + J^T W K (2 tau w^-1 + W v_hat),
    z' = K (2 tau w^-1 - W (J v - v_hat)),   K = (W R W + Q(w^-1))^-1,   G = W K W

Both are linear in tau: one factorization gives d for every tau, and the smallest tau is taken with
|d| within a bound. Algebra and factorization are those of `scipy_newton`, so that their times
compare, language apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood import ContactProblem
from sapwood.studies.peers.base import Answer, Peer, powers_of_ten
from sapwood.studies.peers.scipy_newton import ContactLaw, factored
from sapwood.studies.peers.second_order_cones import (
    apply,
    geometric_mean,
    quadratic,
    spectral,
)
from sapwood.studies.peers.sparse import SparseProblem

Array = NDArray[np.float64]

ITERATIONS = 200
# |d| up to which tau is lowered: the largest with whole steps
BOUND = math.sqrt(2.0)
# share of the usual distance by which a start from v_guess is moved into the cones
WARMTH = 1e-2


class Result(NamedTuple):
    """The result of `minimize`."""

    v: Array
    gamma: Array
    status: str
    iterations: int


def minimize(problem: SparseProblem, tolerance: float, warm: bool) -> Result:
    """Follow the central path until tau^2 <= tolerance times the cost.

    Ends without having reached it where w comes so close to the boundary that round-off takes all
    digits.

    Parameters
    ----------
    problem
        The problem.
    tolerance
        On e_mu (25), which is tau^2/l_p on the central path.
    warm
        Begin at impulses and velocities of v_guess, moved into the cones.
    """
    A, J, v_star = problem.A, problem.J, problem.v_star
    J_T = J.T.tocsr()
    # cones in the order (n, t1, t2)
    W = np.stack([np.ones_like(problem.mu), problem.mu, problem.mu], axis=1)
    R, v_hat = problem.R[:, [2, 0, 1]], problem.v_hat[:, [2, 0, 1]]
    E = np.zeros((len(W), 3, 3))
    E[:, range(3), range(3)] = W * R * W
    W_v_hat = W * v_hat
    momentum = A @ v_star

    def cones(x: Array) -> Array:
        """W J x of velocities."""
        v_c: Array = (J @ x).reshape(-1, 3)
        return W * v_c[:, [2, 0, 1]]

    def velocities(z: Array) -> Array:
        """J^T W z."""
        return np.asarray(J_T @ (W * z)[:, [1, 2, 0]].ravel())

    v, z = v_star, np.zeros_like(W)
    if not len(W):
        return Result(v, z, "converged", 0)
    w = _warm_start(problem, W) if warm else _cold_start(problem)
    for iteration in range(1, ITERATIONS + 1):
        w_inverse = spectral(np.reciprocal, w)
        K = np.asarray(np.linalg.inv(E + quadratic(w_inverse)), dtype=np.float64)
        G = (W[:, :, None] * K * W[:, None, :])[:, [[1], [2], [0]], [1, 2, 0]]
        factor = factored(A, J, G)

        # v = v_a + tau v_b, z' = z_a + tau z_b
        v_a = factor.solve(momentum + velocities(apply(K, W_v_hat)))
        v_b = factor.solve(velocities(2.0 * apply(K, w_inverse)))
        z_a = apply(K, W_v_hat - cones(v_a))
        z_b = apply(K, 2.0 * w_inverse - cones(v_b))

        # d = a/tau + b
        Q = quadratic(spectral(lambda t: 1.0 / np.sqrt(t), w))
        a, b = apply(Q, z_a), apply(Q, z_b)
        b[:, 0] -= 1.0
        if not np.isfinite(_size(a) + _size(b)):
            return Result(v, _impulses(W, z), "lost all digits", iteration)
        k = largest_within(a, b, BOUND)
        d = k * a + b
        size = _size(d)
        v, z = v_a + v_b / k, z_a + z_b / k

        change = v - v_star
        cost = 0.5 * float(change @ (A @ change)) + 0.5 * float(np.sum(R * (W * z) ** 2))
        if size < 1.01 * BOUND and k**-2 <= tolerance * cost:
            return Result(v, _impulses(W, z), "converged", iteration)
        alpha = 1.0 / max(1.0, 0.5 * size**2)
        w = apply(quadratic(spectral(np.sqrt, w)), spectral(np.exp, alpha * d))
    return Result(v, _impulses(W, z), "iteration limit", ITERATIONS)


def largest_within(a: Array, b: Array, bound: float) -> float:
    """Largest k with |k a + b| <= bound, or a k > 0 near the least |k a + b| where there is none.

    |d| is the largest absolute eigenvalue, convex in k: from where it is too large, Newton's method
    walks down to the last k without passing it.

    Parameters
    ----------
    a, b
        Elements of the algebra of the cones (m, 3).
    bound
        Of all eigenvalues.
    """
    k = (bound + _size(b)) / _size(a)
    while True:
        d = k * a + b
        r = np.hypot(d[:, 1], d[:, 2])
        i = int(np.argmax(np.abs(d[:, 0]) + r))
        excess = abs(d[i, 0]) + r[i] - bound
        slope = np.copysign(a[i, 0], a[i, 0] * d[i, 0])
        if r[i] > 0.0:
            slope += a[i, 1:] @ d[i, 1:] / r[i]
        step = excess / slope if slope > 0.0 else np.inf
        if step <= 1e-3 * k:
            return float(k)
        if step >= k:
            break
        k -= step
    # least squares, kept positive
    k = -float(np.vdot(a, b)) / float(np.vdot(a, a))
    return max(k, 1e-3 * _size(b) / _size(a))


def _size(d: Array) -> float:
    """|d|, the largest absolute eigenvalue."""
    return float((np.abs(d[:, 0]) + np.hypot(d[:, 1], d[:, 2])).max())


def _cold_start(problem: SparseProblem) -> Array:
    """w = m^(1/2) e, with an estimate m of the effective mass of each contact."""
    squares = problem.J.multiply(problem.J)
    inverse_mass: Array = (squares @ (1.0 / problem.A.diagonal())).reshape(-1, 3)
    w = np.zeros_like(inverse_mass)
    w[:, 0] = 1.0 / np.sqrt(inverse_mass.mean(axis=1))
    return w


def _warm_start(problem: SparseProblem, W: Array) -> Array:
    """w of the impulses z and velocities s of the contact law at v_guess, moved into the cones."""
    v_c = (problem.J @ problem.v_guess).reshape(-1, 3)
    gamma = ContactLaw(problem.mu, problem.R).project((problem.v_hat - v_c) / problem.R)[0]
    g = v_c - problem.v_hat + problem.R * gamma
    z, s = gamma[:, [2, 0, 1]], W * g[:, [2, 0, 1]]
    z[:, 1:] /= np.where(problem.mu > 0.0, problem.mu, 1.0)[:, None]

    # along e, by parts of the mean impulse and of the velocity that goes with it
    mass = _cold_start(problem)[:, 0] ** 2
    reach = np.sqrt(np.mean(s[:, 0] ** 2 * mass + z[:, 0] ** 2 / mass))
    z[:, 0] += WARMTH * reach * np.sqrt(mass)
    s[:, 0] += WARMTH * reach / np.sqrt(mass)
    return geometric_mean(z, spectral(np.reciprocal, s))


def _impulses(W: Array, z: Array) -> Array:
    """Rows (t1, t2, n) of gamma = W z."""
    return (W * z)[:, [1, 2, 0]]


class Geodesic(Peer):
    """See the module; the form is a sparse A and J."""

    name = "geodesic"
    default_tolerance = 1e-5
    grid = powers_of_ten(2, 15)
    warm_start = False

    def variants(self, problem: ContactProblem) -> Sequence[Peer]:  # noqa: ARG002
        """See Peer."""
        return (
            self.varied("from e", warm_start=False),
            self.varied("from v_guess", warm_start=True),
        )

    def describe(self) -> str:
        """See Peer."""
        return (
            f"geodesic interior-point method on SciPy {version('scipy')}: SuperLU, symmetric mode, "
            "MMD_AT_PLUS_A; from e or from v_guess; tolerance on e_mu swept"
        )

    def form(self, problem: ContactProblem) -> SparseProblem:
        """See Peer."""
        return SparseProblem.from_problem(problem)

    def solve(self, form: SparseProblem, tolerance: float, mode: str) -> Callable[[], Result]:  # noqa: ARG002
        """See Peer."""

        def run() -> Result:
            with np.errstate(all="ignore"):
                return minimize(form, tolerance, self.warm_start)

        return run

    def answer(self, form: SparseProblem, result: Result) -> Answer:
        """See Peer."""
        return Answer(
            form.whole(result.v),
            result.status,
            result.iterations,
            result.iterations,
            result.gamma,
        )
