"""Calls of a batch beside steps: stages, resets, rollouts."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from batch_worlds import WHOLE, N, scatter, whole_state, worlds_of
from mujoco_models import mixed
from sapwood.mujoco import Batch, Stepper
from sapwood.studies import scenes

STAGE = mujoco.mjtStage


# ---- stages and resets --------------------------------------------------------------------------


def test_forward_is_a_step_without_integration(rng):
    model = mixed()
    batch, stepper = Batch(model, N, 2), Stepper(model)
    scatter(model, batch, rng)
    names = ("xpos", "sensordata", "qacc", "qfrc_constraint", "ncon")
    arrays = {name: batch.bind(name) for name in names}
    data, before = worlds_of(batch), batch.get_state()
    batch.forward()
    np.testing.assert_array_equal(batch.state, before)
    for i, d in enumerate(data):
        stepper.step(d)
        for name in names:
            np.testing.assert_array_equal(arrays[name][i], getattr(d, name), name)
    # positions and velocities after a step are those of the new state
    batch.step(nstep=2, stage=STAGE.mjSTAGE_VEL)
    xpos = batch.xpos.copy()
    batch.forward(stage=STAGE.mjSTAGE_POS)
    np.testing.assert_array_equal(batch.xpos, xpos)
    batch.step()
    np.testing.assert_array_equal(batch.xpos, xpos)  # as in the state before the step
    batch.step()
    assert not np.array_equal(batch.xpos, xpos)


def test_resets(rng):
    spec = scenes.sphere_on_floor(1.0)
    for height in (1.0, 2.0):
        spec.add_key(qpos=[0, 0, height, 1, 0, 0, 0], time=height)
    model = spec.compile()
    batch = Batch(model, N, 2)
    start = batch.get_state()
    scatter(model, batch, rng)
    batch.step(nstep=3)
    bank = batch.get_state()
    batch.reset(keyframe=[0, -1, 1, 1, 0, -1])
    np.testing.assert_array_equal(batch.qpos[:, 2], [1, start[0, 3], 2, 2, 1, start[0, 3]])
    np.testing.assert_array_equal(batch.time, [1, 0, 2, 2, 1, 0])
    assert (batch.bind("qvel") == 0).all()
    np.testing.assert_array_equal(batch.state[1], start[1])
    batch.reset([1, 3], keyframe=1, stage=STAGE.mjSTAGE_NONE)
    np.testing.assert_array_equal(batch.time, [1, 2, 2, 2, 1, 0])
    batch.reset([0, 5], state=bank[[3, 4]])
    np.testing.assert_array_equal(batch.state[[0, 5]], bank[[3, 4]])
    batch.reset(np.arange(N) > 3, state=bank[0])
    np.testing.assert_array_equal(batch.state[4:], bank[[0, 0]])
    batch.reset()
    np.testing.assert_array_equal(batch.state, start)


def test_rollouts_record_each_substep(rng):
    model = mixed()
    batch, stepper = Batch(model, N, 2), Stepper(model)
    scatter(model, batch, rng)
    ids, nstep = [1, 2, 5], 7
    control = rng.uniform(-1, 1, (3, nstep, model.nu))
    data = [batch.get_data(i) for i in ids]
    before = batch.get_state()
    qvel = mujoco.mjtState.mjSTATE_QVEL
    room = {"qpos": np.empty((3, nstep, model.nq))}
    record = ("qpos", "xpos", "ncon", "time", qvel, WHOLE)
    found = batch.rollout(nstep, control, record=record, ids=ids, out=room)
    assert found["qpos"] is room["qpos"]
    for k, d in enumerate(data):
        for t in range(nstep):
            d.ctrl[:] = control[k, t]
            stepper.step(d)
            for name in ("qpos", "xpos", "ncon", "time"):
                np.testing.assert_array_equal(found[name][k, t], getattr(d, name), name)
            np.testing.assert_array_equal(found[qvel][k, t], d.qvel)
            np.testing.assert_array_equal(found[WHOLE][k, t], whole_state(model, d))
        np.testing.assert_array_equal(batch.state[ids[k]], found[WHOLE][k, -1])
    others = [0, 3, 4]
    np.testing.assert_array_equal(batch.state[others], before[others])
    # one control for all worlds and substeps; inputs stay without one
    batch.set_state(before)
    batch.rollout(2, control[0, 0], record=())
    assert (batch.ctrl == control[0, 0]).all()
    batch.rollout(2, record=())
    assert (batch.ctrl == control[0, 0]).all()
