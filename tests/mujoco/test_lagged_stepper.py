"""The memory of lagged friction: by data, and of one state alone."""

from __future__ import annotations

import copy
import gc

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import (
    full_state,
    physics_state,
)
from sapwood.mujoco import NotSupported, StepError, Stepper
from sapwood.studies import scenes

# no forces that obey Coulomb's law may be found, which no bit here depends on
pytestmark = pytest.mark.filterwarnings("ignore:.*friction_limit:RuntimeWarning")

SPEC = mujoco.mjtState.mjSTATE_FULLPHYSICS


@pytest.fixture(scope="module")
def model():
    """Bodies that fall, slide and roll on a floor: contacts come and go."""
    return scenes.clutter(8, seed=1).compile()


def pushed(model, k=0):
    """Data in motion, of many."""
    data = mujoco.MjData(model)
    data.qvel[:] = 0.3 * np.sin(np.arange(model.nv) + k)
    return data


def trajectory(stepper, data, steps):
    states = []
    stepper.run(data, steps, lambda data: states.append(full_state(stepper.model, data)))
    return np.array(states)


def alone(model, state, steps, friction="lagged"):
    """The steps of data in this state by a stepper that has seen nothing else."""
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, state, SPEC)
    return trajectory(Stepper(model, friction=friction), data, steps)


# ---- several data -------------------------------------------------------------------------------


def test_what_is_remembered_dies_with_the_data(model):
    stepper = Stepper(model, friction="lagged")
    worlds = [pushed(model, k) for k in range(3)]
    for data in worlds:
        stepper.run(data, 2)
    memories = stepper._steps._memories._of
    assert len(memories) == 3
    stepper._bind(worlds[0])  # a stepper keeps the data that it served last
    del worlds[1:], data
    gc.collect()
    assert len(memories) == 1


@pytest.mark.parametrize("friction", ["convex", "coulomb"])
def test_the_same_state_gives_the_same_next_state(model, friction):
    """Whatever the stepper did before, by whatever calls, and from whatever data."""
    stepper, data = Stepper(model, friction=friction), pushed(model)
    stepper.run(data, 50)
    state = physics_state(model, data)
    for k in range(3):
        stepper.run(data, 10 + k)
        stepper.run(pushed(model, k), 30)
        mujoco.mj_setState(model, data, state, SPEC)
        stepper.step1(data)
        stepper.step2(data)
        np.testing.assert_array_equal(full_state(model, data), alone(model, state, 1, friction)[0])


# ---- one data, set from outside -----------------------------------------------------------------


def test_it_is_remembered_from_step_to_step(model):
    """By whatever calls; and it matters: from the same state without it the steps are others."""
    expected = trajectory(Stepper(model, friction="lagged"), pushed(model), 30)
    stepper, data, found = Stepper(model, friction="lagged"), pushed(model), []
    for i in range(30):
        if i % 3 == 0:
            stepper.step(data)
        elif i % 3 == 1:
            stepper.step1(data)
            stepper.step2(data)
        else:
            stepper.run(data, 1)
        found.append(full_state(model, data))
        # the state that is there already
        mujoco.mj_setState(model, data, physics_state(model, data), SPEC)
    np.testing.assert_array_equal(found, expected)
    stepper.run(data, 10)
    middle = physics_state(model, data)
    assert not np.array_equal(trajectory(stepper, data, 5), alone(model, middle, 5))


def by_setting(model, data, state):
    mujoco.mj_setState(model, data, state, SPEC)


def by_reset(model, data, state):
    mujoco.mj_resetData(model, data)
    mujoco.mj_setState(model, data, state, SPEC)


def by_copy(model, data, state):
    other = mujoco.MjData(model)
    mujoco.mj_setState(model, other, state, SPEC)
    mujoco.mj_copyData(data, model, other)


def of_qpos(model, data, state):
    """One number of one array, and back to the state in all but the clock."""
    mujoco.mj_setState(model, data, state, SPEC)
    data.time += 1.0
    state[0] = data.time


@pytest.mark.parametrize("change", [by_setting, by_reset, by_copy, of_qpos])
def test_a_state_from_outside_forgets(model, change):
    stepper, data = Stepper(model, friction="lagged"), pushed(model)
    stepper.run(data, 40)
    state = physics_state(model, data)
    stepper.run(data, 7)
    change(model, data, state)
    np.testing.assert_array_equal(trajectory(stepper, data, 10), alone(model, state, 10))


@pytest.mark.parametrize("name", ["time", "qpos", "qvel"])
def test_every_part_of_the_state_counts(model, name):
    stepper, data = Stepper(model, friction="lagged"), pushed(model)
    stepper.run(data, 40)
    if name == "time":
        data.time = np.nextafter(data.time, 9.0)
    else:
        array = getattr(data, name)
        array[-1] = np.nextafter(array[-1], 9.0)
    state = physics_state(model, data)
    np.testing.assert_array_equal(trajectory(stepper, data, 5), alone(model, state, 5))


def test_activations_count():
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><option timestep=".01"/><worldbody><geom type="plane" size="9 9 1"/>
      <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
      <body pos="5 0 1"><joint name="hinge" axis="0 1 0"/><geom size=".1" contype="0"/></body>
    </worldbody><actuator><general joint="hinge" dyntype="integrator"/></actuator></mujoco>""")
    stepper, data = Stepper(model, friction="lagged"), mujoco.MjData(model)
    data.qvel[0] = 3.0
    stepper.run(data, 5)
    data.act[0] = 0.25
    state = physics_state(model, data)
    np.testing.assert_array_equal(trajectory(stepper, data, 5), alone(model, state, 5))


def test_a_copy_of_data_remembers_nothing(model):
    stepper, data, other = Stepper(model, friction="lagged"), pushed(model), mujoco.MjData(model)
    stepper.run(data, 40)
    mujoco.mj_copyData(other, model, data)
    state = physics_state(model, data)
    going_on = trajectory(stepper, data, 5)
    np.testing.assert_array_equal(trajectory(stepper, other, 5), alone(model, state, 5))
    assert not np.array_equal(going_on, alone(model, state, 5))


def test_a_copy_of_a_stepper_remembers_nothing(model):
    stepper, data = Stepper(model, friction="lagged"), pushed(model)
    stepper.run(data, 40)
    state = physics_state(model, data)
    found = trajectory(copy.copy(stepper), data, 5)
    np.testing.assert_array_equal(found, alone(model, state, 5))


def test_a_step_that_fails_forgets_nothing(model):
    expected = trajectory(Stepper(model, friction="lagged"), pushed(model), 45)
    stepper, data = Stepper(model, friction="lagged"), pushed(model)
    stepper.run(data, 40)
    speed, data.qvel[0] = data.qvel[0], np.nan
    with pytest.raises(StepError):
        stepper.step(data)
    data.qvel[0] = speed
    data.qfrc_applied[0] = 1e300  # a fault of the contact part
    with pytest.raises(StepError):
        stepper.step(data)
    data.qfrc_applied[0] = 0.0
    np.testing.assert_array_equal(trajectory(stepper, data, 5), expected[40:])


# ---- what there is not --------------------------------------------------------------------------


def test_other_schemes_do_not_lag(model):
    with pytest.raises(NotSupported, match="friction = 'lagged': scheme midpoint takes"):
        Stepper(model, scheme="midpoint", friction="lagged")


def test_a_memory_is_of_one_stepper(model):
    one, two = (Stepper(model, friction="lagged") for _ in range(2))
    data = pushed(model)
    two._steps._memories = one._steps._memories
    with pytest.raises(ValueError, match="memory must be of this stepper"):
        two.step(data)
