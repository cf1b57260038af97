"""Copies of environments that keep their patch.

The class decides how a copy is made: Gymnasium's environments by their constructor, dm_control's
physics from their data, others from all their attributes. The first two lose changes of the one
object, so a patched object gives ``pickle`` and ``copy`` the recipe of its class and the patch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

# puts a patch into a copy that is otherwise complete
Attach = Callable[[Any], None]


def parts_of(target: Any, protocol: int, attach: Attach) -> tuple[Any, ...]:
    """The recipe of a copy, in the form of ``__reduce_ex__`` of the copied object.

    Parameters
    ----------
    target : object
        The patched object.
    protocol : int
        The protocol of pickle.
    attach : callable
        A method bound to the patch; it is copied with it.

    Returns
    -------
    tuple
        A callable, its arguments, a state, and iterators if the class has any.
    """
    kind: Any = type(target)
    function, arguments, *rest = kind.__reduce_ex__(target, protocol)
    state, *items = rest or [None]
    return _begin, (function, arguments), (state, attach), *items


def _begin(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """A copy without its state, which ``__setstate__`` of this object sets."""
    made = function(*arguments)
    made.__dict__["__setstate__"] = functools.partial(_complete, made)
    return made


def _complete(made: Any, state_and_patch: tuple[Any, Attach]) -> None:
    state, attach = state_and_patch
    del made.__dict__["__setstate__"]
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    elif state is not None:
        plain, slots = state if isinstance(state, tuple) else (state, None)
        made.__dict__.update(plain or {})
        for name, value in (slots or {}).items():
            setattr(made, name, value)
    attach(made)
