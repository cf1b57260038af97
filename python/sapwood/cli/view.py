"""``sapwood view``: a model in the browser, simulated while one looks."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapwood.cli.command import (
    FAILURE,
    SUCCESS,
    CommandError,
    HelpFormatter,
    number,
    one_line,
    require,
    tell,
)
from sapwood.cli.models import Drive, add_model, control, load
from sapwood.cli.soft import add_soft, soft_bodies

if TYPE_CHECKING:
    import mujoco

    from sapwood.mujoco import Stepper


def add(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "view",
        help="simulate a model in the browser",
        description="Simulate a model in the browser until Ctrl-C: play, pause, step, the time "
        "that was recorded, contact forces as arrows; Ctrl and the mouse pull at bodies. With "
        "--html, simulate for some seconds and write a page that opens without a network.",
        formatter_class=HelpFormatter,
    )
    add_model(parser)
    add_soft(parser)
    parser.add_argument("--paused", action="store_true", help="wait for Play")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve at")
    parser.add_argument(
        "--port",
        type=number(int, ">= 0 and < 65536", lambda n: 0 <= n < 65536),
        default=8080,
        help="port to serve at, or the next free one",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, but open no browser"
    )
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a recording to this file, and serve none"
    )
    parser.add_argument(
        "--seconds",
        type=number(float, "> 0", lambda x: x > 0),
        default=5.0,
        help="simulated time of that recording, s",
    )
    parser.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    require("mujoco", "mujoco", "sapwood view")
    require("viser", "viewer", "sapwood view")
    from sapwood.mujoco import StepError

    stepper, data = load(arguments, soft_bodies(arguments))
    drive = control(arguments, stepper.model)
    try:
        if arguments.html is None:
            _serve(arguments, stepper, data, drive)
        else:
            _write(arguments, stepper, data, drive)
    except StepError as error:
        tell(f"error: {error}")
        return FAILURE
    return SUCCESS


def _serve(
    arguments: argparse.Namespace, stepper: Stepper, data: mujoco.MjData, drive: Drive | None
) -> None:
    """Simulate on a page until Ctrl-C."""
    from sapwood.viewer import Viewer, view

    def opened(viewer: Viewer) -> None:
        print(f"{viewer.url}  (Ctrl-C ends)", flush=True)
        if not arguments.no_browser:
            webbrowser.open(viewer.url)

    try:
        view(
            stepper, data, control=drive, host=arguments.host, port=arguments.port,
            paused=arguments.paused, opened=opened,
        )  # fmt: skip
    except OSError as error:
        raise CommandError(f"cannot serve at {arguments.host}: {one_line(error)}") from None


def _write(
    arguments: argparse.Namespace, stepper: Stepper, data: mujoco.MjData, drive: Drive | None
) -> None:
    """Simulate for some seconds and write the recording."""
    from sapwood.viewer import record

    recording = record(stepper, data, arguments.seconds, control=drive)
    try:
        recording.save(arguments.html, title=arguments.model.stem)
    except OSError as error:
        raise CommandError(f"cannot write {arguments.html}: {error.strerror}") from None
    print(f"written: {arguments.html}")
