"""Each kind of constraint against closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import helpers
import sapwood
from helpers import implementations
from row_groups import free
from sapwood import Bilaterals, Controllers, DryFrictions, JointLimits, SapSettings, Status

DT = 0.01
NEAR_RIGID = 0.1**2 / (4 * np.pi**2)  # R_nr m of a point mass or a joint
SHARP = SapSettings(relative_tolerance=1e-14)


def one_row(solver, mass, v_star, group):
    """Velocity, impulse and activity of a single velocity with a single row."""
    solution = solver.solve(free([mass], [v_star], [group], dt=DT), settings=SHARP)
    assert solution.status in (Status.converged, Status.stalled)
    rows = solution.constraints[0]
    # momentum balance, to the last digits
    np.testing.assert_allclose(mass * (solution.v - v_star), rows.gamma, atol=1e-13 * mass)
    return solution.v[0], rows.gamma[0], bool(rows.active[0])


# ---- limits ------------------------------------------------------------------------------------


@implementations
def test_limit_at_rest(solver):
    """A weight that rests on a limit: the impulse is m g dt, the depth m g/k or near-rigid."""
    mass, g, tau_d = 2.0, 9.81, 0.02
    for k, depth in [(1e4, mass * g / 1e4), (np.inf, NEAR_RIGID * g * DT * (DT + tau_d))]:
        limit = JointLimits([[1.0]], phi0=-depth, k=k, tau_d=tau_d)
        v, gamma, active = one_row(solver, mass, -g * DT, limit)
        assert active
        np.testing.assert_allclose(gamma, mass * g * DT, rtol=1e-9)
        assert abs(v) <= 1e-12


@implementations
def test_limit_out_of_reach(solver):
    """A motion that does not reach the limit, v < -phi0/(dt + tau_d), is let through."""
    v_star = -1.0
    for phi0, acts in [(0.021, False), (0.019, True)]:
        limit = JointLimits([[1.0]], phi0=phi0, k=1e5, tau_d=0.01)
        v, gamma, active = one_row(solver, 1.0, v_star, limit)
        assert active == acts == (gamma > 0)
        assert (v == v_star) == (not acts)


@pytest.mark.parametrize(("k", "tau_d"), [(1e3, 0.1), (1e5, 0.02), (np.inf, 0.0)])
@implementations
def test_joint_stops_at_its_limit_without_bounce(solver, k, tau_d):
    """It comes back no faster than out of its depth within dt + tau_d."""
    phi, v, deepest, fastest = 0.05, -3.0, 0.0, 0.0
    for _ in range(30):
        problem = free([1.0], [v], [JointLimits([[1.0]], phi0=phi, k=k, tau_d=tau_d)], dt=DT)
        v = solver.solve(problem, settings=SHARP).v[0]
        phi += DT * v
        deepest, fastest = min(deepest, phi), max(fastest, v)
    assert abs(v) <= 0.01
    assert fastest <= -deepest / (DT + tau_d) * (1 + 1e-9)
    # R_nr gamma = v_hat - v at the impact, gamma <= m |v*|
    assert deepest >= -DT * NEAR_RIGID * 3.0 or k < np.inf
    assert fastest <= 0.01 * 3.0


# ---- bilateral ---------------------------------------------------------------------------------


@implementations
def test_welded_bodies_move_as_one(solver):
    """Two bodies of 6 velocities: momentum is kept, and what is left apart is near-rigid."""
    rng = np.random.default_rng(7)
    A = [helpers.random_spd(rng, 6, spread=1.0) for _ in range(2)]
    v_star = rng.standard_normal((2, 6))
    weld = Bilaterals(np.hstack([np.eye(6), -np.eye(6)]), size=6, g=0.0)
    problem = sapwood.ContactProblem(
        [6, 6], np.concatenate([a.ravel() for a in A]), v_star.ravel(), dt=DT, constraints=[weld]
    )
    solution = solver.solve(problem, settings=SHARP)
    v = solution.v.reshape(2, 6)
    momentum = sum(a @ w for a, w in zip(A, v_star, strict=True))
    np.testing.assert_allclose(sum(a @ w for a, w in zip(A, v, strict=True)), momentum, atol=1e-12)
    together = np.linalg.solve(A[0] + A[1], momentum)
    # |v_1 - v_2| = R |gamma|, with gamma what stops the difference
    R = problem.constraints[0].R
    np.testing.assert_allclose(v[0] - v[1], -R * solution.constraints[0].gamma, atol=1e-12)
    apart = np.linalg.norm(v_star[0] - v_star[1])
    assert np.linalg.norm(v[0] - v[1]) <= 1e-2 * apart
    assert np.linalg.norm(v - together, axis=1).max() <= 1e-2 * apart

    # the same velocity by the linear equations of the step
    J = np.hstack([np.eye(6), -np.eye(6)])
    H = problem.to_dense()[0] + (J.T / R) @ J
    np.testing.assert_allclose(
        solution.v, np.linalg.solve(H, problem.to_dense()[0] @ problem.v_star), atol=1e-10
    )


@implementations
def test_spring_between_bodies(solver):
    """A soft bilateral row is the implicit spring k and damper k tau_d between its bodies."""
    m, k, tau_d, g = np.array([1.0, 3.0]), 500.0, 0.03, 0.02
    v_star = np.array([0.3, -0.2])
    row = np.array([1.0, -1.0])
    problem = free(m, v_star, [Bilaterals([row], g=g, k=k, tau_d=tau_d)], dt=DT)
    solution = solver.solve(problem, settings=SHARP)
    H = np.diag(m) + DT * k * (DT + tau_d) * np.outer(row, row)
    expected = np.linalg.solve(H, m * v_star - DT * k * g * row)
    np.testing.assert_allclose(solution.v, expected, rtol=1e-12)


@implementations
def test_bilateral_force_bound(solver):
    """A joint that slips at 30 N pulls with 30 N and no more, in either direction."""
    for sign in (1.0, -1.0):
        slipping = Bilaterals([[1.0]], g=0.0, force_lower=-30.0, force_upper=30.0)
        v, gamma, active = one_row(solver, 2.0, sign * 5.0, slipping)
        assert not active
        assert gamma == -sign * DT * 30.0
        np.testing.assert_allclose(v, sign * (5.0 - DT * 30.0 / 2.0), rtol=1e-14)


@implementations
def test_pretensioned_cable(solver):
    """It pulls two bodies together with 10 N when slack, 40 N when too long, k times g between.

    Momentum is kept, and the work of the cable is the kinetic energy that it adds.
    """
    m, v_star, tau_d = np.array([1.0, 3.0]), np.array([0.3, -0.2]), 0.0
    for g, k, force in [(-5.0, 1e3, 10.0), (5.0, 1e3, 40.0), (0.05, 500.0, None)]:
        # J v = v_1 - v_2 shortens the cable: the rate of -length, and gamma > 0 pulls
        cable = Bilaterals([[1.0, -1.0]], g=-g, k=k, tau_d=tau_d, force_lower=10, force_upper=40)
        problem = free(m, v_star, [cable], dt=DT)
        solution = solver.solve(problem, settings=SHARP)
        rows, v = solution.constraints[0], solution.v
        np.testing.assert_allclose(m @ v, m @ v_star, rtol=1e-13)
        impulse = m[0] * (v[0] - v_star[0])
        if force is None:
            # the implicit spring, within its bounds
            closing = DT * (v[0] - v[1])
            np.testing.assert_allclose(impulse, DT * k * (g - closing), rtol=1e-10)
            assert rows.active[0]
            assert 10.0 < impulse / DT < 40.0
        else:
            assert not rows.active[0]
            assert rows.gamma[0] == DT * force
            np.testing.assert_allclose(impulse, DT * force, rtol=1e-12)
        work = rows.gamma[0] * (v_star + v) @ [1.0, -1.0] / 2
        np.testing.assert_allclose(m @ (v**2 - v_star**2) / 2, work, rtol=1e-10)
        # the cost of a slack cable is negative
        assert (solution.cost < 0.0) == (g < 0.0)


@implementations
def test_hung_by_a_cable(solver):
    """A weight of 20 N on a cable that holds [10, 40] N comes to rest where k g = 20 N.

    With [30, 40] N it is drawn up with 10 N, and with [5, 15] N it falls with 5 N, forever.
    """
    m, k = 2.0, 400.0
    for low, high, net in [(10.0, 40.0, 0.0), (30.0, 40.0, 10.0), (5.0, 15.0, -5.0)]:
        height, v, before = 0.0, 0.0, 0.0
        for _ in range(200 if net == 0.0 else 60):
            before = v
            cable = Bilaterals([[1.0]], g=height, k=k, tau_d=0.2, force_lower=low, force_upper=high)
            problem = free([m], [v - 10.0 * DT], [cable], dt=DT)
            v = solver.solve(problem, settings=SHARP).v[0]
            height += DT * v
        np.testing.assert_allclose((v - before) / DT, net / m, rtol=1e-10, atol=1e-4)
        if net == 0.0:
            np.testing.assert_allclose([height, v], [-20.0 / k, 0.0], atol=1e-5)


@implementations
def test_gear(solver):
    """A coupler q_1 = n q_2: the rates keep the ratio, and power goes through without loss."""
    n, inertia, v_star = 3.0, np.array([0.2, 0.5]), np.array([4.0, 1.0])
    gear = np.array([1.0, -n])
    problem = free(inertia, v_star, [Bilaterals([gear], g=0.0)], dt=DT)
    solution = solver.solve(problem, settings=SHARP)
    slip = gear @ solution.v
    assert abs(slip) <= 1e-3 * abs(gear @ v_star)
    np.testing.assert_allclose(inertia * (solution.v - v_star) @ [n, 1.0], 0.0, atol=1e-13)


# ---- controllers -------------------------------------------------------------------------------

PD = {"Kp": 300.0, "Kd": 7.0, "q_0": 0.1, "q_d": 0.4, "v_d": 0.5, "u_ff": 2.0}


@implementations
def test_controller_is_implicit_pd(solver):
    """m (v - v*) = dt (Kp (q_d - q_0 - dt v) + Kd (v_d - v) + u_ff), exactly."""
    m, v_star = 1.5, -0.3
    v, gamma, active = one_row(solver, m, v_star, Controllers([[1.0]], **PD, effort=1e3))
    push = DT * (PD["Kp"] * (PD["q_d"] - PD["q_0"]) + PD["Kd"] * PD["v_d"] + PD["u_ff"])
    expected = (m * v_star + push) / (m + DT * (DT * PD["Kp"] + PD["Kd"]))
    assert active
    np.testing.assert_allclose(v, expected, rtol=1e-13)
    effort = PD["Kp"] * (PD["q_d"] - PD["q_0"] - DT * v) + PD["Kd"] * (PD["v_d"] - v) + PD["u_ff"]
    np.testing.assert_allclose(gamma, DT * effort, rtol=1e-10)


@implementations
def test_controller_saturates_exactly(solver):
    """The impulse is dt e to the bit, and v = v* + dt e/m."""
    for q_d, sign in [(0.4, 1.0), (-0.4, -1.0)]:
        controller = Controllers([[1.0]], **{**PD, "q_d": q_d}, effort=20.0)
        v, gamma, active = one_row(solver, 1.5, -0.3, controller)
        assert not active
        assert gamma == sign * DT * 20.0
        np.testing.assert_allclose(v, -0.3 + sign * DT * 20.0 / 1.5, rtol=1e-14)


@implementations
def test_feed_forward_alone_keeps_its_size(solver):
    """Gains so stiff that they are scaled down: at q_d with v_d the effort is still u_ff."""
    controller = Controllers([[1.0]], Kp=1e9, Kd=1e7, v_d=0.7, q_d=0.007, u_ff=3.0)
    m, v_star = 2.0, 0.7 - DT * 3.0 / 2.0
    v, gamma, _ = one_row(solver, m, v_star, controller)
    np.testing.assert_allclose(v, 0.7, rtol=1e-12)
    np.testing.assert_allclose(gamma, DT * 3.0, rtol=1e-9)


@implementations
def test_stiff_controller_is_stable(solver):
    """1e7 N m/rad at dt = 10 ms on 0.1 kg m^2: the error falls monotonically, to a tiny rest."""
    q, v, error = 0.0, 0.0, [1.0]
    for _ in range(60):
        controller = Controllers([[1.0]], Kp=1e7, Kd=1e5, q_0=q, q_d=1.0)
        v = solver.solve(free([0.1], [v - 9.81 * DT], [controller], dt=DT), settings=SHARP).v[0]
        q += DT * v
        error.append(abs(1.0 - q))
    assert all(b <= a + 1e-7 for a, b in itertools.pairwise(error))
    # the rest is the sag of the gains that the time step allows: R_nr/dt in place of 1/(dt Kp)
    assert error[-1] <= NEAR_RIGID * 9.81 * DT * (DT + 1e5 / 1e7) * 2
    assert abs(v) <= 1e-9


# ---- dry friction ------------------------------------------------------------------------------


@implementations
def test_dry_friction_holds_below_and_slides_above(solver):
    """A joint pushed by F: v = v* sigma/(1 + sigma) while F < f, v* - dt f/m beyond."""
    m, f, sigma = 1.5, 4.0, 1e-3
    for F in (-9.0, -3.9, 0.0, 3.9, 4.1, 9.0):
        v_star = DT * F / m
        v, gamma, active = one_row(solver, m, v_star, DryFrictions([[1.0]], f=f))
        if abs(F) < f:
            assert active
            np.testing.assert_allclose(v, v_star * sigma / (1 + sigma), rtol=1e-9)
        else:
            assert not active
            assert gamma == -np.sign(F) * DT * f
            np.testing.assert_allclose(v, v_star - np.sign(F) * DT * f / m, rtol=1e-12)


@implementations
def test_dry_friction_stops_a_joint_and_keeps_it(solver):
    """From 2 rad/s a joint slows down by f/I and stays where it stopped."""
    v, history = 2.0, []
    for _ in range(100):
        v = solver.solve(free([0.5], [v], [DryFrictions([[1.0]], f=5.0)], dt=DT), settings=SHARP).v[
            0
        ]
        history.append(v)
    steps = int(2.0 * 0.5 / 5.0 / DT)
    np.testing.assert_allclose(history[: steps - 1], 2.0 - 0.1 * np.arange(1, steps), rtol=1e-10)
    assert abs(history[steps + 1]) <= 1e-3 * 0.1
    assert abs(history[-1]) <= 1e-12


# ---- together ----------------------------------------------------------------------------------


@implementations
def test_pd_against_a_wall_with_contact(solver):
    """A stiff controller drives a mass into a wall: contact and controller balance at the limit."""
    e = 40.0
    controller = Controllers([[0.0, 0.0, 1.0]], Kp=1e7, Kd=1e4, q_d=-1.0, effort=e)
    problem = sapwood.ContactProblem(
        [3], np.eye(3).ravel(), [0.0, 0.0, -0.5], [0], [-1], np.eye(3).ravel(), [0.5], dt=DT,
        phi0=[0.0], k=[1e12], tau_d=[DT], constraints=[controller],
    )  # fmt: skip
    solution = solver.solve(problem, settings=SHARP)
    assert solution.constraints[0].gamma[0] == -DT * e
    np.testing.assert_allclose(solution.gamma[0, 2], 0.5 + DT * e + solution.v[2], rtol=1e-12)
    assert abs(solution.v[2]) <= 0.05 * (0.5 + DT * e)


@implementations
def test_limit_is_the_normal_of_a_frictionless_contact(solver):
    """One JointLimits row and a contact with mu = 0 and the same R and v_hat give the same v."""
    rng = np.random.default_rng(3)
    A, v_star = helpers.random_spd(rng, 6), rng.standard_normal(6)
    J = rng.standard_normal((3, 6))
    shared = {"R_n": [1e-3], "v_hat_n": [0.4]}
    common = (A, v_star)
    contact = sapwood.ContactProblem.from_dense(*common, J, mu=[0.0], dt=DT, R_t=[1.0], **shared)
    limit = JointLimits(J[2:], R=[1e-3], v_hat=[0.4])
    row = sapwood.ContactProblem.from_dense(*common, dt=DT, constraints=[limit])
    one, two = solver.solve(contact, settings=SHARP), solver.solve(row, settings=SHARP)
    assert one.gamma[0, 2] > 0
    np.testing.assert_allclose(two.v, one.v, atol=1e-12)
    np.testing.assert_allclose(two.constraints[0].gamma[0], one.gamma[0, 2], rtol=1e-9)
