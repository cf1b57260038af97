"""Stepper.run: the loop in C takes the steps that Python takes, whatever happens in between."""

from __future__ import annotations

import copy
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from interrupts import interrupted
from mujoco_models import full_state, mixed, set_controls, urdf_on_floor
from sapwood import _core
from sapwood.mujoco import RunResult, Stepper
from sapwood.mujoco.results.results import STEP_FALLBACKS
from sapwood.studies import scenes

MODELS = {
    "mixed": lambda: mixed("elliptic"),
    "mixed_pyramidal": lambda: mixed("pyramidal"),
    "clutter": lambda: scenes.clutter(8, seed=3).compile(),
    "urdf": urdf_on_floor,
    "without_dofs": lambda: mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>"),
}


@pytest.fixture
def falling():
    """A stepper and data of a ball above the floor."""
    model = scenes.sphere_on_floor(1.0).compile()
    return Stepper(model), mujoco.MjData(model)


def lock_step(model, data):
    """A callback that sets the controls for the next step, from the number of the last one."""
    step = round(data.time / model.opt.timestep)
    set_controls(model, data, step)


# ---- the same steps -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_run_is_its_steps_to_the_last_bit(name):
    model = MODELS[name]()
    one_by_one, at_once = Stepper(model), Stepper(model)
    a, b = mujoco.MjData(model), mujoco.MjData(model)
    for data in (a, b):
        data.qvel[:] = np.linspace(0.5, -0.5, model.nv)
    steps = 500
    told = []
    for _ in range(steps):
        one_by_one.step(a)
        told.append((a.time, one_by_one.n_contacts, one_by_one.solution))
    result = at_once.run(b, steps)
    np.testing.assert_array_equal(full_state(model, a), full_state(model, b))
    for field in ("qacc", "qfrc_constraint", "efc_force", "sensordata", "cfrc_ext"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field), field)
    assert at_once.solution == one_by_one.solution
    np.testing.assert_array_equal(at_once.contacts.force, one_by_one.contacts.force)
    assert at_once.steps == one_by_one.steps == result.steps == steps

    # the records are what each step told
    np.testing.assert_array_equal(result.time, [time for time, _, _ in told])
    np.testing.assert_array_equal(result.contacts, [n for _, n, _ in told])
    if model.nv:
        for column in (
            "iterations", "total_iterations", "line_search_trials", "momentum_error",
            "velocity_error_bound", "status",
        ):  # fmt: skip
            expected = [getattr(solution, column) for _, _, solution in told]
            np.testing.assert_array_equal(getattr(result, column), expected, column)
        np.testing.assert_array_equal(result.islands, [s.n_islands for _, _, s in told])
        assert result.contacts.max() > 0
    assert (result.solver_seconds >= 0).all()
    assert (result.seconds > result.solver_seconds).all()
    assert result.converged


@pytest.mark.parametrize("every", [1, 3, 100])
def test_a_callback_may_steer(every):
    """Controls set in the callback act in the next step, as if set before a step."""
    model = mixed()
    one_by_one, at_once = Stepper(model), Stepper(model)
    a, b = mujoco.MjData(model), mujoco.MjData(model)
    times = []

    def callback(data):
        times.append(data.time)
        assert at_once.last_run.steps == len(times) * every
        assert at_once.n_contacts == at_once.last_run.contacts[-1]
        lock_step(model, data)

    for i in range(100):
        one_by_one.step(a)
        if (i + 1) % every == 0:
            lock_step(model, a)
    result = at_once.run(b, 100, callback, every)
    assert times == result.time[every - 1 :: every].tolist()
    np.testing.assert_array_equal(full_state(model, a), full_state(model, b))


def test_steps_before_which_options_changed_are_counted(falling):
    stepper, data = falling
    assert stepper.run(data, 3).fallbacks["options"] == 0
    asked = []

    def change(model, _):
        asked.append(model.opt.disableflags)
        if len(asked) == 2:
            model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)

    mujoco.set_mjcb_control(change)
    try:
        result = stepper.run(data, 5)
    finally:
        mujoco.set_mjcb_control(None)
    assert result.steps == 5
    options = result.records["fallbacks"] & STEP_FALLBACKS["options"]
    assert np.flatnonzero(options).tolist() == [2]


