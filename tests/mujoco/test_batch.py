"""Batches: every world is stepped as alone, bit for bit; arrays are live."""

from __future__ import annotations

import gc

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from batch_worlds import N, scatter, whole_state, worlds_of
from mujoco_models import mixed, set_controls
from sapwood.mujoco import Batch, ContactMaterial, Stepper
from sapwood.studies import scenes

STAGE = mujoco.mjtStage
MATERIAL = ContactMaterial(stiffness=1e5)


# ---- bits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("nthread", [1, 3])
def test_worlds_are_steps_of_their_own(cone, nthread, rng):
    model = mixed(cone)
    stepper = Stepper(model, contact=MATERIAL)
    batch = Batch(model, N, nthread, contact=MATERIAL)
    scatter(model, batch, rng)
    names = ("xpos", "sensordata", "qacc", "ncon", "actuator_force", "cvel")
    arrays = {name: batch.bind(name) for name in names}
    force, records = batch.bind("body_forces"), batch.records
    status, bound = batch.bind("solver_status"), batch.bind("coulomb_error")
    data = worlds_of(batch)
    for call in range(25):
        for i, d in enumerate(data):
            set_controls(model, d, 10 * i + call)
            batch.ctrl[i] = d.ctrl
        ids = [None, np.arange(N) % 3 != 1, [0, 4], np.array([2], np.uint8)][call % 4]
        nstep = 1 + call % 3
        batch.step(ids, nstep)
        ran = np.arange(N) if ids is None else np.arange(N)[ids]
        for i in ran:
            for _ in range(nstep):
                stepper.step(data[i])
            np.testing.assert_array_equal(batch.state[i], whole_state(model, data[i]))
            for name in names:
                np.testing.assert_array_equal(arrays[name][i], getattr(data[i], name), name)
            assert records[i]["contacts"] == len(stepper.contacts)
            assert status[i] == int(stepper.solution.status)
            assert bound[i] == records[i]["coulomb_error"]
    assert np.abs(force).max() > 0.0


def test_body_forces_are_those_of_a_run(rng):
    model = scenes.clutter(5, seed=1).compile()
    batch = Batch(model, 3, 2)
    scatter(model, batch, rng)
    data, force = worlds_of(batch), batch.bind("body_forces")
    stepper = Stepper(model)
    for _ in range(40):
        batch.step(nstep=2)
        for i, d in enumerate(data):
            result = stepper.run(d, 2, record=("force",))
            np.testing.assert_array_equal(force[i], result.force[-1])
    assert np.abs(force).max() > 0.0


@pytest.mark.parametrize("nthread", [1, 3])
def test_contacts_and_readers(nthread, rng):
    model = scenes.clutter(5, seed=1).compile()
    batch, stepper = Batch(model, 3, nthread), Stepper(model)
    scatter(model, batch, rng)
    geoms = [model.ngeom - 1, model.ngeom - 2]
    reader, near = batch.contact_reader(geoms), batch.contact_reader(geoms, [model.ngeom - 2])
    offsets, contacts = batch.contacts
    assert len(contacts) == 0 == offsets[-1]
    data, touched = worlds_of(batch), 0
    for _ in range(60):
        batch.step([0, 2], nstep=2)
        for i in (0, 2):
            stepper.run(data[i], 2)
            expected = stepper.contacts
            found = batch.contacts_of(i)
            np.testing.assert_array_equal(found.records, expected.records)
            reader.read()
            near.read()
            for k, geom in enumerate(geoms):
                total = expected.force_on_geom(geom)
                np.testing.assert_allclose(reader.force[i, k], total, rtol=1e-12, atol=1e-9)
                assert reader.acting[i, k] == bool(np.abs(total).sum() > 0.0)
                touched += reader.acting[i, k]
        assert not near.acting[:, 1].any()  # a geom does not touch itself
        offsets, contacts = batch.contacts
        assert offsets[-1] == len(contacts) == len(batch.contacts_of(0)) + len(batch.contacts_of(2))
    assert touched > 0
    assert not reader.acting[1].any()
    assert (reader.air_time[reader.acting] == 0.0).all()
    with pytest.raises(ValueError, match="no geom of this name"):
        batch.contact_reader(["nope"])
    with pytest.raises(TypeError, match="sequences of names"):
        batch.contact_reader("nope")
    with pytest.raises(ValueError, match="different ones"):
        batch.contact_reader([1, 1])


def test_air_time_counts_from_the_last_touch():
    model = scenes.sphere_on_floor(1.0).compile()
    batch = Batch(model, 2)
    batch.qpos[1, 2] += 1.0
    reader = batch.contact_reader([model.ngeom - 1])
    for _ in range(10):
        batch.step()
        reader.read()
    # without a touch so far it counts from the beginning
    assert reader.air_time[1, 0] == pytest.approx(batch.time[1])
    assert reader.air_time[1, 0] > 0.0
    batch.reset([1], stage=STAGE.mjSTAGE_NONE)
    reader.read()
    assert reader.air_time[1, 0] == 0.0


