"""The command that shows in one run that contact holds, beside another commit."""

from __future__ import annotations

import argparse
import os
from typing import Any

from benchmarks import pages, revisions
from benchmarks.arguments import (
    FAILURE,
    RESULTS,
    SUCCESS,
    CommandError,
    begin,
    carry_out,
    needs,
    new_question,
    print_facts,
    write_table,
)

PAGE = pages.DOCS / "development/measured_checks.md"


def add(commands: Any) -> None:
    """Add the parser of the question to the subparsers of the command line."""
    question = new_question(
        commands,
        "truth",
        "do piles converge, bodies rest, rigid problems end, energy and impacts hold?",
        "Piles, creep, very rigid contact, energy and impacts in one run, each figure beside its "
        "bound. Exit status 1 where a bound is missed. Writes truth.csv, truth.txt (the tables) "
        "and truth.json (the machine); where results go to benchmarks/results, the table of "
        "docs/development/measured_checks.md.",
    )
    revisions.add_arguments(question, "by default the working tree is measured alone")
    question.set_defaults(command=_truth)


def _truth(arguments: argparse.Namespace) -> int:
    if arguments.against or arguments.builds:
        with revisions.sides(arguments) as (sites, names):
            try:
                environments = {side: revisions.environment_of(sites[side]) for side in "AB"}
                return _measure(arguments, environments, names)
            except revisions.SideError as error:
                raise CommandError(str(error)) from error
    return _measure(arguments, {"B": dict(os.environ)}, {"B": "the installed package"})


def _measure(
    arguments: argparse.Namespace,
    environments: dict[str, dict[str, str]],
    names: dict[str, str],
) -> int:
    with needs("mujoco"):
        from benchmarks import rows, truth, truth_scenes
    parts = truth_scenes.parts(arguments.quick)
    target, facts = begin(arguments, "truth", {"quick": arguments.quick} | names)
    print_facts(facts)
    path = target.with_suffix(".csv")
    code = carry_out(
        "truth",
        len(parts),
        lambda progress: truth.run(environments, parts, arguments.quick, path, progress),
    )
    measured = rows.read(path, truth.Row)
    write_table(truth.text(measured, names.get("A")), target.with_suffix(".txt"))
    if code != SUCCESS:
        return code
    if arguments.out.resolve() == RESULTS.resolve():
        pages.renew(PAGE, "truth", pages.markdown(truth.counts(measured, names.get("A"))))
    return SUCCESS if all(row.holds for row in measured) else FAILURE
