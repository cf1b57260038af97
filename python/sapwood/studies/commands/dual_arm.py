"""``sapwood dual-arm``: the task of two arms of section X-E."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapwood.cli.command import (
    FAILURE,
    INTERRUPTED,
    SUCCESS,
    CommandError,
    HelpFormatter,
    one_line,
    require,
    tell,
    tolerance,
)

if TYPE_CHECKING:
    from sapwood.studies.dual_arm.run import TaskRun

#: Phases whose last moments are drawn.
KEYFRAMES = ("start", "grasp jar", "open jar", "pour", "close jar", "leave")


def add(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "dual-arm",
        help="two arms open a jar, pour its marbles into a bowl and close it",
        description="Two arms with hands open a jar, pour its 16 marbles into a bowl, close it and "
        "put it back. Every step is measured, and the end is judged: marbles in the bowl, lid on, "
        "jar back and upright. The exit code is 0 where all of it is done.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument(
        "--task", choices=("jar", "lift"), default="jar", help="all of it, or up to the lifted jar"
    )
    parser.add_argument(
        "--tolerance", type=tolerance(), default=1e-3, help="relative tolerance, the paper's"
    )
    parser.add_argument(
        "--friction", choices=("convex", "lagged", "coulomb"), default="convex",
        help="law of friction; convex is the paper's",
    )  # fmt: skip
    parser.add_argument(
        "--fields", choices=("lid", "grips"),
        help="patches of pressure in place of points: where jar and lid meet, as in the paper, or "
        "at both hands too",
    )  # fmt: skip
    parser.add_argument(
        "--compare", choices=("mujoco",), help="run the task by this solver too, side by side"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("results"), help="folder for CSV, figure and pictures"
    )
    parser.add_argument("--no-picture", action="store_true", help="do not draw keyframes")
    parser.add_argument("--quiet", action="store_true", help="print errors and warnings only")
    parser.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    require("mujoco", "mujoco", "dual-arm")
    require("matplotlib", "plot", "dual-arm")
    require("scipy", "geometry", "dual-arm")
    from sapwood.studies.dual_arm.run import run

    out: Path = arguments.out
    options = {"out": out, "progress": not arguments.quiet, "tolerance": arguments.tolerance}
    try:
        runs = [
            run(arguments.task, friction=arguments.friction, fields=arguments.fields, **options)
        ]
        if arguments.compare is not None and runs[0].failure != "interrupted":
            runs.append(run(arguments.task, solver=arguments.compare, **options))
        written = [each.csv for each in runs] + _pictures(runs[0], arguments)
    except OSError as error:
        raise CommandError(f"cannot write to {out}: {one_line(error)}") from None
    if not arguments.quiet:
        print(_report(runs))
        print("written: " + ", ".join(map(str, written)))
    for each in runs:
        if each.failure is not None:
            tell(f"error: {each.solver}: {each.failure}")
    if any(each.failure == "interrupted" for each in runs):
        return INTERRUPTED
    return SUCCESS if runs[0].success else FAILURE


def _pictures(result: TaskRun, arguments: argparse.Namespace) -> list[Path]:
    """Draw what there is to draw; a machine that cannot is told why and is no failure."""
    from sapwood.rendering import RenderingError
    from sapwood.studies.plotting.dual_arm import keyframes_figure, task_figure

    written: list[Path] = []
    if result.csv is not None and result.steps.size:
        written.append(arguments.out / "dual_arm.png")
        task_figure(result.csv, written[0])
    if arguments.no_picture or result.failure:
        return written
    chosen = [frame for frame in result.frames if frame.phase in KEYFRAMES]
    # a repeated name counts by its last
    last = {frame.phase: frame for frame in chosen}
    path = arguments.out / "dual_arm_keyframes.png"
    try:
        keyframes_figure(
            result.model,
            [(f"{frame.phase}, {frame.time:.1f} s", frame.qpos) for frame in last.values()],
            path,
        )
    except RenderingError as error:
        tell(f"no pictures: {error}")
        return written
    return [*written, path]


def _report(runs: Sequence[TaskRun]) -> str:
    """Lay the runs side by side."""
    columns = [_column(each) for each in runs]
    lines = [" " * 30 + "".join(f"{each.solver:>18}" for each in runs)]
    lines += [
        f"{name:<30}" + "".join(f"{column[name]:>18}" for column in columns) for name in columns[0]
    ]
    return "\n".join(lines)


def _column(result: TaskRun) -> dict[str, str]:
    """One run as words."""
    steps, end = result.steps, result.outcome
    if not steps.size:
        return {"steps": "0"}
    stepping = steps["step_time"].sum()
    return {
        "task done": "yes" if result.success else "no",
        "marbles in the bowl": f"{end.marbles} of 16",
        "lid on the jar": f"{_yes(end.lid_on)}, {1e3 * end.lid_offset:.1f} mm off",
        "jar back and upright": f"{_yes(end.jar_back)}, {1e3 * end.jar_offset:.1f} mm off",
        "steps": f"{len(steps)}",
        "simulated time": f"{steps['time'][-1]:.4g} s",
        "CPU time": f"{result.cpu_time:.4g} s",
        "wall time": f"{result.wall_time:.4g} s",
        "  of it in steps": f"{stepping:.4g} s",
        "  of it in the solver": f"{steps['solver_time'].sum():.4g} s",
        "  of it in the controllers": f"{steps['control_time'].sum():.4g} s",
        "contacts, mean": f"{steps['contacts'].mean():.4g}",
        "contacts, most": f"{steps['contacts'].max()}",
        "iterations per step, mean": f"{steps['iterations'].mean():.3g}",
        "iterations per step, most": f"{steps['iterations'].max()}",
        "momentum error e_m, mean": f"{steps['momentum_error'].mean():.1e}",
        "momentum error e_m, largest": f"{steps['momentum_error'].max():.1e}",
    }


def _yes(true: bool) -> str:
    return "yes" if true else "no"
