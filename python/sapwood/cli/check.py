"""``sapwood check``: whether models can be simulated, and what stands in the way."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapwood.cli.command import FAILURE, SUCCESS, one_line, require, tell

if TYPE_CHECKING:
    from sapwood.mujoco.report import Report


def add(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "check",
        help="say whether MuJoCo models can be simulated",
        description="Say of models whether sapwood.mujoco.Stepper takes them: all reasons why not, "
        "each with a way around it, and what is done in another way than MuJoCo does it. Exit "
        "status 1 where one of them is refused or cannot be read.",
    )
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILES",
        help="models: MJCF or URDF, .mjb, or .mjb.xz",
    )
    parser.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    require("mujoco", "mujoco", "sapwood check")
    from sapwood.mujoco.report import load_model, report

    failed = False
    for path in arguments.files:
        try:
            found = report(load_model(path))
        except (OSError, ValueError) as error:
            tell(f"error: {path}: {one_line(error)}")
            failed = True
            continue
        failed |= bool(found.reasons)
        _print(path, found)
    return FAILURE if failed else SUCCESS


def _print(path: Path, found: Report) -> None:
    print(f"{path}: {'refused' if found.reasons else 'runs'}")
    for reason in found.reasons:
        print(f"  refused: {reason}")
    for warning in found.warnings:
        print(f"  warning: {warning}")
