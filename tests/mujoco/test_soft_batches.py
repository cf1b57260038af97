"""Worlds with elastic flexes and soft bodies: each is stepped as alone, bit for bit."""

from __future__ import annotations

import pickle

import mujoco
import numpy as np
import pytest

from batch_worlds import whole_state
from sapwood import fem
from sapwood.mujoco import (
    Batch,
    ContactMaterial,
    SimulationError,
    Stepper,
    body_pose,
    rollout,
)
from sapwood.mujoco.stepping.soft_memory import memory_size, motion_size

gym = pytest.importorskip("gymnasium")

from sapwood.gymnasium import VectorEnv

N = 4
FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS
FLEX = """<flexcomp name="f" type="grid" count="3 3 2" spacing=".1 .1 .1" pos="0 0 .0515" dim="3"
  mass="2" radius=".001"><elasticity young="3e4" poisson=".3" damping=".01"/>
  <contact selfcollide="none"/></flexcomp>"""
BODY = """<body name="b" pos="0 0 {height}"><freejoint/><geom size=".05" mass=".5"/></body>"""

needs_flexes = pytest.mark.skipif(
    not hasattr(mujoco.MjModel, "flex_stiffnessadr"), reason="MuJoCo before 4.0"
)


def model_of(inner: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        "<mujoco><option timestep='.004' integrator='discrete'/><worldbody>"
        f"<geom name='floor' type='plane' size='1 1 1'/>{inner}</worldbody></mujoco>"
    )


def with_flex() -> Stepper:
    """A soft slab under a ball."""
    return Stepper(model_of(FLEX + BODY.format(height=0.156)), contact=ContactMaterial(1e5))


def with_bodies() -> Stepper:
    """A soft cube held by a ball, above another one."""
    model = model_of(BODY.format(height=0.25))
    material = fem.Material(young=2e4, poisson=0.3, density=1e3)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    bodies = []
    for name, height in (("low", 0.0505), ("high", 0.152)):
        pose = np.eye(4)
        pose[2, 3] = height
        bodies.append(fem.SoftBody(fem.box([0.1] * 3, 2), material, pose=pose, name=name))
    bodies[1].attach(bodies[1].mesh.vertices[:, 2] > 0.049, "b", body_pose(data, "b"))
    return Stepper(model, soft=bodies)


def lagged_flex() -> Stepper:
    """Lagged friction of a slab that slides, with a ball on it."""
    inner = FLEX + BODY.format(height=0.156)
    return Stepper(model_of(inner), contact=ContactMaterial(1e5), friction="lagged")


def lagged_bodies() -> Stepper:
    """Lagged friction of two soft cubes, and of a ball on the floor."""
    model = model_of(BODY.format(height=0.0505).replace('"0 0', '".3 0'))
    material = fem.Material(young=2e4, poisson=0.3, density=1e3)
    bodies = []
    for name, height in (("low", 0.0505), ("high", 0.152)):
        pose = np.eye(4)
        pose[2, 3] = height
        bodies.append(fem.SoftBody(fem.box([0.1] * 3, 2), material, pose=pose, name=name))
        bodies[-1].velocities = bodies[-1].velocities + [height, 0, 0]
    return Stepper(model, soft=bodies, friction="lagged")


BOTH = [pytest.param(with_flex, marks=needs_flexes), with_bodies]
LAGGED = [pytest.param(lagged_flex, marks=needs_flexes), lagged_bodies]


def pushed(batch: Batch, rng: np.random.Generator) -> list[mujoco.MjData]:
    batch.qvel[:, -6:] += 0.3 * rng.standard_normal((N, 6))
    return [batch.get_data(i) for i in range(N)]


@pytest.mark.parametrize("nthread", [1, 3])
@pytest.mark.parametrize("make", BOTH + LAGGED)
def test_worlds_are_steps_of_their_own(make, nthread, rng):
    batch, steppers = Batch(make(), N, nthread), [make() for _ in range(N)]
    datas = pushed(batch, rng)
    names = ("xpos", "qacc", "ncon", "qfrc_constraint")
    arrays, force = {name: batch.bind(name) for name in names}, batch.bind("body_forces")
    assert len(batch.contacts[1]) == 0  # kept from here on
    for call in range(12):
        ids = [None, [0, 2], np.arange(N) > 0][call % 3]
        batch.step(ids, 1 + call % 4)
        for i in np.arange(N) if ids is None else np.arange(N)[ids]:
            stepper, data = steppers[i], datas[i]
            stepper.run(data, 1 + call % 4)
            size = mujoco.mj_stateSize(batch.model, mujoco.mjtState.mjSTATE_INTEGRATION)
            np.testing.assert_array_equal(batch.state[i, :size], whole_state(batch.model, data))
            for name, array in arrays.items():
                np.testing.assert_array_equal(array[i], getattr(data, name), name)
            np.testing.assert_array_equal(force[i], stepper.body_forces)
            np.testing.assert_array_equal(batch.contacts_of(i).records, stepper.contacts.records)
            assert batch.records[i]["iterations"] == stepper.solution.iterations
            mine, its = batch.soft_state(i), stepper.soft_state
            np.testing.assert_array_equal(mine.positions, its.positions)
            np.testing.assert_array_equal(mine.velocities, its.velocities)
    assert np.abs(force).max() > 0.1
    assert max(len(stepper.soft_result.touches) for stepper in steppers) > 1


