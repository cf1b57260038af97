"""Constraints other than contact, one scene each, in MuJoCo models.

`loop`
    A four-bar linkage, closed by a connect constraint, swings under gravity. A row of a bilateral
    constraint in the near-rigid regime lets its error go as

        g+ = g tau_d/(dt + tau_d) - dt^2 R f + dt^2/2 (dJ/dt) v

    to second order in dt, with its force f; with tau_d = dt errors stay below twice the
    largest of the other two terms. This is the bound that is recorded.
`limit`
    A pendulum falls onto the limit of its joint and rests there, R dt (dt + tau_d) f behind it.
`servo`
    A position actuator of 1e7 N m/rad follows a ramp, presses against a wall that is in its way,
    and saturates.
`friction`
    A motor pulls a slider with dry friction f by a growing force u t. It holds until t_0 = f/u, and
    slides with v = u (t - t_0)^2/(2 m) from there on.
"""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco import Stepper
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import constraints_figure, read_steps, select

#: Position, velocity and force of what is constrained, and what is expected: of the loop the size
#: of its error (m), of the joints an angle (rad), of the slider a length (m).
ROWS = np.dtype(
    [
        ("time", np.float64),
        ("position", np.float64),
        ("velocity", np.float64),
        ("force", np.float64),
        ("expected", np.float64),
    ]
)

#: Stiffness and limit of the servo, N m/rad and N m.
KP, EFFORT = 1e7, 40.0

#: Mass of the slider (kg), its dry friction (N) and the rate of the pulling force (N/s).
MASS, FRICTION, PULL = 2.0, 5.0, 5.0

_Rows = NDArray[np.void]

_LOOP = """<mujoco><option timestep="{dt}"><flag contact="disable"/></option><worldbody>
  <body name="crank"><joint name="crank" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 .4" size=".02"/>
    <body name="rod" pos="0 0 .4"><joint name="rod" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .5 0 .1" size=".02"/>
      <body name="rocker" pos=".5 0 .1"><joint name="rocker" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.5" size=".02"/>
        <site name="foot" pos="0 0 -.5"/></body></body></body>
  <site name="ground" pos=".5 0 0"/></worldbody>
  <equality><connect name="close" site1="foot" site2="ground"/></equality></mujoco>"""

_LIMIT = """<mujoco><option timestep="{dt}"/><worldbody><body><joint name="pivot" axis="0 1 0"
  range="-180 60" limited="true"/><geom type="capsule" fromto="0 0 0 .5 0 0" size=".03"/></body>
  </worldbody></mujoco>"""

_SERVO = """<mujoco><option timestep="{dt}"/><worldbody>
  <body><joint name="pivot" axis="0 -1 0"/>
    <geom type="capsule" fromto="0 0 0 .5 0 0" size=".03"/></body>
  <geom type="box" size=".05 .2 .05" pos=".35 0 .36"/></worldbody>
  <actuator><position joint="pivot" kp="{kp}" forcerange="-{effort} {effort}"/></actuator>
  </mujoco>"""

_FRICTION = """<mujoco><option timestep="{dt}"/><worldbody><body><joint name="rail" type="slide"
  axis="1 0 0" frictionloss="{friction}"/><geom type="box" size=".1 .1 .1" mass="{mass}"/></body>
  </worldbody><actuator><motor joint="rail"/></actuator></mujoco>"""


def model_of(scene: str, dt: float) -> mujoco.MjModel:
    """The model of a scene.

    Parameters
    ----------
    scene
        Its name.
    dt
        Time step, s.

    Returns
    -------
    mujoco.MjModel
        Compiled.
    """
    xml = {"loop": _LOOP, "limit": _LIMIT, "servo": _SERVO, "friction": _FRICTION}[scene]
    return mujoco.MjModel.from_xml_string(
        xml.format(dt=dt, kp=KP, effort=EFFORT, friction=FRICTION, mass=MASS)
    )


def loop_terms(stepper: Stepper, data: mujoco.MjData) -> float:
    """|dt^2 R f| + |dt^2/2 (dJ/dt) v| of the last step of the loop, m.

    Parameters
    ----------
    stepper
        That took the step.
    data
        As the step left them, with the kinematics of its end.

    Returns
    -------
    float
        The norms of what the step adds to the error.
    """
    dt, model, close = stepper.time_step, stepper.model, stepper.constraints[0]
    # R gamma = v_hat - v_c, v_hat = -g/(dt + tau_d)
    slip = dt * np.linalg.norm(close.position / (2 * dt) + close.velocity)
    rate = np.empty((3, model.nv))
    mujoco.mj_comVel(model, data)
    point, body = data.site("foot").xpos, model.body("rocker").id
    mujoco.mj_jacDot(model, data, rate, None, point, body)
    return float(slip + dt**2 / 2 * np.linalg.norm(rate @ data.qvel))


