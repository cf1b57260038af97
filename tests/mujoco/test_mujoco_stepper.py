"""The stepper in place of mj_step: its stages, and what it leaves in the data."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import (
    FLAGS,
    constraint_rows,
    full_state,
    mass_matrix,
    mixed,
    set_controls,
    take_explicit_rotation,
)
from sapwood.mujoco import ContactMaterial, NotSupported, Stepper
from sapwood.studies import scenes

CONES = ["elliptic", "pyramidal"]


# ---- the stages ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cone", CONES)
def test_stages_are_those_of_mj_step_to_the_last_bit(cone, monkeypatch):
    """With mj_fwdConstraint in place of our solve a trajectory is that of mj_step.

    All bias forces are those at the start of the step.
    """
    model = mixed(cone)
    model.opt.disableflags |= int(FLAGS)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    take_explicit_rotation(monkeypatch)
    stepper = Stepper(model, implicit_actuators=False, speculative=False)
    stages = stepper._steps._stages
    contacts = 0
    for i in range(300):
        for data in (ours, theirs):
            set_controls(model, data, i)
        mujoco.mj_step(model, theirs)
        stages.begin(ours)
        mujoco.mj_fwdConstraint(stepper.model, ours)
        ours.flg_rnepost = 0
        mujoco.mj_sensorAcc(stepper.model, ours)
        mujoco.mj_Euler(stepper.model, ours)
        np.testing.assert_array_equal(full_state(model, ours), full_state(model, theirs))
        for field in ("qacc", "qfrc_constraint", "efc_force", "sensordata", "energy", "cfrc_ext"):
            np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field), field)
        contacts += ours.ncon
    assert contacts > 300


def test_without_contact_a_step_is_mj_step(monkeypatch):
    """Free dofs are not touched: the same bits as MuJoCo where it damps nothing implicitly."""
    take_explicit_rotation(monkeypatch)
    model = scenes.free_flight(6, chain=True).compile()
    model.opt.disableflags |= int(FLAGS)
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    for data in (ours, theirs):
        data.qvel[:] = np.linspace(-1, 1, model.nv)
        data.qfrc_applied[:] = np.linspace(0.1, 0.2, model.nv)
    stepper = Stepper(model)
    for _ in range(10):
        mujoco.mj_step(model, theirs)
        stepper.step(ours)
        assert stepper.n_contacts == 0
        np.testing.assert_array_equal(full_state(model, ours), full_state(model, theirs))


DAMPED = [
    ("hinge", "damping='.5'", ""),
    ("hinge", "damping='.5 .1 .2'", ""),
    ("slide", "damping='.5 .1 .2' armature='.1'", ""),
    ("ball", "damping='.5 .3 .2'", ""),
    ("hinge", "damping='.5'", "<motor joint='j' gear='3' damping='.7 .1 .2'/>"),
    ("hinge", "damping='.5'", "<position joint='j' kp='1' kv='3'/>"),
    ("hinge", "", "<general joint='j' gear='-2' damping='.4'/>"),
]


@pytest.mark.parametrize(("kind", "joint", "actuator"), DAMPED)
@pytest.mark.parametrize("enabled", [True, False])
def test_damping_is_implicit_as_in_mujoco(kind, joint, actuator, enabled, monkeypatch):
    """Without contact, mj_step with its implicit damping gives the same motion."""
    take_explicit_rotation(monkeypatch)
    flag = "" if enabled else "<flag damper='disable'/>"
    xml = f"""<mujoco><option timestep="0.02">{flag}</option><worldbody>
      <body><joint name="j" type="{kind}" axis="0 1 .2" {joint}/>
        <geom type="box" size=".1 .2 .3" pos=".2 .1 0"/>
        <body pos=".5 0 0"><joint axis="1 0 0" damping=".3"/><geom size=".1"/></body></body>
      </worldbody><actuator>{actuator}</actuator></mujoco>"""
    try:
        model = mujoco.MjModel.from_xml_string(xml)
    except ValueError:
        pytest.skip(f"MuJoCo {mujoco.__version__} does not know these kinds of damping")
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    for data in (ours, theirs):
        data.qvel[:] = np.linspace(2, 3, model.nv)
    stepper = Stepper(model, implicit_actuators=False)
    for _ in range(100):
        mujoco.mj_step(model, theirs)
        stepper.step(ours)
        np.testing.assert_allclose(ours.qvel, theirs.qvel, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(ours.qpos, theirs.qpos, rtol=1e-10, atol=1e-12)


def test_a_force_between_the_halves_of_a_step_acts_in_it():
    model = mixed()
    stepper, a, b = Stepper(model), mujoco.MjData(model), mujoco.MjData(model)
    stepper.step(a)
    stepper.step1(b)
    b.qfrc_applied[0] = 5.0
    stepper.step2(b)
    assert b.qvel[0] > a.qvel[0]


def test_control_callback_is_called_once_a_step():
    model = mixed()
    stepper, data, calls = Stepper(model), mujoco.MjData(model), []

    def control(_model, now):
        calls.append(now.time)
        now.ctrl[:] = 1.0

    mujoco.set_mjcb_control(control)
    try:
        for _ in range(3):
            stepper.step(data)
    finally:
        mujoco.set_mjcb_control(None)
    assert calls == pytest.approx([0.0, 0.004, 0.008])
    assert (data.qfrc_actuator != 0).any()


# ---- what a step leaves in the data -------------------------------------------------------------


@pytest.mark.parametrize("cone", CONES)
def test_forces_in_the_data_agree_with_each_other(cone):
    """Accelerations, generalized forces, rows, contact forces and the solution are one thing."""
    model = mixed(cone)
    stepper, data = Stepper(model, contact=ContactMaterial(stiffness=1e5)), mujoco.MjData(model)
    dt, pressed = stepper.time_step, 0
    for i in range(200):
        set_controls(model, data, i)
        before = data.qvel.copy(), data.qpos.copy(), data.time
        stepper.step(data)
        solution, contacts = stepper.solution, stepper.contacts
        scale = max(1.0, np.abs(data.qfrc_constraint).max())

        # motion: M a = f + J^T gamma/dt - dt D a, and symplectic Euler
        np.testing.assert_allclose(data.qvel, solution.v, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(data.qvel, before[0] + dt * data.qacc, rtol=0, atol=1e-14)
        moved = before[1].copy()
        mujoco.mj_integratePos(model, moved, data.qvel, dt)
        np.testing.assert_allclose(data.qpos, moved, rtol=0, atol=1e-14)
        assert data.time == before[2] + dt
        M = mass_matrix(model, data)
        momentum = M @ data.qacc + dt * model.dof_damping * data.qacc
        balance = data.qfrc_smooth + data.qfrc_constraint - momentum
        tolerance = 1e-5 * np.sqrt(np.diag(M)).max() * scale
        np.testing.assert_allclose(balance, 0, rtol=0, atol=tolerance)

        # rows of constraints, whatever the cone
        rows = constraint_rows(stepper.model, data)
        np.testing.assert_allclose(
            rows.T @ data.efc_force, data.qfrc_constraint, rtol=0, atol=1e-11 * scale
        )
        assert not contacts.force[contacts.index < 0].any()
        for c in np.flatnonzero(contacts.index >= 0):
            index, force = contacts.index[c], np.empty(6)
            mujoco.mj_contactForce(model, data, index, force)
            f_t1, f_t2, f_n = solution.gamma[c] / dt
            np.testing.assert_allclose(force[:3], [f_n, f_t1, f_t2], rtol=1e-11, atol=1e-9)
            address, dim = data.contact.efc_address[index], data.contact.dim[index]
            if cone == "elliptic":
                expected = [f_n, f_t1, f_t2][:dim]
                np.testing.assert_array_equal(data.efc_force[address : address + dim], expected)
            np.testing.assert_array_equal(contacts.force[c], solution.gamma[c] / dt)
            pressed += f_n > 0
        np.testing.assert_array_equal(data.qacc_warmstart, data.qacc)
    assert pressed > 200


@pytest.mark.parametrize("cone", CONES)
def test_sensors_show_the_contact_forces(cone):
    """Touch of the arm's tip and acceleration of the ball, from first principles."""
    model = mixed(cone)
    stepper, data = Stepper(model, contact=ContactMaterial(stiffness=1e5)), mujoco.MjData(model)
    touched = 0
    for i in range(300):
        set_controls(model, data, i)
        stepper.step(data)
        touch = data.sensor(0).data[0]
        tip = model.site("tip").bodyid[0]
        normal = 0.0
        for c, geoms in enumerate(stepper.contacts.geoms):
            if tip in model.geom_bodyid[geoms]:
                normal += stepper.contacts.force[c, 2]
        assert touch == pytest.approx(normal, rel=1e-12, abs=1e-12)
        touched += touch > 0

        # acceleration of a free body's origin less gravity, as an accelerometer has it
        ball = model.joint(model.body("ball").jntadr[0]).dofadr[0]
        np.testing.assert_allclose(
            data.sensor(4).data, data.qacc[ball : ball + 3] - model.opt.gravity, atol=1e-9
        )
    assert touched > 5


