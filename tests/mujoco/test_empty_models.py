"""Models in which something is missing altogether: rows, degrees of freedom, geoms, bodies.

Arrays of the engine that have no entries are null pointers there; `make test-sanitized` stops where
one of them is used.
"""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import (
    full_state,
    physics_state,
)
from sapwood.mujoco import Stepper, rollout

BODIES = {
    "nothing": "",
    "geoms_that_stay": "<geom size='.1'/><geom type='plane' size='1 1 1'/>",
    "mocap_alone": "<body mocap='true'><geom size='.1'/></body>",
    "no_rows": "<body pos='0 0 9'><freejoint/><geom size='.1'/></body>",
    "no_rows_but_geoms": (
        "<geom type='plane' size='1 1 1'/><body pos='0 0 9'><freejoint/><geom size='.1'/></body>"
    ),
    "no_geoms": (
        "<body pos='0 0 1'><joint type='slide' axis='0 0 1'/>"
        "<inertial pos='0 0 0' mass='2' diaginertia='1 1 1'/></body>"
    ),
    "no_geoms_but_a_limit": (
        "<body pos='0 0 1'><joint type='slide' axis='0 0 1' range='-1 1' limited='true'/>"
        "<inertial pos='0 0 0' mass='2' diaginertia='1 1 1'/></body>"
    ),
}
STEPS = 5


def model_of(name):
    return mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{BODIES[name]}</worldbody></mujoco>")


def fallen(model):
    """Data after MuJoCo's own steps: nothing acts but gravity."""
    data = mujoco.MjData(model)
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    return data


@pytest.mark.parametrize("friction", ["convex", "lagged", "coulomb"])
@pytest.mark.parametrize("speculative", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_what_is_missing_needs_no_memory(name, friction, speculative):
    model = model_of(name)
    stepper, data = (
        Stepper(model, friction=friction, speculative=speculative),
        mujoco.MjData(model),
    )
    assert len(stepper.constraints) == len(stepper.contacts) == 0
    result = stepper.run(data, STEPS - 2, record=("contacts", "qvel"))
    stepper.step(data)
    stepper.step1(data)
    stepper.step2(data)
    expected = full_state(model, fallen(model))
    np.testing.assert_allclose(full_state(model, data), expected, atol=1e-13)
    assert result.qvel.shape == (STEPS - 2, model.nv)
    assert len(result.all_contacts) == stepper.n_contacts == 0
    assert all(np.all(group.force == 0) for group in stepper.constraints)
    assert stepper.slip_speed.size == stepper.penetration.size == len(stepper.patches) == 0
    assert stepper.problem(data).n_contacts == 0


@pytest.mark.parametrize("name", BODIES)
def test_a_rollout_of_it(name):
    model = model_of(name)
    start, end = (physics_state(model, data) for data in (mujoco.MjData(model), fallen(model)))
    rolled = rollout(Stepper(model), np.array([start, start]), nstep=STEPS)
    for state in rolled.state[:, -1]:
        np.testing.assert_allclose(state, end, atol=1e-13)


@pytest.mark.parametrize("scheme", ["implicit_euler", "midpoint"])
@pytest.mark.parametrize("name", BODIES)
def test_other_schemes(name, scheme):
    model = model_of(name)
    stepper, data = Stepper(model, scheme=scheme), mujoco.MjData(model)
    stepper.run(data, STEPS)
    np.testing.assert_allclose(data.qvel, fallen(model).qvel, atol=1e-13)
    assert len(stepper.contacts) == 0
