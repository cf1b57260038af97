"""One function over many points, on all cores or on a cluster.

A *point* is a mapping of names to plain numbers, booleans and words: the keyword arguments of one
call. `map_points` calls a function at every point and yields what comes of each as it comes. A call
that raises, or whose process dies, is an outcome like another: the rest goes on.

- Local (default): worker processes, one per core, each with one thread for BLAS and OpenMP, so that
  what is computed is the same whatever the number of workers, and times are those of one core.
  Workers import the function by its name and never the caller's main module, so that a script needs
  no guard and a notebook works.
- ``scheduler="tcp://host:8786"``: the workers of that Dask cluster (``pip install
  "sapwood[dask]"``). They must be able to import the function, and have the same code and the same
  versions of the packages; each point runs in a process of its own there, with one thread too.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Scalar = bool | int | float | str
Point = Mapping[str, Scalar]

#: What keeps numerical libraries to one thread.
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}


class SchedulerError(Exception):
    """The cluster cannot be used; the text says why."""


@dataclass(frozen=True)
class Outcome:
    """What came of one point.

    Attributes
    ----------
    value
        What the function returned, None where it failed.
    error
        One line that says what went wrong, None where nothing did.
    traceback
        Where it went wrong; empty where the process died.
    """

    value: Any = None
    error: str | None = None
    traceback: str = ""


def call(function: Callable[..., Any], point: Point) -> Outcome:
    """Call a function at one point; an exception becomes the outcome.

    Parameters
    ----------
    function
        Takes the point's values as keyword arguments.
    point
        Keyword arguments.

    Returns
    -------
    Outcome
        The value, or the error.
    """
    try:
        return Outcome(function(**point))
    except Exception as error:
        return Outcome(error=describe(error), traceback=traceback.format_exc())


def describe(error: Exception) -> str:
    """One line for an exception: its type and its text.

    Parameters
    ----------
    error
        The exception.

    Returns
    -------
    str
        Without line ends.
    """
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_points(
    function: Callable[..., Any],
    points: Sequence[Point],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    packages: Sequence[str] = (),
) -> Generator[tuple[int, Outcome], None, None]:
    """Call a function at every point, several at a time.

    Closing the generator, or an exception in its consumer such as KeyboardInterrupt, ends what is
    still running.

    Parameters
    ----------
    function
        At the top level of an importable module; takes a point's values as keyword arguments.
    points
        Keyword arguments of the calls; they begin in this order.
    workers
        Number of local processes, by default one per core.
    scheduler
        Address of a Dask scheduler, to use its workers instead.
    packages
        Names of packages, besides NumPy, whose versions must be the same on the cluster.

    Yields
    ------
    tuple of int and Outcome
        Index of a point and what came of it, in the order in which they end.

    Raises
    ------
    SchedulerError
        The cluster cannot be reached, is lost, or has other code or versions; or `distributed` is
        not installed.
    """
    if scheduler is not None:
        from sapwood.studies.experiments.cluster import on_cluster

        yield from on_cluster(function, points, scheduler, packages)
    else:
        yield from _on_cores(function, points, cores() if workers is None else workers)


# ---- local processes ----------------------------------------------------------------------------


class WorkerProcess:
    """A process of `sapwood.experiments.worker`, started when needed and again after it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = threading.Event()

    def run(self, function: Callable[..., Any], point: Point) -> Outcome:
        """Let the process call a function at one point."""
        try:
            request = pickle.dumps((function, dict(point)))
        except Exception as error:
            return Outcome(error=describe(error), traceback=traceback.format_exc())
        try:
            process = self._process or self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            pickle.dump(request, process.stdin)
            process.stdin.flush()
            outcome = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            return Outcome(error=self._epitaph(error))
        # a value that can be pickled there and not be read here
        except Exception as error:
            self.close()
            return Outcome(error=describe(error), traceback=traceback.format_exc())
        assert isinstance(outcome, Outcome)
        return outcome

    def _start(self) -> subprocess.Popen[bytes]:
        # in a session of its own, Ctrl-C reaches only the process that the user started
        self._process = process = subprocess.Popen(
            [sys.executable, "-P", "-m", "sapwood.studies.experiments.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )
        if self._ended.is_set():
            process.kill()
        return process

    def _epitaph(self, error: Exception) -> str:
        process, self._process = self._process, None
        if process is None:
            return describe(error)
        _reap(process)
        code = process.returncode
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"the worker process {how}"

    def end(self) -> None:
        """End the process, in the middle of what it is doing."""
        self._ended.set()
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the process and release it."""
        if self._process is not None:
            _reap(self._process)
            self._process = None


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:  # a request that the process did not read
                continue
    process.wait()


def _on_cores(
    function: Callable[..., Any], points: Sequence[Point], workers: int
) -> Generator[tuple[int, Outcome], None, None]:
    waiting = deque(enumerate(points))
    outcomes: queue.SimpleQueue[tuple[int, Outcome]] = queue.SimpleQueue()
    pool = [WorkerProcess() for _ in range(min(workers, len(points)))]

    # one thread per worker hands it a point and waits for the answer
    def serve(worker: WorkerProcess) -> None:
        while True:
            try:
                index, point = waiting.popleft()
            except IndexError:
                return
            outcomes.put((index, worker.run(function, point)))

    threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in pool]
    try:
        for thread in threads:
            thread.start()
        for _ in points:
            yield outcomes.get()
    finally:
        waiting.clear()
        for worker in pool:
            worker.end()
        for thread in threads:
            thread.join()
        for worker in pool:
            worker.close()