def test_sensors_are_those_of_mujoco_for_the_same_forces():
    """Every sensor equals what MuJoCo computes from the same accelerations and forces."""
    model = mixed()
    material = ContactMaterial(stiffness=1e5)
    stepper, data = Stepper(model, contact=material, speculative=False), mujoco.MjData(model)
    for i in range(150):
        set_controls(model, data, i)
        stepper.step1(data)
        state = mujoco.MjData(model)
        mujoco.mj_copyData(state, model, data)
        stepper.step2(data)
        # the same state, accelerations and forces, through MuJoCo alone
        mujoco.mj_step1(stepper.model, state)
        mujoco.mj_fwdActuation(stepper.model, state)
        mujoco.mj_fwdAcceleration(stepper.model, state)
        state.qacc[:], state.efc_force[:] = data.qacc, data.efc_force
        state.flg_rnepost = 0
        mujoco.mj_sensorAcc(stepper.model, state)
        np.testing.assert_array_equal(state.sensordata, data.sensordata)


def test_conveyor_carries_a_box():
    """surfacevel: friction brings a box to the speed of the belt, whichever geom is first."""
    for belt in ('type="plane" size="2 2 1"', 'type="box" size="2 2 .1" pos="0 0 -.1"'):
        xml = f"""<mujoco><option timestep="0.01"/><worldbody>
          <geom name="belt" {belt} surfacevel="0.3 -0.1 0 0 0 0"/>
          <body pos="0 0 .0499"><freejoint/><geom type="box" size=".1 .1 .05"/></body>
          </worldbody></mujoco>"""
        model = mujoco.MjModel.from_xml_string(xml)
        if mujoco.__version__ < "4":
            with pytest.raises(NotSupported, match=r"surfacevel: geom 'belt'; .* version 4\.0"):
                Stepper(model)
            continue
        stepper, data = Stepper(model, contact=ContactMaterial(friction=0.5)), mujoco.MjData(model)
        stepper.step(data)
        # kinetic friction at first, in the direction of the belt
        pressure = stepper.contacts.force[:, 2].sum()
        friction = 0.5 * pressure * np.array([0.3, -0.1]) / np.hypot(0.3, 0.1)
        np.testing.assert_allclose(data.qacc[:2] * model.body_mass[1], friction, rtol=1e-3)
        for _ in range(100):
            stepper.step(data)
        np.testing.assert_allclose(data.qvel[:3], [0.3, -0.1, 0.0], atol=1e-4)
        assert stepper.slip_speed.max() < 1e-3
