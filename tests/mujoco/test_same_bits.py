"""All ways to take the same steps give the same bits, for every kind of model and of step."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import elements, full_state, mixed, physics_state, wide
from sapwood import ConstraintMaterial, PressureField
from sapwood.mujoco import ContactMaterial, Stepper, rollout
from sapwood.studies import scenes

pytestmark = pytest.mark.filterwarnings("ignore:.*friction_limit:RuntimeWarning")

STEPS = 40
FIELDS = (
    "qacc", "qfrc_constraint", "qfrc_smooth", "qfrc_actuator", "efc_force", "actuator_force",
    "sensordata", "cfrc_ext",
)  # fmt: skip
PADS = """<mujoco><option timestep=".004"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body pos="0 0 .095"><freejoint/><geom name="pad" size=".1"/></body>
  <body pos=".19 .01 .09"><freejoint/><geom name="ball" size=".1"/></body></worldbody></mujoco>"""


def implicit():
    """The mixed model under an integrator with implicit forces."""
    model = mixed()
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return model


def pads():
    soft = PressureField(1e5, resolution=0.05)
    model = mujoco.MjModel.from_xml_string(PADS)
    return Stepper(model, fields={"pad": soft, "ball": soft})


CASES = {
    "elliptic": lambda: Stepper(mixed()),
    "pyramidal": lambda: Stepper(mixed("pyramidal")),
    "elements": lambda: Stepper(elements("sparse")),
    "dense elements": lambda: Stepper(
        elements("dense"), constraints={"equality/pin": ConstraintMaterial(1e4)}
    ),
    "torsional friction": lambda: Stepper(wide()),
    "torsional friction, pyramidal": lambda: Stepper(wide("pyramidal")),
    "implicit forces": lambda: Stepper(implicit()),
    "options": lambda: Stepper(
        mixed(), time_step=0.002, contact=ContactMaterial(1e5), sigma=1e-4, speculative=False
    ),
    "patches": pads,
    "midpoint": lambda: Stepper(mixed(), scheme="midpoint"),
} | {
    law: lambda law=law: Stepper(scenes.clutter(8, seed=1).compile(), friction=law)
    for law in ("convex", "lagged", "coulomb")
}


def by_steps(stepper, data):
    for _ in range(STEPS):
        stepper.step(data)


def by_halves(stepper, data):
    for _ in range(STEPS):
        stepper.step1(data)
        stepper.step2(data)


def by_runs(stepper, data):
    stepper.run(data, 1)
    stepper.run(data, STEPS - 1)


def by_a_copy(stepper, data):
    copy.copy(stepper).run(data, STEPS)


def by_a_deep_copy(stepper, data):
    by_steps(copy.deepcopy(stepper), data)


def by_a_pickle(stepper, data):
    by_steps(pickle.loads(pickle.dumps(stepper)), data)


def in_turn(stepper, data):
    """With other data that are elsewhere."""
    other = mujoco.MjData(stepper.model)
    other.qvel[:] = 0.1
    for _ in range(STEPS):
        stepper.step(data)
        stepper.step(other)


def within_a_run(stepper, data):
    """By a callback of a run of other data."""
    stepper.run(mujoco.MjData(stepper.model), STEPS, lambda _: stepper.run(data, 1) is None)


def beside_threads(stepper, data):
    """While other threads use the stepper."""
    twins = [mujoco.MjData(stepper.model) for _ in range(2)]
    threads = [threading.Thread(target=stepper.run, args=(twin, STEPS)) for twin in twins]
    for thread in threads:
        thread.start()
    by_steps(stepper, data)
    for thread in threads:
        thread.join()


WAYS = [by_halves, by_runs, by_a_copy, by_a_deep_copy, by_a_pickle, in_turn, within_a_run,
        beside_threads]  # fmt: skip


def started(model):
    """Data in motion, with controls."""
    data = mujoco.MjData(model)
    data.qvel[:] = 0.3 * np.sin(np.arange(model.nv))
    data.ctrl[:] = 0.3
    return data


@pytest.mark.parametrize("case", CASES)
def test_all_ways_give_the_same_bits(case):
    stepper = CASES[case]()
    model, expected = stepper.model, started(stepper.model)
    by_steps(stepper, expected)
    assert stepper.steps == STEPS
    assert stepper.n_contacts > 0
    solution = stepper.solution
    for way in WAYS:
        fresh, data = CASES[case](), started(model)
        way(fresh, data)
        np.testing.assert_array_equal(full_state(model, data), full_state(model, expected))
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(data, name), getattr(expected, name), name)
        if way in (by_halves, by_runs):
            assert fresh.solution == solution


@pytest.mark.parametrize("case", [case for case in CASES if case != "midpoint"])
@pytest.mark.parametrize(("nthread", "chunk_size"), [(1, None), (3, 1)])
def test_worlds_of_rollouts_are_runs(case, nthread, chunk_size):
    """Each starts where the one before ended, and knows nothing of it."""
    stepper = CASES[case]()
    model, starts, ends = stepper.model, [], []
    data = started(model)
    for _ in range(3):
        starts.append(physics_state(model, data))
        data = mujoco.MjData(model)
        mujoco.mj_setState(model, data, starts[-1], mujoco.mjtState.mjSTATE_FULLPHYSICS)
        data.ctrl[:] = 0.3
        stepper.run(data, STEPS)
        ends.append(physics_state(model, data))
    controls = np.full((1, STEPS, model.nu), 0.3)
    for order in (slice(None), slice(None, None, -1)):
        worlds = rollout(stepper, starts[order], controls, nthread=nthread, chunk_size=chunk_size)
        np.testing.assert_array_equal(worlds.state[:, -1], ends[order])
