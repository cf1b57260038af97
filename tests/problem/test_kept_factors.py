"""Factors of large blocks of A that are kept with a problem."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import ContactProblem, solve

N = 200


def problem_of(rng, A, **options):
    J = rng.standard_normal((4, 3, N)).ravel()
    return ContactProblem(
        [N], A, rng.standard_normal(N), [0] * 4, [-1] * 4, J, [0.5] * 4, dt=0.01,
        phi0=[0.0] * 4, k=[1e4] * 4, tau_d=[0.01] * 4, **options,
    )  # fmt: skip


def mass(rng):
    B = rng.standard_normal((N, N))
    return (B @ B.T + N * np.eye(N)).ravel()


@pytest.mark.parametrize("view", [False, True])
def test_the_factor_of_a_constant_mass_changes_no_bit(view, rng):
    A, state = mass(rng), rng.bit_generator.state
    constant = A.copy()
    constant.setflags(write=False)
    results = []
    for given in (A, constant[:] if view else constant):
        rng.bit_generator.state = state
        results.append(solve(problem_of(rng, given)))
    np.testing.assert_array_equal(results[0].v, results[1].v)
    np.testing.assert_array_equal(results[0].gamma, results[1].gamma)
    assert results[0].velocity_error_bound == results[1].velocity_error_bound


@pytest.mark.parametrize("read_only", [False, True])
def test_a_mass_that_may_change_is_factored_anew(read_only, rng):
    """Also that of a view which is not writable itself."""
    A, state = mass(rng), rng.bit_generator.state
    given = A[:]
    given.setflags(write=not read_only)
    problem = problem_of(rng, given)
    solve(problem)
    A *= 4
    found = solve(problem)
    rng.bit_generator.state = state
    fresh = problem_of(rng, A.copy())
    # the weights stay those of the former A
    expected = solve(
        ContactProblem(
            [N],
            A.copy(),
            fresh.v_star,
            fresh.tree_a,
            fresh.tree_b,
            fresh.J,
            fresh.mu,
            dt=0.01,
            R_t=problem.R_t,
            R_n=problem.R_n,
            v_hat_n=problem.v_hat_n,
        )
    )
    np.testing.assert_array_equal(found.v, expected.v)
    assert found.velocity_error_bound == expected.velocity_error_bound


@pytest.mark.parametrize("change", ["none", "mass", "later", "trees"])
def test_factors_of_another_problem_change_no_bit(change, rng):
    """Only equal blocks of the same trees take them over; of a mass that changes, no solve."""
    A = mass(rng)
    constant = A.copy()
    constant.setflags(write=False)
    other = problem_of(rng, constant)
    if change == "mass":
        A[-1] *= 2
    if change == "trees":
        other = ContactProblem([N, 1], np.append(A, 1.0), np.zeros(N + 1), dt=0.01)
    results, state = [], rng.bit_generator.state
    for factors_of in (None, other):
        rng.bit_generator.state = state
        given = A.copy()
        given.setflags(write=change == "later")
        problem = problem_of(rng, given, factors_of=factors_of)
        if change == "later":
            given *= 4
        results.append((problem.R_t, solve(problem).v))
    for found, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_large_masses_are_inverted_by_slices(rng):
    """Weights of blocks of all sizes around those of slices, and a mass that is not definite."""
    for n in (95, 96, 97, 111, 144, 145, 191, 192, 193, 300):
        B = rng.standard_normal((n, n))
        A, J = B @ B.T + n * np.eye(n), rng.standard_normal((3, n))
        problem = ContactProblem.from_dense(A, np.zeros(n), J, 0.0, np.inf, 0.0, 0.5, 0.01)
        w = np.linalg.norm(J @ np.linalg.solve(A, J.T)) / 3
        np.testing.assert_allclose(problem.R_t, 1e-3 * w, rtol=1e-12)
        A[n // 3, n // 3] = -1.0
        with pytest.raises(ValueError, match="the block of tree 0 must be positive definite"):
            ContactProblem.from_dense(A, np.zeros(n), J, 0.0, np.inf, 0.0, 0.5, 0.01)
