"""Processes that fork while other threads are at work."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

PATIENCE = 20  # s, after which a child that hangs is ended


def fork(child: Callable[[], bool]) -> int:
    """Start a process that calls `child`, and give its id back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        process = os.fork()
    if process == 0:
        # nothing of pytest may run here
        right = False
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(PATIENCE)
            right = child()
        finally:
            os._exit(0 if right else 1)
    return process


def fork_beside(work: Callable[[], object], child: Callable[[], bool], n: int) -> list[int]:
    """Exit codes of n processes that call `child`, forked while a thread repeats `work`."""
    stop = threading.Event()

    def repeat() -> None:
        while not stop.is_set():
            work()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(repeat)
        children = []
        try:
            for i in range(n):
                time.sleep(1e-3 * (i % 5))  # anywhere in the work
                children.append(fork(child))
        finally:
            stop.set()
        running.result()
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
