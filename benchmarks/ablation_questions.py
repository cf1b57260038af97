"""The commands of the questions about what each piece brings, to steps and to the solver."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.arguments import (
    CommandError,
    add_files,
    add_models,
    begin,
    carry_out,
    files_of,
    models_of,
    needs,
    new_question,
    print_facts,
    whole,
    write_table,
)


def add(commands: Any) -> None:
    """Add the parsers of both questions to the subparsers of the command line."""
    _add_ablation(commands)
    question = new_question(
        commands,
        "variants",
        "Newton iterations of the printed algorithm, and with each piece of the defaults",
        "Newton iterations on problem files of the printed algorithm, and with each piece that the "
        "defaults add to it. Writes variants.txt and variants.json (the machine).",
    )
    add_files(question)
    question.set_defaults(command=_variants)


def _variants(arguments: argparse.Namespace) -> int:
    from benchmarks import variants

    files = files_of(arguments)[: 5 if arguments.quick else None]
    target, facts = begin(arguments, "variants", {"files": arguments.files})
    print_facts(facts)
    found: dict[str, list[int]] = {}
    code = carry_out(
        "variants", len(files), lambda progress: found.update(variants.run(files, progress))
    )
    if found:
        write_table(variants.table(found), target.with_suffix(".txt"))
    return code


def _add_ablation(commands: Any) -> None:
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
