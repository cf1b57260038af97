"""Words of messages: the name that was meant by one that does not exist, and counts."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable
from types import FrameType
from typing import Any, TypeVar

_T = TypeVar("_T")

_CONTACT = "contact=sapwood.ContactMaterial({}=...)"
_SETTINGS = "settings=sapwood.SapSettings({}=...)"

MEANT: dict[str, tuple[str, ...]] = {
    "G": ("C=-G, d=-h: inequalities are C x >= d",),
    "M": ("A",),
    "P": ("H",),
    "Q": ("H",),
    "atol": ("absolute_tolerance", _SETTINGS.format("absolute_tolerance")),
    "c": ("g",),
    "damping": ("dissipation_time", "tau_d", _CONTACT.format("dissipation_time")),
    "dissipation_time": ("tau_d", _CONTACT.format("dissipation_time")),
    "dt": ("time_step",),
    "friction": ("mu",),
    "h": ("d=-h, C=-G: inequalities are C x >= d", "time_step", "dt"),
    "initial_warmstart": ("initial_state alone: a step has no other warm start",),
    "integrator": ("scheme",),
    "k": ("stiffness", _CONTACT.format("stiffness")),
    "lb": ("lower",),
    "max_iter": ("max_iterations", _SETTINGS.format("max_iterations")),
    "max_iterations": (_SETTINGS.format("max_iterations"),),
    "maxiter": ("max_iterations", _SETTINGS.format("max_iterations")),
    "mu": (_CONTACT.format("friction"), "friction"),
    "nthread": ("threads",),
    "q": ("g",),
    "relative_tolerance": (_SETTINGS.format("relative_tolerance"),),
    "rtol": ("relative_tolerance", _SETTINGS.format("relative_tolerance")),
    "steps": ("nstep",),
    "stiffness": ("k", _CONTACT.format("stiffness")),
    "tau_d": ("dissipation_time", _CONTACT.format("dissipation_time")),
    "threads": ("nthread",),
    "time_step": ("dt",),
    "timestep": ("time_step", "dt"),
    "tol": ("tolerance", "relative_tolerance", _SETTINGS.format("relative_tolerance")),
    "tolerance": ("relative_tolerance", _SETTINGS.format("relative_tolerance")),
    "ub": ("upper",),
    "warmstart": ("start", "v_guess"),
    "x0": ("start", "v_guess"),
}
"""Corrections for arguments that do not exist. A text applies to functions with the argument that
it begins with; the first one that applies is shown."""


def nearest(name: str, known: Iterable[str]) -> str:
    """End of a message about an unknown name.

    Parameters
    ----------
    name : str
        The name that was given.
    known : iterable of str
        Names that exist; empty ones do not count.

    Returns
    -------
    str
        The name that is most alike, or else the first names; empty where there are none.

    Examples
    --------
    >>> nearest("flor", ["floor", "crate"])
    "; did you mean 'floor'?"
    >>> nearest("wheel", ["floor", "crate"])
    "; there are 'floor', 'crate'"
    """
    # errors alone need it, and it takes a millisecond
    import difflib

    names = [other for other in dict.fromkeys(known) if other]
    close = difflib.get_close_matches(name, names, 1)
    if close:
        return f"; did you mean {close[0]!r}?"
    if not names:
        return ""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"; there are {', '.join(map(repr, names[:5]))}{more}"


def counted(number: int, noun: str) -> str:
    """A number of things, such as ``1 island`` and ``2 islands``.

    Parameters
    ----------
    number : int
        Number of things.
    noun : str
        Its plural ends in s.

    Returns
    -------
    str
        The text.
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _instead(name: str, known: Collection[str]) -> str:
    """The correction for an argument that does not exist."""
    for text in MEANT.get(name, ()):
        found = re.match(r"\w+", text)
        if found and found[0] in known:
            return f": write {text}=" if text == found[0] else f": write {text}"
    return nearest(name, known)


def _fault(
    function: Callable[..., object],
    also: Collection[Callable[..., object]],
    order: str,
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> str:
    """The reason why a call does not fit its function; empty if there is no better text."""
    kinds = inspect.Parameter
    shared = [inspect.signature(f).parameters.values() for f in (function, *also)]
    unnamed = (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
    known = [p.name for parameters in shared for p in parameters if p.kind not in unnamed]
    known = [name for name in known if name not in ("self", "cls")]
    label = function.__qualname__.removesuffix(".__init__")
    for name in kwargs:
        if name not in known:
            return f"{label} has no argument {name!r}{_instead(name, known)}"
    at_most = sum(p.kind == kinds.POSITIONAL_OR_KEYWORD for p in shared[0])
    return order if len(args) > at_most else ""


def explained(*also: Callable[..., object], order: str = "") -> Callable[[_T], _T]:
    """Decorate a function or class: errors about unknown arguments then suggest a correction.

    Parameters
    ----------
    *also : callable
        Functions whose arguments it takes too.
    order : str
        Message where there are too many positional arguments.

    Returns
    -------
    callable
        The decorator. Of a class it changes ``__init__``, in place.

    Examples
    --------
    >>> @explained()
    ... def step(time_step): ...
    >>> step(dt=0.1)
    Traceback (most recent call last):
        ...
    TypeError: step has no argument 'dt': write time_step=
    """

    def wrapped(function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except TypeError:
                fault = _fault(function, also, order, args, kwargs)
                if not fault:
                    raise
            raise TypeError(fault)

        return call

    def decorate(target: _T) -> _T:
        if isinstance(target, type):
            setattr(target, "__init__", wrapped(vars(target)["__init__"]))  # noqa: B010
            return target
        found: _T = wrapped(target)
        return found

    return decorate


_BETWEEN = ("sapwood", "gymnasium", "gymnasium_robotics", "dm_control", "dm_env")


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and point at the user's line that led here, outside of this package and environments.

    Parameters
    ----------
    text : str
        Text of the warning.
    category : type
        Its category.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package_of(frame) in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
