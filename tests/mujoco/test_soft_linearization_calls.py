"""Results of linearize and linearize_batch for steppers with soft bodies."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest

from sapwood.mujoco import (
    NotSupported,
    SoftStepLinearization,
    StepError,
    Stepper,
    linearize,
    linearize_batch,
)
from soft_differences import first_smooth
from soft_models import GRIPPER, SENSORS, gripper, stepper_of, still_cube

# tight solves stall at round-off
pytestmark = pytest.mark.filterwarnings("ignore:.*ended in stalled:RuntimeWarning")


def test_linearize_has_the_matrices_and_the_step(rng):
    def make(rng):
        model, data, bodies = gripper(rng)
        return stepper_of(model, bodies), data

    stepper, data, _ = first_smooth(make, rng, {"thing"})
    model, bodies = stepper.model, stepper.soft
    before, state = data.qpos.copy(), stepper.soft_state
    found = linearize(stepper, data)
    linear = SoftStepLinearization(stepper, data)
    A, B, _ = linear.matrices()
    np.testing.assert_array_equal(found.A, A)
    np.testing.assert_array_equal(found.B, B)
    assert (found.status, found.distance) == (linear.status, linear.distance)
    assert found.contacts == linear.contacts > 0
    assert A.shape == (linear.size,) * 2
    assert linear.size == 2 * model.nv + model.na + 12 * len(bodies[0].positions)
    # state and data stay
    np.testing.assert_array_equal(data.qpos, before)
    for body, positions in zip(stepper.soft, state.positions, strict=True):
        np.testing.assert_array_equal(body.positions, positions)
    stepper.step(data)
    np.testing.assert_allclose(found.v, data.qvel, rtol=0, atol=1e-10)
    for body, x, v in zip(stepper.soft, linear.positions, linear.velocities, strict=True):
        np.testing.assert_allclose(x, body.positions, rtol=0, atol=1e-12)
        np.testing.assert_allclose(v, body.velocities, rtol=0, atol=1e-10)
    assert linear.result.passes == stepper.soft_result.passes


def test_sensors_of_positions_and_velocities_have_c_and_d(rng):
    model, data, bodies = gripper(rng)
    sensed = mujoco.MjModel.from_xml_string(
        GRIPPER.replace("TYPE", "sphere").replace("</mujoco>", SENSORS + "</mujoco>")
    )
    stepper, state = stepper_of(sensed, bodies), mujoco.MjData(sensed)
    for name in ("qpos", "qvel", "act", "ctrl"):
        getattr(state, name)[:] = getattr(data, name)
    found = linearize(stepper, state, outputs="ABCD")
    plain = Stepper(sensed, sigma=1e-6)
    expected = linearize(plain, state, outputs="ABCD", mode="difference", step=1e-6)
    n = 2 * model.nv + model.na
    assert np.any(expected.C)
    np.testing.assert_allclose(found.C[:, :n], expected.C, rtol=0, atol=1e-6)
    assert not np.any(found.C[:, n:])
    np.testing.assert_allclose(found.D, expected.D, rtol=0, atol=1e-9)
    assert found.C.shape == (sensed.nsensordata, len(found.A))
    assert linearize(stepper, state).C is None


@pytest.mark.parametrize("nthread", [1, 2])
def test_a_batch_has_the_matrices_of_each_state(nthread, rng):
    model, data, bodies = gripper(rng)
    stepper = stepper_of(model, bodies)
    start = stepper.soft_state
    qpos, qvel, ctrl, soft, expected = [], [], [], [], []
    for _ in range(3):
        stepper.step(data)
        ctrl.append([0.3, 0.05, 0.4])
        data.ctrl[:] = ctrl[-1]
        qpos.append(data.qpos.copy())
        qvel.append(data.qvel.copy())
        soft.append(stepper.soft_state)
        other = mujoco.MjData(model)
        other.qpos[:], other.qvel[:], other.ctrl[:] = data.qpos, data.qvel, data.ctrl
        other.act[:], other.time = 0.2, data.time
        expected.append(linearize(stepper, other))
    stepper.soft_state = start
    rest = mujoco.MjData(model)
    rest.act[:] = 0.2
    A, B, status = linearize_batch(
        stepper, qpos, qvel, ctrl, data=rest, soft_states=soft, nthread=nthread
    )
    for i, each in enumerate(expected):
        np.testing.assert_allclose(A[i], each.A, rtol=0, atol=1e-9 * np.max(np.abs(each.A)))
        np.testing.assert_allclose(B[i], each.B, rtol=0, atol=1e-9 * np.max(np.abs(each.B)))
    assert status == [each.status for each in expected]
    # without states of the soft bodies that of the stepper counts in all
    A, _, _ = linearize_batch(stepper, qpos[:1] * 2, qvel[:1] * 2, nthread=nthread)
    np.testing.assert_array_equal(A[0], A[1])
    for body, x in zip(stepper.soft, start.positions, strict=True):
        np.testing.assert_array_equal(body.positions, x)
    A, B, status = linearize_batch(stepper, np.zeros((0, model.nq)), np.zeros((0, model.nv)))
    assert (A.shape[0], B.shape[0], status) == (0, 0, [])


def test_wrong_batches_are_named():
    stepper, data = still_cube(0.1)
    states = data.qpos[None], data.qvel[None]
    with pytest.raises(NotSupported, match="mode and soften have their defaults"):
        linearize_batch(stepper, *states, soften=2.0)
    with pytest.raises(ValueError, match="soft_states has 2 states for 1 of the model"):
        linearize_batch(stepper, *states, soft_states=[stepper.soft_state] * 2)
    with pytest.raises(TypeError, match=r"soft_states\[0\] must be a SoftState, not int"):
        linearize_batch(stepper, *states, soft_states=[1])
    fewer = dataclasses.replace(stepper.soft_state, positions=(), velocities=())
    with pytest.raises(ValueError, match=r"soft_states\[0\]: must have the bodies"):
        linearize_batch(stepper, *states, soft_states=[fewer])
    with pytest.raises(ValueError, match="soft_states: the stepper has no soft bodies"):
        linearize_batch(Stepper(stepper.model), *states, soft_states=[stepper.soft_state])
    stepper.soft[0].velocities[4, 1] = np.nan
    with pytest.raises(StepError, match=r"velocities\[4\]: must be finite") as failure:
        linearize_batch(stepper, *states)
    assert failure.value.__notes__ == ["in state 0"]
