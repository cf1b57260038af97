"""Central differences of whole steps with soft bodies, and scenes that have them."""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from sapwood.mujoco import SoftStepLinearization
from sapwood.mujoco.stepping import soft_steps


def state_after(stepper, data, change, h):
    """The state at the end of a step from a changed start."""
    return step_after(stepper, data, change, h)[0]


def step_after(stepper, data, change, h):
    """The same, and the sensors of the step."""
    model, bodies = stepper.model, stepper.soft
    before, scratch = copy.copy(stepper.soft_state), mujoco.MjData(model)
    mujoco.mj_copyData(scratch, model, data)
    nv, na = model.nv, model.na
    q, v, act, x, u, ctrl = np.split(
        h * change, np.cumsum([nv, nv, na, *[sum(b.positions.size for b in bodies)] * 2])
    )
    mujoco.mj_integratePos(model, scratch.qpos, q, 1.0)
    scratch.qvel += v
    scratch.act += act
    scratch.ctrl += ctrl
    begin = 0
    for body in bodies:
        part = slice(begin, begin + body.positions.size)
        body.positions = body.positions + x[part].reshape(-1, 3)
        body.velocities = body.velocities + u[part].reshape(-1, 3)
        begin = part.stop
    stepper.step(scratch)
    rest = [scratch.qvel, scratch.act]
    rest += [b.positions.ravel() for b in bodies] + [b.velocities.ravel() for b in bodies]
    found = scratch.qpos.copy(), np.concatenate(rest)
    stepper.soft_state = before
    return found, scratch.sensordata.copy()


def step_difference(stepper, data, change, h):
    high, low = (state_after(stepper, data, change, side) for side in (h, -h))
    return state_difference(stepper.model, high, low) / (2 * h)


def state_difference(model, high, low):
    motion = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, motion, 1.0, low[0], high[0])
    return np.concatenate([motion, high[1] - low[1]])


def random_change(rng, stepper):
    """A random change of the state and the controls, in sizes that fit."""
    model, n = stepper.model, sum(body.positions.size for body in stepper.soft)
    sizes = [model.nv, model.nv, model.na, n, n, model.nu]
    scales = [1e-2, 1.0, 1.0, 1e-3, 0.1, 1.0]
    parts = [s * rng.standard_normal(k) for k, s in zip(sizes, scales, strict=True)]
    return np.concatenate(parts)


def check_matrices(stepper, data, found, rng, tolerance=1e-6):
    """A and B against the best of central differences of whole steps, part by part of the state.

    A tolerance of 1e-5 is for scenes in which the weights in R, which stay those of the step, show,
    or all differences cross a kink.
    """
    A, B, _ = found.matrices()
    change = random_change(rng, stepper)
    push = np.concatenate([A, B], axis=1) @ change
    nv, na = stepper.model.nv, stepper.model.na
    n_soft = (found.size - 2 * nv - na) // 2
    ends = np.cumsum([nv, nv, na, n_soft])
    parts = [part for part in np.split(np.arange(found.size), ends) if part.size]
    errors = []
    for h in (1e-4, 1e-5, 1e-6, 1e-7):
        expected = step_difference(stepper, data, change, h)
        errors.append(
            [np.max(np.abs(push - expected)[p]) / np.max(np.abs(expected[p])) for p in parts]
        )
    assert np.min(np.max(errors, axis=1)) < tolerance
    forward = found.jvp(change[: found.size], change[found.size :])
    np.testing.assert_allclose(forward, push, rtol=0, atol=1e-9 * np.max(np.abs(push)))
    # reverse mode is the transpose
    bar = rng.standard_normal(found.size)
    before, ctrl, _ = found.vjp(bar)
    np.testing.assert_allclose(before, bar @ A, rtol=0, atol=1e-9 * np.max(np.abs(bar @ A)))
    np.testing.assert_allclose(ctrl, bar @ B, rtol=0, atol=1e-9 * np.max(np.abs(bar @ A)))


def first_smooth(make, rng, others, distance=0.0):
    """The first of some scenes with a derivative, where soft bodies touch all of these."""
    for _ in range(300):
        stepper, data = make(rng)
        found = SoftStepLinearization(stepper, data)
        met = {touch.other for touch in found.result.touches if np.any(touch.forces)}
        if found.status == "ok" and found.distance > distance and others <= met:
            return stepper, data, found
    raise AssertionError("no such scene")


def finish_passes(monkeypatch):
    """Take steps of several passes to the end."""
    monkeypatch.setattr(soft_steps, "_TOLERANCE", 1e-12)
    monkeypatch.setattr(soft_steps, "default_passes", lambda _: 40)
