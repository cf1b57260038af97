"""Control-C in the process of a test."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
