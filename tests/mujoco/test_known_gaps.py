"""Distances that are known from earlier steps: they spare measuring, and change no list."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import full_state
from sapwood.mujoco import Stepper

TETRAHEDRON = "0 0 0  .2 0 0  0 .06 0  .05 .02 .06"

# an arm of meshes, boxes and a cylinder, whose next but one are near; it moves slowly
SLOW = f"""<mujoco><option timestep="0.002"/>
  <asset><mesh name="wedge" vertex="{TETRAHEDRON}"/></asset>
  <default><joint damping=".02" axis="0 0 1"/></default>
  <worldbody><geom type="box" size=".05 .2 .02" pos=".25 .12 .02"/>
  <body><joint/><geom type="mesh" mesh="wedge"/>
    <body pos=".2 0 0"><joint/><geom type="box" size=".05 .02 .02" pos=".06 0 0"/>
      <body pos=".13 0 0"><joint/><geom type="cylinder" size=".03 .03" pos=".03 0 0"/>
        <body pos=".07 0 0"><joint axis="0 1 0"/><geom type="mesh" mesh="wedge"/>
  </body></body></body></body></worldbody></mujoco>"""


@pytest.fixture(params=[0, 9.81])
def slow(rng, request):
    model = mujoco.MjModel.from_xml_string(SLOW)
    model.opt.gravity[2] = -request.param
    data = mujoco.MjData(model)
    data.qpos[:] = rng.uniform(-0.6, 0.6, model.nv)
    data.qvel[:] = rng.uniform(-0.5, 0.5, model.nv)
    return model, Stepper(model), data


def listed(stepper, data):
    """The contacts that a stepper finds in a state, with their distances."""
    other = copy.copy(data)
    stepper.step1(other)
    return other.contact.geom.tolist(), other.contact.dist.tolist()


def test_what_is_known_changes_no_list(slow):
    """Against steppers that know nothing."""
    model, stepper, data = slow
    for _ in range(60):
        stepper.run(data, 20)
        assert listed(stepper, data) == listed(Stepper(model), data)


def test_many_geoms_that_stay_may_come_after_what_moves():
    """Each of them counts as a body; memory for pairs of bodies is for all of them."""
    stairs = "".join(f"<geom type='box' size='.1 .1 .1' pos='{2 + i} 0 0'/>" for i in range(60))
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body pos='0 0 2'><freejoint/><geom size='.1'/></body>"
        f"<body>{stairs}<geom type='plane' size='1 1 1'/></body></worldbody></mujoco>"
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    for _ in range(20):
        stepper.run(data, 50)
        assert listed(stepper, data) == listed(Stepper(model), data)
    assert stepper.n_contacts == 1


@pytest.mark.slow
def test_what_is_known_of_what_is_carried_along_changes_no_list(slow, rng):
    """The first joint turns the whole arm, whose links meet now and then."""
    model, stepper, data = slow
    seen = 0
    for _ in range(60):
        data.qvel[0] = 8
        data.qvel[1:] += rng.uniform(-3, 3, model.nv - 1)
        for _ in range(4):
            stepper.run(data, 2)
            contacts = listed(stepper, data)
            seen += len(contacts[0])
            assert contacts == listed(Stepper(model), data)
    assert seen > 0


def test_a_jump_and_another_size_are_seen(slow, rng):
    """Geoms that are set elsewhere, and geoms that grow."""
    model, stepper, data = slow
    seen = 0
    for trial in range(40):
        stepper.run(data, 5)
        data.qpos[:] = rng.uniform(-2.5, 2.5, model.nv)
        data.qvel[:] = 0
        if trial % 4 == 0:
            for own in (model, stepper.model):
                own.geom_size[0, 1] = rng.uniform(0.05, 0.3)
        contacts = listed(stepper, data)
        seen += len(contacts[0]) > 0
        assert contacts == listed(Stepper(model), data)
    assert seen > 0


# bodies of one geom and of several, floating and falling among what stands, and one that is welded
FAST = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1"/>
  <geom type="box" size=".1 .3 .1" pos=".4 0 .1"/><geom type="sphere" size=".1" pos="-.4 0 .1"/>
  <body pos="0 .5 .2" mocap="true"><geom type="box" size=".1 .1 .1"/></body>
  <body pos="0 0 .3"><freejoint/><geom type="box" size=".05 .1 .04"/>
    <geom type="sphere" size=".06" pos="0 .12 0"/><geom size=".03 .1" type="capsule" pos=".08 0 0"/>
    <body pos="0 0 .15"><joint axis="1 0 0"/><geom type="cylinder" size=".05 .04" pos="0 0 .05"/>
      <body pos="0 0 .15"><joint axis="0 1 0"/><geom type="box" size=".04 .05 .06" pos="0 0 .05"/>
        <geom type="ellipsoid" size=".03 .04 .05" pos="0 .1 .05"/></body></body></body>
  <body pos=".3 .3 .4"><freejoint/><geom type="box" size=".06 .06 .06"/></body>
  <body pos="-.3 .3 .4"><freejoint/><geom type="ellipsoid" size=".06 .04 .09"/></body>
</worldbody></mujoco>"""