def test_a_callback_may_end_the_run(falling):
    stepper, data = falling
    result = stepper.run(data, 100, lambda data: data.time >= 7 * stepper.time_step, every=2)
    assert result.steps == stepper.steps == 8
    assert result is stepper.last_run
    # True alone ends it, that of Python or of NumPy, as comparisons return it
    for answer in (1, "yes", np.ones(2), np.False_, None):
        assert stepper.run(data, 4, lambda _, answer=answer: answer).steps == 4
    assert stepper.run(data, 4, lambda _: np.True_).steps == 1


def test_a_callback_may_run_the_stepper_itself(falling):
    """The outer run returns its own steps, also where the callback ends it, or fails."""
    stepper, data = falling
    other = mujoco.MjData(stepper.model)
    inner = []

    def callback(_data):
        inner.append(stepper.run(other, 3))

    result = stepper.run(data, 10, callback)
    assert [run.steps for run in inner] == [3] * 10
    assert result.steps == stepper.last_run.steps == 10
    np.testing.assert_allclose(result.time, stepper.time_step * np.arange(1, 11), rtol=1e-12)
    result = stepper.run(data, 10, lambda data: callback(data) is None)
    assert result.steps == stepper.last_run.steps == 1

    def fail(data):
        callback(data)
        raise KeyError

    with pytest.raises(KeyError):
        stepper.run(data, 10, fail, every=2)
    assert stepper.last_run.steps == 2


def test_a_callback_may_use_the_stepper_on_other_data():
    """Nothing is held while it is called; runs within runs take the same steps."""
    model = scenes.clutter(4, seed=1).compile()
    stepper, alone = Stepper(model), Stepper(model)
    a, b, c = (mujoco.MjData(model) for _ in range(3))
    stepper.run(a, 60, lambda _: stepper.run(b, 1))
    alone.run(c, 60)
    np.testing.assert_array_equal(full_state(model, a), full_state(model, c))
    np.testing.assert_array_equal(full_state(model, a), full_state(model, b))
    assert stepper.steps == 120


def test_no_steps(falling):
    stepper, data = falling
    before = full_state(stepper.model, data)
    result = stepper.run(data, 0)
    assert result.steps == len(result.time) == 0
    assert result.converged
    assert str(result) == "no steps"
    assert "no steps" in result._repr_html_()
    np.testing.assert_array_equal(full_state(stepper.model, data), before)


