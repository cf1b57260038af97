"""``sapwood closed-forms``: scenes whose result is known."""

from __future__ import annotations

import argparse
from typing import Any

from sapwood.cli.command import FAILURE, SUCCESS, require


def add(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "closed-forms",
        help="check scenes whose result is known",
        description="Press bodies on a floor and between pads, and hold how deep they are against "
        "closed forms: depths over the width of the body.",
    )
    parser.add_argument("--quick", action="store_true", help="fewer time steps")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Print a table of the scenes; a scene that breaks its bound makes the exit code 1."""
    require("mujoco", "mujoco", "sapwood closed-forms")
    from sapwood.studies.closed_forms import rows

    print(f"{'measured':>10}  {'at most':>10}  scene")
    total = broken = 0
    for row in rows(arguments.quick):
        mark = "" if row.holds else "  BROKEN"
        print(f"{row.measured:10.3g}  {row.bound:10.3g}  {row.scene}{mark}")
        total, broken = total + 1, broken + (not row.holds)
    print(f"{total - broken} of {total} scenes hold")
    return FAILURE if broken else SUCCESS
