"""Models that change after their stepper was made: seen or refused, never ignored."""

from __future__ import annotations

import copy
import pickle
import re
import warnings

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import VERSION
from sapwood import RigidCore
from sapwood.mujoco import ContactMaterial, NotSupported, Rollout, Stepper
from sapwood.mujoco.following import watch
from sapwood.mujoco.following.following import READ, STRUCTURE
from sapwood.mujoco.following.watch import OPTIONS, VECTORS, ModelWatch
from sapwood.mujoco.reading.controllers import BOUNDED

XML = """
<mujoco>
  <option integrator="implicitfast"/>
  <custom>
    <numeric name="sapwood/group/3" data="1e5 .02 .4"/>
    <numeric name="sapwood/joint/hinge" data="2e3 .01"/>
  </custom>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" friction=".7"/>
    <body name="hand" mocap="true" pos="0 2 1"><geom size=".05"/></body>
    <body name="held" pos="0 2 1.2"><freejoint/><geom size=".05"/></body>
    <body name="box" pos="0 0 .09"><freejoint/>
      <geom name="box" type="box" size=".1 .1 .1" friction=".5"/></body>
    <body name="puck" pos="1 0 .04"><freejoint/>
      <geom name="puck" type="cylinder" size=".1 .05" friction=".3" condim="4" group="3"/></body>
    <body name="arm" pos="-1 0 1">
      <joint name="hinge" axis="0 1 0" damping=".3" frictionloss=".2" stiffness="2"
       range="-20 5" actuatorfrcrange="-3 3"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/>
      <body pos=".3 0 0">
        <joint name="slide" type="slide" axis="1 0 0" range="-.05 .05" damping="1"/>
        <geom size=".05"/>
        <body pos=".1 0 0"><joint name="last" axis="0 1 0" damping=".1"/>
          <geom size=".05" pos=".1 0 0"/></body>
      </body>
    </body>
  </worldbody>
  <contact><pair name="own" geom1="floor" geom2="box" friction=".6 .6 0 0 0"/></contact>
  <equality>
    <weld name="grip" body1="hand" body2="held" torquescale=".5"/>
    <joint name="geared" joint1="last" joint2="hinge" polycoef="0 .5 0 0 0"/>
  </equality>
  <tendon><fixed name="cord" limited="true" range="-.02 .02" frictionloss=".1"
      actuatorfrclimited="true" actuatorfrcrange="-2 2">
    <joint joint="slide" coef="1"/><joint joint="last" coef=".3"/></fixed></tendon>
  <actuator>
    <position name="servo" joint="hinge" kp="40" kv="2" forcerange="-2 2"/>
    <position name="pull" tendon="cord" kp="30" kv="1" forcerange="-5 5"/>
    <motor name="push" joint="slide" gear="2" forcerange="-9 9"/>
  </actuator>
</mujoco>
"""
FLEX = """
<mujoco><worldbody><geom type="plane" size="1 1 1" contype="0"/>
  <flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" pos="0 0 .011" radius=".01"
   mass=".1"><contact selfcollide="none"/><edge damping=".01"/></flexcomp>
</worldbody></mujoco>
"""

# what to write where, for what is no floating-point number
VALUES = {
    "actuator_biastype": (0, int(mujoco.mjtBias.mjBIAS_NONE)),
    "actuator_forcelimited": (0, 0),
    "actuator_gaintype": (0, int(mujoco.mjtGain.mjGAIN_USER)),
    "actuator_group": (0, 2),
    "flex_conaffinity": (0, 0),
    "flex_contype": (0, 0),
    "flex_internal": (0, 1),
    "flex_selfcollide": (0, 1),
    "geom_group": (3, 3),
    "jnt_actfrclimited": (3, 0),
    "jnt_limited": (3, 0),
    "pair_geom1": (0, 4),
    "pair_geom2": (0, 4),
    "tendon_actfrclimited": (0, 0),
    "tendon_limited": (0, 0),
}
# read, and of no effect in these motions
IDLE = (
    "flex_conaffinity", "flex_selfcollide", "actuator_damping", "actuator_dampingpoly",
    *(["flex_internal"] if VERSION < (3, 17) else []),
)  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore:constraints are held ahead")


def model_with(name):
    return mujoco.MjModel.from_xml_string(FLEX if name.startswith("flex_") else XML)


