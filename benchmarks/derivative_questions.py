"""The command of the question about derivatives."""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks import derivatives
from benchmarks.arguments import (
    SUCCESS,
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
        "folder with more than 20 contacts; and how far gradients and directional derivatives are "
        "from central differences, as a histogram. Writes derivatives.csv, derivatives.txt (table "
        "and histogram) and derivatives.json (the machine).",
    )
    add_files(question)
    question.add_argument("--repeat", type=whole, default=30, help="samples of each")
    question.add_argument("--changes", type=whole, default=5, help="random changes of a file")
    question.set_defaults(command=_derivatives)


def _derivatives(arguments: argparse.Namespace) -> int:
    files = files_of(arguments)
    if arguments.quick:
        files, arguments.repeat, arguments.changes = files[:3], 2, 1
    names = ("files", "repeat", "changes")
    settings = {name: getattr(arguments, name) for name in names}
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
    texts = [derivatives.table(rows)]
    if code == SUCCESS:
        code = carry_out(
            "differences",
            len(files),
            lambda progress: texts.append(
                derivatives.histogram(files, arguments.changes, progress)
            ),
        )
    write_table("\n\n".join(texts), target.with_suffix(".txt"))
    return code
