"""A model whose steps the bridges differentiate, and differences of its runs."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

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
    return Stepper(model, contact=soft, settings=settings, sigma=1e-3, **options)


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


def check_slope(make):
    """A derivative is that of central differences of a loss, away from kinks.

    Each call of ``make`` gives another case: a derivative, and the loss at a step.
    """
    for _ in range(20):
        found, loss = make()
        expected = slope_of(loss)
        if expected is not None:
            assert found == pytest.approx(expected, rel=1e-5)
            return
    pytest.fail("all cases are at kinks")


def slope_of(loss, h=2e-6):
    """Central difference of a loss at 0; None where the slopes of both sides are apart."""
    steps = (h, h / 2.0)
    ends, at = [(loss(x), loss(-x)) for x in steps], loss(0.0)
    slope = (ends[1][0] - ends[1][1]) / h
    gaps = [(a - 2.0 * at + b) / x for (a, b), x in zip(ends, steps, strict=True)]
    return slope if abs(2.0 * gaps[1] - gaps[0]) <= 5e-6 * abs(slope) else None
