"""Figures 16 and 17: the plans of their sweeps, and their numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import pitch_figure, read_steps, select
from sapwood.studies.plotting.slip_scene import gripper_figure
from sapwood.studies.slip_control.run import (
    CONFIGURATION_ROWS,
    PATCH_ROWS,
    ROWS,
    configuration,
    patches,
    simulate,
)
from sapwood.studies.slip_control.scene import DUTY, LOOSE, PERIOD, TIME_STEP


def _period(quick: bool) -> float:
    """The period of the grip force, s: 2 s in the quick version."""
    return PERIOD / 3 if quick else PERIOD


def figure_16(quick: bool) -> Plan:
    """The gripper and the patch of a pad at both grips, coloured by pressure.

    ``quick``: in the first period of 2 s in place of the third of 6 s. Two sweeps, ``slip_patches``
    and ``slip_scenes``: the last steps of a secure and of a loose grip.
    """
    period = _period(quick)
    before = 0.0 if quick else 2 * period
    ends = (before + DUTY * period - TIME_STEP, before + period - TIME_STEP)
    points: list[Point] = [{"seconds": end, "period": period} for end in ends]
    return Plan(
        sweeps=(
            Sweep("slip_patches", patches, points, PATCH_ROWS),
            Sweep("slip_scenes", configuration, points, CONFIGURATION_ROWS),
        ),
        draw=lambda files, path: gripper_figure(files["slip_patches"], files["slip_scenes"], path),
        report=_patches,
    )


def figure_17(quick: bool) -> Plan:
    """Pitch of the spatula, grip force and number of contacts against time.

    ``quick``: one period of 2 s in place of five of 6 s. One sweep, ``slip_control``.
    """
    period = _period(quick)
    points: list[Point] = [{"seconds": period if quick else 5 * period, "period": period}]
    return Plan(
        sweeps=(Sweep("slip_control", simulate, points, ROWS),),
        draw=lambda files, path: pitch_figure(files["slip_control"], path),
        report=_motion,
    )


# ---- numbers -------------------------------------------------------------------------------------


def _motion(files: Files) -> str:
    """Turns and contacts of either grip."""
    rows = read_steps(files["slip_control"])
    contacts = rows["left_contacts"] + rows["right_contacts"]
    last = _last_part(rows)
    lines = [f"pitch after {rows['time'][-1]:g} s: {rows['pitch'][-1]:.2f} degrees"]
    for name, grip in (
        ("secure", rows["force"] > LOOSE),
        ("loose", rows["force"] == LOOSE),
    ):
        turned = np.diff(rows["pitch"], prepend=0.0)[grip].sum()
        lines.append(
            f"{name} grip, {rows['force'][grip][0]:g} N: turns by {turned:.2f} degrees in "
            f"{np.count_nonzero(grip) * TIME_STEP:g} s, {contacts[grip & last].mean():.0f} "
            "contacts in its last parts"
        )
    lines.append(f"iterations of the solver per step: {rows['iterations'].mean():.2f}")
    return "\n".join(lines)


def _last_part(rows: NDArray[np.void]) -> NDArray[np.bool_]:
    """Steps in the last third of a grip."""
    starts = np.flatnonzero(np.diff(rows["force"], prepend=np.nan) != 0)
    ends = np.append(starts[1:], len(rows))
    last = np.zeros(len(rows), np.bool_)
    for start, end in zip(starts, ends, strict=True):
        last[end - (end - start) // 3 : end] = True
    return last


def _patches(files: Files) -> str:
    """Size and pressure of the left patch at each grip."""
    rows = read_steps(files["slip_patches"])
    lines = []
    for seconds in np.unique(rows["seconds"]):
        patch = select(rows, seconds=seconds, side="left")
        lines.append(
            f"{patch['force'][0]:g} N after {seconds:g} s: {len(np.unique(patch['face']))} faces, "
            f"pressure up to {patch['pressure'].max() / 1e3:.1f} kPa, slip up to "
            f"{1e3 * np.nanmax(patch['slip']):.3g} mm/s"
        )
    return "\n".join(lines)
