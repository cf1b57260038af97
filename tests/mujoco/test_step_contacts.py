"""Contacts of a step: geoms, places, and forces in their frame and in the world."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import (
    mixed,
    physics_state,
    set_controls,
)
from sapwood import Region, _core
from sapwood.mujoco import ContactMaterial, Stepper

# schemes other than the default, which run in stages from Python, know no lagged friction
WAYS = [
    ("symplectic_euler", "convex"),
    ("symplectic_euler", "coulomb"),
    ("symplectic_euler", "lagged"),
    ("midpoint", "coulomb"),
]

TWO_FEET = """
<mujoco><worldbody>
  <geom name="floor" type="plane" size="2 2 1"/>
  <body name="robot" pos="0 0 .1"><freejoint/>
    <geom name="left" type="sphere" size=".1" pos="0 .3 0" mass="1"/>
    <geom name="right" type="sphere" size=".1" pos="0 -.3 0" mass="1"/>
    <geom type="sphere" size=".1" pos=".6 0 0" mass="1"/>
  </body>
</worldbody></mujoco>
"""


@pytest.fixture
def standing():
    """A stepper of a robot of 3 kg at rest on two named feet and one without a name."""
    model = mujoco.MjModel.from_xml_string(TWO_FEET)
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 300)
    return stepper


def wide(cone):
    """The mixed model, with torsional and rolling friction of some geoms."""
    model = mixed(cone)
    for name, condim in {"box": 4, "knob": 6, "ball": 6, "tip": 4}.items():
        model.geom(name).condim[:] = condim
    model.geom_friction[:, 1:] = 0.02, 0.003
    return model


@pytest.mark.slow
@pytest.mark.claim
@pytest.mark.parametrize(("scheme", "friction"), WAYS)
@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_contacts_are_those_of_mujoco(cone, scheme, friction):
    """Places and frames of its list, and the wrench that it reads from efc_force."""
    model = wide(cone)
    stepper = Stepper(model, contact=ContactMaterial(1e5), scheme=scheme, friction=friction)
    data, seen = mujoco.MjData(model), 0
    wrench = np.zeros(6)
    for i in range(150):
        set_controls(model, data, i)
        stepper.step(data)
        told, listed = stepper.contacts, data.contact
        # contacts that stay open without a force are not listed
        assert not told.force[told.index < 0].any()
        for c in np.flatnonzero(told.index >= 0):
            index = told.index[c]
            np.testing.assert_array_equal(told.geoms[c], listed.geom[index])
            if scheme == "symplectic_euler":
                assert told.distance[c] == listed.dist[index]
            np.testing.assert_array_equal(told.position[c], listed.pos[index])
            # MuJoCo has the normal first
            np.testing.assert_array_equal(np.roll(told.frame[c], 1, axis=0).ravel(),
                                          listed.frame[index])  # fmt: skip
            mujoco.mj_contactForce(model, data, index, wrench)
            scale = 1e-9 * (1.0 + np.abs(wrench).max())
            np.testing.assert_allclose(told.force[c], np.roll(wrench[:3], -1), atol=scale)
            np.testing.assert_allclose(told.torque[c], np.roll(wrench[3:], -1), atol=scale)
            np.testing.assert_allclose(told.world_force[c], wrench[:3] @
                                       listed.frame[index].reshape(3, 3), atol=scale)  # fmt: skip
            np.testing.assert_allclose(told.world_torque[c], wrench[3:] @
                                       listed.frame[index].reshape(3, 3), atol=scale)  # fmt: skip
            seen += np.abs(wrench[3:]).max() > 0
    assert seen > 20


@pytest.mark.parametrize(("scheme", "friction"), WAYS)
def test_what_contacts_do_is_that_of_the_solution(scheme, friction):
    model = mixed()
    stepper = Stepper(model, contact=ContactMaterial(1e5), scheme=scheme, friction=friction)
    data, acting = mujoco.MjData(model), 0
    for i in range(100):
        set_controls(model, data, i)
        stepper.step(data)
        told, solution = stepper.contacts, stepper.solution
        np.testing.assert_array_equal(told.region, solution.regions)
        np.testing.assert_array_equal(told.force, solution.gamma / stepper.time_step)
        np.testing.assert_array_equal(told.friction, stepper._steps._stages.core.problem()["mu"])
        slip = solution.v_c[:, :2]
        np.testing.assert_allclose(told.slip_speed, np.hypot(*slip.T), rtol=1e-14)
        np.testing.assert_array_equal(told.acts, solution.gamma.any(axis=1))
        assert not told.acts[told.region == Region.none].any()
        acting += np.count_nonzero(told.acts)
        assert told.core_scale.tolist() == [1.0] * len(told)
    assert acting > 100


def test_slip_is_against_the_surfaces():
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><geom type="plane" size="9 9 1" surfacevel=".5 0 0 0 0 0"/>
        <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody>
        </mujoco>"""
    ) if hasattr(mujoco.MjContact, "surfacevel") else None  # fmt: skip
    if model is None:
        pytest.skip("this MuJoCo has no surfacevel of contacts")
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.step(data)
    assert stepper.contacts.slip_speed == pytest.approx(0.5, rel=0.1)
    stepper.run(data, 500)
    assert np.abs(data.qvel[0]) == pytest.approx(0.5, rel=1e-3)
    assert stepper.contacts.slip_speed.max() < 1e-4


