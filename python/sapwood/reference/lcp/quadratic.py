"""Quadratic programs by active rows, or by the interior point method on the homogeneous embedding.

A program with a positive definite H = L L^T is the search for the nearest point in
y = L^T x + L^-1 g. All others are solved by

    H x - R^T u + g tau = 0,   R x - s - r tau = 0,   g^T x - r^T u + x^T H x/tau + kappa = 0

with s, u >= 0 and s u = tau kappa = 0, all constraints being rows R x >= r, some of them equal.
Unlike the core this does not scale, and solves its linear systems as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.qp import QpSolution, QpStatus

from .active_set import nearest_point

_Array = NDArray[np.float64]
_Mask = NDArray[np.bool_]
_Indices = NDArray[np.int_]

_EPSILON, _PROOF, _EARLY, _DIGITS, _IDLE = 1e-11, 1e-9, 1e-3, 1e-2, 12
_ROUND_OFF, _MOST_HIDDEN = 1e-14, 1e-3
_LEAST_PIVOT, _VIOLATION = 1e-10, 1e-12


def _largest(x: _Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def _quotient(off: _Array, round_off: float, constants: _Array, terms: _Array) -> float:
    """Largest part beyond round-off, over constants and terms up to the largest constant."""
    most = _largest(constants) or np.inf
    sizes = np.abs(constants) + np.minimum(terms, most)
    beyond = off > round_off
    return float(((off - round_off)[beyond] / sizes[beyond]).max(initial=0.0))


@dataclass
class _Program:
    H: _Array
    g: _Array
    R: _Array
    r: _Array
    equal: _Mask

    def residual(self, x: _Array, u: _Array) -> float:
        """The largest of gradient, violation and gap, each judged by its own data."""
        if not np.all(np.isfinite([*x, *u])):
            return np.inf
        Hx, Ru = self.H @ x, self.R.T @ u
        parts = np.abs(Hx) + np.abs(Ru)
        some = np.abs(self.r[self.r != 0.0])
        of_x = max(_largest(x), min(1.0, float(some.min(initial=1.0))))
        of_parts = max(_largest(Hx), _largest(Ru), _largest(self.g) or of_x)
        of_gradients = max(of_parts, _largest(u))
        hidden = min(_ROUND_OFF * max(of_x, of_gradients), _MOST_HIDDEN * of_parts)
        dual = _quotient(np.abs(Hx + self.g - Ru), hidden, self.g, parts)
        terms = np.abs(self.R) @ np.abs(x)
        primal = _quotient(self.violations(x), _ROUND_OFF * of_x, self.r, terms)
        gap = float(np.abs(u * (self.r - self.R @ x)).sum())
        sizes = float(np.abs(x) @ (np.abs(self.g) + parts) + np.abs(u * self.r).sum())
        return max(dual, primal, gap / max(sizes, of_x * of_gradients) if gap > 0.0 else 0.0)

    def violations(self, x: _Array) -> _Array:
        """Violations of inequality rows, and residuals of equalities."""
        over = self.r - self.R @ x
        return np.where(self.equal, np.abs(over), np.maximum(over, 0.0))

    def hides_rows(self, x: _Array, tolerance: float) -> bool:
        """Whether x is so large that it might hide that no point is feasible."""
        excludes_0 = np.where(self.equal, np.abs(self.r), np.maximum(self.r, 0.0))
        largest = float(excludes_0.max(initial=0.0))
        sizes = np.where(self.r != 0.0, np.abs(self.r), largest)
        return largest > 0.0 and bool((self.violations(x) > tolerance * sizes).any())

    def falls_without_end(self, x: _Array) -> bool:
        """Whether R x >= 0, H x = 0 and g^T x < 0, up to a part of the latter."""
        by, rows = -self.g @ x, self.R @ x
        violation = np.where(self.equal, np.abs(rows), -rows).max(initial=0.0)
        return bool(by > 0 and max(violation, _largest(self.H @ x)) <= _PROOF * by)

    def solve(self, f: _Array, h: _Array, inverse_W: _Array) -> tuple[_Array, _Array]:
        """dx and du of H dx - R^T du = f, R dx + du/W = h, regularized and refined."""
        n = len(self.g)
        saddue = np.block([[self.H, -self.R.T], [self.R, np.diag(inverse_W)]])
        right = np.concatenate([f, h])
        regular = saddue + _EPSILON * np.eye(len(right))
        step = np.linalg.solve(regular, right)
        for _ in range(3):
            step = step + np.linalg.solve(regular, right - saddue @ step)
        return step[:n], step[n:]


@dataclass
class _Iterate:
    p: _Program
    x: _Array
    s: _Array
    u: _Array
    tau: float = 1.0
    kappa: float = 1.0

    def direction(
        self, rest: float, target: _Array, target_tau: float
    ) -> tuple[_Array, _Array, _Array, float, float]:
        """Newton's direction to (1 - rest) of the residuals and these products less."""
        p, tau = self.p, self.tau
        Hx = p.H @ self.x
        inverse_W = np.where(p.equal, 0.0, self.s / np.where(p.equal, 1.0, self.u))
        r_x = Hx - p.R.T @ self.u + tau * p.g
        r_s = p.R @ self.x - self.s - tau * p.r
        r_tau = p.g @ self.x - p.r @ self.u + self.x @ Hx / tau + self.kappa
        x_2, u_2 = p.solve(-p.g, p.r, inverse_W)
        x_1, u_1 = p.solve(
            -rest * r_x, -rest * r_s - np.where(p.equal, 0.0, target / self._u()), inverse_W
        )
        off = x_2 - self.x / tau
        curvature = off @ p.H @ off + self.kappa / tau + (inverse_W * u_2**2).sum()
        along = p.g @ x_1 - p.r @ u_1 + 2 * Hx @ x_1 / tau
        dtau = float((rest * r_tau - target_tau / tau + along) / curvature)
        du = u_1 + dtau * u_2
        ds = np.where(p.equal, 0.0, -(target + self.s * du) / self._u())
        return x_1 + dtau * x_2, ds, du, dtau, -(target_tau + self.kappa * dtau) / tau

    def _u(self) -> _Array:
        return np.where(self.p.equal, 1.0, self.u)

    def longest(self, d: tuple[_Array, _Array, _Array, float, float], shorten: float) -> float:
        """The longest step, at most 1, that keeps all positive."""
        free = ~self.p.equal
        rates = np.concatenate([-d[1][free] / self.s[free], -d[2][free] / self.u[free]])
        most = max(rates.max(initial=0.0), -d[3] / self.tau, -d[4] / self.kappa)
        return float(shorten / most) if most > shorten else 1.0

    def advance(self) -> None:
        """One step of predictor and corrector (Mehrotra 1992)."""
        products = np.where(self.p.equal, 0.0, self.s * self.u)
        of_tau = self.tau * self.kappa
        mu = (products.sum() + of_tau) / ((~self.p.equal).sum() + 1)
        d = self.direction(1.0, products, of_tau)
        sigma = (1 - self.longest(d, 1.0)) ** 3
        target = np.where(self.p.equal, 0.0, products + d[1] * d[2] - sigma * mu)
        d = self.direction(1 - sigma, target, of_tau + d[3] * d[4] - sigma * mu)
        step = self.longest(d, 0.99)
        self.x, self.s, self.u = (
            a + step * b for a, b in zip((self.x, self.s, self.u), d[:3], strict=True)
        )
        self.tau, self.kappa = self.tau + step * d[3], self.kappa + step * d[4]

    def proved(self) -> QpStatus | None:
        """The status that the multipliers, or x, prove."""
        p = self.p
        by = p.r @ self.u
        if (
            by > _ROUND_OFF * np.abs(p.r * self.u).sum()
            and np.abs(p.R.T @ self.u).max(initial=0.0) <= _PROOF * by
        ):
            return QpStatus.INFEASIBLE
        return QpStatus.UNBOUNDED if p.falls_without_end(self.x) else None


