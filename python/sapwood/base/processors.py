"""Numbers of processors and threads."""

from __future__ import annotations

import os

from sapwood.base.checks import integer

MOST_THREADS = 256
"""As in csrc/base/threads.h."""


def usable_processors() -> int:
    """Number of processor cores that this process may use, or else of the machine.

    Returns
    -------
    int
        At least 1.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(threads: object, name: str = "threads", default: int | None = None) -> int:
    """Number of threads of an object that keeps them.

    Parameters
    ----------
    threads : int or None
        Wanted number, from 1 to 256; None is the default.
    name : str
        Name of the argument, for the error.
    default : int, optional
        By default one thread per core that this process may use.

    Returns
    -------
    int
        From 1 to 256.

    Raises
    ------
    TypeError, ValueError
        If the wanted number is none of these; the text names the argument.
    """
    if threads is not None:
        return integer(threads, name, 1, MOST_THREADS)
    return min(usable_processors() if default is None else default, MOST_THREADS)


def sharing_threads(threads: object, name: str = "threads") -> int:
    """Number of threads that share the tasks of one call.

    Parameters
    ----------
    threads : int or None
        Threads that the caller allows, at least 1; None is one per core of this process.
    name : str
        Name of the argument, for the error.

    Returns
    -------
    int
        From 1 to 256.

    Raises
    ------
    TypeError, ValueError
        If the number is no integer or below 1; the text names the argument.
    """
    allowed = usable_processors() if threads is None else integer(threads, name, 1)
    return min(allowed, MOST_THREADS)
