"""Rollouts: every world is a run of its own, for any number of threads, and fails by itself."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
from mujoco import rollout as mujocos

from interrupts import interrupted
from mujoco_models import (
    FLAGS,
    boxes_on_floor,
    mixed,
    physics_state,
    set_controls,
    take_explicit_rotation,
)
from sapwood import SapSettings
from sapwood.mujoco import ContactMaterial, Rollout, StepError, Stepper, rollout
from sapwood.studies import scenes

SPEC = mujoco.mjtState.mjSTATE_FULLPHYSICS
MATERIAL = ContactMaterial(stiffness=1e5)


def worlds_of(model, n, rng):
    """Initial states of n worlds, each with other velocities and heights."""
    states = []
    for i in range(n):
        data = mujoco.MjData(model)
        data.time = 0.5 * i
        data.qvel[:] = 0.3 * rng.standard_normal(model.nv)
        if model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
            data.qpos[2] += 0.01 * rng.random()
        states.append(physics_state(model, data))
    return np.array(states)


def controls_of(model, n_worlds, n_steps):
    data = mujoco.MjData(model)
    controls = np.empty((n_worlds, n_steps, model.nu))
    for w in range(n_worlds):
        for t in range(n_steps):
            set_controls(model, data, 10 * w + t)
            controls[w, t] = data.ctrl
    return controls


def one_by_one(stepper, initial, controls, n_steps):
    """The expected result of a rollout, from single steps."""
    model = stepper.model
    states, sensors = [], []
    for start, control in zip(initial, controls, strict=True):
        data = mujoco.MjData(model)
        mujoco.mj_setState(model, data, start, SPEC)
        states.append([])
        sensors.append([])
        for t in range(n_steps):
            data.ctrl[:] = control[t]
            stepper.step(data)
            states[-1].append(physics_state(model, data))
            sensors[-1].append(data.sensordata.copy())
    return np.array(states), np.array(sensors)


# ---- the same steps -----------------------------------------------------------------------------


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_worlds_are_their_single_runs_to_the_last_bit(cone, rng):
    model = mixed(cone)
    n_worlds, n_steps = 7, 120
    initial, controls = worlds_of(model, n_worlds, rng), controls_of(model, n_worlds, n_steps)
    stepper = Stepper(model, contact=MATERIAL)
    states, sensors = one_by_one(stepper, initial, controls, n_steps)
    steps = stepper.steps
    for nthread in (1, 2, 3, 16):
        for chunk_size in (None, 1, 2, 100):
            result = rollout(stepper, initial, controls, nthread=nthread, chunk_size=chunk_size)
            np.testing.assert_array_equal(result.state, states)
            np.testing.assert_array_equal(result.sensordata, sensors)
            assert result.steps.tolist() == [n_steps] * n_worlds
            assert result.failures == ()
            assert result.converged
            np.testing.assert_array_equal(result.records["time"], states[:, :, 0])
    # the stepper itself is left alone
    assert stepper.steps == steps
    by_model = rollout(model, initial, controls, contact=MATERIAL)
    np.testing.assert_array_equal(by_model.state, states)


def test_what_one_rollout_sets_is_gone_in_the_next(rng):
    """Controls and applied forces of before, on the same threads."""
    model = mixed()
    initial, controls = worlds_of(model, 4, rng), controls_of(model, 4, 30)
    forces = rng.normal(size=(4, 30, model.nv))
    pool = Rollout(model, nthread=2)
    expected = rollout(model, initial, nstep=30).state
    for control, spec in ((controls, "CTRL"), (forces, "QFRC_APPLIED")):
        bits = int(getattr(mujoco.mjtState, f"mjSTATE_{spec}"))
        steered = pool.rollout(initial, control, control_spec=bits)
        assert not np.array_equal(steered.state, expected)
        np.testing.assert_array_equal(pool.rollout(initial, nstep=30).state, expected)


def test_records_are_those_of_a_run(rng):
    model = scenes.clutter(6, seed=2).compile()
    initial = worlds_of(model, 3, rng)
    result = rollout(model, initial, nstep=80, nthread=2)
    for w, start in enumerate(initial):
        stepper, data = Stepper(model), mujoco.MjData(model)
        mujoco.mj_setState(model, data, start, SPEC)
        expected = stepper.run(data, 80).records
        for column in set(expected.dtype.names) - {"seconds", "solver_seconds"}:
            np.testing.assert_array_equal(result.records[w][column], expected[column], column)
    assert result.records["contacts"].max() > 0


def test_without_contact_it_is_mujocos_rollout(rng, monkeypatch):
    """The same worlds, steps, controls, states and sensors, bit for bit."""
    take_explicit_rotation(monkeypatch)
    model = mixed()
    model.opt.disableflags |= int(FLAGS | mujoco.mjtDisableBit.mjDSBL_CONTACT)
    model.dof_damping[:] = 0.0
    initial = worlds_of(model, 5, rng)
    controls = controls_of(model, 5, 40)
    state, sensordata = mujocos.rollout(model, mujoco.MjData(model), initial, controls)
    ours = rollout(model, initial, controls, nthread=2, implicit_actuators=False)
    np.testing.assert_array_equal(ours.state, state)
    np.testing.assert_array_equal(ours.sensordata, sensordata)
    # one control for all steps, one world for all controls, no control
    for one, two in ((initial, controls[:, :1]), (initial[:1], controls), (initial[0], None)):
        state, _ = mujocos.rollout(model, mujoco.MjData(model), one, two, nstep=40)
        ours = rollout(model, one, two, nstep=40, implicit_actuators=False)
        np.testing.assert_array_equal(ours.state, state)


@pytest.mark.parametrize("name", ["QFRC_APPLIED", "XFRC_APPLIED", "MOCAP_POS", "CTRL|MOCAP_QUAT"])
def test_other_controls(name, rng):
    model = mixed()
    spec = sum(int(getattr(mujoco.mjtState, f"mjSTATE_{part}")) for part in name.split("|"))
    size = mujoco.mj_stateSize(model, spec)
    controls = 0.2 * rng.random((3, 30, size)) + 0.1
    initial = worlds_of(model, 3, rng)
    result = rollout(model, initial, controls, control_spec=spec, nthread=2)
    for w in range(3):
        stepper, data = Stepper(model), mujoco.MjData(model)
        mujoco.mj_setState(model, data, initial[w], SPEC)
        for t in range(30):
            mujoco.mj_setState(model, data, controls[w, t], spec)
            stepper.step(data)
            np.testing.assert_array_equal(result.state[w, t], physics_state(model, data))


# ---- shapes -------------------------------------------------------------------------------------


def test_lengths_come_from_any_array():
    model = mixed()
    start = physics_state(model, mujoco.MjData(model))
    nu, ns = model.nu, model.nsensordata

    def shape(*arguments, **keywords):
        result = rollout(model, *arguments, **keywords)
        assert result.state.shape[:2] == result.sensordata.shape[:2] == result.records.shape
        assert result.steps.tolist() == [result.state.shape[1]] * result.state.shape[0]
        return result.state.shape

    size = start.size
    assert shape(start) == (1, 1, size)
    assert shape(start, nstep=4) == (1, 4, size)
    assert shape(start, nstep=0) == (1, 0, size)
    assert shape(np.empty((0, size)), nstep=3) == (0, 3, size)
    assert shape(start.tolist(), np.zeros(nu)) == (1, 1, size)
    assert shape(start, np.zeros((5, nu))) == (1, 5, size)
    assert shape(start, np.zeros((3, 5, nu))) == (3, 5, size)
    assert shape(start, np.zeros((3, 1, nu)), nstep=5) == (3, 5, size)
    assert shape(np.tile(start, (3, 1)), np.zeros((1, 5, nu))) == (3, 5, size)
    assert shape(start, sensordata=np.empty((3, 5, ns))) == (3, 5, size)
    state = np.empty((2, 6, size))
    result = rollout(model, start, state=state)
    assert result.state is state
    np.testing.assert_array_equal(state[0], state[1])
    assert state[0, -1, 0] == pytest.approx(6 * 0.004)


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"initial_state": np.zeros((2, 3))}, ValueError, r"initial_state has shape \(2, 3\)"),
        ({"initial_state": "x"}, TypeError, "initial_state"),
        ({"initial_state": np.zeros((1, 1, 9))}, ValueError, "initial_state has 3 dimensions"),
        ({"initial_state": np.zeros(3, complex)}, TypeError, "initial_state must hold real"),
        ({"control": np.zeros((1, 1, 9))}, ValueError, r"control has shape \(1, 1, 9\)"),
        ({"control": np.zeros((1, 1, 1, 2))}, ValueError, "control has 4 dimensions"),
        ({"control": np.zeros((5, 3, 0)), "nstep": 2}, ValueError,
         "control has length 3 along axis 1, nstep has 2"),
        ({"control": np.zeros((5, 3, 0)), "state": np.zeros((4, 3, 14))}, ValueError,
         "state has length 4 along axis 0, control has 5"),
        ({"state": np.zeros((2, 3))}, TypeError, "state must be an ndarray of three dimensions"),
        ({"state": [[[0.0]]]}, TypeError, "state must be an ndarray"),
        ({"state": np.zeros((1, 1, 14), np.float32)}, TypeError, "state must have dtype"),
        ({"state": np.zeros((1, 1, 15))}, ValueError, r"state has shape \(1, 1, 15\)"),
        ({"state": np.zeros((1, 4, 14)), "nstep": 1, "sensordata": np.zeros((1, 3, 0))},
         ValueError, "sensordata has length 3 along axis 1, state has 4"),
        ({"sensordata": np.zeros((1, 1, 3))}, ValueError, "sensordata has shape"),
        ({"nstep": -1}, ValueError, "nstep = -1: must be >= 0"),
        ({"nstep": 1.0}, TypeError, "nstep must be an integer"),
        ({"nthread": 0}, ValueError, "nthread = 0: must be from 1 to 256"),
        ({"chunk_size": 0}, ValueError, "chunk_size = 0: must be >= 1"),
        ({"control_spec": int(mujoco.mjtState.mjSTATE_QPOS)}, ValueError, "control_spec = 2: must"),
        ({"control_spec": "ctrl"}, TypeError, "control_spec must be an integer"),
        ({"time_steps": 1}, TypeError, "time_steps"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(keywords, error, message):
    model = scenes.sphere_on_floor(1.0).compile()
    start = physics_state(model, mujoco.MjData(model))
    with pytest.raises(error, match=message):
        rollout(model, **({"initial_state": start} | keywords))


def test_wrong_models_are_refused():
    with pytest.raises(TypeError, match=r"model must be a mujoco\.MjModel, not str"):
        Rollout("robot.xml")
    stepper = Stepper(scenes.sphere_on_floor(1.0).compile())
    with pytest.raises(TypeError, match="sigma: a stepper has its options already"):
        Rollout(stepper, sigma=1e-3)


def test_outputs_of_readonly_memory_are_refused():
    model = scenes.sphere_on_floor(1.0).compile()
    start = physics_state(model, mujoco.MjData(model))
    state = np.zeros((1, 1, start.size))
    state.flags.writeable = False
    with pytest.raises(ValueError, match=r"state must be .* writeable"):
        rollout(model, start, state=state)


def test_a_rollout_closes_at_the_end_of_a_block(rng):
    model = mixed()
    initial = worlds_of(model, 3, rng)
    with Rollout(model, nthread=2) as pool:
        result = pool.rollout(initial, nstep=5)
    np.testing.assert_array_equal(result.state, rollout(model, initial, nstep=5).state)
    with pytest.raises(RuntimeError, match="this Rollout is closed"):
        pool.rollout(initial, nstep=5)
    pool.close()


def test_copies_of_a_rollout_follow_their_own_model(rng):
    model = mixed()
    initial = worlds_of(model, 3, rng)
    pool = Rollout(Stepper(model), nthread=2)
    expected = pool.rollout(initial, nstep=5).state.copy()
    others = pickle.loads(pickle.dumps(pool)), copy.deepcopy(pool)
    model.opt.gravity[2] *= 0.5
    assert not np.array_equal(pool.rollout(initial, nstep=5).state, expected)
    for other in others:
        assert other.nthread == 2
        np.testing.assert_array_equal(other.rollout(initial, nstep=5).state, expected)
    pool.close()
    with pytest.raises(RuntimeError, match="this Rollout is closed"):
        copy.copy(pool).rollout(initial, nstep=5)


# ---- failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("nthread", [1, 3])
def test_worlds_that_fail_leave_the_others_alone(nthread, rng):
    model = mixed()
    n_worlds, n_steps = 9, 50
    initial, controls = worlds_of(model, n_worlds, rng), controls_of(model, n_worlds, n_steps)
    expected = rollout(model, initial, controls, nthread=1)
    initial[2, 1] = np.nan
    controls[4, 17, 1] = np.inf
    controls[8, 49, 0] = -1e12
    with pytest.warns(RuntimeWarning, match=r"3 of 9 worlds failed, first world 2, step 0") as told:
        result = rollout(model, initial, controls, nthread=nthread)
    assert told[0].filename == __file__
    failures = [(error.world, error.step) for error in result.failures]
    assert failures == [(2, 0), (4, 17), (8, 49)]
    assert [type(error) for error in result.failures] == [StepError] * 3
    assert "qpos[0] = nan" in str(result.failures[0])
    assert str(result.failures[1]).startswith("world 4, step 17 at time 2.068 s: ctrl[1] = inf")
    assert not result.converged
    for w in range(n_worlds):
        taken = dict(failures).get(w, n_steps)
        assert result.steps[w] == taken
        np.testing.assert_array_equal(result.state[w, :taken], expected.state[w, :taken])
        np.testing.assert_array_equal(result.sensordata[w, :taken], expected.sensordata[w, :taken])
        assert np.isnan(result.state[w, taken:]).all()
        assert np.isnan(result.sensordata[w, taken:]).all()
        assert not result.records[w, taken:]["contacts"].any()


def test_full_memory_in_one_world(tmp_path, monkeypatch):
    """An error of MuJoCo in one world; the next one on the same thread begins afresh."""
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log file
    model = boxes_on_floor("64K")
    touching = physics_state(model, mujoco.MjData(model))
    apart = touching.copy()
    apart[1 + 2 : 1 + 70 : 7] += 1.0
    initial = np.array([apart, touching, apart, touching, touching, apart])
    with pytest.warns(RuntimeWarning, match="3 of 6 worlds failed"):
        result = rollout(model, initial, nstep=10, nthread=1)
    assert result.steps.tolist() == [10, 0, 10, 0, 0, 10]
    assert "too small" in str(result.failures[0])
    for w in (2, 5):
        np.testing.assert_array_equal(result.state[w], result.state[0])


def test_steps_that_did_not_converge_are_in_the_records(rng):
    model = scenes.clutter(6, seed=2).compile()
    settings = SapSettings(max_iterations=0)
    result = rollout(
        model, worlds_of(model, 3, rng), nstep=80, settings=settings, friction="convex"
    )
    assert not result.converged
    assert result.failures == ()
    assert (result.records["status"] == 2).any()


@pytest.mark.parametrize("nthread", [1, 3])
def test_an_exception_in_a_callback_of_mujoco_ends_all(nthread, rng):
    model = mixed()
    calls = []

    def fail(_model, data):
        calls.append(data.time)
        if len(calls) == 40:
            raise KeyError("no such thing")

    mujoco.set_mjcb_control(fail)
    try:
        with pytest.raises(KeyError, match="no such thing") as caught:
            rollout(model, worlds_of(model, 6, rng), nstep=1000, nthread=nthread)
    finally:
        mujoco.set_mjcb_control(None)
    assert any(note.startswith("in world ") for note in caught.value.__notes__)
    assert len(calls) < 1000


def test_options_are_those_that_a_stepper_needs(rng):
    model = scenes.sphere_on_floor(1.0).compile()
    stepper = Stepper(model)
    initial = worlds_of(model, 2, rng)
    pool = Rollout(stepper, nthread=2)
    assert pool.nthread == 2
    first = pool.rollout(initial, nstep=10)
    # arrays beside the stepper may change
    stepper.model.opt.gravity[:] = 0.0
    second = pool.rollout(initial, nstep=10)
    np.testing.assert_allclose(second.state[0, -1, 8:], initial[0, 8:], rtol=1e-12)
    assert not np.array_equal(first.state, second.state)
    stepper.model.opt.timestep = 1.0
    with pytest.raises(ValueError, match="belong to the stepper"):
        pool.rollout(initial, nstep=10)


# ---- threads and signals ------------------------------------------------------------------------


def test_a_pool_serves_several_threads_in_turn(rng):
    model = scenes.clutter(4, seed=1).compile()
    initial = worlds_of(model, 6, rng)
    pool = Rollout(model, nthread=2)
    expected = pool.rollout(initial, nstep=40).state
    results = []

    def work():
        results.append(pool.rollout(initial, nstep=40).state)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for state in results:
        np.testing.assert_array_equal(state, expected)


@pytest.mark.parametrize("nthread", [1, 2])
@pytest.mark.undisturbed
def test_ctrl_c_ends_a_rollout(nthread):
    ended = interrupted(
        """
        import mujoco, numpy as np, sapwood.mujoco, sapwood.studies.scenes
        model = sapwood.studies.scenes.clutter(4).compile()
        start = np.concatenate([[0.0], model.qpos0, np.zeros(model.nv)])
        """,
        f"sapwood.mujoco.rollout(model, np.tile(start, (4, 1)), nstep=10**6, nthread={nthread})",
    )
    assert ended == "interrupted\n"
