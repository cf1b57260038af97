"""The check of Coulomb's law by NumPy: solutions by hand pass it, and each violation is told."""

from __future__ import annotations

import numpy as np
import pytest

import helpers
import row_groups
import sapwood
from sapwood.studies.friction_law import coulomb_errors, slip

MASS, MU, R_T, R_N = 2.0, 0.5, 1e-3, 1e-2


def mass_point(v_star):
    """2 kg on the floor."""
    return sapwood.ContactProblem(
        [3], MASS * np.eye(3).ravel(), v_star, [0], [-1], np.eye(3).ravel(), [MU],
        dt=0.01, R_t=[R_T], R_n=[R_N], v_hat_n=[0.0],
    )  # fmt: skip


def answer(v_star):
    """v and gamma of a point that slides along x or sticks."""
    normal = -v_star[2] / (1.0 / MASS + R_N)
    friction = -min(MU * normal, v_star[0] / (1.0 / MASS + R_T))
    gamma = np.array([[friction, 0.0, normal]])
    return v_star + gamma[0] / MASS, gamma


@pytest.mark.parametrize("v_x", [3.0, 0.1])
def test_solutions_by_hand_pass(v_x):
    v_star = np.array([v_x, 0.0, -1.0])
    errors = coulomb_errors(mass_point(v_star), *answer(v_star))
    assert errors.momentum <= 1e-14
    # the slip of a point that sticks is small, and so is what it is measured by
    assert errors.law <= 1e-12


@pytest.mark.parametrize(
    ("change", "violated"),
    [
        ([0.0, 0.0, 1e-3], "normal"),
        ([-1e-3, 0.0, 0.0], "cone"),
        ([1e-3, 0.0, 0.0], "dissipation"),
        ([0.0, 1e-2, 0.0], "dissipation"),
    ],
)
def test_each_violation_is_told(change, violated):
    """Impulses that balance momentum and break the law."""
    v_star = np.array([3.0, 0.0, -1.0])
    gamma = answer(v_star)[1] + change
    errors = coulomb_errors(mass_point(v_star), v_star + gamma[0] / MASS, gamma)
    assert errors.momentum <= 1e-14
    assert getattr(errors, violated) > 1e-6
    assert errors.law >= getattr(errors, violated)


def test_lost_momentum_and_pulling_contacts_are_told():
    v_star = np.array([3.0, 0.0, -1.0])
    v, gamma = answer(v_star)
    assert coulomb_errors(mass_point(v_star), v + [0.0, 1e-3, 0.0], gamma).momentum > 1e-5
    pulled = np.array([[0.0, 0.0, -0.1]])
    assert coulomb_errors(mass_point(v_star), v_star + pulled[0] / MASS, pulled).normal >= 1.0


def test_the_convex_law_glides():
    """By mu |v_t|, which Coulomb's does not."""
    problem = mass_point(np.array([3.0, 0.0, -1.0]))
    for friction in ("convex", "coulomb"):
        settings = sapwood.SapSettings(friction=friction, relative_tolerance=1e-12)
        solution = sapwood.solve(problem, settings=settings)
        g = slip(problem, solution.v_c, solution.gamma)[0]
        glide = MU * np.hypot(g[0], g[1]) if friction == "convex" else 0.0
        np.testing.assert_allclose(g[2], glide, atol=1e-9)
        errors = coulomb_errors(problem, solution.v, solution.gamma)
        assert (errors.law < 1e-9) == (friction == "coulomb")


def test_trees_without_contacts_do_not_count(rng):
    problem = helpers.random_problem(rng, touched=[0, 2])
    settings = sapwood.SapSettings(friction="coulomb")
    solution = sapwood.solve(problem, settings=settings)
    errors = coulomb_errors(problem, solution.v, solution.gamma)
    np.testing.assert_allclose(errors.momentum, solution.coulomb_error, rtol=1e-3, atol=1e-12)


def test_other_constraints_and_cores_are_refused(rng):
    problems = row_groups.CASES["limit"](rng), helpers.random_problem(rng, core="log", kappa=1.0)
    for problem in problems:
        with pytest.raises(ValueError, match="compliant contacts alone"):
            coulomb_errors(problem, problem.v_star, np.zeros((problem.n_contacts, 3)))


@pytest.mark.parametrize("path", helpers.all_files())
def test_problem_files(path):
    problem = sapwood.load_problem(path)
    if problem.constraints or problem.core is not None:
        pytest.skip("has more than compliant contacts")
    solution = sapwood.solve(problem, settings=sapwood.SapSettings(friction="coulomb"))
    errors = coulomb_errors(problem, solution.v, solution.gamma)
    assert str(solution.status) == "converged"
    assert errors.momentum <= 1e-6 * (1.0 + 1e-6)
    assert errors.law <= 1e-10
