"""A step fails by name, with a remedy, the state untouched."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import boxes_on_floor, mixed
from sapwood.mujoco import StepError, Stepper
from sapwood.studies import scenes


def test_step_errors_survive_pickling():
    error = pickle.loads(pickle.dumps(StepError("too far", 0.25)))
    assert isinstance(error, StepError)
    assert (str(error), error.time) == ("step at time 0.25 s: too far", 0.25)
    error = pickle.loads(pickle.dumps(StepError("too far", 0.25, 17, 3)))
    assert (error.step, error.world) == (17, 3)
    assert str(error) == "world 3, step 17 at time 0.25 s: too far"
    error.step = 18
    assert str(pickle.loads(pickle.dumps(error))).startswith("world 3, step 18 at time")


def test_a_step_error_may_have_less_than_all():
    assert np.isnan(StepError("too far").time)
    assert str(StepError("too far", np.nan, 4)) == "step 4 at time nan s: too far"


FRICTION_OF_DOFS = """<mujoco><worldbody>
  <body><freejoint/><geom size=".1"/>
    <body pos=".2 0 0"><joint name="hinge" axis="0 1 0" frictionloss=".1" {}/><geom size=".1"/>
  </body></body></worldbody></mujoco>"""


@pytest.mark.parametrize("how", ["step", "run"])
@pytest.mark.parametrize(("limit", "told"), [("", False), ("range='-90 -2'", True)])
def test_rows_of_dry_friction_are_no_violations(how, limit, told):
    """The number of such a row is that of a dof, and a floating base has more dofs than joints."""
    model = mujoco.MjModel.from_xml_string(FRICTION_OF_DOFS.format(limit))
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.xfrc_applied[1, 0] = 1e25
    with pytest.raises(StepError, match="acceleration of dof 0") as caught:
        stepper.step(data) if how == "step" else stepper.run(data, 3)
    assert ("at its start" in str(caught.value)) == told
    assert ("joint 'hinge' is 0.0349 rad beyond its limit" in str(caught.value)) == told


def unchanged_after(stepper, data, message):
    """The step fails with this message and leaves the state as it is."""
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    before = np.empty(mujoco.mj_stateSize(stepper.model, kind))
    after = before.copy()
    mujoco.mj_getState(stepper.model, data, before, kind)
    for call in (stepper.problem, stepper.step):
        with pytest.raises(StepError, match=message) as caught:
            call(data)
        assert caught.value.time == data.time
    mujoco.mj_getState(stepper.model, data, after, kind)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e11])
@pytest.mark.parametrize("field", ["qpos", "qvel", "ctrl"])
def test_bad_states_are_named(field, value):
    model = mixed()
    stepper, data = Stepper(model), mujoco.MjData(model)
    for _ in range(3):
        stepper.step(data)
    getattr(data, field)[1] = value
    unchanged_after(
        stepper, data, re.escape(f"time 0.012 s: {field}[1] = {value:g}: must be finite")
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("field", ["mocap_pos", "mocap_quat"])
def test_bad_poses_of_mocap_bodies_are_named(field, value):
    """MuJoCo goes on with them, without the contacts of the body."""
    model = mixed()
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.step(data)
    getattr(data, field)[0, 2] = value
    unchanged_after(stepper, data, re.escape(f"{field}[0, 2] = {value:g}: must be finite"))


@pytest.mark.parametrize("field", ["qfrc_applied", "xfrc_applied"])
def test_bad_forces_are_named(field):
    model = mixed()
    stepper, data = Stepper(model), mujoco.MjData(model)
    getattr(data, field)[-1] = np.nan
    unchanged_after(
        stepper, data, "free acceleration of dof .* not finite or too large.*xfrc_applied"
    )


def test_too_large_accelerations_do_not_reset_the_simulation():
    """MuJoCo would put the state back to the start."""
    model = scenes.sphere_on_floor(1.0).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    for _ in range(3):
        stepper.step(data)
    data.qfrc_applied[0] = 1e12
    with pytest.raises(StepError, match=r"acceleration of dof 0 \(joint 'sphere'\) is not finite"):
        stepper.step(data)
    assert data.time > 0
    data.qfrc_applied[0] = 0.0
    stepper.step(data)
    assert stepper.steps == 4


WHIRLING = """<mujoco><option timestep="0.01"/><default><geom type="capsule" size=".045"
  fromto="0 0 0 0 0 .6" contype="0"/></default><worldbody>
  <body><joint name="upper" axis="0 1 0"/><geom/>
    <body pos="0 0 .6"><joint name="lower" axis="0 1 0"/><geom/></body></body></worldbody>
