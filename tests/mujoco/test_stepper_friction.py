"""The law of friction of a stepper: which one it is, and what the steps tell of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from sapwood import RigidCore, SapSettings, Status
from sapwood.mujoco import ContactMaterial, Stepper
from sapwood.studies import scenes

DT = 0.01


def test_the_argument_comes_before_the_settings():
    model = scenes.sphere_on_floor(1.0).compile()
    given = SapSettings(relative_tolerance=1e-9, friction="coulomb")
    found = Stepper(model, settings=given, friction="convex").settings
    assert found == SapSettings(relative_tolerance=1e-9)
    # a step has a limit of its own
    found = Stepper(model, friction="lagged").settings
    assert found == SapSettings(friction="lagged", max_iterations=200)


def test_the_default_is_coulombs_law():
    """A model with a rigid core has the convex law, whatever the settings say."""
    model = scenes.sphere_on_floor(1.0).compile()
    assert Stepper(model, settings=SapSettings(friction="lagged")).settings.friction == "coulomb"
    core = ContactMaterial(1e4, DT, 0.5, RigidCore(1e-3))
    stepper = Stepper(model, contact=core, settings=SapSettings(friction="lagged"))
    assert stepper.settings.friction == "convex"


@pytest.mark.parametrize("friction", ["Coulomb", "", 1])
def test_an_unknown_law_is_refused(friction):
    model = scenes.sphere_on_floor(1.0).compile()
    with pytest.raises((TypeError, ValueError), match="friction"):
        Stepper(model, friction=friction)


@pytest.mark.parametrize("friction", ["lagged", "coulomb"])
def test_a_rigid_core_takes_convex_friction_alone(friction):
    model = scenes.sphere_on_floor(1.0).compile()
    contact = ContactMaterial(1e4, DT, 0.5, RigidCore(1e-3))
    assert Stepper(model, contact=contact).settings.friction == "convex"
    with pytest.raises(ValueError, match=rf"friction = '{friction}': geom .* has a rigid core"):
        Stepper(model, contact=contact, friction=friction)


@pytest.mark.parametrize("scheme", ["symplectic_euler", "midpoint"])
def test_convex_friction_has_no_coulomb_error(scheme):
    model = scenes.sphere_on_floor(-0.001).compile()
    stepper, data = Stepper(model, scheme=scheme, friction="convex"), mujoco.MjData(model)
    result = stepper.run(data, 3)
    assert np.isnan(result.coulomb_error).all()
    assert math.isnan(stepper.solution.coulomb_error)
    assert stepper.friction_limit_steps == 0


def test_steps_off_the_law_are_taken_counted_and_told_once():
    """Without an iteration the velocity is the guess, and no force obeys the law at it."""
    model = scenes.sphere_on_floor(-0.001).compile()
    stepper, data = Stepper(model, settings=SapSettings(max_iterations=0)), mujoco.MjData(model)
    message = (
        r"ended in friction_limit at a coulomb error of .* are counted in friction_limit_steps"
    )
    with pytest.warns(RuntimeWarning, match=message) as record:
        result = stepper.run(data, 5)
    stepper.run(data, 5)  # pytest makes an error of a warning
    off = np.count_nonzero(result.status == Status.friction_limit)
    assert len(record) == 1
    assert 0 < off <= stepper.friction_limit_steps
    assert (stepper.steps, stepper.iteration_limit_steps) == (10, 0)
    assert f"{off} friction_limit" in str(result)
    assert f"coulomb error of {result.coulomb_error[0]:.2g}" in str(record[0].message)
