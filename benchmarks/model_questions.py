"""The command of the question about models that people have."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks import pages
from benchmarks.arguments import (
    RESULTS,
    CommandError,
    begin,
    carry_out,
    draw,
    new_question,
    positive,
    print_facts,
    whole,
    write_table,
)

PAGE = pages.DOCS / "models.md"


def add(commands: Any) -> None:
    """Add the parser of the question to the subparsers of the command line."""
    question = new_question(
        commands,
        "models",
        "models that people have: which run, how well, how fast",
        "Models of a folder, by our stepper and by mj_step from the same start. Writes models.csv "
        "(with --speed models_speed.csv), models.txt (the tables), models.png and a .json (the "
        "machine); and where results go to benchmarks/results, the tables of docs/models.md.",
    )
    question.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="FOLDER",
        help="folder of models; by default models in the one that SAPWOOD_DATA names",
    )
    question.add_argument("--speed", action="store_true", help="time steps, in place of quality")
    question.add_argument("--match", default="", metavar="TEXT", help="models with it in the name")
    question.add_argument("--steps", type=whole, default=500, help="steps of a simulation")
    question.add_argument(
        "--limit", type=positive, default=60.0, metavar="SECONDS", help="time for one simulation"
    )
    question.add_argument(
        "--resume", action="store_true", help="keep what an earlier run has finished"
    )
    question.set_defaults(command=_models)


def _models(arguments: argparse.Namespace) -> int:
    try:
        from benchmarks import rows
        from benchmarks.models import files, quality, report, speed, survey
    except ImportError as error:
        raise CommandError(f"{error}: pip install 'sapwood[mujoco]'") from error
    folder = arguments.folder or files.default_folder()
    if folder is None:
        raise CommandError("no FOLDER is given, and SAPWOOD_DATA names none that holds models")
    found = [path for path in files.find(folder) if arguments.match in files.name_of(path)]
    if not found:
        raise CommandError(f"{folder} holds no models of such a name")
    if arguments.quick:
        found, arguments.steps = found[:2], 20
    asked = speed.SURVEY if arguments.speed else quality.SURVEY
    stem = "models_speed" if arguments.speed else "models"
    options = ("match", "steps", "limit")
    settings = {name: getattr(arguments, name) for name in options}
    target, facts = begin(arguments, stem, settings)
    print_facts(facts)
    code = carry_out(
        stem,
        len(found),
        lambda progress: survey.run(
            asked,
            found,
            target.with_suffix(".csv"),
            arguments.steps,
            arguments.limit,
            arguments.resume,
            progress,
        ),
    )
    measured = _read(rows, quality.Row, arguments.out / "models.csv")
    timed = _read(rows, speed.Row, arguments.out / "models_speed.csv")
    text = report.tables(measured, timed)
    write_table(text, arguments.out / "models.txt")
    draw(report.figure, measured, timed, arguments.out / "models.png")
    if arguments.out.resolve() == RESULTS.resolve():
        pages.renew(PAGE, "models", report.page_tables(measured, timed))
    return code


def _read(rows: Any, kind: type, path: Path) -> list[Any]:
    try:
        return rows.read(path, kind) if path.exists() else []
    except ValueError as error:
        raise CommandError(str(error)) from error
