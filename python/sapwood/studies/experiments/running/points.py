"""A point of an experiment, and what comes of it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Scalar = bool | int | float | str
Point = Mapping[str, Scalar]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one point.

    Attributes
    ----------
    value
        What the function returned, None where it failed.
    error
        One line that says what went wrong, None where nothing did.
    traceback
        Where it went wrong; empty where the process died.
    """

    value: Any = None
    error: str | None = None
    traceback: str = ""


def call(function: Callable[..., Any], point: Point) -> Outcome:
    """Call a function at one point; an exception becomes the outcome.

    Parameters
    ----------
    function
        Takes the point's values as keyword arguments.
    point
        Keyword arguments.

    Returns
    -------
    Outcome
        The value, or the error.
    """
    try:
        return Outcome(function(**point))
    except Exception as error:
        return Outcome(error=describe(error), traceback=traceback.format_exc())


def describe(error: Exception) -> str:
    """One line for an exception: its type and its text.

    Parameters
    ----------
    error
        The exception.

    Returns
    -------
    str
        Without line ends.
    """
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
