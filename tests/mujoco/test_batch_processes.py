"""Batches among threads, signals, processes and copies."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from batch_worlds import WHOLE, N, scatter
from mujoco_models import mixed
from sapwood.mujoco import Batch, ContactMaterial, Rollout, SimulationError, Stepper
from sapwood.studies import scenes

MATERIAL = ContactMaterial(stiffness=1e5)
PHYSICS = mujoco.mjtState.mjSTATE_FULLPHYSICS


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


def calls_of_steps(model, state, friction):
    """Calls by name that return the end of four steps of worlds, or of solves beside them."""
    stepper, pool, data = Stepper(model), Rollout(model, nthread=2), mujoco.MjData(model)
    physics = np.empty((N, mujoco.mj_stateSize(model, PHYSICS)))
    for row, whole in zip(physics, state, strict=True):
        mujoco.mj_setState(model, data, whole, WHOLE)
        mujoco.mj_getState(model, data, row, PHYSICS)
    problem = sapwood.ContactProblem.from_dense(
        np.eye(3), [0.02, 0.0, -0.1], np.eye(3), phi0=0.0, k=np.inf, tau_d=0.01, mu=0.5, dt=0.01
    )

    def by_batch():
        batch = Batch(model, N, 2)
        batch.expand("geom_friction")[:, :, 0] = friction
        batch.state[:] = state
        batch.step(nstep=4)
        return batch.get_state()

    def by_stepper():
        data = mujoco.MjData(model)
        mujoco.mj_setState(model, data, state[0], WHOLE)
        for _ in range(4):
            stepper.step(data)
        return data.qpos.copy()

    def by_model():
        other = copy.copy(model)
        own, data = Stepper(other), mujoco.MjData(other)
        mujoco.mj_setState(other, data, state[0], WHOLE)
        own.run(data, 2)
        other.opt.gravity[2] *= 0.5  # followed in place
        own.run(data, 2)
        return data.qpos.copy()

    return {
        "batch": by_batch,
        "stepper": by_stepper,
        "changed model": by_model,
        "rollout": lambda: pool.rollout(physics, nstep=4).state[:, -1],
        "solve": lambda: sapwood.solve(problem).v,
        "solve_batch": lambda: sapwood.solve_batch([problem] * 5, threads=2)[4].v,
    }


def test_calls_of_all_kinds_in_many_threads(rng):
    """Calls share what serves them: engine, steppers, rollouts, names of fields, threads."""
    model = mixed()
    batch = Batch(model, N, 1)
    scatter(model, batch, rng)
    friction = model.geom_friction[:, 0] * (1.0 + 0.1 * np.arange(N)[:, None])
    calls = calls_of_steps(model, batch.get_state(), friction)
    expected = {name: call() for name, call in calls.items()}
    names, wrong, start = list(calls), [], threading.Barrier(8)

    def work(k):
        start.wait()
        for turn in range(12):
            name = names[(k + turn) % len(names)]
            try:
                if not np.array_equal(calls[name](), expected[name]):
                    wrong.append((k, turn, name, "other bits"))
            except Exception as error:
                wrong.append((k, turn, name, repr(error)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


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


def begin_to_step(batch, steps):
    batch.step_async(nstep=steps)
    while not batch._turn.is_taken():
        assert batch._behind.is_alive()


def test_fields_that_are_bound_while_worlds_step_are_filled_by_the_next_call(rng):
    model = scenes.clutter(4, seed=1).compile()
    batch, other = Batch(model, 2, 2), Batch(model, 2, 2)
    scatter(model, batch, rng)
    other.set_state(batch.state)
    begin_to_step(batch, 2000)
    bound = [batch.bind("xpos"), batch.observe(("xmat", "qvel"))]
    batch.expand("geom_friction")[1, :, 0] *= 0.5
    assert not any(array.any() for array in bound)
    batch.wait()
    other.step(nstep=2000)
    np.testing.assert_array_equal(batch.state, other.state)
    expected = [other.bind("xpos"), other.observe(("xmat", "qvel"))]
    other.expand("geom_friction")[1, :, 0] *= 0.5
    for each in (batch, other):
        each.step()
    for array, other_array in zip(bound, expected, strict=True):
        assert array.any()
        np.testing.assert_array_equal(array, other_array)
    np.testing.assert_array_equal(batch.state, other.state)


def test_set_const_waits_for_a_step_behind():
    model = scenes.clutter(4, seed=1).compile()
    batch = Batch(model, 2, 2)
    begin_to_step(batch, 2000)
    batch.set_const()
    np.testing.assert_allclose(batch.time, 2000 * model.opt.timestep)
    batch.wait()


def test_what_a_callback_may_do_with_its_batch():
    batch = Batch(mixed(), 2, 1)
    mujoco.set_mjcb_control(lambda *_: batch.set_const())
    try:
        with pytest.raises(RuntimeError, match="in a call of this thread already"):
            batch.step()
        mujoco.set_mjcb_control(lambda *_: batch.bind("xpos") is None)
        batch.step()
    finally:
        mujoco.set_mjcb_control(None)
    batch.step()
    assert np.abs(batch.xpos).max() > 0.0


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


def test_copies_know_which_worlds_failed():
    batch = Batch(mixed(), 3, 2, on_error="keep")
    batch.qvel[1] = np.nan
    batch.step()
    assert batch.status.tolist() == [0, 1, 0]
    for other in (copy.copy(batch), copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))):
        assert other.status.tolist() == [0, 1, 0]
        assert [other.error(i) for i in range(3)] == [batch.error(i) for i in range(3)]
        other.reset(other.status != 0)
        other.step()
        assert not other.status.any()
    assert batch.status.tolist() == [0, 1, 0]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system has no /proc")
@pytest.mark.parametrize("steps", [10_000, pytest.param(10_000_000, marks=pytest.mark.nightly)])
def test_a_long_run_leaves_nothing_behind(steps):
    path = Path(__file__).parents[1] / "isolated" / "long_batch.py"
    done = subprocess.run(
        [sys.executable, path, str(steps)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[0] == str(steps // 640 * 640)
