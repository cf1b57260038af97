"""Sigma by contact: slip_ratio of contacts and of dry friction in plain arrays."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from sapwood import ContactProblem, DryFrictions, SapSettings, reference

SLIP = np.array([0.0, 5e-4, 0.3, 2.0])
SIGMA = np.array([1e-6, 1e-6, 3e-4, 1e-3])


def problem_of(slip_ratio=SLIP, row_ratio=(0.1, 1e-5), load=3.0, **more):
    """Four point masses that a load pulls along the ground, and a body with two joints."""
    J = np.zeros((12, 14))
    J[:, :12] = np.eye(12)
    v_star = np.append(np.tile([0.01 * load, 0.0, -0.1], 4), [0.02, 0.03])
    rows = DryFrictions(np.eye(2, 14, 12), f=40.0, slip_ratio=row_ratio)
    A = np.diag(np.append(np.repeat([1.0, 2.0, 3.0, 4.0], 3), [5.0, 6.0]))
    return ContactProblem.from_dense(
        A, v_star, J, 0.0, 1e7, 0.01, 0.8, 0.01, trees=[3, 3, 3, 3, 2], constraints=[rows],
        slip_ratio=slip_ratio, **more,
    )  # fmt: skip


def test_sigma_is_the_one_of_the_slip():
    problem = problem_of()
    w = reference.effective_inverse_mass(problem)
    np.testing.assert_allclose(problem.R_t, SIGMA * w, rtol=1e-14)
    mirrored = reference.regularize(
        problem, dt=problem.dt, phi0=problem.phi0, k=problem.k, tau_d=problem.tau_d, slip_ratio=SLIP
    )
    np.testing.assert_allclose(mirrored[0], problem.R_t, rtol=1e-14)
    np.testing.assert_allclose(problem.constraints[0].R, [1e-4 / 5.0, 1e-6 / 6.0], rtol=1e-14)
    rows = reference.regularize_group(problem, 0, dt=problem.dt)
    np.testing.assert_allclose(rows[0], problem.constraints[0].R, rtol=1e-14)


def test_what_sticks_creeps_in_proportion_to_sigma():
    """v_t = R_t gamma_t, with the impulse that stops the load."""
    problem = problem_of()
    v = sapwood.solve(problem, settings=SapSettings(relative_tolerance=1e-12)).v[:12:3]
    np.testing.assert_allclose(v, 0.03 * SIGMA / (3.0**0.5 + SIGMA), rtol=1e-6)


def test_it_holds_at_any_slip_by_default_and_below_the_least_sigma():
    plain = problem_of(slip_ratio=None, row_ratio=np.inf)
    w = reference.effective_inverse_mass(plain)
    np.testing.assert_allclose(plain.R_t, 1e-3 * w, rtol=1e-14)
    assert plain.slip_ratio is None
    for sigma in (1e-6, 1e-8):
        tiny = problem_of(sigma=sigma)
        np.testing.assert_allclose(tiny.R_t, sigma * w, rtol=1e-14)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, [0.0, 1.0, np.nan, 0.0], [1.0, 1.0]])
def test_wrong_ratios_are_refused_by_name(wrong):
    with pytest.raises(ValueError, match=r"slip_ratio(\[\d\].*: must be >= 0| has shape)"):
        problem_of(slip_ratio=wrong)
    if np.ndim(wrong) == 0:
        with pytest.raises(ValueError, match=r"slip_ratio\[0\].*: must be >= 0"):
            problem_of(row_ratio=wrong)


def test_a_file_holds_it(tmp_path):
    problem = problem_of()
    sapwood.save_problem(tmp_path / "slip.npz", problem)
    loaded = sapwood.load_problem(tmp_path / "slip.npz")
    assert loaded == problem
    np.testing.assert_array_equal(loaded.slip_ratio, SLIP)
    np.testing.assert_array_equal(loaded.constraints[0].slip_ratio, [0.1, 1e-5])


def test_derivatives_by_the_ratio_and_by_sigma(rng):
    """Beside central differences, and forward beside reverse mode."""
    settings = SapSettings(relative_tolerance=1e-13)

    def solved(problem):
        return sapwood.solve(problem, settings=settings, sensitivity=True)

    problem, bar = problem_of(load=2.0), rng.standard_normal(14)
    gradient = solved(problem).vjp(bar)
    assert gradient.slip_ratio[2] != 0.0
    np.testing.assert_array_equal(gradient.slip_ratio[[0, 1, 3]], 0.0)

    def slope(make, h):
        return bar @ (solved(make(h)).v - solved(make(-h)).v) / (2.0 * h)

    by_ratio = slope(lambda h: problem_of(slip_ratio=SLIP + [0, 0, h, 0], load=2.0), 1e-3)
    by_row = slope(lambda h: problem_of(row_ratio=(0.1 + h, 1e-5), load=2.0), 1e-3)
    by_sigma = slope(lambda h: problem_of(sigma=1e-3 + h, load=2.0), 1e-6)
    assert gradient.slip_ratio[2] == pytest.approx(by_ratio, rel=1e-5)
    by_rows = gradient.constraints[0].parameters["slip_ratio"]
    assert by_rows[0] == pytest.approx(by_row, rel=1e-4)
    assert by_rows[1] == 0.0
    assert gradient.sigma == pytest.approx(by_sigma, rel=1e-4)