def test_states_repeat_in_any_order_and_after_failures(rng):
    model = scenes.clutter(6, seed=2).compile()
    batch = Batch(model, N, 2, on_error="keep")
    scatter(model, batch, rng)
    start = batch.get_state()
    batch.step(nstep=30)
    expected = batch.get_state()
    # one world at a time, backwards; with another world that fails
    batch.set_state(start)
    batch.qpos[3, 0] = np.nan
    for i in reversed(range(N)):
        batch.step([i], nstep=30)
    assert batch.status.tolist() == [0, 0, 0, 1, 0, 0]
    others = np.arange(N) != 3
    np.testing.assert_array_equal(batch.state[others], expected[others])
    batch.reset([3], state=start[3])
    batch.step([3], nstep=30)
    np.testing.assert_array_equal(batch.state, expected)
    # the same number of worlds in another place of another batch
    other = Batch(Stepper(model), N + 1, 3)
    other.state[1:] = start[::-1]
    other.step(nstep=30)
    np.testing.assert_array_equal(other.state[1:], expected[::-1])


@pytest.mark.parametrize("chunk", [1, 2, N])
@pytest.mark.parametrize("nthread", [1, 2, 4])
def test_chunks_and_threads_change_no_bits(chunk, nthread, rng, monkeypatch):
    model = mixed()
    batch, expected = Batch(model, N, nthread), Batch(model, N, 1)
    scatter(model, expected, rng)
    batch.set_state(expected.state)
    expected.step(nstep=12)
    monkeypatch.setattr("sapwood.mujoco.batch.chunk_of", lambda _n, _threads: chunk)
    for ids in ([0, 2, 3], [1, 5], [4]):
        batch.step(ids, nstep=5)
        batch.step(ids, nstep=7)
    np.testing.assert_array_equal(batch.state, expected.state)


def test_what_is_bound_changes_no_bits(rng):
    model = mixed()
    bare, full = Batch(model, 3, 1), Batch(model, 3, 1)
    scatter(model, bare, rng)
    full.set_state(bare.state)
    full.bind("sensordata"), full.bind("body_forces"), full.observe(("qpos", "xpos"), np.float32)
    for _ in range(20):
        bare.step(nstep=3)
        full.step(nstep=3, stage=STAGE.mjSTAGE_VEL)
    np.testing.assert_array_equal(bare.state, full.state)


def test_an_integrator_that_has_nothing_to_do(rng):
    model = scenes.sphere_on_floor(1.0).compile()
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    stepper, batch = Stepper(model), Batch(model, 3, 2)
    scatter(model, batch, rng)
    data = worlds_of(batch)
    batch.step(nstep=4)
    for i, d in enumerate(data):
        stepper.run(d, 4)
        np.testing.assert_array_equal(batch.qpos[i], d.qpos)


# ---- arrays -------------------------------------------------------------------------------------


def test_arrays_are_live_aligned_and_typed():
    model = mixed()
    batch = Batch(model, N, 2)
    assert batch.state.shape == (N, batch.nstate)
    assert batch.time.shape == (N,)
    assert batch.bind("qpos").shape == (N, model.nq)
    assert batch.mocap_quat.shape == (N, model.nmocap, 4)
    assert batch.bind("xmat").shape == (N, model.nbody, 9)
    assert batch.bind("ncon").shape == (N,)
    assert batch.bind("ncon").dtype == np.int32
    for array in (batch.state, batch.xpos, batch.bind("qpos", np.float32)):
        assert array.ctypes.data % 64 == 0
        assert array.flags.c_contiguous
    np.testing.assert_array_equal(batch.state[0], whole_state(model, mujoco.MjData(model)))
    assert np.shares_memory(batch.qvel, batch.state)
    assert batch.bind("xpos") is batch.xpos
    for name in ("qpos", "qvel", "ctrl", "act", "xfrc_applied", "eq_active", "userdata"):
        assert batch.bind(name).shape == (N, *getattr(mujoco.MjData(model), name).shape)
    batch.ctrl = 0.25
    assert (batch.ctrl == 0.25).all()
    assert not batch.xpos.any()  # zero until the next call
    batch.step()
    assert batch.xpos.any()
    for array in (batch.xpos, batch.status, batch.records, batch.bind("solver_status")):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_rounded_and_packed_arrays(rng):
    model = mixed()
    batch = Batch(model, N, 2)
    scatter(model, batch, rng)
    rounded = batch.bind("qpos", "float32")
    packed = batch.observe(("qpos", "qvel", "sensordata"), out=np.float32)
    exact = batch.observe(["xpos", "qvel"])
    sensors, xpos = batch.sensordata, batch.xpos
    batch.step(nstep=2)
    np.testing.assert_array_equal(rounded, batch.qpos.astype(np.float32))
    expected = np.hstack((batch.qpos, batch.qvel, sensors)).astype(np.float32)
    np.testing.assert_array_equal(packed, expected)
    np.testing.assert_array_equal(exact, np.hstack((xpos.reshape(N, -1), batch.qvel)))
    assert packed.flags.c_contiguous
    assert batch.observe(("qpos", "qvel", "sensordata"), out=np.float32) is packed


def test_torch_shares_the_memory():
    torch = pytest.importorskip("torch")
    batch = Batch(mixed(), N)
    tensor = torch.from_dlpack(batch.qvel)
    tensor[2, 0] = 5.0
    assert batch.qvel[2, 0] == 5.0


def test_arrays_outlive_the_batch():
    batch = Batch(mixed(), N, 2)
    batch.step()
    qpos, xpos = batch.qpos, batch.xpos
    expected = qpos.copy(), xpos.copy()
    del batch
    gc.collect()
    np.testing.assert_array_equal(qpos, expected[0])
    np.testing.assert_array_equal(xpos, expected[1])
