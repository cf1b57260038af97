"""Contacts that would close within a step: listed before there is an overlap, and nothing else."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import VERSION, compiled, full_state, mixed, set_controls
from sapwood.mujoco import Stepper
from sapwood.studies import scenes

# ---- what is listed ----------------------------------------------------------------------------


def random_start(model, rng, speed):
    """A configuration from its reference, and random velocities."""
    data = mujoco.MjData(model)
    data.qvel[:] = rng.normal(0.0, 1.0, model.nv)
    mujoco.mj_integratePos(model, data.qpos, data.qvel, 0.4)
    mujoco.mj_normalizeQuat(model, data.qpos)
    data.qvel[:] = speed * rng.normal(0.0, 1.0, model.nv)
    return data


def pairs_of(data):
    return {tuple(sorted(pair)) for pair in data.contact.geom.tolist()}


ARM = """<mujoco><option timestep="0.01" gravity="0 0 -9.81"/><worldbody>
  <geom type="plane" size="9 9 1"/><geom type="box" size=".2 .2 .2" pos=".6 0 .3"/>
  <body pos="0 0 .5"><joint type="slide" axis="1 0 0"/><joint pos="0 0 .1" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    <body pos=".3 0 0"><joint pos="-.1 0 0" axis="0 1 0"/><joint pos=".05 0 0" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/>
      <body pos=".2 0 0"><joint type="ball" pos=".02 0 0"/>
        <geom type="box" size=".05 .03 .02" pos=".06 0 0"/></body></body></body>
  <body pos="0 .2 .3"><freejoint/><geom type="box" size=".04 .05 .3"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize(
    "make", [mixed, lambda: mujoco.MjModel.from_xml_string(ARM)], ids=["mixed", "arm"]
)
def test_whatever_closes_in_a_step_is_listed(make, rng):
    """Pairs that are apart and overlap at the end of a step of free motion, by MuJoCo's distances:
    bodies on hinges, slides, balls and free joints."""
    model = make()
    stepper = Stepper(model, time_step=0.01, contact=sapwood.ContactMaterial(stiffness=1e5))
    wide = copy.copy(stepper.model)
    wide.geom_margin[:] = 100.0
    mujoco.mj_setConst(wide, mujoco.MjData(wide))
    closed = draws = 0
    while closed < 16 and draws < 3000:
        draws += 1
        data = random_start(model, rng, 3.0)
        start, end = mujoco.MjData(wide), mujoco.MjData(wide)
        for other, dt in ((start, 0.0), (end, stepper.time_step)):
            other.qpos[:], other.qvel[:] = data.qpos, data.qvel
            mujoco.mj_integratePos(wide, other.qpos, other.qvel, dt)
            mujoco.mj_fwdPosition(wide, other)
        stepper.step1(data)
        listed = pairs_of(data)
        for pair in pairs_of(start):
            gaps = [mujoco.mj_geomDistance(wide, d, *pair, 10.0, None) for d in (start, end)]
            if gaps[0] > 0 > gaps[1]:
                closed += 1
                assert pair in listed, (pair, gaps)
    assert closed > 15


