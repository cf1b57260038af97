"""Units near the ends of double precision: what a solve says of itself stays true."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import implementations
from sapwood import ContactProblem, Status

POWERS = [-1000, -700, -560, -540, -520, -300, 300, 480, 500, 505, 515, 700, 1000]


def falling(mass=1.0, speed=1.0, **overrides):
    """A point mass that slides over a floor, in units of mass and speed."""
    arguments = {
        "tree_nv": [3],
        "A": mass * np.diag([1.0, 2.0, 3.0]).ravel(),
        "v_star": speed * np.array([0.3, 0.1, -1.0]),
        "tree_a": [0],
        "tree_b": [-1],
        "J": np.eye(3).ravel(),
        "mu": [0.5],
        "R_t": [1e-3 / mass],
        "R_n": [1e-3 / mass],
        "v_hat_n": [0.01 * speed],
        "dt": 0.01,
    }
    return ContactProblem(**arguments | overrides)


@implementations
@pytest.mark.parametrize("what", ["mass", "speed"])
@pytest.mark.parametrize("power", POWERS)
def test_a_bound_holds_in_any_units(solver, what, power):
    unit = 2.0**power
    solution = solver.solve(falling(**{what: unit}))
    if solution.status == Status.non_finite:
        assert power > 450
        assert solution.velocity_error_bound == np.inf
        return
    assert solution.status == Status.converged
    assert np.isfinite([solution.momentum_error, solution.cost]).all()
    # in units of its own the distance to the minimiser does not underflow
    best = solver.solve(falling()).v
    error = solution.v / (unit if what == "speed" else 1.0) - best
    distance = np.sqrt(np.array([1.0, 2.0, 3.0]) @ error**2)
    root = np.sqrt(unit) if what == "mass" else unit
    assert distance * root <= solution.velocity_error_bound + 1e-9 * root
    assert solution.velocity_error_bound > 0


@implementations
def test_relative_to_infinity_nothing_converges(solver):
    """The square of A v overflows, that of the gradient does not: any e_m would do."""
    problem = falling(v_star=np.array([1e160, 0.0, -1.0]), mu=[0.0])
    solution = solver.solve(problem)
    assert solution.status == Status.non_finite


@implementations
def test_a_core_too_deep_for_double_precision_is_no_fault_of_the_problem(solver):
    """The kappa that this depth needs overflows."""
    problem = falling(v_hat_n=[1e155], core=["log"], kappa=[1.0])
    assert solver.solve(problem).status == Status.non_finite


@implementations
def test_sums_over_islands_may_overflow_where_islands_do_not(solver):
    one = falling(speed=2.0**510, R_t=[1.0], R_n=[1.0])
    assert solver.solve(one).status == Status.converged
    n = 64
    many = ContactProblem(
        tree_nv=np.full(n, 3),
        A=np.tile(one.A, n),
        v_star=np.tile(one.v_star, n),
        tree_a=np.arange(n),
        tree_b=np.full(n, -1),
        J=np.tile(one.J, n),
        mu=np.tile(one.mu, n),
        R_t=np.tile(one.R_t, n),
        R_n=np.tile(one.R_n, n),
        v_hat_n=np.tile(one.v_hat_n, n),
        dt=0.01,
    )
    assert solver.solve(many).status == Status.non_finite
