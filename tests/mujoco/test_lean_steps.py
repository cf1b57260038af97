"""Steps of a run that nobody looks at leave out what the next one finds anew: not a bit differs."""

from __future__ import annotations

import lzma
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
structs = pytest.importorskip("mujoco.introspect.structs")

from mujoco_models import elements, is_defined, mixed, set_controls
from sapwood.mujoco import NotSupported, StepError, Stepper
from sapwood.studies import scenes

# counters and measures, and arrays that MuJoCo itself leaves unchanged
COUNTED = {"maxuse_stack", "maxuse_arena", "maxuse_con", "maxuse_efc", "timer", "solver"}
UNTOUCHED = {"efc_b", "efc_state", "plugin_data", "buffer", "arena", "threadpool", "signature"}
_SPARSE = {"efc_J_rownnz", "efc_J_rowadr", "efc_J_rowsuper", "efc_J_colind"}

CLOTH = """
<mujoco><option timestep=".004"/><worldbody>
  <geom type="plane" size="1 1 .1"/>
  <flexcomp type="grid" count="4 4 1" spacing=".1 .1 .1" pos="0 0 .1" radius=".01" name="cloth"
    dim="2" mass=".2"><edge equality="true"/></flexcomp>
  <body pos="0 0 .3"><freejoint/><geom size=".04"/></body>
</worldbody></mujoco>"""

STICKY = """
<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
  <body name="pad" pos="0 0 .051"><freejoint/><geom type="box" size=".05 .05 .05"/></body>
</worldbody><actuator><adhesion body="pad" ctrlrange="0 9" gain="3"/></actuator></mujoco>"""

BELT = """
<mujoco><worldbody>
  <body><joint name="a" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
  <body pos="0 1 0"><joint name="b" axis="0 1 0" frictionloss=".2"/><geom size=".1" pos=".3 0 0"/>
  </body></worldbody>
  <tendon><fixed frictionloss=".3" limited="true" range="-.1 .1"><joint joint="a" coef="1"/>
    <joint joint="b" coef="-2"/></fixed></tendon>
</mujoco>"""

# a joint that starts beyond its limit
BENT = """
<mujoco><worldbody><body><joint range="-20 20" limited="true" ref="30" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></worldbody></mujoco>"""

# the box is deeper in the floor than its motion could have left, the arm beyond its limit
DEEP = """
<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
  <body pos="0 0 .07"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="1 0 1"><joint range="-20 20" limited="true" ref="30" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body>
</worldbody></mujoco>"""


# a robot whose a* follows from A alone: damped joints, one with a servo
DAMPED = """
<mujoco><option timestep=".004"/><worldbody><geom type="plane" size="1 1 .1"/>
  <body name="trunk" pos="0 0 .4"><freejoint/><geom type="box" size=".1 .2 .05"/>
    <body pos="0 .3 0"><joint name="a" axis="1 0 0" damping=".05" range="-30 30" limited="true"/>
      <geom type="capsule" fromto="0 0 0 0 .2 0" size=".03"/></body>
    <body pos="0 -.3 0"><joint name="b" axis="0 1 0" damping=".02"/>
      <geom type="capsule" fromto="0 0 0 .2 0 0" size=".03"/></body>
  </body></worldbody><actuator><position joint="b" kp="3" forcerange="-1 1"/></actuator>
</mujoco>"""


def everything(model, data):
    """All that a user sees of data, by name."""
    left_out = COUNTED | UNTOUCHED | (set() if mujoco.mj_isSparse(model) else _SPARSE)
    found = {
        field.name: np.array(getattr(data, field.name))
        for field in structs.STRUCTS["mjData"].fields
        if field.name not in {*left_out, "contact", "warning"}
        and hasattr(data, field.name)
        and is_defined(field.name)
    }
    for field in structs.STRUCTS["mjContact"].fields:
        found[f"contact.{field.name}"] = np.array(getattr(data.contact, field.name))
    found["warning"] = np.array([warning.number for warning in data.warning])
    return found


