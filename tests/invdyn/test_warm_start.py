"""Controllers that begin where their last call ended find what those that begin anew find."""

import dataclasses

import numpy as np
import pytest

from invdyn_systems import legged, random_case
from sapwood.invdyn import InvdynStatus, InverseDynamics

QPS = ["qp_noslip", "qp_coulomb", "one_stage"]
CONTROLLERS = ["lcp_noslip", "lcp_coulomb", *QPS]


def made(case, controller, **options):
    return InverseDynamics(controller, actuated=case.actuated, dt=case.dt, **options)


def chosen(case, which):
    """The case with these of its contacts, in this order."""
    return dataclasses.replace(
        case, J_n=case.J_n[which], J_t=case.J_t[which], mu=case.mu[which], phi=case.phi[which]
    )


def strides(rng, case, steps=30):
    """Instants of loads and accelerations that drift, on feet that come and go in any order."""
    names = rng.integers(np.iinfo(np.int64).min, np.iinfo(np.int64).max, len(case.mu))
    which = np.arange(len(names))
    for step in range(steps):
        if step % 5 == 4:
            which = rng.permutation(len(names))[: rng.integers(2, len(names) + 1)]
        swing = np.sin(0.1 * step + np.arange(len(case.h)))
        now = dataclasses.replace(
            case, h=case.h * (1.0 + 0.05 * swing), qdd_desired=case.qdd_desired * np.cos(0.1 * step)
        )
        yield chosen(now, which), names[which]


def both(rng, case, controller, **options):
    """Results from the last call's end, and from nothing."""
    warm, cold = made(case, controller, **options), made(case, controller, **options)
    for instant, ids in strides(rng, case):
        a = instant.arguments()
        yield warm.solve(**a, ids=ids), cold.solve(**a)


@pytest.mark.parametrize("mu", [0.7, 0.02])
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_the_start_changes_no_motion(rng, controller, mu):
    for warm, cold in both(rng, legged(rng, 6, mu=mu), controller):
        assert warm.status == cold.status
        if controller == "lcp_coulomb":  # of several motions one that obeys all conditions
            r = warm.residuals
            assert max(r.penetration, r.complementarity, r.cone, r.friction, r.tension) <= 1e-9
            continue
        assert np.allclose(warm.v_plus, cold.v_plus, atol=1e-9)
        if controller.startswith("qp"):  # the least torques are unique, their square is flat there
            assert np.linalg.norm(warm.tau) == pytest.approx(np.linalg.norm(cold.tau), rel=1e-5)
            assert np.allclose(warm.tau, cold.tau, atol=1e-2 * np.abs(cold.tau).max())


@pytest.mark.parametrize("controller", QPS)
def test_the_start_changes_no_optimum(rng, controller):
    """With torque limits, whose slack variables have a start too, and the paper's Stage I."""
    case = legged(rng, 6)
    limit = 2.0 * np.abs(made(case, "qp_coulomb").solve(**case.arguments()).tau)
    options = {"torque_limit": np.where(rng.random(len(limit)) < 0.5, np.inf, limit.max())}
    for warm, cold in both(rng, case, controller, stage_one="paper", **options):
        assert warm.status == cold.status
        energies = [r.v_plus @ case.M @ r.v_plus for r in (warm, cold)]
        assert np.isclose(*energies, rtol=1e-5, atol=1e-9)
        if controller == "qp_coulomb":  # Stage I alone says nothing of torques
            assert np.linalg.norm(warm.tau) == pytest.approx(np.linalg.norm(cold.tau), rel=1e-3)


@pytest.mark.parametrize("controller", QPS)
def test_pivots_fall_along_a_walk(rng, controller):
    case = legged(rng, 6)
    warm, cold = made(case, controller), made(case, controller)
    pivots = np.zeros(2, dtype=int)
    for instant, ids in strides(rng, case):
        a = instant.arguments()
        pivots += warm.solve(**a, ids=ids).pivots, cold.solve(**a).pivots
    assert pivots[0] < pivots[1]


@pytest.mark.parametrize("controller", ["qp_coulomb", "one_stage"])
def test_contacts_are_found_by_name(rng, controller):
    case = random_case(rng, 4, 12, 6)
    control, names = made(case, controller), np.array([3, -1, 2**62, 8])
    first = control.solve(**case.arguments(), ids=names)
    assert first.status == InvdynStatus.solved
    order = rng.permutation(4)
    again = control.solve(**chosen(case, order).arguments(), ids=names[order])
    assert np.allclose(again.v_plus, first.v_plus, atol=1e-10)
    strangers = control.solve(**case.arguments(), ids=names + 1)
    assert strangers.pivots == first.pivots
    if first.pivots > 4:
        assert again.pivots < first.pivots
