"""Control-C in the process of a test."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


def interrupted(before: str, call: str, after: str = "") -> str:
    """The output of a process of its own that a user interrupts in a call."""
    code = f"""{textwrap.dedent(before)}
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    {after or "pass"}
    print("interrupted", flush=True)
"""
    line = [sys.executable, "-c", code]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        printed = process.communicate(timeout=60)[0]
    assert process.returncode == 0
    return printed


@contextmanager
def interrupt_after(seconds: float) -> Iterator[None]:
    """Send SIGINT some seconds after the block has begun.

    No garbage is collected meanwhile: Hypothesis is called back by the collector, and an exception
    in there is lost.
    """
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    gc.disable()
    try:
        timer.start()
        yield
    finally:
        gc.enable()
        timer.join()
