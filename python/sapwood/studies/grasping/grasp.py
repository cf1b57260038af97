"""The arm swings with the box in its hand: tracking, forces and torques by every controller.

The plan of the arm, its gains and those of its fingers are the published ones: all seven joints
swing by 0.1 rad at 10 rad/s; the fingers are to be at rest, a little further closed than the box
lets them. Torques are those of inverse dynamics for the planned accelerations and those of the
feedback. Simulated by `sapwood.mujoco.Stepper`, near-rigid and with Coulomb's friction.
"""

from __future__ import annotations

import math
import warnings

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.invdyn import Pid
from sapwood.invdyn.robot import bias_force, mass_matrix
from sapwood.mujoco import StepError, Stepper
from sapwood.mujoco.torques import contact_jacobians
from sapwood.studies.grasping.controllers import Instant, feedforward
from sapwood.studies.grasping.scene import N_ARM, N_FINGERS, N_JOINTS, arm, displacement, gripping

Array = NDArray[np.float64]

#: Time step of simulation and controllers, s; steps that a row sums up.
DT, STEPS_PER_ROW = 1e-3, 10
#: Feedback of torques, N m/rad and N m s/rad.
GAINS = (10.0, 0.1)
#: Angle that the fingers are to have, rad.
CLOSED = 0.775
#: Mean error of the arm's joints at which a run is given up, rad.
LOST = 1.0

ROWS = np.dtype(
    [
        ("time", np.float64),
        ("position_error", np.float64),
        ("velocity_error", np.float64),
        ("torque", np.float64),
        ("torque_change", np.float64),
        ("normal_force", np.float64),
        ("predicted", np.float64),
        ("slack", np.float64),
        ("displacement", np.float64),
        ("touching", np.float64),
        ("solved", np.float64),
        ("friction_limits", np.float64),
    ]
)

_SWING, _RATE = 0.1, 10.0
# contacts that are as near as this are touched, m
_TOUCH = 1e-4


def plan(time: float) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations that the joints are to have.

    Parameters
    ----------
    time
        Time, s.

    Returns
    -------
    q, v, a : ndarray (11,)
        rad, rad/s, rad/s^2.
    """
    phase = _RATE * time
    at_rest = np.zeros(N_FINGERS)
    q = np.full(N_ARM, math.pi / 2 + _SWING * (math.cos(phase) - 1.0))
    v = np.full(N_ARM, -_SWING * _RATE * math.sin(phase))
    a = np.full(N_ARM, -_SWING * _RATE**2 * math.cos(phase))
    return np.r_[q, at_rest + CLOSED], np.r_[v, at_rest], np.r_[a, at_rest]


def simulate(controller: str, mu: float, fingers: str, seconds: float) -> NDArray[np.void]:
    """Swing with the box in the hand until the time is over or the arm is lost.

    Parameters
    ----------
    controller
        Of `sapwood.studies.grasping.controllers.CONTROLLERS`.
    mu
        Friction coefficient, which the controllers know.
    fingers
        "dynamics": fingers have the torques of inverse dynamics, too. "feedback": those of the
        feedback alone.
    seconds
        Time to simulate, s.

    Returns
    -------
    ndarray of `ROWS`
        Of each ten steps: time at their end, s; means over the steps and over the joints of the arm
        of the absolute errors of position (rad) and velocity (rad/s), over all joints of the
        absolute torque (N m) and of its absolute change since the step before over the time step
        (N m/s); mean sum of the normal forces as measured and as predicted, N (NaN by controllers
        that do not); largest slack of an acceleration, rad/s^2; where the box is to the hand at the
        end, m; shares of the steps in which it was touched, in which inverse dynamics was solved,
        and in which the simulation did not find Coulomb's friction. There are rows until the arm is
        lost: its mean error is above `LOST`, or a step cannot be taken.
    """
    stepper = Stepper(arm(mu, DT), friction="coulomb")
    model, data = stepper.model, gripping(stepper.model)
    feedback, ahead_of = Pid(*GAINS), feedforward(controller, DT)
    last: Array | None = None
    rows = np.zeros(round(seconds / DT / STEPS_PER_ROW), ROWS)
    for done, row in enumerate(rows):
        for _ in range(STEPS_PER_ROW):
            stepper.step1(data)
            q, v, a = plan(data.time)
            instant = _look(model, data)
            ahead = ahead_of.torques(instant, a)
            back = feedback.step(data.qpos[:N_JOINTS], data.qvel[:N_JOINTS], q, v)
            tau = ahead.tau + back
            if fingers == "feedback":
                tau[N_ARM:] = back[N_ARM:]
            row["position_error"] += np.abs(q - data.qpos[:N_JOINTS])[:N_ARM].mean()
            row["velocity_error"] += np.abs(v - data.qvel[:N_JOINTS])[:N_ARM].mean()
            data.ctrl[:] = tau
            try:
                with warnings.catch_warnings():
                    # steps without a solution of Coulomb's law are counted below
                    warnings.simplefilter("ignore", RuntimeWarning)
                    stepper.step2(data)
            except StepError:
                return rows[:done]
            found = stepper.contacts
            listed = found.index >= 0
            ahead_of.measure(_jacobians(model, data)[found.index[listed]], found.force[listed])
            row["torque"] += np.abs(tau).mean()
            row["torque_change"] += 0.0 if last is None else np.abs(tau - last).mean() / DT
            row["normal_force"] += found.force[:, 2].sum()
            row["predicted"] += ahead.normal
            row["slack"] = max(row["slack"], ahead.slack)
            row["touching"] += found.force[:, 2].any()
            row["solved"] += ahead.solved
            last = tau
        for name in ROWS.names or ():
            if name != "slack":
                row[name] /= STEPS_PER_ROW
        row["time"] = data.time
        row["displacement"] = displacement(data)
        row["friction_limits"] = stepper.friction_limit_steps
        if row["position_error"] > LOST:
            return rows[: done + 1]
    return rows


def _look(model: mujoco.MjModel, data: mujoco.MjData) -> Instant:
    """The input of a controller."""
    J_n, J_t, ids = contact_jacobians(model, data)
    near = data.contact.dist <= _TOUCH
    return Instant(
        mass_matrix(model, data), bias_force(model, data, np.arange(N_JOINTS)), data.qvel.copy(),
        J_n[near], J_t[near], data.contact.friction[near, 0], ids[near],
    )  # fmt: skip


def _jacobians(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """The Jacobians (n, 3, nv) of the listed contacts, at the start of the step."""
    J_n, J_t, _ = contact_jacobians(model, data)
    return np.concatenate([J_t, J_n[:, None]], axis=1)
