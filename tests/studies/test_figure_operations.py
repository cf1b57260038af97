"""Operations of Stage I: three forms set up the same problem, and formulas give their numbers."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.studies.counting.counted import Counter, cholesky, ldl, ldl_solve, values
from sapwood.studies.counting.stage_one import FORMS, formulas, random_robot

SIZES = [(18, 16, 4, 4), (18, 12, 4, 4), (9, 5, 3, 6)]


@pytest.mark.parametrize("size", SIZES)
def test_forms_set_up_the_same_problem(size):
    robot = random_robot(*size)
    m, n_q = size[:2]
    b = m - n_q
    A, B, C = robot.M[:b, :b], robot.M[:b, b:], robot.M[b:, b:]
    R_b = robot.R[:, :b].T
    H, g = R_b.T @ np.linalg.solve(A, R_b), R_b.T @ np.linalg.solve(A, robot.c[:b])
    # the motors' share of M v+ = c + R z + P^T lambda, with the joints as they are to move
    v_b = np.linalg.solve(A, robot.c[:b] + R_b @ robot.z - B @ robot.v_q)
    impulse = B.T @ v_b + C @ robot.v_q - robot.c[b:] - robot.R[:, b:].T @ robot.z
    for form in FORMS:
        found = FORMS[form](robot)
        np.testing.assert_allclose(found.H, H, atol=1e-12, err_msg=form)
        np.testing.assert_allclose(found.g, g, atol=1e-12, err_msg=form)
        np.testing.assert_allclose(found.impulse, impulse, atol=1e-11, err_msg=form)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", ["simplified", "reduced"])
def test_formulas_are_exact(form, size):
    counts = FORMS[form](random_robot(*size)).counts
    expected = formulas(form, *size)
    assert list(counts) == list(expected)
    for operation, count in counts.items():
        assert count == pytest.approx(expected[operation], abs=1e-6), operation


def test_printed_formulas_have_the_printed_sums():
    for n_q, total in ((16, 77729), (12, 62109)):
        found = formulas("printed", 18, n_q, 4, 4)
        assert sum(found.values()) == pytest.approx(total)
        counted = FORMS["printed"](random_robot(18, n_q, 4, 4)).counts
        assert list(counted) == list(found)
        # leading terms agree: formulas count a division by D twice, and have rows of order m n
        assert sum(counted.values()) == pytest.approx(total, rel=0.02)


def test_counted_numbers_compute():
    rng, counter = np.random.default_rng(1), Counter()
    root = rng.normal(size=(5, 5))
    A, right = root @ root.T + np.eye(5), rng.normal(size=(5, 2))
    solution = ldl_solve(ldl(counter.array(A)), counter.array(right))
    np.testing.assert_allclose(values(solution), np.linalg.solve(A, right), atol=1e-12)
    assert counter.lap() > 0
    L = np.array([[getattr(x, "value", 0.0) for x in row] for row in cholesky(counter.array(A))])
    np.testing.assert_allclose(L @ L.T, A, atol=1e-12)
    assert counter.lap() == round(5**3 / 3 + 5**2 / 2 + 5 / 6)
    assert counter.count == 0