def _polish(p: _Program, x: _Array, u: _Array) -> tuple[_Array, _Array]:
    """The solution of the rows whose multipliers exceed their slacks, as equalities."""
    active = p.equal | (u > p.R @ x - p.r)
    sub = _Program(p.H, p.g, p.R[active], p.r[active], p.equal[active])
    gradient = p.H @ x + p.g - sub.R.T @ u[active]
    dx, du = sub.solve(-gradient, sub.r - sub.R @ x, np.zeros(len(sub.r)))
    multipliers = np.zeros_like(u)
    multipliers[active] = u[active] + du
    return x + dx, np.where(p.equal, multipliers, np.maximum(multipliers, 0.0))


# iterates that overflow come no closer: they end like stagnating ones
@np.errstate(over="ignore", invalid="ignore")
def _iterate(
    p: _Program, tolerance: float, max_iterations: int
) -> tuple[QpStatus, _Array, _Array, int, bool]:
    """The outcome, x, multipliers, iterations, and whether polishing gave them."""
    x, u = p.solve(-p.g, p.r, np.where(p.equal, 0.0, 1.0))
    shift = [max(0.0, 1.0 - float(v[~p.equal].min(initial=1.0))) for v in (-u, u)]
    s = np.where(p.equal, 0.0, -u + shift[0])
    at = _Iterate(p, x, s, np.where(p.equal, u, u + shift[1]))
    best, below, idle, iterations = (np.inf, x, u), _EARLY, 0, 0
    while True:
        now = p.residual(at.x / at.tau, at.u / at.tau), at.x / at.tau, at.u / at.tau
        idle = 0 if now[0] < best[0] / 2 or at.tau < at.kappa else idle + 1
        best = min(best, now, key=lambda point: point[0])
        if best[0] < below:
            below = 1e-2 * best[0]
            x, u = _polish(p, best[1], best[2])
            if p.residual(x, u) <= _DIGITS * tolerance:
                return QpStatus.SOLVED, x, u, iterations, True
        proved = at.proved()
        if best[0] <= tolerance:
            return QpStatus.SOLVED, best[1], best[2], iterations, False
        if proved is QpStatus.INFEASIBLE:
            return proved, 0 * at.x, at.u, iterations, False
        if proved is QpStatus.UNBOUNDED:
            return proved, -at.x / (p.g @ at.x), 0 * at.u, iterations, False
        if idle == _IDLE or iterations == max_iterations:
            end = QpStatus.INACCURATE if idle == _IDLE else QpStatus.ITERATION_LIMIT
            return end, best[1], best[2], iterations, False
        at.advance()
        iterations += 1


