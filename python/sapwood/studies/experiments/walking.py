"""A quadruped walks under inverse dynamics: section 8 of Zapolsky and Drumwright.

The robot "Links" trots between waypoints, on rigid and on compliant ground of low and of high
friction and on rough ground of random friction, under every controller. Ground is that of
`sapwood.mujoco.Stepper`; predicted forces are also held against rigid models that inverse dynamics
inverts, where they should agree. `sapwood.studies.walking` has the robot, its gait and what is
different from the publication.

Standing on four feet, the robot shows what the second stage is for: contact forces that are not
determined jump, and torques with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import read_steps, walking_figures, walking_tables
from sapwood.studies.walking.controllers import CONTROLLERS
from sapwood.studies.walking.gait import CYCLE, DUTY
from sapwood.studies.walking.walk import walk

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Grounds and frictions of the tables, in the order of the paper, and that of Figure 16.
GROUNDS = (
    ("rigid", "low"), ("rigid", "high"), ("compliant", "low"), ("compliant", "high"),
    ("rough", "random"),
)  # fmt: skip
#: Controllers that predict forces in simulations by the models that they invert.
MATCHED = ("qp_coulomb_paper", "qp_coulomb", "lcp_coulomb")
#: Controllers of Table 6, in its order, and the gait that has at most two feet on the ground: in
#: half of such a cycle the base hardly sinks.
TASKED = ("lcp_noslip", "qp_noslip_paper", "lcp_coulomb", "qp_coulomb_paper")
TWO_FEET = {"duty": 0.5, "cycle": 0.15}
#: Controllers of the robot that stands: the first stage alone, and with the second.
STANDING = ("one_stage_paper", "qp_coulomb_paper", "lcp_coulomb")

# steps of which a row is the mean
_BLOCK = 50
_MEANS = (
    "position_error", "velocity_error", "torque", "torque_change", "force_error", "measured",
    "solved",
)  # fmt: skip

WALK_DTYPE = np.dtype(
    [("time", np.float64), *((name, np.float64) for name in _MEANS)]
    + [("x", np.float64), ("y", np.float64), ("fallen", np.bool_)]
)
STAND_DTYPE = np.dtype(
    [(name, np.float64) for name in ("time", "knee_torque", "torque_change")]
)  # fmt: skip


def walked(
    controller: str,
    ground: str,
    friction: str,
    seconds: float,
    duty: float = DUTY,
    cycle: float = CYCLE,
) -> NDArray[np.void]:
    """Walk, and measure every 50 ms.

    Parameters
    ----------
    controller, ground, friction, seconds, duty, cycle
        As for `sapwood.studies.walking.walk.walk`.

    Returns
    -------
    ndarray of `WALK_DTYPE`
        Means over 50 steps each of what `walk` measures, with the absolute error of the predicted
        normal forces, N; time, place and whether the robot has fallen are those at their end.
    """
    steps = walk(controller, ground, friction, seconds, duty=duty, cycle=cycle)
    rows = np.zeros(-(-len(steps) // _BLOCK), WALK_DTYPE)
    for row, start in zip(rows, range(0, len(steps), _BLOCK), strict=True):
        block = steps[start : start + _BLOCK]
        for name in _MEANS:
            if name != "force_error":
                row[name] = block[name].mean()
        row["force_error"] = np.abs(block["predicted"] - block["measured"]).mean()
        for name in ("time", "x", "y", "fallen"):
            row[name] = block[name][-1]
    return rows


def stood(controller: str, ground: str, friction: str, seconds: float) -> NDArray[np.void]:
    """Stand, and keep the torque of a knee and the change of all torques, of every step.

    Parameters
    ----------
    controller, ground, friction, seconds
        As for `sapwood.studies.walking.walk.walk`.

    Returns
    -------
    ndarray of `STAND_DTYPE`
        As `walk` measures them.
    """
    steps = walk(controller, ground, friction, seconds, stand=True)
    rows = np.zeros(len(steps), STAND_DTYPE)
    for name in STAND_DTYPE.names or ():
        rows[name] = steps[name]
    return rows


def _walking(quick: bool) -> Sweep:
    """The sweep that most figures share."""
    points: list[Point] = [
        {
            "controller": name,
            "ground": ground,
            "friction": friction,
            "seconds": 0.2 if quick else 30.0,
        }
        for (ground, friction), name in product(GROUNDS, CONTROLLERS)
    ]
    return Sweep("walking", walked, points, WALK_DTYPE)


def _two_feet(quick: bool) -> Sweep:
    """Walks with two feet on the ground at most."""
    points: list[Point] = [
        {
            "controller": name,
            "ground": "rigid",
            "friction": friction,
            "seconds": 0.2 if quick else 10.0,
            **TWO_FEET,
        }
        for friction, name in product(("high", "low"), TASKED)
    ]
    return Sweep("walking_two_feet", walked, points, WALK_DTYPE)


def _matched(quick: bool) -> Sweep:
    """Simulations by the rigid models."""
    points: list[Point] = [
        {
            "controller": name,
            "ground": ground,
            "friction": friction,
            "seconds": 0.2 if quick else 5.0,
        }
        for ground, friction, name in product(("lcp", "qp"), ("low", "high"), MATCHED)
    ]
    return Sweep("walking_matched", walked, points, WALK_DTYPE)


def _standing(quick: bool) -> Sweep:
    points: list[Point] = [
        {"controller": name, "ground": "rigid", "friction": "low",
         "seconds": 0.25 if quick else 0.5}
        for name in STANDING
    ]  # fmt: skip
    return Sweep("standing", stood, points, STAND_DTYPE)


def _plan(
    sweeps: Sequence[Sweep],
    draw: Callable[[dict[str, NDArray[np.void]], Path], Figure],
    report: Callable[[dict[str, NDArray[np.void]]], str],
) -> Plan:
    """A plan whose drawing and report are made from the rows of the files."""

    def rows(files: Files) -> dict[str, NDArray[np.void]]:
        return {name: read_steps(file) for name, file in files.items()}

    return Plan(
        sweeps=tuple(sweeps),
        draw=lambda files, path: draw(rows(files), path),
        report=lambda files: report(rows(files)),
    )


def figure_6(quick: bool) -> Plan:
    """Torque of a knee while the robot stands, by one stage and by two.

    ``quick``: 0.25 s in place of 0.5 s. One sweep, ``standing``.
    """
    return _plan(
        [_standing(quick)], walking_figures.standing_torque_figure, walking_tables.chatter_report
    )


def figure_15(quick: bool) -> Plan:
    """Change of the torques while the robot stands, by one stage and by two.

    ``quick`` as for `figure_6`. One sweep, ``standing``.
    """
    return _plan(
        [_standing(quick)], walking_figures.torque_change_figure, walking_tables.chatter_report
    )


def figure_14(quick: bool) -> Plan:
    """Error of the joints over time, on flat ground.

    ``quick``: 0.2 s in place of 30 s. One sweep, ``walking``, which figures 16 and 17 and tables 3
    and 4 share.
    """
    return _plan(
        [_walking(quick)], walking_figures.joint_error_figure, walking_tables.tracking_report
    )


def figure_16(quick: bool) -> Plan:
    """Error of the joints over time, on rough ground of random friction.

    ``quick`` as for `figure_14`. One sweep, ``walking``.
    """
    return _plan(
        [_walking(quick)], walking_figures.rough_figure, walking_tables.rough_report
    )  # fmt: skip


def figure_17(quick: bool) -> Plan:
    """Path of the base between the waypoints.

    ``quick`` as for `figure_14`. One sweep, ``walking``.
    """
    return _plan([_walking(quick)], walking_figures.path_figure, walking_tables.path_report)


def table_3(quick: bool) -> Plan:
    """Errors of the joints' positions and velocities.

    ``quick`` as for `figure_14`. One sweep, ``walking``.
    """
    return _plan(
        [_walking(quick)], walking_tables.tracking_table, walking_tables.tracking_report
    )  # fmt: skip


def table_4(quick: bool) -> Plan:
    """Torques and how they change.

    ``quick`` as for `figure_14`. One sweep, ``walking``.
    """
    return _plan([_walking(quick)], walking_tables.torque_table, walking_tables.torque_report)


def table_5(quick: bool) -> Plan:
    """Errors of predicted normal forces, on every ground and in matched simulations.

    ``quick`` as for `figure_14`. Two sweeps, ``walking`` and ``walking_matched``.
    """
    return _plan(
        [_walking(quick), _matched(quick)], walking_tables.force_table, walking_tables.force_report
    )


def table_6(quick: bool) -> Plan:
    """Which controllers walk with two feet on the ground at most, with what change of torques.

    ``quick``: 0.2 s in place of 10 s. One sweep, ``walking_two_feet``.
    """
    return _plan(
        [_two_feet(quick)], walking_figures.two_feet_figure, walking_tables.two_feet_report
    )