# ---- one row per step ---------------------------------------------------------------------------


def _loop_row(stepper: Stepper, data: mujoco.MjData, _: float) -> tuple[float, ...]:
    # only what the next step computes again
    mujoco.mj_kinematics(stepper.model, data)
    mujoco.mj_comPos(stepper.model, data)
    error = np.linalg.norm(data.site("foot").xpos - data.site("ground").xpos)
    force = np.linalg.norm(stepper.constraints[0].force)
    return float(error), float(data.qvel[0]), float(force), 2 * loop_terms(stepper, data)


def _limit_row(stepper: Stepper, data: mujoco.MjData, R: float) -> tuple[float, ...]:
    phi = stepper.model.jnt_range[0, 1] - data.qpos[0]
    force, dt = float(stepper.constraints[0].force[1]), stepper.time_step
    return float(phi), float(data.qvel[0]), force, -R * dt * 2 * dt * force


def _servo_row(_: Stepper, data: mujoco.MjData, __: float) -> tuple[float, ...]:
    return *_joint(data), float(data.actuator_force[0]), float(data.ctrl[0])


def _friction_row(stepper: Stepper, data: mujoco.MjData, _: float) -> tuple[float, ...]:
    sliding = max(data.time - FRICTION / PULL, 0.0)
    velocity = PULL * sliding**2 / (2 * MASS)
    return *_joint(data), float(stepper.constraints[0].force[0]), velocity


def _joint(data: mujoco.MjData) -> tuple[float, float]:
    return float(data.qpos[0]), float(data.qvel[0])


def _controls(scene: str) -> Callable[[float], float] | None:
    """The control over time, its value at the middle of a step from `time` on."""
    if scene == "servo":
        return lambda time: min(time, 1.2)
    return (lambda time: PULL * time) if scene == "friction" else None


def simulate(scene: str, dt: float, duration: float) -> _Rows:
    """Simulate one of the scenes.

    Parameters
    ----------
    scene
        ``loop``, ``limit``, ``servo`` or ``friction``.
    dt, duration
        Time step and simulated time, s.

    Returns
    -------
    ndarray of `ROWS`
        One per step, at its end.
    """
    model = model_of(scene, dt)
    stepper, data = Stepper(model), mujoco.MjData(model)
    row = {
        "loop": _loop_row,
        "limit": _limit_row,
        "servo": _servo_row,
        "friction": _friction_row,
    }[scene]
    control = _controls(scene)
    if scene == "loop":
        # the rod moves along, and the rocker turns with the crank
        data.qvel[:] = 3.0, -3.0, 3.0
    R = float(stepper.problem(data).constraints[0].R[0])
    rows = np.zeros(round(duration / dt), ROWS)
    for i in range(len(rows)):
        if control is not None:
            # forces are the means over a step, set points those at its end
            data.ctrl[0] = control(data.time + (dt if scene == "servo" else dt / 2))
        stepper.step(data)
        rows[i] = (data.time, *row(stepper, data, R))
    return rows


def figure(quick: bool) -> Plan:
    """The four scenes, the loop with several time steps.

    ``quick``: shorter runs. One sweep.
    """
    seconds = 1.0 if quick else 5.0
    points: list[Point] = [
        {"scene": "loop", "dt": dt, "duration": seconds} for dt in (0.01, 0.005, 0.0025)
    ]
    points += [
        {"scene": scene, "dt": 0.01, "duration": 2.0} for scene in ("limit", "servo", "friction")
    ]
    return Plan(
        sweeps=(Sweep("constraints", simulate, points, ROWS),),
        draw=lambda files, path: constraints_figure(files["constraints"], path),
        report=_report,
    )


def _report(files: Files) -> str:
    """The numbers that the figure shows."""
    rows = read_steps(files["constraints"])
    lines = []
    loop = select(rows, scene="loop")
    for dt in np.unique(loop["dt"]):
        run = select(loop, dt=dt)
        error, bound = run["position"].max(), run["expected"].max()
        lines.append(f"loop, dt {dt:g} s: error at most {error:.2g} m, bound {bound:.2g} m")
    limit, servo, friction = (select(rows, scene=s) for s in ("limit", "servo", "friction"))
    lines.append(
        f"limit: at most {-limit['position'].min():.2g} rad beyond, rests at "
        f"{limit['position'][-1]:.3g} rad, expected {limit['expected'][-1]:.3g} rad"
    )
    lines.append(f"servo: torque at most {servo['force'].max()} N m, limit {EFFORT} N m")
    held = friction[friction["time"] < FRICTION / PULL]
    lines.append(
        f"friction: at most {np.abs(held['velocity']).max():.2g} m/s below the threshold, "
        f"{friction['velocity'][-1]:.4g} m/s at the end, expected {friction['expected'][-1]:.4g}"
    )
    return "\n".join(lines)
