"""Error against CPU time of steps of one length and of steps to a given accuracy.

Five scenes with finite stiffness and dissipation time, so that a limit of small steps exists. The
error is the largest difference of positions at the end of a run from their limit, in the model's
extent and in radians. The limit of an impact is no extrapolation of fixed steps: those of 0.25 us
are off by 7e-6 at the pendulum. So it is a run to an accuracy of 1e-8, which one to 3e-8 meets
within 6e-7. The ball rolls, and would take too many parts: its limit is extrapolated from two runs
of fixed steps. Tolerances begin at 1e-3, since the time step itself meets coarser ones.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import mujoco
import numpy as np

from benchmarks.rows import Table, aligned
from sapwood import ContactMaterial, SapSettings
from sapwood.mujoco import Stepper
from sapwood.mujoco.stepping.accurate_steps import position_scales

_MATERIAL = ContactMaterial(stiffness=2e4, dissipation_time=2e-3, friction=0.5)
# an impulse in the shortest steps is a small part of a momentum
_EXACT = SapSettings(relative_tolerance=1e-10, max_iterations=100)
_HEAD = '<mujoco><option timestep="0.01"/><statistic extent="1"/><worldbody>'
_FLOOR = '<geom type="plane" size="5 5 1"/>'
_BOX = '<geom type="box" size="0.1 0.1 0.1" mass="1"/>'
_FINGER = '<geom type="box" size="0.02 0.05 0.05" mass="0.2"/>'
_END = "</worldbody></mujoco>"

# halvings of a step; at the wall the stiffness sets in at 3 rad/s, and with the 14 of the default
# the smallest part limits the error to 2e-5
_HALVINGS = {"pendulum at a wall": 18}
# the limit of these scenes is that of fixed steps
_ROLLING = {"ball that bounces"}

#: Models by name, each with the velocity at the start.
SCENES: dict[str, tuple[str, Sequence[float]]] = {
    "ball that bounces": (
        (
            f'{_HEAD}{_FLOOR}<body pos="0 0 0.15"><freejoint/>'
            f'<geom type="sphere" size="0.05" mass="0.5"/></body>{_END}'
        ),
        (1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ),
    "box on a spring": (
        (
            f'{_HEAD}{_FLOOR}<body pos="0 0 0.0998">'
            '<joint type="slide" axis="1 0 0" stiffness="800"/>'
            f'<joint type="slide" axis="0 0 1"/>{_BOX}</body>{_END}'
        ),
        (4.0, 0.0),
    ),
    "box that slides": (
        f'{_HEAD}{_FLOOR}<body pos="0 0 0.0998"><freejoint/>{_BOX}</body>{_END}',
        (2.0, 0.5, 0.0, 0.0, 0.0, 3.0),
    ),
    "pendulum at a wall": (
        (
            f'{_HEAD}<body pos="0 0 1"><joint type="hinge" axis="0 1 0"/>'
            '<geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.02" mass="0.3"/></body>'
            f'<geom type="box" pos="-0.22 0 0.7" size="0.1 0.3 0.5"/>{_END}'
        ),
        (4.0,),
    ),
    "gripper that closes": (
        (
            f'{_HEAD}<body pos="-0.09 0 0">'
            f'<joint name="left" type="slide" axis="1 0 0" damping="2"/>{_FINGER}</body>'
            '<body pos="0.09 0 0">'
            f'<joint name="right" type="slide" axis="-1 0 0" damping="2"/>{_FINGER}</body>'
            '<body pos="0.01 0 0"><freejoint/><geom type="sphere" size="0.04" mass="0.1"/></body>'
            "</worldbody><actuator>"
            '<general joint="left" biastype="affine" biasprm="5"/>'
            '<general joint="right" biastype="affine" biasprm="5"/></actuator></mujoco>'
        ),
        (0.0,) * 8,
    ),
}


@dataclasses.dataclass(frozen=True)
class Plan:
    """The choice of runs."""

    scenes: Sequence[str] = tuple(SCENES)
    accuracies: Sequence[float] = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
    time_steps: Sequence[float] = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5)
    reference_step: float = 2.5e-7
    """the shorter one of two, s, where the limit is that of fixed steps"""
    reference_accuracy: float = 1e-8
    reference_halvings: int = 22
    seconds: float = 0.4
    repeat: int = 5


@dataclasses.dataclass(frozen=True)
class Row:
    """One run."""

    scene: str
    accuracy: float
    """tolerance; 0 for steps of one length"""
    time_step: float
    """length of a step, or of the smallest part, s"""
    steps: int
    """steps or parts"""
    refused: int
    error: float
    """largest difference from the reference at the end, m over the extent, and rad"""
    seconds: float
    """CPU time of the run, s, the least of all"""


def _start(
    scene: str, time_step: float, settings: SapSettings | None = None
) -> tuple[Stepper, mujoco.MjData]:
    text, velocity = SCENES[scene]
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:] = velocity
    return Stepper(model, time_step=time_step, contact=_MATERIAL, settings=settings), data


def _limit(scene: str, plan: Plan) -> np.ndarray:
    """Positions at the end by steps of no length: the error is linear in their length."""
    if scene not in _ROLLING:
        stepper, data = _start(scene, plan.time_steps[0])
        steps = round(plan.seconds / plan.time_steps[0])
        stepper.run(data, steps, accuracy=plan.reference_accuracy, halvings=plan.reference_halvings)
        return data.qpos.copy()
    ends = []
    for time_step in (2.0 * plan.reference_step, plan.reference_step):
        stepper, data = _start(scene, time_step, _EXACT)
        stepper.run(data, round(plan.seconds / time_step))
        ends.append(data.qpos.copy())
    difference = np.empty(stepper.model.nv)
    mujoco.mj_differentiatePos(stepper.model, difference, 1.0, *ends)
    limit = ends[1]
    mujoco.mj_integratePos(stepper.model, limit, difference, 1.0)
    return limit


def _error(stepper: Stepper, exact: np.ndarray, data: mujoco.MjData) -> float:
    difference = np.empty(stepper.model.nv)
    mujoco.mj_differentiatePos(stepper.model, difference, 1.0, exact, data.qpos)
    return float(np.max(np.abs(difference) / position_scales(stepper.model)))


def measure(
    scene: str, exact: np.ndarray, plan: Plan, time_step: float, accuracy: float | None
) -> Row:
    """One run, repeated for its time."""
    least, steps = np.inf, round(plan.seconds / time_step)
    halvings = None if accuracy is None else _HALVINGS.get(scene)
    for _ in range(plan.repeat):
        stepper, data = _start(scene, time_step)
        stepper.run(data, 0, accuracy=accuracy)  # makes what all later runs share
        began = time.thread_time()
        result = stepper.run(data, steps, accuracy=accuracy, halvings=halvings)
        least = min(least, time.thread_time() - began)
    error = _error(stepper, exact, data)
    control = result.error_control
    if control is None:
        return Row(scene, 0.0, time_step, result.steps, 0, error, least)
    parts, refused = int(control["substeps"].sum()), int(control["refused"].sum())
    smallest = float(control["smallest_step"].min())
    return Row(scene, accuracy or 0.0, smallest, parts, refused, error, least)


def run(plan: Plan, path: Path, progress: Callable[[str], None] = lambda _text: None) -> None:
    """Run all scenes, writing each row to a CSV file as it comes."""
    with Table(path, Row) as table:
        for scene in plan.scenes:
            exact = _limit(scene, plan)
            for time_step in plan.time_steps:
                table.add(measure(scene, exact, plan, time_step, None))
            for accuracy in plan.accuracies:
                table.add(measure(scene, exact, plan, plan.time_steps[0], accuracy))
            progress(scene)


# ---- table and figure --------------------------------------------------------------------------


def _time_of_fixed(rows: Sequence[Row], error: float) -> float:
    """Least time of a run of fixed steps with at most this error; NaN if none has."""
    return min(
        (row.seconds for row in rows if not row.accuracy and row.error <= error), default=np.nan
    )


def table(rows: Sequence[Row]) -> str:
    """A line for each tolerance of each scene, beside the best steps of one length."""
    lines = [["scene", "accuracy", "error", "parts", "refused", "smallest, us", "ms", "over fixed"]]
    for scene in dict.fromkeys(row.scene for row in rows):
        here = [row for row in rows if row.scene == scene]
        for row in here:
            if row.accuracy:
                ratio = row.seconds / _time_of_fixed(here, row.error)
                lines.append([
                    scene, f"{row.accuracy:g}", f"{row.error:.1e}", str(row.steps),
                    str(row.refused), f"{1e6 * row.time_step:.3g}", f"{1e3 * row.seconds:.2f}",
                    "-" if np.isnan(ratio) else f"{ratio:.2f}",
                ])  # fmt: skip
    scenes = dict.fromkeys(row.scene for row in rows)
    decades = [_decades(rows, scene) for scene in scenes]
    each = ", ".join(f"{n:.1f} {scene}" for n, scene in zip(decades, scenes, strict=True))
    return (
        "steps to an accuracy; over fixed: time over that of the best steps of one length with an "
        f"error as small\n\n{aligned(lines)}\n\n"
        f"error falls by {median(decades):.1f} decades in the median from the first accuracy to "
        f"the last: {each}"
    )


def _decades(rows: Sequence[Row], scene: str) -> float:
    errors = [row.error for row in rows if row.scene == scene and row.accuracy]
    return float(np.log10(errors[0] / errors[-1]))


def figure(rows: Sequence[Row], path: Path) -> None:
    """Error against CPU time, a panel for each scene.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    from sapwood.studies.plotting.style import save_figure

    names = list(dict.fromkeys(row.scene for row in rows))
    canvas = Figure(figsize=(2.6 * len(names) + 0.4, 3.2), layout="constrained")
    panels = canvas.subplots(1, len(names), squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        for label, mark, colour, to_accuracy in (
            ("steps of one length", "o-", "#0072b2", False),
            ("to an accuracy", "s--", "#d55e00", True),
        ):
            here = [row for row in rows if row.scene == name and bool(row.accuracy) == to_accuracy]
            panel.loglog(
                [1e3 * row.seconds for row in here],
                [row.error for row in here],
                mark, color=colour, markersize=4, linewidth=1.2, label=label,
            )  # fmt: skip
        panel.set_title(name, fontsize=9)
        panel.set_xlabel("CPU time, ms")
        panel.grid(True, which="major", linewidth=0.5, alpha=0.4)
    panels[0].set_ylabel("error of positions, m/extent or rad")
    panels[0].legend(fontsize=7)
    save_figure(canvas, path)
