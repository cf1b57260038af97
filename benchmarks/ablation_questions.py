"""The command of the question about what each piece brings."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.arguments import (
    CommandError,
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
        "ablation",
        "what each piece that makes steps faster brings",
        "Builds the working tree without one piece after the other (benchmarks/ablation.toml) and "
        "times steps of models beside the whole. Writes ablation.txt (the table), a CSV file per "
        "piece and ablation.json (the machine).",
    )
    add_models(question, steps=200)
    question.add_argument(
        "--piece", action="append", default=[], metavar="NAME", help="this one; may be repeated"
    )
    question.add_argument("--blocks", type=whole, default=3, help="of two visits each")
    question.set_defaults(command=_ablation)


def _ablation(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import ablation
    from benchmarks.revisions import SideError

    found = models_of(arguments)
    try:
        chosen = ablation.pieces(arguments.piece)
    except ValueError as error:
        raise CommandError(f"--piece: {error}") from error
    if arguments.quick:
        chosen, found, arguments.steps, arguments.blocks = chosen[:1], found[:2], 20, 1
    options = ("match", "steps", "limit", "blocks")
    target, facts = begin(
        arguments, "ablation", {name: getattr(arguments, name) for name in options}
    )
    print_facts(facts)
    measured: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="sapwood-ablation-") as builds:
        settings = (arguments.steps, arguments.limit, arguments.blocks)
        try:
            code = carry_out(
                "ablation",
                len(found) * len(chosen),
                lambda progress: ablation.measure(
                    chosen, found, Path(builds), arguments.out, settings, measured, progress
                ),
            )
        except (SideError, ValueError) as error:
            raise CommandError(str(error)) from error
    write_table(ablation.tables(chosen, measured), target.with_suffix(".txt"))
    return code
