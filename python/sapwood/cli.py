"""The command ``sapwood``.

Exit codes: 0 success; 1 a solver or a file failed; 2 the command cannot be carried out as given
(usage, a folder that cannot be written to, a missing optional package); 130 ended by Ctrl-C. Errors
are one line on the standard error stream. Packages beyond NumPy are imported by the commands that
need them.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import astuple, dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import sapwood
from sapwood.experiments.recording import RowFile

if TYPE_CHECKING:
    from sapwood.experiments.clutter import ClutterRun

T = TypeVar("T", int, float)

SUCCESS, FAILURE, USAGE, INTERRUPTED = 0, 1, 2, 130


class CommandError(Exception):
    """The command cannot be carried out as given; the text is the one line that the user sees."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv
        Arguments without the program's name, by default those of the process.

    Raises
    ------
    SystemExit
        From ``--help``, ``--version`` and usage errors, as argparse does.
    """
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        code = command(arguments)
        sys.stdout.flush()
        return code
    except CommandError as error:
        print(f"sapwood: error: {error}", file=sys.stderr)
        return USAGE
    except MemoryError:
        print("sapwood: error: out of memory", file=sys.stderr)
        return FAILURE
    except KeyboardInterrupt:
        print("sapwood: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of a pipe has left: stay silent, also when Python flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE


# ---- arguments ----------------------------------------------------------------------------------


def _parser() -> _Parser:
    parser = _Parser(
        prog="sapwood", description="Compliant frictional contact, solved with a proof."
    )
    parser.add_argument("--version", action="version", version=f"sapwood {sapwood.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    _add_clutter(commands)
    _add_solve(commands)
    info = commands.add_parser(
        "info", help="versions and available factorizations", description="Print what is installed."
    )
    info.set_defaults(command=_info)
    return parser


def _add_clutter(commands: Any) -> None:
    parser = commands.add_parser(
        "clutter",
        help="drop bodies into a box or onto open floor",
        description="Drop four columns of spheres and boxes into a box or onto open floor, "
        "measure every step and draw the results.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    positive = _number(float, "> 0", lambda x: x > 0)
    parser.add_argument(
        "--bodies", type=_number(int, ">= 1", lambda n: n >= 1), default=40, help="number of bodies"
    )
    parser.add_argument(
        "--walls", action=argparse.BooleanOptionalAction, default=True, help="put walls round them"
    )
    parser.add_argument("--seconds", type=positive, default=10.0, help="time to simulate, s")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        help="folder for the CSV, the figure, the picture",
    )
    parser.add_argument(
        "--seed",
        type=_number(int, ">= 0", lambda n: n >= 0),
        default=0,
        help="choice of the bodies",
    )
    parser.add_argument("--dt", type=positive, default=0.01, help="time step and tau_d, s")
    parser.add_argument("--sigma", type=positive, default=1e-3, help="friction regularization")
    parser.add_argument(
        "--beta",
        type=_number(float, ">= 0", lambda x: x >= 0),
        default=1.0,
        help="near-rigid regularization",
    )
    parser.add_argument(
        "--tolerance",
        type=_tolerance(),
        default=1e-5,
        help="relative tolerance; the paper's for this scene",
    )
    _add_line_search(parser)
    parser.add_argument(
        "--islands",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="solve groups that do not touch one by one",
    )
    parser.add_argument(
        "--compare", choices=("mujoco",), help="run the scene by this solver too, side by side"
    )
    parser.add_argument(
        "--no-picture", action="store_true", help="do not draw a picture of the final scene"
    )
    parser.add_argument("--quiet", action="store_true", help="print errors and warnings only")
    parser.set_defaults(command=_clutter)


def _add_solve(commands: Any) -> None:
    parser = commands.add_parser(
        "solve",
        help="solve problem files and print a table",
        description="Solve problem files (.npz) and print one line for each.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILES", help="problem files (.npz)")
    parser.add_argument(
        "--tolerance",
        type=_tolerance(),
        default=1e-6,
        help="relative tolerance",
    )
    _add_line_search(parser)
    parser.add_argument(
        "--factorization",
        choices=("supernodal", "dense", "cholmod"),
        default="supernodal",
        help="of the Hessian",
    )
    parser.add_argument(
        "--repeat",
        type=_number(int, ">= 1", lambda n: n >= 1),
        default=3,
        help="solves per file; the time is the best of them",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table to this file too")
    parser.set_defaults(command=_solve)


def _add_line_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--line-search",
        choices=("exact", "backtracking"),
        default="exact",
        help="how steps are cut",
    )


def _number(kind: type[T], rule: str, holds: Callable[[T], bool]) -> Callable[[str], T]:
    """Return an argparse type: a finite number that obeys a rule."""

    def read(text: str) -> T:
        try:
            value = kind(text)
        except ValueError:
            name = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r} is not {name}") from None
        if not (math.isfinite(value) and holds(value)):
            raise argparse.ArgumentTypeError(f"{text}: must be {rule}")
        return value

    return read


def _tolerance() -> Callable[[str], float]:
    return _number(float, "> 0 and < 1", lambda x: 0 < x < 1)


# ---- clutter ------------------------------------------------------------------------------------


def _clutter(arguments: argparse.Namespace) -> int:
    _require("mujoco", "mujoco", "clutter")
    _require("matplotlib", "plot", "clutter")
    from sapwood.experiments import clutter

    out: Path = arguments.out
    names = [field.name for field in fields(clutter.ClutterParameters)]
    options = {name: getattr(arguments, name) for name in names}
    try:
        clutter.ClutterParameters(**options)
    except ValueError as error:
        raise CommandError(str(error)) from None
    try:
        result = clutter.run(
            **options, compare=arguments.compare, out=out, progress=not arguments.quiet
        )
    except OSError as error:
        raise CommandError(f"cannot write to {out}: {error.strerror or error}") from None

    runs = [result] if result.compared is None else [result, result.compared]
    written = [each.csv for each in runs] + [out / "summary.json"]
    if result.steps.size:
        written.append(_clutter_figure(runs, out / "steps.png"))
    interrupted = any(each.interrupted for each in runs)
    if not (interrupted or arguments.no_picture or result.failure):
        written += _clutter_picture(result, out / "scene.png")
    if not arguments.quiet:
        print(_clutter_report(runs))
        print("written: " + ", ".join(map(str, written)))

    for each in runs:
        for warning in _clutter_warnings(each):
            print(f"sapwood: warning: {each.solver}: {warning}", file=sys.stderr)
        if each.failure is not None:
            print(f"sapwood: error: {each.solver}: {each.failure}", file=sys.stderr)
    if interrupted:
        print("sapwood: interrupted; what was simulated is kept", file=sys.stderr)
        return INTERRUPTED
    # an answer that is not accurate is a failure of the run; stalling at round-off is not
    outcomes = set(result.steps["status"].tolist()) - {"converged", "stalled"}
    return FAILURE if outcomes or result.failure is not None else SUCCESS


def _clutter_title(result: ClutterRun) -> str:
    """One line that says what was simulated."""
    p = result.parameters
    place = "in the box" if p.walls else "on open floor"
    return f"clutter: {p.bodies} bodies {place}, dt = {1e3 * p.dt:g} ms, seed {p.seed}"


def _clutter_figure(runs: list[ClutterRun], path: Path) -> Path:
    from sapwood.plotting import step_figure

    files = {each.solver: each.csv for each in runs if each.csv is not None}
    step_figure(files, path, title=_clutter_title(runs[0]))
    return path


def _clutter_picture(result: ClutterRun, path: Path) -> list[Path]:
    """Draw the final scene; a machine that cannot is told why and is no failure."""
    from sapwood.rendering import RenderingError, render_scene

    try:
        render_scene(result.model, result.qpos, path)
    except RenderingError as error:
        print(f"sapwood: no picture: {error}", file=sys.stderr)
        return []
    return [path]


def _clutter_warnings(result: ClutterRun) -> list[str]:
    """What is wrong with the final state although every step was taken."""
    p, s = result.parameters, result.summary
    outside = 0 if s is None or not p.walls else p.bodies - s.bodies_inside
    if outside == 0:
        return []
    return [f"{outside} {'body' if outside == 1 else 'bodies'} left the box"]


def _clutter_report(runs: list[ClutterRun]) -> str:
    """Lay the summaries of one or two runs side by side."""
    columns = [_clutter_column(each) for each in runs]
    names = list(dict.fromkeys(name for column in columns for name in column))
    lines = [_clutter_title(runs[0]), " " * 30 + "".join(f"{each.solver:>22}" for each in runs)]
    lines += [f"{name:<30}" + "".join(f"{c.get(name, '-'):>22}" for c in columns) for name in names]
    if len(runs) > 1:
        lines.append("the runs drift apart, see docs/clutter.md")
    return "\n".join(lines)


def _clutter_column(result: ClutterRun) -> dict[str, str]:
    """Return the summary of one run as words."""
    p, s = result.parameters, result.summary
    if s is None:
        return {"steps": f"0 of {p.n_steps}"}
    inside = "bodies inside" if p.walls else "bodies above the floor"
    column = {
        "steps": f"{s.steps} of {p.n_steps}",
        "simulated time": f"{s.simulated_time:.4g} s",
        "wall time": f"{s.wall_time:.4g} s",
        "  of it in the solver": f"{s.solver_time:.4g} s",
        "real-time factor": f"{s.real_time_factor:.4g}",
        "iterations per step, mean": f"{s.iterations_mean:.4g}",
        "iterations per step, largest": f"{s.iterations_max}",
        "iterations, second half": f"{s.iterations_settled:.4g}",
        "outcomes": ", ".join(f"{count} {name}" for name, count in s.outcomes.items()),
        "momentum error e_m, median": f"{s.momentum_error_median:.1e}",
        "momentum error e_m, largest": f"{s.momentum_error_max:.1e}",
        inside: f"{s.bodies_inside} of {p.bodies}",
        "deepest contact at the end": f"{1e6 * s.max_penetration:.4g} um",
        "mean slip at the end": f"{1e6 * s.mean_slip:.4g} um/s",
    }
    if s.resting is not None:
        rest = s.resting
        column |= {
            "  sigma mu dt g": f"{1e6 * rest.slip_bound:.4g} um/s",
            "loaded contacts at rest": f"{rest.resting_contacts} of {rest.loaded_contacts}",
            "  deepest of these": f"{1e6 * rest.max_penetration:.4g} um",
            "  estimate for its load": f"{1e6 * rest.estimate:.4g} um",
            "  its load, in weights": f"{rest.load:.4g}",
            "  largest penetration/estimate": f"{rest.largest_ratio:.4g}",
        }
    return column


# ---- solve --------------------------------------------------------------------------------------


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


def _solve(arguments: argparse.Namespace) -> int:
    try:
        settings = sapwood.SapSettings(
            relative_tolerance=arguments.tolerance,
            line_search=arguments.line_search,
            factorization=arguments.factorization,
        )
    except ValueError as error:
        raise CommandError(str(error)) from None
    if arguments.factorization not in sapwood.factorizations():
        available = ", ".join(sapwood.factorizations())
        raise CommandError(
            f"this build has no {arguments.factorization} factorization (it has {available})"
        )
    header = [field.name for field in fields(_Row)]
    try:
        table = nullcontext() if arguments.csv is None else RowFile(arguments.csv, header)
    except OSError as error:
        raise CommandError(f"cannot write {arguments.csv}: {error.strerror}") from None

    width = max(len("file"), *(len(file) for file in arguments.files))
    code = SUCCESS
    with table as rows:
        print(_solve_header(width))
        for file in arguments.files:
            try:
                row = _solve_file(file, settings, arguments.repeat)
            except (OSError, ValueError, TypeError) as error:
                print(f"{file:<{width}}  failed", flush=True)
                print(f"sapwood: error: {_file_error(file, error)}", file=sys.stderr)
                code = FAILURE
                continue
            print(_solve_line(row, width), flush=True)
            if rows is not None:
                rows.write(astuple(row))
            if row.status not in ("converged", "stalled"):
                code = FAILURE
    return code


def _solve_file(file: str, settings: sapwood.SapSettings, repeat: int) -> _Row:
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


def _solve_header(width: int) -> str:
    return (
        f"{'file':<{width}}  {'trees':>5} {'nv':>5} {'contacts':>8} {'islands':>7} "
        f"{'iterations':>10} {'e_m':>8} {'bound':>8}  {'status':<15} {'time [us]':>10}"
    )


def _solve_line(row: _Row, width: int) -> str:
    return (
        f"{row.file:<{width}}  {row.trees:>5} {row.nv:>5} {row.contacts:>8} {row.islands:>7} "
        f"{row.iterations:>10} {row.momentum_error:>8.1e} {row.velocity_error_bound:>8.1e}  "
        f"{row.status:<15} {row.microseconds:>10.1f}"
    )


def _file_error(file: str, error: Exception) -> str:
    """One line that names the file once."""
    if isinstance(error, OSError) and error.strerror:
        return f"{file}: {error.strerror}"
    text = _one_line(error)
    return text if file in text else f"{file}: {text}"


# ---- info ---------------------------------------------------------------------------------------


def _info(_arguments: argparse.Namespace) -> int:
    print(f"sapwood          {sapwood.__version__}")
    print(f"factorizations   {', '.join(sapwood.factorizations())}")
    print(f"python           {sys.version.split()[0]}")
    for package in ("numpy", "mujoco", "matplotlib", "tqdm"):
        try:
            print(f"{package:<16} {version(package)}")
        except PackageNotFoundError:
            print(f"{package:<16} not installed")
    return SUCCESS


def _require(package: str, extra: str, command: str) -> None:
    """Import an optional package, or say how to get it."""
    try:
        importlib.import_module(package)
    except ImportError as error:
        raise CommandError(
            f"{command} needs {package} ({_one_line(error)}): pip install 'sapwood[{extra}]'"
        ) from None
    # an installed package may refuse its surroundings in its own way
    except Exception as error:
        raise CommandError(f"{command} cannot import {package}: {_one_line(error)}") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
