"""Release of locks in forked children whose threads stayed behind in the parent."""

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
        An object with a lock that a thread may hold while the process forks.
    free : callable
        Releases the work of that thread. It must be no bound method, which would keep the owner
        alive.
    """
    _known[owner] = free


def _free_all() -> None:
    for owner, free in list(_known.items()):
        free(owner)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