def differences(model, one, other):
    """Names of what is not the same to the bit."""
    a, b = everything(model, one), everything(model, other)
    return [
        name
        for name in a
        if a[name].shape != b[name].shape or a[name].tobytes() != b[name].tobytes()
    ]


def with_flags(model, flags):
    model.opt.enableflags |= flags
    return model


def of(text):
    return lambda: mujoco.MjModel.from_xml_string(text)


MODELS = {
    "mixed": mixed,
    "mixed_pyramidal": lambda: mixed("pyramidal"),
    "mixed_energy": lambda: with_flags(mixed(), mujoco.mjtEnableBit.mjENBL_ENERGY),
    "elements": elements,
    "elements_sparse": lambda: elements("sparse", "pyramidal"),
    "clutter": lambda: scenes.clutter(8, seed=3).compile(),
    "cloth": of(CLOTH),
    "sticky": of(STICKY),
    "belt": of(BELT),
    "deep": of(DEEP),
    "bent": of(BENT),
    "damped": of(DAMPED),
}
if hasattr(mujoco.mjtEnableBit, "mjENBL_DIAGEXACT"):
    MODELS["elements_exact"] = lambda: with_flags(elements(), mujoco.mjtEnableBit.mjENBL_DIAGEXACT)


def quiet_stepper(model, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Stepper(model, **arguments)


def twins(model):
    pair = mujoco.MjData(model), mujoco.MjData(model)
    for data in pair:
        data.qvel[:] = np.linspace(0.5, -0.5, model.nv)
        set_controls(model, data, 3)
    return pair


@pytest.mark.parametrize("friction", ["coulomb", "convex", "lagged"])
@pytest.mark.parametrize("name", MODELS)
def test_a_run_leaves_what_its_steps_leave(name, friction):
    model = MODELS[name]()
    stepper, other = (quiet_stepper(model, friction=friction) for _ in range(2))
    model = stepper.model
    at_once, one_by_one = twins(model)
    for steps in (2, 3, 40):
        stepper.run(at_once, steps)
        for _ in range(steps):
            other.step(one_by_one)
        assert differences(model, at_once, one_by_one) == []


@pytest.mark.parametrize("push", [0.0, 2.0])
@pytest.mark.parametrize("spin", [0.1, 20.0])
def test_damped_robots_that_spin_or_are_pushed_leave_what_their_steps_leave(spin, push):
    stepper = quiet_stepper(MODELS["damped"]())
    at_once, one_by_one = twins(stepper.model)
    for data in (at_once, one_by_one):
        data.qvel[3:6] = spin
        data.xfrc_applied[2] = push
        data.qfrc_applied[-1] = 0.1
    stepper.run(at_once, 60)
    for _ in range(60):
        stepper.step(one_by_one)
    assert differences(stepper.model, at_once, one_by_one) == []


@pytest.mark.parametrize("name", ["mixed", "elements"])
def test_what_is_recorded_is_that_of_each_step(name):
    stepper = quiet_stepper(MODELS[name]())
    at_once, one_by_one = twins(stepper.model)
    names = ("qacc", "actuator_force", "qfrc_constraint", "sensordata", "force", "contacts")
    for chosen in (names, tuple(n for n in names if n != "sensordata")):
        result = stepper.run(at_once, 20, record=chosen)
        for i in range(20):
            stepper.step(one_by_one)
            for n in set(chosen) - {"force", "contacts"}:
                np.testing.assert_array_equal(getattr(result, n)[i], getattr(one_by_one, n))
            records = stepper.contacts.records
            np.testing.assert_array_equal(result.contacts_of(i).records, records)
        assert differences(stepper.model, at_once, one_by_one) == []


def test_callbacks_of_the_engine_see_all():
    stepper = quiet_stepper(MODELS["mixed_energy"]())
    seen = []

    def look(_model, data):
        seen.append((data.sensordata.copy(), data.energy.copy(), data.efc_pos.copy()))

    at_once, one_by_one = twins(stepper.model)
    mujoco.set_mjcb_control(look)
    try:
        stepper.run(at_once, 30)
        run, seen = seen, []
        for _ in range(30):
            stepper.step(one_by_one)
    finally:
        mujoco.set_mjcb_control(None)
    assert len(run) == len(seen) == 30
    for of_run, of_step in zip(run, seen, strict=True):
        for a, b in zip(of_run, of_step, strict=True):
            np.testing.assert_array_equal(a, b)
    assert max(len(rows) for *_, rows in run) > 0


def test_a_callback_of_a_run_sees_all():
    stepper = quiet_stepper(elements())
    at_once, one_by_one = twins(stepper.model)
    seen = []

    def look(data):
        seen.append(differences(stepper.model, data, one_by_one))
        return len(seen) == 3

    def follow(data):
        for _ in range(5):
            stepper.step(one_by_one)
        return look(data)

    assert stepper.run(at_once, 100, follow, every=5).steps == 15
    assert seen == [[], [], []]


def failures(stepper, at_once, one_by_one):
    """Texts of the errors that end 50 steps, without the position in the run."""

    def take_steps():
        for _ in range(50):
            stepper.step(one_by_one)

    with pytest.raises(StepError) as of_run:
        stepper.run(at_once, 50)
    with pytest.raises(StepError) as of_steps:
        take_steps()
    return [str(error.value).split("at time")[1] for error in (of_run, of_steps)]


@pytest.mark.parametrize("name", ["elements", "deep"])
def test_a_step_that_fails_tells_and_leaves_the_same(name):
    stepper = quiet_stepper(MODELS[name]())
    at_once, one_by_one = twins(stepper.model)
    for data in (at_once, one_by_one):
        data.qfrc_applied[0] = 1e13
    run, steps = failures(stepper, at_once, one_by_one)
    assert run == steps
    assert "at its start" in run
    # no force was written
    assert differences(stepper.model, at_once, one_by_one) in ([], ["efc_force"])


def test_a_state_that_is_refused_ends_both_at_the_same_step():
    stepper = quiet_stepper(MODELS["deep"]())
    at_once, one_by_one = twins(stepper.model)
    for data in (at_once, one_by_one):
        data.qvel[0], data.qfrc_applied[0] = 9.9e9, 8e10
    run, steps = failures(stepper, at_once, one_by_one)
    assert run == steps
    assert "qvel[0] = 1" in run
    assert at_once.time == one_by_one.time > 0.0
    np.testing.assert_array_equal(at_once.qpos, one_by_one.qpos)


def all_models():
    """Parameters: the models of the folder that SAPWOOD_DATA names."""
    folder = os.environ.get("SAPWOOD_DATA")
    paths = sorted((Path(folder) / "models").rglob("*.mjb.xz")) if folder else []
    return [pytest.param(path, id=path.name.split(".")[0]) for path in paths]


@pytest.mark.filterwarnings("ignore:.*ended in friction_limit:RuntimeWarning")
@pytest.mark.parametrize("path", all_models())
def test_robots_leave_the_same(path, tmp_path):
    """Also where friction takes more iterations than the limit."""
    binary = tmp_path / "model.mjb"
    binary.write_bytes(lzma.decompress(path.read_bytes()))
    model = mujoco.MjModel.from_binary_path(str(binary))
    try:
        stepper = quiet_stepper(model)
    except NotSupported as error:
        pytest.skip(str(error))
    model = stepper.model
    at_once, one_by_one = mujoco.MjData(model), mujoco.MjData(model)
    for data in (at_once, one_by_one):
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        data.ctrl[:] = 0.3 * np.random.default_rng(1).normal(size=model.nu)
    for steps in (20, 2):
        stepper.run(at_once, steps)
        for _ in range(steps):
            stepper.step(one_by_one)
        assert differences(model, at_once, one_by_one) == []