def _by_active_rows(p: _Program, tolerance: float) -> tuple[_Array, _Array] | None:
    """x and multipliers of a program with a definite H, where the active rows give them."""
    try:
        L = np.linalg.cholesky(p.H)
    except np.linalg.LinAlgError:
        return None
    if np.diag(L).min(initial=1.0) ** 2 <= _LEAST_PIVOT * np.abs(p.H).max(initial=0.0):
        return None
    shift = np.linalg.solve(L, p.g)
    rows = np.linalg.solve(L, p.R.T).T
    allowed = _VIOLATION * max(1.0, _largest(p.r))
    found = nearest_point(rows, p.r + rows @ shift, p.equal, allowed, allowed)
    if found is None:
        return None
    x, u = np.linalg.solve(L.T, found[0] - shift), found[1]
    active = found[2]
    sub = _Program(p.H, p.g, p.R[active], p.r[active], p.equal[active])
    dx, du = sub.solve(
        sub.R.T @ u[active] - p.H @ x - p.g, sub.r - sub.R @ x, np.zeros(len(active))
    )
    x, u[active] = x + dx, u[active] + du
    u = np.where(p.equal, u, np.maximum(u, 0.0))
    return (x, u) if p.residual(x, u) <= _DIGITS * tolerance else None


def _solve(
    p: _Program, tolerance: float, max_iterations: int
) -> tuple[QpStatus, _Array, _Array, int, bool]:
    """By active rows, else like `_iterate`; a second program resolves doubts of feasibility."""
    solved = _by_active_rows(p, tolerance)
    if solved is None:
        status, x, u, iterations, polished = _iterate(p, tolerance, max_iterations)
    else:
        status, x, u, iterations, polished = QpStatus.SOLVED, *solved, 0, True
    if status in (QpStatus.SOLVED, QpStatus.INACCURATE) and p.falls_without_end(x):
        # x is so large that its residual is round-off
        return QpStatus.UNBOUNDED, -x / (p.g @ x), 0 * u, iterations, False
    in_doubt = status is QpStatus.SOLVED and p.hides_rows(x, tolerance)
    if in_doubt or status is QpStatus.INACCURATE:
        nearest = _Program(np.eye(len(x)), 0 * p.g, p.R, p.r, p.equal)
        found, _, proof, more, _ = _iterate(nearest, tolerance, max_iterations - iterations)
        iterations += more
        if found is QpStatus.INFEASIBLE:
            return found, 0 * x, proof, iterations, False
        status = status if found is QpStatus.SOLVED else QpStatus.INACCURATE
    return status, x, u, iterations, polished


