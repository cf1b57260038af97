"""Torsional and rolling friction, condim 4 and 6: against MuJoCo's rows, and motions in numbers."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import (
    constraint_rows,
    set_controls,
    wide,
)
from sapwood.mujoco import ContactMaterial, Stepper

CONES = ["elliptic", "pyramidal"]
# with how well their motions are met: lagged friction begins with rough bounds
LAWS = {"convex": 3e-3, "lagged": 6e-3, "coulomb": 3e-3}
G = 9.81


def turning_jacobian(model, data, contact):
    """MuJoCo's Jacobian (3, nv) of the relative angular velocity about (n, t1, t2)."""
    one, two = np.empty((3, model.nv)), np.empty((3, model.nv))
    bodies = model.geom_bodyid[data.contact.geom[contact]]
    mujoco.mj_jacBody(model, data, None, one, bodies[0])
    mujoco.mj_jacBody(model, data, None, two, bodies[1])
    return data.contact.frame[contact].reshape(3, 3) @ (two - one)


def test_rows_of_turning_are_those_of_mujoco():
    model = wide()
    stepper, data = Stepper(model, contact=ContactMaterial(1e5)), mujoco.MjData(model)
    seen = {4: 0, 6: 0}
    for i in range(200):
        set_controls(model, data, i)
        problem = stepper.problem(data)
        stepper.step1(data)
        rows, contacts = constraint_rows(stepper.model, data), data.contact
        acting = [
            c
            for c in range(data.ncon)
            if contacts.exclude[c] == 0 and np.abs(rows[contacts.efc_address[c]]).max() > 0
        ]
        spins = [] if problem.spin_contact is None else problem.spin_contact.tolist()
        turning = problem.spin_jacobian()
        for number, c in enumerate(acting):
            dim = int(contacts.dim[c])
            if number not in spins:
                assert dim <= 3 or problem.mu[number] == 0
                continue
            k, row = spins.index(number), contacts.efc_address[c]
            J = turning[3 * k : 3 * k + 3]
            np.testing.assert_allclose(
                J, turning_jacobian(stepper.model, data, c), rtol=0, atol=1e-14
            )
            np.testing.assert_allclose(J[: dim - 3], rows[row + 3 : row + dim], rtol=0, atol=1e-14)
            expected = np.where(np.arange(3) < dim - 3, contacts.friction[c, 2:], 0.0)
            np.testing.assert_array_equal(problem.spin_mu[k], expected)
            seen[dim] += 1
        stepper.step2(data)
    assert min(seen.values()) > 50


@pytest.mark.parametrize("scheme", ["symplectic_euler", "midpoint"])
@pytest.mark.parametrize("cone", CONES)
def test_wrenches_in_the_data_agree_with_each_other(cone, scheme):
    """Impulses, rows, contact forces of MuJoCo and generalized forces are one thing."""
    model = wide(cone)
    stepper = Stepper(model, contact=ContactMaterial(1e5), scheme=scheme)
    data, dt, turned = mujoco.MjData(model), stepper.time_step, 0
    for i in range(200 if scheme == "symplectic_euler" else 60):
        set_controls(model, data, i)
        stepper.step(data)
        solution, contacts = stepper.solution, stepper.contacts
        torque = np.zeros((len(contacts.index), 3))
        if solution.spin_gamma is not None:
            torque[stepper._steps._stages.core.problem()["spin_contact"]] = solution.spin_gamma / dt
        np.testing.assert_array_equal(contacts.torque, torque[:, [1, 2, 0]])
        assert not contacts.force[contacts.index < 0].any()
        for c in np.flatnonzero(contacts.index >= 0):
            index, wrench = contacts.index[c], np.empty(6)
            mujoco.mj_contactForce(model, data, index, wrench)
            np.testing.assert_allclose(wrench[:3], contacts.force[c, [2, 0, 1]], atol=1e-9)
            np.testing.assert_allclose(wrench[3:], torque[c], atol=1e-10)
            turned += np.abs(torque[c]).max() > 1e-4
        scale = max(1.0, np.abs(data.qfrc_constraint).max())
        np.testing.assert_allclose(
            constraint_rows(stepper.model, data).T @ data.efc_force,
            data.qfrc_constraint,
            rtol=0,
            atol=1e-11 * scale,
        )
    assert turned > 50


