"""``sapwood info``: the installed versions."""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import sapwood
from sapwood.cli.command import SUCCESS


def add(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "info", help="versions of what is installed", description="Print what is installed."
    )
    parser.set_defaults(command=_run)


def _run(_arguments: argparse.Namespace) -> int:
    print(f"sapwood          {sapwood.__version__}")
    print(f"python           {sys.version.split()[0]}")
    for package in ("numpy", "mujoco", "matplotlib", "tqdm", "viser"):
        try:
            print(f"{package:<16} {version(package)}")
        except PackageNotFoundError:
            print(f"{package:<16} not installed")
    return SUCCESS
