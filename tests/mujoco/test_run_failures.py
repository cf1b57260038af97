"""Runs that fail or are interfered with: by bad states, full memory, MuJoCo's own callbacks."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import boxes_on_floor, full_state, mixed
from sapwood import RigidCore
from sapwood.mujoco import ContactMaterial, NotSupported, StepError, Stepper
from sapwood.studies import scenes


@pytest.fixture
def callbacks():
    """Takes away what a test registered with MuJoCo."""
    yield
    mujoco.set_mjcb_control(None)
    mujoco.set_mjcb_passive(None)
    mujoco.set_mju_user_warning(None)


@pytest.mark.parametrize(
    ("field", "index", "value", "message"),
    [
        ("qpos", 1, np.nan, r"qpos\[1\] = nan: must be finite"),
        ("qvel", 5, -1e11, r"qvel\[5\] = -1e\+11"),
        ("ctrl", 0, np.inf, r"ctrl\[0\] = inf"),
        ("mocap_pos", (0, 2), np.nan, r"mocap_pos\[0, 2\] = nan"),
        ("mocap_quat", (0, 3), np.inf, r"mocap_quat\[0, 3\] = inf"),
        ("qfrc_applied", 3, np.nan, "free acceleration of dof .*qfrc_applied"),
        ("xfrc_applied", (4, 1), np.nan, "free acceleration of dof"),
        ("qfrc_applied", 0, 1e13, "acceleration of dof 0"),
    ],
)
def test_a_failure_tells_its_step_and_keeps_those_before(field, index, value, message):
    model = mixed()
    stepper, data = Stepper(model), mujoco.MjData(model)
    same, kept = Stepper(model), mujoco.MjData(model)

    def spoil(data):
        if stepper.last_run.steps == 7:
            getattr(data, field)[index] = value

    with pytest.raises(StepError, match=rf"^step 7 at time 0\.028 s: .*{message}") as caught:
        stepper.run(data, 20, spoil)
    assert (caught.value.step, caught.value.world) == (7, None)
    assert caught.value.time == data.time
    assert stepper.last_run.steps == stepper.steps == 7
    expected = same.run(kept, 7)
    for column in ("time", "contacts", "iterations", "momentum_error"):
        np.testing.assert_array_equal(
            getattr(stepper.last_run, column), getattr(expected, column), column
        )
    getattr(kept, field)[index] = value
    np.testing.assert_array_equal(full_state(model, data), full_state(model, kept))
    # and on it goes
    getattr(data, field)[index] = 1.0 if field == "mocap_quat" else 0.0
    stepper.run(data, 5)
    assert stepper.steps == 12


def test_faults_of_contacts_are_named():
    model = scenes.sphere_on_floor(0.001).compile()
    model.geom_friction[1, 1] = 0.01
    stepper = Stepper(model, contact=ContactMaterial(1e4, core=RigidCore(0.01)))
    data = mujoco.MjData(model)

    def control(model, data):
        if data.time > 0.05:
            model.geom_condim[1] = 6

    mujoco.set_mjcb_control(control)
    try:
        with pytest.raises(StepError, match=r"contact of geom 'floor' and geom 'sphere': condim 6"):
            stepper.run(data, 1000)
    finally:
        mujoco.set_mjcb_control(None)
    taken = stepper.last_run.steps
    assert taken > 10
    assert data.time == pytest.approx(taken * stepper.time_step)
    with pytest.raises(NotSupported, match="condim 6"):
        stepper.step(data)


def test_the_solvers_refusals_are_step_errors(tmp_path, monkeypatch):
    """A mass that is no mass, put into the model behind the stepper's back."""
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log file
    model = scenes.sphere_on_floor(-0.001).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.model.dof_M0[:] = -1.0
    for call in (stepper.step, lambda data: stepper.run(data, 3)):
        with pytest.raises(StepError, match="positive definite"):
            call(data)
    assert data.time == 0


@pytest.mark.parametrize("memory", ["12K", "16K", "24K", "32K", "48K", "64K"])
def test_full_memory_neither_ends_the_process_nor_eats_the_rest(memory, tmp_path, monkeypatch):
    """MuJoCo's errors come back with its stack as it was, so the hundredth is like the first."""
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log file
    model = boxes_on_floor(memory)
    stepper, data = Stepper(model), mujoco.MjData(model)
    texts = set()
    for _ in range(100):
        with pytest.raises(StepError, match="the memory of the model is too small") as caught:
            stepper.run(data, 3)
        texts.add(str(caught.value))
        assert data.pstack == 0
    assert len(texts) == 1
    assert stepper.last_run.steps == 0
    # far apart there is nothing to remember
    data.qpos[2::7] = np.arange(10) + 1.0
    assert stepper.run(data, 3).steps == 3


