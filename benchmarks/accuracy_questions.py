"""The command of the question about steps to an accuracy."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from benchmarks.arguments import (
    begin,
    carry_out,
    needs,
    new_question,
    print_facts,
    publish,
    whole,
)


def add(commands: Any) -> None:
    """Add the parser of the question to the subparsers of the command line."""
    question = new_question(
        commands,
        "accuracy",
        "what an accuracy costs, by steps of one length and by parts with error control",
        "Error of positions against CPU time in five scenes with finite stiffness: steps of one "
        "length, and `Stepper.run(..., accuracy=)`. Writes accuracy.csv, accuracy.txt (the table), "
        "accuracy.png and accuracy.json (the machine).",
    )
    question.add_argument("--repeat", type=whole, default=5, help="runs, of which the least time")
    question.set_defaults(command=_accuracy)


def _accuracy(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import accuracy, rows
    plan = accuracy.Plan(repeat=arguments.repeat)
    if arguments.quick:
        plan = accuracy.Plan(
            scenes=("ball that bounces",),
            accuracies=(1e-2, 1e-4),
            time_steps=(1e-2, 1e-3),
            reference_step=1e-5,
            repeat=1,
        )
    target, facts = begin(arguments, "accuracy", dataclasses.asdict(plan))
    print_facts(facts)
    path = target.with_suffix(".csv")
    code = carry_out(
        "accuracy", len(plan.scenes), lambda progress: accuracy.run(plan, path, progress)
    )
    publish(rows.read(path, accuracy.Row), target, accuracy.table, accuracy.figure)
    return code
