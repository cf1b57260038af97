"""The command of the question about soft bodies."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import soft
from benchmarks.arguments import FAILURE, SUCCESS, CommandError, begin, new_question
from sapwood.base.files import write_file


def add(commands: Any) -> None:
    """Add the parser to the subparsers of the command line."""
    question = new_question(
        commands,
        "soft",
        "do soft bodies move as Drake's?",
        "Repeats recorded runs of Drake's deformable bodies and compares positions, momenta and "
        "forces by a rule for each kind of scene. Writes soft.csv, soft.txt (the table) and "
        "soft.json (the machine); exits with 1 where a rule is broken.",
    )
    question.add_argument(
        "--drake", type=Path, required=True, metavar="FOLDER", help="folder of recorded runs"
    )
    question.add_argument("--files", default="*.npz", metavar="GLOB", help="which of them")
    question.set_defaults(command=_soft)


def _soft(arguments: argparse.Namespace) -> int:
    files = sorted(arguments.drake.glob(arguments.files))
    if not files:
        raise CommandError(f"{arguments.drake} holds no {arguments.files}")
    if arguments.quick:
        files = files[:2]
    target, _ = begin(arguments, "soft", {"files": arguments.files})
    rows: list[soft.Row] = []
    for path in files:
        reason = soft.Run(path).reason
        if reason:
            print(f"skipped: {path.stem} ({reason})", file=sys.stderr)
            continue
        begun = time.perf_counter()
        rows += soft.replay(path)
        print(f"{path.stem}: {time.perf_counter() - begun:.1f} s", flush=True)
    soft.write(target.with_suffix(".csv"), rows)
    text = soft.table(rows)
    write_file(target.with_suffix(".txt"), text + "\n")
    print(f"\n{text}")
    return SUCCESS if all(row.holds for row in rows) else FAILURE