def change(model, name):
    """Another value of an array, that a stepper can be made for."""
    array = getattr(model, name)
    if name in VALUES:
        index, value = VALUES[name]
        assert array[index] != value
        array[index] = value
    else:
        assert array.dtype == np.float64
        array[...] = 1.25 * array + (0.1 if "poly" in name or "damping" in name else 0.0)


def readable(names):
    """Those that this version of MuJoCo has, and that the models here have entries of."""
    return [name for name in names if np.size(getattr(model_with(name), name, ()))]


def state_after(stepper, steps=30):
    """Of a motion in which everything acts."""
    data = mujoco.MjData(stepper.model)
    data.ctrl[:] = [0.4, -0.3, 3.0][: stepper.model.nu]
    if stepper.model.nmocap:
        data.mocap_pos[0, 0] += 0.02
        data.qvel[6] = data.qvel[12] = 0.5  # box and puck slide
    stepper.run(data, steps)
    return np.concatenate([data.qpos, data.qvel])


def arrays_of(stepper):
    return stepper.parameters.forest, stepper.parameters.elements


def same_arrays(one, other):
    if one is None or other is None:
        return one is other
    return all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("name", readable(READ))
@pytest.mark.parametrize("where", ["given", "own"])
def test_what_is_read_is_read_again(name, where):
    """A stepper of a model that is changed steps like one that is made for the changed model."""
    model, changed = model_with(name), model_with(name)
    stepper = Stepper(model)
    before, arrays = state_after(stepper), arrays_of(stepper)
    change(changed, name)
    if where == "given":
        change(model, name)
    elif name in BOUNDED:
        pytest.skip("the core bounds these forces, and MuJoCo is told not to")
    else:
        getattr(stepper.model, name)[...] = getattr(changed, name)
    fresh = Stepper(changed)
    expected = state_after(fresh)
    np.testing.assert_array_equal(state_after(stepper), expected)
    assert all(map(same_arrays, arrays_of(stepper), arrays_of(fresh)))
    assert stepper.steps == 60
    moved = name in IDLE or not np.array_equal(expected, before)
    assert moved or not all(map(same_arrays, arrays, arrays_of(stepper)))


def test_all_that_is_read_is_known():
    """What a stepper is made of follows from no array that is not looked at."""
    model = mujoco.MjModel.from_xml_string(XML)
    reference = arrays_of(Stepper(model))
    names = [
        name
        for name in dir(model)
        if not name.startswith("_") and isinstance(getattr(model, name), np.ndarray)
    ]
    assert set(STRUCTURE) | set(READ) & set(names)
    tried = 0
    for name in names:
        array = getattr(model, name)
        number = array.dtype.kind == "f" or (array.dtype.kind in "b?")
        if name in READ or name in STRUCTURE or not number or not array.size:
            continue
        other = copy.copy(model)
        array = getattr(other, name)
        array[...] = ~array if array.dtype == bool else 1.25 * array + 0.01
        if name == "geom_surfacevel":
            # refused: one that turns with torsional friction, and before 4.0 one that moves
            array[:, 3 if hasattr(mujoco.MjContact, "surfacevel") else 0 :] = 0.0
        assert all(map(same_arrays, arrays_of(Stepper(other)), reference)), name
        tried += 1
    assert tried > 60


@pytest.mark.parametrize("name", readable(STRUCTURE))
@pytest.mark.parametrize("where", ["given", "own"])
def test_structure_is_refused_by_name(name, where):
    model = mujoco.MjModel.from_xml_string(XML)
    stepper, data = Stepper(model), mujoco.MjData(model)
    array = getattr(model if where == "given" else stepper.model, name)
    old = array.copy()
    array.flat[-1] += 1
    for call in (
        lambda: stepper.step(data),
        lambda: stepper.run(data, 2),
        lambda: stepper.step1(data),
        lambda: stepper.problem(data),
    ):
        with pytest.raises(ValueError, match=rf"^model\.{name} has changed .*: make a new one$"):
            call()
    assert data.time == 0.0
    array[...] = old
    stepper.step(data)
    assert stepper.steps == 1