def test_a_geom_without_speed_keeps_its_margin():
    """Its margin grows by a tenth of the step's gravity alone."""
    model = compiled(
        '<geom type="plane" size="1 1 1"/>'
        '<body pos="0 0 .10015"><freejoint/><geom size=".1"/></body>'
        '<body pos="1 0 .1001"><freejoint/><geom size=".1"/></body>',
        0.01,
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.step1(data)
    assert data.contact.geom.tolist() == [[0, 2]]
    assert stepper.model.geom_margin.tolist() == model.geom_margin.tolist() == [0.0, 0.0, 0.0]


HAND = """<body pos="0 0 1"><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
  <geom size=".02" contype="0" conaffinity="0" mass="1"/>
  <body pos="{} 0 0"><joint type="slide" axis="1 0 0"/><geom {}/></body>
  <body pos="-.05 0 0"><joint type="slide" axis="1 0 0"/><geom {}/></body></body>"""


@pytest.mark.parametrize(
    "pad", ['type="box" size=".05 .01 .02"', 'type="mesh" mesh="pad"'], ids=["boxes", "meshes"]
)
def test_what_moves_as_one_falls_as_one(pad):
    """Pads 5e-5 m apart: gravity would close twice that if it pulled at both, or one had speed."""
    corners = " ".join(
        f"{x} {y} {z}" for x in (-0.05, 0.05) for y in (-0.01, 0.01) for z in (0, 0.04)
    )
    more = f'<asset><mesh name="pad" vertex="{corners}"/></asset>'
    model = compiled(HAND.format(0.05005, pad, pad), 0.002, more)
    stepper = Stepper(model)
    for speed, spin, closing, listed in [
        (0.0, 0.0, 0.0, False),
        (-5.0, 0.0, 0.0, False),
        (0.0, 0.01, 0.0, False),
        (0.0, 0.0, 0.03, True),
        (-5.0, 0.0, 0.03, True),
    ]:
        data = mujoco.MjData(stepper.model)
        data.qvel[:] = speed, spin, -closing, 0
        stepper.step1(data)
        assert (data.ncon > 0) == listed
    # 4e-6 m apart: gravity may close that though they do not move
    near = Stepper(compiled(HAND.format(0.050004, pad, pad), 0.002, more))
    data = mujoco.MjData(near.model)
    data.qvel[0] = -5
    near.step1(data)
    assert data.ncon > 0


@pytest.mark.parametrize("gap", [0.0, 0.015])
def test_margins_of_the_user_are_the_least(gap):
    """Contacts within them act where they would close in the step. The list keeps these, and those
    that a gap of the model lists."""
    model = compiled(
        f'<geom type="plane" size="1 1 1" margin="{0.02 - gap}" gap="{gap}"/>'
        '<body pos="0 0 .11"><freejoint/><geom size=".1"/></body>',
        0.01,
        gravity="0 0 0",
    )
    for speed, after in ((-0.2, -0.2), (-0.7, -0.7), (-0.81, -0.8), (-2.0, -0.8)):
        stepper, data = Stepper(model, beta=0.1), mujoco.MjData(model)
        data.qvel[2] = speed
        stepper.step(data)
        assert data.contact.dist == pytest.approx([0.01] if gap or speed < -0.8 else [])
        # 0.01 m in 5/4 of a step; at half of that the contact waits
        assert data.qvel[2] == pytest.approx(after, abs=2e-3)
        assert stepper.n_contacts == (speed < -0.4)
        assert (stepper.contacts.force[:, 2].sum() > 0) == (speed < -0.8)


def test_explicit_pairs_and_exclusions():
    bodies = (
        '<geom name="floor" type="plane" size="1 1 1" contype="0" conaffinity="0"/>'
        '<body name="a" pos="0 0 .12"><freejoint/><geom name="a" size=".1" contype="0"'
        ' conaffinity="0"/></body>'
        '<body name="b" pos="0 0 .35"><freejoint/><geom name="b" size=".1"/></body>'
        '<body name="c" pos=".21 0 .35"><freejoint/><geom name="c" size=".1"/></body>'
    )
    more = (
        '<contact><pair geom1="floor" geom2="a" condim="1"/>'
        '<exclude body1="b" body2="c"/></contact>'
    )
    model = compiled(bodies, 0.01, more)
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[2] = data.qvel[8] = -5.0
    data.qvel[12] = -5.0
    stepper.step(data)
    assert data.contact.geom[stepper.contacts.index].tolist() == [[0, 1]]
    assert data.qvel[2] == pytest.approx(-0.02 / 0.0125, rel=0.15)


# ---- where it acts -----------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["plane first", "sphere first"])
@pytest.mark.parametrize("dt", [0.001, 0.005])
def test_an_oblique_impact_spins_a_sphere_by_its_radius(dt, order):
    """A sphere that slides through its impact leaves with the spin 5 mu v_n/2 r, with whatever gap
    the step began: friction acts at its surface."""
    r, mu, v_n = 0.02, 0.2, 3.0
    plane = f'<body><geom type="plane" size="9 9 1" friction="{mu}"/></body>'
    sphere = f'<body><freejoint/><geom type="sphere" size="{r}" friction="{mu}"/></body>'
    bodies = plane + sphere if order == "plane first" else sphere + plane
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{dt}" gravity="0 0 0"/><worldbody>{bodies}</worldbody></mujoco>'
    )
    stepper = Stepper(model)
    errors = []
    for gap in np.linspace(0.1, 3.4, 12) * v_n * dt:
        data = mujoco.MjData(model)
        data.qpos[2] = r + gap
        data.qvel[:3] = 10.0, 0.0, -v_n
        stepper.run(data, 8)
        errors.append(data.qvel[4] / (2.5 * mu * v_n / r) - 1.0)
    assert abs(np.mean(errors)) < 5e-3
    assert np.abs(errors).max() < 0.02


