"""Derivatives of sensors of forces, accelerations and contacts of steps with soft bodies."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from sapwood.mujoco import SoftStepLinearization, linearize, sensitivities
from soft_differences import first_smooth, random_change, step_after
from soft_models import GRIPPER, gripper, stepper_of, with_number

# tight solves stall at round-off
pytestmark = pytest.mark.filterwarnings("ignore:.*contact solver ended in:RuntimeWarning")

SIGMA = 1e-8  # the weights in R have no derivatives, and do not show
SITES = (
    ("<body name='left' pos='-.045 0 0'>", "<site name='left'/>"),
    ("<body name='right' pos='.045 0 0'>", "<site name='right'/>"),
    ("<body name='thing' pos='.001 .002 .0295'>", "<site name='thing' size='.05'/>"),
)
SENSORS = """<sensor><accelerometer site='left'/><force site='left'/><torque site='right'/>
<touch site='thing'/><actuatorfrc actuator='close'/><jointpos joint='left'/>
<framelinacc objtype='body' objname='thing'/><frameangacc objtype='body' objname='palm'/>
<contact geom1='thing' reduce='netforce' data='force torque'/></sensor>"""


def sensed_gripper(rng):
    """A gripper with all kinds of late sensors, and one of positions."""
    text = GRIPPER.replace("TYPE", "sphere").replace("</mujoco>", SENSORS + "</mujoco>")
    for body, site in SITES:
        text = text.replace(body, body + site)
    model = mujoco.MjModel.from_xml_string(text)
    _, plain, bodies = gripper(rng)
    data = mujoco.MjData(model)
    for name in ("qpos", "qvel", "act", "ctrl"):
        getattr(data, name)[:] = getattr(plain, name)
    return stepper_of(model, bodies, sigma=SIGMA), data


def errors_of(model, found, expected):
    """Largest error of each sensor over its largest value."""
    parts = [slice(adr, adr + n) for adr, n in zip(model.sensor_adr, model.sensor_dim, strict=True)]
    scale = [max(np.max(np.abs(expected[part])), 1e-9) for part in parts]
    return [np.max(np.abs((found - expected)[p])) / s for p, s in zip(parts, scale, strict=True)]


def check(stepper, data, rng, tolerance):
    """C and D against the best of central differences of whole steps."""
    found = linearize(stepper, data, outputs="ABCD")
    change = random_change(rng, stepper)
    push = np.concatenate([found.C, found.D], axis=1) @ change
    errors = []
    for h in (1e-4, 1e-5, 1e-6):
        high, low = (step_after(stepper, data, change, side)[1] for side in (h, -h))
        errors.append(errors_of(stepper.model, push, (high - low) / (2 * h)))
    assert np.max(np.min(errors, axis=0)) < tolerance, errors
    return found


def test_a_gripper_feels_what_its_pads_do(rng):
    stepper, data, _ = first_smooth(sensed_gripper, rng, {"thing"}, 1e-8)
    before = stepper.soft_state
    found = check(stepper, data, rng, 1e-6)
    n = 2 * stepper.model.nv + stepper.model.na
    assert np.abs(found.C[:, n:]).max() > 1.0
    for body, x in zip(stepper.soft, before.positions, strict=True):
        np.testing.assert_array_equal(body.positions, x)
    linear = SoftStepLinearization(stepper, data)
    C, D, P = linear.sensor_matrices()
    np.testing.assert_allclose(C, found.C, rtol=0, atol=1e-6 * np.abs(C).max())
    np.testing.assert_allclose(D, found.D, rtol=0, atol=1e-6 * np.abs(D).max())
    assert P.shape == (stepper.model.nsensordata, 0)


def test_sensitivities_of_forces_follow_numbers_of_bodies_and_model(rng):
    stepper, data, _ = first_smooth(sensed_gripper, rng, {"thing"}, 1e-8)
    numbers = [
        ("body", "left", "young"), ("body", "right", "density"), ("body", "left", "friction"),
        ("body", "left", "stiffness_damping"), ("body", "thing", "mass"),
        ("joint", "left", "damping"),
    ]  # fmt: skip
    found = sensitivities(stepper, data, n_steps=2, parameters=numbers)

    def read(of):
        changed, moved = stepper_of(of.model, of.soft, sigma=SIGMA), mujoco.MjData(of.model)
        mujoco.mj_copyData(moved, of.model, data)
        changed.step(moved)
        return moved.sensordata.copy()

    for k, (given, size) in enumerate(zip(numbers, (2e5, 1e3, 0.6, 2e-3, 0.2, 2.0), strict=True)):
        errors = []
        for h in (1e-3, 1e-4, 1e-5, 1e-6):
            high, low = (read(with_number(stepper, given, side * h * size)) for side in (1, -1))
            expected = (high - low) / (2 * h * size)
            errors.append(max(errors_of(stepper.model, found.J[0, :, k], expected)))
        assert min(errors) < 1e-5, (given, errors)
    # the second step has the chain rule
    P = SoftStepLinearization(stepper, data, parameters=numbers).sensor_matrices()[2]
    scale = np.abs(found.J).max(axis=(0, 1))
    assert np.all(np.abs(P - found.J[0]) < 1e-9 * scale)
    stepper.step(data)
    C, _, P = SoftStepLinearization(stepper, data, parameters=numbers).sensor_matrices()
    np.testing.assert_allclose(found.y[1], sensors_at_end(stepper, data), rtol=0, atol=1e-6)
    assert np.all(np.abs(C @ found.X[0] + P - found.J[1]) < 1e-5 * scale)


def sensors_at_end(stepper, data):
    stepper.step(data)
    return data.sensordata.copy()