LIVE = {
    "gravity": lambda m: m.opt.gravity.__setitem__(2, -1.62),
    "wind": lambda m: (m.opt.wind.__setitem__(0, 9.0), setattr(m.opt, "density", 500.0)),
    "viscosity": lambda m: setattr(m.opt, "viscosity", 2.0),
    "masses": lambda m: (m.body_mass.__imul__(2.0), m.body_inertia.__imul__(2.0)),
    "sizes": lambda m: m.geom_size.__setitem__((3, 2), 0.12),
    "pairs": lambda m: m.pair_friction.__setitem__((0, slice(0, 2)), 0.05),
    "condim": lambda m: m.geom_condim.__setitem__(slice(None), 1),
    "armature": lambda m: m.dof_armature.__iadd__(0.5),
    "flags": lambda m: setattr(
        m.opt, "disableflags", m.opt.disableflags | int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    ),
    "dampers": lambda m: setattr(
        m.opt, "disableflags", m.opt.disableflags | int(mujoco.mjtDisableBit.mjDSBL_DAMPER)
    ),
    "groups": lambda m: setattr(m.opt, "disableactuator", 1),
}


@pytest.mark.parametrize("kind", LIVE)
@pytest.mark.parametrize("where", ["given", "own"])
def test_what_mujoco_reads_is_seen_in_either_model(kind, where):
    model, changed = (mujoco.MjModel.from_xml_string(XML) for _ in range(2))
    stepper = Stepper(model)
    before = state_after(stepper)
    LIVE[kind](model if where == "given" else stepper.model)
    LIVE[kind](changed)
    expected = state_after(Stepper(changed))
    np.testing.assert_array_equal(state_after(stepper), expected)
    assert not np.array_equal(expected, before)


@pytest.mark.parametrize(
    ("option", "value"),
    [("timestep", 0.001), ("integrator", 0), ("cone", int(mujoco.mjtCone.mjCONE_ELLIPTIC))],
)
def test_options_that_steps_stand_on_are_refused(option, value):
    model = mujoco.MjModel.from_xml_string(XML)
    stepper, data = Stepper(model), mujoco.MjData(model)
    old = getattr(model.opt, option)
    assert old != value
    setattr(model.opt, option, value)
    with pytest.raises(ValueError, match=rf"model\.opt\.{option} has changed"):
        stepper.step(data)
    setattr(model.opt, option, old)
    stepper.step(data)


@pytest.mark.parametrize("known", [True, False])
def test_numbers_of_options_are_seen_by_bytes_or_by_name(known, monkeypatch):
    if not known:
        monkeypatch.setattr(watch, "options_in_memory", lambda *_: {})
    model = mujoco.MjModel.from_xml_string(XML)
    assert bool(watch.options_in_memory(model.opt, OPTIONS)) == known
    for name in OPTIONS:
        old = getattr(model.opt, name)
        looking = ModelWatch(model, ())
        assert not looking.changed()
        setattr(model.opt, name, old + 1)
        assert looking.changed()
        assert looking.options[name] == old
        setattr(model.opt, name, old)
        assert not looking.changed()


def test_a_time_step_of_its_own_stays():
    model = mujoco.MjModel.from_xml_string(XML)
    stepper, data = Stepper(model, time_step=0.001), mujoco.MjData(model)
    model.opt.timestep = 0.004
    stepper.step(data)
    assert data.time == 0.001


@pytest.mark.parametrize("name", [*OPTIONS, *VECTORS])
def test_every_option_is_seen_or_refused(name):
    """By `step` and by `run`, as a stepper that is made for the changed model has it."""
    own = ("timestep", "integrator", "cone", "disableflags", "enableflags")
    for how in ("step", "run"):
        model = mujoco.MjModel.from_xml_string(XML)
        stepper, data = Stepper(model), mujoco.MjData(model)
        stepper.step(data)
        if name in VECTORS:
            getattr(model.opt, name)[:] += 0.5
        else:
            setattr(model.opt, name, getattr(model.opt, name) + 1)
        if name in own[:3]:
            with pytest.raises(ValueError, match=rf"model\.opt\.{name} has changed"):
                stepper.step(data) if how == "step" else stepper.run(data, 1)
        elif name not in own:
            stepper.step(data) if how == "step" else stepper.run(data, 1)
            now, expected = (getattr(each.opt, name) for each in (stepper.model, model))
            np.testing.assert_array_equal(now, expected)


CONVEX = """
<mujoco><option timestep=".005"/><worldbody><geom type="plane" size="3 3 .1"/>
  <body pos="0 0 .06" euler="3 5 0"><freejoint/><geom type="cylinder" size=".05 .05"/></body>
  <body pos=".02 .01 .16" euler="9 20 30"><freejoint/><geom type="ellipsoid" size=".05 .04 .06"/>
  </body></worldbody></mujoco>"""


@pytest.mark.parametrize(("name", "value"), [("ccd_iterations", 1), ("ccd_tolerance", 0.01)])
@pytest.mark.parametrize("how", ["step", "run"])
def test_how_shapes_are_compared_may_change(name, value, how):
    model = mujoco.MjModel.from_xml_string(CONVEX)
    stepper, states = Stepper(model), []
    for each in (stepper, stepper, None):
        data = mujoco.MjData(model)
        each = each or Stepper(model)
        for _ in range(40):
            each.step(data) if how == "step" else each.run(data, 1)
        states.append(data.qpos.copy())
        setattr(model.opt, name, value)
    np.testing.assert_array_equal(states[1], states[2])
    assert not np.array_equal(states[0], states[1])


def test_cameras_are_seen():
    """They are in what sensors tell, and in pictures."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><camera name="eye" pos="0 0 2"/><body pos=".1 0 0">
        <joint/><geom size=".1"/><site name="dot"/></body></worldbody><sensor>
        <camprojection camera="eye" site="dot"/></sensor></mujoco>"""
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.step(data)
    model.cam_pos[0, 0] = 0.3
    stepper.step(data)
    other = mujoco.MjData(model)
    Stepper(model).run(other, 2)
    np.testing.assert_array_equal(data.sensordata, other.sensordata)
    np.testing.assert_array_equal(data.cam_xpos, other.cam_xpos)


# ---- what is refused, or taken in another way ---------------------------------------------------

TURNING = """<mujoco><worldbody>
  <geom name="floor" type="plane" size="3 3 .1" condim="{}" friction="1 .05 .01"/>
  <geom name="block" type="box" size=".1 .1 .1" pos="1 0 .1" contype="0" conaffinity="0"
   group="3"/>
  <body pos="0 0 .1"><freejoint/><geom name="ball" size=".1" condim="{}"/></body>
  <body pos="1 0 .25"><freejoint/><geom name="top" size=".05" condim="6"/></body></worldbody>
</mujoco>"""


def turn(geom):
    return lambda model: model.geom_surfacevel.__setitem__((geom, 5), 3.0)


# a model, options of the stepper, and a change that a new stepper refuses
LATER = {
    "a floor that turns": (TURNING.format(6, 6), {}, turn(0)),
    "condim 6 on a floor that turns": (
        TURNING.format(3, 3).replace('condim="6"', 'condim="3"'),
        {},
        lambda model: (turn(0)(model), model.geom_condim.__setitem__(2, 6)),
    ),
    "a block that turns, and is met": (
        TURNING.format(3, 3),
        {},
        lambda model: (turn(1)(model), model.geom_contype.__setitem__(1, 1)),
    ),
    "a rigid core with torsional friction": (
        TURNING.format(3, 6),
        {"materials": {3: ContactMaterial(1e5, core=RigidCore(0.01))}},
        lambda model: model.geom_group.__setitem__(2, 3),
    ),
}


@pytest.mark.parametrize("kind", LATER)
@pytest.mark.parametrize("where", ["given", "own"])
@pytest.mark.parametrize("how", ["step", "run"])
def test_what_a_new_stepper_refuses_is_refused_later(kind, where, how):
    xml, options, change = LATER[kind]
    changed = mujoco.MjModel.from_xml_string(xml)
    change(changed)
    with pytest.raises(NotSupported, match="condim 6") as expected:
        Stepper(changed, **options)
    model = mujoco.MjModel.from_xml_string(xml)
    stepper, data = Stepper(model, **options), mujoco.MjData(model)
    for _ in range(3):
        stepper.step(data)
    target = model if where == "given" else stepper.model
    before = copy.copy(target)
    change(target)
    time = data.time
    for _ in range(2):
        with pytest.raises(NotSupported, match=re.escape(str(expected.value))):
            stepper.step(data) if how == "step" else stepper.run(data, 2)
    assert data.time == time
    for name in ("geom_surfacevel", "geom_condim", "geom_contype", "geom_group"):
        getattr(target, name)[...] = getattr(before, name)
    stepper.step(data)


def test_flags_that_are_cleared_are_cleared_later_too():
    model = mujoco.MjModel.from_xml_string(XML)
    stepper, data = Stepper(model), mujoco.MjData(model)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
    with pytest.warns(UserWarning, match="option flag override is cleared") as told:
        stepper.step(data)
    assert told[0].filename == __file__
    assert stepper.model.opt.enableflags == 0
    model.opt.enableflags = 0
    stepper.step(data)


