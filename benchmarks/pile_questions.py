"""The commands of the questions about piles: beside the convex law, and under another commit."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import revisions
from benchmarks.arguments import (
    CommandError,
    begin,
    carry_out,
    needs,
    new_question,
    positive,
    print_facts,
    sizes,
    whole,
    write_table,
)


def add(commands: Any) -> None:
    """Add the parsers of the questions to the subparsers of the command line."""
    question = new_question(
        commands,
        "piles",
        "what does Coulomb's friction cost in falling piles?",
        "Sequences of 40 to 400 bodies, mixed and boxes, in a box and on open floor: iterations of "
        "Coulomb's and of the convex law on the same problems, their time, and steps without a "
        "solution. Writes piles.csv, piles.txt (the table) and piles.json (the machine).",
    )
    question.add_argument("--bodies", type=sizes, default=[40, 100, 200, 400], metavar="N,N")
    question.add_argument("--steps", type=whole, default=400, help="of each sequence")
    question.add_argument("--every", type=whole, default=8, help="steps between two problems")
    question.add_argument("--repeat", type=whole, default=5, help="solves of each problem")
    question.set_defaults(command=_sequences)
    question = new_question(
        commands,
        "pile-builds",
        "are falling piles faster than under another commit?",
        "Piles of equal bodies and of mass ratios with Coulomb's friction, by the working tree (B) "
        "and another commit (A): iterations and time per step. Writes pile-builds.csv, "
        "pile-builds.txt (the table) and pile-builds.json (the machine).",
    )
    revisions.add_arguments(
        question, "by default HEAD where the sources were changed since, else HEAD~1"
    )
    question.add_argument("--bodies", type=sizes, default=[40, 100], metavar="N,N")
    question.add_argument("--mass-ratios", type=sizes, default=[1, 10, 100], metavar="N,N")
    question.add_argument("--seeds", type=whole, default=3, help="piles of each kind")
    question.add_argument("--seconds", type=positive, default=2.5, help="simulated")
    question.add_argument("--blocks", type=whole, default=3, help="of four simulations each")
    question.set_defaults(command=_builds)


def _sequences(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import pile_sequences, rows
    chosen = [pile for pile in pile_sequences.PILES if pile.bodies in arguments.bodies]
    steps, every = arguments.steps, arguments.every
    if arguments.quick:
        chosen, steps, every = [pile_sequences.Pile(8, "mixed", True, 0)], 40, 20
    if not chosen:
        raise CommandError(f"no sequence has --bodies {arguments.bodies}")
    settings = {"steps": steps, "every": every, "repeat": arguments.repeat}
    target, facts = begin(arguments, "piles", settings)
    print_facts(facts)
    path = target.with_suffix(".csv")

    def measure(progress: Callable[[str], None]) -> None:
        with rows.Table(path, pile_sequences.Row) as file:
            for pile in chosen:
                file.add(pile_sequences.measure(pile, steps, every, arguments.repeat))
                progress(pile.name)

    code = carry_out("piles", len(chosen), measure)
    lines = _table(rows.read(path, pile_sequences.Row))
    head = "falling piles: iterations and time of the solver, e_c <= 1e-6"
    write_table(f"{head}\n\n{rows.aligned(lines)}", target.with_suffix(".txt"))
    return code


def _table(measured: Sequence[Any]) -> list[list[str]]:
    """A line for each sequence."""
    lines = [
        ["sequence", "mu", "seed", "steps", "contacts", "problems", "convex: mean",
         "Coulomb: mean", "median", "most", "time over convex", "steps missed"]
    ]  # fmt: skip
    for row in measured:
        lines.append([
            row.name, f"{row.friction:g}", str(row.seed), str(row.steps), f"{row.contacts:.0f}",
            str(row.problems), f"{row.convex:.1f}", f"{row.coulomb:.1f}", f"{row.median:g}",
            str(row.most), f"{row.ratio:.2f}", str(row.missed),
        ])  # fmt: skip
    return lines


def _builds(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import piles, rows
    names = [field.name for field in dataclasses.fields(piles.Plan)]
    plan = piles.Plan(**{name: getattr(arguments, name) for name in names})
    if arguments.quick:
        plan = piles.Plan((8,), (1, 10), seeds=1, seconds=0.3, blocks=1)
    with revisions.sides(arguments) as (sites, built):
        target, facts = begin(arguments, "pile-builds", dataclasses.asdict(plan) | built)
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
