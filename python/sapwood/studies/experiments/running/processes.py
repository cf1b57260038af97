"""Points on the cores of this machine, in worker processes."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any

from sapwood.studies.experiments.running.points import Outcome, Point, describe

#: What keeps numerical libraries to one thread.
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}


class WorkerProcess:
    """A process of `experiments.running.worker`, started when needed and again after it died."""

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
            [sys.executable, "-P", "-m", "sapwood.studies.experiments.running.worker"],
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


def on_cores(
    function: Callable[..., Any], points: Sequence[Point], workers: int
) -> Generator[tuple[int, Outcome], None, None]:
    """Call a function at every point; see `sapwood.studies.experiments.running.mapping.map_points`.

    Parameters
    ----------
    function, points, workers
        As there.

    Yields
    ------
    tuple of int and Outcome
        Index of a point and what came of it.
    """
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
