"""The law of friction of a stepper: which one it is, and what the steps tell of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from sapwood import RigidCore, SapSettings, scenes
from sapwood.mujoco import ContactMaterial, Stepper

DT = 0.01


def test_the_argument_comes_before_the_settings():
    model = scenes.sphere_on_floor(1.0).compile()
    given = SapSettings(relative_tolerance=1e-9, friction="coulomb")
    found = Stepper(model, settings=given, friction="convex").settings
    assert found == SapSettings(relative_tolerance=1e-9)
    assert Stepper(model, friction="coulomb").settings == SapSettings(friction="coulomb")


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


class OffTheLaw:
    """Stands for a core that never finds forces that obey Coulomb's law."""

    def __init__(self, core):
        self._core, self._steps = core, 0

    def __getattr__(self, name):
        return getattr(self._core, name)

    def run(self, *arguments):
        taken, _, failure = self._core.run(*arguments)
        arguments[4]["status"][:taken] = sapwood.Status.friction_limit
        arguments[4]["coulomb_error"][:taken] = 0.25
        self._steps += taken
        return taken, taken, failure

    def counts(self):
        return 0, 0, 0, self._steps


def test_steps_off_the_law_are_taken_counted_and_told_once(monkeypatch):
    model = scenes.sphere_on_floor(-0.001).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    monkeypatch.setattr(stepper._steps, "_core", OffTheLaw(stepper._steps._core))
    message = r"ended in friction_limit at a coulomb error of 0.25 .* in friction_limit_steps"
    with pytest.warns(RuntimeWarning, match=message) as record:
        result = stepper.run(data, 5)
    stepper.run(data, 5)  # pytest makes an error of a warning
    assert len(record) == 1
    assert stepper.steps == stepper.friction_limit_steps == 10
    assert "5 friction_limit" in str(result)
    assert not result.converged
