"""The command of the question about piles under another commit."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from benchmarks import revisions
from benchmarks.arguments import (
    CommandError,
    begin,
    carry_out,
    new_question,
    positive,
    print_facts,
    sizes,
    whole,
    write_table,
)
from sapwood.base.optional import install_command


def add(commands: Any) -> None:
    """Add the parser of the question to the subparsers of the command line."""
    question = new_question(
        commands,
        "piles",
        "are falling piles faster than under another commit?",
        "Piles of equal bodies and of mass ratios with Coulomb's friction, by the working tree (B) "
        "and another commit (A): iterations and time per step. Writes piles.csv, piles.txt (the "
        "table) and piles.json (the machine).",
    )
    revisions.add_arguments(
        question, "by default HEAD where the sources were changed since, else HEAD~1"
    )
    question.add_argument("--bodies", type=sizes, default=[40, 100], metavar="N,N")
    question.add_argument("--mass-ratios", type=sizes, default=[1, 10, 100], metavar="N,N")
    question.add_argument("--seeds", type=whole, default=3, help="piles of each kind")
    question.add_argument("--seconds", type=positive, default=2.5, help="simulated")
    question.add_argument("--blocks", type=whole, default=3, help="of four simulations each")
    question.set_defaults(command=_piles)


def _piles(arguments: argparse.Namespace) -> int:
    try:
        from benchmarks import piles, rows
    except ImportError as error:
        raise CommandError(f"{error}: {install_command('mujoco')}") from error
    names = [field.name for field in dataclasses.fields(piles.Plan)]
    plan = piles.Plan(**{name: getattr(arguments, name) for name in names})
    if arguments.quick:
        plan = piles.Plan((8,), (1, 10), seeds=1, seconds=0.3, blocks=1)
    with revisions.sides(arguments) as (sites, built):
        target, facts = begin(arguments, "piles", dataclasses.asdict(plan) | built)
        print_facts(facts)
        path = target.with_suffix(".csv")
        try:
            code = carry_out(
                "piles",
                len(plan.piles),
                lambda progress: piles.run(sites, plan, path, progress),
            )
        except revisions.SideError as error:
            raise CommandError(str(error)) from error
    measured = rows.read(path, piles.Row)
    write_table(piles.table(measured, built["A"], built["B"]), target.with_suffix(".txt"))
    return code
