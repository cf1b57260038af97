"""Runs and rollouts of a MuJoCo model many times, also such that fail: nothing may be left behind.

The counts are those of leaks.py. Exits with 1 and a line per leak.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import warnings

import mujoco
import numpy as np
from leaks import leaks_of

from sapwood import PressureField, SapSettings, _core
from sapwood.mujoco import Batch, Rollout, SimulationError, StepError, Stepper, rollout
from sapwood.mujoco.reading import engine as mujoco_engine
from sapwood.mujoco.results.recording import NAMES
from sapwood.studies import scenes

MODEL = scenes.clutter(4, seed=1).compile()
DATA = mujoco.MjData(MODEL)
STEPPER = Stepper(MODEL)
MIDPOINT = Stepper(MODEL, scheme="midpoint")
SPEC = mujoco.mjtState.mjSTATE_FULLPHYSICS
START = np.empty(mujoco.mj_stateSize(MODEL, SPEC))
mujoco.mj_getState(MODEL, DATA, START, SPEC)
WORLDS = np.tile(START, (3, 1))
POOL = Rollout(STEPPER, nthread=2)
ADDRESSES, LAYOUT = mujoco_engine.read_addresses(), mujoco_engine.read_layout()

# a model that has no room for its contacts: MuJoCo reports an error in each step
BOXES = "".join(
    f"<body pos='{i} 0 .09'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    for i in range(10)
)
FULL = mujoco.MjModel.from_xml_string(
    f"<mujoco><size memory='64K'/><worldbody><geom type='plane' size='1 1 1'/>{BOXES}</worldbody>"
    "</mujoco>"
)
FULL_STEPPER, FULL_DATA = Stepper(FULL), mujoco.MjData(FULL)

# a model with limits, equality constraints, friction loss and an implicit actuator
HELD = mujoco.MjModel.from_xml_string(
    """<mujoco><worldbody><body name="arm"><joint name="a" range="-9 9" frictionloss=".1"/>
    <geom size=".1" pos=".2 0 0"/></body><body name="free" pos=".2 0 0"><freejoint/>
    <geom size=".1"/></body></worldbody><contact><exclude body1="arm" body2="free"/></contact>
    <equality><weld body1="arm" body2="free"/></equality>
    <actuator><position joint="a" kp="1e5" forcerange="-1 1"/></actuator></mujoco>"""
)
HELD_STEPPER, HELD_DATA = Stepper(HELD), mujoco.MjData(HELD)

# a ball that meets the floor and another one in patches
SOFT = PressureField(1e5, resolution=0.05)
PADS = mujoco.MjModel.from_xml_string(
    """<mujoco><custom><numeric name="sapwood/field/geom/pad" data="1e5 .05"/></custom>
    <worldbody><geom type="plane" size="1 1 1"/>
    <body pos="0 0 .09"><freejoint/><geom name="pad" size=".1"/></body>
    <body pos=".18 0 .09"><freejoint/><geom name="ball" size=".1"/></body></worldbody></mujoco>"""
)
PAD_STEPPER, PAD_DATA = Stepper(PADS, fields={"ball": SOFT}), mujoco.MjData(PADS)


class Stop(Exception):
    """Raised by callbacks."""


def stop(*_: object) -> None:
    """End whatever calls it."""
    raise Stop


def fails(
    kind: type[Exception] | tuple[type[Exception], ...],
    call: object,
    *arguments: object,
    **keywords: object,
) -> None:
    """Run a call that must raise."""
    with contextlib.suppress(kind):
        call(*arguments, **keywords)
        raise AssertionError("the call was to fail")


def construct() -> None:
    """Steppers, each with its copy of the model and its core."""
    Stepper(MODEL)


def bind() -> None:
    """The table of MuJoCo's functions, and such as are refused."""
    _core.mujoco_api(ADDRESSES, LAYOUT, mujoco.MjModel, mujoco.MjData)
    fails(KeyError, _core.mujoco_api, {}, LAYOUT, mujoco.MjModel, mujoco.MjData)
    fails(KeyError, _core.mujoco_api, ADDRESSES, {}, mujoco.MjModel, mujoco.MjData)
    fails(TypeError, _core.mujoco_api, ADDRESSES, LAYOUT, mujoco.MjModel, 3)


def step() -> None:
    """Runs, single steps, and their results."""
    STEPPER.run(DATA, 5)
    STEPPER.run(DATA, 4, lambda _: None, every=2)
    STEPPER.step(DATA)
    STEPPER.run(mujoco.MjData(MODEL), 1)


def record() -> None:
    """Runs that record everything, to their end and not."""
    result = STEPPER.run(DATA, 5, record=NAMES)
    assert len(result.contacts_of(4)) == result.contacts[4]
    fails(Stop, STEPPER.run, DATA, 3, stop, record=NAMES)
    fails(ValueError, STEPPER.run, DATA, 3, record=["nothing"])
    fails(TypeError, _core.ContactLog().append, None)
    MIDPOINT.run(DATA, 2, record=NAMES)
    str(STEPPER.contacts)
    STEPPER.contacts.to_dict()


def step_held() -> None:
    """A model that is constrained beside contacts, with all results."""
    HELD_STEPPER.run(HELD_DATA, 3)
    HELD_STEPPER.step1(HELD_DATA)
    HELD_STEPPER.step2(HELD_DATA)
    assert len(HELD_STEPPER.constraints) == 4
    assert HELD_STEPPER.solution is not None
    HELD_STEPPER.problem(HELD_DATA)
    Stepper(HELD)


def step_held_wrongly() -> None:
    """The same with wrong arrays."""
    core = HELD_STEPPER.parameters.make_core()
    fails(TypeError, core.solve, (), (), (), None)
    for name, value in HELD_STEPPER.parameters.elements.items():
        wrong = value.astype(complex) if isinstance(value, np.ndarray) else -1
        fails((TypeError, ValueError), make_core, {**HELD_STEPPER.parameters.elements, name: wrong})


def make_core(elements: dict[str, object]) -> object:
    """A core for the model that is held."""
    return _core.ModelStepper(
        HELD_STEPPER.parameters.forest,
        0.01,
        1e-3,
        1.0,
        "block",
        "elliptic",
        1e10,
        SapSettings(),
        elements,
    )


def step_in_patches() -> None:
    """Pressure fields, of steppers that stay and of such that go, and the patches they tell of."""
    PAD_STEPPER.run(PAD_DATA, 3, record=NAMES)
    PAD_STEPPER.step(PAD_DATA)
    for patch in PAD_STEPPER.patches:
        assert len(patch.surface.areas) == len(patch.slip_speed)
    Stepper(PADS, fields={"ball": PressureField(1e5, resolution=0.1)})


def step_in_patches_wrongly() -> None:
    """Fields that are refused, by their names and by the core."""
    fails(ValueError, Stepper, PADS, fields={"nobody": SOFT})
    fails(TypeError, Stepper, PADS, fields={"ball": 3})
    parameters = PAD_STEPPER.parameters
    geoms, condim, friction, shapes = parameters.fields.for_core(parameters.model.ngeom)
    wrong = [
        3, (geoms, condim, friction), (geoms[:-1], condim, friction, shapes),
        (geoms, condim, friction[:, :1], shapes), (geoms, condim, -1 - friction, shapes),
        (geoms, condim, friction, shapes[:-1]), (geoms, condim, friction, (3,) * len(shapes)),
    ]  # fmt: skip
    for fields in wrong:
        fails(
            (TypeError, ValueError), _core.ModelStepper, parameters.forest, 0.01, 1e-3, 1.0,
            "block", "elliptic", 1e10, SapSettings(), None, False, np.inf, np.inf, 0.0, 0.0, 0.0,
            fields,
        )  # fmt: skip
    nowhere = mujoco.MjData(PADS)
    nowhere.qpos[2] = np.nan
    fails(StepError, PAD_STEPPER.step, nowhere)


def step_wrongly() -> None:
    """Runs that fail in every way."""
    data = mujoco.MjData(MODEL)
    fails(Stop, STEPPER.run, data, 3, stop)
    mujoco.set_mjcb_control(stop)
    fails(Stop, STEPPER.run, data, 3)
    fails(Stop, rollout, STEPPER, START, nstep=3)
    mujoco.set_mjcb_control(None)
    data.qpos[0] = np.nan
    fails(StepError, STEPPER.run, data, 3)
    fails(StepError, FULL_STEPPER.run, FULL_DATA, 3)
    fails(TypeError, STEPPER.run, data, 3, 3)


def roll_out() -> None:
    """Rollouts by a pool that is kept, and by new ones."""
    POOL.rollout(WORLDS, nstep=5)
    rollout(STEPPER, WORLDS, nstep=2, nthread=2)


def roll_out_wrongly() -> None:
    """Rollouts with worlds that fail, and with wrong arrays."""
    worlds = WORLDS.copy()
    worlds[1, 3] = np.nan
    POOL.rollout(worlds, nstep=5)
    fails(ValueError, POOL.rollout, worlds[:, :-1])
    fails(TypeError, POOL.rollout, worlds, state=3)
    fails(ValueError, POOL.rollout, worlds, state=np.zeros((3, 2, 1)))


def batch() -> None:
    """A batch with parameters of its worlds, stepped, reset and rolled out."""
    made = Batch(MODEL, 3, 2)
    made.observe(("qpos", "qvel"), np.float32)
    made.expand("geom_friction")[1] *= 2.0
    made.set_const()
    made.step(nstep=2)
    made.reset([1])
    made.rollout(2, record=("qpos", "sensordata"))


def batch_wrongly() -> None:
    """Calls of a batch that fail in every way."""
    made = Batch(MODEL, 3, 2)
    made.qpos[1, 0] = np.nan
    fails(SimulationError, made.step)
    fails(ValueError, made.step, [5])
    fails(ValueError, made.bind, "qpso")
    fails(ValueError, made.rollout, 1, record=("qpso",))
    mujoco.set_mjcb_control(stop)
    fails(Stop, made.step, [0], 3)
    mujoco.set_mjcb_control(None)


def main() -> int:
    """Run all scenarios."""
    warnings.simplefilter("ignore")
    scenarios = [construct, bind, step, step_wrongly, roll_out, roll_out_wrongly]
    scenarios += [batch, batch_wrongly]
    scenarios += [step_held, step_held_wrongly, record, step_in_patches, step_in_patches_wrongly]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # MuJoCo leaves a log file
        found = [line for scenario in scenarios for line in leaks_of(scenario)]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
