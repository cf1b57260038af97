"""What a step solves, solved again from its problem: the same code, and the same velocity."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import mujoco
import numpy as np
import pytest

import sapwood
from mujoco_models import boxes_on_floor, mixed
from sapwood.mujoco import NotSupported, Stepper

MODELS = {"mixed": mixed, "boxes": lambda: boxes_on_floor("15M")}


def assert_solved_alike(stepper, data):
    """1, or 0 where the step left out constraints far from acting: `Stepper.problem` has all."""
    problem = stepper.problem(data)
    stepper.step(data)
    stepped, again = stepper.solution, sapwood.solve(problem, settings=stepper.settings)
    rows = [[len(group.gamma) for group in s.constraints] for s in (stepped, again)]
    if len(stepped.gamma) != problem.n_contacts or rows[0] != rows[1]:
        return 0
    assert again.algorithm == stepped.algorithm
    assert again.total_iterations == stepped.total_iterations
    np.testing.assert_allclose(again.v, stepped.v, rtol=1e-9, atol=1e-9 * np.abs(again.v).max())
    return 1


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("friction", ["convex", "coulomb"])
def test_a_problem_is_solved_as_its_step_is(name, friction):
    model = MODELS[name]()
    stepper, data = (
        Stepper(model, settings=sapwood.SapSettings(friction=friction)),
        mujoco.MjData(model),
    )
    assert sum(assert_solved_alike(stepper, data) for _ in range(20)) > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_problems_of_robots_are_solved_as_their_steps_are(tmp_path):
    folder = os.environ.get("SAPWOOD_DATA")
    if not folder:
        pytest.skip("SAPWOOD_DATA names no folder with models")
    alike = 0
    for path in sorted((Path(folder) / "models").glob("*.mjb.xz")):
        binary = tmp_path / "model.mjb"
        binary.write_bytes(lzma.decompress(path.read_bytes()))
        try:
            stepper = Stepper(mujoco.MjModel.from_binary_path(str(binary)))
        except NotSupported:
            continue
        data = mujoco.MjData(stepper.model)
        if stepper.model.nkey:
            mujoco.mj_resetDataKeyframe(stepper.model, data, 0)
        stepper.run(data, 20)
        alike += assert_solved_alike(stepper, data)
    assert alike > 20
