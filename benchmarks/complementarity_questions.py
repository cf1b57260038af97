"""The command of the question about complementarity problems and quadratic programs."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from benchmarks.arguments import (
    SUCCESS,
    add_folder,
    begin,
    needs,
    new_question,
    print_facts,
    whole,
    write_table,
)


def add(commands: Any) -> None:
    """Add the parser of the question to the subparsers of the command line."""
    question = new_question(
        commands,
        "lcp",
        "complementarity problems and quadratic programs: failures and times",
        "Which files each method solves, how often it fails on random contacts, and times beside "
        "other solvers. Writes lcp.txt (the tables) and lcp.json (the machine).",
    )
    add_folder(question, "folder of *.dat; by default lcp in the one that SAPWOOD_DATA names")
    question.add_argument("--count", type=whole, default=10_000, help="random problems of a class")
    question.set_defaults(command=_lcp)


def _lcp(arguments: argparse.Namespace) -> int:
    with needs("bench"):
        from benchmarks import complementarity, complementarity_speed
    count, timed, sizes = arguments.count, 200, (1, 4, 10, 20, 30)
    if arguments.quick:
        count, timed, sizes = 20, 3, (2,)
    folder = arguments.folder or Path(os.environ.get("SAPWOOD_DATA", ""), "lcp")
    target, facts = begin(arguments, "lcp", {"count": count, "sizes": sizes})
    print_facts(facts)
    lines = [
        *complementarity.of_files(folder),
        "",
        *complementarity.failure_rates(count),
        "",
        *complementarity_speed.speed(timed, sizes),
        "",
        *complementarity_speed.dense_speed(timed),
    ]
    write_table("\n".join(lines), target.with_suffix(".txt"))
    return SUCCESS
