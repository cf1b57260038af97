"""Derivatives on the reference problems, by central differences off the boundaries of regions.

Between the boundaries the impulse gamma of a contact is smooth along a line v + alpha dv, and the
error of a central difference can be bounded. With y = R^-1 (v_hat - v_c), delta = R^-1 J dv,
turn = |delta_t|/|y_t| and

    B_n = (mu^ |delta_t| + |delta_n|)/(1 + mu~^2),    B_t = mu (B_n + gamma_n turn),

the derivatives in alpha of a sliding contact obey |gamma'| <= B, |gamma''| <= 3 turn B and
|gamma'''| <= 8 turn^2 B: those of |y_t + alpha delta_t| are at most |delta_t|, turn |delta_t| and
1.2 turn^2 |delta_t|, those of its direction turn, 1.2 turn^2 and 3.8 turn^3. Contacts in stiction,
or without impulse, are linear. Round-off comes on top, by the mirror's bound on the rounding errors
of a gradient, which has a test of its own.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pytest

import helpers
import sapwood
from helpers import seeds
from sapwood import Region, reference

# steps are this part of the way to the nearest boundary along the line
NEAR = 1e-3

core_on_all = pytest.mark.parametrize(
    ("solver", "path"),
    [
        *(
            pytest.param(sapwood, *file.values, id=f"core-{file.id}", marks=file.marks)
            for file in helpers.all_files()
        ),
        *(pytest.param(reference, p, id=f"reference-{p.stem}") for p in helpers.small_paths()),
    ],
)


@dataclass
class Line:
    """A line v + alpha dv along which no contact changes its region while |alpha| <= h."""

    v: np.ndarray
    dv: np.ndarray
    h: float
    J_dv: np.ndarray  # (n_contacts, 3)
    second: np.ndarray  # bound on |gamma''| (n_contacts, 3)
    third: np.ndarray  # bound on |gamma'''| (n_contacts, 3)
    regions: np.ndarray

    def quotient_error(self, third):
        """Error of (f(h) - f(-h))/(2 h) for f' where |f'''| <= third."""
        return self.h**2 / 6.0 * third


@dataclass
class Loaded:
    """A problem file with what lines and bounds are made of."""

    problem: sapwood.ContactProblem
    objective: reference.Objective
    J: np.ndarray
    D: np.ndarray  # diag(A)^-1/2

    def line(self, v, dv) -> Line:
        """Choose h by the distance to the nearest boundary."""
        p, mu = self.problem, self.problem.mu
        R = np.stack([p.R_t, p.R_t, p.R_n], axis=1)
        mu_hat = mu * p.R_t / p.R_n
        J_dv = (self.J @ dv).reshape(-1, 3)
        y = (helpers.bias(p) - (self.J @ v).reshape(-1, 3)) / R
        delta = J_dv / R
        y_r, y_n = np.hypot(y[:, 0], y[:, 1]), y[:, 2]
        delta_r, delta_n = np.hypot(delta[:, 0], delta[:, 1]), np.abs(delta[:, 2])
        gamma, _, regions = reference.project(y, mu, p.R_t, p.R_n)
        sliding = regions == Region.sliding

        # distances to the friction cone, its polar cone and the axis, over the speeds of approach
        rough = mu > 0
        distances = [
            (rough & (regions != Region.none), np.abs(mu * y_n - y_r), mu * delta_n + delta_r),
            (regions != Region.stiction, np.abs(y_n + mu_hat * y_r), delta_n + mu_hat * delta_r),
            (rough & sliding, y_r, delta_r),
        ]
        h = np.inf
        for counts, way, speed in distances:
            moving = counts & (speed > 0)
            h = min(h, NEAR * np.min(way[moving] / speed[moving], initial=np.inf))

        turn = np.divide(delta_r, y_r, out=np.zeros_like(y_r), where=sliding & rough)
        B_n = np.where(sliding, (mu_hat * delta_r + delta_n) / (1.0 + mu * mu_hat), 0.0)
        B_t = mu * (B_n + gamma[:, 2] * turn)
        B, turn = np.stack([B_t, B_t, B_n], axis=1), turn[:, None]
        return Line(v, dv, h, J_dv, 3.0 * turn * B, 8.0 * turn**2 * B, regions)

    def lines(self, seed) -> list[Line]:
        """Two random directions through each of three random velocities, near v_ref to far off."""
        rng = np.random.default_rng(seed)
        v_ref, size = self.problem.v_ref, helpers.norm_A(self.problem, self.problem.v_ref)
        lines = []
        for part in (1e-4, 3e-3, 1e-1):
            d = self.D * rng.standard_normal(len(v_ref))
            v = v_ref + part * size * d / helpers.norm_A(self.problem, d)
            lines += [self.line(v, self.D * rng.standard_normal(len(v))) for _ in range(2)]
        return lines

    def round_off(self, line) -> np.ndarray:
        """Bound (nv) on the rounding errors of a gradient, with sums in another order too."""
        return 2.0 * reference.gradient_round_off(self.objective, self.objective.point(line.v))


@functools.lru_cache(maxsize=2)
def load(path) -> Loaded:
    problem = sapwood.load_problem(path)
    diagonals = [np.diag(problem.A_block(t)) for t in range(problem.n_trees)]
    return Loaded(
        problem,
        reference.Objective(problem),
        problem.to_dense()[1],
        np.concatenate(diagonals) ** -0.5,
    )


@seeds
@core_on_all
def test_hessian(solver, path, seed):
    """H dv against the difference of two gradients, component by component."""
    loaded = load(path)
    sap, tightest = solver.SapSolver(), np.inf
    for line in loaded.lines(seed):
        hessian = sap.evaluate(loaded.problem, line.v).hessian
        plus, minus = line.v + line.h * line.dv, line.v - line.h * line.dv
        gradients = [sap.evaluate(loaded.problem, v).gradient for v in (plus, minus)]
        found = (gradients[0] - gradients[1]) / (2.0 * line.h)
        # the step that was taken, after rounding of v
        step = (plus - minus) / (2.0 * line.h)
        expected = hessian @ step
        sums = 100 * helpers.EPS * (np.abs(hessian) @ np.abs(step))
        truncation = np.abs(loaded.J).T @ line.quotient_error(line.third).ravel()
        bound = loaded.round_off(line) / line.h + truncation + sums
        assert np.all(np.abs(found - expected) <= bound)
        # in the norm of (19)
        size = np.linalg.norm(loaded.D * expected)
        tightest = min(tightest, np.linalg.norm(loaded.D * bound) / size)
    # bounds that prove nothing must not pass
    assert tightest <= 1e-3


@seeds
@core_on_all
def test_along_line(solver, path, seed):
    """Slope against differences of the cost, curvature against differences of the slope."""
    loaded = load(path)
    sap, tightest = solver.SapSolver(), np.inf
    for line in loaded.lines(seed):
        h, speed = line.h, np.abs(line.J_dv)
        difference, slope, curvature = sap.along_line(loaded.problem, line.v, line.dv, [-h, 0.0, h])
        assert difference[1] == 0.0
        # l' = grad . dv; its derivatives are those of the impulses times J dv
        round_off = np.abs(line.dv) @ loaded.round_off(line)
        bound = round_off + line.quotient_error(np.sum(speed * line.second))
        assert abs((difference[2] - difference[0]) / (2.0 * h) - slope[1]) <= bound
        bound = round_off / h + line.quotient_error(np.sum(speed * line.third))
        assert abs((slope[2] - slope[0]) / (2.0 * h) - curvature[1]) <= bound
        tightest = min(tightest, bound / curvature[1])
    assert tightest <= 1e-2


def test_lines_go_through_every_region():
    """Among the small files, with many contacts in each region."""
    lines = [line for path in helpers.small_paths() for line in load(path).lines(seed=1)]
    found = np.concatenate([line.regions for line in lines])
    assert all(np.count_nonzero(found == region) > 100 for region in Region)
