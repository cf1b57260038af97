"""Sliding under every law of friction: what glides, what hops, and what creeps.

`push`
    A flat box of 2 kg, mu = 0.5, pushed by 12 N for 3 s: it accelerates with 6 - mu g m/s^2.
`brake`
    The same box with mu = 0.8, at 2 m/s at first: it stops after 2/(mu g) = 0.255 s.
`grip`
    A capsule of 0.2 kg between two pads that press with 5 N each, mu = 1: it should not move.

Laws are those of `sapwood.mujoco.Stepper`, with near-rigid contacts, and MuJoCo's own: ``mj_step``
with an elliptic cone and all else by default, and as its manual recommends for contact. Contacts
are listed where geoms overlap, as MuJoCo does it, so that a body which glides leaves the list,
falls and hops.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco import Stepper
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.peers.mujoco_variants import recommended_model
from sapwood.studies.plotting import read_steps, select, sliding_figure

OUR_LAWS = ("convex", "lagged", "coulomb")
LAWS = (*OUR_LAWS, "mujoco", "mujoco-recommended")
GRAVITY = 9.81
MASS, PUSH = 2.0, 12.0
MU = {"push": 0.5, "brake": 0.8, "grip": 1.0}
#: Tangential regularization of the steppers, Eq. (22).
SIGMA = 1e-3

ROWS = np.dtype(
    [
        ("time", np.float64),
        ("clearance", np.float64),
        ("speed", np.float64),
        ("force", np.float64),
        ("unconverged", np.int64),
    ]
)

_BOX = """<mujoco><option timestep="{dt}" cone="elliptic"/><worldbody>
  <geom type="plane" size="20 1 1" friction="{mu}"/>
  <body name="moved" pos="0 0 .01"><freejoint/>
  <geom name="moved" type="box" size=".05 .05 .01" mass="2" friction="{mu}"/></body>
  </worldbody></mujoco>"""

_GRIP = """<mujoco><option timestep="{dt}" cone="elliptic"/>
  <default><geom friction="{mu}"/></default><worldbody>
  <body name="left" pos="-.04 0 0"><joint name="left" type="slide" axis="1 0 0"/>
    <geom type="box" size=".02 .03 .03" mass=".5"/></body>
  <body name="right" pos=".04 0 0"><joint name="right" type="slide" axis="-1 0 0"/>
    <geom type="box" size=".02 .03 .03" mass=".5"/></body>
  <body name="moved"><freejoint/>
    <geom name="moved" type="capsule" size=".02 .02" mass=".2"/></body>
  </worldbody></mujoco>"""


def _scene(scene: str, dt: float) -> tuple[mujoco.MjModel, mujoco.MjData]:
    xml = _GRIP if scene == "grip" else _BOX
    model = mujoco.MjModel.from_xml_string(
        xml.replace("{dt}", repr(dt)).replace("{mu}", repr(MU[scene]))
    )
    data = mujoco.MjData(model)
    if scene == "push":
        data.xfrc_applied[model.body("moved").id, 0] = PUSH
    elif scene == "brake":
        data.qvel[0] = 2.0
    else:
        data.qfrc_applied[:2] = 5.0
    return model, data


def _lowest(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Height of the lowest corner of the box above the floor, m."""
    geom = model.geom("moved").id
    rotation = data.geom_xmat[geom].reshape(3, 3)
    return float(data.geom_xpos[geom, 2] - np.abs(rotation[2]) @ model.geom_size[geom])


