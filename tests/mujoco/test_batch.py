"""Batches: every world is stepped as alone, bit for bit, and fails alone; arrays are live."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import mixed, set_controls
from sapwood.mujoco import Batch, ContactMaterial, NotSupported, SimulationError, Stepper
from sapwood.studies import scenes

WHOLE = mujoco.mjtState.mjSTATE_INTEGRATION
STAGE = mujoco.mjtStage
MATERIAL = ContactMaterial(stiffness=1e5)
N = 6


def whole_state(model, data):
    state = np.empty(mujoco.mj_stateSize(model, WHOLE))
    mujoco.mj_getState(model, data, state, WHOLE)
    return state


def scatter(model, batch, rng):
    """Other velocities and heights in each world of the batch."""
    batch.qvel[:] = 0.3 * rng.standard_normal((batch.nsim, model.nv))
    if model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
        batch.qpos[:, 2] += 0.01 * rng.random(batch.nsim)


def worlds_of(batch):
    """An MjData for each world, in its state."""
    return [batch.get_data(i) for i in range(batch.nsim)]


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


def test_body_forcess_are_those_of_a_run(rng):
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


# ---- stages and resets --------------------------------------------------------------------------


def test_forward_is_a_step_without_integration(rng):
    model = mixed()
    batch, stepper = Batch(model, N, 2), Stepper(model)
    scatter(model, batch, rng)
    names = ("xpos", "sensordata", "qacc", "qfrc_constraint", "ncon")
    arrays = {name: batch.bind(name) for name in names}
    data, before = worlds_of(batch), batch.get_state()
    batch.forward()
    np.testing.assert_array_equal(batch.state, before)
    for i, d in enumerate(data):
        stepper.step(d)
        for name in names:
            np.testing.assert_array_equal(arrays[name][i], getattr(d, name), name)
    # positions and velocities after a step are those of the new state
    batch.step(nstep=2, stage=STAGE.mjSTAGE_VEL)
    xpos = batch.xpos.copy()
    batch.forward(stage=STAGE.mjSTAGE_POS)
    np.testing.assert_array_equal(batch.xpos, xpos)
    batch.step()
    np.testing.assert_array_equal(batch.xpos, xpos)  # as in the state before the step
    batch.step()
    assert not np.array_equal(batch.xpos, xpos)


def test_resets(rng):
    spec = scenes.sphere_on_floor(1.0)
    for height in (1.0, 2.0):
        spec.add_key(qpos=[0, 0, height, 1, 0, 0, 0], time=height)
    model = spec.compile()
    batch = Batch(model, N, 2)
    start = batch.get_state()
    scatter(model, batch, rng)
    batch.step(nstep=3)
    bank = batch.get_state()
    batch.reset(keyframe=[0, -1, 1, 1, 0, -1])
    np.testing.assert_array_equal(batch.qpos[:, 2], [1, start[0, 3], 2, 2, 1, start[0, 3]])
    np.testing.assert_array_equal(batch.time, [1, 0, 2, 2, 1, 0])
    assert (batch.bind("qvel") == 0).all()
    np.testing.assert_array_equal(batch.state[1], start[1])
    batch.reset([1, 3], keyframe=1, stage=STAGE.mjSTAGE_NONE)
    np.testing.assert_array_equal(batch.time, [1, 2, 2, 2, 1, 0])
    batch.reset([0, 5], state=bank[[3, 4]])
    np.testing.assert_array_equal(batch.state[[0, 5]], bank[[3, 4]])
    batch.reset(np.arange(N) > 3, state=bank[0])
    np.testing.assert_array_equal(batch.state[4:], bank[[0, 0]])
    batch.reset()
    np.testing.assert_array_equal(batch.state, start)


def test_rollouts_record_each_substep(rng):
    model = mixed()
    batch, stepper = Batch(model, N, 2), Stepper(model)
    scatter(model, batch, rng)
    ids, nstep = [1, 2, 5], 7
    control = rng.uniform(-1, 1, (3, nstep, model.nu))
    data = [batch.get_data(i) for i in ids]
    before = batch.get_state()
    qvel = mujoco.mjtState.mjSTATE_QVEL
    room = {"qpos": np.empty((3, nstep, model.nq))}
    record = ("qpos", "xpos", "ncon", "time", qvel, WHOLE)
    found = batch.rollout(nstep, control, record=record, ids=ids, out=room)
    assert found["qpos"] is room["qpos"]
    for k, d in enumerate(data):
        for t in range(nstep):
            d.ctrl[:] = control[k, t]
            stepper.step(d)
            for name in ("qpos", "xpos", "ncon", "time"):
                np.testing.assert_array_equal(found[name][k, t], getattr(d, name), name)
            np.testing.assert_array_equal(found[qvel][k, t], d.qvel)
            np.testing.assert_array_equal(found[WHOLE][k, t], whole_state(model, d))
        np.testing.assert_array_equal(batch.state[ids[k]], found[WHOLE][k, -1])
    others = [0, 3, 4]
    np.testing.assert_array_equal(batch.state[others], before[others])
    # one control for all worlds and substeps; inputs stay without one
    batch.set_state(before)
    batch.rollout(2, control[0, 0], record=())
    assert (batch.ctrl == control[0, 0]).all()
    batch.rollout(2, record=())
    assert (batch.ctrl == control[0, 0]).all()


# ---- failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("nthread", [1, 3])
def test_failures_are_told_per_world(nthread, rng):
    model = mixed()
    batch = Batch(model, N, nthread)
    scatter(model, batch, rng)
    good = copy.copy(batch.get_state())
    batch.ctrl[2, 0] = np.inf
    batch.qpos[4, 1] = np.nan
    before, xpos = batch.get_state(), batch.xpos
    with pytest.raises(SimulationError, match=r"in 2 of 6 simulations \(2, 4\); simulation 2") as e:
        batch.step(nstep=3)
    assert e.value.ids.tolist() == [2, 4]
    assert np.flatnonzero(batch.status).tolist() == [2, 4]
    assert "ctrl[0] = inf" in batch.error(2)
    assert "qpos[1] = nan" in batch.error(4)
    assert batch.error(0) == ""
    np.testing.assert_array_equal(batch.state[[2, 4]], before[[2, 4]])
    assert not xpos[[2, 4]].any()
    assert (batch.time[[0, 1, 3, 5]] > 0).all()
    # a call of others leaves their status alone, the next good one clears it
    batch.step([0, 1])
    assert np.flatnonzero(batch.status).tolist() == [2, 4]
    batch.state[[2, 4]] = good[[2, 4]]
    batch.step([2])
    assert np.flatnonzero(batch.status).tolist() == [4]
    assert batch.error(2) == "" != batch.error(4)
    batch.step()
    assert not batch.status.any()


def test_failures_in_rollouts_and_resets():
    model = mixed()
    batch = Batch(model, 3, on_error="keep")
    control = np.zeros((3, 4, model.nu))
    control[1, 2] = np.nan
    start = batch.get_state()
    found = batch.rollout(4, control, record=("qpos", "ncon"))
    assert np.isnan(found["qpos"][1, 2:]).all()
    assert np.isfinite(found["qpos"][[0, 2]]).all()
    assert np.isfinite(found["qpos"][1, :2]).all()
    assert (found["ncon"][1, 2:] == 0).all()
    assert "step 2" in batch.error(1)
    np.testing.assert_array_equal(batch.state[1], start[1])
    bank = start.copy()
    bank[2, 3] = np.nan
    batch.reset(state=bank)
    assert batch.status.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(batch.state[:2], start[:2])
    assert np.isfinite(batch.state[2]).all()


@pytest.mark.parametrize("nthread", [1, 3])
def test_an_exception_of_a_callback_ends_the_call(nthread, rng):
    model = mixed()
    batch = Batch(model, N, nthread)
    scatter(model, batch, rng)
    calls = []

    def control(_model, data):
        calls.append(data.time)
        if len(calls) == 30:
            raise KeyError("no such thing")

    mujoco.set_mjcb_control(control)
    try:
        batch.step()
        with pytest.raises(KeyError, match="no such thing") as caught:
            batch.step(nstep=1000)
    finally:
        mujoco.set_mjcb_control(None)
    assert any(note.startswith("in simulation ") for note in caught.value.__notes__)
    assert len(calls) < 1000
    batch.step()
    assert (batch.time > 0).all()


# ---- wrong arguments ----------------------------------------------------------------------------

WRONG = [
    (lambda b: b.bind("qpso"), ValueError, "did you mean 'qpos'"),
    (lambda b: b.bind("efc_force"), ValueError, "arena"),
    (lambda b: b.bind("body_mass"), ValueError, "expand"),
    (lambda b: b.bind("timestep"), ValueError, r"opt\.timestep|is no array"),
    (lambda b: b.bind("pstack"), ValueError, r"scalars bind\(\) accepts: "),
    (lambda b: b.bind("_address"), ValueError, "_address is no array"),
    (lambda b: b.bind("xpos", "int32"), ValueError, "xpos is float64"),
    (lambda b: b.bind("ncon", "float32"), ValueError, "ncon is int32"),
    (lambda b: b.observe("qpos"), TypeError, "names must be a sequence"),
    (lambda b: b.observe(["qpos", "ncon"]), ValueError, "ncon is no array of float64"),
    (lambda b: b.observe(["qpso"]), ValueError, "did you mean"),
    (lambda b: b.observe(["qpos"], "int8"), ValueError, "must be float32 or float64"),
    (lambda b: b.nope, AttributeError, "no attribute 'nope'"),
    (lambda b: b.body_mass, AttributeError, r"use expand\('body_mass'\)"),
    (lambda b: b.contact, AttributeError, "no attribute 'contact'"),
    (lambda b: setattr(b, "xpos", 0), ValueError, "computed by every call"),
    (lambda b: setattr(b, "ctrl", np.zeros(99)), ValueError, "broadcast"),
    (lambda b: b.step([2**40]), ValueError, r"in \[0, 6\), got 1099511627776"),
    (lambda b: b.step([0.9]), ValueError, "ids must be integers"),
    (lambda b: b.step([[0]]), ValueError, "ids has 2 dimensions"),
    (lambda b: b.step([6]), ValueError, r"in \[0, 6\), got 6"),
    (lambda b: b.step([-1]), ValueError, "got -1"),
    (lambda b: b.step(np.ones(7, bool)), ValueError, r"mask must have shape \(6,\)"),
    (lambda b: b.step([3, 1]), ValueError, "got 3 before 1"),
    (lambda b: b.step([2, 2]), ValueError, "got 2 before 2"),
    (lambda b: b.step(np.array([2, 1], np.uint32)), ValueError, "got 2 before 1"),
    (lambda b: b.step(nstep=-1), ValueError, "nstep = -1"),
    (lambda b: b.step(nstep=1.5), TypeError, "nstep must be an integer"),
    (lambda b: b.step(stage=7), ValueError, "stage = 7: must be of mujoco.mjtStage"),
    (lambda b: b.forward(stage="ACC"), TypeError, "stage must be an integer"),
    (lambda b: b.reset(keyframe=0), ValueError, r"keyframe must be in \[-1, 0\), got 0"),
    (lambda b: b.reset(keyframe=0.5), ValueError, "keyframe must be integers"),
    (lambda b: b.reset(keyframe=[-1, -1]), ValueError, "keyframe has shape"),
    (lambda b: b.reset(state=np.zeros(3)), ValueError, "state has shape"),
    (lambda b: b.reset([0], state=b.state[:2]), ValueError, r"state has shape \(2, "),
    (lambda b: b.rollout(-1), ValueError, "nstep = -1"),
    (lambda b: b.rollout(1, record=("qpso",)), ValueError, "did you mean 'qpos'"),
    (lambda b: b.rollout(1, record=(-1,)), ValueError, "record"),
    (lambda b: b.rollout(2, np.zeros((6, 3, 1))), ValueError, "control has shape"),
    (lambda b: b.rollout(1, "u"), TypeError, "control"),
    (lambda b: b.rollout(1, control_spec=2), ValueError, "control_spec = 2"),
    (lambda b: b.rollout(1, out={"qpos": np.zeros(3)}), ValueError, r"out\['qpos'\] must be"),
    (lambda b: b.error(6), IndexError, "got 6"),
    (lambda b: b.get_data(-1), IndexError, "got -1"),
    (lambda b: b.get_data(0, b), TypeError, "data must be"),
    (lambda b: b.set_state(np.zeros(3)), ValueError, "state has shape"),
    (lambda b: b.set_state("x"), TypeError, "state"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_arguments_change_nothing(case):
    call, error, message = WRONG[case]
    batch = Batch(mixed(), N, 2)
    before = batch.get_state()
    with pytest.raises(error, match=message):
        call(batch)
    np.testing.assert_array_equal(batch.state, before)
    assert not batch.status.any()
    batch.step([])  # no world
    np.testing.assert_array_equal(batch.state, before)
    batch.step()
    assert (batch.time > 0).all()


def test_wrong_batches_are_refused():
    model = mixed()
    for arguments, keywords, error, message in (
        ((model, 0), {}, ValueError, "nsim = 0"),
        ((model, 2.0), {}, TypeError, "nsim must be an integer"),
        ((model, 2, -1), {}, ValueError, "nthread = -1"),
        ((model, 2), {"on_error": "ignore"}, ValueError, "on_error = 'ignore'"),
        ((model, 2), {"persistent": True}, TypeError, "persistent"),
        (("robot.xml", 2), {}, TypeError, "model must be a mujoco.MjModel"),
        ((Stepper(model), 2), {"sigma": 1e-3}, TypeError, "sigma: a stepper has its options"),
        ((model, 2), {"scheme": "midpoint"}, NotSupported, "symplectic_euler"),
        ((model, 2), {"friction": "lagged"}, NotSupported, "lagged"),
    ):
        with pytest.raises(error, match=message):
            Batch(*arguments, **keywords)


# ---- threads, signals, processes ----------------------------------------------------------------


def test_calls_of_several_threads_come_one_after_the_other(rng):
    model = scenes.clutter(4, seed=1).compile()
    batch = Batch(model, N, 2)
    scatter(model, batch, rng)
    start = batch.get_state()
    batch.step(nstep=40)
    expected = batch.get_state()
    batch.set_state(start)
    threads = [threading.Thread(target=batch.step, kwargs={"nstep": 10}) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(batch.state, expected)


@pytest.mark.parametrize("nthread", [1, 2])
@pytest.mark.undisturbed
def test_ctrl_c_leaves_a_batch_that_can_be_used(nthread):
    code = f"""
        import numpy as np, sapwood.mujoco, sapwood.studies.scenes
        batch = sapwood.mujoco.Batch(sapwood.studies.scenes.clutter(4).compile(), 4, {nthread})
        before = batch.get_state()
        try:
            print("ready", flush=True)
            batch.step(nstep=10**7)
        except KeyboardInterrupt:
            kept = np.array_equal(batch.state, before) and not batch.status.any()
            batch.step()
            print("interrupted", kept, (batch.time > 0).all(), flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "interrupted True True\n"
    assert process.returncode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_has_the_batch(rng):
    model = scenes.clutter(4, seed=1).compile()
    batch = Batch(model, N, 3)
    scatter(model, batch, rng)
    batch.step()
    start = batch.get_state()
    batch.step(nstep=10)
    expected = batch.get_state()
    batch.set_state(start)
    child = os.fork()
    if child == 0:
        ended = 1
        try:
            batch.step(nstep=10)
            ended = 0 if np.array_equal(batch.state, expected) else 2
        finally:
            os._exit(ended)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    batch.step(nstep=10)
    np.testing.assert_array_equal(batch.state, expected)


def test_half_of_the_worlds_step_behind(rng):
    model = scenes.clutter(4, seed=1).compile()
    batch, other = Batch(model, N, 2), Batch(model, N, 2)
    scatter(model, batch, rng)
    other.set_state(batch.state)
    half = np.arange(N) < N // 2
    for _ in range(5):
        batch.step_async(half, nstep=2)
        with pytest.raises(RuntimeError, match="wait"):
            batch.step_async(~half)
        batch.wait()
        batch.step_async(~half, nstep=2)
        batch.wait()
        other.step(nstep=2)
        np.testing.assert_array_equal(batch.state, other.state)
    with pytest.raises(RuntimeError, match="no step to wait for"):
        batch.wait()
    batch.qpos[1, 0] = np.nan
    batch.step_async()
    with pytest.raises(SimulationError, match=r"\(1\)"):
        batch.wait()
    with pytest.raises(ValueError, match="got 6"):
        batch.step_async([6])


def test_a_copy_goes_on_with_the_same_bits(rng):
    model = mixed()
    batch = Batch(model, N, 2, contact=MATERIAL)
    scatter(model, batch, rng)
    batch.expand("geom_friction")[:, :, 0] *= 1.0 + 0.1 * np.arange(N)[:, None]
    batch.expand("body_mass")[:, 1] *= 1.0 + 0.1 * np.arange(N)
    batch.expand("sapwood.dissipation_time")[1] *= 2.0
    batch.set_const()
    batch.step(nstep=5)
    for other in (copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))):
        np.testing.assert_array_equal(other.state, batch.state)
        np.testing.assert_array_equal(other.expand("body_mass"), batch.expand("body_mass"))
        assert other.is_expanded("geom_friction")
        other.step(nstep=10)
        assert not np.shares_memory(other.state, batch.state)
        copies = other.get_state()
    batch.step(nstep=10)
    np.testing.assert_array_equal(copies, batch.state)
