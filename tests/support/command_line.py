"""Runs of the command ``sapwood`` in a process of its own."""

from __future__ import annotations

import subprocess
import sys


def command(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    """Run ``python -m sapwood`` with these arguments."""
    line = [sys.executable, "-m", "sapwood", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=300, **options)


def error_line(done: subprocess.CompletedProcess[str]) -> str:
    """The standard error stream, which must be a single line."""
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr
