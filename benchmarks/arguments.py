"""The common part of all questions: exit codes, arguments, begin and end of a run."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import machine
from sapwood.base.files import write_file
from sapwood.base.optional import install_command
from sapwood.studies.experiments.running.recording import ProgressBar

SUCCESS, FAILURE, USAGE, INTERRUPTED = 0, 1, 2, 130
RESULTS = Path(__file__).parent / "results"


class CommandError(Exception):
    """The command cannot be carried out as given; the text is the one line that the user sees."""


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Import optional packages within; where one is missing, the error names the extra."""
    try:
        yield
    except ImportError as error:
        raise CommandError(f"{error}: {install_command(extra)}") from error


def add_common(question: argparse.ArgumentParser) -> None:
    """Arguments that every question takes."""
    question.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="results")
    question.add_argument("--core", type=int, help="core to run on, by default the last one")


def begin(
    arguments: argparse.Namespace, question: str, settings: dict[str, object], pins: bool = True
) -> tuple[Path, dict[str, str]]:
    """Pin the process and write down where and how it runs; returns the results' stem and facts."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        core = machine.pin(arguments.core) if pins else None
    except ValueError as error:
        raise CommandError(f"--core: {error}") from error
    facts = machine.describe(core)
    target: Path = arguments.out / question
    record = {"machine": facts, "settings": settings}
    write_file(target.with_suffix(".json"), json.dumps(record, indent=2) + "\n")
    return target, facts


# ---- what questions do ------------------------------------------------------------------------


def new_question(
    commands: Any, name: str, summary: str, description: str
) -> argparse.ArgumentParser:
    """The parser of a question, with the arguments that all take and `--quick`."""
    question: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    question.add_argument("--quick", action="store_true", help="small, to see that it runs")
    add_common(question)
    return question


def add_files(question: argparse.ArgumentParser, pattern: str = "*.npz") -> None:
    """Arguments that name problem files."""
    question.add_argument("folder", type=Path, metavar="FOLDER", help="folder of problem files")
    question.add_argument("--files", default=pattern, metavar="GLOB", help="which of them")


def add_samples(
    question: argparse.ArgumentParser, repeat: int, of: str, budget: float, limit: str
) -> None:
    """Arguments that bound samples, by number and by time, with their defaults and meanings."""
    question.add_argument("--repeat", type=whole, default=repeat, help=of)
    question.add_argument("--budget", type=positive, default=budget, metavar="SECONDS", help=limit)


def files_of(arguments: argparse.Namespace) -> list[Path]:
    """Problem files that the arguments name."""
    files: list[Path] = sorted(arguments.folder.glob(arguments.files))
    if not files:
        raise CommandError(f"{arguments.folder} holds no {arguments.files}")
    return files


def add_folder(question: argparse.ArgumentParser, meaning: str) -> None:
    """A folder that may be left out."""
    question.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help=meaning)


def add_data(question: argparse.ArgumentParser) -> None:
    """The folder of reference data that has models."""
    add_folder(question, "folder with models; by default the one that SAPWOOD_DATA names")


def data_of(arguments: argparse.Namespace) -> Path:
    """The folder of reference data; it has models."""
    folder: Path = arguments.folder or Path(os.environ.get("SAPWOOD_DATA", ""))
    if not (folder / "models").is_dir():
        raise CommandError(f"{folder}: has no folder `models`")
    return folder


def add_models(question: argparse.ArgumentParser, steps: int) -> None:
    """The folder of models, which of them, and how long each is simulated."""
    add_folder(question, "folder of models; by default models in the one that SAPWOOD_DATA names")
    question.add_argument("--match", default="", metavar="TEXT", help="models with it in the name")
    question.add_argument("--steps", type=whole, default=steps, help="steps of a simulation")
    question.add_argument(
        "--limit", type=positive, default=60.0, metavar="SECONDS", help="time for one simulation"
    )


def models_of(arguments: argparse.Namespace) -> list[Path]:
    """The models of the folder; there is at least one. Needs MuJoCo."""
    from benchmarks.models import files

    folder = arguments.folder or files.default_folder()
    if folder is None:
        raise CommandError("no FOLDER is given, and SAPWOOD_DATA names none that holds models")
    found = [path for path in files.find(folder) if arguments.match in files.name_of(path)]
    if not found:
        raise CommandError(f"{folder} holds no models of such a name")
    return found


def print_facts(facts: dict[str, str]) -> None:
    """Print where and how a question runs."""
    for name, value in facts.items():
        print(f"{name}: {value}")


def carry_out(label: str, total: int, measure: Callable[[Callable[[str], None]], None]) -> int:
    """Measure behind a progress bar; Ctrl-C ends it, and what was measured is kept."""
    try:
        with ProgressBar(label, total, shown=True) as bar:
            measure(bar.update)
    except KeyboardInterrupt:
        print("benchmarks: interrupted; here is what was measured", file=sys.stderr)
        return INTERRUPTED
    return SUCCESS


def write_table(text: str, path: Path) -> None:
    """Print a table and keep it."""
    write_file(path, text + "\n")
    print(f"\n{text}")


def draw(figure: Callable[..., None], *arguments: object) -> None:
    """Draw a figure where matplotlib is installed."""
    try:
        figure(*arguments)
    except ImportError as error:
        print(f"no figure: {error}", file=sys.stderr)


# ---- types -------------------------------------------------------------------------------------


def publish(
    measured: Sequence[object],
    target: Path,
    table: Callable[..., str],
    figure: Callable[..., None],
    *more: object,
) -> None:
    """Write and print the table, and draw the figure, of what was measured, if anything was."""
    if measured:
        write_table(table(measured, *more), target.with_suffix(".txt"))
        draw(figure, measured, *more, target.with_suffix(".png"))


def sizes(text: str) -> list[int]:
    """Whole numbers >= 1 between commas, ascending, each once."""
    return sorted({whole(word) for word in text.split(",")})


def positive(text: str) -> float:
    """A finite number > 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: must be > 0")
    return value


def whole(text: str) -> int:
    """A whole number >= 1."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be >= 1")
    return value