def test_results_stay_when_data_change():
    model = mixed()
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 50)
    twin = Stepper(model)
    twin.run(mujoco.MjData(model), 50)
    data.qpos[:] += 1.0
    mujoco.mj_forward(model, data)
    assert len(stepper.contacts) > 0
    np.testing.assert_array_equal(stepper.contacts.records, twin.contacts.records)
    before = stepper.contacts.records.copy()
    stepper.problem(data)
    np.testing.assert_array_equal(stepper.contacts.records, before)


def test_a_failed_step_leaves_none():
    model = mixed()
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 20)
    data.qfrc_applied[0] = np.inf
    with pytest.raises(sapwood.mujoco.StepError):
        stepper.step(data)
    assert len(stepper.contacts) == 0


# ---- names and sums -----------------------------------------------------------------------------


def test_geoms_and_bodies_are_named(standing):
    contacts = standing.contacts
    assert set(contacts.names) == {("floor", "left"), ("floor", "right"), ("floor", "geom 3")}
    assert set(contacts.body_names) == {("world", "robot")}
    np.testing.assert_array_equal(contacts.bodies, [[0, 1]] * 3)


def test_forces_add_up(standing):
    contacts, weight = standing.contacts, 9.81
    np.testing.assert_allclose(contacts.force_on_body("robot"), [0, 0, 3 * weight], atol=1e-6)
    np.testing.assert_allclose(contacts.force_on_body("world"), [0, 0, -3 * weight], atol=1e-6)
    np.testing.assert_allclose(contacts.force_on_geom("left"), [0, 0, weight], atol=1e-2)
    left = contacts.between("left", "floor")
    assert len(left) == 1
    np.testing.assert_array_equal(left.records, contacts.between("floor", "left").records)
    np.testing.assert_array_equal(left.force_on_body(1), contacts.force_on_geom(1))
    assert len(contacts.between("left", "right")) == 0
    assert contacts.between(1, 2).force_on_geom(2).tolist() == [0, 0, 0]
    np.testing.assert_array_equal(contacts.on("robot").records, contacts.records)
    assert len(contacts.on(1)) == 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c: c.between("foot", "floor"), ValueError, "first = 'foot': the model has no geom"),
        (lambda c: c.between("left", ""), ValueError, "second = '': the model has no geom"),
        (lambda c: c.between("left", 4), ValueError, "second = 4: must be >= 0 and < 4"),
        (lambda c: c.between(1.0, 2), TypeError, "first must be the name or the number of a geom"),
        (lambda c: c.on("left"), ValueError, "body = 'left': the model has no body of this name"),
        (lambda c: c.on(True), TypeError, "body must be the name or the number of a body, not boo"),
        (lambda c: c.force_on_geom(-1), ValueError, "geom = -1: must be >= 0"),
        (lambda c: c.force_on_body("hand"), ValueError, "body = 'hand': the model has no body"),
    ],
)
def test_what_is_not_there_is_refused(standing, call, error, message):
    with pytest.raises(error, match=message):
        call(standing.contacts)


# ---- as text and tables -------------------------------------------------------------------------


def test_contacts_as_text(standing):
    contacts = standing.contacts
    assert repr(contacts) == "StepContacts(3 contacts, 3 act)"
    title, *rows = str(contacts).splitlines()
    assert title.split()[:3] == ["geoms", "region", "distance"]
    assert len(rows) == 3
    assert any(row.startswith("floor - left") and "stiction" in row for row in rows)
    nothing = contacts.between("left", "right")
    assert str(nothing) == "no contacts"
    assert repr(nothing) == "StepContacts(0 contacts, 0 act)"
    many = type(contacts)(np.repeat(contacts.records, 10), contacts.geom_names)
    assert str(many).splitlines()[-1] == "and 10 more"


