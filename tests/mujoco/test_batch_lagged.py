"""Lagged friction in batches: the forces of the last step are part of the state of each world."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from batch_worlds import WHOLE, whole_state
from sapwood.mujoco import Batch, SimulationError, Stepper
from sapwood.studies import scenes

# no forces that obey Coulomb's law may be found, which no bit here depends on
pytestmark = pytest.mark.filterwarnings("ignore:.*friction_limit:RuntimeWarning")

N = 4


@pytest.fixture(scope="module")
def model():
    """Bodies that fall, slide and roll on a floor: contacts come and go."""
    return scenes.clutter(8, seed=1).compile()


def moving(model, nthread=2, **options):
    batch = Batch(model, N, nthread, friction="lagged", **options)
    batch.qvel[:] = 0.3 * np.sin(np.arange(model.nv) + np.arange(N)[:, None])
    return batch


def size_of(model):
    return mujoco.mj_stateSize(model, WHOLE)


@pytest.mark.parametrize("nthread", [1, 3])
def test_worlds_are_steps_of_their_own(model, nthread):
    batch = moving(model, nthread)
    stepper, data = Stepper(model, friction="lagged"), [batch.get_data(i) for i in range(N)]
    for call in range(20):
        ids = [None, [0, 2], [1, 2, 3]][call % 3]
        batch.step(ids, nstep=1 + call % 4, stage=call % 2)
        for i in range(N) if ids is None else ids:
            stepper.run(data[i], 1 + call % 4)
            np.testing.assert_array_equal(
                batch.state[i, : size_of(model)], whole_state(model, data[i])
            )
    assert batch.state[:, size_of(model)].min() > 0.0


def test_the_layout_is_as_documented(model):
    batch = moving(model)
    batch.step(nstep=60)
    n_state = 1 + model.nq + model.nv + model.na
    memory = batch.state[:, size_of(model) :]
    assert memory.shape == (N, 1 + n_state + 6 * max(64, 8 * model.ngeom))
    np.testing.assert_array_equal(
        memory[:, 1 : 1 + n_state],
        np.column_stack([batch.time, batch.qpos, batch.qvel, batch.act]),
    )
    for row in memory:
        n, contacts = int(row[0]), row[1 + n_state :].reshape(-1, 6)
        assert n > 0
        assert not contacts[n:].any()
        low, high = np.divmod(contacts[:n, 0], model.ngeom)
        assert ((low >= 0) & (low < high) & (high < model.ngeom)).all()
        assert contacts[0, 1] >= 0.0
        for begin in np.flatnonzero(contacts[:n, 1] >= 0.0):
            # positions are from the centre of the contacts of two geoms
            end = begin + 1
            while end < n and contacts[end, 1] == -1.0:
                assert contacts[end, 0] == contacts[begin, 0]
                end += 1
            np.testing.assert_allclose(contacts[begin:end, 2:5].mean(0), 0.0, atol=1e-12)
            extent = np.ptp(contacts[begin:end, 2:5], axis=0)
            assert contacts[begin, 1] == pytest.approx(np.linalg.norm(extent), abs=1e-12)


def test_forces_in_the_row_carry_the_weight():
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><worldbody><geom type="plane" size="1 1 1"/>
      <body pos="0 0 .1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>""")
    batch = Batch(model, 2, 1, friction="lagged")
    force = batch.bind("body_forces")
    batch.step(nstep=500)
    row = batch.state[0, size_of(model) :]
    contact = row[1 + 1 + model.nq + model.nv :][:6]
    assert row[0] == 1.0
    assert contact[5] == pytest.approx(force[0, 1, 2], rel=1e-12)
    assert contact[5] == pytest.approx(model.body_mass[1] * 9.81, rel=1e-6)


def test_a_saved_state_goes_on_with_the_same_bits(model):
    batch = moving(model)
    batch.step(nstep=40)
    start = batch.get_state()
    batch.step(nstep=20)
    expected = batch.get_state()
    # by the whole rows, by reset in another order of worlds, one at a time
    batch.set_state(start)
    batch.step(nstep=20)
    np.testing.assert_array_equal(batch.state, expected)
    batch.reset(state=start[::-1])
    for i in range(N):
        batch.step([i], nstep=20)
    np.testing.assert_array_equal(batch.state, expected[::-1])
    # it matters: without the memory the next states are others
    batch.reset(state=start[:, : size_of(model)])
    assert not batch.state[:, size_of(model) :].any()
    batch.step(nstep=20)
    forgetful = batch.get_state()
    assert not np.array_equal(forgetful[:, : size_of(model)], expected[:, : size_of(model)])


