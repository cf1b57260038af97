"""Steps by the theta-method that cannot be taken leave no trace."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import boxes_on_floor, is_defined, mixed
from sapwood.mujoco import StepError, Stepper

# the default of another name: its steps are taken in Python
SCHEMES = ["midpoint", "implicit_euler", sapwood.stepping.Scheme("in Python", 0.0, 0.0, 1.0)]


def everything(data):
    """All arrays of some data, contacts and what lies in the arena too."""
    found = {}
    for owner, prefix in ((data, ""), (data.contact, "contact.")):
        for name in dir(owner):
            value = None if name.startswith("_") else getattr(owner, name)
            if isinstance(value, np.ndarray | float | int) and is_defined(name):
                found[prefix + name] = np.array(value)
    return found


class BreaksDown:
    """Stands for a solver that leaves no velocity to go on with."""

    def solve(self, problem):
        solution = sapwood.solve(problem)
        object.__setattr__(solution, "status", sapwood.Status.breakdown)
        return solution


@pytest.fixture
def press_ctrl_c():
    """Let the passive forces raise after so many calls."""

    def press(after):
        left = iter(range(after))

        def passive(_model, _data):
            if next(left, None) is None:
                raise KeyboardInterrupt

        mujoco.set_mjcb_passive(passive)

    yield press
    mujoco.set_mjcb_passive(None)


def start(scheme):
    """A stepper, and data with contacts at another velocity than after its last step."""
    stepper = Stepper(mixed(), scheme=scheme)
    data = mujoco.MjData(stepper.model)
    data.qvel[:] = np.linspace(0.5, -0.5, data.qvel.size)
    stepper.run(data, 60)
    assert data.ncon > 3
    return stepper, data


def assert_as_before(data, before):
    after = everything(data)
    assert after.keys() == before.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, name)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_a_failed_step_leaves_all_as_after_the_last_one(scheme, monkeypatch):
    stepper, data = start(scheme)
    monkeypatch.setattr(stepper._steps, "_solver", BreaksDown())
    before = everything(data)
    for call in (stepper.step, lambda data: stepper.run(data, 3)):
        with pytest.raises(StepError, match="ended in breakdown"):
            call(data)
        assert_as_before(data, before)
    # the first half of the step is done
    stepper.step1(data)
    before = everything(data)
    with pytest.raises(StepError, match="ended in breakdown"):
        stepper.step2(data)
    assert_as_before(data, before)
    assert stepper.steps == 60


@pytest.mark.parametrize("after", range(5))
def test_ctrl_c_within_a_step_leaves_all_as_before_it(after, press_ctrl_c):
    """In the first half, in the free motion, or at the state of the contacts."""
    stepper, data = start("midpoint")
    before = everything(data)
    press_ctrl_c(after)
    with pytest.raises(KeyboardInterrupt):
        stepper.step(data)
    assert_as_before(data, before)
    mujoco.set_mjcb_passive(None)
    stepper.step(data)
    assert stepper.steps == 61


def test_full_memory_leaves_all_as_before(tmp_path, monkeypatch):
    """MuJoCo gives up in the middle of a stage."""
    monkeypatch.chdir(tmp_path)  # it leaves a log file
    model = boxes_on_floor("64K")
    stepper, data = Stepper(model, scheme="midpoint"), mujoco.MjData(model)
    for _ in range(50):
        with pytest.raises(StepError, match="too small"):
            stepper.step(data)
        assert data.pstack == 0
    assert data.ncon == 0
    data.qpos[2::7] = np.arange(10) + 1.0
    assert stepper.run(data, 3).steps == 3


def test_records_are_written_in_full():
    """No entry is left as it was."""
    stepper, data = start("midpoint")
    records = np.full(4, 255, np.uint8).repeat(sapwood._core.STEP_RECORD.itemsize)
    records = records.view(sapwood._core.STEP_RECORD)
    taken, _, failure = stepper._steps.run(data, 4, records, signals=False)
    assert (taken, failure) == (4, None)
    for name in records.dtype.names:
        assert np.all(records[name] >= 0), name
        assert np.all(records[name] < 1e6), name
    assert not records["deep_contacts"].any()
    assert records["contacts"][-1] == stepper.n_contacts
    assert np.all(records["seconds"] > records["solver_seconds"])
