"""Steps that Python calls one by one: prepared once, and still all that a step is."""

from __future__ import annotations

import copy
import gc
import weakref

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import full_state, mixed, twin_of
from sapwood.mujoco import Stepper
from sapwood.studies import scenes


def stepped(stepper, data, n=20):
    for _ in range(n):
        stepper.step(data)
    return full_state(stepper.model, data)


@pytest.fixture(params=["coulomb", "lagged"])
def stepper(request):
    return Stepper(mixed(), friction=request.param)


def moving(stepper):
    """Data after some steps, so that the next one is prepared."""
    data = mujoco.MjData(stepper.model)
    stepped(stepper, data, 3)
    assert id(data) in stepper._prepared
    return data


# ---- the same steps -----------------------------------------------------------------------------


def test_each_of_some_data_stays_prepared(stepper, monkeypatch):
    """Until the data are gone: a stepper keeps none of them alive."""
    data = [moving(stepper) for _ in range(5)]
    for _ in range(3):
        for each in data:
            with monkeypatch.context() as patch:
                patch.setattr(stepper, "_prepare", None)
                stepper.step(each)
    assert len(stepper._prepared) == 5
    del each
    while data:
        data.pop()
        gc.collect()
        assert len(stepper._prepared) == len(data)


def test_a_prepared_step_is_taken_of_its_own_data_alone(stepper):
    data, other = moving(stepper), moving(stepper)
    prepared = stepper._prepared[id(data)]
    assert prepared.take(other) is None
    assert prepared.take(None) is None
    time = data.time
    assert prepared.take(data) is not None
    assert data.time > time
    del data
    gc.collect()
    assert prepared.take(other) is None
    assert prepared.take(None) is None


def test_a_change_serves_all_prepared_data():
    """A change of numbers that only MuJoCo's stages read leaves steps prepared."""
    model = mixed()
    stepper = Stepper(model)
    data = [moving(stepper) for _ in range(3)]
    model.body_mass[1:] *= 2.0
    model.opt.gravity[2] = -3.0
    expected = [stepped(Stepper(model), twin_of(model, each)) for each in data]
    kept = dict(stepper._prepared)
    for each, wanted in zip(data, expected, strict=True):
        np.testing.assert_array_equal(stepped(stepper, each), wanted)
    assert stepper._prepared == kept
    assert stepper.steps == 3 * 23


def test_results_are_those_of_the_step(stepper):
    data = moving(stepper)
    for _ in range(5):
        stepper.step(data)
        solution, contacts = stepper.solution, stepper.contacts
        np.testing.assert_allclose(solution.v, data.qvel, rtol=0, atol=1e-14)
        assert stepper.solution is solution
        stepper.step(data)
        assert stepper.solution is not solution
        assert stepper.contacts is not contacts


# ---- what changes in between --------------------------------------------------------------------


@pytest.mark.parametrize("where", ["given", "own"])
@pytest.mark.parametrize("name", ["geom_friction", "jnt_range", "actuator_gainprm", "body_mass"])
def test_a_change_acts_in_the_next_step(name, where):
    model = mixed()
    stepper = Stepper(model)
    data = moving(stepper)
    data.ctrl[:] = 1.0
    changed = copy.copy(model)
    getattr(changed, name)[...] *= 0.5
    getattr(model if where == "given" else stepper.model, name)[...] *= 0.5
    expected = stepped(Stepper(changed), twin_of(changed, data))
    np.testing.assert_array_equal(stepped(stepper, data), expected)


