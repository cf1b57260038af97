"""How many processors there are to work on."""

from __future__ import annotations

import os


def usable_processors() -> int:
    """Number of processor cores that this process may run on, or of the machine where none is told.

    Returns
    -------
    int
        At least 1.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
