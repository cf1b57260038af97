"""Models that change after their stepper was made: seen or refused, never ignored."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
import warnings

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from followed_models import (
    FLEX,
    IDLE,
    LIVE,
    XML,
    arrays_of,
    change,
    follows,
    model_with,
    readable,
    same_arrays,
    state_after,
    write,
)
from mujoco_models import physics_state
from sapwood import RigidCore
from sapwood.mujoco import ContactMaterial, NotSupported, Rollout, Stepper
from sapwood.mujoco.following.following import READ, STRUCTURE
from sapwood.mujoco.following.watch import OPTIONS, VECTORS, ModelWatch
from sapwood.mujoco.reading import engine
from sapwood.mujoco.reading.arrays import PLACES
from sapwood.mujoco.reading.controllers import BOUNDED


@pytest.mark.parametrize("where", ["given", "own"])
def test_every_change_is_followed(where):
    """Name by name: a stepper of a model that is changed steps like one made for it."""
    for name in (*readable(READ), *LIVE):
        # the core bounds forces of implicit actuators, and MuJoCo is told not to
        if where == "own" and name in BOUNDED:
            continue
        model, changed = model_with(name), model_with(name)
        stepper = Stepper(model)
        before, arrays = state_after(stepper), arrays_of(stepper)
        target = model if where == "given" else stepper.model
        if name in LIVE:
            LIVE[name](target)
            LIVE[name](changed)
        else:
            change(changed, name)
            write(target, changed, name)
        moved = not np.array_equal(follows(stepper, changed), before)
        assert moved or name in IDLE or not all(map(same_arrays, arrays, arrays_of(stepper))), name
        assert stepper.steps == 60


def test_changes_that_follow_each_other_are_followed(rng):
    """A change leaves everything else as it is, and right after any other changes."""
    names = rng.permutation([*readable(READ), *LIVE])
    for kind in (XML, FLEX):
        model, changed = (mujoco.MjModel.from_xml_string(kind) for _ in range(2))
        stepper = Stepper(model)
        for name in names:
            if name not in LIVE and name.startswith("flex_") == (kind is FLEX):
                change(changed, name, again=True)
                write(model, changed, name)
            elif name in LIVE and kind is XML:
                LIVE[name](model)
                LIVE[name](changed)
            follows(stepper, changed, 3)


def test_all_that_is_read_is_known():
    """Every array that a stepper follows from is watched."""
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


@pytest.mark.parametrize("where", ["given", "own"])
def test_structure_is_refused_by_name(where):
    model = mujoco.MjModel.from_xml_string(XML)
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.step(data)
    calls = (
        lambda: stepper.step(data),
        lambda: stepper.run(data, 2),
        lambda: stepper.step1(data),
        lambda: stepper.problem(data),
    )
    for name in readable(STRUCTURE):
        array = getattr(model if where == "given" else stepper.model, name)
        old, time = array.copy(), data.time
        array.flat[-1] += 1
        for call in calls:
            with pytest.raises(
                ValueError, match=rf"^model\.{name} has changed .*: make a new one$"
            ):
                call()
        assert data.time == time
        array[...] = old
        stepper.step(data)
        assert data.time > time


def test_every_number_of_the_options_is_watched():
    model = mujoco.MjModel.from_xml_string(XML)
    looking = ModelWatch(model, ())
    for name in OPTIONS:
        old = getattr(model.opt, name)
        setattr(model.opt, name, old + 1)
        assert looking.changed()
        assert {key: now[0] for key, now in looking.changes().items()} == {f"opt.{name}": old + 1}
        assert looking.before(f"opt.{name}") == [old]
        setattr(model.opt, name, old)
        assert not looking.changed()
    model.opt.gravity[1] = model.opt.density = 3.0
    assert looking.changes().keys() == {"opt.gravity", "opt.density"}
    looking.accept()
    assert not looking.changed()


def test_an_option_that_lies_elsewhere_is_found_out(monkeypatch):
    opt = mujoco.MjModel.from_xml_string("<mujoco><option density='3'/></mujoco>").opt
    struct = engine._option_struct()
    for field, wrong, message in (
        ("offsets", 0, "does not lie where"),
        ("types", "mjtNew", "is mjtNew, which is not known"),
    ):
        other = dataclasses.replace(struct, **{field: getattr(struct, field) | {"density": wrong}})
        monkeypatch.setattr(engine, "_option_struct", lambda other=other: other)
        with pytest.raises(engine.EngineError, match=message):
            engine.options_in_memory(opt, ["density"])


def test_a_time_step_of_its_own_stays():
    model = mujoco.MjModel.from_xml_string(XML)
    stepper, data = Stepper(model, time_step=0.001), mujoco.MjData(model)
    model.opt.timestep = 0.004
    stepper.step(data)
    assert data.time == 0.001


@pytest.mark.parametrize("how", ["step", "run"])
def test_every_option_is_seen_or_refused(how):
    """The result equals that of a stepper made for the changed model."""

    def take(stepper, data):
        stepper.step(data) if how == "step" else stepper.run(data, 1)

    for name in {*OPTIONS, *VECTORS} - {"disableflags", "enableflags"}:
        model = mujoco.MjModel.from_xml_string(XML)
        stepper, data = Stepper(model), mujoco.MjData(model)
        stepper.step(data)
        old = copy.copy(getattr(model.opt, name))
        setattr(model.opt, name, old + (0.5 if name in VECTORS else 1))
        if name in ("timestep", "integrator", "cone"):
            for _ in range(2):
                with pytest.raises(ValueError, match=rf"model\.opt\.{name} has changed"):
                    take(stepper, data)
            setattr(model.opt, name, old)
        take(stepper, data)
        now, expected = (getattr(each.opt, name) for each in (stepper.model, model))
        np.testing.assert_array_equal(now, expected, name)


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
@pytest.mark.parametrize(("where", "how"), [("given", "step"), ("own", "run")])
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
    # arrays that are equal in both stay those of the copy
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
    for prepared in range(2):
        model.geom_friction[0, 0] = np.nan
        for _ in range(2):
            with pytest.raises(ValueError, match=r"^friction\[0\]: must be finite"):
                stepper.step(data)
        model.geom_friction[0, 0] = 0.7
        stepper.step(data)
        assert stepper.steps == prepared + 1


def test_flags_that_a_refused_change_has_cleared_come_back():
    """An actuator that was to be implicit is not, once that is taken back with what was refused."""
    model = mujoco.MjModel.from_xml_string(XML)
    model.actuator_biastype[0] = int(mujoco.mjtBias.mjBIAS_NONE)
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.step(data)
    assert stepper.model.actuator_forcelimited[0]
    model.actuator_biastype[0] = int(mujoco.mjtBias.mjBIAS_AFFINE)
    model.geom_friction[0, 0] = np.nan
    with pytest.raises(ValueError, match="friction"):
        stepper.step(data)
    model.actuator_biastype[0] = int(mujoco.mjtBias.mjBIAS_NONE)
    model.geom_friction[0, 0] = 0.7
    follows(stepper, model)
    assert stepper.model.actuator_forcelimited[0]


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
    worlds = np.tile(physics_state(model, mujoco.MjData(model)), (4, 1))
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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dof_damping", r"dof_damping\[\d+\] = nan: must be finite$"),
        ("body_mass", r"body_invweight0\[\d+, 0\] = nan: must be finite; mj_setConst finds it"),
    ],
)
def test_numbers_that_are_not_finite_have_the_name_of_the_model(name, text):
    model = mujoco.MjModel.from_xml_string(XML)
    getattr(model, name)[-1] = np.nan
    mujoco.mj_setConst(model, mujoco.MjData(model))
    with pytest.raises(ValueError, match=text):
        Stepper(model)


@pytest.mark.parametrize("name", PLACES)
def test_places_that_are_not_finite_are_refused_before_and_after(name):
    model = mujoco.MjModel.from_xml_string(XML.replace("<worldbody>", "<worldbody><site/>"))
    values = getattr(model, name)
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.step(data)
    kept, time = values.flat[-1], data.time
    values.flat[-1] = np.nan
    text = rf"^{name}\[[\d, ]+\] = nan: must be finite"
    with pytest.raises(ValueError, match=text):
        Stepper(model)
    for _ in range(2):
        with pytest.raises(ValueError, match=text):
            stepper.step(data)
    assert data.time == time
    values.flat[-1] = kept
    stepper.step(data)
    assert stepper.steps == 2
