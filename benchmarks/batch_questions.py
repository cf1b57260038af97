"""The command of the question about batches."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.arguments import (
    add_models,
    begin,
    carry_out,
    models_of,
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
        "batch",
        "what a step of a batch costs, ours and that of mujoco.batch",
        "CPU time per world and substep in a closed loop over many worlds, ours and by "
        "mujoco.batch, and the cost of a call, of fields that differ between worlds, of set_const "
        "and of resets. Models that are not supported are named. Writes batch.csv, batch.txt (the "
        "table) and batch.json (the machine).",
    )
    add_models(question, steps=20)
    question.add_argument("--every", type=whole, default=6, metavar="N", help="every N-th model")
    question.add_argument("--worlds", type=whole, default=256, help="worlds of a batch")
    question.add_argument("--substeps", type=whole, default=4, help="substeps of a call")
    question.add_argument("--threads", type=whole, default=1, help="threads of a batch")
    question.add_argument("--repeat", type=whole, default=5, help="samples, of which the least")
    question.set_defaults(command=_batch)


def _batch(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import batch, rows
    paths = models_of(arguments)[:: arguments.every]
    if arguments.quick:
        paths, arguments.worlds, arguments.steps, arguments.repeat = paths[:1], 4, 2, 1
    options = ("worlds", "substeps", "threads", "steps", "repeat", "every")
    target, facts = begin(arguments, "batch", {name: getattr(arguments, name) for name in options})
    print_facts(facts)
    measured: list[batch.Row] = []

    def measure(progress: Callable[[str], None]) -> None:
        with rows.Table(target.with_suffix(".csv"), batch.Row) as table:
            for path in paths:
                try:
                    row = batch.measure(
                        path,
                        arguments.worlds,
                        arguments.substeps,
                        arguments.threads,
                        arguments.steps,
                        arguments.repeat,
                    )
                except Exception as error:  # models provoke many kinds
                    print(f"skipped: {path.name} ({error})", file=sys.stderr)
                else:
                    table.add(row)
                    measured.append(row)
                progress(path.name)

    code = carry_out("batch", len(paths), measure)
    if measured:
        write_table(rows.aligned(batch.table(measured)), target.with_suffix(".txt"))
    return code
