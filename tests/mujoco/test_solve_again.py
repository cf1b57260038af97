"""The problem of a step, solved again: the same code, and the same velocity."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import mujoco
import numpy as np
import pytest

import sapwood
from mujoco_models import boxes_on_floor, elements, mixed
from sapwood.mujoco import NotSupported, Stepper

MODELS = {"mixed": mixed, "elements": elements, "boxes": lambda: boxes_on_floor("15M")}


def assert_solved_alike(stepper, data):
    """The step and its problem, up to the order of sums.

    A step knows which rows move one joint. Over the junction tree it also knows the branches.
    """
    problem = stepper.problem(data, as_solved=True)
    stepper.step(data)
    stepped, again = stepper.solution, sapwood.solve(problem, settings=stepper.settings)
    assert len(stepped.gamma) == problem.n_contacts
    assert again.algorithm == stepped.algorithm
    assert again.status == stepped.status
    supernodal = any(island.storage == "supernodal" for island in again.algorithm)
    tolerance = 1e-6 if supernodal else 1e-10
    np.testing.assert_allclose(again.v, stepped.v, rtol=tolerance, atol=tolerance)
    if not supernodal:
        np.testing.assert_allclose(again.gamma, stepped.gamma, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("friction", ["convex", "coulomb"])
def test_a_problem_is_solved_as_its_step_is(name, friction):
    model = MODELS[name]()
    stepper, data = (
        Stepper(model, settings=sapwood.SapSettings(friction=friction)),
        mujoco.MjData(model),
    )
    for _ in range(20):
        assert_solved_alike(stepper, data)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_problems_of_robots_are_solved_as_their_steps_are(tmp_path):
    folder = os.environ.get("SAPWOOD_DATA")
    if not folder:
        pytest.skip("SAPWOOD_DATA names no folder with models")
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
        assert_solved_alike(stepper, data)


@pytest.mark.parametrize("scheme", ["symplectic_euler", "midpoint"])
def test_runs_count_what_solved_their_steps(scheme):
    model = mixed()
    stepper, data = Stepper(model, scheme=scheme), mujoco.MjData(model)
    result = stepper.run(data, 20)
    algorithm = stepper.solution.algorithm
    assert result.dense_islands[-1] == sum(island.storage == "dense" for island in algorithm)
    assert result.dense_islands.max() > 0
    taken = {name for island in algorithm for name in island.fallbacks}
    assert all(result.fallbacks[name] > 0 for name in taken)
    of_islands = {"supernodal", "bounds_held", "double", "proximal", "symmetric"}
    of_steps = {"inactive_set", "model_contacts", "options"}
    of_steps |= {"explicit_rotation", "rebound"}
    assert set(result.fallbacks) == of_islands | of_steps


def test_fallbacks_of_steps_are_counted():
    model = mixed()
    settings = sapwood.SapSettings(friction="coulomb", max_iterations=0)
    stepper, data = Stepper(model, settings=settings), mujoco.MjData(model)
    with pytest.warns(RuntimeWarning, match="friction_limit"):
        result = stepper.run(data, 5)
    assert result.fallbacks["supernodal"] > 0
    assert result.fallbacks["bounds_held"] == 0
