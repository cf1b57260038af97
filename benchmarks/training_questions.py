"""The command of the question about training."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import pages
from benchmarks.arguments import (
    RESULTS,
    begin,
    carry_out,
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
        "training",
        "how fast a policy learns to walk, over our batches and over mujoco.batch",
        "Trains the quadruped of examples/train_walker.py with some seeds over both engines, one "
        "thread each, until it walks, and lets both judge every policy: some minutes a run. A run "
        "whose files lie in the folder of --work is kept. Writes training.csv, training.txt (the "
        "table), training.png (learning curves) and training.json (the machine); and where results "
        "go to benchmarks/results, the table of docs/tutorials/batch_training.md and its picture.",
    )
    question.add_argument("--seeds", type=whole, default=3, metavar="N", help="seeds 1 to N")
    question.add_argument(
        "--work", type=Path, default=Path("build/training"), metavar="DIR", help="for the runs"
    )
    question.set_defaults(command=_training)


def _training(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import rows, training
    options: list[str] = []
    if arguments.quick:
        arguments.seeds = 1
        options = ["--worlds", "8", "--horizon", "8", "--iterations", "2"]
    folder: Path = arguments.work
    folder.mkdir(parents=True, exist_ok=True)
    target, facts = begin(arguments, "training", {"seeds": arguments.seeds})
    print_facts(facts)
    runs = [(engine, seed) for seed in range(1, arguments.seeds + 1) for engine in training.ENGINES]
    measured: list[training.Row] = []

    def measure(progress: Callable[[str], None]) -> None:
        with rows.Table(target.with_suffix(".csv"), training.Row) as table:
            for engine, seed in runs:
                measured.append(training.measure(folder, engine, seed, options))
                table.add(measured[-1])
                progress(f"{engine}, seed {seed}")

    code = carry_out("training", len(runs), measure)
    measured.sort(key=lambda row: list(training.ENGINES).index(row.engine))
    text = training.table(measured)
    write_table(rows.aligned(text), target.with_suffix(".txt"))
    training.figure(measured, folder, target.with_suffix(".png"))
    if arguments.out.resolve() == RESULTS.resolve():
        page = pages.DOCS / "tutorials/batch_training.md"
        pages.renew(page, "training", pages.markdown(text))
    return code
