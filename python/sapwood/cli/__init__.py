"""The command ``sapwood``, one module per subcommand.

Exit codes: 0 success; 1 a solver or a file failed, the standard output among them; 2 the command
cannot be carried out as given (usage, a folder that cannot be written to, a missing optional
package); 130 ended by Ctrl-C. Errors are one line on the standard error stream. Packages beyond
NumPy are imported by the commands that need them.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

import sapwood
from sapwood.cli import check, info, solve, view
from sapwood.cli.command import FAILURE, INTERRUPTED, USAGE, CommandError, Parser, tell
from sapwood.studies.commands import closed_forms, clutter, dual_arm, figure, simulate

_EXAMPLES = """examples:
  sapwood check robot.xml                      can this model be simulated, and if not, why?
  sapwood simulate robot.xml --seconds 5 --video --out results/
  sapwood view robot.xml                       the same in the browser
  sapwood clutter --bodies 40 --walls --seconds 10 --out results/
  sapwood figure 9 --quick --out results/      a figure of the paper, small
  sapwood COMMAND --help                       all options of a command
"""

_COMMANDS = (clutter, dual_arm, figure, closed_forms, simulate, solve, view, check, info)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv
        Arguments without the program's name, by default those of the process.

    Raises
    ------
    SystemExit
        For ``--help``, ``--version`` and usage errors, as in argparse.
    """
    _prepare_streams()
    try:
        arguments = _parser().parse_args(argv)
        code: int = arguments.command(arguments)
        sys.stdout.flush()
        return code
    except CommandError as error:
        tell(f"error: {error}")
        return USAGE
    except MemoryError:
        tell("error: out of memory")
        return FAILURE
    except KeyboardInterrupt as interrupt:
        _take_apart(interrupt)
        tell("interrupted")
        return INTERRUPTED
    except OSError as error:
        # a reader of a pipe that has left wants to hear no more
        if not isinstance(error, BrokenPipeError):
            tell(f"error: {error.filename or 'standard output'}: {error.strerror}")
        _close_output()
        return FAILURE


def _prepare_streams() -> None:
    """Let every text be printed: somewhere, and somehow."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # closed by who started the program
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            # names of files are no text in every language
            stream.reconfigure(errors="backslashreplace")


def _take_apart(interrupt: KeyboardInterrupt) -> None:
    """Destroy objects that were half made when Ctrl-C came, and silence their complaints."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    traceback.clear_frames(interrupt.__traceback__)
    sys.unraisablehook = hook


def _close_output() -> None:
    """Keep Python from saying at exit that the standard output fails."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> Parser:
    parser = Parser(
        prog="sapwood",
        description="Compliant frictional contact, solved with a proof.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sapwood {sapwood.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for each in _COMMANDS:
        each.add(commands)
    return parser
