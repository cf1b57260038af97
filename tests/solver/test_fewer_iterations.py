"""Fewer iterations than the printed algorithm: primal-dual friction, the last step."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import helpers
import sapwood
from helpers import TIGHT, implementations, seeds
from row_groups import mixed_problem
from sapwood import SapSettings, Status, reference
from sapwood.reference.solver import direction


def turning_point(seed):
    """Random contacts and rows, a point where contacts slide, and Newton's direction there."""
    problem, rng = mixed_problem(seed, contacts=20)
    objective = reference.Objective(problem)
    point = objective.point(0.3 * rng.standard_normal(problem.nv))
    assert np.count_nonzero(point.parts[0].state.regions == sapwood.Region.sliding) >= 3
    dv = -np.linalg.solve(objective.hessian(point.G), point.gradient)
    return objective, point, dv


@seeds
def test_primal_dual_curvature_vanishes_with_the_step(seed):
    """H differs from Newton's by O(step): the end stays quadratic."""
    objective, point, dv = turning_point(seed)
    changes = []
    for size in (1e-4, 1e-5, 1e-6):
        dual = direction.predict(objective, point.gamma, point.G, objective.times_J(size * dv))
        blended = zip(direction.blend(objective, point, dual), point.G, strict=True)
        changes.append([np.abs(new - G).max(initial=0.0) / size for new, G in blended])
    assert changes[0][0] > 0.0
    np.testing.assert_allclose(changes[1], changes[0], rtol=0.1)
    np.testing.assert_allclose(changes[2], changes[0], rtol=0.1)


@seeds
@pytest.mark.parametrize("size", [1.0, 30.0, 1000.0])
def test_primal_dual_direction_descends(seed, size):
    """G stays positive semidefinite, however far the step that the dual was predicted from."""
    objective, point, dv = turning_point(seed)
    dual = direction.predict(objective, point.gamma, point.G, objective.times_J(size * dv))
    for pool in dual:
        assert np.all(np.linalg.norm(pool.w, axis=1) <= 1.0 + 1e-14)
        assert np.all(pool.gamma_n >= 0.0)
    G = direction.blend(objective, point, dual)
    for blocks in G:
        scale = np.abs(blocks).max(initial=0.0)
        assert np.linalg.eigvalsh(blocks).min(initial=0.0) >= -1e-12 * scale
    # A <= H: the direction is no longer than that of the mass matrix alone
    blended = -np.linalg.solve(objective.hessian(G), point.gradient)
    nothing = [np.zeros_like(blocks) for blocks in G]
    free = -np.linalg.solve(objective.hessian(nothing), point.gradient)
    assert 0.0 < -point.gradient @ blended <= -point.gradient @ free * (1.0 + 1e-12)


@implementations
def test_turning_slips_cost_few_iterations(solver):
    """Fewer iterations in sum than without, and on no file more than two more."""
    taken = []
    for path in helpers.small_paths():
        problem = sapwood.load_problem(path)
        with_dual = solver.solve(problem)
        without = solver.solve(problem, settings=SapSettings(turning=False))
        assert with_dual.iterations <= without.iterations + 2, path.stem
        taken.append((with_dual.total_iterations, without.total_iterations))
    with_dual, without = np.sum(taken, axis=0)
    assert with_dual < 0.9 * without


@implementations
@pytest.mark.parametrize("turning", [True, False])
def test_last_step_needs_no_new_hessian(solver, turning):
    """Where one more step by the H of before ends within the tolerance, that step is taken.

    A point mass slides along a plane. From a guess near the end the error falls to e_1, by the same
    H once more to about e_1^2/e_0, a twentieth of the tolerance.
    """
    one = np.ones(1)
    problem = sapwood.ContactProblem(
        tree_nv=[3],
        A=np.eye(3).ravel(),
        v_star=[1.0, 0.3, -1.0],
        tree_a=[0],
        tree_b=[-1],
        J=np.eye(3).ravel(),
        mu=0.3 * one,
        dt=0.01,
        R_t=0.01 * one,
        R_n=0.01 * one,
        v_hat_n=0.0 * one,
    )
    v_0 = solver.solve(problem, settings=TIGHT).v + [0.0, 0.005, 0.0]
    settings = SapSettings(start="newton", turning=turning, max_iterations=1, record_history=True)
    first = solver.solve(problem, v_0, settings)
    e_0, e_1 = first.history["momentum_error"]
    tolerance = 20.0 * e_1**2 / e_0
    assert tolerance < 0.5 * e_1
    settings = dataclasses.replace(settings, max_iterations=2, relative_tolerance=tolerance)
    second = solver.solve(problem, v_0, settings)
    assert second.status == Status.converged
    assert second.iterations == 2

    sap = solver.SapSolver()
    at_0, at_1 = sap.evaluate(problem, v_0), sap.evaluate(problem, first.v)
    step = (second.v - first.v) / second.history["step"][2]
    by_old, by_new = (-np.linalg.solve(at.hessian, at_1.gradient) for at in (at_0, at_1))
    assert np.linalg.norm(by_old - by_new) > 1e-3 * np.linalg.norm(step)
    np.testing.assert_allclose(
        step, by_old if turning else by_new, atol=1e-9 * np.linalg.norm(step)
    )
