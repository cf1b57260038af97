"""A batch that binds only what lean steps leave takes no full step, and not a bit differs."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from batch_worlds import scatter, whole_state, worlds_of
from mujoco_models import elements, mixed, set_controls
from sapwood.mujoco import Batch, Stepper
from sapwood.mujoco.batches.fields import KEPT_FIELDS, STATE_FIELDS, data_fields
from sapwood.studies import scenes

N = 3
KEPT = sorted((KEPT_FIELDS - set(STATE_FIELDS)) & data_fields())

MODELS = {
    "mixed": lambda: mixed("elliptic"),
    "elements": lambda: elements(),
    "clutter": lambda: scenes.clutter(5, seed=1).compile(),
}


@pytest.mark.parametrize("name", MODELS)
def test_kept_fields_are_those_of_full_steps(name, rng):
    model = MODELS[name]()
    stepper, batch = Stepper(model), Batch(model, N, 1)
    scatter(model, batch, rng)
    arrays = {field: batch.bind(field) for field in KEPT}
    data = worlds_of(batch)
    for call in range(30):
        for i, d in enumerate(data):
            set_controls(model, d, 10 * i + call)
            batch.ctrl[i] = d.ctrl
        batch.step(nstep=1 + call % 2)
        for i, d in enumerate(data):
            for _ in range(1 + call % 2):
                stepper.step(d)
            np.testing.assert_array_equal(batch.state[i], whole_state(model, d))
            for field, rows in arrays.items():
                np.testing.assert_array_equal(rows[i], getattr(d, field), field)


@pytest.mark.parametrize(
    ("bound", "is_full"),
    [([], False), (["xpos", "qacc"], False), (["sensordata"], True), (["xpos", "cvel"], True)],
)
def test_sensors_are_evaluated_only_if_a_bound_field_needs_a_full_step(bound, is_full):
    model = mujoco.MjModel.from_xml_string("""
        <mujoco><worldbody><body name="ball" pos="1 0 0"><freejoint/><geom size=".1"/></body>
        </worldbody><sensor><framepos objtype="body" objname="ball"/></sensor></mujoco>""")
    batch = Batch(model, N, 1)
    for name in bound:
        batch.bind(name)
    batch.step(nstep=4)
    evaluated = batch._workers.workers[0][2].sensordata[0] == 1.0
    assert evaluated == is_full