@pytest.mark.slow
@pytest.mark.parametrize("friction", LAWS)
def test_wrenches_lie_in_their_cone(friction):
    model = wide()
    stepper = Stepper(model, friction=friction, speculative=False)
    data, bound = mujoco.MjData(model), 0
    for i in range(200):
        set_controls(model, data, i)
        problem = stepper.problem(data)
        stepper.step(data)
        solution = stepper.solution
        if solution.spin_gamma is None:
            continue
        gamma, mu = solution.gamma[problem.spin_contact], problem.mu[problem.spin_contact]
        spin, mu_k = solution.spin_gamma, problem.spin_mu
        assert (spin[mu_k == 0] == 0).all()
        turned = np.divide(spin, mu_k, out=np.zeros_like(spin), where=mu_k > 0)
        size = np.sqrt((gamma[:, :2] ** 2).sum(axis=1) / mu**2 + (turned**2).sum(axis=1))
        limit = gamma[:, 2]
        if friction == "lagged":
            # the bound is that of the step before
            continue
        assert (size <= limit * (1 + 1e-5) + 1e-9).all()
        bound += np.sum((size > 0.99 * limit) & (limit > 0))
    assert bound > 20 or friction == "lagged"


# ---- coefficients -------------------------------------------------------------------------------


def ball_on_floor(
    friction=(0.5, 0.01, 0.005),
    condim=6,
    *,
    joints="<freejoint/>",
    option="",
    floor="friction='0.5 0 0'",
    after="",
    time_step=1e-3,
):
    """A ball of 5 cm and 1 kg that touches a plane; contacts stay while it glides."""
    numbers = " ".join(map(str, friction))
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{time_step}" {option}/><worldbody>
        <geom name="floor" type="plane" size="5 5 1" margin=".01" {floor}/>
        <body pos="0 0 .05">{joints}
          <geom name="ball" size=".05" mass="1" friction="{numbers}" condim="{condim}"/></body>
        </worldbody>{after}</mujoco>"""
    )


RADIUS, MASS = 0.05, 1.0
INERTIA = 0.4 * MASS * RADIUS**2


def test_coefficients_are_those_that_mujoco_finds():
    def found(model, **keywords):
        problem = Stepper(model, **keywords).problem(mujoco.MjData(model))
        return None if problem.spin_mu is None else problem.spin_mu.tolist()

    # the larger one, or that of the higher priority, or of an explicit pair
    assert found(ball_on_floor()) == [[0.01, 0.005, 0.005]]
    assert found(ball_on_floor(condim=4)) == [[0.01, 0.0, 0.0]]
    ruled = "friction='0.5 0.03 0.002' condim='6' priority='1'"
    assert found(ball_on_floor(condim=1, floor=ruled)) == [[0.03, 0.002, 0.002]]
    own = "<pair geom1='floor' geom2='ball' condim='6' friction='1 1 .02 .004 .003' margin='.01'/>"
    model = ball_on_floor(condim=3, after=f"<contact>{own}</contact>")
    assert found(model) == [[0.02, 0.004, 0.003]]
    # materials have the sliding friction alone; without it there is none
    slippery = ContactMaterial(friction=0.0)
    assert found(ball_on_floor(), contact=ContactMaterial(friction=0.1)) == [[0.01, 0.005, 0.005]]
    assert found(ball_on_floor(), contact=slippery) is None
    # MuJoCo's least coefficient stands for 0
    assert found(ball_on_floor((0.5, 0, 0))) is None
    assert found(ball_on_floor((0.5, 0, 0.005))) == [[0.0, 0.005, 0.005]]


# ---- motions in numbers -------------------------------------------------------------------------


def started(model, friction, slip):
    """Stepper and data, under the convex law at the height where a slip of mu_k v_k glides."""
    stepper, data = Stepper(model, friction=friction), mujoco.MjData(model)
    if friction == "convex":
        # dt + tau_d is twice the time step
        mujoco.mj_integratePos(model, data.qpos, np.eye(model.nv)[2] * slip, 2 * stepper.time_step)
    return stepper, data


def test_torsional_friction_stops_a_spin_in_time():
    """I domega/dt = -mu_n m g, and then rest."""
    model = ball_on_floor(condim=4)
    for friction in LAWS:
        stepper, data = started(model, friction, 0.01 * 20.0)
        data.qvel[5] = 20.0
        slowing = 0.01 * MASS * G / INERTIA
        stepper.run(data, 100)
        expected = 20.0 - slowing * data.time
        assert data.qvel[5] == pytest.approx(expected, abs=20.0 * LAWS[friction])
        assert stepper.contacts.torque[0, 2] == pytest.approx(-0.01 * MASS * G, rel=1e-4)
        stepper.run(data, round(20.0 / slowing / 1e-3) - 100 + 20)
        assert abs(data.qvel[5]) < 1e-6
        np.testing.assert_allclose(data.qpos[:2], 0.0, atol=1e-12)
    # nothing slows it down with sliding friction alone
    model.geom_condim[:] = 3
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[5] = 20.0
    stepper.run(data, 300)
    assert data.qvel[5] == pytest.approx(20.0, rel=1e-12)


@pytest.mark.parametrize("friction", LAWS)
def test_a_torque_beyond_torsional_friction_speeds_up(friction):
    """I domega/dt = tau - mu_n m g, from rest; up to mu_n m g it holds."""
    limit = 0.01 * MASS * G
    for torque in (0.9 * limit, 3.0 * limit):
        stepper = Stepper(ball_on_floor(condim=4), friction=friction)
        data = mujoco.MjData(stepper.model)
        data.qfrc_applied[5] = torque
        stepper.run(data, 100)
        expected = max(torque - limit, 0.0) / INERTIA * data.time
        assert data.qvel[5] == pytest.approx(expected, rel=5e-3, abs=5e-3)
        assert stepper.contacts.torque[0, 2] == pytest.approx(-min(torque, limit), rel=5e-3)


def slide_and_turn(mu, mu_n, inertia, v, omega, end):
    """v and omega of a point contact by the cone law, by the method of Runge and Kutta."""

    def rates(state):
        slip, turn = mu * state[0], mu_n * state[1]
        size = np.hypot(slip, turn)
        return -G * np.array([mu * slip, mu_n * turn / inertia]) / size

    state, h = np.array([v, omega]), 1e-5
    for _ in range(round(end / h)):
        k1 = rates(state)
        k2 = rates(state + 0.5 * h * k1)
        k3 = rates(state + 0.5 * h * k2)
        k4 = rates(state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


@pytest.mark.slow
@pytest.mark.parametrize("friction", LAWS)
def test_sliding_and_spinning_share_a_cone(friction):
    """A disk of one point that slides and spins: neither stops before the other."""
    joints = "".join(
        f"<joint type='{kind}' axis='{axis}'/>"
        for kind, axis in (
            ("slide", "1 0 0"), ("slide", "0 1 0"), ("slide", "0 0 1"), ("hinge", "0 0 1"),
        )
    )  # fmt: skip
    model = ball_on_floor((0.5, 0.02, 0), 4, joints=joints, time_step=5e-4)
    start = np.array([0.6, 0.8]), 30.0
    stepper, data = started(model, friction, np.hypot(0.5 * 1.0, 0.02 * 30.0))
    data.qvel[:2], data.qvel[3] = start
    # lagged friction may come a step late, of 0.075 rad/s
    late = 0.08 if friction == "lagged" else 0.0
    for _ in range(3):
        stepper.run(data, 100)
        v, omega = slide_and_turn(0.5, 0.02, INERTIA / MASS, 1.0, start[1], data.time)
        np.testing.assert_allclose(data.qvel[:2], v * start[0], atol=2e-3)
        assert data.qvel[3] == pytest.approx(omega, abs=0.06 + late)
        force, torque = stepper.contacts.force[0], stepper.contacts.torque[0]
        size = np.hypot(np.hypot(*force[:2]) / 0.5, torque[2] / 0.02)
        assert size == pytest.approx(force[2], rel=1e-3)


@pytest.mark.parametrize("friction", LAWS)
def test_a_ball_rolls_as_far_as_rolling_friction_lets_it(friction):
    """v^2 m/(2 f): the share x = f/tau of the cone that the ball needs to go on rolling.

    With it goes a slip s = x (mu_r/mu)^2 omega, so that v = (R + s/omega) omega.
    """
    mu, mu_r = 0.5, 0.005
    slip = 0.0
    for _ in range(50):
        arm = RADIUS + slip
        share = MASS * arm / (INERTIA + MASS * RADIUS * arm)
        slip = share * (mu_r / mu) ** 2
    torque = MASS * G / np.hypot(1 / mu_r, share / mu)
    slowing = share * torque / MASS
    assert slowing == pytest.approx(5 * mu_r * G / (7 * RADIUS), rel=0.02)

    model = ball_on_floor()
    stepper, data = started(model, friction, np.hypot(mu * slip, mu_r) * 0.6 / arm)
    data.qvel[0] = 0.6
    data.qvel[4] = 0.6 / arm
    stepper.run(data, round(0.6 / slowing / 1e-3 / 2))
    assert data.qvel[0] == pytest.approx(0.3, rel=LAWS[friction])
    stepper.run(data, round(0.6 / slowing / 1e-3 / 2) + 100)
    assert np.abs(data.qvel).max() < 1e-3
    assert data.qpos[0] == pytest.approx(0.6**2 / (2 * slowing), rel=LAWS[friction])
    # with sliding friction alone it rolls on
    model.geom_condim[:] = 3
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[0], data.qvel[4] = 0.6, 0.6 / RADIUS
    stepper.run(data, 1000)
    assert data.qvel[0] == pytest.approx(0.6, rel=1e-3)


@pytest.mark.parametrize("scheme", ["symplectic_euler", "midpoint", "implicit_euler"])
def test_what_holds_creeps_as_the_regularization_says(scheme):
    """On a slope below its critical one a ball turns with R_k gamma_k; on a level it rests."""
    slope = 0.05  # critical is mu_r/R = 0.1
    model = ball_on_floor(option=f"gravity='{G * slope} 0 {-G}'")
    stepper, data = Stepper(model, scheme=scheme), mujoco.MjData(model)
    for _ in range(300):
        stepper.step(data)
    problem, solution = stepper.problem(data), stepper.solution
    torque = MASS * G * slope * RADIUS
    R_k = problem.R_t[0] * (0.5 / 0.005) ** 2
    np.testing.assert_allclose(data.qvel[4], R_k * torque * stepper.time_step, rtol=0.01)
    np.testing.assert_allclose(np.abs(solution.spin_gamma[0]).max(), torque * 1e-3, rtol=0.01)
    assert data.qvel[4] * RADIUS < 1e-3

    model.opt.gravity[0] = 0.0
    stepper, data = Stepper(model, scheme=scheme), mujoco.MjData(model)
    for _ in range(300):
        stepper.step(data)
    np.testing.assert_allclose(data.qvel, 0.0, atol=1e-9)
    np.testing.assert_allclose(data.qpos[:2], 0.0, atol=1e-12)
