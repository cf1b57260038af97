"""How a patch of an environment gets into its copies.

Copies are made by what the class says: Gymnasium's environments by their constructor, dm_control's
physics from their data, others from all that they hold. The first two lose what was put into the
one object, so a patched object tells ``pickle`` and ``copy`` itself what it is made from: all that
its class says, and the patch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

# puts a patch into a copy, which is whole but for that
Attach = Callable[[Any], None]


def parts_of(target: Any, protocol: int, attach: Attach) -> tuple[Any, ...]:
    """What a copy is made from, as ``__reduce_ex__`` of the copied object returns it.

    Parameters
    ----------
    target : object
        The patched object.
    protocol : int
        Of pickle.
    attach : callable
        Bound to the patch; copied with it.

    Returns
    -------
    tuple
        Of a callable, its arguments, a state, and iterators where the class has any.
    """
    kind: Any = type(target)
    function, arguments, *rest = kind.__reduce_ex__(target, protocol)
    state, *items = rest or [None]
    return _begin, (function, arguments), (state, attach), *items


def _begin(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """A copy without its state, which it gets by the `__setstate__` of this one object."""
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
