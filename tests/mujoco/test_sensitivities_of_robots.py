"""Derivatives of robots that fall onto their feet, beside differences of single steps.

A tangent goes from step to step by central differences of that step alone, over several widths, of
which the two that agree best count. They are off by 1e-8 to 1e-6.
"""

from __future__ import annotations

import copy
import itertools
import os
from pathlib import Path

import numpy as np
import pytest

from sapwood import SapSettings
from tests.mujoco.test_sensitivities import quadruped

mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import Stepper, sensitivities

EXACT = SapSettings(relative_tolerance=1e-13, max_iterations=1000)
pytestmark = pytest.mark.filterwarnings("ignore:.*ended in stalled:RuntimeWarning")


class StepDifferences:
    """Derivatives of single steps of a model, along a tangent and by a number."""

    def __init__(self, model, data, number):
        self.model, self.data, self.number = model, data, number
        self.steppers = {}

    def stepper(self, change):
        """A stepper of the model with the number larger by a part of it, and that change."""
        kind, name, field, *index = self.number
        model = copy.copy(self.model)
        array = getattr(model, f"dof_{field}" if kind == "joint" else f"{kind}_{field}")
        row = model.joint(name).dofadr[0] if kind == "joint" else getattr(model, kind)(name).id
        value = array[(row, *index)]
        array[(row, *index)] = (1.0 + change) * value
        if field in ("mass", "inertia", "armature"):
            mujoco.mj_setConst(model, mujoco.MjData(model))
        return Stepper(model, settings=EXACT), change * value

    def central(self, state, x, width, change):
        """Central difference over the state along x, or over the number."""
        ends, nv = [], self.model.nv
        for side in (1.0, -1.0):
            if side * change not in self.steppers:
                self.steppers[side * change] = self.stepper(side * change)
            stepper, moved = self.steppers[side * change]
            data, qpos = copy.copy(self.data), state[0].copy()
            mujoco.mj_integratePos(self.model, qpos, x[:nv], side * width)
            data.qpos[:], data.qvel[:] = qpos, state[1] + side * width * x[nv:]
            stepper.step(data)
            ends.append((data.qpos.copy(), data.qvel.copy(), moved))
        (q_1, v_1, moved), (q_0, v_0, _) = ends
        whole, dq = 2.0 * (moved if change else width), np.empty(nv)
        mujoco.mj_differentiatePos(self.model, dq, whole, q_0, q_1)
        return np.concatenate([dq, (v_1 - v_0) / whole])

    @staticmethod
    def best(found):
        """The first of the neighbours that agree best."""
        apart = [np.abs(a - b).max() for a, b in itertools.pairwise(found)]
        return found[int(np.argmin(apart))]

    def push(self, state, x):
        """The tangent after the step from x before it."""
        number = [self.central(state, 0.0 * x, 0.0, h) for h in (1e-2, 3e-3, 1e-3, 1e-4)]
        if not x.any():
            return self.best(number)
        nv = self.model.nv
        reach = max(np.abs(x[:nv]).max(), 0.1 * np.abs(x[nv:]).max())
        widths = np.geomspace(3e-6, 3e-9, 7) / reach
        return self.best(number) + self.best([self.central(state, x, h, 0.0) for h in widths])


def check(model, data, parameters, steps, tolerance):
    found = sensitivities(
        Stepper(model, settings=EXACT), data, n_steps=steps, parameters=parameters, sensors=False
    )
    states = list(zip([data.qpos, *found.q], [data.qvel, *found.v], strict=True))
    for k, number in enumerate(parameters):
        differences, x = StepDifferences(model, data, number), np.zeros(2 * model.nv)
        off = 0.0
        for i in range(steps):
            x = differences.push(states[i], x)
            off = max(off, np.abs(found.X[i, :, k] - x).max())
        assert off <= tolerance * np.abs(found.X[:, :, k]).max(), number


def test_a_quadruped_that_lands():
    model, numbers = quadruped(), np.random.default_rng(2)
    data = mujoco.MjData(model)
    data.qpos[2] -= 0.003 * numbers.random()
    data.qvel[:] = 0.3 * numbers.normal(size=model.nv)
    data.qvel[2] = -0.3
    by = [("joint", "knee3", "armature"), ("body", "shank1", "mass"), ("joint", "hip1", "damping")]
    check(model, data, by, 25, 1.5e-6)


@pytest.mark.slow
@pytest.mark.skipif("SAPWOOD_DATA" not in os.environ, reason="needs SAPWOOD_DATA")
@pytest.mark.parametrize("name", ["Go1", "G1"])
def test_robots_of_the_data_folder(name):
    run_gradients = pytest.importorskip("benchmarks.run_gradients")
    model, data = run_gradients.scenes(Path(os.environ["SAPWOOD_DATA"]))[name]
    check(model, data, run_gradients.numbers(model)[:5], 20, 4e-6)
