"""What a child process must let go: locks of threads that stayed behind in its parent."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

_Owner = TypeVar("_Owner")

_known: weakref.WeakKeyDictionary[Any, Callable[[Any], None]] = weakref.WeakKeyDictionary()


def free_in_children(owner: _Owner, free: Callable[[_Owner], None]) -> None:
    """Call ``free(owner)`` in every child process that is forked while the owner lives.

    Parameters
    ----------
    owner : object
        Has a lock that a thread may hold while the process forks.
    free : callable
        Lets go of what that thread was at work on. No bound method, which would keep the owner
        alive.
    """
    _known[owner] = free


def _free_all() -> None:
    for owner, free in list(_known.items()):
        free(owner)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