@pytest.mark.parametrize("make", BOTH + LAGGED)
def test_a_state_goes_on_where_it_was_kept(make, rng):
    """Also in another batch, after a pickle, and after stages that find forces."""
    batch = Batch(make(), N, 2)
    pushed(batch, rng)
    batch.step(nstep=25)
    kept = batch.get_state()
    other = pickle.loads(pickle.dumps(batch))
    batch.forward()
    np.testing.assert_array_equal(batch.state, kept)
    batch.step(nstep=10)
    end = batch.get_state()
    other.step(nstep=10)
    np.testing.assert_array_equal(other.state, end)
    batch.set_state(kept)
    batch.step(nstep=10)
    np.testing.assert_array_equal(batch.state, end)
    batch.reset(state=kept[1], ids=[0, 1])
    batch.step([0, 1], nstep=10)
    np.testing.assert_array_equal(batch.state[[0, 1]], end[[1, 1]])
    # a reset is the start
    fresh = Batch(make(), N, 2)
    batch.reset()
    for each in (batch, fresh):
        each.step(nstep=8)
    np.testing.assert_array_equal(batch.state, fresh.state)


@pytest.mark.parametrize("make", BOTH + LAGGED)
def test_rollouts_are_runs(make, rng):
    stepper = make()
    model, data = stepper.model, mujoco.MjData(stepper.model)
    starts = np.empty((3, mujoco.mj_stateSize(model, FULL)))
    for row in starts:
        data.qvel[-6:] = 0.3 * rng.standard_normal(6)
        mujoco.mj_getState(model, data, row, FULL)
    for threads in (1, 2):
        result = rollout(stepper, starts, nstep=12, nthread=threads)
        assert result.converged
        for row, states in zip(starts, result.state, strict=True):
            alone, data = make(), mujoco.MjData(model)
            mujoco.mj_setState(model, data, row, FULL)
            run = alone.run(data, 12, record=("state",))
            np.testing.assert_array_equal(run.state, states)
    batch = Batch(make(), 3)
    batch.reset(state=np.stack([whole_state(model, _data_of(model, row)) for row in starts]))
    recorded = batch.rollout(12, record=(FULL, "xpos"))
    np.testing.assert_array_equal(recorded[FULL], result.state)


def _data_of(model, row):
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, row, FULL)
    return data


@pytest.mark.parametrize("make", BOTH + LAGGED)
def test_a_world_that_fails_keeps_its_state(make):
    batch = Batch(make(), N, 2, on_error="keep")
    batch.step(nstep=3)
    batch.qvel[2, -1] = np.nan
    before = batch.get_state()
    batch.step(nstep=3)
    assert batch.status.tolist() == [0, 0, batch.status[2], 0]
    assert batch.status[2] > 0
    np.testing.assert_array_equal(batch.state[2], before[2])
    assert (batch.state[[0, 1, 3]] != before[[0, 1, 3]]).any()
    strict = Batch(make(), 2)
    strict.qvel[1, -1] = np.inf
    with pytest.raises(SimulationError, match="qvel"):
        strict.step()


def friction_of(batch: Batch) -> np.ndarray:
    """Memory of lagged friction, of soft bodies and flexes and then of geoms."""
    behind = mujoco.mj_stateSize(batch.model, mujoco.mjtState.mjSTATE_INTEGRATION)
    soft = batch._stepper.parameters.soft
    return batch.state[:, behind + memory_size(soft) :]


