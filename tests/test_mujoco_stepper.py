"""The stepper in place of mj_step: its stages, what it leaves in the data, threads and results."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import (
    FLAGS,
    constraint_rows,
    full_state,
    mass_matrix,
    mixed,
    set_controls,
    urdf_on_floor,
)
from sapwood import scenes
from sapwood.mujoco import ContactMaterial, NotSupported, Stepper

CONES = ["elliptic", "pyramidal"]


def run(stepper, data, steps):
    for _ in range(steps):
        stepper.step(data)


# ---- the stages ---------------------------------------------------------------------------------


class MujocosOwn:
    """Stands for the contact part of a step: MuJoCo's own solver."""

    def __init__(self, model):
        self.model, self.data = model, None

    def solve(self, *_arrays):
        mujoco.mj_fwdConstraint(self.model, self.data)
        return 0


@pytest.mark.parametrize("cone", CONES)
def test_stages_are_those_of_mj_step_to_the_last_bit(cone):
    """With mj_fwdConstraint in place of our solve a trajectory is that of mj_step."""
    model = mixed(cone)
    model.opt.disableflags |= int(FLAGS)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    stepper = Stepper(model, implicit_actuators=False)
    own = MujocosOwn(stepper.model)
    own.data = ours
    stepper._core = own
    contacts = 0
    for i in range(300):
        for data in (ours, theirs):
            set_controls(model, data, i)
        mujoco.mj_step(model, theirs)
        stepper.step1(ours)
        stepper.step2(ours)
        np.testing.assert_array_equal(full_state(model, ours), full_state(model, theirs))
        for field in ("qacc", "qfrc_constraint", "efc_force", "sensordata", "energy", "cfrc_ext"):
            np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field), field)
        contacts += ours.ncon
    assert contacts > 300


def test_without_contact_a_step_is_mj_step():
    """Free dofs are not touched: the same bits as MuJoCo where it damps nothing implicitly."""
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
def test_damping_is_implicit_as_in_mujoco(kind, joint, actuator, enabled):
    """Without contact, mj_step with its implicit damping gives the same motion."""
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


@pytest.mark.parametrize("cone", CONES)
def test_step_is_step1_and_step2(cone):
    """The stages that a step calls from C, and those that its halves call from Python."""
    model = mixed(cone)
    whole, halves = Stepper(model), Stepper(model)
    a, b = mujoco.MjData(model), mujoco.MjData(model)
    for i in range(300):
        set_controls(model, a, i)
        set_controls(model, b, i)
        whole.step(a)
        halves.step1(b)
        halves.step2(b)
        np.testing.assert_array_equal(full_state(model, a), full_state(model, b))
        for field in ("qacc", "qfrc_constraint", "efc_force", "sensordata", "cfrc_ext"):
            np.testing.assert_array_equal(getattr(a, field), getattr(b, field), field)
    assert whole.solution == halves.solution
    assert whole.n_contacts > 0
    # a force set in between acts in the same step
    for data in (a, b):
        data.qvel[:] = 0
    whole.step(a)
    halves.step1(b)
    b.qfrc_applied[0] = 5.0
    halves.step2(b)
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
        for c, index in enumerate(contacts.index):
            force = np.empty(6)
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
        for c, index in enumerate(stepper.contacts.index):
            if tip in model.geom_bodyid[data.contact.geom[index]]:
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
    stepper, data = Stepper(model, contact=ContactMaterial(stiffness=1e5)), mujoco.MjData(model)
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


# ---- results and counters -----------------------------------------------------------------------


def test_results_before_and_after_the_first_step():
    model = scenes.sphere_on_floor(0.001).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    assert stepper.solution is None
    assert (stepper.n_contacts, stepper.steps) == (0, 0)
    assert stepper.penetration.shape == stepper.slip_speed.shape == (0,)
    stepper.step(data)
    assert stepper.solution.status is sapwood.Status.converged
    assert stepper.solution.gamma.shape == (0, 3)
    while stepper.n_contacts == 0:
        stepper.step(data)
    contacts = stepper.contacts
    assert contacts.index.tolist() == [0]
    assert contacts.force.shape == (1, 3)
    np.testing.assert_array_equal(stepper.penetration, -contacts.distance)
    assert stepper.contacts is contacts
    assert "steps=" in repr(stepper)
    assert "sphere_on_floor" in repr(stepper)


def test_results_are_copies():
    model = scenes.box_on_slope(0.1, 0.5).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    for _ in range(5):
        stepper.step(data)
    solution, contacts = stepper.solution, stepper.contacts
    v, force = solution.v.copy(), contacts.force.copy()
    for _ in range(5):
        stepper.step(data)
    np.testing.assert_array_equal(solution.v, v)
    np.testing.assert_array_equal(contacts.force, force)


def test_steps_that_did_not_converge_are_counted_and_told_once():
    model = scenes.clutter(8, seed=2).compile()
    stepper = Stepper(model, settings=sapwood.SapSettings(max_iterations=0))
    data = mujoco.MjData(model)
    with pytest.warns(RuntimeWarning, match="ended in iteration_limit") as record:
        run(stepper, data, 30)
    assert len(record) == 1
    assert stepper.iteration_limit_steps > 1
    assert (stepper.steps, stepper.stalled_steps) == (30, 0)
    assert data.time == pytest.approx(0.3)


def take_step(stepper, data):
    stepper.step(data)


def take_run(stepper, data):
    stepper.run(data, 10)


