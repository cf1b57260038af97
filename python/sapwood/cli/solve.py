"""``sapwood solve``: a table of solved problem files."""

from __future__ import annotations

import argparse
import math
import time
from contextlib import nullcontext
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import sapwood
from sapwood.base.files import RowFile
from sapwood.cli.command import (
    FAILURE,
    SUCCESS,
    CommandError,
    HelpFormatter,
    add_line_search,
    number,
    one_line,
    tell,
    tolerance,
)


def add(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "solve",
        help="solve problem files and print a table",
        description="Solve problem files (.npz) and print one line for each.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILES", help="problem files (.npz)")
    parser.add_argument(
        "--tolerance",
        type=tolerance(),
        default=1e-6,
        help="relative tolerance",
    )
    parser.add_argument(
        "--friction",
        choices=["convex", "coulomb"],
        default="convex",
        help="law of friction",
    )
    add_line_search(parser)
    parser.add_argument(
        "--repeat",
        type=number(int, ">= 1", lambda n: n >= 1),
        default=3,
        help="solves per file; the time is the best of them",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table to this file too")
    parser.set_defaults(command=_run)


@dataclass(frozen=True)
class _Row:
    """One line of the table of ``solve``; the field names are the header of its CSV file.

    ``file`` is the path as it was given.
    """

    file: str
    trees: int
    nv: int
    contacts: int
    islands: int
    iterations: int
    momentum_error: float
    velocity_error_bound: float
    status: str
    microseconds: float


def _run(arguments: argparse.Namespace) -> int:
    try:
        settings = sapwood.SapSettings(
            relative_tolerance=arguments.tolerance,
            line_search=arguments.line_search,
            friction=arguments.friction,
        )
    except ValueError as error:
        raise CommandError(str(error)) from None
    header = [field.name for field in fields(_Row)]
    try:
        table = nullcontext() if arguments.csv is None else RowFile(arguments.csv, header)
    except OSError as error:
        raise CommandError(f"cannot write {arguments.csv}: {error.strerror}") from None

    width = max(len("file"), *(len(file) for file in arguments.files))
    code = SUCCESS
    with table as rows:
        print(_header(width))
        for file in arguments.files:
            try:
                row = _file(file, settings, arguments.repeat)
            except (OSError, ValueError, MemoryError) as error:
                print(f"{file:<{width}}  failed", flush=True)
                tell(f"error: {_file_error(file, error)}")
                code = FAILURE
                continue
            print(_line(row, width), flush=True)
            if rows is not None:
                rows.write(astuple(row))
            if row.status not in ("converged", "stalled"):
                code = FAILURE
    return code


def _file(file: str, settings: sapwood.SapSettings, repeat: int) -> _Row:
    """Solve one file; the symbolic analysis of the first solve serves the others."""
    problem = sapwood.load_problem(file)
    solver = sapwood.SapSolver(settings)
    seconds = math.inf
    for _ in range(repeat):
        start = time.perf_counter()
        solution = solver.solve(problem)
        seconds = min(seconds, time.perf_counter() - start)
    return _Row(
        file=file,
        trees=problem.n_trees,
        nv=problem.nv,
        contacts=problem.n_contacts,
        islands=solution.n_islands,
        iterations=solution.iterations,
        momentum_error=solution.momentum_error,
        velocity_error_bound=solution.velocity_error_bound,
        status=solution.status.name,
        microseconds=1e6 * seconds,
    )


def _header(width: int) -> str:
    return (
        f"{'file':<{width}}  {'trees':>5} {'nv':>5} {'contacts':>8} {'islands':>7} "
        f"{'iterations':>10} {'e_m':>8} {'bound':>8}  {'status':<15} {'time [us]':>10}"
    )


def _line(row: _Row, width: int) -> str:
    return (
        f"{row.file:<{width}}  {row.trees:>5} {row.nv:>5} {row.contacts:>8} {row.islands:>7} "
        f"{row.iterations:>10} {row.momentum_error:>8.1e} {row.velocity_error_bound:>8.1e}  "
        f"{row.status:<15} {row.microseconds:>10.1f}"
    )


def _file_error(file: str, error: Exception) -> str:
    """One line that names the file once."""
    if isinstance(error, OSError) and error.strerror:
        return f"{file}: {error.strerror}"
    text = one_line(error)
    return text if file in text else f"{file}: {text}"
