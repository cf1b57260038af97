"""The command of the question about derivatives."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from benchmarks.arguments import (
    SUCCESS,
    CommandError,
    add_files,
    begin,
    carry_out,
    draw,
    files_of,
    needs,
    new_question,
    print_facts,
    whole,
    write_table,
)
from benchmarks.native import BuildError, Native

if TYPE_CHECKING:
    from benchmarks import derivatives, differences


def add(commands: Any) -> None:
    """Add the parser to the subparsers of the command line."""
    question = new_question(
        commands,
        "derivatives",
        "time of a gradient beside a Newton iteration",
        "Time of a gradient of a solution beside a Newton iteration, on the problem files of a "
        "folder with more than 20 contacts; and how far gradients and directional derivatives are "
        "from central differences. Builds a small library with CMake. Writes derivatives.csv, "
        "derivatives_differences.csv, derivatives.txt (tables and histogram), derivatives.png and "
        "derivatives.json (the machine).",
    )
    add_files(question)
    question.add_argument("--repeat", type=whole, default=30, help="samples of each")
    question.add_argument("--changes", type=whole, default=5, help="random changes of a file")
    question.set_defaults(command=_derivatives)


def _derivatives(arguments: argparse.Namespace) -> int:
    with needs("bench"):
        from benchmarks import derivatives, derivatives_report, differences
    files = files_of(arguments)
    if arguments.quick:
        files, arguments.repeat, arguments.changes = files[:3], 2, 1
    names = ("files", "repeat", "changes")
    settings = {name: getattr(arguments, name) for name in names}
    target, facts = begin(arguments, "derivatives", settings)
    print_facts(facts)
    try:
        native = Native()
    except BuildError as error:
        raise CommandError(f"the compiled part cannot be built: {error}") from error
    rows: list[derivatives.Row] = []
    code = carry_out(
        "derivatives",
        len(files),
        lambda progress: rows.extend(
            derivatives.run(files, native, arguments.repeat, target.with_suffix(".csv"), progress)
        ),
    )
    if not rows:
        raise CommandError("no file has more than 20 contacts")
    found: list[differences.Row] = []
    if code == SUCCESS:
        path = target.with_name("derivatives_differences.csv")
        code = carry_out(
            "differences",
            len(files),
            lambda progress: found.extend(
                differences.run(files, arguments.changes, path, progress)
            ),
        )
    texts = [derivatives_report.table(rows)]
    if found:
        texts += [derivatives_report.histogram(found), derivatives_report.reaches(found)]
        draw(derivatives_report.figure, rows, found, target.with_suffix(".png"))
    write_table("\n\n".join(texts), target.with_suffix(".txt"))
    return code