def test_contacts_as_columns(standing):
    contacts = standing.contacts
    columns = contacts.to_dict()
    assert {len(column) for column in columns.values()} == {3}
    assert columns["geom2"] == [second for _, second in contacts.names]
    np.testing.assert_array_equal(columns["force_n"], contacts.force[:, 2])
    np.testing.assert_array_equal(columns["world_force_z"], contacts.world_force[:, 2])
    np.testing.assert_array_equal(columns["position_x"], contacts.position[:, 0])
    told = set(columns) | {"geom", "position", "frame", "force", "torque"}
    assert set(_core.CONTACT_RECORD.names) <= told
    nothing = contacts.between("left", "right").to_dict()
    assert nothing.keys() == columns.keys()
    assert {len(column) for column in nothing.values()} == {0}


def test_contacts_can_be_sent(standing):
    other = pickle.loads(pickle.dumps(standing.contacts))
    np.testing.assert_array_equal(other.records, standing.contacts.records)
    assert other.names == standing.contacts.names
    assert (other.region == Region.stiction).all()


def test_steppers_and_results_have_short_names():
    model = mixed()
    stepper, data = Stepper(model, friction="convex"), mujoco.MjData(model)
    result = stepper.run(data, 20)
    assert repr(stepper) == (
        f"Stepper('mixed', nv={model.nv}, time_step=0.004, friction='convex', "
        "scheme='symplectic_euler', steps=20)"
    )
    assert repr(result) == "RunResult(20 steps: 20 converged)"
    assert repr(stepper.run(data, 0)) == "RunResult(0 steps)"
    start = physics_state(model, data)
    rollout = sapwood.mujoco.rollout(stepper, np.tile(start, (3, 1)), nstep=2, nthread=1)
    assert repr(rollout) == "RolloutResult(3 worlds, 2 steps, 0 failures)"
    (group,) = stepper.constraints
    assert repr(group) == "StepConstraints(controller, 1 rows)"
    title, row = str(group).splitlines()
    assert title.split() == ["controller", "position", "velocity", "force"]
    assert row.startswith("actuator 1 (unnamed)")
    np.testing.assert_allclose(float(row.split()[-1]), group.force[0], rtol=1e-3)


# ---- contacts that MuJoCo lists more than once ---------------------------------------------------

GROUND = """
<mujoco><option timestep=".002"/>
<asset><hfield name="flat" nrow="9" ncol="9" size="1 1 1 .1"/></asset>
<worldbody>{ground}<body pos="{place}"><freejoint/>{geom}</body></worldbody></mujoco>
"""
HEIGHT_FIELD = '<geom type="hfield" hfield="flat"/>'
BALL = '<geom type="sphere" size=".1" mass="1"/>'
ROD = '<geom type="capsule" size=".1 .25" euler="90 0 0" mass="1"/>'


def first_step(ground, place, geom):
    """A stepper and data after a step of a body that slides onto the ground."""
    text = GROUND.format(ground=ground, place=place, geom=geom)
    model = mujoco.MjModel.from_xml_string(text)
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[:3] = 0.3, 0.1, -0.2
    stepper.step(data)
    return stepper, data


@pytest.mark.parametrize("place", ["0 0 .0999", ".25 0 .0999"])
def test_a_ball_on_a_corner_of_a_flat_height_field_moves_as_on_a_plane(place):
    """All six prisms that meet in a corner list it: one contact, as stiff as everywhere."""
    plane = '<geom type="plane" size="1 1 1"/>'
    (field, moved), (_, expected) = (first_step(g, place, BALL) for g in (HEIGHT_FIELD, plane))
    assert len(field.contacts) == moved.ncon == 1
    np.testing.assert_allclose(moved.qpos, expected.qpos, rtol=0, atol=1e-14)
    np.testing.assert_allclose(moved.qvel, expected.qvel, rtol=0, atol=1e-12)


def test_contacts_of_a_pair_at_several_places_stay():
    """A rod over an edge of the grid has contacts at both ends, each of them once."""
    stepper, data = first_step(HEIGHT_FIELD, "0 0 .0999", ROD)
    places = {tuple(place) for place in stepper.contacts.position}
    assert 2 <= len(places) == len(stepper.contacts.distance) == data.ncon
    assert {place[1] > 0 for place in places} == {False, True}
    own = mujoco.MjData(stepper.model)
    own.qpos[2] = 0.0999
    mujoco.mj_forward(stepper.model, own)
    assert own.ncon > len(places)
