"""The commands of the questions about Coulomb's friction."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

from benchmarks.arguments import (
    SUCCESS,
    CommandError,
    add_files,
    add_samples,
    begin,
    carry_out,
    draw,
    files_of,
    needs,
    new_question,
    positive,
    print_facts,
    publish,
    whole,
    write_table,
)


def add(commands: Any) -> None:
    """Add the parsers of both questions to the subparsers of the command line."""
    _add_coulomb(commands)
    _add_fclib(commands)


# ---- coulomb -----------------------------------------------------------------------------------


def _add_coulomb(commands: Any) -> None:
    question = new_question(
        commands,
        "coulomb",
        "what exact Coulomb friction costs beside the convex law",
        "Iterations and time of Coulomb's friction over those of the convex law: on problem files "
        "from a cold start, and in simulations. Writes coulomb.csv, coulomb_steps.csv, coulomb.txt "
        "(the tables), coulomb.png and coulomb.json (the machine).",
    )
    add_files(question)
    add_samples(question, 20, "samples of each law", 1.0, "time for them, by file")
    question.add_argument(
        "--scenes", default="clutter-40,open-40", metavar="A,B", help="by name and size; or none"
    )
    question.add_argument(
        "--seconds", type=positive, help="simulated; by default until a scene has settled"
    )
    question.add_argument("--runs", type=whole, default=3, help="of each simulation")
    question.set_defaults(command=_coulomb)


def _coulomb(arguments: argparse.Namespace) -> int:
    from benchmarks import coulomb, coulomb_report, rows

    files = files_of(arguments)
    if arguments.quick:
        files, arguments.repeat, arguments.runs = files[:3], 2, 1
        arguments.scenes, arguments.seconds = "clutter-4", 0.2
    scenes = _scene_names(arguments.scenes)
    options = ("files", "repeat", "budget", "seconds", "runs")
    settings = {name: getattr(arguments, name) for name in options} | {"scenes": scenes}
    target, facts = begin(arguments, "coulomb", settings)
    print_facts(facts)
    path = target.with_suffix(".csv")
    code = carry_out(
        "problems",
        len(files),
        lambda progress: coulomb.run(
            files,
            path,
            arguments.repeat,
            arguments.budget,
            progress,
            lambda name: print(f"left out: {name} has more than such contacts", file=sys.stderr),
        ),
    )
    measured = rows.read(path, coulomb.Row)
    texts = [coulomb_report.problem_table(measured)] if measured else []
    if scenes and code == SUCCESS:
        text, code = _coulomb_steps(arguments, scenes, target.with_name("coulomb_steps.csv"))
        texts.append(text)
    if texts:
        write_table("\n\n".join(texts), target.with_suffix(".txt"))
    if measured:
        draw(coulomb_report.figure, measured, target.with_suffix(".png"))
    return code


def _coulomb_steps(arguments: argparse.Namespace, scenes: list[str], path: Path) -> tuple[str, int]:
    """Simulate; returns the table and the exit code."""
    from benchmarks import coulomb_report, coulomb_steps, rows

    code = carry_out(
        "simulations",
        len(scenes),
        lambda progress: coulomb_steps.run(
            scenes, path, arguments.seconds, arguments.runs, progress
        ),
    )
    return coulomb_report.step_table(rows.read(path, coulomb_steps.Row)), code


def _scene_names(text: str) -> list[str]:
    """Names of scenes between commas, each once; none without MuJoCo."""
    if text == "none":
        return []
    try:
        from benchmarks.scenes import names_of
    except ImportError as error:
        print(f"no simulations: {error}", file=sys.stderr)
        return []
    try:
        return names_of(text)
    except ValueError as error:
        raise CommandError(f"--scenes: {error}") from error


# ---- fclib -------------------------------------------------------------------------------------


def _add_fclib(commands: Any) -> None:
    question = new_question(
        commands,
        "fclib",
        "rigid contact with Coulomb friction, beside Siconos",
        "Iterations and time to the same residual on files of the FCLIB collection, ours and those "
        "of Siconos where it is installed. Writes fclib.csv, fclib.txt (the table), fclib.png and "
        "fclib.json (the machine).",
    )
    add_files(question, "*.hdf5")
    add_samples(
        question, 10, "samples of each solver",
        5.0, "time for the samples of one solver on one problem",
    )  # fmt: skip
    question.add_argument(
        "--siconos",
        metavar="PYTHON",
        default="/usr/bin/python3",
        help="interpreter that Siconos is installed for",
    )
    question.set_defaults(command=_fclib)


def _fclib(arguments: argparse.Namespace) -> int:
    with needs("fclib"):
        from benchmarks import fclib, fclib_report, rows
    files = files_of(arguments)
    plan = fclib.Plan(repeat=arguments.repeat, budget=arguments.budget)
    if arguments.quick:
        files = files[:1]
        plan = fclib.Plan((1e-4,), ("NSGS",), repeat=2, budget=1.0)
    try:
        siconos = fclib.Siconos(arguments.siconos)
    except ImportError as error:
        siconos = None
        print(f"skipped: {error}", file=sys.stderr)
    target, facts = begin(arguments, "fclib", dataclasses.asdict(plan) | {"files": arguments.files})
    print_facts(facts)
    path = target.with_suffix(".csv")
    try:
        code = carry_out(
            "fclib", len(files), lambda progress: fclib.run(files, siconos, path, plan, progress)
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
    publish(rows.read(path, fclib.Row), target, fclib_report.table, fclib_report.figure)
    return code
