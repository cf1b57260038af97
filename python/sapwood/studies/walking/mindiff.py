"""A biped that sways on two feet: torques that jump, and torques that change least (Algorithm 3).

Two feet on the ground can press against each other, so that Coulomb's law has many solutions. The
biped moves in a plane as its plan says; its feet neither slip nor open, and torques that realise
the plan are found at each instant. Contacts are listed in random order and with random tangents, as
collision detection is free to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.invdyn import InverseDynamics
from sapwood.invdyn.robot import bias_force, mass_matrix
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import read_steps, select
from sapwood.studies.plotting.mindiff import mindiff_figure

if TYPE_CHECKING:
    from sapwood.invdyn.options import Controller

Array = NDArray[np.float64]

CONTROLLERS: tuple[Controller, ...] = ("lcp_coulomb", "lcp_nearest", "qp_coulomb")
ROWS = np.dtype(
    [(name, np.float64) for name in ("time", "knee_torque", "torque_change", "pivots", "solved")]
)

#: Time step, s, and friction coefficient of the feet.
DT, MU = 1e-3, 0.6
JOINTS = np.arange(3, 7)

# masses and lengths of the legs are those of the quadruped
_BIPED = """<mujoco><option timestep="{dt}"/><worldbody>
  <body name="trunk"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
    <joint axis="0 1 0"/><inertial pos="0 0 0" mass="3.6" diaginertia="5.833e-3 3.033e-3 8.633e-3"/>
    {legs}</body></worldbody></mujoco>"""
_LEG = """<body pos="{x} 0 0"><joint name="hip_{leg}" axis="0 1 0"/>
  <inertial pos="0 0 -.05" mass=".1" diaginertia="1.233e-4 1.275e-4 1.083e-5"/>
  <body pos="0 0 -.1"><joint name="knee_{leg}" axis="0 1 0"/>
    <inertial pos="0 0 -.05" mass=".1" diaginertia="3.358e-5 3.358e-5 5e-7"/>
    <site name="foot_{leg}" pos="0 0 -.1"/></body></body>"""
# the trunk sways by these speeds, m/s, at these frequencies, Hz, once it has started
_SWAY, _SWAY_RATE = (0.05, 0.02), (2.0, 3.0)
_START = 0.05


def biped() -> mujoco.MjModel:
    """Return a biped in the x-z plane: three velocities of the trunk, then hip and knee twice."""
    legs = "".join(_LEG.format(leg=leg, x=x) for leg, x in enumerate((0.08, -0.08)))
    return mujoco.MjModel.from_xml_string(_BIPED.format(dt=DT, legs=legs))


def _trunk_velocity(time: float) -> Array:
    """Velocity of the trunk in the plan: m/s, m/s, rad/s."""
    part = 1.0 - np.exp(-time / _START)
    along, up = (
        speed * np.sin(2.0 * np.pi * rate * time)
        for speed, rate in zip(_SWAY, _SWAY_RATE, strict=True)
    )
    return np.asarray(part * np.array([along, up, 0.0]))


def sway(controller: Controller, seconds: float) -> NDArray[np.void]:
    """Sway, and find torques in each step.

    Parameters
    ----------
    controller
        Of `CONTROLLERS`.
    seconds
        Time to simulate, s.

    Returns
    -------
    ndarray of `ROWS`
        Of each step: time, s; torque of the front knee, N m; mean absolute change of the torques
        over the time step, N m/s (0 in the first step); pivots, or convex programs; and whether it
        was solved.
    """
    model = biped()
    data = mujoco.MjData(model)
    data.qpos[3:] = [0.5, -1.0, 0.5, -1.0]
    dynamics = InverseDynamics(controller, actuated=JOINTS, dt=DT)
    rng, last = np.random.default_rng(1), None
    rows = np.zeros(round(seconds / DT), ROWS)
    for i, row in enumerate(rows):
        mujoco.mj_forward(model, data)
        J = np.zeros((2, 3, model.nv))
        for foot in range(2):
            mujoco.mj_jacSite(model, data, J[foot], None, model.site(f"foot_{foot}").id)
        # joints that hold both feet under the trunk as it moves
        trunk = _trunk_velocity((i + 1) * DT)
        flat = J[:, [0, 2]].reshape(4, model.nv)
        joints = -np.linalg.lstsq(flat[:, 3:], flat[:, :3] @ trunk, rcond=None)[0]
        order, angle = rng.permutation(2), rng.uniform(0.0, 2.0 * np.pi, 2)
        c, s = np.cos(angle), np.sin(angle)
        J_t = np.einsum("nij,njk->nik", np.array([[c, s], [-s, c]]).T, J[order, :2])
        found = dynamics.solve(
            mass_matrix(model, data), bias_force(model, data, JOINTS), data.qvel,
            (joints - data.qvel[JOINTS]) / DT, J[order, 2], J_t, [MU, MU],
        )  # fmt: skip
        row["time"] = (i + 1) * DT
        row["knee_torque"] = found.tau[1]
        row["torque_change"] = 0.0 if last is None else np.abs(found.tau - last).mean() / DT
        row["pivots"], row["solved"] = found.pivots, found.success
        last = found.tau
        data.qvel[:] = np.r_[trunk, joints]
        mujoco.mj_integratePos(model, data.qpos, data.qvel, DT)
    return rows


def figure(quick: bool) -> Plan:
    """Torque of a knee and change of all torques, under three controllers.

    ``quick``: 0.1 s in place of 0.6 s. One sweep, ``mindiff``.
    """
    points: list[Point] = [
        {"controller": name, "seconds": 0.1 if quick else 0.6} for name in CONTROLLERS
    ]
    return Plan(
        sweeps=(Sweep("mindiff", sway, points, ROWS),),
        draw=lambda files, path: mindiff_figure(files["mindiff"], path),
        report=_report,
    )


def _report(files: Files) -> str:
    """A line per controller."""
    rows, lines = read_steps(files["mindiff"]), []
    for name in CONTROLLERS:
        run = select(rows, controller=name)
        change = run["torque_change"][1:]
        lines.append(
            f"{name:12} change of the torques: mean {change.mean():.3g}, largest "
            f"{change.max():.3g} N m/s; {run['pivots'].mean():.1f} pivots or programs, "
            f"{100.0 * run['solved'].mean():.0f} % solved"
        )
    return "\n".join(lines)
