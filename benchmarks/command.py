"""The command line of the benchmarks.

Exit codes: 0 success; 1 no solver reached a target; 2 the command cannot be carried out as given;
130 ended by Ctrl-C, where what was measured until then is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import drawing, machine, questions, solvers, solvers_comparison, solvers_report
from benchmarks.arguments import (
    FAILURE,
    INTERRUPTED,
    SUCCESS,
    USAGE,
    CommandError,
    add_common,
    begin,
    positive,
    whole,
)
from sapwood.base.files import write_file
from sapwood.studies import peers
from sapwood.studies.experiments.running.recording import ProgressBar


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        code: int = arguments.command(arguments)
    except (CommandError, OSError) as error:
        print(f"benchmarks: error: {error}", file=sys.stderr)
        return USAGE
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure sapwood beside other solvers."
    )
    commands = parser.add_subparsers(metavar="QUESTION", required=True)
    question = commands.add_parser(
        "solvers",
        help="time per solve at equal accuracy",
        description="Time per solve at equal accuracy, on the problem files of a folder. Writes "
        "solvers.csv, solvers.txt (the table), solvers.png and solvers.json (the machine).",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    question.add_argument("folder", type=Path, metavar="FOLDER", help="folder of problem files")
    question.add_argument("--files", default="*.npz", metavar="GLOB", help="which of them")
    question.add_argument("--repeat", type=whole, default=10, help="samples of each solver")
    question.add_argument(
        "--budget",
        type=positive,
        default=1.0,
        metavar="SECONDS",
        help="time for the samples of one solver on one problem",
    )
    question.add_argument(
        "--patience",
        type=positive,
        default=20.0,
        metavar="SECONDS",
        help="time to look for the settings of one solver on one problem",
    )
    question.add_argument(
        "--resume", action="store_true", help="keep the problems that an earlier run has finished"
    )
    question.add_argument(
        "--solvers", type=_names, default=",".join(peers.NAMES), metavar="A,B", help="which"
    )
    question.add_argument(
        "--tolerances",
        type=_targets,
        default="1e-3,1e-5,1e-6,1e-9",
        metavar="X,Y",
        help="e_m to reach",
    )
    add_common(question)
    question.set_defaults(command=_solvers)

    questions.add(commands)
    drawing.add(commands)
    return parser


def _solvers(arguments: argparse.Namespace) -> int:
    files = sorted(arguments.folder.glob(arguments.files))
    if not files:
        raise CommandError(f"{arguments.folder} holds no {arguments.files}")
    entrants = _installed(arguments.solvers, arguments.patience)
    options = ("files", "repeat", "budget", "patience", "tolerances")
    settings: dict[str, object] = {name: getattr(arguments, name) for name in options}
    settings["solvers"] = {peer.name: peer.describe() for peer in entrants}
    if arguments.resume:
        _check_same(arguments.out / "solvers.json", settings)
    target, facts = begin(arguments, "solvers", settings)
    for name, value in facts.items():
        print(f"{name}: {value}")
    for peer in entrants:
        print(f"{peer.name} is {peer.describe()}")

    interrupted = False
    try:
        with ProgressBar("solvers", len(files), shown=True) as bar:
            solvers.run(
                files,
                entrants,
                arguments.tolerances,
                target.with_suffix(".csv"),
                repeat=arguments.repeat,
                budget=arguments.budget,
                resume=arguments.resume,
                progress=bar.update,
            )
    except KeyboardInterrupt:
        interrupted = True
        print("benchmarks: interrupted; here is what was measured", file=sys.stderr)
    except ValueError as error:
        raise CommandError(str(error)) from error
    code = _report(target, arguments.folder)
    return INTERRUPTED if interrupted else code


def _report(target: Path, folder: Path) -> int:
    """Print the tables and draw the figure from the CSV file."""
    rows = solvers.read_rows(target.with_suffix(".csv"))
    recorded: dict[str, dict[str, float]] = {}
    path = folder / solvers_comparison.RECORDED_FILE
    if path.exists():
        try:
            recorded = solvers_comparison.read_recorded(path)
        except (OSError, ValueError) as error:
            print(f"recorded times are left out: {error}", file=sys.stderr)
    text = f"{solvers_report.table(rows)}\n\n{solvers_comparison.comparison(rows, recorded)}"
    write_file(target.with_suffix(".txt"), text + "\n")
    print(f"\n{text}")
    for row in rows:
        if row.status == solvers.FAILED:
            print(f"failed: {row.solver} on {row.file}: {row.detail}", file=sys.stderr)
    try:
        solvers_report.figure(rows, target.with_suffix(".png"))
    except ImportError as error:
        print(f"no figure: {error}", file=sys.stderr)
    except ValueError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return FAILURE
    return SUCCESS


def _check_same(path: Path, settings: dict[str, object]) -> None:
    """See that an earlier run, if there is one, was the same as this one will be.

    Raises
    ------
    CommandError
        It was not, so that its rows cannot stand beside new ones.
    """
    if not path.exists():
        return
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
        old = {**before["machine"], **before["settings"]}
    except (KeyError, TypeError, ValueError) as error:
        raise CommandError(f"--resume: {path} describes no run ({error!r})") from error
    now = json.loads(json.dumps({**machine.describe(None), **settings}))
    for name in ("pinned to core", "load average"):
        old.pop(name, None)
        now.pop(name, None)
    for name in [*now, *old]:
        if old.get(name) != now.get(name):
            raise CommandError(
                f"--resume: {name} was {old.get(name)!r} and is {now.get(name)!r}: begin anew"
            )


def _installed(names: Sequence[str], patience: float) -> list[peers.Peer]:
    """Solvers of these names; one whose package is missing is left out, and named."""
    found = []
    for name in names:
        try:
            found.append(peers.load(name, patience))
        except ImportError as error:
            print(f"skipped: {name} ({error})", file=sys.stderr)
    if not found:
        raise CommandError("none of the solvers is installed")
    return found


# ---- arguments ---------------------------------------------------------------------------------


def _names(text: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in peers.NAMES:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(peers.NAMES)}")
    return names


def _targets(text: str) -> list[float]:
    return sorted({positive(word) for word in text.split(",")}, reverse=True)
