"""Consistency of an evaluation: cost, gradient and Hessian, along a line, and of a run's loss."""

from __future__ import annotations

import numpy as np

from helpers import EPS


def assert_derivatives(sap, problem, v, at, h, *, gradient_digits=1e-9, hessian_digits=1e-6):
    """Gradient and Hessian of an evaluation are central differences of those of `sap`.

    `v` must be a velocity about which nothing has an edge, by steps of `h`.
    """
    gradient, hessian = np.empty(problem.nv), np.empty((problem.nv, problem.nv))
    for j, step in enumerate(h * np.eye(problem.nv)):
        plus, minus = sap.evaluate(problem, v + step), sap.evaluate(problem, v - step)
        gradient[j] = (plus.cost - minus.cost) / (2.0 * h)
        hessian[:, j] = (plus.gradient - minus.gradient) / (2.0 * h)
    largest = np.abs(at.gradient).max()
    rounding = 10 * EPS * abs(at.cost) / h
    np.testing.assert_allclose(at.gradient, gradient, atol=gradient_digits * largest + rounding)
    largest = np.abs(at.hessian).max()
    np.testing.assert_allclose(at.hessian, hessian, atol=hessian_digits * largest)
    np.testing.assert_allclose(at.hessian, at.hessian.T, atol=1e-14 * largest)


def assert_line(line, alpha, sap, problem, v, dv, *, rtol=1e-11):
    """Difference, slope and curvature are those of cost, gradient and Hessian off the line."""
    start = sap.evaluate(problem, v)
    for k, a in enumerate(alpha):
        there = sap.evaluate(problem, v + a * dv)
        scale = abs(start.cost) + abs(there.cost)
        np.testing.assert_allclose(line.difference[k], there.cost - start.cost, atol=1e-13 * scale)
        scale = np.abs(there.gradient) @ np.abs(dv)
        np.testing.assert_allclose(line.slope[k], there.gradient @ dv, atol=1e-12 * scale)
        np.testing.assert_allclose(line.curvature[k], dv @ there.hessian @ dv, rtol=rtol)
        assert a != 0.0 or line.difference[k] == 0.0


def assert_small_differences(sap, problem, rng):
    """Close to the minimiser, where costs agree to the last bit, their difference still counts."""
    v = sap.solve(problem).v + 1e-10 * rng.standard_normal(problem.nv)
    at = sap.evaluate(problem, v)
    alpha = np.array([0.5, 1.0, 1.5])
    difference, _, _ = sap.along_line(problem, v, at.direction, alpha)
    slope, curvature = (x[0] for x in sap.along_line(problem, v, at.direction, [0.0])[1:])
    assert abs(slope) < EPS * at.cost
    np.testing.assert_allclose(difference, alpha * slope + alpha**2 / 2.0 * curvature, rtol=1e-4)


def quotient(case, change, bars):
    """Central differences of a loss: None where those of three lengths do not agree.

    Those of two may by chance, where they are round-off.
    """

    def loss(h):
        run = case.run(change, h)
        return sum(np.sum(bar * x) for bar, x in zip(bars, (run.q, run.v), strict=True))

    for h in (1e-5, 1e-6, 1e-7):
        far, near, nearest = ((loss(x) - loss(-x)) / (2 * x) for x in (2 * h, h, h / 2))
        if max(abs(nearest - near), abs(near - far)) <= 2e-7 * abs(near):
            return (4 * nearest - near) / 3
    return None
