"""The benchmark of growth: fits, problems of different sizes, and a run of every part."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("mujoco")

import helpers
import sapwood
from benchmarks import rows, scaling, scaling_report


def test_error_of_an_exponent_is_that_of_the_regression(rng):
    stats = pytest.importorskip("scipy.stats")
    x = rng.uniform(1.0, 100.0, 9)
    seconds = x**1.1 * np.exp(0.1 * rng.standard_normal(9))
    expected = stats.linregress(np.log(x), np.log(seconds))
    found = scaling_report.fit(x, seconds)
    np.testing.assert_allclose(found.exponent, expected.slope)
    np.testing.assert_allclose(found.error, expected.stderr)
    np.testing.assert_allclose(math.log(found.factor), expected.intercept)


def test_copies_of_contacts_change_nothing_else(rng):
    """k contacts with k times the regularization are one contact."""
    bias = rng.standard_normal((20, 2))
    problem = helpers.random_problem(rng, v_hat_t=bias, v_guess=rng.standard_normal(31))
    for k in (1, 3):
        copied = scaling.copies_of(problem, k)
        assert copied.n_contacts == 20 * k
        cost, gradient, *_, gamma = helpers.evaluate_wide(problem, problem.v_guess)
        of_copies = helpers.evaluate_wide(copied, problem.v_guess)
        np.testing.assert_allclose(float(of_copies[0]), float(cost), rtol=1e-14)
        np.testing.assert_allclose(of_copies[1].astype(float), gradient.astype(float), atol=1e-12)
        np.testing.assert_allclose(
            k * of_copies[-1].astype(float), np.repeat(gamma.astype(float), k, axis=0), atol=1e-12
        )
        one, all_ = (sapwood.solve(p, settings=helpers.TIGHT) for p in (problem, copied))
        np.testing.assert_allclose(all_.v, one.v, atol=1e-9)


@pytest.mark.slow
def test_quick_run(quick):
    out, printed = quick("scaling", pictures=len(scaling.PARTS))
    assert printed.out.count("exponent of the time") >= len(scaling.PARTS)
    points = {}
    for part in scaling.PARTS:
        points[part] = rows.read(out / f"scaling_{part}.csv", scaling.Row)
        assert {row.part for row in points[part]} == {part}
        assert len(points[part]) <= scaling.count(part, scaling.QUICK)
        for row in points[part]:
            assert row.seconds > 0.0
            assert row.contacts > 0

    series = scaling_report.series_of(points["bodies"])
    assert set(series) == {"open floor", "open floor, settled", "box", "box, settled"}
    for mine in series.values():
        assert [row.x for row in mine] == [4, 8, 16]
        assert all(row.solve > 0.0 for row in mine)
    copies = points["contacts"]
    assert [row.x / copies[0].x for row in copies] == [1, 2, 4]
    assert len({row.iterations for row in copies}) == 1
    assert {row.x for row in points["batch"]} == {1, 4, 16}
    threads = scaling_report.series_of(points["threads"])
    assert {name.split(",")[0].split()[0] for name in threads} == {"islands", "batch"}
    assert all(mine[0].x == 1 for mine in threads.values())