def test_copies_remember(model):
    batch = moving(model)
    batch.step(nstep=40)
    others = copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))
    batch.step(nstep=10)
    for other in others:
        other.step(nstep=10)
        np.testing.assert_array_equal(other.state, batch.state)


@pytest.mark.parametrize("name", ["time", "qpos", "qvel"])
def test_a_write_to_the_state_forgets(model, name):
    batch, stepper = moving(model), Stepper(model, friction="lagged")
    batch.step(nstep=40)
    array = batch.bind(name).reshape(N, -1)
    array[1, -1] = np.nextafter(array[1, -1], 9.0)
    data = [batch.get_data(i) for i in range(N)]
    remembering = batch.get_state()[0]
    batch.step(nstep=5)
    stepper.run(data[1], 5)  # a stepper that has seen nothing of this world
    np.testing.assert_array_equal(batch.state[1, : size_of(model)], whole_state(model, data[1]))
    stepper.run(data[0], 5)
    assert not np.array_equal(batch.state[0, : size_of(model)], whole_state(model, data[0]))
    batch.reset([0], state=remembering)
    batch.step([0], nstep=5)


def test_resets_to_the_model_forget_and_stages_do_not(model):
    batch = moving(model)
    batch.step(nstep=40)
    before = batch.get_state()
    batch.forward()
    batch.step(nstep=0)
    np.testing.assert_array_equal(batch.state, before)
    batch.reset([2])
    assert not batch.state[2, size_of(model) :].any()


def test_rollouts_remember(model):
    batch, other = moving(model), moving(model)
    for each in (batch, other):
        each.step(nstep=30)
    batch.rollout(6, record=("qpos", "xpos"))
    other.step(nstep=6)
    np.testing.assert_array_equal(batch.state, other.state)


def test_a_world_without_room_fails_by_name(model):
    batch, roomy = moving(model, remembered_contacts=1), moving(model)
    roomy.step(nstep=60)
    n = int(roomy.state[0, size_of(model)])
    before = batch.get_state()
    with pytest.raises(SimulationError, match=rf"Batch\(remembered_contacts={n}\)"):
        batch.step([0], nstep=60)
    np.testing.assert_array_equal(batch.state, before)
    other = moving(model, remembered_contacts=n)
    other.step([0], nstep=60)
    n_columns = other.nstate
    np.testing.assert_array_equal(other.state[0], roomy.state[0, :n_columns])


@pytest.mark.parametrize(
    ("column", "value"),
    [(0, -1.0), (0, 0.5), (0, 1e9), (0, np.nan), ("key", -1.0), ("key", 0.5), ("key", 1e300),
     ("extent", -1.0), ("extent", np.nan), ("x", np.inf), ("force", np.nan)],
)  # fmt: skip
def test_impossible_memories_fail_their_world(model, column, value):
    batch = moving(model, on_error="keep")
    batch.step(nstep=60)
    first = size_of(model) + 2 + model.nq + model.nv + model.na
    places = {"key": first, "extent": first + 1, "x": first + 2, "force": first + 5}
    batch.state[1, places.get(column, size_of(model))] = value
    before = batch.get_state()
    batch.step()
    assert np.flatnonzero(batch.status).tolist() == [1]
    assert "has no friction memory" in batch.error(1)
    np.testing.assert_array_equal(batch.state[1], before[1])


def test_only_lagged_friction_remembers(model):
    assert Batch(model, 2).nstate == size_of(model)
    with pytest.raises(ValueError, match="only friction='lagged'"):
        Batch(model, 2, remembered_contacts=3)
    with pytest.raises(ValueError, match="remembered_contacts"):
        Batch(model, 2, friction="lagged", remembered_contacts=0)
    with pytest.raises(ValueError, match="state has shape"):
        Batch(model, 2, friction="lagged").reset(state=np.zeros((2, 3)))
