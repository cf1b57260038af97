"""Time of inverse dynamics against the number of contacts, for every controller.

A quadruped of twelve joints stands on points that are spread over its four feet; bias forces vary
from call to call. A call is one from Python, its conversions with it, and begins where the last one
ended. Every sample is kept: the slow ones are what a control loop has to wait for.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.invdyn import InverseDynamics
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.running.timing import no_garbage_collection
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import invdyn_times_figure, read_steps, select

if TYPE_CHECKING:
    from sapwood.invdyn.options import Controller

Array = NDArray[np.float64]

CONTROLLERS: tuple[Controller, ...] = (
    "lcp_noslip", "qp_noslip", "qp_coulomb", "one_stage", "lcp_coulomb"
)  # fmt: skip
#: Joints of the robot: they follow the six velocities of its body.
JOINTS = range(6, 18)

ROWS = np.dtype(
    [
        ("cpu_seconds", np.float64),
        ("wall_seconds", np.float64),
        ("pivots", np.int64),
        ("solved", np.bool_),
    ]
)

_DT, _MU, _GRAVITY, _NOISE = 1e-3, 0.7, 9.81, 0.05
_MANY = 20  # contacts from which on growth is measured
_FEET = np.array([[0.2, 0.1], [0.2, -0.1], [-0.2, 0.1], [-0.2, -0.1]])
_HEIGHT, _SPREAD = 0.3, 0.02


def quadruped(contacts: int, rng: np.random.Generator) -> dict[str, Array]:
    """A robot that stands on points.

    Parameters
    ----------
    contacts
        How many points; they go round the four feet.
    rng
        Draws masses, legs and where the points are.

    Returns
    -------
    dict
        ``M``, ``h``, ``J_n``, ``J_t`` and ``mu``, as for `sapwood.invdyn.InverseDynamics.solve`.
    """
    legs = 0.1 * rng.normal(size=(4, 3, 3)) + 0.2 * np.eye(3)
    J = np.zeros((contacts, 3, 18))
    for i in range(contacts):
        leg = i % 4
        x, y = _FEET[leg] + _SPREAD * rng.normal(size=2)
        z = -_HEIGHT
        J[i, :, :3] = np.eye(3)
        J[i, :, 3:6] = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]
        J[i, :, 6 + 3 * leg : 9 + 3 * leg] = legs[leg] + 0.05 * rng.normal(size=(3, 3))
    root = 0.1 * rng.normal(size=(18, 18))
    M = root @ root.T / 18 + np.diag([5.0] * 3 + [0.2] * 3 + [0.02] * 12)
    h = 0.1 * rng.normal(size=18)
    h[2] += _GRAVITY * M[2, 2]
    return {"M": M, "h": h, "J_n": J[:, 2], "J_t": J[:, :2], "mu": np.full(contacts, _MU)}


def measure(controller: Controller, contacts: int, samples: int) -> NDArray[np.void]:
    """Time calls of one controller at one number of contacts.

    Parameters
    ----------
    controller
        One of `CONTROLLERS`.
    contacts
        Number of contacts, which also seeds the robot.
    samples
        Number of calls, after three that are not counted.

    Returns
    -------
    ndarray of `ROWS`, shape (samples,)
        Of each call: time on the CPU clock of the thread and on the wall clock, pivots of all
        solvers, and whether its status is `solved`.
    """
    rng = np.random.default_rng(contacts)
    system = quadruped(contacts, rng)
    made = InverseDynamics(controller, actuated=JOINTS, dt=_DT)
    ids, v, qdd = np.arange(contacts), np.zeros(18), np.zeros(len(JOINTS))
    loads = system["h"] * (1.0 + _NOISE * rng.normal(size=(3 + samples, 18)))
    rows = np.zeros(3 + samples, ROWS)
    with no_garbage_collection():
        for row, h in zip(rows, loads, strict=True):
            wall, cpu = time.perf_counter(), time.thread_time()
            result = made.solve(
                system["M"], h, v, qdd, system["J_n"], system["J_t"], system["mu"], None, ids
            )
            cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
            row["cpu_seconds"], row["wall_seconds"] = cpu, wall
            row["pivots"], row["solved"] = result.pivots, result.success
    return rows[3:]


def figure_19(quick: bool) -> Plan:
    """Median, 99 % quantile and maximum of the time of a call, from 1 to 60 contacts.

    ``quick``: 20 calls at 1, 4 and 10 contacts, in place of 1000. One sweep, ``invdyn_times``.
    """
    sizes = (1, 4, 10) if quick else (1, 2, 4, 6, 10, 15, 20, 30, 40, 50, 60)
    points: list[Point] = [
        {"controller": controller, "contacts": contacts, "samples": 20 if quick else 1000}
        for contacts in sizes
        for controller in CONTROLLERS
    ]
    return Plan(
        sweeps=(Sweep("invdyn_times", measure, points, ROWS),),
        draw=lambda files, path: invdyn_times_figure(files["invdyn_times"], path),
        report=_report,
        workers=1,
    )


def _report(files: Files) -> str:
    """A line per controller and number of contacts, and how the median CPU time grows."""
    rows = read_steps(files["invdyn_times"])
    lines = ["controller   contacts   CPU median     99 %  largest   wall median     99 %  largest"]
    for contacts in np.unique(rows["contacts"]):
        for controller in CONTROLLERS:
            run = select(rows, contacts=contacts, controller=controller)
            if not run.size:
                continue
            ms = [
                1e3 * np.quantile(run[clock], share)
                for clock in ("cpu_seconds", "wall_seconds")
                for share in (0.5, 0.99, 1.0)
            ]
            unsolved = int(run.size - run["solved"].sum())
            lines.append(
                f"{controller:<13}{contacts:8}   {ms[0]:10.3f}{ms[1]:9.3f}{ms[2]:9.3f}   "
                f"{ms[3]:11.3f}{ms[4]:9.3f}{ms[5]:9.3f} ms, {run['pivots'].mean():.1f} pivots"
                + (f", {unsolved} of {run.size} not solved" if unsolved else "")
            )
    for controller in CONTROLLERS:
        run = select(rows[rows["contacts"] >= _MANY], controller=controller)
        sizes = np.unique(run["contacts"])
        if sizes.size > 1:
            medians = [np.median(select(run, contacts=n)["cpu_seconds"]) for n in sizes]
            power = np.polyfit(np.log(sizes), np.log(medians), 1)[0]
            lines.append(f"from {_MANY} contacts on {controller} grows with the power {power:.1f}")
    return "\n".join(lines)
