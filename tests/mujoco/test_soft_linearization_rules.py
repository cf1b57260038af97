"""Rules of derivatives of steps with soft bodies: kinks, wrong arguments, steps that fail."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.mujoco import NotSupported, SoftStepLinearization, StepError, Stepper, linearize
from soft_models import still_cube


def test_contacts_that_come_within_the_differences_are_near_a_kink():
    for height, status in ((1e-3, "ok"), (0.0, "near_kink"), (1e-12, "near_kink")):
        assert SoftStepLinearization(*still_cube(height)).status == status


def test_a_rigid_contact_near_its_boundary_is_near_a_kink():
    """The ball comes so near to the floor in the step that it just touches it, or not."""
    stepper, data = still_cube(0.1)
    data.qvel[2] = -0.1
    data.qpos[2] = 0.0205
    (target,) = stepper.problem(data).v_hat_n
    fall = (0.1 + 9.81 * 0.005) * 0.0005 / -target
    for gap, status in ((fall, "near_kink"), (fall - 1e-4, "ok"), (fall + 1e-4, "ok")):
        data.qpos[2] = 0.02 + gap
        assert SoftStepLinearization(stepper, data).status == status


def test_wrong_arguments_are_named():
    stepper, data = still_cube(0.1)
    found = SoftStepLinearization(stepper, data)
    with pytest.raises(ValueError, match=r"after has shape"):
        found.vjp(np.zeros(found.size - 1))
    with pytest.raises(ValueError, match=r"after\[2\]"):
        found.vjp(np.where(np.arange(found.size) == 2, np.nan, 0.0))
    with pytest.raises(ValueError, match=r"before has shape"):
        found.jvp(np.zeros(found.size - 1))
    with pytest.raises(ValueError, match=r"ctrl has shape"):
        found.jvp(np.zeros(found.size), np.zeros(1))
    with pytest.raises(ValueError, match=r"parameters\['body/soft/young'\]: must be one of"):
        found.jvp(np.zeros(found.size), parameters={"body/soft/young": 1.0})
    numbered = SoftStepLinearization(stepper, data, parameters=[("body", "soft", "loads")])
    with pytest.raises(ValueError, match=r"parameters\['body/soft/loads'\] has shape"):
        numbered.jvp(np.zeros(found.size), parameters={"body/soft/loads": 1.0})
    with pytest.raises(ValueError, match="step = 'fine': must be 'auto' or a number > 0"):
        SoftStepLinearization(stepper, data, step="fine")
    with pytest.raises(TypeError, match="stepper must be a Stepper, not MjModel"):
        SoftStepLinearization(stepper.model, data)
    with pytest.raises(ValueError, match="stepper has no soft bodies: use linearize"):
        SoftStepLinearization(Stepper(stepper.model), data)
    with pytest.raises(TypeError, match=r"data must be a mujoco\.MjData"):
        SoftStepLinearization(stepper, stepper.model)
    for given, text in (
        (("body", "soft", "mass"), "the model has no body of this name"),
        (("body", "soft", "speed"), "its field must be one of young"),
        (("body", "ball", "young"), "0 have this name"),
        (("geom", "floor", "young"), "the field of a geom must be one of"),
    ):
        with pytest.raises(ValueError, match=text):
            SoftStepLinearization(stepper, data, parameters=[given])
    for options in ({"mode": "difference"}, {"soften": 2.0}):
        with pytest.raises(NotSupported, match="have their defaults for a stepper with soft"):
            linearize(stepper, data, **options)
    stepper.soft[0].velocities[4, 1] = np.nan
    with pytest.raises(StepError, match=r"velocities\[4\]: must be finite"):
        SoftStepLinearization(stepper, data)
    stepper.soft[0].velocities[4, 1] = 0.0
    stepper.step(data)
    data.time = 0.0
    with pytest.raises(StepError, match="the soft bodies are at"):
        SoftStepLinearization(stepper, data)


def test_a_step_that_fails_has_no_derivative():
    stepper, data = still_cube(0.1)
    stepper.soft[0].velocities[3, 1] = 1e200
    with pytest.raises(StepError):
        SoftStepLinearization(stepper, data)
