"""Records of runs: the same as asking after each step, whatever ends the run."""

from __future__ import annotations

import signal

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import (
    mixed,
    physics_state,
    set_controls,
)
from sapwood import _core
from sapwood.mujoco import StepError, Stepper
from sapwood.mujoco.results.recording import NAMES
from sapwood.studies import scenes

SPEC = mujoco.mjtState.mjSTATE_FULLPHYSICS

# loops in C and, of another scheme, in Python
LOOPS = ["symplectic_euler", "midpoint"]


def make(model, loop):
    """A stepper whose steps are taken in one of the loops."""
    return Stepper(model, scheme=loop)


def steered(model):
    """A callback that sets controls."""
    return lambda data: set_controls(model, data, round(data.time / model.opt.timestep))


@pytest.mark.parametrize("loop", LOOPS)
def test_records_are_what_each_step_left(loop):
    model = mixed()
    one_by_one, at_once = make(model, loop), make(model, loop)
    a, b = mujoco.MjData(model), mujoco.MjData(model)
    steps, steer = 60, steered(model)
    told = {name: [] for name in NAMES}
    for _ in range(steps):
        one_by_one.step(a)
        for name in _core.RECORDED:
            told[name].append(getattr(a, name).copy())
        told["state"].append(physics_state(model, a))
        contacts = one_by_one.contacts
        told["contacts"].append(contacts)
        forces = [contacts.force_on_body(body) for body in range(model.nbody)]
        told["force"].append(np.array(forces))
        steer(a)
    result = at_once.run(b, steps, steer, record=NAMES)
    for name in (*_core.RECORDED, "state"):
        np.testing.assert_array_equal(getattr(result, name), told[name], name)
    np.testing.assert_allclose(result.force, told["force"], atol=1e-9)
    assert result.contacts.max() > 0
    assert len(result.all_contacts) == result.contacts.sum()
    for i, contacts in enumerate(told["contacts"]):
        np.testing.assert_array_equal(result.contacts_of(i).records, contacts.records)
        assert result.contacts_of(i - steps).names == contacts.names


def test_what_is_not_asked_for_is_not_there():
    model = mixed()
    stepper, data = Stepper(model), mujoco.MjData(model)
    result = stepper.run(data, 3, record=["qpos", "qpos"])
    assert result.qpos.shape == (3, model.nq)
    for name in ("qvel", "state", "force", "all_contacts"):
        assert not hasattr(result, name)
    with pytest.raises(AttributeError, match=r"contacts was not recorded: run\(\.\.\., record="):
        result.contacts_of(0)
    with pytest.raises(AttributeError, match="qpos was not recorded"):
        _ = stepper.run(data, 3).qpos


@pytest.mark.parametrize(
    ("record", "error", "message"),
    [
        (["qpos", "speed"], ValueError, "record: 'speed' must be one of qpos, qvel, .*, contacts"),
        ("qpos", TypeError, "record must be a collection of str, not str"),
        (3, TypeError, "record must be a collection of str, not int"),
        ([3], ValueError, "record: 3 must be one of"),
    ],
)
def test_wrong_names_are_refused(record, error, message):
    model = mixed()
    stepper, data = Stepper(model), mujoco.MjData(model)
    with pytest.raises(error, match=message):
        stepper.run(data, 1, record=record)
    assert stepper.steps == 0


def test_steps_that_are_not_there():
    model = mixed()
    result = Stepper(model).run(mujoco.MjData(model), 5, record=["contacts"])
    for step in (5, -6):
        with pytest.raises(IndexError, match=f"step = {step}: the run has 5 steps"):
            result.contacts_of(step)
    with pytest.raises(TypeError):
        result.contacts_of(1.0)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_run_of_no_steps_and_a_model_of_nothing(loop):
    empty = mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>")
    for model, steps in ((mixed(), 0), (empty, 4)):
        stepper, data = make(model, loop), mujoco.MjData(model)
        result = stepper.run(data, steps, record=NAMES)
        assert result.qpos.shape == (steps, model.nq)
        assert result.force.shape == (steps, model.nbody, 3)
        assert len(result.all_contacts) == 0
        assert result.contact_offsets.tolist() == [0] * (steps + 1)


# ---- what ends a run early ----------------------------------------------------------------------


def check_prefix(stepper, expected):
    """The records are the first steps of the whole run."""
    result = stepper.last_run
    n = result.steps
    assert 0 < n < expected.steps
    np.testing.assert_array_equal(result.qpos, expected.qpos[:n])
    np.testing.assert_array_equal(result.force, expected.force[:n])
    np.testing.assert_array_equal(
        result.all_contacts.records, expected.all_contacts.records[: expected.contact_offsets[n]]
    )


