"""A robot that walks the waypoints, or stands, and what is measured of it."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.invdyn.robot import bias_force, mass_matrix
from sapwood.studies.walking.balance import balance
from sapwood.studies.walking.controllers import JOINTS, Instant, controller
from sapwood.studies.walking.gait import CYCLE, DUTY, Feet, Gait, Guide
from sapwood.studies.walking.legs import Legs
from sapwood.studies.walking.robot import LEGS, MASS, STANCE, crouched, robot
from sapwood.studies.walking.worlds import COMPLIANT, RigidWorld, StepperWorld, World

Array = NDArray[np.float64]

#: Time step of simulation and controllers, s.
DT = 1e-3
#: Friction coefficients by name. From about 1.2 on a foot that slides forward is wedged under the
#: base (Painleve's paradox), and rigid contact has no solution or several.
FRICTION = {"low": 0.1, "high": 1.0}
#: Range of "random" friction coefficients, which are drawn anew for each foot in each step.
RANDOM_FRICTION = (0.1, 1.5)
#: When a push begins and how long it lasts, s.
PUSH_AT, PUSH_TIME = 0.2, 0.05

STEP_DTYPE = np.dtype(
    [
        ("time", np.float64),
        ("position_error", np.float64),
        ("velocity_error", np.float64),
        ("torque", np.float64),
        ("torque_change", np.float64),
        ("predicted", np.float64),
        ("measured", np.float64),
        ("knee_torque", np.float64),
        ("x", np.float64),
        ("y", np.float64),
        ("tilt", np.float64),
        ("feet", np.int64),
        ("solved", np.bool_),
        ("fallen", np.bool_),
    ]
)

_STANDING = Feet(STANCE.copy(), np.zeros((4, 3)), np.zeros((4, 3)), np.ones(4, dtype=bool))


def _world(ground: str, friction: str) -> World:
    """The robot with its feet on the ground."""
    model = robot(FRICTION.get(friction, 1.0), DT, ground == "rough")
    data = crouched(model)
    data.qpos[7:] = Legs(model, data.qpos[7:].copy()).follow(_STANDING)[0]
    if ground in ("lcp", "qp"):
        # feet touch by a little more than the round-off of their places
        data.qpos[2] -= 1e-9
        return RigidWorld(model, data, ground)
    if ground == "compliant":
        data.qpos[2] -= MASS * 9.81 / (len(LEGS) * COMPLIANT.stiffness)
    return StepperWorld(model, data, COMPLIANT if ground == "compliant" else None)


def walk(
    name: str,
    ground: str,
    friction: str,
    seconds: float,
    stand: bool = False,
    duty: float = DUTY,
    cycle: float = CYCLE,
    balanced: bool = False,
    push: float = 0.0,
) -> NDArray[np.void]:
    """Walk the waypoints, or stand, until the time is over or the robot has fallen.

    Parameters
    ----------
    name
        Of `sapwood.studies.walking.controllers.CONTROLLERS`.
    ground
        "rigid", "rough" or "compliant", by the stepper; "lcp" or "qp", flat and simulated by that
        rigid model.
    friction
        "low", "high" or "random".
    seconds
        Time to simulate, s.
    stand
        Whether to stand in place of walking.
    duty
        Share of a cycle that a foot stands.
    cycle
        Duration of a cycle, s.
    balanced
        Whether virtual forces of the feet keep the base level
        (`sapwood.studies.walking.balance`).
    push
        Force on the base to the left, N, for `PUSH_TIME` from `PUSH_AT` on.

    Returns
    -------
    ndarray of `STEP_DTYPE`, shape (steps,)
        Of each step: time at its end, s; means over the joints of the absolute errors of position
        (rad) and velocity (rad/s), of the absolute torque (N m) and of its absolute change since
        the last step over the time step (N m/s); sum of the normal forces as predicted (NaN by
        controllers that do not) and as measured, N; torque of the left front knee, N m; place of
        the base, m; angle by which it is not level, rad; feet that the controller is told of;
        whether the controller found what it looks for, and whether the robot has
        fallen.
    """
    world = _world(ground, friction)
    model, data = world.model, world.data
    rng, base = np.random.default_rng(1), model.body("base").id
    guide, gait, legs = Guide(), Gait(DT, duty, cycle), Legs(model, data.qpos[7:].copy())
    horizon = COMPLIANT.dissipation_time if ground == "compliant" else DT
    control, last = controller(name, DT, horizon or DT), None
    rows = np.zeros(round(seconds / DT), STEP_DTYPE)
    for taken, row in enumerate(rows):
        if friction == "random":
            model.pair_friction[:4, :2] = rng.uniform(*RANDOM_FRICTION, 4)[:, None]
        touching = world.look()
        R = data.xmat[base].reshape(3, 3)
        heading = float(np.arctan2(R[1, 0], R[0, 0]))
        command, feet = np.zeros(2), _STANDING
        if not stand:
            command = guide.command(data.time, data.qpos[0], data.qpos[1], heading)
            feet = gait.advance(command)
        q, v, a = legs.follow(feet)
        stands = touching.foot >= 0
        stands[stands] = feet.stands[touching.foot[stands]]
        row["position_error"] = np.abs(q - data.qpos[7:]).mean()
        row["velocity_error"] = np.abs(v - data.qvel[JOINTS]).mean()
        data.xfrc_applied[base, 1] = push * (PUSH_AT <= data.time < PUSH_AT + PUSH_TIME)
        ahead = command[0] * np.array([np.cos(heading), np.sin(heading)])
        found = control.torques(
            Instant(
                mass_matrix(model, data), bias_force(model, data, JOINTS), data.qvel.copy(),
                data.qpos[7:].copy(), touching.chosen(stands), q, v, a,
                np.array([*ahead, 0.0, 0.0, 0.0, command[1]]),
            )
        )  # fmt: skip
        tau = found.tau
        if balanced:
            tau = tau + balance(data, touching.chosen(stands))
        J, forces = world.act(tau)
        control.measure(J, forces)
        row["time"] = data.time
        row["torque"] = np.abs(tau).mean()
        row["torque_change"] = 0.0 if last is None else np.abs(tau - last).mean() / DT
        row["predicted"] = np.nan if found.normal is None else found.normal.sum()
        row["measured"] = forces[:, 2].sum()
        row["knee_torque"] = tau[2]
        row["x"], row["y"] = data.qpos[:2]
        row["tilt"], row["feet"] = np.arccos(np.clip(R[2, 2], -1.0, 1.0)), stands.sum()
        row["solved"] = found.solved
        row["fallen"] = _fallen(data)
        last = tau
        if row["fallen"]:
            return rows[: taken + 1]
    return rows


def _fallen(data: mujoco.MjData) -> bool:
    """Whether the robot lies, is upside down, or has jumped off."""
    x, y = data.qpos[4:6]
    upright = 1.0 - 2.0 * (x * x + y * y) > 0.5
    return not (upright and 0.05 < data.qpos[2] < 0.5)
