"""The command of the question about rigid contact beside Pinocchio."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from benchmarks.arguments import (
    CommandError,
    begin,
    carry_out,
    needs,
    new_question,
    print_facts,
    whole,
    write_table,
)
from sapwood.base.optional import install_command


def add(commands: Any) -> None:
    """Add the parser of the question to the subparsers of the command line."""
    question = new_question(
        commands,
        "pinocchio",
        "how many rigid problems are solved, and how fast, beside Pinocchio",
        "Robots on redundant contacts and piles, made from models of Pinocchio, for R/w of 1e-3, "
        "1e-6 and 1e-9: problems solved by us, by ADMM and by PGS, and time. Writes pinocchio.csv, "
        "pinocchio.txt (the table) and pinocchio.json (the machine).",
    )
    question.add_argument("--repeat", type=whole, default=5, help="samples of each solver")
    question.add_argument(
        "--most-iterations", type=whole, default=20000, help="of each solver of Pinocchio"
    )
    question.set_defaults(command=_pinocchio)


def _pinocchio(arguments: argparse.Namespace) -> int:
    with needs("pinocchio"):
        from benchmarks import pinocchio, rows
    plan = pinocchio.Plan(repeat=arguments.repeat, most_iterations=arguments.most_iterations)
    if arguments.quick:
        plan = dataclasses.replace(
            plan, problems=("solo12 slides", "pile 0"), repeat=1, most_iterations=200
        )
    target, facts = begin(arguments, "pinocchio", dataclasses.asdict(plan))
    print_facts(facts)
    path = target.with_suffix(".csv")
    try:
        code = carry_out(
            "pinocchio",
            len(plan.problems),
            lambda progress: pinocchio.run(plan, path, progress),
        )
    except FileNotFoundError as error:
        raise CommandError(f"{error}: {install_command('pinocchio')}") from error
    write_table(pinocchio.table(rows.read(path, pinocchio.Row)), target.with_suffix(".txt"))
    return code