def take_halves(stepper, data):
    stepper.step1(data)
    stepper.step2(data)


@pytest.mark.parametrize("take", [take_step, take_halves, take_run])
def test_warning_points_at_the_line_that_steps(take):
    model = scenes.sphere_on_floor(-0.001).compile()
    stepper = Stepper(model, settings=sapwood.SapSettings(max_iterations=0))
    with pytest.warns(RuntimeWarning, match="ended in iteration_limit") as record:
        take(stepper, mujoco.MjData(model))
    lines, first = inspect.getsourcelines(take)
    # the step is the last line
    assert (record[0].filename, record[0].lineno) == (__file__, first + len(lines) - 1)


def take_often(take, stepper, data):
    for _ in range(30):
        take(stepper, data)


class Stalled:
    """Stands for a core whose every solve stalls, which on a real one round-off decides."""

    def __init__(self, core):
        self.core, self.stalls = core, 0
        self.result = core.result

    def solve(self, *arrays):
        self.core.solve(*arrays)
        self.stalls += 1
        return int(sapwood.Status.stalled)

    def run(self, *arguments):
        taken, _, failure = self.core.run(*arguments)
        self.stalls += taken
        if arguments[4] is not None:
            arguments[4]["status"][:taken] = sapwood.Status.stalled
        return taken, taken, failure

    def accept_options(self, *arguments):
        self.core.accept_options(*arguments)

    def counts(self):
        return 0, self.stalls, 0


@pytest.mark.parametrize("take", [take_step, take_halves, take_run])
def test_steps_that_stall_are_counted_and_told_once(take, monkeypatch):
    model = scenes.clutter(8, seed=2).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    monkeypatch.setattr(stepper, "_core", Stalled(stepper._core))
    message = r"time 0 s: .* ended in stalled at a momentum"
    with pytest.warns(RuntimeWarning, match=message) as record:
        take_often(take, stepper, data)
    assert len(record) == 1
    taken = 300 if take is take_run else 30
    assert stepper.steps == stepper.stalled_steps == taken
    assert stepper.iteration_limit_steps == 0


def test_time_step_may_differ_from_the_models():
    model = scenes.sphere_on_floor(1.0).compile()
    stepper, data = Stepper(model, time_step=0.02), mujoco.MjData(model)
    stepper.step(data)
    assert data.time == 0.02
    assert data.qvel[2] == pytest.approx(-9.81 * 0.02)
    assert model.opt.timestep == 1e-4
    assert stepper.time_step == stepper.model.opt.timestep == 0.02


def test_the_model_given_is_not_changed():
    model = mixed()
    flags = model.opt.disableflags
    stepper, data = Stepper(model, time_step=0.001), mujoco.MjData(model)
    stepper.step(data)
    assert (model.opt.disableflags, model.opt.timestep) == (flags, 0.004)
    assert stepper.model is not model
    # physical values are changed on the stepper's own model
    stepper.model.opt.gravity[:] = 0
    fresh = mujoco.MjData(model)
    stepper.step(fresh)
    ball = model.joint(model.body("ball").jntadr[0]).dofadr[0]
    assert abs(fresh.qvel[ball + 2]) < 1e-12


# ---- several data, several threads --------------------------------------------------------------


def trajectory(stepper, n=60):
    data = mujoco.MjData(stepper.model)
    for _ in range(n):
        stepper.step(data)
    return full_state(stepper.model, data)


def test_several_data_in_turn():
    model = scenes.clutter(6, seed=4).compile()
    alone = trajectory(Stepper(model))
    stepper = Stepper(model)
    several = [mujoco.MjData(model) for _ in range(3)]
    for _ in range(60):
        for data in several:
            stepper.step(data)
    for data in several:
        np.testing.assert_array_equal(full_state(model, data), alone)


@pytest.mark.parametrize("shared", [True, False])
def test_threads_give_the_bits_of_a_serial_run(shared):
    model = scenes.clutter(6, seed=4).compile()
    expected = trajectory(Stepper(model))
    one, results, errors = Stepper(model), [], []

    def work():
        try:
            results.append(trajectory(one if shared else Stepper(model)))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(results) == 6
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_data_may_go_before_the_stepper():
    model = scenes.clutter(4).compile()
    stepper = Stepper(model)
    for _ in range(20):
        data = mujoco.MjData(model)
        stepper.step(data)
        del data
    assert stepper.steps == 20


@pytest.mark.parametrize(
    "make", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_copies_go_on_as_the_original(make):
    model = mixed()
    stepper = Stepper(model, time_step=0.002, contact=ContactMaterial(1e5), sigma=1e-4)
    run(stepper, mujoco.MjData(model), 5)
    other = make(stepper)
    assert (other.steps, other.solution, other.time_step) == (5, None, 0.002)
    a, b = mujoco.MjData(model), mujoco.MjData(model)
    run(stepper, a, 40)
    run(other, b, 40)
    np.testing.assert_array_equal(full_state(model, a), full_state(model, b))
    assert other.solution == stepper.solution
    assert (other.steps, stepper.steps) == (45, 45)


def test_urdf_model_comes_to_rest():
    model = urdf_on_floor()
    stepper, data = Stepper(model, contact=ContactMaterial(friction=0.8)), mujoco.MjData(model)
    data.qvel[:] = 0.5
    for _ in range(2000):
        stepper.step(data)
    assert stepper.n_contacts >= 1
    assert np.abs(data.qvel).max() < 1e-3
    assert 0 < stepper.penetration.max() < 1e-3
