"""The command of the question about environments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import pages
from benchmarks.arguments import (
    RESULTS,
    CommandError,
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
        "environments",
        "returns of environments of Gymnasium and dm_control, patched and by mj_step",
        "The same random actions in environments as they are and patched. Those whose package is "
        "not installed, or does not go with this MuJoCo, are named and keep their old rows. Writes "
        "environments.csv, environments.txt (the table) and environments.json (the machine); and "
        "where results go to benchmarks/results, the table of docs/development/environments.md.",
    )
    question.add_argument("--match", default="", metavar="TEXT", help="those with it in the name")
    question.add_argument("--steps", type=whole, default=1000, help="actions")
    question.add_argument("--seed", type=int, default=1, help="of actions and resets")
    question.set_defaults(command=_environments)


def _environments(arguments: argparse.Namespace) -> int:
    with needs("environments"):
        from benchmarks import environments, rows
    if arguments.quick:
        arguments.match, arguments.steps = arguments.match or "Hopper", 5
    names = [name for name in environments.NAMES if arguments.match in name]
    if not names:
        raise CommandError(f"--match: none of {', '.join(environments.NAMES)}")
    path: Path = arguments.out / "environments.csv"
    before = rows.read(path, environments.Row) if path.exists() else []
    target, facts = begin(
        arguments, "environments", {name: getattr(arguments, name) for name in ("steps", "seed")}
    )
    print_facts(facts)
    measured: list[environments.Row] = []

    def measure(progress: Callable[[str], None]) -> None:
        for name in names:
            try:
                measured.append(environments.measure(name, arguments.steps, arguments.seed))
            except Exception as error:  # of many kinds, as the packages raise them
                print(f"skipped: {name} ({type(error).__name__}: {error})", file=sys.stderr)
            progress(name)

    code = carry_out("environments", len(names), measure)
    kept = environments.merged(before, measured)
    with rows.Table(path, environments.Row) as table:
        for row in kept:
            table.add(row)
    text = environments.table(kept)
    write_table(rows.aligned(text), target.with_suffix(".txt"))
    if arguments.out.resolve() == RESULTS.resolve():
        pages.renew(
            pages.DOCS / "development/environments.md", "environments", pages.markdown(text)
        )
    return code
