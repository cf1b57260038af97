"""A model whose steps the bridges differentiate, and differences of its runs."""

from __future__ import annotations

import mujoco
import numpy as np

import sapwood
from sapwood.mujoco import Stepper

STEPS, WORLDS = 12, 3
MODEL = """
<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="3 3 .1"/>
  <body pos="0 0 .098"><freejoint/><geom type="box" size=".2 .15 .1" mass="1"/>
    <body pos="0 0 .1"><joint name="arm" axis="0 1 0" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 0 0 .3" size=".03" mass=".3"/></body></body></worldbody>
  <actuator><motor joint="arm"/></actuator></mujoco>
"""
# its motor follows the control within a tenth of a second: the model has an activation
SLOW_MODEL = MODEL.replace("<motor", '<general dyntype="filter" dynprm=".1"')


def make_stepper(xml=MODEL, **options):
    model = mujoco.MjModel.from_xml_string(xml)
    soft = sapwood.ContactMaterial(stiffness=1e4, dissipation_time=0.01)
    settings = sapwood.SapSettings(relative_tolerance=1e-10, max_iterations=500)
    return Stepper(model, contact=soft, settings=settings, **options)


def starts(rng, stepper):
    """States and controls of worlds."""
    model = stepper.model
    q = np.tile(model.qpos0, (WORLDS, 1))
    q[:, 7] = rng.normal(size=WORLDS)
    v = 0.3 * rng.standard_normal((WORLDS, model.nv))
    return q, v, rng.standard_normal((STEPS, WORLDS, model.nu))


def final(stepper, q, v, controls, act=None):
    """States after a run, by the stepper itself: q, v and act."""
    data, ends = mujoco.MjData(stepper.model), []
    for k in range(WORLDS):
        mujoco.mj_resetData(stepper.model, data)
        data.qpos[:], data.qvel[:], data.act[:] = q[k], v[k], 0.0 if act is None else act[k]
        for u in controls[:, k]:
            data.ctrl[:] = u
            stepper.step(data)
        ends.append(tuple(map(np.array, (data.qpos, data.qvel, data.act))))
    return tuple(map(np.array, zip(*ends, strict=True)))


def by_differences(stepper, q, v, controls, bar, dv, du, h=1e-6):
    """Central difference of sum(bar * final q) along a change of velocities and controls."""
    ends = [final(stepper, q, v + s * h * dv, controls + s * h * du)[0] for s in (1.0, -1.0)]
    return np.sum(bar * (ends[0] - ends[1])) / (2.0 * h)