@pytest.mark.parametrize("make", LAGGED)
def test_what_lagged_friction_remembers_is_of_one_state(make, rng):
    """Without it, or from a state that was changed, a world goes on as one that begins there."""
    batch = Batch(make(), N, 2)
    pushed(batch, rng)
    batch.qvel[:, :-6:3] += 0.3
    batch.step(nstep=5)
    friction = friction_of(batch)
    assert (friction[:, 0] > 2).all()
    kept = batch.get_state()
    batch.step(nstep=3)
    known = batch.get_state()
    forgetful = kept.copy()
    forgetful[:, -friction.shape[1] :] = 0
    batch.set_state(forgetful)
    batch.step(nstep=3)
    unknown = batch.get_state()
    assert (np.abs(unknown - known)[:, : -friction.shape[1]].max(axis=1) > 1e-6).all()
    # the states differ in one bit from that to which the forces belong
    nudged, ends = kept.copy(), []
    for state in (nudged, forgetful):
        batch.set_state(state)
        batch.qvel[:, -1] = np.nextafter(batch.qvel[:, -1], 9.0)
        batch.step(nstep=3)
        ends.append(batch.get_state())
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("make", LAGGED)
def test_stages_find_the_friction_of_the_next_step(make, rng):
    batch = Batch(make(), N, 2)
    pushed(batch, rng)
    batch.qvel[:, :-6:3] += 0.3
    force = batch.bind("qfrc_constraint")
    batch.step(nstep=5)
    batch.forward()
    found = force.copy()
    batch.step()
    np.testing.assert_array_equal(force, found)


@pytest.mark.parametrize("make", LAGGED)
def test_a_world_whose_friction_has_no_room_fails_by_name(make):
    batch, roomy = (Batch(make(), 2, **given) for given in ({"remembered_contacts": 1}, {}))
    roomy.step(nstep=15)
    n = int(friction_of(roomy)[0, 0])
    before = batch.get_state()
    with pytest.raises(SimulationError, match=rf"Batch\(remembered_contacts={n}\)"):
        batch.step([0], nstep=15)
    np.testing.assert_array_equal(batch.state, before)
    other = Batch(make(), 2, remembered_contacts=n)
    other.step([0], nstep=15)
    size = other.nstate - friction_of(other).shape[1]
    np.testing.assert_array_equal(other.state[0, :size], roomy.state[0, :size])


@pytest.mark.parametrize(
    ("column", "value"),
    [(-1, -1.0), (-1, 0.5), (-1, 1e9), (-1, np.nan), (0, 0.5), (3, -2.0), (7, np.nan), (8, np.inf)],
)
def test_impossible_friction_fails_its_world(column, value):
    batch = Batch(lagged_bodies(), 2, 1, on_error="keep")
    batch.step(nstep=15)
    soft = batch._stepper.parameters.soft
    row = friction_of(batch)[1]
    row[0 if column < 0 else 1 + motion_size(batch.model, soft) + column] = value
    before = batch.get_state()
    batch.step()
    assert np.flatnonzero(batch.status).tolist() == [1]
    assert "has no friction memory" in batch.error(1)
    np.testing.assert_array_equal(batch.state[1], before[1])


@needs_flexes
def test_materials_and_fields_of_the_model_differ_between_worlds():
    """A softer flex and a softer ball sink deeper; the world beside them is as before."""
    batch = Batch(with_flex(), 3, 2)
    batch.expand("flex_damping")[1] *= 30
    batch.expand("sapwood.contact_stiffness")[2] /= 100
    alone = Batch(with_flex(), 1)
    for each in (batch, alone):
        each.step(nstep=120)
    np.testing.assert_array_equal(batch.qpos[0], alone.qpos[0])
    height = batch.qpos[:, -5]
    assert height[2] < height[0] - 2e-3
    assert abs(height[1] - height[0]) > 1e-6
    with_speed = Batch(with_flex(), 1)
    with_speed.expand("opt.gravity")[:] = 0
    with_speed.step(nstep=5)
    np.testing.assert_allclose(with_speed.qvel, 0, atol=1e-12)


@needs_flexes
def test_a_vector_environment_has_flexes():
    env = VectorEnv(
        Batch(with_flex(), 3, on_error="keep"),
        observe=lambda batch: batch.qpos[:, -7:],
        reward=lambda batch, _: -batch.qpos[:, -5],
        done=lambda batch: batch.qpos[:, -5] < -1,
        nstep=2,
        max_episode_steps=5,
    )
    env.reset(seed=0)
    for _ in range(7):
        seen, reward, *_ = env.step(env.action_space.sample())
    assert np.isfinite(seen).all()
    assert (reward < 0).all()


@pytest.mark.parametrize("make", BOTH)
def test_no_bit_depends_on_the_threads_of_a_step(make):
    stepper = make()
    several = Stepper(
        stepper.model,
        contact=ContactMaterial(1e5),
        soft=stepper.parameters.soft.copy().bodies,
        threads=2,
    )
    one = Stepper(stepper.model, contact=ContactMaterial(1e5), soft=stepper.soft)
    ends = []
    for each in (several, one):
        data = mujoco.MjData(each.model)
        each.run(data, 40)
        ends.append(data.qpos.copy())
    np.testing.assert_array_equal(*ends)
    with pytest.raises(ValueError, match="threads"):
        Stepper(stepper.model, threads=0)
