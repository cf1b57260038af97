"""``sapwood simulate``: any MJCF or URDF for some seconds, with a table, pictures and files."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapwood.cli.command import (
    FAILURE,
    INTERRUPTED,
    SUCCESS,
    CommandError,
    HelpFormatter,
    number,
    one_line,
    require,
    tell,
)
from sapwood.cli.models import add_model, control, load
from sapwood.cli.soft import add_soft, soft_bodies

if TYPE_CHECKING:
    import mujoco

    from sapwood.mujoco import Stepper
    from sapwood.studies.experiments.simulate import SimulatedRun

_MOST_STEPS = 1e9
_FRAMES = 25  # states of soft bodies that are written, 1/s


def add(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "simulate",
        help="simulate a model for some seconds",
        description="Simulate a model, measure every step, and write steps.csv, motion.csv, a "
        "figure of the steps and a picture of the last one; with a soft body soft.pvd, which "
        "ParaView opens.",
        formatter_class=HelpFormatter,
    )
    add_model(parser)
    positive = number(float, "> 0", lambda x: x > 0)
    parser.add_argument("--seconds", type=positive, default=5.0, help="time to simulate, s")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for the files")
    parser.add_argument("--video", action="store_true", help="write video.mp4 too")
    parser.add_argument("--view", action="store_true", help="show it in the browser meanwhile")
    parser.add_argument("--no-picture", action="store_true", help="do not draw the final scene")
    parser.add_argument("--quiet", action="store_true", help="print errors and warnings only")
    add_soft(parser)
    parser.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    require("mujoco", "mujoco", "sapwood simulate")
    require("matplotlib", "plot", "sapwood simulate")
    if arguments.video:
        require("imageio_ffmpeg", "video", "sapwood simulate --video")
    if arguments.view:
        require("viser", "viewer", "sapwood simulate --view")
    from sapwood.studies.experiments.simulate import simulate, write_motion
    from sapwood.studies.plotting import step_figure

    soft = soft_bodies(arguments)
    stepper, data = load(arguments, soft)
    if stepper.model.nv == 0 and not soft:
        raise CommandError(f"{arguments.model}: nothing in it moves")
    if arguments.seconds / stepper.time_step > _MOST_STEPS:
        raise CommandError(
            f"--seconds {arguments.seconds:g}: more than {_MOST_STEPS:g} steps of "
            f"{stepper.time_step:g} s"
        )
    drive = control(arguments, stepper.model)
    out: Path = arguments.out
    title = f"{arguments.model.name}, dt = {1e3 * stepper.time_step:g} ms"
    try:
        out.mkdir(parents=True, exist_ok=True)
        with _viewer(arguments, stepper, data) as viewer:
            run = simulate(
                stepper, data, arguments.seconds, control=drive, csv_file=out / "steps.csv",
                after_step=_after_step(stepper, viewer, out),
                progress=not arguments.quiet,
            )  # fmt: skip
        write_motion(run, stepper.model, out / "motion.csv")
        written = [out / "steps.csv", out / "motion.csv"]
        written += [out / "soft.pvd"] if soft else []
        if len(run.steps):
            step_figure({"sapwood": out / "steps.csv"}, out / "steps.png", title=title)
            written.append(out / "steps.png")
        if not (run.interrupted or run.failure):
            written += _pictures(arguments, run, stepper.model)
    except OSError as error:
        raise CommandError(f"cannot write to {out}: {one_line(error)}") from None
    if not arguments.quiet:
        _report(title, run, written)
    if run.failure is not None:
        tell(f"error: {run.failure}")
        return FAILURE
    if run.interrupted:
        tell("interrupted; what was simulated is kept")
        return INTERRUPTED
    # an answer that is not accurate is a failure of the run; stalling at round-off is not
    outcomes = set(run.steps["status"].tolist()) - {"converged", "stalled"}
    return FAILURE if outcomes else SUCCESS


def _after_step(stepper: Stepper, viewer: Any, out: Path) -> Callable[[mujoco.MjData], None]:
    """Show each step, and write the soft bodies at the frames of a film."""
    from sapwood.fem import SeriesWriter

    series = SeriesWriter(out / "soft.pvd", stepper.soft) if stepper.soft else None
    every = max(1, round(1 / (_FRAMES * stepper.time_step)))

    def after_step(data: mujoco.MjData) -> None:
        if viewer is not None:
            viewer.sync()
        if series is not None and stepper.steps % every == 0:
            series.write(data.time)

    return after_step


def _viewer(arguments: argparse.Namespace, stepper: Any, data: mujoco.MjData) -> Any:
    """The page of the run, or nothing."""
    if not arguments.view:
        return nullcontext()
    import webbrowser

    from sapwood.viewer import Viewer

    viewer = Viewer(stepper, data)
    print(viewer.url, flush=True)
    webbrowser.open(viewer.url)
    return viewer


def _pictures(
    arguments: argparse.Namespace, run: SimulatedRun, model: mujoco.MjModel
) -> list[Path]:
    """Draw the final scene, and all of them; a machine that cannot is told why."""
    from sapwood.rendering import RenderingError, render_scene, render_video

    out: Path = arguments.out
    written = []
    try:
        if not arguments.no_picture:
            render_scene(model, run.qpos[-1], out / "scene.png")
            written.append(out / "scene.png")
        if arguments.video:
            render_video(model, run.times, run.qpos, out / "video.mp4")
            written.append(out / "video.mp4")
    except RenderingError as error:
        tell(f"no picture: {error}")
    return written


def _report(title: str, run: SimulatedRun, written: list[Path]) -> None:
    from sapwood.studies.experiments.simulate import summary

    print(title)
    for name, words in summary(run).items():
        print(f"{name:<30}{words:>22}")
    print("written: " + ", ".join(map(str, written)))
