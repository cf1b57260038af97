"""Worlds of a batch, and the same worlds one by one."""

from __future__ import annotations

import mujoco
import numpy as np

WHOLE = mujoco.mjtState.mjSTATE_INTEGRATION
N = 6


def whole_state(model, data):
    state = np.empty(mujoco.mj_stateSize(model, WHOLE))
    mujoco.mj_getState(model, data, state, WHOLE)
    return state


def scatter(model, batch, rng):
    """Other velocities and heights in each world of the batch."""
    batch.qvel[:] = 0.3 * rng.standard_normal((batch.nsim, model.nv))
    if model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
        batch.qpos[:, 2] += 0.01 * rng.random(batch.nsim)


def worlds_of(batch):
    """An MjData for each world, in its state."""
    return [batch.get_data(i) for i in range(batch.nsim)]
