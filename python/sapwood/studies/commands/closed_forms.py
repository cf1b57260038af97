"""``sapwood closed-forms``: scenes whose result is known."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapwood.cli.command import (
    FAILURE,
    INTERRUPTED,
    SUCCESS,
    CommandError,
    HelpFormatter,
    one_line,
    require,
    tell,
)

if TYPE_CHECKING:
    from sapwood.studies.closed_forms import Row


def add(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "closed-forms",
        help="check scenes whose result is known",
        description="Simulate scenes whose result is known in closed form, and compare a figure of "
        "each with its bound. The exit code is 1 where a bound of the first engine is broken.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument(
        "--engines",
        default="sapwood",
        metavar="NAMES",
        help="engines by name, with commas between; all: all that are installed",
    )
    parser.add_argument(
        "--scenes", metavar="WORDS", help="only scenes whose name or family has one of these words"
    )
    parser.add_argument("--quick", action="store_true", help="only the scenes that take least time")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="write closed_forms.csv and closed_forms.png"
    )
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Print a table of the scenes; a scene that breaks its bound makes the exit code 1."""
    require("mujoco", "mujoco", "sapwood closed-forms")
    if arguments.out is not None:
        require("matplotlib", "plot", "sapwood closed-forms --out")
    from sapwood.studies.closed_forms import BROKEN, FAILED, FORMS

    engines = _engines(arguments.engines)
    words = [word.strip() for word in (arguments.scenes or "").split(",")]
    found = [
        name
        for name, form in FORMS.items()
        if any(word in name or word == form.family for word in words)
    ]
    if not found:
        raise CommandError(f"--scenes: no scene or family has one of {arguments.scenes!r}")
    names = [name for name in found if FORMS[name].quick or not arguments.quick]
    if not names:
        raise CommandError(f"--quick leaves out {', '.join(found)}")
    rows, interrupted = _measure(names, engines)
    print(table(rows, engines))
    if arguments.out is not None:
        _write(rows, arguments.out)
    if interrupted:
        tell("interrupted; what was measured is kept")
        return INTERRUPTED
    first = [row for row in rows if row.engine == engines[0]]
    return FAILURE if any(row.status in (BROKEN, FAILED) for row in first) else SUCCESS


def _engines(text: str) -> list[str]:
    """Names of engines from the command line; those that are not installed are told of."""
    from sapwood.studies.engines import ENGINES, load

    names = list(ENGINES) if text == "all" else [word.strip() for word in text.split(",")]
    found = []
    for name in dict.fromkeys(names):
        if name not in ENGINES:
            raise CommandError(f"--engines: {name!r} is none of {', '.join(ENGINES)}")
        try:
            load(name)
        except ImportError as error:
            tell(f"skipped: {name}: {one_line(error)}")
        else:
            found.append(name)
    if not found:
        raise CommandError("--engines: none of these is installed")
    return found


def _measure(names: list[str], engines: list[str]) -> tuple[list[Row], bool]:
    """Rows of all scenes in all engines, and whether Ctrl-C came between."""
    from sapwood.studies.closed_forms import FORMS, row_of
    from sapwood.studies.experiments.running.recording import ProgressBar, interrupt_flag

    rows: list[Row] = []
    with (
        interrupt_flag() as interrupted,
        ProgressBar("closed forms", len(names), True, "scene") as bar,
    ):
        for name in names:
            if interrupted():
                return rows, True
            rows += [row_of(FORMS[name], engine) for engine in engines]
            bar.update(name)
    return rows, False


def table(rows: list[Row], engines: list[str]) -> str:
    """Lines of figures over bounds, a column for each engine.

    Parameters
    ----------
    rows : list of Row
        Scenes in engines.
    engines : list of str
        Their columns.

    Returns
    -------
    str
        The table, with the number of scenes that hold in its last line; ``*`` marks those that do
        not, and reasons follow.
    """
    from sapwood.studies.closed_forms import BROKEN, FAILED, HOLDS, SKIPPED

    found = {(row.scene, row.engine): row for row in rows}
    scenes = {row.scene: row for row in rows}
    width = max(len(scene) for scene in scenes)
    lines = [f"{'scene':<{width}}  {'bound':>10}" + "".join(f"{name:>20}" for name in engines)]
    words = {FAILED: "failed *", SKIPPED: "-"}
    for scene, any_row in scenes.items():
        here = [found[scene, engine] for engine in engines]
        bounds = [row.bound for row in here if row.bound == row.bound]
        unit = "" if any_row.unit == "1" else f" {any_row.unit}"
        bound = f"{bounds[0]:.2g}{unit}" if bounds else "-"
        cells = [
            words.get(row.status) or f"{row.figure:.2g} {'*' if row.status == BROKEN else ' '}"
            for row in here
        ]
        lines.append(f"{scene:<{width}}  {bound:>10}" + "".join(f"{cell:>20}" for cell in cells))
    ran = [[row for row in rows if row.engine == engine] for engine in engines]
    held = [
        f"{sum(r.status == HOLDS for r in of)} of {sum(r.status != SKIPPED for r in of)}"
        for of in ran
    ]
    lines.append(f"{'scenes that hold':<{width}}  {'':>10}" + "".join(f"{x:>20}" for x in held))
    lines += [f"{row.scene}, {row.engine}: {row.reason}" for row in rows if row.reason]
    return "\n".join(lines)


def _write(rows: list[Row], out: Path) -> None:
    """Write the CSV file and the figure."""
    from sapwood.base.files import RowFile
    from sapwood.studies.closed_forms import Row
    from sapwood.studies.plotting.closed_forms import draw_closed_forms

    try:
        out.mkdir(parents=True, exist_ok=True)
        path = out / "closed_forms.csv"
        with RowFile(path, [field.name for field in dataclasses.fields(Row)]) as file:
            for row in rows:
                file.write(dataclasses.astuple(row))
        draw_closed_forms(path, out / "closed_forms.png")
    except OSError as error:
        raise CommandError(f"cannot write to {out}: {one_line(error)}") from None
    print(f"written: {path}, {out / 'closed_forms.png'}")
