"""The C loop over worlds by itself: it refuses garbage, and does what its arguments say."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import full_state
from sapwood import _core
from sapwood.mujoco import Stepper
from sapwood.mujoco.batches.workers import Workers
from sapwood.mujoco.reading.engine import engine
from sapwood.studies import scenes

WHOLE = int(mujoco.mjtState.mjSTATE_INTEGRATION)
PART = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
CTRL = int(mujoco.mjtState.mjSTATE_CTRL)


@pytest.fixture
def workers():
    stepper = Stepper(scenes.sphere_on_floor(1.0).compile())
    return Workers(stepper.parameters, engine())


def good_arguments(workers):
    model = workers.workers[0][1]
    start = full_state(model, mujoco.MjData(model))
    part = mujoco.mj_stateSize(model, PART)
    return {
        "n_worlds": 2,
        "state_spec": WHOLE,
        "state": np.tile(start, (2, 1)),
        "start": start,
        "keys": None,
        "overlay": np.zeros((1, 1, part)) + full_part(model),
        "overlay_spec": PART,
        "ids": None,
        "steps": 3,
        "control": np.zeros((1, 1, 0)),
        "control_spec": CTRL,
        "stage": 0,
        "records": ((None, PART, np.zeros((2, 3, part))),),
        "step_records": np.zeros((2, 3), _core.STEP_RECORD),
        "taken": np.zeros(2, np.int64),
        "last_records": np.zeros(2, _core.STEP_RECORD),
        "body_forces": np.zeros((2, model.nbody, 3)),
        "status": np.zeros(2, np.uint8),
        "chunk": 1,
        "signals": False,
    }


def full_part(model):
    part = np.empty(mujoco.mj_stateSize(model, PART))
    mujoco.mj_getState(model, mujoco.MjData(model), part, PART)
    return part


def test_arguments_of_a_call_are_checked(workers):
    loop = workers.loop(2)
    good = good_arguments(workers)
    whole, part = good["state"].shape[1], good["overlay"].shape[2]
    assert loop.run(**good) == (0, 0)
    assert good["taken"].tolist() == [3, 3]
    assert not good["status"].any()
    before = good["state"].copy()
    record = good["records"][0][2]
    xpos = workers.arrays(lambda worker: worker[2].xpos)
    for name, value in (
        ("n_worlds", -1), ("n_worlds", 2**31), ("n_worlds", 1), ("state_spec", -1),
        ("state_spec", 1 << 30), ("state", before[:, :-1]), ("state", before[:1]),
        ("state", before.tolist()), ("state", before.astype(np.float32)), ("start", before[0, :-1]),
        ("keys", np.zeros(3, np.int32)), ("keys", np.zeros(2)), ("overlay", before),
        ("overlay", np.zeros((2, 2, part))), ("overlay", np.zeros((3, 1, part))),
        ("overlay_spec", 1 << 30), ("ids", np.array([0, 2], np.int32)),
        ("ids", np.array([1, 0], np.int32)), ("ids", np.array([0, 0], np.int32)),
        ("ids", np.array([-1, 0], np.int32)), ("ids", np.arange(2)), ("ids", [0, 1]),
        ("ids", np.zeros(1, np.int32)), ("steps", -1), ("steps", 2**62), ("steps", 4),
        ("control", np.zeros((1, 2, 0))), ("control", np.zeros((1, 1, 1))), ("control_spec", -1),
        ("stage", -1), ("stage", 4), ("records", None), ("records", (1,)),
        ("records", ((None, -1, record),)), ("records", ((None, PART, record[:, :2]),)),
        ("records", ((None, PART, record.astype(np.float32)),)),
        ("records", ((None, PART, record[:, :, :-1]),)), ("records", ((xpos[:1], 0, record),)),
        ("records", ((xpos, 0, record),)), ("records", ((1, 0, record),)),
        ("step_records", np.zeros((2, 2), _core.STEP_RECORD)), ("step_records", record),
        ("taken", np.zeros(2)), ("taken", np.zeros(3, np.int64)), ("last_records", record),
        ("last_records", np.zeros(1, _core.STEP_RECORD)), ("body_forces", np.zeros((2, 1, 3))),
        ("status", np.zeros(2)), ("status", np.zeros(1, np.uint8)), ("memories", (None,)),
        ("memories", 1), ("contacts", ()), ("contacts", (1, 2)), ("speeds", np.zeros(4)),
        ("chunk", 0), ("chunk", 2**31), ("failed", 1), ("unknown", 1),
    ):  # fmt: skip
        if name == "n_worlds" and value == 1:
            continue
        with pytest.raises((TypeError, ValueError, OverflowError)):
            loop.run(**(good | {name: value}))
    np.testing.assert_array_equal(good["state"], before)
    with pytest.raises(TypeError, match="one of state, start and keys"):
        loop.run(n_worlds=1, state_spec=WHOLE)
    with pytest.raises(TypeError):
        loop.run(1, 2)
    assert loop.run(n_worlds=1, state_spec=WHOLE, start=before[0], steps=1) == (0, 0)
    assert whole == before.shape[1]


def test_fields_are_checked(workers):
    loop = workers.loop(2)
    arrays = workers.arrays(lambda worker: worker[2].qpos)
    rows = np.zeros((4, 7))
    loop.bind(4, ((arrays, rows, "out", False), (arrays, rows.astype(np.float32), "float", False)))
    rounded = rows.astype(np.float32)
    for fields in (
        None, (1,), ((arrays, rows),), ((arrays, rows, "out"),),
        ((arrays[:1], rows, "out", False),),
        ((list(arrays), rows, "out", False),), ((arrays, rows, "sideways", False),),
        ((arrays, rows, None, False),), ((arrays, rows[:3], "out", False),),
        ((arrays, rows[:, :6], "out", False),), ((arrays, rows.T.copy().T, "out", False),),
        ((arrays, rows, "float", False),), ((arrays, rounded, "out", False),),
        ((arrays, rows.astype(np.int64), "out", False),), ((arrays, rows.ravel(), "out", False),),
        (((arrays[0], arrays[1][:3]), rows, "out", False),), ((("a", "b"), rows, "out", False),),
        ((arrays, rows.tolist(), "out", False),),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            loop.bind(4, fields)
    read_only = rows.copy()
    read_only.flags.writeable = False
    with pytest.raises(TypeError):
        loop.bind(4, ((arrays, read_only, "out", False),))
    # the fields bound before are still bound
    good = good_arguments(workers)
    with pytest.raises(ValueError, match="state has 2 rows, the bound fields have 4"):
        loop.run(**good)
    start = good["start"]
    state = np.tile(start, (4, 1))
    assert loop.run(n_worlds=4, state_spec=WHOLE, state=state, steps=2) == (0, 0)
    np.testing.assert_array_equal(rows[3], rows[0])
    assert rows[0, 2] != 0.0
    loop.bind(0, ())
    assert loop.run(**good) == (0, 0)


def test_workers_are_checked(workers):
    workers.loop(1)
    worker, api = workers.workers[0], engine()
    core, model, data, _ = worker
    for given in (
        [], [1], [()], [(core, model, data)], [(core, data, model, None)], [(1, model, data, None)],
        [(core, model, data, 1)], [worker] * 257, (worker,), None,
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            _core.WorldBatch(api, given)
    with pytest.raises(TypeError):
        _core.WorldBatch(1, [worker])
    other = mujoco.MjModel.from_xml_string("<mujoco/>")
    with pytest.raises(ValueError, match="model: has other sizes"):
        _core.WorldBatch(api, [(core, other, mujoco.MjData(other), None)])