def test_the_warning_names_the_step():
    model = scenes.clutter(4, seed=1).compile()
    stepper = Stepper(model, settings=sapwood.SapSettings(max_iterations=0), friction="convex")
    with pytest.warns(RuntimeWarning, match="ended in iteration_limit") as record:
        result = stepper.run(mujoco.MjData(model), 100)
    first = np.flatnonzero(result.status)[0]
    start = result.time[first - 1] if first else 0.0
    error = result.momentum_error[first]
    assert f"step at time {start:.6g} s" in str(record[0].message)
    assert f"momentum error of {error:.2g} " in str(record[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stepper.run(mujoco.MjData(model), 100)


# ---- threads and signals ------------------------------------------------------------------------


def test_the_gil_is_released():
    """Another thread goes on while a run lasts."""
    model = scenes.clutter(20, seed=1).compile()
    stepper, data = Stepper(model, friction="convex"), mujoco.MjData(model)
    stop, counted = threading.Event(), []

    def count():
        while not stop.is_set():
            counted.append(time.perf_counter())
            time.sleep(1e-3)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    stepper.run(data, 2000)
    end = time.perf_counter()
    stop.set()
    thread.join()
    during = [t for t in counted if start < t < end]
    # a hundredth of what would fit is far more than the switches between calls give
    assert len(during) > 10 * (end - start)


class Alarm(Exception):
    """The exception of the handler of a signal."""


@pytest.mark.undisturbed
def test_signals_are_handled_between_steps():
    model = scenes.clutter(4, seed=1).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    same, kept = Stepper(model), mujoco.MjData(model)

    def handler(_number, _frame):
        raise Alarm

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Alarm):
            stepper.run(data, 10**6)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # whole steps were taken, and they are told
    taken = stepper.last_run.steps
    assert 0 < taken == stepper.steps < 10**6
    assert stepper.last_run.time[-1] == data.time
    same.run(kept, taken)
    np.testing.assert_array_equal(full_state(model, data), full_state(model, kept))


@pytest.mark.undisturbed
def test_ctrl_c_ends_a_run():
    ended = interrupted(
        """
        import mujoco, sapwood.mujoco, sapwood.studies.scenes
        model = sapwood.studies.scenes.clutter(4).compile()
        stepper, data = sapwood.mujoco.Stepper(model), mujoco.MjData(model)
        stepper.run(data, 100)
        """,
        "stepper.run(data, 10**6)",
        "assert 0 < stepper.last_run.steps == stepper.steps - 100",
    )
    assert ended == "interrupted\n"


# ---- arguments and results ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((-1,), ValueError, "steps = -1: must be >= 0"),
        ((1.5,), TypeError, "steps must be an integer, not float"),
        ((True,), TypeError, "steps must be an integer, not bool"),
        ((1, None, 0), ValueError, "every = 0: must be >= 1"),
        ((1, None, "1"), TypeError, "every must be an integer, not str"),
        ((1, 3), TypeError, "callback must be callable, not int"),
    ],
)
def test_wrong_arguments_are_refused(falling, arguments, error, message):
    stepper, data = falling
    with pytest.raises(error, match=message):
        stepper.run(data, *arguments)
    assert stepper.steps == 0


def test_an_exception_of_the_callback_keeps_the_steps(falling):
    stepper, data = falling

    def callback(_data):
        if stepper.last_run.steps == 6:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        stepper.run(data, 10, callback, every=3)
    assert stepper.last_run.steps == 6
    assert data.time == pytest.approx(6 * stepper.time_step)


def test_results_are_of_their_run(falling):
    stepper, data = falling
    assert stepper.last_run is None
    first = stepper.run(data, 5)
    time_of_first = first.time.copy()
    second = stepper.run(data, 3)
    assert stepper.last_run is second
    np.testing.assert_array_equal(first.time, time_of_first)
    assert isinstance(second, RunResult)
    assert second.records.dtype == _core.STEP_RECORD
    assert set(second.records.dtype.names) <= set(dir(second))
    assert copy.copy(stepper).last_run is None


def test_the_page_runs(capsys, tmp_path, monkeypatch):
    """The Python blocks of the page on the stepper, one after the other."""
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).resolve().parents[2] / "docs/how-to/stepper.md"
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 10
    names = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)
    printed = capsys.readouterr().out
    assert "500 steps to time 5.01 s: 500 converged" in printed
    assert "qvel[3] = nan: must be finite" in printed
    assert re.search(r"^10\.1\d* \[\[.* -0\.0981", printed, re.MULTILINE)
    # the harder the push the further the ball, from where the hand reaches it
    gone = names["result"].state[:, -1, 1]
    assert gone[-1] > gone[0]
    results = (page.parents[1] / "reference/run_results.md").read_text()
    columns = set(re.findall(r"`(\w+)`", results.split("| column |")[1].split("\n\n")[0]))
    assert set(_core.STEP_RECORD.names) <= columns


@pytest.mark.slow
@pytest.mark.undisturbed
def test_nothing_is_left_behind():
    path = Path(__file__).parents[1] / "isolated" / "mujoco_leaks.py"
    # one heap for all threads: how far each of several fills up is a matter of chance
    heap = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=300, env=heap
    )
    assert done.returncode == 0, done.stdout + done.stderr
