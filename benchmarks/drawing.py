"""Pictures of the benchmarks, drawn again from the rows that were kept."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.arguments import RESULTS, SUCCESS, CommandError
from benchmarks.rows import read
from sapwood.base.optional import install_command

Draw = Callable[[Path, Path], None]


def add(commands: Any) -> None:
    """Add the parser of the command."""
    command: argparse.ArgumentParser = commands.add_parser(
        "draw",
        help="pictures again from the CSV files that were kept",
        description="Draws pictures from the CSV files of earlier runs, and measures nothing.",
    )
    command.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(FIGURES)}; all by default"
    )
    command.add_argument(
        "--results", type=Path, default=RESULTS, metavar="DIR", help="folder of the CSV files"
    )
    command.add_argument("--out", type=Path, metavar="DIR", help="for the pictures; the same")
    command.set_defaults(command=_draw)


def _draw(arguments: argparse.Namespace) -> int:
    results: Path = arguments.results
    out: Path = arguments.out or results
    for name in arguments.names:
        if name not in FIGURES:
            raise CommandError(f"{name!r} is none of {', '.join(FIGURES)}")
    kept = [name for name in FIGURES if (results / f"{name}.csv").exists()]
    out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or kept:
        picture = out / f"{name}.png"
        try:
            FIGURES[name](results, picture)
        except ImportError as error:
            raise CommandError(f"{error}: {install_command('bench')}") from error
        except ValueError as error:
            raise CommandError(str(error)) from error
        except FileNotFoundError as error:
            if arguments.names:
                raise CommandError(str(error)) from error
            print(f"{name}: {error.filename} is missing", file=sys.stderr)
            continue
        print(picture)
    return SUCCESS


# ---- from rows to pictures -----------------------------------------------------------------------


def _module(name: str) -> Any:
    return import_module(f"benchmarks.{name}")


def _rows(results: Path, stem: str, module: str) -> list[Any]:
    return read(results / f"{stem}.csv", _module(module).Row)


def _of(report: str, **kept: str) -> Draw:
    """The figure of a report, of tables by their stems, whose rows these modules define."""

    def draw(results: Path, picture: Path) -> None:
        tables = [_rows(results, stem, module) for stem, module in kept.items()]
        _module(report).figure(*tables, picture)

    return draw


def _limit(results: Path, picture: Path) -> None:
    peaks = _module("peaks").Peaks(_rows(results, "limit_peaks", "peaks"))
    _module("limit_report").figure(_rows(results, "limit", "limit"), peaks, picture)


def _solvers(results: Path, picture: Path) -> None:
    rows = _module("solvers").read_rows(results / "solvers.csv")
    _module("solvers_report").figure(rows, picture)


def _scaling(names: Sequence[str]) -> dict[str, Draw]:
    return {name: _of("scaling_report", **{name: "scaling"}) for name in names}


#: How the picture of each name is drawn, from its folder of CSV files to its own file.
FIGURES: dict[str, Draw] = {
    "solvers": _solvers,
    "steps": _of("steps_report", steps="steps"),
    **_scaling(["scaling_bodies", "scaling_contacts", "scaling_threads", "scaling_batch"]),
    "limit": _limit,
    "coulomb": _of("coulomb_report", coulomb="coulomb"),
    "fclib": _of("fclib_report", fclib="fclib"),
    "models": _of("models.report", models="models.quality", models_speed="models.speed"),
    "engines": _of("engines.report", engines="engines.comparison"),
    "invdyn": _of("invdyn", invdyn="invdyn"),
    "noise": _of("noise_report", noise="noise"),
    "derivatives": _of(
        "derivatives_report", derivatives="derivatives", derivatives_differences="differences"
    ),
    "surfaces": _of("surfaces_report", surfaces="surfaces"),
    "accuracy": _of("accuracy", accuracy="accuracy"),
}