def _normal_force(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Sum of the normal forces of all contacts, N."""
    force, total = np.zeros(6), 0.0
    for i in range(data.ncon):
        mujoco.mj_contactForce(model, data, i, force)
        total += float(force[0])
    return total


def simulate(scene: str, law: str, dt: float, seconds: float) -> NDArray[np.void]:
    """Run a scene.

    Parameters
    ----------
    scene
        "push", "brake" or "grip".
    law
        One of `LAWS`; "mujoco" and "mujoco-recommended" are ``mj_step``.
    dt
        Time step, s.
    seconds
        Time to simulate, s.

    Returns
    -------
    ndarray of `ROWS`, shape (steps,)
        Of each step: time at its end; clearance of the box and its speed along the floor after it,
        of the capsule its speed downwards; sum of the normal forces in it, and 1 where the solver
        did not converge.
    """
    model, data = _scene(scene, dt)
    if law == "mujoco-recommended":
        model = recommended_model(model)
    ours = law in OUR_LAWS
    stepper = Stepper(model, friction=law) if ours else None  # type: ignore[arg-type]
    rows = np.zeros(round(seconds / dt), ROWS)
    for row in rows:
        if stepper is None:
            mujoco.mj_step(model, data)
        else:
            stepper.step(data)
            assert stepper.solution is not None
            row["unconverged"] = stepper.solution.status != 0
        row["force"] = _normal_force(model, data)
        # where the step has left the geoms
        mujoco.mj_kinematics(model, data)
        row["time"] = data.time
        row["clearance"] = 0.0 if scene == "grip" else _lowest(model, data)
        row["speed"] = -data.qvel[4] if scene == "grip" else data.qvel[0]
    return rows


def figure(quick: bool) -> Plan:
    """Clearance, normal force and speed of the box, and the creep of a held weight.

    ``quick``: the box is pushed for 1 s in place of 3 s, the weight held for 1 s in place of 4 s.
    One sweep, ``sliding``.
    """
    seconds = {"push": 1.0 if quick else 3.0, "brake": 0.5, "grip": 1.0 if quick else 4.0}
    points: list[Point] = [
        {"scene": scene, "law": law, "dt": dt, "seconds": duration}
        for scene, duration in seconds.items()
        for dt in (0.002, 0.01)
        for law in LAWS
    ]
    return Plan(
        sweeps=(Sweep("sliding", simulate, points, ROWS),),
        draw=lambda files, path: sliding_figure(files["sliding"], path),
        report=_report,
    )


def exact_speed(scene: str, time: NDArray[np.float64]) -> NDArray[np.float64]:
    """Speed of the box that Coulomb's law gives, m/s.

    Parameters
    ----------
    scene
        "push" or "brake".
    time
        Times, s.
    """
    if scene == "push":
        return (PUSH / MASS - MU["push"] * GRAVITY) * time
    return np.maximum(2.0 - MU["brake"] * GRAVITY * time, 0.0)


def _report(files: Files) -> str:
    """The table of docs/explanation/sliding.md."""
    rows, lines = read_steps(files["sliding"]), []
    for scene in ("push", "brake", "grip"):
        for dt in dict.fromkeys(rows["dt"].tolist()):
            for law in LAWS:
                run = select(rows, scene=scene, dt=dt, law=law)
                name = f"{scene:6} dt {1e3 * dt:g} ms {law:18}"
                if scene == "grip":
                    late = run[run["time"] > 0.5 * run["time"][-1]]
                    bound = SIGMA * MU[scene] * dt * GRAVITY
                    lines.append(
                        f"{name} creep {1e6 * late['speed'].mean():9.3g} um/s, "
                        f"sigma mu dt g = {1e6 * bound:.3g} um/s"
                    )
                    continue
                slides = run[exact_speed(scene, run["time"]) > 0.0]
                error = np.abs(slides["speed"] - exact_speed(scene, slides["time"])).max()
                lines.append(
                    f"{name} clearance at most {1e3 * run['clearance'].max():8.3g} mm, "
                    f"{100 * np.mean(run['force'] == 0):3.0f} % of the steps without contact, "
                    f"normal force {run['force'].mean():6.2f} +- {run['force'].std():.2g} N, "
                    f"speed wrong by at most {error:.2g} m/s"
                )
    return "\n".join(lines)
