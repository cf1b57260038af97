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

from benchmarks import machine, peers, solvers, solvers_report
from sapwood.experiments.recording import ProgressBar

SUCCESS, FAILURE, USAGE, INTERRUPTED = 0, 1, 2, 130
RESULTS = Path(__file__).parent / "results"


class CommandError(Exception):
    """The command cannot be carried out as given; the text is the one line that the user sees."""


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
    questions = parser.add_subparsers(metavar="QUESTION", required=True)
    question = questions.add_parser(
        "solvers",
        help="time per solve at equal accuracy",
        description="Time per solve at equal accuracy, on the problem files of a folder. Writes "
        "solvers.csv, solvers.txt (the table), solvers.png and solvers.json (the machine).",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    question.add_argument("folder", type=Path, metavar="FOLDER", help="folder of problem files")
    question.add_argument("--files", default="*.npz", metavar="GLOB", help="which of them")
    question.add_argument("--repeat", type=_whole, default=10, help="samples of each solver")
    question.add_argument(
        "--budget",
        type=_positive,
        default=1.0,
        metavar="SECONDS",
        help="time for the samples of one solver on one problem",
    )
    question.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="results")
    question.add_argument(
        "--solvers", type=_names, default=",".join(peers.NAMES), metavar="A,B", help="which"
    )
    question.add_argument(
        "--tolerances", type=_targets, default="1e-3,1e-6", metavar="X,Y", help="e_m to reach"
    )
    question.add_argument("--core", type=int, help="core to run on, by default the last one")
    question.set_defaults(command=_solvers)

    question = questions.add_parser(
        "steps",
        help="where the time of a simulation step goes",
        description="Parts of a step of the clutter with walls. Writes steps.csv, steps.txt (the "
        "table) and steps.json (the machine).",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    question.add_argument(
        "--bodies", type=_sizes, default="10,40,100,200", metavar="N,N", help="sizes of the clutter"
    )
    question.add_argument("--steps", type=_whole, default=600, help="steps before the one timed")
    question.add_argument("--repeat", type=_whole, default=200, help="samples")
    question.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="results")
    question.add_argument("--core", type=int, help="core to run on, by default the last one")
    question.set_defaults(command=_steps)
    return parser


def _begin(
    arguments: argparse.Namespace, question: str, settings: dict[str, object]
) -> tuple[Path, dict[str, str]]:
    """Pin the process and write down where and how it runs; returns the results' stem and facts."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        core = machine.pin(arguments.core)
    except ValueError as error:
        raise CommandError(f"--core: {error}") from error
    facts = machine.describe(core)
    target: Path = arguments.out / question
    record = {"machine": facts, "settings": settings}
    target.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return target, facts


def _steps(arguments: argparse.Namespace) -> int:
    try:
        from benchmarks import steps
    except ImportError as error:
        raise CommandError(f"{error}: pip install 'sapwood[mujoco]'") from error
    options = ("bodies", "steps", "repeat")
    target, _ = _begin(arguments, "steps", {name: getattr(arguments, name) for name in options})
    rows = steps.run(
        arguments.bodies, target.with_suffix(".csv"), arguments.steps, arguments.repeat
    )
    text = steps.table(rows)
    target.with_suffix(".txt").write_text(text + "\n", encoding="utf-8")
    print(text)
    return SUCCESS


def _solvers(arguments: argparse.Namespace) -> int:
    files = sorted(arguments.folder.glob(arguments.files))
    if not files:
        raise CommandError(f"{arguments.folder} holds no {arguments.files}")
    entrants = _installed(arguments.solvers)
    options = ("files", "repeat", "budget", "tolerances")
    settings = {name: getattr(arguments, name) for name in options}
    settings["solvers"] = [peer.name for peer in entrants]
    target, facts = _begin(arguments, "solvers", settings)
    for name, value in facts.items():
        print(f"{name}: {value}")

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
                progress=bar.update,
            )
    except KeyboardInterrupt:
        interrupted = True
        print("benchmarks: interrupted; here is what was measured", file=sys.stderr)
    code = _report(target)
    return INTERRUPTED if interrupted else code


def _report(target: Path) -> int:
    """Print the table and draw the figure from the CSV file."""
    rows = solvers.read_rows(target.with_suffix(".csv"))
    text = solvers_report.table(rows)
    target.with_suffix(".txt").write_text(text + "\n", encoding="utf-8")
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


def _installed(names: Sequence[str]) -> list[peers.Peer]:
    """Solvers of these names; one whose package is missing is left out, and named."""
    found = []
    for name in names:
        try:
            found.append(peers.load(name))
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
    return sorted({_positive(word) for word in text.split(",")}, reverse=True)


def _sizes(text: str) -> list[int]:
    return sorted({_whole(word) for word in text.split(",")})


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: must be > 0")
    return value


def _whole(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be >= 1")
    return value