</mujoco>"""


def test_what_turns_too_fast_for_the_time_step_is_named():
    """Explicit centrifugal forces run away with turns of some half a radian per step."""
    model = mujoco.MjModel.from_xml_string(WHIRLING)

    def whirl(**parameters):
        data = mujoco.MjData(model)
        data.qvel[:] = 60.0, -80.0
        Stepper(model, **parameters).run(data, round(2.0 / (parameters.get("time_step") or 0.01)))
        return data

    with pytest.raises(StepError, match=r"; joint '\w+' turns by .* smaller time_step, or scheme"):
        whirl()
    # both help
    for parameters in ({"time_step": 0.001}, {"scheme": "midpoint"}):
        assert np.abs(whirl(**parameters).qvel).max() < 150.0


@pytest.mark.parametrize("memory", ["24K", "32K", "48K", "64K"])
def test_full_memory_says_what_to_do(memory, tmp_path, monkeypatch):
    """Lists of contacts or rows that are full, or MuJoCo's own stack."""
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log file
    model = boxes_on_floor(memory)
    stepper, data = Stepper(model), mujoco.MjData(model)
    unchanged_after(stepper, data, r"the memory of the model is too small.*<size memory=")
    enough = boxes_on_floor("1M")
    stepper, data = Stepper(enough), mujoco.MjData(enough)
    stepper.step(data)
    assert stepper.n_contacts == 40


class Failing:
    """Stands for a core whose solver leaves no velocity, which no model here brings about."""

    def __init__(self, status):
        self.status = int(status)

    def run(self, *_):
        return 0, 0, ("outcome", self.status, 7, "")

    finish = run

    def result(self):
        return None

    def counts(self):
        return 0, 0, 0, 0


@pytest.mark.parametrize("status", [sapwood.Status.breakdown, sapwood.Status.non_finite])
def test_a_solver_without_a_velocity_to_go_on_with_raises(status, monkeypatch):
    model = scenes.sphere_on_floor(-0.001).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    monkeypatch.setattr(stepper._steps, "_core", Failing(status))
    message = rf"time 0 s: the contact solver ended in {status} at tree 7"
    with pytest.raises(StepError, match=message):
        stepper.step(data)
    stepper.step1(data)
    with pytest.raises(StepError, match=message):
        stepper.step2(data)
    assert (data.time, stepper.steps) == (0.0, 0)


def test_a_mass_that_is_none_is_refused_where_it_is_read():
    model = scenes.sphere_on_floor(-0.001).compile()
    model.body_invweight0[1, 0] = np.nan
    with pytest.raises(ValueError, match=r"^body_invweight0\[1, 0\] = nan: must be finite"):
        Stepper(model)


def test_an_error_in_one_step_does_not_spoil_the_next():
    model = scenes.clutter(4, seed=1).compile()
    spoiled, clean = Stepper(model), Stepper(model)
    a, b = mujoco.MjData(model), mujoco.MjData(model)
    for i in range(60):
        if i % 20 == 10:
            speed = a.qvel[0]
            a.qvel[0] = np.nan
            with pytest.raises(StepError):
                spoiled.step(a)
            a.qvel[0] = speed
            a.qfrc_applied[0] = np.nan
            with pytest.raises(StepError):
                spoiled.step(a)
            a.qfrc_applied[0] = 0.0
        spoiled.step(a)
        clean.step(b)
    np.testing.assert_array_equal(a.qpos, b.qpos)
    assert spoiled.solution == clean.solution
    assert spoiled.solution.status is sapwood.Status.converged
    assert spoiled.n_contacts > 0
