"""The command of the closed forms: scenes whose result is known, in every engine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
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
    print_facts,
    write_table,
)
from sapwood.base.optional import install_command

PAGE = pages.DOCS / "explanation/exact.md"


def add(commands: Any) -> None:
    """Add the parser of the question to the subparsers of the command line."""
    question = new_question(
        commands,
        "closed-forms",
        "which scenes whose result is known does each engine get right?",
        "The scenes of `sapwood closed-forms` in every engine that is installed. Writes "
        "closed_forms.csv, closed_forms.txt (the table), closed_forms.png and closed_forms.json "
        "(the machine); where results go to benchmarks/results, the table and the figure of "
        "docs/explanation/exact.md.",
    )
    question.add_argument("--engines", metavar="A,B", help="by name; all by default")
    question.set_defaults(command=_closed_forms)


def _closed_forms(arguments: argparse.Namespace) -> int:
    with needs("mujoco"):
        from benchmarks import rows
        from sapwood.studies.closed_forms import FORMS, Row
        from sapwood.studies.engines import ENGINES, load
        from sapwood.studies.plotting.closed_forms import draw_closed_forms
    names = [name for name, form in FORMS.items() if form.quick or not arguments.quick]
    engines = []
    for name in (arguments.engines or ",".join(ENGINES)).split(","):
        if name not in ENGINES:
            raise CommandError(f"--engines: {name!r} is none of {', '.join(ENGINES)}")
        try:
            load(name)
        except ImportError as error:
            print(f"skipped: {name} ({error}): {install_command('engines')}", file=sys.stderr)
        else:
            engines.append(name)
    target, facts = begin(arguments, "closed_forms", {"engines": engines, "quick": arguments.quick})
    print_facts(facts)
    path = target.with_suffix(".csv")
    code = carry_out(
        "closed forms",
        len(names),
        lambda progress: _measure(names, engines, path, progress),
    )
    measured = rows.read(path, Row)
    if measured:
        lines = table(measured)
        write_table(rows.aligned(lines), target.with_suffix(".txt"))
        draw(draw_closed_forms, path, target.with_suffix(".png"))
        if arguments.out.resolve() == RESULTS.resolve():
            pages.renew(PAGE, "closed forms", pages.markdown(lines))
    return code


def _measure(
    names: Sequence[str], engines: Sequence[str], path: Path, progress: Callable[[str], None]
) -> None:
    """Measure the scenes in the engines, and write a row for each."""
    from benchmarks import rows
    from sapwood.studies.closed_forms import FORMS, Row, row_of

    with rows.Table(path, Row) as file:
        for name in names:
            for engine in engines:
                file.add(row_of(FORMS[name], engine))
            progress(name)


def table(measured: Sequence[Any]) -> list[list[str]]:
    """Figures of scenes in engines, bold where the bound holds, and the number of these.

    Parameters
    ----------
    measured : sequence of Row
        Scenes in engines.

    Returns
    -------
    list of list of str
        The head, a line per scene, and the counts.
    """
    from sapwood.studies.closed_forms import BROKEN, FAILED, HOLDS, SKIPPED

    engines = list(dict.fromkeys(row.engine for row in measured))
    found = {(row.scene, row.engine): row for row in measured}
    lines = [["scene", "bound", *engines]]
    for scene in dict.fromkeys(row.scene for row in measured):
        here = [found[scene, engine] for engine in engines]
        bound = next((row.bound for row in here if row.bound == row.bound), None)
        unit = "" if here[0].unit == "1" else f" {here[0].unit}"
        cells = {
            HOLDS: "**{0.figure:.2g}**", BROKEN: "{0.figure:.2g}", FAILED: "failed", SKIPPED: "-"
        }  # fmt: skip
        lines.append(
            [scene, "-" if bound is None else f"{bound:.2g}{unit}"]
            + [cells[row.status].format(row) for row in here]
        )
    ran = [[row for row in measured if row.engine == e and row.status != SKIPPED] for e in engines]
    held = [f"{sum(row.status == HOLDS for row in of)} of {len(of)}" for of in ran]
    lines.append(["scenes that hold", "", *held])
    return lines