def _normalized(
    u: _Array, r: _Array, below: _Indices, above: _Indices, has_lower: _Mask, has_upper: _Mask
) -> _Array:
    """A proof with r^T u = 1, and no multipliers of both bounds of a variable."""
    places = np.full((2, len(has_lower)), -1)
    places[0, has_lower], places[1, has_upper] = below, above
    lower, upper = places[:, has_lower & has_upper]
    both = np.minimum(u[lower], u[upper])
    u = u.copy()
    u[lower] -= both
    u[upper] -= both
    return u / (r @ u)


def _rows(
    n: int, A: ArrayLike | None, b: ArrayLike | None, C: ArrayLike | None, d: ArrayLike | None,
    lower: ArrayLike | None, upper: ArrayLike | None,
) -> tuple[_Array, _Array, _Mask, list[_Mask]]:  # fmt: skip
    """R, r, which are equal, and for C, lower and upper which entries are rows."""
    low = np.broadcast_to(-np.inf if lower is None else np.asarray(lower, dtype=float), n)
    high = np.broadcast_to(np.inf if upper is None else np.asarray(upper, dtype=float), n)
    equations = np.zeros((0, n)) if A is None else np.asarray(A, dtype=float)
    values = np.zeros(0) if b is None else np.asarray(b, dtype=float)
    rows = np.zeros((0, n)) if C is None else np.asarray(C, dtype=float)
    right = np.zeros(0) if d is None else np.asarray(d, dtype=float)
    given = [right > -np.inf, low > -np.inf, (high < np.inf) & (low < high)]
    unit = np.eye(n)
    R = np.vstack([equations, rows[given[0]], unit[given[1]], -unit[given[2]]])
    r = np.concatenate([values, right[given[0]], low[given[1]], -high[given[2]]])
    no = np.zeros(given[0].sum(), dtype=bool), np.zeros(given[2].sum(), dtype=bool)
    equal = np.concatenate(
        [np.ones(len(values), dtype=bool), no[0], (low == high)[given[1]], no[1]]
    )
    return R, r, equal, given


def solve_qp(
    H: ArrayLike,
    g: ArrayLike,
    *,
    A: ArrayLike | None = None,
    b: ArrayLike | None = None,
    C: ArrayLike | None = None,
    d: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
) -> QpSolution:
    """Solve a convex quadratic program.

    Parameters
    ----------
    H, g, A, b, C, d, lower, upper, tolerance, max_iterations
        The same as for :func:`sapwood.qp.solve`.

    Returns
    -------
    QpSolution
        The same as for :func:`sapwood.qp.solve`, with the relative residual of the unscaled
        program.
    """
    matrix, cost = np.asarray(H, dtype=float), np.asarray(g, dtype=float)
    R, r, equal, given = _rows(len(cost), A, b, C, d, lower, upper)
    p = _Program((matrix + matrix.T) / 2, cost, R, r, equal)
    if np.linalg.eigvalsh(p.H).min(initial=0.0) < -_PROOF * np.abs(p.H).max(initial=0.0):
        status, x, u, iterations, polished = QpStatus.NOT_CONVEX, 0 * cost, 0 * r, 0, False
    else:
        status, x, u, iterations, polished = _solve(p, tolerance, max_iterations)
    ends = np.cumsum([len(r) - sum(int(m.sum()) for m in given), *(int(m.sum()) for m in given)])
    if status is QpStatus.INFEASIBLE:
        _, lower_rows, upper_rows = np.split(np.arange(len(r)), ends[1:3])
        u = _normalized(u, r, lower_rows, upper_rows, given[1], given[2])
        p, cost = _Program(0 * p.H, 0 * cost, R, r, equal), 0 * cost
    y, rows, below, above = np.split(u, ends[:3])
    lam, bounds = np.zeros(len(given[0])), np.zeros(len(cost))
    lam[given[0]] = rows
    bounds[given[1]] = below
    bounds[given[2]] -= above
    Hx, over = p.H @ x, r - R @ x
    return QpSolution(
        x, y, lam, bounds, status, iterations, polished, float(0.5 * x @ Hx + cost @ x),
        float(np.where(equal, np.abs(over), over).max(initial=0.0)),
        float(np.abs(Hx + cost - R.T @ u).max(initial=0.0)), float(x @ Hx + cost @ x - r @ u),
        p.residual(x, u),
    )  # fmt: skip
