"""Whatever is degenerate ends with a named status, and with numbers."""

import os

import numpy as np
import pytest

from invdyn_systems import legged, random_case
from sapwood.invdyn import InvdynStatus, InverseDynamics

CONTROLLERS = ["lcp_noslip", "lcp_coulomb", "qp_noslip", "qp_coulomb", "one_stage"]
DEFECTS = [
    "duplicate contacts", "no friction", "opposing normals", "rank-deficient J", "singular A",
    "zero J", "huge numbers", "tiny numbers", "deep overlap", "nearly singular A", "no defect",
]  # fmt: skip


def spoiled(rng, defect):
    """A system, legged or without meaning, with one defect."""
    n = int(rng.integers(1, 6))
    if rng.random() < 0.5:
        case = legged(rng, n)
    else:
        case = random_case(rng, n, *rng.integers(0, 8, size=2))
    J = case.J.copy()
    if defect == "duplicate contacts":
        J[:] = J[rng.integers(0, n, size=n)]
    elif defect == "no friction":
        case.mu = np.zeros(n)
    elif defect == "opposing normals":
        J[1::2] = -J[: len(J[1::2])]
        case.phi = -np.abs(case.phi) * rng.integers(0, 2)
    elif defect == "rank-deficient J":
        flat = J.reshape(3 * n, -1)
        left = flat @ rng.normal(size=(flat.shape[1], 1))
        J = (left @ rng.normal(size=(1, flat.shape[1]))).reshape(J.shape)
    elif defect in ("singular A", "nearly singular A"):
        x = rng.normal(size=(len(case.M), max(1, len(case.M) // 3)))
        case.M = x @ x.T + (1e-13 if defect.startswith("nearly") else 0.0) * np.eye(len(case.M))
    elif defect == "zero J":
        J[rng.integers(0, n)] = 0.0
    elif defect in ("huge numbers", "tiny numbers"):
        size = 10.0 ** rng.uniform(50, 300) * (1 if defect.startswith("huge") else 0)
        scale = size if size else 10.0 ** rng.uniform(-300, -50)
        for name in ("M", "h", "v", "qdd_desired"):
            if rng.random() < 0.5:
                setattr(case, name, getattr(case, name) * scale)
        J = J * (scale if rng.random() < 0.3 else 1.0)
    elif defect == "deep overlap":
        case.phi = -(10.0 ** rng.uniform(-3, 3, size=n))
    if rng.random() < 0.5:
        case.qdd_desired = case.qdd_desired * 10.0 ** rng.uniform(0, 4)
    case.J_t, case.J_n = J[:, :2].copy(), J[:, 2].copy()
    return case


def numbers(result):
    return [
        result.tau, result.forces, result.v_plus, result.slack, np.array(result.residuals),
        [result.regularization],
    ]  # fmt: skip


def check(rng, count):
    seen = set()
    for _ in range(count):
        case = spoiled(rng, rng.choice(DEFECTS))
        options = {
            "stage_one": rng.choice(["contact_consistent", "paper"]),
            "edges": int(rng.choice([4, 6, 8])),
            "on_inconsistent": rng.choice(["nearest", "report"]),
        }
        controller = str(rng.choice(CONTROLLERS))
        if "lcp" not in controller and rng.random() < 0.3:
            options["torque_limit"] = 10.0 ** rng.uniform(-3, 3, size=len(case.actuated))
            options["smoothing"] = float(rng.choice([0.0, 1e-2]))
            options["force_regularization"] = float(rng.choice([0.0, 1e-6]))
        made = InverseDynamics(controller, actuated=case.actuated, dt=case.dt, **options)
        # once, or again from where that has ended, for contacts that have come, gone and moved
        for _ in range(rng.choice([1, 2])):
            ids = rng.integers(len(case.mu) + 1, size=len(case.mu))
            with np.errstate(all="ignore"):
                result = made.solve(**case.arguments(), ids=ids)
            assert isinstance(result.status, InvdynStatus)
            for array in numbers(result):
                assert np.isfinite(array).all()
            if result.status == InvdynStatus.solved:
                assert_solved(case, controller, options, result)
            seen.add(result.status)
    return seen


def assert_solved(case, controller, options, result):
    """A result with status solved obeys the controller's conditions, by arithmetic of its own."""
    v, z = result.v_plus, result.impulses
    if max(np.abs(x).max(initial=0.0) for x in (*case.arguments().values(), v, z)) > 1e100:
        return  # sums of such numbers overflow here
    u = case.J @ v
    q = case.actuated
    force = np.abs(z).max(initial=0.0)
    nothing = 1e-11 * np.abs(case.M @ case.v - case.dt * case.h).max(initial=0.0) + 1e-12
    wanted = case.v[q] + case.dt * case.qdd_desired
    speed = np.abs(wanted).max(initial=0.0) + np.abs(v).max(initial=0.0)
    assert np.abs(v[q] - wanted).max(initial=0.0) <= 1e-5 * speed
    rates = np.abs(u).max(initial=0.0) + np.abs(case.phi / case.dt).max(initial=0.0)
    rates += (
        np.abs(case.J).max(initial=0.0) * (speed + np.abs(case.v).max(initial=0.0)) * len(v) + 1e-7
    )
    assert (u[:, 2] + case.phi / case.dt >= -1e-4 * rates).all()
    assert (z[:, 2] >= -1e-6 * force - nothing).all()
    noslip = "noslip" in controller
    if not noslip:
        assert (
            np.linalg.norm(z[:, :2], axis=1) <= case.mu * z[:, 2] + 1e-6 * force + nothing
        ).all()
    elif options["stage_one"] == "contact_consistent" or controller == "lcp_noslip":
        holds = z[:, 2] > 0.0 if controller == "lcp_noslip" else slice(None)
        assert np.abs(u[holds, :2]).max(initial=0.0) <= 2e-3 * rates


def test_every_degenerate_input_has_a_named_status(rng):
    assert InvdynStatus.solved in check(rng, 400)


@pytest.mark.slow
def test_ten_thousand_degenerate_inputs(rng):
    seen = check(rng, int(os.environ.get("SAPWOOD_DEGENERATE", "10000")))
    assert {
        InvdynStatus.solved, InvdynStatus.inconsistent_accelerations, InvdynStatus.singular,
        InvdynStatus.degenerate_noslip, InvdynStatus.torque_limited,
    } <= seen  # fmt: skip


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_indefinite_mass_is_called_singular(rng, controller):
    case = legged(rng)
    case.M[0, 0] = -1.0
    result = InverseDynamics(controller, actuated=case.actuated, dt=case.dt).solve(
        **case.arguments()
    )
    assert result.status == InvdynStatus.singular
    assert not any(np.any(array) for array in numbers(result))


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_nothing_at_all(rng, controller):
    case = legged(rng, 0)
    result = InverseDynamics(controller, actuated=case.actuated, dt=case.dt).solve(
        **case.arguments()
    )
    assert result.status == InvdynStatus.solved
    a = case.M @ (result.v_plus - case.v) / case.dt + case.h
    assert np.allclose(a[:6], 0.0, atol=1e-8)
    assert result.tau.shape == (0,)
    assert result.forces.shape == (0, 3)


def test_nearly_singular_mass_is_called_singular(rng):
    case = legged(rng)
    axes = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    case.M[:6, :6] = axes @ np.diag([1.0] * 5 + [1e-13]) @ axes.T
    made = InverseDynamics("one_stage", actuated=case.actuated, dt=case.dt)
    assert made.solve(**case.arguments()).status == InvdynStatus.singular
