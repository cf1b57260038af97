"""``sapwood clutter``: the clutter of section X-C."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapwood.cli.command import (
    FAILURE,
    INTERRUPTED,
    SUCCESS,
    CommandError,
    HelpFormatter,
    add_line_search,
    number,
    one_line,
    require,
    tell,
    tolerance,
)

if TYPE_CHECKING:
    from sapwood.studies.experiments.clutter import ClutterRun


def add(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "clutter",
        help="drop bodies into a box or onto open floor",
        description="Drop four columns of spheres and boxes into a box or onto open floor, "
        "measure every step and draw the results.",
        formatter_class=HelpFormatter,
    )
    positive = number(float, "> 0", lambda x: x > 0)
    parser.add_argument(
        "--bodies", type=number(int, ">= 1", lambda n: n >= 1), default=40, help="number of bodies"
    )
    parser.add_argument(
        "--walls", action=argparse.BooleanOptionalAction, default=True, help="put walls round them"
    )
    parser.add_argument("--seconds", type=positive, default=10.0, help="time to simulate, s")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        help="folder for the CSV, the figure, the picture",
    )
    parser.add_argument(
        "--seed",
        type=number(int, ">= 0", lambda n: n >= 0),
        default=0,
        help="choice of the bodies",
    )
    parser.add_argument("--dt", type=positive, default=0.01, help="time step and tau_d, s")
    parser.add_argument("--sigma", type=positive, default=1e-3, help="friction regularization")
    parser.add_argument(
        "--beta",
        type=number(float, ">= 0", lambda x: x >= 0),
        default=1.0,
        help="near-rigid regularization",
    )
    parser.add_argument(
        "--tolerance",
        type=tolerance(),
        default=1e-5,
        help="relative tolerance; the paper's for this scene",
    )
    add_line_search(parser)
    parser.add_argument(
        "--islands",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="solve groups that do not touch one by one",
    )
    parser.add_argument(
        "--compare", choices=("mujoco",), help="run the scene by this solver too, side by side"
    )
    parser.add_argument(
        "--no-picture", action="store_true", help="do not draw a picture of the final scene"
    )
    parser.add_argument("--quiet", action="store_true", help="print errors and warnings only")
    parser.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    require("mujoco", "mujoco", "clutter")
    require("matplotlib", "plot", "clutter")
    from sapwood.studies.experiments import clutter

    out: Path = arguments.out
    names = [field.name for field in fields(clutter.ClutterParameters)]
    options = {name: getattr(arguments, name) for name in names}
    try:
        clutter.ClutterParameters(**options)
    except ValueError as error:
        raise CommandError(str(error)) from None
    try:
        result = clutter.run(
            **options, compare=arguments.compare, out=out, progress=not arguments.quiet
        )
    except OSError as error:
        raise CommandError(f"cannot write to {out}: {one_line(error)}") from None

    runs = [result] if result.compared is None else [result, result.compared]
    interrupted = any(each.interrupted for each in runs)
    written = [each.csv for each in runs] + [out / "summary.json"]
    try:
        if result.steps.size:
            written.append(_figure(runs, out / "steps.png"))
        if not (interrupted or arguments.no_picture or result.failure):
            written += _picture(result, out / "scene.png")
    except OSError as error:
        raise CommandError(f"cannot write to {out}: {one_line(error)}") from None
    if not arguments.quiet:
        print(_report(runs))
        print("written: " + ", ".join(map(str, written)))

    for each in runs:
        for warning in _warnings(each):
            tell(f"warning: {each.solver}: {warning}")
        if each.failure is not None:
            tell(f"error: {each.solver}: {each.failure}")
    if interrupted:
        tell("interrupted; what was simulated is kept")
        return INTERRUPTED
    # an answer that is not accurate is a failure of the run; stalling at round-off is not
    outcomes = set(result.steps["status"].tolist()) - {"converged", "stalled"}
    return FAILURE if outcomes or result.failure is not None else SUCCESS


def _title(result: ClutterRun) -> str:
    """One line that says what was simulated."""
    p = result.parameters
    place = "in the box" if p.walls else "on open floor"
    return f"clutter: {p.bodies} bodies {place}, dt = {1e3 * p.dt:g} ms, seed {p.seed}"


def _figure(runs: list[ClutterRun], path: Path) -> Path:
    from sapwood.studies.plotting import step_figure

    files = {each.solver: each.csv for each in runs if each.csv is not None}
    step_figure(files, path, title=_title(runs[0]))
    return path


def _picture(result: ClutterRun, path: Path) -> list[Path]:
    """Draw the final scene; a machine that cannot is told why and is no failure."""
    from sapwood.rendering import RenderingError, render_scene

    try:
        render_scene(result.model, result.qpos, path)
    except RenderingError as error:
        tell(f"no picture: {error}")
        return []
    return [path]


def _warnings(result: ClutterRun) -> list[str]:
    """The fault of the final state although every step was taken."""
    p, s = result.parameters, result.summary
    outside = 0 if s is None or not p.walls else p.bodies - s.bodies_inside
    if outside == 0:
        return []
    return [f"{outside} {'body' if outside == 1 else 'bodies'} left the box"]


def _report(runs: list[ClutterRun]) -> str:
    """Lay the summaries of one or two runs side by side."""
    columns = [_column(each) for each in runs]
    names = list(dict.fromkeys(name for column in columns for name in column))
    lines = [_title(runs[0]), " " * 30 + "".join(f"{each.solver:>22}" for each in runs)]
    lines += [f"{name:<30}" + "".join(f"{c.get(name, '-'):>22}" for c in columns) for name in names]
    if len(runs) > 1:
        lines.append("the runs drift apart, see docs/how-to/clutter.md")
    return "\n".join(lines)


def _column(result: ClutterRun) -> dict[str, str]:
    """Return the summary of one run as words."""
    from sapwood.studies.experiments.measured_steps import words_at_the_end, words_of

    p, s = result.parameters, result.summary
    if s is None:
        return {"steps": f"0 of {p.n_steps}"}
    inside = "bodies inside" if p.walls else "bodies above the floor"
    column = {
        **words_of(result.steps, p.n_steps, s.simulated_time, s.wall_time),
        inside: f"{s.bodies_inside} of {p.bodies}",
        **words_at_the_end(result.steps),
    }
    if s.resting is not None:
        rest = s.resting
        column |= {
            "  sigma mu dt g": f"{1e6 * rest.slip_bound:.4g} um/s",
            "loaded contacts at rest": f"{rest.resting_contacts} of {rest.loaded_contacts}",
            "  deepest of these": f"{1e6 * rest.max_penetration:.4g} um",
            "  estimate for its load": f"{1e6 * rest.estimate:.4g} um",
            "  its load, in weights": f"{rest.load:.4g}",
            "  largest penetration/estimate": f"{rest.largest_ratio:.4g}",
        }
    return column
