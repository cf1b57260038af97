"""The command ``sapwood``, one module per subcommand.

Exit codes: 0 success; 1 a solver or a file failed; 2 the command cannot be carried out as given
(usage, a folder that cannot be written to, a missing optional package); 130 ended by Ctrl-C. Errors
are one line on the standard error stream. Packages beyond NumPy are imported by the commands that
need them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

import sapwood
from sapwood.cli import info, solve
from sapwood.cli.command import FAILURE, INTERRUPTED, USAGE, CommandError, Parser
from sapwood.studies.commands import clutter, figure

_COMMANDS = (clutter, figure, solve, info)


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


def _parser() -> Parser:
    parser = Parser(
        prog="sapwood", description="Compliant frictional contact, solved with a proof."
    )
    parser.add_argument("--version", action="version", version=f"sapwood {sapwood.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for each in _COMMANDS:
        each.add(commands)
    return parser