@pytest.mark.usefixtures("callbacks")
def test_warnings_of_mujoco_go_where_they_went(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = boxes_on_floor("24K")
    texts = {"mj_step": [], "run": []}
    for name, kept in texts.items():
        stepper, data = Stepper(model), mujoco.MjData(model)
        mujoco.set_mju_user_warning(kept.append)
        if name == "run":
            with pytest.raises(StepError):
                stepper.run(data, 1)
        else:
            mujoco.mj_step1(model, data)
    assert texts["run"] == texts["mj_step"] != []


# ---- MuJoCo's callbacks -------------------------------------------------------------------------


@pytest.mark.usefixtures("callbacks")
def test_control_callback_is_called_once_a_step():
    model = mixed()
    stepper, data, calls = Stepper(model), mujoco.MjData(model), []

    def control(_model, now):
        calls.append(now.time)
        # a call of MuJoCo in a callback may fail, and must not disturb the step
        with pytest.raises(TypeError):
            mujoco.mj_setState(_model, now, np.zeros(3), 1)
        assert stepper.contacts is not None
        now.ctrl[:] = 1.0

    mujoco.set_mjcb_control(control)
    stepper.run(data, 5)
    assert calls == pytest.approx(0.004 * np.arange(5))
    assert (data.qfrc_actuator != 0).any()


@pytest.mark.usefixtures("callbacks")
@pytest.mark.parametrize("kind", ["control", "passive"])
def test_an_exception_in_a_callback_of_mujoco_ends_the_run(kind):
    model = mixed()
    stepper, data = Stepper(model), mujoco.MjData(model)
    calls = []

    def fail(_model, now):
        calls.append(now.time)
        if len(calls) == 4:
            raise KeyError("no such thing")

    getattr(mujoco, f"set_mjcb_{kind}")(fail)

    def one_by_one(data, steps):
        for _ in range(steps):
            stepper.step(data)

    for call in (stepper.run, one_by_one):
        calls.clear()
        data.time = 0.0
        with pytest.raises(KeyError, match="no such thing") as caught:
            call(data, 10)
        assert data.time == pytest.approx(3 * 0.004)
        assert data.pstack == 0
        assert caught.traceback[-1].name == "fail"
    assert stepper.steps == 6
    mujoco.set_mjcb_control(None)
    mujoco.set_mjcb_passive(None)
    stepper.run(data, 10)
    assert stepper.steps == 16


@pytest.mark.usefixtures("callbacks")
def test_runs_within_callbacks_of_mujoco(tmp_path, monkeypatch):
    """Errors find their own run, however deep: the inner one fails, the outer one goes on."""
    monkeypatch.chdir(tmp_path)
    outer_model, small = scenes.sphere_on_floor(1.0).compile(), boxes_on_floor("64K")
    outer, inner = Stepper(outer_model), Stepper(small)
    data, inner_data, failures = mujoco.MjData(outer_model), mujoco.MjData(small), []

    def control(model, _data):
        if model.nbody == outer_model.nbody:
            with pytest.raises(StepError) as caught:
                inner.run(inner_data, 1)
            failures.append(caught.value)

    mujoco.set_mjcb_control(control)
    assert outer.run(data, 5).steps == 5
    assert len(failures) == 5
    mujoco.set_mjcb_control(None)
    # and after all that an error of the outer level is caught still
    with pytest.raises(StepError, match="too small"):
        inner.run(inner_data, 1)


@pytest.mark.usefixtures("callbacks")
def test_options_changed_by_a_callback():
    model = scenes.sphere_on_floor(1.0).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)

    def set_flag(_data):
        stepper.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)

    # options beside the stepper take effect
    stepper.run(data, 1)
    falling = data.qvel[2]
    stepper.run(data, 10, set_flag)
    assert data.qvel[2] == pytest.approx(2 * falling)

    def set_cone(_model, now):
        if now.time > 20.5 * stepper.time_step:
            stepper.model.opt.cone = 1 - stepper.model.opt.cone

    mujoco.set_mjcb_control(set_cone)
    with pytest.raises(ValueError, match=r"stepper\.model\.opt: .* belong to the stepper"):
        stepper.run(data, 100)
    # the step that changed it is the last one
    assert data.time == pytest.approx(22 * stepper.time_step)
    assert stepper.last_run.steps == 11
