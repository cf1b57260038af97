"""Points on the workers of a Dask cluster, for `sapwood.studies.experiments.running.mapping`.

A task of Dask cannot be ended once it has begun. Every point therefore runs in a process of its own
beside the Dask worker, which is ended when the run is. A worker whose code or packages are others
than here would compute other numbers, and is refused.
"""

from __future__ import annotations

import logging
import threading
import traceback
import uuid
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sapwood.base.optional import install_command
from sapwood.studies.experiments.running.journal import provenance
from sapwood.studies.experiments.running.points import Outcome, Point, describe
from sapwood.studies.experiments.running.processes import WorkerProcess


class SchedulerError(Exception):
    """The cluster cannot be used; the text says why."""


def on_cluster(
    function: Callable[..., Any], points: Sequence[Point], scheduler: str, packages: Sequence[str]
) -> Generator[tuple[int, Outcome], None, None]:
    """Call a function at every point on a cluster; see `mapping.map_points`.

    Parameters
    ----------
    function, points, scheduler, packages
        As there.

    Yields
    ------
    tuple of int and Outcome
        Index of a point and what came of it.

    Raises
    ------
    SchedulerError
        The cluster cannot be reached, is lost, or has other code.
    """
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise SchedulerError(
            f"a scheduler needs distributed ({error}): {install_command('dask')}"
        ) from None
    with _quiet():
        try:
            client = Client(scheduler, timeout=10)
        except (OSError, ValueError) as error:
            raise SchedulerError(f"scheduler {scheduler}: {describe(error)}") from None
        run, expected = uuid.uuid4().hex, provenance(function, packages)
        with client:
            futures = [
                client.submit(_call, run, function, dict(point), packages, expected, pure=False)
                for point in points
            ]
            index = {future.key: i for i, future in enumerate(futures)}
            try:
                for future in as_completed(futures):
                    try:
                        outcome = future.result()
                    # a worker that dies, or cannot import the function, says so here
                    except Exception as error:
                        if future.cancelled():
                            raise SchedulerError(
                                f"scheduler {scheduler}: lost before the last point was finished"
                            ) from None
                        outcome = Outcome(error=describe(error), traceback=traceback.format_exc())
                    if isinstance(outcome, str):
                        raise SchedulerError(f"scheduler {scheduler}: {outcome}")
                    yield index[future.key], outcome
            finally:
                if client.status == "running":
                    client.cancel(futures)
                    client.run(_end, run)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's own log of lost connections from the terminal: errors say what matters."""
    # each has a level of its own
    loggers = [logging.getLogger(name) for name in ("distributed.client", "distributed.core")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


# ---- on a worker --------------------------------------------------------------------------------

_lock = threading.Lock()
_running: defaultdict[str, set[WorkerProcess]] = defaultdict(set)
_ended: set[str] = set()


def _call(
    run: str,
    function: Callable[..., Any],
    point: Point,
    packages: Sequence[str],
    expected: dict[str, str],
) -> Outcome | str:
    """Call a function in a process beside this one; words say why this worker cannot."""
    found = provenance(function, packages)
    others = [name for name in expected if found[name] != expected[name]]
    if others:
        from distributed import get_worker

        return f"worker {get_worker().address} has another {', '.join(others)} than this process"
    process = WorkerProcess()
    with _lock:
        _running[run].add(process)
        if run in _ended:
            process.end()
    try:
        return process.run(function, point)
    finally:
        process.close()
        with _lock:
            _running[run].discard(process)


def _end(run: str) -> None:
    """End the processes of a run, and those that are yet to begin."""
    with _lock:
        _ended.add(run)
        for process in _running.pop(run, ()):
            process.end()
