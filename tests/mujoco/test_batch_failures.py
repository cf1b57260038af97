"""Worlds of a batch fail alone; wrong arguments are named and change nothing."""

from __future__ import annotations

import copy
import re
import sys

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from batch_worlds import N, scatter
from mujoco_models import MIXED, mixed
from sapwood.mujoco import Batch, NotSupported, Rollout, SimulationError, Stepper

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

OTHER = mujoco.MjModel.from_xml_string("<mujoco/>")
# the dofs of the model without its controls, which data of this one have no room for
UNDRIVEN = mujoco.MjModel.from_xml_string(
    re.sub("<actuator>.*</actuator>", "", MIXED.format(cone="elliptic"), flags=re.DOTALL)
)
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
    (lambda b: b.set_state(b.state * 1j), TypeError, "state"),
    (lambda b: b.reset(state="x"), TypeError, "state"),
    (lambda b: b.reset([6]), ValueError, "got 6"),
    (lambda b: b.forward([6]), ValueError, "got 6"),
    (lambda b: b.rollout(1, ids=[6]), ValueError, "got 6"),
    (lambda b: b.rollout(1.5), TypeError, "nstep must be an integer"),
    (lambda b: b.rollout(1, control_spec=1.5), TypeError, "control_spec must be an integer"),
    (lambda b: b.rollout(1, 1j), TypeError, "control"),
    (lambda b: b.step_async([6]), ValueError, "got 6"),
    (lambda b: b.step_async(nstep=-1), ValueError, "nstep = -1"),
    (lambda b: b.step_async(stage=7), ValueError, "stage = 7"),
    (lambda b: b.set_const([6]), ValueError, "got 6"),
    (lambda b: b.get_model(6), IndexError, "got 6"),
    (lambda b: b.contacts_of(6), IndexError, "got 6"),
    (lambda b: b.get_data(0, mujoco.MjData(OTHER)), ValueError, "data"),
    (lambda b: b.get_data(0, mujoco.MjData(UNDRIVEN)), ValueError, "data belongs to another"),
    (lambda b: b.body("nope"), (KeyError, ValueError), "nope"),
    (lambda b: b.body(99), (KeyError, IndexError, ValueError), "99"),
    (lambda b: b.contact_reader([99]), (IndexError, ValueError), "99"),
    (lambda b: b.jac(0, np.zeros(3), ids=[6]), ValueError, "got 6"),
    (lambda b: b.ray(np.zeros(3), np.ones(3), ids=[6]), ValueError, "got 6"),
    (lambda b: b.jac(0, "x"), TypeError, "point"),
    (lambda b: b.bind("qpos", "complex64"), ValueError, "dtype = complex64"),
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
        ((model, 2, 257), {}, ValueError, "nthread = 257: must be from 1 to 256"),
        ((model, 2), {"on_error": "ignore"}, ValueError, "on_error = 'ignore'"),
        ((model, 2), {"persistent": True}, TypeError, "persistent"),
        (("robot.xml", 2), {}, TypeError, "model must be a mujoco.MjModel"),
        ((Stepper(model), 2), {"sigma": 1e-3}, TypeError, "sigma: a stepper has its options"),
        ((model, 2), {"scheme": "midpoint"}, NotSupported, "symplectic_euler"),
    ):
        with pytest.raises(error, match=message):
            Batch(*arguments, **keywords)


def test_threads_by_default_are_no_more_than_worlds_and_the_limit(monkeypatch):
    """A machine with more cores than the loop takes threads has batches by default."""
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    for name in ("mujoco.batch", "base.processors"):
        module = sys.modules[f"sapwood.{name}"]
        monkeypatch.setattr(module, "usable_processors", lambda: 300)
    assert Batch(model, 3).nthread == 3
    batch = Batch(model, 280)
    assert batch.nthread == Rollout(model).nthread == 256
    batch.step()
    assert (batch.time == model.opt.timestep).all()
    with pytest.raises(ValueError, match="nthread = 257: must be from 1 to 256"):
        Rollout(model, nthread=257)