@pytest.mark.parametrize("where", ["given", "own"])
def test_two_frictions_of_a_pair_have_one_mean_later_too(where):
    model = mujoco.MjModel.from_xml_string(XML)
    stepper, data = Stepper(model), mujoco.MjData(model)
    target = model if where == "given" else stepper.model
    for two, mean in (((0.9, 0.4), 0.6), ((0.9, 0.1), 0.3)):
        target.pair_friction[0, :2] = two
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            stepper.step(data)
        assert [str(each.message)[:43] for each in told] == (
            ["friction that differs between two directions"[:43]] if mean == 0.6 else []
        )
        np.testing.assert_allclose(stepper.model.pair_friction[0, :2], mean)


def test_flags_of_the_stepper_stay_its_own():
    model = model_with("dof_damping")
    stepper = Stepper(model)
    before = stepper.model.opt.disableflags
    data = mujoco.MjData(model)
    for _ in range(2):  # set, and cleared again
        model.opt.disableflags ^= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
        stepper.step(data)
        assert stepper.model.opt.disableflags == before


def test_changes_of_both_models_add_up():
    model, changed = (mujoco.MjModel.from_xml_string(XML) for _ in range(2))
    stepper = Stepper(model)
    for each in (stepper.model, changed):
        each.body_mass[3] = 2.5
        each.jnt_range[3] = -0.2, 0.1
    state_after(stepper, 1)
    for each in (model, changed):
        each.jnt_range[4, 0] = -0.01
        each.geom_friction[3, 0] = 0.9
    np.testing.assert_array_equal(state_after(stepper), state_after(Stepper(changed)))
    # what is the same in both stays that of the copy
    assert stepper.model.body_mass[3] == 2.5
    assert model.body_mass[3] != 2.5


def test_callbacks_may_change_either_model():
    model = mujoco.MjModel.from_xml_string(XML)
    stepper, data = Stepper(model), mujoco.MjData(model)

    def slide(data):
        if data.time > 0.05:
            model.actuator_gainprm[0, 0] = 80.0
            model.actuator_biasprm[0, 1] = -80.0
            stepper.model.dof_damping[-1] = 3.0

    data.ctrl[:] = 0.5
    result = stepper.run(data, 60, slide, every=10)
    assert result.steps == 60
    other = mujoco.MjModel.from_xml_string(XML)
    first, expected = Stepper(other), mujoco.MjData(other)
    expected.ctrl[:] = 0.5
    first.run(expected, 30)
    slide_now = copy.copy(model)
    slide_now.dof_damping[-1] = 3.0
    Stepper(slide_now).run(expected, 30)
    np.testing.assert_array_equal(data.qvel, expected.qvel)


HINGES = """
<mujoco><option timestep=".002"/><worldbody>
  <body><joint name="a" axis="0 1 0" frictionloss=".1"/><geom size=".1" pos=".3 0 0"/></body>
  <body pos="0 1 0"><joint name="b" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
  <body pos="0 2 0"><joint name="c" axis="0 1 0" frictionloss=".2"/><geom size=".1" pos=".3 0 0"/>
  </body></worldbody></mujoco>"""
FRICTIONS = {
    "more": lambda m: m.dof_frictionloss.__imul__(3.0),
    "none of one": lambda m: m.dof_frictionloss.__setitem__(0, 0.0),
    "one more": lambda m: m.dof_frictionloss.__setitem__(1, 0.3),
    "off": lambda m: setattr(
        m.opt, "disableflags", m.opt.disableflags | int(mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS)
    ),
}


