"""Runs to a given accuracy: parts of time steps whose error is estimated."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import sapwood
from sapwood.mujoco import NotSupported, Stepper
from sapwood.mujoco.stepping.accurate_steps import position_scales

MATERIAL = sapwood.ContactMaterial(stiffness=2e4, dissipation_time=2e-3, friction=0.5)

BALL = """
<mujoco><option timestep="0.01"/><statistic extent="1"/>
<worldbody><geom type="plane" size="5 5 1"/>
  <body pos="0 0 0.3"><freejoint/><geom type="sphere" size="0.05" mass="0.5"/></body>
</worldbody></mujoco>
"""
SPRING = """
<mujoco><option timestep="0.01"/><statistic extent="1"/><worldbody>
  <body><joint name="slide" type="slide" axis="1 0 0" stiffness="800" damping="0.5"/>
    <geom type="box" size="0.1 0.1 0.1" mass="1" contype="0" conaffinity="0"/></body>
</worldbody><actuator><motor joint="slide"/></actuator>
<sensor><jointpos joint="slide"/></sensor></mujoco>
"""
PENDULUM = """
<mujoco><option timestep="0.01"/><statistic extent="1"/><worldbody>
  <body pos="0 0 1"><joint type="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.02" mass="0.3"/>
    <body pos="0 0 -0.4"><joint type="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.02" mass="0.3"/></body></body>
  <geom type="box" pos="-0.45 0 0.5" size="0.1 0.3 0.5"/>
</worldbody></mujoco>
"""
SCENES = {"ball": BALL, "spring": SPRING, "pendulum": PENDULUM}


def start(name, **options):
    """A stepper and data of a scene in motion."""
    model = mujoco.MjModel.from_xml_string(SCENES[name])
    data = mujoco.MjData(model)
    if name == "ball":
        data.qvel[0] = 1.0
    else:
        data.qpos[0] = 0.2 if name == "spring" else 1.2
    return Stepper(model, contact=MATERIAL, **options), data


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("halvings", [1, 3])
def test_parts_of_one_length_are_steps_of_that_length(name, halvings):
    # a tolerance that all parts meet, and one that none meets
    accuracy = 1e3 if halvings == 1 else 1e-300
    stepper, data = start(name)
    fine, other = start(name, time_step=0.01 / 2**halvings)
    result = stepper.run(data, 20, accuracy=accuracy, halvings=halvings)
    fine.run(other, 20 * 2**halvings)
    assert np.array_equal(data.qpos, other.qpos)
    assert np.array_equal(data.qvel, other.qvel)
    assert np.all(result.error_control["substeps"] == 2**halvings)
    assert np.allclose(result.error_control["smallest_step"], 0.01 / 2**halvings, rtol=1e-15)


@pytest.mark.parametrize("name", SCENES)
def test_the_error_falls_with_the_tolerance(name):
    fine, exact = start(name, time_step=2.5e-6)
    fine.run(exact, 120_000)
    errors, parts = [], []
    for accuracy in (1e-3, 1e-5, 1e-7):
        stepper, data = start(name)
        result = stepper.run(data, 30, accuracy=accuracy)
        difference = np.empty(stepper.model.nv)
        mujoco.mj_differentiatePos(stepper.model, difference, 1.0, exact.qpos, data.qpos)
        errors.append(np.abs(difference).max())
        parts.append(int(result.error_control["substeps"].sum()))
        assert result.error_control["error"].max() <= accuracy
        assert not result.error_control["unmet"].any()
    # parts shrink as the root of the tolerance where the motion is smooth, and the error with them
    assert errors[1] < 0.3 * errors[0]
    assert errors[2] < 0.3 * errors[1]
    assert parts[0] < parts[1] < parts[2]


def test_a_step_ends_on_time_with_its_records():
    stepper, data = start("ball")
    seen = []
    result = stepper.run(
        data,
        30,
        lambda data: seen.append(data.time),
        every=10,
        record=("qpos", "force", "contacts", "sensordata"),
        accuracy=1e-4,
    )
    assert np.array_equal(result.time, np.cumsum(np.full(30, 0.01)))
    assert seen == list(result.time[9::10])
    assert np.array_equal(result.qpos[-1], data.qpos)
    assert len(result.contacts_of(-1)) == result.contacts[-1] == len(stepper.contacts)
    assert result.converged
    assert "parts" in str(result)
    assert len(stepper.last_run.error_control) == 30


def test_runs_repeat_and_may_be_split():
    def run(*numbers):
        stepper, data = start("pendulum")
        for steps in numbers:
            stepper.run(data, steps, accuracy=1e-5)
        return data.qpos.tobytes() + data.qvel.tobytes()

    assert run(30) == run(30)
    stepper, data = start("pendulum")
    stepper.run(data, 30, lambda _: None, every=7, accuracy=1e-5)
    assert data.qpos.tobytes() + data.qvel.tobytes() == run(30)


def test_controls_and_changes_of_the_model_count():
    stepper, data = start("spring")
    model = stepper._given
    data.ctrl[0] = 3.0
    stepper.run(data, 10, accuracy=1e-6)
    other, again = start("spring")
    again.ctrl[0] = 3.0

    def change(_):
        other._given.opt.gravity[0] = 1.0
        other._given.dof_damping[0] = 2.0

    other.run(again, 10, change, every=5, accuracy=1e-6)
    assert abs(again.qpos[0] - data.qpos[0]) > 1e-3
    model.opt.gravity[0], model.dof_damping[0] = 1.0, 2.0
    third, last = start("spring")
    last.ctrl[0] = 3.0
    third.run(last, 5, accuracy=1e-6)
    # a new run begins with a whole step, so that parts may differ
    stepper.run(last, 5, accuracy=1e-6)
    assert again.qpos[0] == pytest.approx(last.qpos[0], abs=1e-4)


def test_a_step_that_fails_leaves_the_steps_before_it():
    stepper, data = start("ball")
    before = []

    def break_down(data):
        if data.time > 0.045:
            before.append(data.qpos.copy())
            data.qfrc_applied[0] = 1e300

    with pytest.raises(sapwood.mujoco.StepError) as caught:
        stepper.run(data, 20, break_down, accuracy=1e-4)
    assert caught.value.step == stepper.last_run.steps == 5
    assert np.array_equal(data.qpos, before[-1])


def test_scales_are_the_extent_and_a_radian():
    stepper, _ = start("ball")
    assert np.array_equal(position_scales(stepper.model), [1, 1, 1, 1, 1, 1])
    stepper.model.stat.extent = 3.0
    assert np.array_equal(position_scales(stepper.model), [3, 3, 3, 1, 1, 1])
    stepper, _ = start("pendulum")
    assert np.array_equal(position_scales(stepper.model), [1, 1])


@pytest.mark.parametrize("accuracy", [0.0, -1.0, np.nan, np.inf])
def test_accuracy_must_be_a_positive_number(accuracy):
    stepper, data = start("ball")
    with pytest.raises(ValueError, match="accuracy"):
        stepper.run(data, 1, accuracy=accuracy)


@pytest.mark.parametrize("halvings", [0, 31])
def test_halvings_have_a_range(halvings):
    stepper, data = start("ball")
    with pytest.raises(ValueError, match="halvings"):
        stepper.run(data, 1, accuracy=1e-3, halvings=halvings)


def test_lagged_friction_is_refused():
    stepper, data = start("ball", friction="lagged")
    with pytest.raises(NotSupported, match="lagged"):
        stepper.run(data, 1, accuracy=1e-3)
