"""The command of the comparison with other engines."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from benchmarks import pages
from benchmarks.arguments import (
    RESULTS,
    CommandError,
    begin,
    carry_out,
    draw,
    needs,
    new_question,
    positive,
    print_facts,
    whole,
    write_table,
)
from sapwood.base.optional import install_command

SCENES = "clutter-40,open-40,clutter-200,push,brake,quadrupeds-1"


def add(commands: Any) -> None:
    """Add the parser of the question to the subparsers of the command line."""
    question = new_question(
        commands,
        "engines",
        "whole simulations beside MuJoCo, Drake and Bullet",
        "The same scenes from the same start in several engines: time per step and quality. "
        "Engines that are not installed are left out. Writes engines.csv, engines.txt (the table), "
        "engines.png and engines.json (the machine); where results go to benchmarks/results, the "
        "table of docs/development/measured_speed.md.",
    )
    question.add_argument("--scenes", default=SCENES, metavar="A,B", help="by name")
    question.add_argument("--engines", metavar="A,B", help="by name; all by default")
    question.add_argument("--repeat", type=whole, default=5, help="runs of each simulation")
    question.add_argument("--seconds", type=positive, help="simulated; by default until it rests")
    question.add_argument(
        "--budget",
        type=positive,
        default=20.0,
        metavar="SECONDS",
        help="time of one engine in one scene, at which its first run ends",
    )
    question.set_defaults(command=_engines)


def _engines(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import rows
        from benchmarks.engines import comparison, report, scenes
        from sapwood.studies.engines import load
    if arguments.quick:
        arguments.scenes, arguments.seconds, arguments.repeat = "open-4,push", 0.1, 1
    names = list(dict.fromkeys(name.strip() for name in arguments.scenes.split(",")))
    try:
        for name in names:
            scenes.make(name)
    except ValueError as error:
        known = ", ".join(scenes.SLIDES)
        raise CommandError(f"--scenes: {error}, {known}") from error
    wanted = (arguments.engines or ",".join(comparison.ENGINES)).split(",")
    found = {}
    for name in dict.fromkeys(word.strip() for word in wanted):
        if name not in comparison.ENGINES:
            raise CommandError(f"--engines: {name!r} is none of {', '.join(comparison.ENGINES)}")
        try:
            found[name] = load(name)
        except ImportError as error:
            print(f"skipped: {name} ({error}): {install_command('engines')}", file=sys.stderr)
    options = ("seconds", "repeat", "budget")
    settings = {name: getattr(arguments, name) for name in options}
    target, facts = begin(
        arguments, "engines", settings | {"scenes": names, "engines": list(found)}
    )
    print_facts(facts)
    path = target.with_suffix(".csv")
    code = carry_out(
        "engines",
        len(names),
        lambda progress: comparison.run(
            names, found, path, arguments.seconds, arguments.repeat, arguments.budget, progress
        ),
    )
    measured = rows.read(path, comparison.Row)
    if measured:
        table = report.table(measured)
        write_table(rows.aligned(table), target.with_suffix(".txt"))
        draw(report.figure, measured, target.with_suffix(".png"))
        if arguments.out.resolve() == RESULTS.resolve():
            pages.renew(
                pages.DOCS / "development/measured_speed.md", "engines", pages.markdown(table)
            )
    return code
