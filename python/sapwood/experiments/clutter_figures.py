"""Figure 9: the clutter of section X-C step by step, with and without walls."""

from __future__ import annotations

import numpy as np

from sapwood.experiments.clutter_runs import METHODS, all_steps
from sapwood.experiments.figures import Files, Plan
from sapwood.experiments.measured_steps import STEP_DTYPE
from sapwood.experiments.sweep import Sweep
from sapwood.plotting import clutter_steps_figure, read_steps


def figure_9(quick: bool) -> Plan:
    """Contacts, iterations and time of every step: 40 bodies for 10 s, or 12 for 2 s.

    Parameters
    ----------
    quick
        The small version.

    Returns
    -------
    Plan
        One sweep, ``figure9``.
    """
    bodies, seconds = (12, 2.0) if quick else (40, 10.0)
    points = [
        {"walls": walls, "method": method, "bodies": bodies, "seed": 0, "seconds": seconds}
        for walls in (True, False)
        for method in METHODS
    ]
    return Plan(
        sweeps=(Sweep("figure9", all_steps, points, STEP_DTYPE),),
        draw=lambda files, path: clutter_steps_figure(files["figure9"], path),
        report=_report_9,
    )


def _report_9(files: Files) -> str:
    """Mean iterations and times of the first and the second half of every run."""
    steps = read_steps(files["figure9"])
    lines = [f"{'iterations, solver time':<32}{'first half':>20}{'second half':>20}"]
    for walls in (1, 0):
        for method in METHODS:
            run = steps[(steps["walls"] == walls) & (steps["method"] == method)]
            if run.size == 0:
                continue
            halves = np.array_split(run, 2)
            words = [
                f"{half['iterations'].mean():.1f}, {1e3 * half['solver_time'].mean():.2f} ms"
                for half in halves
            ]
            where = "with walls" if walls else "without walls"
            lines.append(f"{where + ', ' + method:<32}{words[0]:>20}{words[1]:>20}")
    return "\n".join(lines)
