"""Calls in another process, each with an end to its time: no bad model takes a run with it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.running.processes import WorkerProcess

#: How a call ended that has no value: by its time, or otherwise.
LATE, DIED = "late", "died"


class Answer(NamedTuple):
    """The result of a call, or the reason why there is none."""

    value: Any
    error: str
    late: bool


class Workers:
    """One process at a time, a new one after one that died or was late; a context manager.

    Parameters
    ----------
    seconds
        After which a call is given up.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._worker = WorkerProcess()

    def call(self, function: Callable[..., Any], point: Point) -> Answer:
        """Call a function of a module at one point."""
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self._worker.end()

        timer = threading.Timer(self._seconds, give_up)
        timer.start()
        try:
            outcome = self._worker.run(function, point)
        finally:
            timer.cancel()
        if late.is_set():
            self._worker.close()
            self._worker = WorkerProcess()
            return Answer(None, f"took more than {self._seconds:g} s", True)
        return Answer(outcome.value, outcome.error or "", False)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.end()
        self._worker.close()
