"""Slip control: the stepper beside rigid bodies by hand, and both beside Drake's run."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco")

from benchmarks.slip_recorded import recorded
from sapwood.studies.slip_control.run import simulate
from sapwood.studies.slip_control.scene import FIELDS, HANDLE, PAD, grip_force
from slip_arrays import DT, Spatula


def by_hand(pad, handle, seconds, period=6.0):
    """Rows (left, right, x, y, z, pitch) and contacts of each step."""
    spatula, rows, contacts = Spatula(pad, handle), [], []
    for step in range(round(seconds / DT)):
        spatula.step(grip_force(step * DT, period))
        rows.append([*spatula.q, *spatula.x, spatula.pitch])
        contacts.append(spatula.contacts)
    return np.array(rows), np.array(contacts)


def columns(rows):
    return np.column_stack([rows[name] for name in ("left", "right", "x", "y", "z", "pitch")])


def test_grip_force():
    forces = np.array([grip_force(step * DT) for step in range(2400)])
    assert set(forces) == {1.0, 16.0}
    assert np.array_equal(np.flatnonzero(np.diff(forces)), [899, 1199, 2099])


def test_stepper_and_rigid_bodies_by_hand():
    """A secure and a loose grip: positions, turns, and the same number of contacts in each step."""
    pad, handle = FIELDS["left pad"].ellipsoid(PAD), FIELDS["handle"].cylinder(*HANDLE)
    rows = simulate(0.8, 0.8)
    expected, contacts = by_hand(pad, handle, 0.8, 0.8)
    found = columns(rows)
    assert np.abs(found[:, :5] - expected[:, :5]).max() < 2e-6
    assert np.abs(found[:, 5] - expected[:, 5]).max() < 2e-3
    counts = np.column_stack([rows["left_contacts"], rows["right_contacts"]])
    assert np.mean(np.all(counts == contacts, axis=1)) >= 0.97
    assert counts[-1].sum() < 0.8 * counts.sum(axis=1).max()


# ---- Drake's run ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drake():
    """Columns of Drake's run, without the start, and its meshes."""
    folder = os.environ.get("SAPWOOD_DATA")
    if folder is None:
        pytest.skip("SAPWOOD_DATA names no folder with hydroelastic/slip_control_state.npz")
    run, fields = recorded(Path(folder) / "hydroelastic")
    contacts = np.column_stack([run["left_contacts"], run["right_contacts"]])
    return columns(run), contacts, fields["left pad"], fields["handle"]


def agree(found, counts, drake, most_pitch, most_position, most_counts):
    moved, contacts = (columns[: len(found)] for columns in drake[:2])
    assert np.abs(found[:, :5] - moved[:, :5]).max() <= most_position
    assert np.abs(found[:, 5] - moved[:, 5]).max() <= most_pitch
    assert np.mean(np.all(counts == contacts, axis=1)) >= most_counts


def test_rigid_bodies_by_hand_move_as_in_drake(drake):
    """On Drake's meshes: what is left is the tolerance of Drake's solver."""
    found, counts = by_hand(drake[2], drake[3], 1.0)
    agree(found, counts, drake, 1e-6, 2e-9, 1.0)


@pytest.mark.slow
def test_the_stepper_moves_as_drake(drake):
    """30 s on Drake's meshes."""
    fields = {"left pad": drake[2], "right pad": drake[2], "handle": drake[3]}
    rows = simulate(30.0, fields=fields)
    counts = np.column_stack([rows["left_contacts"], rows["right_contacts"]])
    agree(columns(rows), counts, drake, 0.01, 1e-5, 0.99)


@pytest.mark.slow
def test_meshes_of_our_own_turn_as_far(drake):
    """30 s; counts are those of other meshes."""
    rows = simulate(30.0)
    agree(columns(rows), drake[1], drake, 0.5, 1e-3, 0.0)
