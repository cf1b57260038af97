"""The turn of one thread at a time to use a batch."""

from __future__ import annotations

import threading


class Turn:
    """A lock that refuses the thread that holds it: a callback in a call must not call again."""

    def __init__(self) -> None:
        self._lock, self._holder = threading.Lock(), 0

    def is_taken(self) -> bool:
        """Whether a thread has the turn."""
        return self._lock.locked()

    def __enter__(self) -> None:
        if self._holder == threading.get_ident():
            raise RuntimeError("this batch is in a call of this thread already")
        self._lock.acquire()
        self._holder = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self._holder = 0
        self._lock.release()
