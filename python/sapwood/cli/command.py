"""Common parts of the commands: exit codes, errors, types of arguments."""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn, TypeVar

from sapwood.base.optional import install_command

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

T = TypeVar("T", int, float)

SUCCESS, FAILURE, USAGE, INTERRUPTED = 0, 1, 2, 130


class CommandError(Exception):
    """The command cannot be carried out as given; the text is the one line that the user sees."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and that says where its help cannot be printed."""

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Let the caller see what argparse would pass over."""
        (file or sys.stderr).write(message)
        sys.stdout.flush()

    def error(self, message: str) -> NoReturn:
        """End the program with the message and how to get help."""
        self.exit(USAGE, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def add_line_search(parser: argparse.ArgumentParser) -> None:
    """Add the choice of a line search."""
    parser.add_argument(
        "--line-search",
        choices=("exact", "backtracking"),
        default="exact",
        help="how steps are cut",
    )


class HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Tells the default of an argument, where that is a value."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default is None or action.default is False:
            return action.help
        return super()._get_help_string(action)


def number(kind: type[T], rule: str, holds: Callable[[T], bool]) -> Callable[[str], T]:
    """Return an argparse type: a finite number that obeys a rule."""

    def read(text: str) -> T:
        try:
            value = kind(text)
        except ValueError:
            name = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r} is not {name}") from None
        if not math.isfinite(value):
            raise argparse.ArgumentTypeError(f"{text}: must be finite")
        if not holds(value):
            raise argparse.ArgumentTypeError(f"{text}: must be {rule}")
        return value

    return read


def tolerance() -> Callable[[str], float]:
    """Return an argparse type: a relative tolerance."""
    return number(float, "> 0 and < 1", lambda x: 0 < x < 1)


def require(package: str, extra: str, command: str) -> None:
    """Import an optional package, or say how to get it."""
    try:
        importlib.import_module(package)
    except ImportError as error:
        raise CommandError(
            f"{command} needs {package} ({one_line(error)}): {install_command(extra)}"
        ) from None
    # an installed package may refuse its surroundings in its own way
    except Exception as error:
        raise CommandError(f"{command} cannot import {package}: {one_line(error)}") from None


def tell(text: str) -> None:
    """Print a line on the standard error stream; where that fails there is nobody to be told."""
    with suppress(OSError):
        print(f"sapwood: {text}".replace("\n", "\\n"), file=sys.stderr)


def one_line(error: Exception) -> str:
    """Return the text of an error without its line ends."""
    return " ".join(str(error).split()) or type(error).__name__