def follow_fast_bodies(rng, rounds):
    """Runs, jumps, bodies that are moved from outside and changes of the model, in one stepper."""
    model = mujoco.MjModel.from_xml_string(FAST)
    stepper, data, seen = Stepper(model), mujoco.MjData(model), 0

    def jump():
        data.qpos[[0, 1, 9, 10, 16, 17]] = rng.uniform(-0.6, 0.6, 6)
        data.qvel[:] = rng.uniform(-3, 3, model.nv) * rng.choice([0, 0.1, 1])

    def move_mocap():
        data.mocap_pos[0] = rng.uniform(-0.5, 0.5, 3)

    def change():
        which, geom = rng.integers(4), rng.integers(model.ngeom)
        moved, meets, mask = rng.uniform(-0.1, 0.1, 3), int(rng.integers(2)), rng.integers(2)
        for own in (model, stepper.model):
            if which == 0:
                own.geom_pos[geom] += moved
            elif which == 1:
                (own.geom_contype, own.geom_conaffinity)[mask][geom] = meets
            elif which == 2:
                own.geom_margin[geom] = abs(moved[0])
            else:
                own.opt.disableflags ^= mujoco.mjtDisableBit.mjDSBL_FILTERPARENT

    for _ in range(rounds):
        rng.choice([jump, move_mocap, change])()
        for _ in range(4):
            contacts = listed(stepper, data)
            assert contacts == listed(Stepper(model), data)
            seen += len(contacts[0])
            mujoco.mj_step(model, data, nstep=3)
    assert seen > 0


def test_fast_bodies_are_seen_in_time(rng):
    follow_fast_bodies(rng, 100)


@pytest.mark.slow
def test_boxes_that_are_farther_apart_than_their_contact_tells():
    """MuJoCo lists two boxes at a distance of 0.145 here; it is more than their margin, 0.1505."""
    follow_fast_bodies(np.random.default_rng(1671862296), 400)


def test_contacts_of_boxes_tell_of_a_share_of_their_distance(rng):
    """MuJoCo lists two boxes within sqrt(3) of their margin, and beyond the margin itself."""
    margin, size, shares = 0.2, rng.uniform(0.1, 1.0, (2, 3)), []
    boxes = "".join(
        f"<body><freejoint/><geom type='box' size='{a} {b} {c}' margin='{margin / 2}'/></body>"
        for a, b, c in size
    )
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{boxes}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    reach = np.linalg.norm(size, axis=1).sum() + margin
    for _ in range(6000):
        turns = rng.normal(size=(3, 4))
        data.qpos[3:7], data.qpos[10:14] = turns[:2] / np.linalg.norm(turns[:2], axis=1)[:, None]
        direction = turns[2, :3] / np.linalg.norm(turns[2, :3])
        data.qpos[7:10] = rng.uniform(0.5, 1.0) * reach * direction
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        if data.ncon > 0:
            within = data.contact.includemargin[0]
            shares.append(mujoco.mj_geomDistance(model, data, 0, 1, 10.0, None) / within)
    assert 1.0 < max(shares) <= np.sqrt(3.0)


def test_threads_may_share_what_is_known(slow):
    model, stepper, data = slow
    starts = [copy.copy(data) for _ in range(4)]
    for k, start in enumerate(starts):
        start.qvel[:] *= k
    alone = [copy.copy(start) for start in starts]
    for one in alone:
        Stepper(model).run(one, 150)
    threads = [threading.Thread(target=stepper.run, args=(start, 150)) for start in starts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, shared in zip(alone, starts, strict=True):
        np.testing.assert_array_equal(full_state(model, one), full_state(model, shared))
