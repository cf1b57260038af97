"""MuJoCo's own tests of batches and rollouts, run on this package: same names, same meanings.

The installed wheel has these tests. Here they see a module in place of ``mujoco.batch`` whose class
is :class:`sapwood.mujoco.Batch`, and a module in place of ``mujoco`` whose ``mj_step`` and
``mj_forward`` are steps of a :class:`sapwood.mujoco.Stepper`.
"""

from __future__ import annotations

import importlib
import importlib.util
import types
import unittest
import weakref

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("absl.testing", reason="MuJoCo's tests are written with absl-py")

from sapwood.mujoco import Batch, SimulationError, Stepper, rollout
from sapwood.mujoco.batches import ids
from sapwood.mujoco.batches.fields import data_fields
from sapwood.mujoco.batches.model_fields import fixed_fields, model_fields

WHOLE = int(mujoco.mjtState.mjSTATE_INTEGRATION)

# tests of the wheel that may fail here, each with the reason
APART = {
    "test_sleep_needs_persistent": "models with sleep are not supported",
    "test_python_callbacks_rejected": "callbacks in Python are called here",
    "test_private_binding_does_not_convert": "internals of MuJoCo's class",
    "test_rollout_checks_buffers": "internals of MuJoCo's class",
    "test_integer_arguments_checked": "ends with internals of MuJoCo's class",
    "test_error_messages": "ends with internals of MuJoCo's class",
    "test_errors_name_every_simulation": "provokes failures by another layout of constraints",
    "test_named_contype_and_pre_expanded_type_fields": "expands the layout of constraints",
    "test_warning_counters_and_rollout_stop": "a state that is not finite fails its world",
    "test_caller_models": "exact types of errors",
    # The next ones are tests of rollouts.
    "test_bad_sizes": "exact texts",
    "test_chunk_size_validation": "exact types of errors",
    "test_data_sizes": "threads have data of their own, of which there is no list",
    "test_detect_divergence": "the rest of a failed world is NaN",
    "test_infer_nbatch_warmstart": "steps have no warm start",
    "test_intercept_mj_errors": "options of MuJoCo's solver have no meaning here",
    "test_invalid": "exact types of errors",
    "test_nstep_zero_and_negative": "exact texts",
    "test_scalar_float_inputs": "ends with a warm start",
    "test_warmstart": "steps have no warm start",
    "test_threadpool_rejected": "data of the caller are not used",
}


# ---- modules that stand in ----------------------------------------------------------------------

_steppers: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def stepper_of(model):
    if model not in _steppers:
        _steppers[model] = Stepper(model)
    return _steppers[model]


def step(model, data, nstep=1):
    for _ in range(nstep):
        stepper_of(model).step(data)


def forward(model, data):
    """A step without integration."""
    state = np.empty(mujoco.mj_stateSize(model, WHOLE))
    mujoco.mj_getState(model, data, state, WHOLE)
    stepper_of(model).step(data)
    mujoco.mj_setState(model, data, state, WHOLE)


class OurBatch(Batch):
    """The class with MuJoCo's constructor."""

    persistent = False

    def __init__(self, model, nsim, nthread=0, persistent=False):
        if persistent:
            raise unittest.SkipTest("this package keeps no MjData per simulation")
        super().__init__(model, nsim, nthread)

    @property
    def _expanded(self):
        return self._worlds.expanded


def our_rollout(model, _data, initial_state, control=None, *, nthread=None, **arguments):
    """Rollouts with MuJoCo's arguments."""
    arguments.pop("skip_checks", None)
    arguments.pop("persistent_pool", None)
    if isinstance(model, (list, tuple)):
        if len(set(map(id, model))) > 1:
            raise unittest.SkipTest("a rollout has one model; a batch takes several")
        model = model[0]
    result = rollout(stepper_of(model), initial_state, control, nthread=nthread, **arguments)
    return result.state, result.sensordata


class OurRollout:
    """A pool with MuJoCo's methods."""

    def __init__(self, *, nthread=None):
        self._nthread = nthread or 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._nthread = None

    def rollout(self, model, data, initial_state, control=None, **arguments):
        if self._nthread is None:
            raise RuntimeError("rollout was called after close")
        return our_rollout(model, data, initial_state, control, nthread=self._nthread, **arguments)


def stand_in(name):
    """The module of the wheel's tests, with this package in place of MuJoCo's."""
    found = importlib.util.find_spec(f"mujoco.{name}_test")
    if found is None:
        pytest.skip(f"this version of MuJoCo has no {name}_test.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    engine = types.ModuleType("mujoco")
    engine.__dict__.update(mujoco.__dict__)
    engine.mj_step, engine.mj_forward = step, forward
    module.mujoco = engine
    return module


def run_one(case, name):
    """Run one test; the texts of its failures."""
    result = unittest.TestResult()
    case(name).run(result)
    return [text for _, text in (*result.failures, *result.errors)], bool(result.skipped)


# ---- tests --------------------------------------------------------------------------------------


def check(case):
    """Run all tests: those that fail must be apart. Returns the number of those that pass."""
    names = unittest.TestLoader().getTestCaseNames(case)
    outcome = {name: run_one(case, name) for name in names}
    failed = {name for name, (failures, _) in outcome.items() if failures}
    # parameters of a test follow its name as digits
    unexpected = {name for name in failed if name.rstrip("0123456789") not in APART}
    assert not unexpected, "\n".join(text for name in unexpected for text in outcome[name][0])
    return sum(not failures and not skipped for failures, skipped in outcome.values())


@pytest.mark.slow
def test_mujocos_tests_of_batches_pass():
    module = stand_in("batch")
    module.rollout = types.SimpleNamespace(rollout=our_rollout)
    module.batch = types.SimpleNamespace(
        Batch=OurBatch,
        SimulationError=SimulationError,
        DATA_FIELDS=data_fields(),
        MODEL_FIELDS={name for name in model_fields() if not name.endswith("forcelimited")}
        - {"jnt_actfrclimited", "tendon_actfrclimited"},
        _ids=ids.world_ids,
        _structural=lambda field, _part: field in fixed_fields(),
    )
    assert check(module.BatchTest) >= 30


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*worlds failed:RuntimeWarning")
def test_mujocos_tests_of_rollouts_pass():
    module = stand_in("rollout")
    module.rollout = types.SimpleNamespace(rollout=our_rollout, Rollout=OurRollout)
    assert check(module.MuJoCoRolloutTest) >= 40