@pytest.mark.parametrize("loop", LOOPS)
def test_what_was_recorded_stays(loop):
    model, record = mixed(), ("qpos", "force", "contacts")
    stepper, expected = make(model, loop), make(model, loop)
    expected = expected.run(mujoco.MjData(model), 40, record=record)

    # the callback ends it, or fails, and sees what there is
    seen = []

    def look(_data):
        last = stepper.last_run
        seen.append((last.qpos[-1].copy(), last.contacts_of(-1).records))
        return len(seen) == 3

    stepper.run(mujoco.MjData(model), 40, look, every=5, record=record)
    check_prefix(stepper, expected)
    assert stepper.last_run.steps == 15
    for i, (qpos, contacts) in enumerate(seen):
        np.testing.assert_array_equal(qpos, expected.qpos[5 * i + 4])
        np.testing.assert_array_equal(contacts, expected.contacts_of(5 * i + 4).records)
    with pytest.raises(ZeroDivisionError):
        stepper.run(mujoco.MjData(model), 40, lambda _: 1 // 0, every=7, record=record)
    check_prefix(stepper, expected)

    # a step that cannot be taken, after one whose callback of MuJoCo raises
    def spoil(data):
        if stepper.last_run.steps == 20:
            data.qfrc_applied[0] = np.inf

    with pytest.raises(StepError):
        stepper.run(mujoco.MjData(model), 40, spoil, every=10, record=record)
    check_prefix(stepper, expected)
    assert stepper.last_run.steps == 20


def test_a_step_that_fails_behind_its_contacts_leaves_none_of_them():
    """A sensor of forces raises once the contacts of the step are known."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
        <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody>
        <sensor><user dim="1" needstage="acc"/></sensor></mujoco>"""
    )
    stepper, data, calls = Stepper(model), mujoco.MjData(model), []

    def sense(_model, _data, stage):
        calls.append(stage)
        if calls.count(mujoco.mjtStage.mjSTAGE_ACC) == 7:
            raise ZeroDivisionError

    mujoco.set_mjcb_sensor(sense)
    try:
        with pytest.raises(ZeroDivisionError):
            stepper.run(data, 12, record=["contacts", "qpos"])
    finally:
        mujoco.set_mjcb_sensor(None)
    result = stepper.last_run
    assert result.steps == 6
    assert len(result.all_contacts) == result.contacts.sum() == 24
    np.testing.assert_array_equal(result.qpos[-1], data.qpos)


@pytest.mark.undisturbed
def test_ctrl_c_keeps_what_was_recorded():
    model = mixed()
    stepper, data = Stepper(model), mujoco.MjData(model)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            stepper.run(data, 10**6, record=["contacts", "qpos"])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    result = stepper.last_run
    assert result.steps > 0
    assert len(result.all_contacts) == result.contacts.sum()
    np.testing.assert_array_equal(result.qpos[-1], data.qpos)


# ---- the core -----------------------------------------------------------------------------------


def test_a_log_grows():
    model = scenes.clutter(8, walls=True, seed=1).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 200)
    contacts, log = stepper._steps.contacts(), _core.ContactLog()
    assert len(log.array()) == 0
    for _ in range(500):
        log.append(contacts)
    np.testing.assert_array_equal(log.array(), np.tile(contacts, 500))
    for wrong in (None, np.zeros(3), contacts[::2], np.zeros(2, dtype=_core.STEP_RECORD)):
        with pytest.raises(TypeError, match="contiguous array of dtype CONTACT_RECORD"):
            log.append(wrong)
    with pytest.raises(TypeError):
        _core.ContactLog(3)


def test_wrong_room_is_refused():
    model = mixed()
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.step(data)
    steps, room = stepper._steps, {"qpos": np.zeros((2, model.nq))}
    arguments = steps._engine, stepper.model, data, 2, None, False, None
    assert steps._core.run(*arguments, room)[0] == 2
    for wrong, error in [
        ([], TypeError),
        ({"qpos": np.zeros((1, model.nq))}, ValueError),
        ({"qpos": np.zeros((2, model.nq + 1))}, ValueError),
        ({"qvel": np.zeros((2, model.nv), dtype=np.float32)}, TypeError),
        ({"force": np.zeros((2, model.nbody))}, ValueError),
        ({"state": np.zeros((2, 1)), "state_spec": int(SPEC)}, ValueError),
        ({"state_spec": "all"}, TypeError),
        ({"contacts": []}, TypeError),
    ]:
        with pytest.raises(error):
            steps._core.run(*arguments, wrong)