@pytest.mark.parametrize("kind", FRICTIONS)
def test_callbacks_of_mujoco_may_change_dry_friction(kind):
    """In the step after that, as by `mj_step`: rows are made before the callback."""

    def control(model, data):
        if 0.015 < data.time < 0.017:
            FRICTIONS[kind](model)

    ends = []
    for n in (20, 1):
        stepper = Stepper(mujoco.MjModel.from_xml_string(HINGES))
        data = mujoco.MjData(stepper.model)
        mujoco.set_mjcb_control(control)
        try:
            for _ in range(20 // n):
                stepper.run(data, n)
        finally:
            mujoco.set_mjcb_control(None)
        ends.append(data.qvel.copy())
    other = mujoco.MjModel.from_xml_string(HINGES)
    expected = mujoco.MjData(other)
    first = Stepper(other)
    first.run(expected, 9)
    FRICTIONS[kind](other)
    first.run(expected, 11)
    np.testing.assert_array_equal(ends[0], expected.qvel)
    np.testing.assert_array_equal(ends[1], ends[0])


def test_dry_friction_may_change_between_the_halves_of_a_step():
    stepper = Stepper(mujoco.MjModel.from_xml_string(HINGES))
    other = Stepper(mujoco.MjModel.from_xml_string(HINGES))
    data, expected = mujoco.MjData(stepper.model), mujoco.MjData(other.model)
    stepper.step1(data)
    stepper.model.dof_frictionloss[:] = 0.5
    stepper.step2(data)
    other.step(expected)
    np.testing.assert_array_equal(data.qvel, expected.qvel)
    other.model.dof_frictionloss[:] = 0.5
    for _ in range(5):
        stepper.step(data)
        other.step(expected)
    np.testing.assert_array_equal(data.qvel, expected.qvel)


def test_values_that_are_refused_are_refused_until_mended():
    model = mujoco.MjModel.from_xml_string(XML)
    stepper, data = Stepper(model), mujoco.MjData(model)
    model.geom_friction[0, 0] = np.nan
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^friction\[0\]: must be finite"):
            stepper.step(data)
    model.geom_friction[0, 0] = 0.7
    stepper.step(data)
    assert (stepper.steps, data.time) == (1, pytest.approx(stepper.time_step))


def test_results_of_the_last_step_stay():
    model = mujoco.MjModel.from_xml_string(XML)
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 5)
    force = stepper.contacts.force.copy()
    assert len(force)
    again = Stepper(model)
    again.run(mujoco.MjData(model), 5)
    model.dof_damping[-1] = 2.0
    A, _ = again.problem(data).to_dense()
    np.testing.assert_array_equal(again.contacts.force, force)
    assert (again.steps, len(again.constraints)) == (5, len(stepper.constraints))
    np.testing.assert_array_equal(A, Stepper(model).problem(data).to_dense()[0])


@pytest.mark.parametrize("make", [copy.copy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copy_follows_its_own_model(make):
    model, changed = (mujoco.MjModel.from_xml_string(XML) for _ in range(2))
    stepper = Stepper(model)
    for each in (model, changed):
        each.dof_damping[-1] = 2.0  # seen by the copy, as it was changed before
    twin = make(stepper)
    model.dof_damping[-1] = 9.0
    np.testing.assert_array_equal(state_after(twin), state_after(Stepper(changed)))
    twin.model.jnt_range[3] = changed.jnt_range[3] = -0.2, 0.1
    np.testing.assert_array_equal(state_after(twin), state_after(Stepper(changed)))


def test_rollouts_follow():
    model, changed = (mujoco.MjModel.from_xml_string(XML) for _ in range(2))
    spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.empty(mujoco.mj_stateSize(model, spec))
    mujoco.mj_getState(model, mujoco.MjData(model), start, spec)
    worlds = np.tile(start, (4, 1))
    pool, stepper = Rollout(model, nthread=2), Stepper(model)
    shared = Rollout(stepper, nthread=1)
    first = pool.rollout(worlds, nstep=20).state
    for each in (model, changed):
        each.dof_damping[-1], each.jnt_range[3] = 5.0, (-0.2, 0.1)
        each.opt.gravity[2] = -3.0
    expected = Rollout(changed, nthread=1).rollout(worlds, nstep=20).state
    assert not np.array_equal(first, expected)
    np.testing.assert_array_equal(pool.rollout(worlds, nstep=20).state, expected)
    np.testing.assert_array_equal(shared.rollout(worlds, nstep=20).state, expected)


@pytest.mark.parametrize("name", ["jnt_stiffness", "dof_damping", "actuator_forcerange"])
def test_other_schemes_follow(name):
    model, changed = (mujoco.MjModel.from_xml_string(XML) for _ in range(2))
    stepper = Stepper(model, scheme="midpoint")
    before = state_after(stepper, 10)
    change(model, name)
    change(changed, name)
    expected = state_after(Stepper(changed, scheme="midpoint"), 10)
    np.testing.assert_array_equal(state_after(stepper, 10), expected)
    assert not np.array_equal(before, expected)
