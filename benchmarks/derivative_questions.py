"""The command of the question about derivatives."""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks import derivatives
from benchmarks.arguments import (
    CommandError,
    add_files,
    begin,
    carry_out,
    files_of,
    new_question,
    print_facts,
    whole,
    write_table,
)


def add(commands: Any) -> None:
    """Add the parser to the subparsers of the command line."""
    question = new_question(
        commands,
        "derivatives",
        "time of a gradient beside a Newton iteration",
        "Time of a gradient of a solution beside a Newton iteration, on the problem files of a "
        "folder with more than 20 contacts. Writes derivatives.csv, derivatives.txt (the table) "
        "and derivatives.json (the machine).",
    )
    add_files(question)
    question.add_argument("--repeat", type=whole, default=30, help="samples of each")
    question.set_defaults(command=_derivatives)


def _derivatives(arguments: argparse.Namespace) -> int:
    files = files_of(arguments)
    if arguments.quick:
        files, arguments.repeat = files[:3], 2
    settings = {"files": arguments.files, "repeat": arguments.repeat}
    target, facts = begin(arguments, "derivatives", settings)
    print_facts(facts)
    rows: list[derivatives.Row] = []
    code = carry_out(
        "derivatives",
        len(files),
        lambda progress: rows.extend(
            derivatives.run(files, arguments.repeat, target.with_suffix(".csv"), progress)
        ),
    )
    if not rows:
        raise CommandError("no file has more than 20 contacts")
    write_table(derivatives.table(rows), target.with_suffix(".txt"))
    return code
