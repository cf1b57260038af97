"""A process that calls functions one after the other, for the points of a sweep.

``python -m sapwood.studies.experiments.running.worker`` reads pickled requests from its standard
input and writes a pickled `Outcome` for each to its standard output. What the functions print goes
to the standard error stream. When the input ends, because the process that started it has ended, it
leaves at once.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
import traceback
from typing import BinaryIO

from sapwood.studies.experiments.running.points import Outcome, call, describe


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until they end; does not return.

    Parameters
    ----------
    requests
        Stream of pickled bytes, each a pickled pair of a function and a point.
    replies
        Stream for the pickled outcomes.
    """
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        while True:
            try:
                waiting.put(pickle.load(requests))
            except EOFError:
                os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        replies.write(_answer(waiting.get()))
        replies.flush()


def _answer(request: bytes) -> bytes:
    """Return the pickled outcome of one request, whatever happens."""
    try:
        return pickle.dumps(call(*pickle.loads(request)))
    # a function that cannot be imported, a value that cannot be pickled
    except Exception as error:
        return pickle.dumps(Outcome(error=describe(error), traceback=traceback.format_exc()))


if __name__ == "__main__":
    # keep what functions print out of the stream of outcomes
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, channel)
