"""``sapwood figure``: the figures of the papers."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import Any

from sapwood.cli.command import (
    FAILURE,
    INTERRUPTED,
    SUCCESS,
    CommandError,
    number,
    one_line,
    require,
    tell,
)

# on two cores that do nothing else
_TIMES = """times on two cores:
  with --quick  3 to 20 s each, 12 50 s; all together some five minutes
  in full       seconds: 5, 8, 9, 10, 16, 17, id-6, id-8, id-9, id-13, id-15, id-table-1,
                id-table-2, rigid-core, sliding, constraints, mindiff, balance, line-search,
                theory
                a minute or two: 1, 6, 7, 11, 14, 15, 18, id-18, id-19, id-table-6,
                analytic-gradients, slip-solvers, step-solvers
                some minutes: cube-toss, identification
                half an hour, in one run: id-14, id-16, id-17, id-table-3, id-table-4, id-table-5
                three quarters of an hour, in one run: 19, 20, 21
                an hour, in one run: 12, 13
"""


def add(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    from sapwood.studies.experiments.figures import FIGURES, SCHEMATICS

    table = "\n".join(f"  {name:<18} {entry.title}" for name, entry in FIGURES.items())
    schematics = "\n".join(f"  {name:<18} {shows}" for name, shows in SCHEMATICS.items())
    parser = commands.add_parser(
        "figure",
        help="make a figure of the papers",
        description=textwrap.fill(
            "Compute what figures of the papers show, write it to CSV files, and draw the figures "
            "from them. A run that was stopped goes on where it was. Numbers alone are those of "
            "the paper on contact, id-N and id-table-N those of the paper on inverse dynamics.",
            width=79,
        ),
        epilog=(
            f"figures:\n{table}\n  {'all':<18} all of them\n\n"
            f"not made, as they show no result; the guide draws them:\n{schematics}\n\n{_TIMES}"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names",
        nargs="+",
        metavar="N",
        type=_figure,
        help="number in its paper, or name",
    )
    parser.add_argument(
        "--quick", action="store_true", help="small versions, seconds in place of minutes"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        help="folder for CSV files and figures (default: results)",
    )
    parser.add_argument(
        "--format",
        choices=("png", "pdf", "svg"),
        default="png",
        dest="image_format",
        help="of the figures; rendered scenes stay pixels (default: png)",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--workers",
        type=number(int, ">= 1", lambda n: n >= 1),
        metavar="COUNT",
        help="processes on this machine (default: one per core)",
    )
    where.add_argument(
        "--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers are used instead"
    )
    parser.add_argument(
        "--no-resume", action="store_true", help="compute again what is finished already"
    )
    parser.add_argument("--quiet", action="store_true", help="print errors and warnings only")
    parser.set_defaults(command=_run)


def _figure(name: str) -> str:
    """A name that is known, or all."""
    from sapwood.studies.experiments.figures import entry_of

    try:
        if name != "all":
            entry_of(name)
        return name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _run(arguments: argparse.Namespace) -> int:
    from sapwood.studies.experiments.figures import FIGURES

    names = list(FIGURES) if "all" in arguments.names else list(dict.fromkeys(arguments.names))
    require("matplotlib", "plot", "figure")
    if arguments.scheduler is not None:
        require("distributed", "dask", "figure --scheduler")
    for name in names:
        for package, extra in FIGURES[name].packages:
            require(package, extra, f"figure {name}")
    code = SUCCESS
    for name in names:
        code = max(code, _make(name, arguments))
        if code == INTERRUPTED:
            break
    return code


def _make(name: str, arguments: argparse.Namespace) -> int:
    """Make one figure, say what it shows and what went wrong, and return an exit code."""
    from sapwood.studies.experiments.figures import FIGURES, make_figure
    from sapwood.studies.experiments.running.cluster import SchedulerError

    if not arguments.quiet:
        title = f"figure {name}" if name.isdecimal() else name
        print(f"{title}: {FIGURES[name].title}", flush=True)
    try:
        result = make_figure(
            name,
            arguments.out,
            quick=arguments.quick,
            workers=arguments.workers,
            scheduler=arguments.scheduler,
            resume=not arguments.no_resume,
            progress=not arguments.quiet,
            say=tell,
            image_format=arguments.image_format,
        )
    except SchedulerError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"cannot write to {arguments.out}: {one_line(error)}") from None

    if not arguments.quiet:
        if result.report:
            print(result.report)
        written = [sweep.csv for sweep in result.sweeps]
        written += [] if result.image is None else [result.image]
        print("written: " + ", ".join(map(str, written)))
    if result.interrupted:
        last = result.sweeps[-1]
        tell(
            f"interrupted, {last.missing} of {last.points} points of {last.csv.stem} "
            "are missing; the same command goes on from here"
        )
        return INTERRUPTED
    if result.undrawn:
        tell(f"error: figure {name}: {result.undrawn}")
    return FAILURE if any(sweep.failures for sweep in result.sweeps) else SUCCESS
