"""Derivatives of steps and runs with soft bodies by numbers: differences of changed models."""

from __future__ import annotations

import copy
import dataclasses

import mujoco
import numpy as np
import pytest

from sapwood.mujoco import (
    SoftStepLinearization,
    StepError,
    linearize,
    sensitivities,
)
from soft_differences import (
    finish_passes,
    first_smooth,
    random_change,
    state_after,
    state_difference,
)
from soft_models import (
    GRIPPER,
    SENSORS,
    SOFT_FIELDS,
    gripper,
    stepper_of,
    still_cube,
    with_number,
)

# tight solves stall at round-off
pytestmark = pytest.mark.filterwarnings("ignore:.*ended in stalled:RuntimeWarning")

NUMBERS = [("body", "left", field) for field in SOFT_FIELDS] + [
    ("geom", "thing", "friction", 0), ("body", "thing", "mass"),
    ("joint", "left", "damping"), ("actuator", "close", "gainprm", 0), ("joint", "lift", "damping"),
]  # fmt: skip


@pytest.fixture
def exact(monkeypatch):
    """Steps of several passes are taken to the end."""
    finish_passes(monkeypatch)


def number_of(found, label):
    (value,) = (number.value for number in found._numbers if number.label == label)
    return np.array(value)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("material", ["linear_corotated", "corotated"])
def test_numbers_of_soft_bodies_and_of_the_model_have_the_slopes_of_differences(material, rng):
    def make(rng):
        model, data, bodies = gripper(rng, material)
        bodies[0].pressure(np.arange(12), 300.0)
        bodies[0].force([0, 4], [0.1, 0.2, 0.3])
        bodies[0].material = dataclasses.replace(bodies[0].material, mass_damping=5.0)
        return stepper_of(model, bodies), data

    # differences of numbers are wide, so that their steps must be far from kinks
    stepper, data, _ = first_smooth(make, rng, {"thing"}, 1e-6)
    found = SoftStepLinearization(stepper, data, parameters=NUMBERS)
    bar = rng.standard_normal(found.size)
    _, _, gradient = found.vjp(bar)
    assert list(gradient) == list(found.parameters)
    assert list(gradient)[-1] == "joint/lift/damping"
    still = np.zeros(random_change(rng, stepper).size)
    P = linearize(stepper, data, parameters=NUMBERS).P
    by_label = np.split(P, np.cumsum([each.size for each in gradient.values()])[:-1], axis=1)
    for given, (label, slope), columns in zip(NUMBERS, gradient.items(), by_label, strict=True):
        np.testing.assert_allclose(
            bar @ columns, slope.ravel(), rtol=1e-9, atol=1e-9 * np.max(np.abs(slope))
        )
        value = number_of(found, label)
        forward = found.jvp(np.zeros(found.size), parameters={label: np.ones_like(value)})
        size = np.max(np.abs(columns))
        np.testing.assert_allclose(forward, columns.sum(axis=1), rtol=0, atol=1e-8 * size)
        way_of = rng.standard_normal(value.shape) * (np.max(np.abs(value)) or 1.0)
        errors = []
        for h in (1e-3, 3e-4, 1e-4, 1e-2, 0.1, 3e-5):
            sides = []
            for change in (h, 0.0 if not np.any(value) else -h):
                changed = with_number(stepper, given, change * way_of)
                sides.append(state_after(changed, data, still, 0.0))
            expected = state_difference(stepper.model, *sides)
            width = h * (2 if np.any(value) else 1)
            push = columns @ way_of.ravel() * width
            # a number may act on no contact of this scene
            errors.append(np.max(np.abs(push - expected)) / (np.max(np.abs(expected)) or 1.0))
            if errors[-1] < 1e-6:
                break
        assert min(errors) < (1e-6 if np.any(value) else 1e-5), label


@pytest.mark.usefixtures("exact")
def test_runs_have_the_sensitivities_of_whole_runs(rng):
    """Three steps under controls, by numbers of the model and of a soft body."""

    def make(rng):
        model, data, bodies = gripper(rng)
        return stepper_of(model, bodies), data

    stepper, data, _ = first_smooth(make, rng, {"thing"}, 1e-6)
    numbers = [("body", "thing", "mass"), ("body", "left", "young"), ("joint", "left", "damping")]
    model = mujoco.MjModel.from_xml_string(GRIPPER.replace("TYPE", "sphere").replace(
        "</mujoco>", SENSORS + "</mujoco>"
    ))  # fmt: skip
    stepper = stepper_of(model, stepper.soft)
    state = mujoco.MjData(model)
    for name in ("qpos", "qvel", "act", "ctrl"):
        getattr(state, name)[:] = getattr(data, name)
    data = state
    controls = np.array([[0.3, 0.05, 0.4], [0.2, 0.05, 0.4], [0.1, 0.04, 0.3]])
    start = stepper.soft_state
    found = sensitivities(stepper, data, controls, parameters=numbers)
    assert found.near_kink.shape == found.limited_rebound.shape == (3,)
    for body, x in zip(stepper.soft, start.positions, strict=True):
        np.testing.assert_array_equal(body.positions, x)

    def run(changed):
        moved = mujoco.MjData(changed.model)
        mujoco.mj_copyData(moved, changed.model, data)
        sensors = []
        for ctrl in controls:
            moved.ctrl[:] = ctrl
            changed.step(moved)
            sensors.append(moved.sensordata.copy())
        bodies = changed.soft
        rest = [moved.qvel, moved.act, np.ravel(sensors)]
        rest += [b.positions.ravel() for b in bodies] + [b.velocities.ravel() for b in bodies]
        return moved.qpos.copy(), np.concatenate(rest)

    nv, na, ns = model.nv, model.na, model.nsensordata
    q, rest = run(stepper_of(copy.copy(stepper.model), copy.deepcopy(stepper.soft)))
    np.testing.assert_allclose(found.q[-1], q, rtol=0, atol=1e-9)
    v, _, y = np.split(rest[: nv + na + 3 * ns], [nv, nv + na])
    np.testing.assert_allclose(found.v[-1], v, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.y.ravel(), y, rtol=0, atol=1e-8)
    for k, (given, size) in enumerate(zip(numbers, (0.2, 2e5, 2.0), strict=True)):
        errors = []
        for h in (1e-3, 1e-4, 1e-5):
            sides = [run(with_number(stepper, given, side * h * size)) for side in (1, -1)]
            expected = state_difference(stepper.model, *sides) / (2 * h * size)
            dq, dy, others = np.split(expected, [2 * nv + na, 2 * nv + na + 3 * ns])
            pairs = (
                (found.X[-1, :, k], np.concatenate([dq, others])), (found.J[:, :, k].ravel(), dy)
            )  # fmt: skip
            errors.append([np.max(np.abs(a - b)) / np.max(np.abs(b)) for a, b in pairs])
        assert np.all(np.min(errors, axis=0) < 1e-5), given


def test_wrong_sensitivities_are_named():
    stepper, data = still_cube(0.1)
    with pytest.raises(ValueError, match="its field must be one of young"):
        sensitivities(stepper, data, n_steps=1, parameters=[("body", "soft", "speed")])
    model, numbers = stepper.model, [("body", "soft", "density")]
    found = sensitivities(
        stepper, mujoco.MjData(model), n_steps=2, parameters=numbers, sensors=False
    )
    assert found.J.shape == (2, 0, 1)
    stepper.soft[0].velocities[4, 1] = 1e200
    with pytest.raises(StepError) as failure:
        sensitivities(stepper, mujoco.MjData(model), n_steps=2, parameters=numbers, sensors=False)
    assert failure.value.step == 0
