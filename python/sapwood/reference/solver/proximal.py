"""Proximal solves of rigid contact: csrc/solver/proximal/proximal.h.

    gamma_k+1 = argmin  l with R + D_k and v_hat + D_k gamma_k,   D_k = max(R, sigma_k w) - R

Each solve is one of a compliant problem. The fixed points of the iteration are the solutions for R
alone, which may be 0. It ends by the natural residual of the impulses,

    F = P(gamma - u/s) - gamma,   u = J (v* + A^-1 J^T gamma) - v_hat + R gamma,   s = w + R

over |gamma|, both in the norm of s. P projects onto the impulses that the law allows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import Friction, SapSettings
from sapwood.solution import ConstraintSolution, Region, Solution, Status

Array = NDArray[np.float64]
Solve = Callable[[ContactProblem, Array, SapSettings], Solution]

RIGID, RIGID_TWO_SIDED = 1e-5, 1e-7
"""R over diag(J diag(A)^-1 J^T) below which a row is rigid: of normal impulses and limits, and of
rows that press both ways."""

FIRST_SIGMA, LEAST_SIGMA, MOST_SIGMA, SIGMA_FACTOR = 1e-3, 1e-6, 1.0, 0.1
LITTLE_GAIN = 0.3
SOLVE_SHARE, FIRST_TOLERANCE, DIGITS, STRICTER = 0.1, 1e-10, 1e-15, 0.1
MOST_SOLVES, MOST_ITERATIONS = 60, 150
EPS = float(np.finfo(float).eps)


def is_rigid(problem: ContactProblem, settings: SapSettings) -> bool:
    """Whether a problem has a row with so small an R, and laws that proximal solves know."""
    if settings.soft_norm > 0.0 or problem.n_spins or np.any(problem.core):
        return False
    bound = problem.friction_bound
    unknown = bound is None or np.any(np.isnan(bound))
    if settings.friction == "lagged" and problem.n_contacts and unknown:
        return False
    A, J = _dense(problem)
    R = _regularization(problem)
    one_sided = [np.tile([False, False, True], problem.n_contacts)]
    one_sided += [np.full(len(g.R), g.kind == "limit") for g in problem.constraints]
    limit = np.where(np.concatenate(one_sided), RIGID, RIGID_TWO_SIDED)
    return bool(np.any((R == 0.0) | (limit * (J * J @ (1.0 / np.diag(A))) > R)))


def solve_rigid(
    problem: ContactProblem, v_guess: Array, settings: SapSettings, solve: Solve
) -> Solution:
    """Solve by the iteration; `solve` solves a compliant problem."""
    guess = v_guess
    natural = Natural(problem, settings.friction)
    center = best = np.zeros(len(natural.R))
    sigma, least = FIRST_SIGMA, LEAST_SIGMA
    last = least_residual = np.inf
    strictness, failures = 1.0, 0
    solves: list[Solution] = []
    status = Status.proximal_limit
    while status is Status.proximal_limit and len(solves) < MOST_SOLVES:
        left = settings.max_iterations - sum(each.iterations for each in solves)
        inner = dataclasses.replace(
            settings,
            relative_tolerance=strictness
            * max(min(SOLVE_SHARE * settings.natural_tolerance, FIRST_TOLERANCE), DIGITS / sigma),
            max_iterations=min(left, MOST_ITERATIONS),
        )
        solves.append(solve(natural.centered(center, sigma), v_guess, inner))
        v_guess = solves[-1].v
        gamma = _impulses(solves[-1])
        natural.evaluate(gamma)
        if natural.meets(settings):
            status = Status.converged
            break
        if sum(each.iterations for each in solves) >= settings.max_iterations:
            status = Status.iteration_limit
        gains_little = not natural.residual <= LITTLE_GAIN * last
        if natural.residual < least_residual:
            least_residual, best = natural.residual, gamma
        elif solves[-1].status > Status.stalled and gains_little:
            # too stiff: again from the best impulses, with a softer spring
            sigma = min(sigma / SIGMA_FACTOR, MOST_SIGMA)
            least = sigma if failures else least
            failures += 1
            last, center = least_residual, best
            continue
        center = gamma
        if gains_little:
            sigma = max(sigma * SIGMA_FACTOR, least)
            strictness *= 1.0 if solves[-1].iterations else STRICTER
        last = natural.residual
    spent = sum(each.iterations for each in solves)
    if status is Status.proximal_limit and np.all(natural.R > 0.0):
        # impulses that R alone limits grow slowly in the iteration
        rest = dataclasses.replace(settings, max_iterations=settings.max_iterations - spent)
        direct = solve(problem, guess, rest)
        if direct.status is Status.converged:
            return _sum([*solves, direct], proximal_solves=len(solves))
    if status is not Status.converged:
        gamma = best
        natural.evaluate(gamma)
    return _result(natural, gamma, status, solves)


class Natural:
    """The natural residual of impulses, for R as the problem has it.

    Rows are those of all contacts (t1, t2, n), then those of the groups.
    """

    def __init__(self, problem: ContactProblem, friction: Friction) -> None:
        self.problem, self.friction = problem, friction
        n = problem.n_contacts
        self.A, self.J = _dense(problem)
        self.W = self.J @ np.linalg.solve(self.A, self.J.T)
        self.R = _regularization(problem)
        groups = problem.constraints
        v_hat_t = np.zeros((n, 2)) if problem.v_hat_t is None else problem.v_hat_t
        contacts = np.column_stack([v_hat_t, problem.v_hat_n]).ravel()
        self.v_hat = np.concatenate([contacts, *(group.v_hat for group in groups)])
        self.lower = np.concatenate([np.zeros(0), *(group.lower for group in groups)])
        self.upper = np.concatenate([np.zeros(0), *(group.upper for group in groups)])
        self.w = np.diag(self.W).copy()
        for i in range(n):
            rows = slice(3 * i, 3 * i + 3)
            self.w[rows] = np.linalg.norm(self.W[rows, rows]) / 3.0
        self.s = self.w + self.R
        self.s[: 3 * n] = np.repeat(self.s[: 3 * n].reshape(n, 3).max(axis=1), 3)
        if not np.all((self.w > 0.0) | (self.R > 0.0)):
            raise ValueError("J: the rows of a constraint must give an effective mass")
        self.residual = np.inf

    def centered(self, gamma: Array, sigma: float) -> ContactProblem:
        """The compliant problem around impulses."""
        problem, n = self.problem, self.problem.n_contacts
        R = np.maximum(self.R, sigma * self.w)
        v_hat = self.v_hat + (R - self.R) * gamma
        groups, begin = [], 3 * n
        for group in problem.constraints:
            rows = slice(begin, begin + len(group.R))
            groups.append(group.regularized(R[rows], v_hat[rows], group.lower, group.upper))
            begin = rows.stop
        contacts = R[: 3 * n].reshape(n, 3), v_hat[: 3 * n].reshape(n, 3)
        return ContactProblem(
            problem.tree_nv, problem.A, problem.v_star, problem.tree_a, problem.tree_b, problem.J,
            problem.mu, dt=problem.dt, R_t=contacts[0][:, 0], R_n=contacts[0][:, 2],
            v_hat_n=contacts[1][:, 2], v_hat_t=contacts[1][:, :2], constraints=groups,
            friction_bound=problem.friction_bound,
        )  # fmt: skip

    def evaluate(self, gamma: Array) -> None:
        """Find v, v_c, F and the residual of impulses."""
        n = self.problem.n_contacts
        self.v = self.problem.v_star + np.linalg.solve(self.A, self.J.T @ gamma)
        self.v_c = self.J @ self.v
        self.u = self.v_c - self.v_hat + self.R * gamma
        z = gamma - self.u / self.s
        contacts, self.regions = self._project(z[: 3 * n].reshape(n, 3))
        rows = np.minimum(np.maximum(z[3 * n :], self.lower), self.upper)
        self.F = np.concatenate([contacts.ravel(), rows]) - gamma
        self.size = np.sqrt(np.sum(self.s * gamma**2))
        self.error = np.sqrt(np.sum(self.s * self.F**2))
        self.round_off = np.sqrt(np.sum(self._errors(gamma) ** 2 / self.s))
        self.residual = self.error and float(self.error / self.size)

    def _errors(self, gamma: Array) -> Array:
        """A bound on the rounding errors of u."""
        terms = 2 * int(self.problem.tree_nv.max()) + 4
        magnitude = np.abs(self.J) @ np.abs(self.v)
        errors: Array = EPS * (
            terms * magnitude + 4.0 * (np.abs(self.v_hat) + self.R * np.abs(gamma))
        )
        return errors

    def _project(self, z: Array) -> tuple[Array, NDArray[np.int8]]:
        """P of contacts (n, 3), and their regions (n)."""
        mu, n, radial = self.problem.mu, z[:, 2], np.hypot(z[:, 0], z[:, 1])
        if self.friction == "convex":
            inside = (n >= 0.0) & (radial <= mu * n)
            normal = np.where(inside, n, np.maximum((mu * radial + n) / (mu * mu + 1.0), 0.0))
            bound = np.where(inside, radial, mu * normal)
            open_ = ~inside & (normal == 0.0)
        else:
            normal = np.maximum(n, 0.0)
            lagged = self.friction == "lagged"
            bound = np.asarray(self.problem.friction_bound) if lagged else mu * normal
            inside = radial <= bound
            open_ = (normal == 0.0) & (bound == 0.0)
        share = np.where(inside, 1.0, bound / np.where(radial > 0.0, radial, 1.0))
        regions = np.where(inside, Region.stiction, Region.sliding)
        regions[open_] = Region.none
        return np.column_stack([share[:, None] * z[:, :2], normal]), regions.astype(np.int8)

    def meets(self, settings: SapSettings) -> bool:
        """Whether |F| meets the tolerance, or lies within its round-off."""
        limit = settings.absolute_tolerance + settings.natural_tolerance * self.size
        return bool(self.error <= limit + self.round_off)

    def bound(self, gamma: Array) -> float:
        """A bound on |v - v_min|_A, for the bounds of friction at gamma + F."""
        dw, terms = self.v - self.problem.v_star, 2 * int(self.problem.tree_nv.max()) + 4
        inverse_root = np.linalg.inv(np.linalg.cholesky(self.A))
        asymmetry = 64.0 * EPS
        error = (terms * EPS + asymmetry) * np.abs(self.A) @ np.abs(dw)
        error += terms * EPS * np.abs(self.J).T @ np.abs(gamma)
        balance = np.linalg.norm(inverse_root @ (self.A @ dw - self.J.T @ gamma))
        balance += np.linalg.norm(np.abs(inverse_root) @ error)
        moved = np.linalg.norm(inverse_root @ (self.J.T @ self.F))
        delta = np.abs(self.W @ self.F + (self.R - self.s) * self.F) + self._errors(gamma)
        delta += np.sqrt(self.s) * balance + 8.0 * EPS * self.s * np.abs(gamma)
        free = ~self._fixed(gamma, delta)
        if np.any(self.R[free] == 0.0):
            return np.inf
        return float(moved + balance + 0.5 * np.sqrt(np.sum(delta[free] ** 2 / self.R[free])))

    def _fixed(self, gamma: Array, delta: Array) -> NDArray[np.bool_]:
        """Rows that keep their impulse for every change of u up to delta."""
        n = self.problem.n_contacts
        u = self.u[: 3 * n].reshape(n, 3)
        tilt = self.problem.mu if self.friction == "convex" else np.zeros(n)
        slack = u[:, 2] - tilt * np.hypot(u[:, 0], u[:, 1])
        idle = (self.regions == Region.none) & ~gamma[: 3 * n].reshape(n, 3).any(axis=1)
        contacts = idle[:, None] & (
            slack[:, None] > (1.0 + tilt[:, None]) * delta[: 3 * n].reshape(n, 3)
        )
        rows, below = gamma[3 * n :], delta[3 * n :]
        low = (rows == self.lower) & (self.u[3 * n :] > below)
        high = (rows == self.upper) & (-self.u[3 * n :] > below)
        return np.concatenate([contacts.ravel(), low | high])


def _result(natural: Natural, gamma: Array, status: Status, solves: list[Solution]) -> Solution:
    problem, n = natural.problem, natural.problem.n_contacts
    rows, begin = [], 3 * n
    for group in problem.constraints:
        part = slice(begin, begin + len(group.R))
        active = (group.lower < gamma[part]) & (gamma[part] < group.upper)
        rows.append(ConstraintSolution(gamma[part], natural.v_c[part], active))
        begin = part.stop
    work = gamma * (2.0 * (natural.v_hat - natural.v_c) - natural.R * gamma)
    moved = (natural.v - problem.v_star) @ (natural.J.T @ gamma)
    return dataclasses.replace(
        _sum(solves, proximal_solves=len(solves)),
        v=natural.v,
        gamma=gamma[: 3 * n].reshape(n, 3),
        v_c=natural.v_c[: 3 * n].reshape(n, 3),
        regions=natural.regions,
        constraints=tuple(rows),
        status=status,
        tree=-1,
        natural_residual=natural.residual,
        velocity_error_bound=natural.bound(gamma),
        cost_gap_bound=np.inf,
        cost=float(0.5 * (moved + np.sum(work))),
    )


def _sum(solves: list[Solution], proximal_solves: int) -> Solution:
    """The last solution, with the counts of all."""
    return dataclasses.replace(
        solves[-1],
        iterations=sum(each.iterations for each in solves),
        total_iterations=sum(each.total_iterations for each in solves),
        line_search_trials=sum(each.line_search_trials for each in solves),
        proximal_solves=proximal_solves,
        algorithm=tuple(
            each._replace(fallbacks=(*each.fallbacks, "proximal")) for each in solves[-1].algorithm
        ),
    )


def _dense(problem: ContactProblem) -> tuple[Array, Array]:
    """A (nv, nv) and J of all rows."""
    A, J = problem.to_dense()
    groups = [problem.constraint_jacobian(k) for k in range(len(problem.constraints))]
    return A, np.vstack([J, *groups])


def _regularization(problem: ContactProblem) -> Array:
    """R of all rows."""
    contacts = np.column_stack([problem.R_t, problem.R_t, problem.R_n]).ravel()
    return np.concatenate([contacts, *(group.R for group in problem.constraints)])


def _impulses(solution: Solution) -> Array:
    """Impulses of all rows."""
    rows = [group.gamma for group in solution.constraints]
    return np.concatenate([solution.gamma.ravel(), *rows])
