"""Figure 18: the plan of its sweep, and its numbers."""

from __future__ import annotations

import numpy as np

from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.grasping.controllers import CONTROLLERS
from sapwood.studies.grasping.grasp import ROWS, simulate
from sapwood.studies.plotting import read_steps, select
from sapwood.studies.plotting.grasp import dropped_at, grasp_figure

#: Friction coefficients: slippery, and the published stand-in for infinity.
FRICTION = (1.0, 100.0)
FINGERS = ("dynamics", "feedback")


def figure_18(quick: bool) -> Plan:
    """Error of the arm's joints and grip force, for every controller and both frictions.

    ``quick``: 0.1 s in place of 3 s. One sweep, ``grasp``.
    """
    points: list[Point] = [
        {"controller": name, "mu": mu, "fingers": fingers, "seconds": 0.1 if quick else 3.0}
        for mu in FRICTION
        for fingers in FINGERS
        for name in CONTROLLERS
    ]
    return Plan(
        sweeps=(Sweep("grasp", simulate, points, ROWS),),
        draw=lambda files, path: grasp_figure(files["grasp"], path),
        report=_report,
    )


def _report(files: Files) -> str:
    """A line per run: means, the error over the first half, and the last force."""
    rows = read_steps(files["grasp"])
    title = "errors (first half), torque and its change, force: mean, last, predicted"
    lines = [f"{'mu':<5}{'fingers':9}{'controller':18}{title}"]
    for mu in FRICTION:
        for fingers in FINGERS:
            for name in CONTROLLERS:
                run = select(rows, mu=mu, fingers=fingers, controller=name)
                if not run.size:
                    continue
                mean = {column: run[column].mean() for column in ROWS.names or ()}
                early = run[run["time"] < 0.5 * run["seconds"]]
                held = run[run["touching"] > 0.0]
                drop = dropped_at(run)
                end = f", dropped at {drop:.2f} s" if drop is not None else ""
                if run["time"][-1] < run["seconds"][-1] - 1e-9:
                    end += f", lost at {run['time'][-1]:.2f} s"
                lines.append(
                    f"{mu:<5g}{fingers:9}{name:18}{mean['position_error']:.4f} rad "
                    f"({early['position_error'].mean():.4f}) "
                    f"{mean['velocity_error']:.3f} rad/s  {mean['torque']:.3g} N m "
                    f"{mean['torque_change']:.3g} N m/s  {held['normal_force'].mean():.4g} "
                    f"{held['normal_force'][-1]:.4g} {held['predicted'].mean():.4g} N, "
                    f"{100 * mean['solved']:.0f} % solved, "
                    f"slack {np.median(run['slack']):.2g} rad/s^2{end}"
                )
    return "\n".join(lines)
