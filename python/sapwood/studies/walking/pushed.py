"""A standing quadruped is pushed, with balance and without (section 7.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import read_steps, select
from sapwood.studies.plotting.walking_figures import tilt_figure
from sapwood.studies.walking.walk import walk

ROWS = np.dtype([("time", np.float64), ("tilt", np.float64), ("solved", np.float64)])
CONTROLLERS = ("lcp_coulomb", "qp_coulomb_paper")
#: Force of the push, N, somewhat more than the weight of the robot.
PUSH = 60.0


def pushed(controller: str, balanced: bool, force: float, seconds: float) -> NDArray[np.void]:
    """Stand on rigid ground of high friction, and be pushed to the side.

    Parameters
    ----------
    controller, balanced, seconds
        As for `sapwood.studies.walking.walk.walk`.
    force
        Of the push, N.

    Returns
    -------
    ndarray of `ROWS`
        Of each step: time, s, angle by which the base is not level, rad, and whether inverse
        dynamics was solved.
    """
    steps = walk(controller, "rigid", "high", seconds, stand=True, balanced=balanced, push=force)
    rows = np.zeros(len(steps), ROWS)
    for name in ROWS.names or ():
        rows[name] = steps[name]
    return rows


def figure(quick: bool) -> Plan:
    """Tilt of the base in time.

    ``quick``: 0.4 s in place of 1.5 s. One sweep, ``balance``.
    """
    points: list[Point] = [
        {
            "controller": name,
            "balanced": balanced,
            "force": PUSH,
            "seconds": 0.4 if quick else 1.5,
        }
        for name in CONTROLLERS
        for balanced in (False, True)
    ]
    return Plan(
        sweeps=(Sweep("balance", pushed, points, ROWS),),
        draw=lambda files, path: tilt_figure({"balance": read_steps(files["balance"])}, path),
        report=_report,
    )


def _report(files: Files) -> str:
    """Largest tilt of every run."""
    rows = read_steps(files["balance"])
    return "\n".join(
        f"{name:18} {'balanced' if balanced else 'alone':9} largest tilt "
        f"{select(rows, controller=name, balanced=balanced)['tilt'].max():.3f} rad"
        for name in CONTROLLERS
        for balanced in (0, 1)
    )
