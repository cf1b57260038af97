"""The command of the question about models that people have."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import pages, revisions
from benchmarks.arguments import (
    RESULTS,
    CommandError,
    add_models,
    begin,
    carry_out,
    draw,
    models_of,
    needs,
    new_question,
    print_facts,
    whole,
    write_table,
)

PAGE = pages.DOCS / "development/models.md"


def add(commands: Any) -> None:
    """Add the parser of the question to the subparsers of the command line."""
    question = new_question(
        commands,
        "models",
        "models that people have: which run, how well, how fast",
        "Models of a folder, by our stepper and by mj_step from the same start. Writes models.csv "
        "(with --speed models_speed.csv), models.txt (the tables), models.png and a .json (the "
        "machine); and where results go to benchmarks/results, the tables of "
        "docs/development/models.md. With --speed and --against REV or --builds: "
        "models_against.csv, .txt and .json.",
    )
    add_models(question, steps=500)
    question.add_argument("--speed", action="store_true", help="time steps, in place of quality")
    revisions.add_arguments(
        question, "with --speed: times this build and that one in turn, in place of mj_step"
    )
    question.add_argument(
        "--blocks", type=whole, default=5, help="of two visits each, with --against or --builds"
    )
    question.add_argument(
        "--resume", action="store_true", help="keep what an earlier run has finished"
    )
    question.set_defaults(command=_models)


def _models(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import rows
        from benchmarks.models import quality, report, speed, survey
    found = models_of(arguments)
    if arguments.quick:
        found, arguments.steps, arguments.blocks = found[:2], 20, 1
    if arguments.against or arguments.builds:
        return _compare_builds(arguments, found)
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


def _compare_builds(arguments: argparse.Namespace, found: Sequence[Path]) -> int:
    from benchmarks import rows
    from benchmarks.models import against, against_report, survey

    if not arguments.speed:
        raise CommandError("--against and --builds compare times: they need --speed")
    if arguments.resume:
        raise CommandError("--resume: an earlier run may have had other builds")
    with revisions.sides(arguments) as (sites, names):
        options = ("match", "steps", "limit", "blocks")
        settings = {name: getattr(arguments, name) for name in options} | names
        target, facts = begin(arguments, "models_against", settings)
        print_facts(facts)
        path = target.with_suffix(".csv")
        try:
            environments = {side: revisions.environment_of(site) for side, site in sites.items()}
        except revisions.SideError as error:
            raise CommandError(str(error)) from error
        asked = against.survey(environments, arguments.blocks)
        code = carry_out(
            "models --against",
            len(found),
            lambda progress: survey.run(
                asked, found, path, arguments.steps, arguments.limit, False, progress
            ),
        )
    measured = _read(rows, against.Row, path)
    text = against_report.tables(measured, names["A"], names["B"])
    write_table(text, target.with_suffix(".txt"))
    return code


def _read(rows: Any, kind: type, path: Path) -> list[Any]:
    try:
        return rows.read(path, kind) if path.exists() else []
    except ValueError as error:
        raise CommandError(str(error)) from error