@pytest.mark.parametrize("speed", [50.0, 150.0])
@pytest.mark.parametrize("gap", [0.3, 0.7])
def test_a_bullet_stops_at_a_thin_wall(speed, gap):
    """Its effective mass is that of its own surface, however far from the wall a step begins."""
    model = mujoco.MjModel.from_xml_string("""<mujoco><option timestep="0.01" gravity="0 0 0"/>
      <worldbody><geom type="box" size=".005 1 1"/>
        <body><freejoint/><geom type="sphere" size=".02"/></body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    data.qpos[0], data.qvel[0] = -0.025 - gap, speed
    Stepper(model).run(data, 6)
    assert -0.05 < data.qpos[0] < -0.015
    assert abs(data.qvel[0]) < 0.01 * speed


# ---- what is not stopped -----------------------------------------------------------------------


def test_bodies_that_slide_past_each_other_do_not_notice():
    """Two boxes and a floor, with gaps of a tenth of a millimetre, at 5 m/s."""
    model = compiled(
        '<geom type="plane" size="9 9 1"/>'
        '<body pos="0 0 .0501"><freejoint/><geom type="box" size=".05 .05 .05"/></body>'
        '<body pos=".3 .1001 .0501"><freejoint/><geom type="box" size=".05 .05 .05"/></body>',
        0.01,
        gravity="0 0 0",
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[0] = 5.0
    before = data.qvel.copy()
    for _ in range(20):
        stepper.step(data)
        assert data.ncon == 0
        np.testing.assert_allclose(data.qvel, before, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("dt", "speed"), [(0.002, 4.4), (0.01, 1.0), (0.01, 4.4)])
def test_a_sphere_that_passes_an_edge(dt, speed):
    """The gap at the end of a step is that of the tangent planes, which is too small by no more
    than (5/4 v dt)^2/(2 r): a sphere that passes further out than that goes on as it was."""
    radius = 0.05
    reach = (1.25 * speed * dt) ** 2 / (2 * radius)
    for start in np.linspace(0.3, 0.3 + speed * dt, 10):
        model = compiled(
            '<geom type="box" size=".5 .5 .02"/>'
            f'<body pos="{0.5 + radius + reach} 0 {start}"><freejoint/>'
            f'<geom size="{radius}"/></body>',
            dt,
            gravity="0 0 0",
        )
        stepper, data = Stepper(model), mujoco.MjData(model)
        data.qvel[2] = -speed
        stepper.run(data, round(0.6 / (speed * dt)))
        assert data.qvel.tolist() == [0, 0, -speed, 0, 0, 0]


# ---- what it leaves as it was ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["box", "mesh", "sphere", "stack"])
def test_at_rest_it_changes_nothing(name):
    """The same penetration under the same weight. The bodies of the stack begin a little deep:
    without speculation they would else begin out of contact, and hit each other by one edge."""
    if name == "mesh" and VERSION < (3, 17):
        pytest.skip(f"MuJoCo {mujoco.__version__} lists too few contacts of a mesh on a plane")
    box = '<geom type="box" size=".05 .05 .05"/>'
    corners = " ".join(
        f"{x} {y} {z}" for x in (-0.05, 0.05) for y in (-0.05, 0.05) for z in (-0.05, 0.05)
    )
    geoms = {"box": box, "mesh": '<geom type="mesh" mesh="cube"/>', "sphere": '<geom size=".05"/>'}
    bodies = "".join(
        f'<body pos="0 0 {0.04999 + 0.09999 * i}"><freejoint/>{geoms.get(name, box)}</body>'
        for i in range(4 if name == "stack" else 1)
    )
    more = f'<asset><mesh name="cube" vertex="{corners}"/></asset>' if name == "mesh" else ""
    model = compiled(f'<geom type="plane" size="1 1 1"/>{bodies}', 0.01, more)
    depth = []
    for speculative in (True, False):
        stepper, data = Stepper(model, speculative=speculative), mujoco.MjData(model)
        stepper.run(data, 200)
        assert np.abs(data.qvel).max() < 1e-5
        depth.append(np.sort(stepper.penetration[stepper.contacts.force[:, 2] > 0]))
    np.testing.assert_allclose(depth[0], depth[1], rtol=1e-3)


def test_lists_are_emptied_where_nothing_is_near():
    """Without a model of what may meet, as MuJoCo empties them."""
    model = compiled('<geom type="plane" size="1 1 1"/><body pos="0 0 .05"><freejoint/>'
                     '<geom size=".05"/></body>', 0.01)  # fmt: skip
    stepper, ours, theirs = Stepper(model), mujoco.MjData(model), mujoco.MjData(model)
    for data in (ours, theirs):
        stepper.run(data, 3)
        assert data.ncon == 1
        assert data.nefc > 0
        assert data.parena > 0
        data.qpos[2] = 10.0
    stepper.step1(ours)
    mujoco.mj_step1(stepper.model, theirs)
    for field in ("ncon", "nefc", "ne", "nf", "nl", "nJ", "nisland", "parena"):
        assert getattr(ours, field) == getattr(theirs, field), field
    assert ours.ncon == 0
    assert len(ours.contact) == len(ours.efc_force) == 0


def test_the_first_half_of_a_step_is_mj_step1():
    """Where nothing comes near: sensors, energies and the control callback too."""
    model = mixed()
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    stepper = Stepper(model)
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    seen = []
    mujoco.set_mjcb_control(lambda model, data: seen.append((model.nv, data.time)))
    try:
        for i in range(20):
            for data in (ours, theirs):
                set_controls(model, data, i)
                data.qvel[:] = np.sin(i + np.arange(model.nv))
                mujoco.mj_integratePos(model, data.qpos, data.qvel, 0.01)
            stepper.step1(ours)
            mujoco.mj_step1(stepper.model, theirs)
            for field in ("sensordata", "energy", "xpos", "cvel", "qfrc_bias", "qfrc_passive",
                          "ten_length", "actuator_velocity", "efc_J", "efc_pos"):  # fmt: skip
                np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field), field)
            assert len(seen) == 2 * (i + 1)
            assert seen[-1] == seen[-2]
        mujoco.set_mjcb_control(None)
        before = ours.energy.copy()
        model.opt.enableflags = stepper.model.opt.enableflags = 0
        stepper.step1(ours)
        assert before.any()
        assert not ours.energy.any()
    finally:
        mujoco.set_mjcb_control(None)


@pytest.mark.parametrize("dt", [0.01, 0.005, 0.002])
def test_what_a_force_closes_within_a_step_overlaps_by_the_speed_it_gives(dt):
    """A leg of 100 g, pushed from rest with 70 N, by (v_1 - v_0) dt and what the load presses."""
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><option timestep="{dt}"/><worldbody>
      <geom type="plane" size="5 5 1"/>
      <body pos="0 0 .13"><joint name="j" type="slide" axis="0 0 1"/><geom size=".1" mass=".1"/>
      </body></worldbody><actuator><motor joint="j" gear="-1"/></actuator></mujoco>""")
    stepper, data, most, deepest = Stepper(model), mujoco.MjData(model), 0.0, 0.0
    data.ctrl[0] = 70.0
    for _ in range(round(0.1 / dt)):
        before, v_0 = data.qpos[0] + 0.03, data.qvel[0]
        stepper.step(data)
        overlap = -(data.qpos[0] + 0.03)
        if before > 0.0 and overlap > 0.0:
            most = max(most, (v_0 - data.qvel[0]) * dt)
        deepest = max(deepest, overlap)
    assert deepest <= most + 2.0 * dt**2 * 710.0 / (4.0 * np.pi**2)
    assert deepest > 0.04 or dt < 0.01


