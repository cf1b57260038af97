"""Runs of the scene: what is written of each step, and the patches of some."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco import Stepper
from sapwood.studies.slip_control.scene import (
    PERIOD,
    SIDES,
    TIME_STEP,
    Fields,
    apply_grip,
    at_start,
    grip_force,
    pitch,
    slip_model,
    slip_stepper,
)

ROWS = np.dtype(
    [
        ("time", np.float64),
        ("force", np.float64),
        ("pitch", np.float64),
        ("left_contacts", np.int64),
        ("right_contacts", np.int64),
        ("left", np.float64),
        ("right", np.float64),
        ("x", np.float64),
        ("y", np.float64),
        ("z", np.float64),
        ("iterations", np.int64),
    ]
)

PATCH_ROWS = np.dtype(
    [
        ("force", np.float64),
        ("pitch", np.float64),
        ("side", "U5"),
        ("face", np.int64),
        ("x", np.float64),
        ("y", np.float64),
        ("z", np.float64),
        ("pressure", np.float64),
        ("slip", np.float64),
    ]
)


def simulate(
    seconds: float, period: float = PERIOD, fields: Fields | None = None
) -> NDArray[np.void]:
    """Run the scene.

    Parameters
    ----------
    seconds
        Time to simulate, s.
    period
        Of the grip force, s.
    fields
        Meshes for the geoms, by name; by default those of the package.

    Returns
    -------
    ndarray of `ROWS`, shape (steps,)
        Of each step: time at its end (s), grip force in it (N), pitch after it (degrees), contacts
        of either pad in it, positions of the fingers and the spatula after it (m), and iterations
        of the solver.
    """
    model = slip_model()
    data, stepper = at_start(model), slip_stepper(model, fields)
    rows = np.zeros(round(seconds / TIME_STEP), ROWS)
    for row in rows:
        row["force"] = grip_force(data.time, period)
        apply_grip(data, row["force"])
        stepper.step(data)
        assert stepper.solution is not None
        row["iterations"] = stepper.solution.iterations
        for side in SIDES:
            row[f"{side}_contacts"] = 0
        for patch in stepper.patches:
            row[f"{patch.names[0].split()[0]}_contacts"] = len(patch.contacts)
        row["time"], row["pitch"] = data.time, pitch(data)
        row["left"], row["right"] = data.qpos[:2]
        row["x"], row["y"], row["z"] = data.qpos[2:5]
    return rows


CONFIGURATION_ROWS = np.dtype([("qpos", np.float64)])


def patches(seconds: float, period: float = PERIOD) -> NDArray[np.void]:
    """The patches of both pads in the last step of a run.

    Parameters
    ----------
    seconds
        Time to simulate, s.
    period
        Of the grip force, s.

    Returns
    -------
    ndarray of `PATCH_ROWS`, shape (corners,)
        Of each corner of each face of each pad: its place in the world (m), pressure there (Pa) and
        slip speed of the face (m/s), beside grip force (N) and pitch (degrees) of the step.
    """
    data, stepper, force = _advanced(seconds, period)
    found = []
    for patch in stepper.patches:
        surface = patch.surface
        rows = np.zeros(len(surface.vertices), PATCH_ROWS)
        rows["force"], rows["pitch"] = force, pitch(data)
        rows["side"] = patch.names[0].split()[0]
        face = np.repeat(np.arange(len(surface)), np.diff(surface.face_starts))
        rows["face"], rows["pressure"] = face, surface.vertex_pressures
        for i, name in enumerate("xyz"):
            rows[name] = surface.vertices[:, i]
        rows["slip"] = patch.slip_speed[face]
        found.append(rows)
    return np.concatenate(found)


def configuration(seconds: float, period: float = PERIOD) -> NDArray[np.void]:
    """Fingers and spatula at the end of a run.

    Parameters
    ----------
    seconds, period
        As for `patches`.

    Returns
    -------
    ndarray of `CONFIGURATION_ROWS`, shape (nq,)
        The configuration.
    """
    data, _, _ = _advanced(seconds, period)
    return np.array([(value,) for value in data.qpos.tolist()], CONFIGURATION_ROWS)


def _advanced(seconds: float, period: float) -> tuple[mujoco.MjData, Stepper, float]:
    """State, stepper and grip force of the last step of a run."""
    model = slip_model()
    data, stepper, force = at_start(model), slip_stepper(model), 0.0
    for _ in range(round(seconds / TIME_STEP)):
        force = grip_force(data.time, period)
        apply_grip(data, force)
        stepper.step(data)
    return data, stepper, force