FIELD = """
<mujoco><asset><hfield name="ground" nrow="100" ncol="100" size="2 2 .2 .1"/></asset><worldbody>
  <geom type="hfield" hfield="ground"/>
  <body pos="0 0 .11"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("how", ["step", "run"])
def test_every_height_of_the_ground_is_seen_at_once(how):
    model = mujoco.MjModel.from_xml_string(FIELD)
    stepper = Stepper(model)
    data = moving(stepper)
    for change in (slice(None), slice(5000, 5001), slice(9999, None), slice(0, 1)):
        model.hfield_data[change] = stepper.model.hfield_data[0] + 0.01
        stepper.step(data) if how == "step" else stepper.run(data, 1)
        np.testing.assert_array_equal(stepper.model.hfield_data, model.hfield_data)


def test_ground_that_rises_lifts_what_lies_on_it():
    model = mujoco.MjModel.from_xml_string(FIELD)
    states = []
    for how in ("step", "run"):
        model.hfield_data[:] = 0.0
        stepper = Stepper(model)
        data = moving(stepper)
        stepper.run(data, 100)
        model.hfield_data[4800:5200] = 0.1  # 2 cm at the middle
        for _ in range(50):
            stepper.step(data) if how == "step" else stepper.run(data, 1)
        states.append(full_state(stepper.model, data))
    np.testing.assert_array_equal(*states)
    assert data.qpos[2] > 0.101


@pytest.mark.parametrize("medium", [False, True])
def test_a_medium_and_how_geoms_feel_it_are_seen_at_once(medium):
    model = mixed()
    model.opt.density = 1.0 if medium else 0.0
    stepper = Stepper(model)
    data = moving(stepper)
    changed = copy.copy(model)
    for each in (model, changed):
        each.opt.density = 1000.0
        each.geom_fluid[:, 0] = 1.0
        each.geom_fluid[:, 1:6] = 0.5
    expected = stepped(Stepper(changed), twin_of(changed, data))
    np.testing.assert_array_equal(stepped(stepper, data), expected)


def test_structure_is_refused_at_once():
    model = mixed()
    stepper = Stepper(model)
    data = moving(stepper)
    stepper.model.dof_parentid[-1] -= 1
    with pytest.raises(ValueError, match="dof_parentid has changed"):
        stepper.step(data)


@pytest.mark.parametrize("name", ["geom_friction", "body_mass"])
def test_a_change_that_another_call_sees_is_taken_back(name):
    """The step was prepared before, for the model that comes back."""
    model = mixed()
    stepper = Stepper(model)
    data = moving(stepper)
    expected = stepped(Stepper(model), twin_of(model, data))
    before = getattr(model, name).copy()
    getattr(model, name)[...] *= 0.1
    stepper.run(twin_of(model, data), 5)
    getattr(model, name)[...] = before
    np.testing.assert_array_equal(stepped(stepper, data), expected)


def test_a_change_that_is_refused_is_refused_until_it_is_taken_back():
    model = mixed()
    stepper = Stepper(model)
    data = moving(stepper)
    time, limit = data.time, stepper.model.opt.timestep
    stepper.model.opt.timestep = 0.001
    for _ in range(2):
        with pytest.raises(ValueError, match="timestep"):
            stepper.step(data)
    stepper.model.opt.timestep = limit
    model.geom_friction[0, 0] = np.nan
    for _ in range(2):
        with pytest.raises(ValueError, match=r"friction\[0\]: must be finite"):
            stepper.step(data)
    model.geom_friction[0, 0] = 0.7
    assert data.time == time
    stepped(stepper, data, 2)
    assert stepper.steps == 5


# ---- what goes wrong ----------------------------------------------------------------------------


def test_a_prepared_step_fails_as_the_first_one_does(stepper):
    data = moving(stepper)
    texts = []
    for each in (data, twin_of(stepper.model, data)):
        before = each.qvel.copy()
        each.qfrc_applied[3] = np.nan
        with pytest.raises(sapwood.mujoco.StepError) as raised:
            stepper.step(each)
        texts.append(str(raised.value))
        np.testing.assert_array_equal(each.qvel, before)
        each.qfrc_applied[3] = 0.0
        stepped(stepper, each, 3)
    assert texts[0] == texts[1]
    assert "the free acceleration of dof 0" in texts[0]


class Stop(Exception):
    """Raised by a callback."""


def test_what_a_callback_raises_is_raised(stepper):
    data = moving(stepper)

    def control(_model, _data):
        raise Stop

    mujoco.set_mjcb_control(control)
    try:
        for _ in range(2):
            with pytest.raises(Stop):
                stepper.step(data)
    finally:
        mujoco.set_mjcb_control(None)
    stepped(stepper, data, 2)


def test_warnings_of_prepared_steps_tell_their_start_and_point_at_the_call():
    model = scenes.sphere_on_floor(0.01).compile()
    stepper = Stepper(model, settings=sapwood.SapSettings(max_iterations=0), friction="convex")
    data = moving(stepper)
    data.qpos[2] -= 0.02
    start = data.time
    with pytest.warns(RuntimeWarning, match=f"time {start:.6g} s: .* in iteration_limit") as told:
        stepper.step(data)
    assert told[0].filename == __file__
    assert stepper.iteration_limit_steps == 1


def test_nothing_is_kept_once_data_or_stepper_are_gone():
    stepper = Stepper(mixed())
    data = moving(stepper)
    alive = weakref.ref(data)
    del data
    gc.collect()
    assert alive() is None
    alive = weakref.ref(stepper.model)
    moving(stepper)
    del stepper
    gc.collect()
    assert alive() is None
