"""What the commands of all questions share: exit codes, argument types, the beginning of a run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks import machine
from sapwood.files import write_file

SUCCESS, FAILURE, USAGE, INTERRUPTED = 0, 1, 2, 130
RESULTS = Path(__file__).parent / "results"


class CommandError(Exception):
    """The command cannot be carried out as given; the text is the one line that the user sees."""


def add_common(question: argparse.ArgumentParser) -> None:
    """Arguments that every question takes."""
    question.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="results")
    question.add_argument("--core", type=int, help="core to run on, by default the last one")


def begin(
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
    write_file(target.with_suffix(".json"), json.dumps(record, indent=2) + "\n")
    return target, facts


# ---- types -------------------------------------------------------------------------------------


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