def test_with_a_filter_of_contacts_margins_stay():
    model = compiled(
        '<geom type="plane" size="1 1 1"/><body pos="0 0 .11"><freejoint/><geom size=".1"/></body>',
        0.01,
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[2] = -3.0
    stepper.step1(data)
    assert data.ncon == 1
    asked = []
    mujoco.set_mjcb_contactfilter(lambda *arguments: asked.append(arguments[2:]) or False)
    try:
        stepper.step1(data)
        assert (data.ncon, asked) == (0, [(0, 1)])
    finally:
        mujoco.set_mjcb_contactfilter(None)


# ---- reproducible ------------------------------------------------------------------------------


def falling_clutter():
    """By the law that knows no limit of friction, at any state: steps that end there warn."""
    model = scenes.clutter(12, walls=True, seed=4).compile()
    return model, Stepper(model, friction="convex", speculative=True)


def test_a_step_is_a_function_of_the_state():
    """Whatever the data went through before, and in halves too."""
    model, stepper = falling_clutter()
    data, other = mujoco.MjData(model), mujoco.MjData(model)
    for _ in range(60):
        state = full_state(model, data)
        fresh = mujoco.MjData(model)
        for target in (fresh, other):
            mujoco.mj_setState(model, target, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        stepper.step(data)
        stepper.step(fresh)
        stepper.step1(other)
        stepper.step2(other)
        np.testing.assert_array_equal(full_state(model, fresh), full_state(model, data))
        np.testing.assert_array_equal(full_state(model, other), full_state(model, data))


# ---- what the list keeps -----------------------------------------------------------------------

NEAR = """<body pos="{x} 0 {z}"><freejoint/><geom name="{name}" size=".1" mass="1"/>
  <site name="{name}" size=".11"/></body>"""
BALLS = (
    '<geom name="floor" type="plane" size="9 9 1"/>'
    + NEAR.format(name="nears", x=0, z=0.103)
    + NEAR.format(name="rests", x=2, z=0.0999)
    + NEAR.format(name="falls", x=4, z=0.14)
)
SENSORS = "<sensor>" + "".join(
    f'<contact geom1="{name}" data="found"/>'
    f'<contact geom1="{name}" data="force" reduce="netforce"/>'
    f'<touch site="{name}"/>'
    for name in ("nears", "rests", "falls")
) + "</sensor>"  # fmt: skip


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_the_list_has_what_touches_or_presses(cone):
    """A ball at rest, one that hits the floor within the step, and one that nears it. Contact
    and touch sensors agree, though the hit is 4 cm away and the sites cover 1 cm."""
    model = compiled(BALLS, 0.01, SENSORS)
    model.opt.cone = getattr(mujoco.mjtCone, f"mjCONE_{cone.upper()}")
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[0], data.qvel[2], data.qvel[14] = 1.0, -0.1, -5.0
    stepper.step1(data)
    assert pairs_of(data) == {(0, 1), (0, 2), (0, 3)}
    geoms, places = map(tuple, data.contact.geom.tolist()), data.contact.pos.copy()
    points = dict(zip(geoms, places, strict=True))
    stepper.step2(data)
    assert pairs_of(data) == {(0, 2), (0, 3)}
    found, force, touch = data.sensordata.reshape(3, 5)[:, [0, 3, 4]].T
    assert found.tolist() == [0, 1, 1]
    np.testing.assert_allclose(touch, np.abs(force), rtol=1e-12)
    assert (touch > 0).tolist() == [False, True, True]
    # (21) with w of a sphere at its surface, whose mass is 1 and whose I is 2/5 r^2
    R = np.linalg.norm([3.5, 3.5, 1.0]) / 3 / (4 * np.pi**2)
    hit = (5.0 + 9.81 * 0.01 - 0.04 / 0.0125) / (1 + R) / 0.01
    assert touch[2] == pytest.approx(hit, rel=1e-6)
    for contact in data.contact:
        np.testing.assert_array_equal(contact.pos, points[tuple(contact.geom.tolist())])
    told = stepper.contacts
    for geoms, index, push in zip(told.geoms.tolist(), told.index, told.force, strict=True):
        assert (index < 0) == (not push.any())
        if index >= 0:
            assert data.contact.geom[index].tolist() == geoms


def test_a_touch_sensor_leaves_the_place_of_a_contact():
    """Two balls of 1 and 3 kg fly at each other: the gap of 4 cm is divided 3 : 1, and the sensor
    of each feels the hit at its own surface."""
    ball = """<body pos="{x} 0 0"><freejoint/><geom size=".1" mass="{mass}"/>
      <site name="{name}" size=".105"/></body>"""
    balls = ball.format(x=0, mass=1, name="light") + ball.format(x=0.24, mass=3, name="heavy")
    sensors = '<sensor><touch site="light"/><touch site="heavy"/></sensor>'
    model = compiled(balls, 0.01, sensors)
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[0], data.qvel[6] = 3.0, -3.0
    stepper.step(data)
    assert data.contact.dist == pytest.approx([0.04])
    assert data.contact.pos[0] == pytest.approx([0.11, 0.0, 0.0])
    force = stepper.contacts.force[0, 2]
    assert force > 0
    assert data.sensordata == pytest.approx([force, force])


def test_rows_refer_to_their_contacts():
    """Rows of the engine keep the number of their contact, also those behind the list."""
    model = compiled(BALLS, 0.01)
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[0], data.qvel[2], data.qvel[14] = 1.0, -0.1, -5.0
    stepper.step(data)
    assert data.ncon == 2
    for i, contact in enumerate(data.contact):
        rows = contact.efc_address + np.arange(4)
        assert (data.efc_id[rows] == i).all()
    assert sorted(set(data.efc_id.tolist())) == [0, 1, 2]


def test_lean_steps_and_batches_list_the_same():
    model = compiled(BALLS, 0.01, SENSORS)
    stepper, data, other = Stepper(model), mujoco.MjData(model), mujoco.MjData(model)
    batch = sapwood.mujoco.Batch(model, 2, 1)
    count, values = batch.bind("ncon"), batch.bind("sensordata")
    for target in (data, other):
        target.qvel[0], target.qvel[2], target.qvel[14] = 1.0, -0.1, -5.0
    batch.qvel[:] = data.qvel
    index = []
    for _ in range(20):
        stepper.step(data)
        index += stepper.contacts.index.tolist()
        batch.step()
        assert count.tolist() == [data.ncon] * 2
        np.testing.assert_array_equal(values, np.tile(data.sensordata, (2, 1)))
    result = stepper.run(other, 20, record=("contacts",))
    assert [i for k in range(20) for i in result.contacts_of(k).index.tolist()] == index
    batch.forward(stage=mujoco.mjtStage.mjSTAGE_POS)
    assert (count <= 3).all()


# ---- impacts -----------------------------------------------------------------------------------

THIN_WALLS = {
    "box": 'type="box" size="1 1 .002"',
    "cylinder": 'type="cylinder" size="1 .002"',
    "mesh": 'type="mesh" mesh="thin"',
    "plane": 'type="plane" size="5 5 1"',
}


@pytest.mark.parametrize("wall", THIN_WALLS)
@pytest.mark.parametrize(("speed", "time_step"), [(60.0, 0.02), (300.0, 0.01), (900.0, 0.016)])
def test_bullets_do_not_pass_thin_walls(wall, speed, time_step, rng):
    """Balls that fly up to 480 of their radii in a step stop before a wall of 4 mm."""
    corners = " ".join(f"{x} {y} {z}" for x in (-1, 1) for y in (-1, 1) for z in (-0.002, 0.002))
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{time_step}" gravity="0 0 0"/>
        <asset><mesh name="thin" vertex="{corners}"/></asset><worldbody><geom {THIN_WALLS[wall]}/>
        <body><freejoint/><geom size=".03" mass="1"/></body></worldbody></mujoco>"""
    )
    stepper = Stepper(model)
    for _ in range(5):
        data = mujoco.MjData(model)
        data.qpos[:3] = *rng.uniform(-0.1, 0.1, 2), 0.1 + 2.0 * speed * time_step * rng.uniform()
        data.qvel[2] = -speed
        heights = stepper.run(data, 12, record=("qpos",)).qpos[:, 2]
        assert heights.min() > 0.015
        assert abs(data.qvel[2]) < 1.0


def momenta(model, data):
    """Linear and angular momentum of free bodies about the origin, by positions of the data."""
    total = np.zeros(6)
    for b in range(1, model.nbody):
        v, w = data.qvel[6 * b - 6 : 6 * b].reshape(2, 3)
        R, turned = data.xmat[b].reshape(3, 3), data.ximat[b].reshape(3, 3)
        p = model.body_mass[b] * v
        spin = turned @ (model.body_inertia[b] * (turned.T @ R @ w))
        total += np.concatenate([p, np.cross(data.xipos[b], p) + spin])
    return total


EDGED = {
    "box": 'type="box" size=".03 .02 .04"',
    "ellipsoid": 'type="ellipsoid" size=".03 .02 .04"',
    "cylinder": 'type="cylinder" size=".03 .02"',
    "capsule": 'type="capsule" size=".02 .04"',
}


def test_bodies_that_hit_with_an_edge_do_not_pass_thin_walls(rng):
    """They turn about the edge by up to many radians in a step. Of 320 up to 1 % may pass, and
    more than a tenth do where the arms are not shortened."""
    passed = 0
    for shape, wall, _ in itertools.product(EDGED, ("box", "cylinder"), range(40)):
        time_step, speed = 10.0 ** rng.uniform(-3.5, -1.8), 10.0 ** rng.uniform(0.5, 2.7)
        ahead = 0.1 + rng.uniform(0.0, 3.0) * speed * time_step
        model = compiled(
            f"""<geom {THIN_WALLS[wall]}/><body pos="0 0 {ahead}"><freejoint/>
            <geom {EDGED[shape]} mass="1"/></body>""",
            time_step,
            gravity="0 0 0",
        )
        stepper, data = Stepper(model), mujoco.MjData(model)
        data.qpos[3:] = rng.normal(size=4)
        data.qvel[2], data.qvel[3:] = -speed, rng.normal(size=3)
        steps = 20 + int(ahead / (speed * time_step))
        path = stepper.run(data, steps, record=("qpos",)).qpos
        before_the_wall = np.abs(path[:, :2]).max(axis=1) < 0.9
        passed += (path[before_the_wall, 2] < 0.0).any()
    assert passed <= 8


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("speed", [20.0, 50.0])
def test_the_arm_of_a_fast_body_has_the_length_of_its_formula(order, speed):
    """A block of 1 kg that leans by 30 degrees meets one of 1000 kg with its lower edge, and its
    centre would come by s beyond the gap. Momenta stay."""
    light = """<body pos="0 .3 .4"><freejoint/>
      <geom type="box" size=".02 .1 .02" euler="30 0 0" mass="1"/></body>"""
    heavy = """<body><freejoint/><geom type="box" size="1 1 .1" mass="1000"/></body>"""
    model = compiled("".join([light, heavy][:: 1 - 2 * order]), 0.01, gravity="0 0 0")
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[6 * order + 2] = -speed
    mujoco.mj_forward(model, data)
    before = momenta(model, data)
    stepper.step(data)
    after = momenta(model, data)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-9 * np.abs(before).max())
    sine, cosine = 0.5, np.sqrt(0.75)
    height, arm = 0.1 * sine + 0.02 * cosine, 0.1 * cosine - 0.02 * sine
    s = 0.01 * speed - (0.3 - height)
    arm *= height / s if s > height else 1.0
    lowest = data.contact.dist < 0.3 - height + 1e-9
    assert lowest.any()
    np.testing.assert_allclose(data.contact.pos[lowest, 1], 0.3 - arm, rtol=1e-6)
