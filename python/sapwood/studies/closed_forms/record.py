"""A closed form: a scene, the figure that an engine is judged by, and the bound of that figure.

A bound follows from a formula of mechanics or from a publication, and never from a result of this
package. Bounds of a motion allow for the first order of Euler's method, which all engines here
use: a velocity that changes by a dt in a step is known to a dt, a position to v dt.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

from sapwood.studies.engines import CannotSimulate, Engine, load

HOLDS, BROKEN, FAILED, SKIPPED = "holds", "broken", "failed", "skipped"


class Measured(NamedTuple):
    """The result of an engine in a scene."""

    figure: float
    """The figure."""
    bound: float
    """The largest value that it may have."""


Measure = Callable[[type[Engine]], tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class ClosedForm:
    """A scene whose result is known; call it with an engine.

    Attributes
    ----------
    name : str
        Name of the scene.
    family : str
        Name of the module that defines it.
    quantity : str
        The figure in words.
    unit : str
        Unit of figure and bound, "1" for none.
    formula : str
        The closed form.
    source : str
        The publication or the law that it follows from.
    quick : bool
        Whether it is among the quick ones.
    measure : callable
        Takes the class of an engine, returns figure and bound.
    """

    name: str
    family: str
    quantity: str
    unit: str
    formula: str
    source: str
    quick: bool
    measure: Measure

    def __call__(self, engine: type[Engine]) -> Measured:
        """Figure and bound for an engine.

        Raises
        ------
        CannotSimulate
            The engine lacks something that the scene needs.
        """
        return Measured(*map(float, self.measure(engine)))


#: All closed forms by name, in the order of their definition.
REGISTERED: dict[str, ClosedForm] = {}


def closed_form(
    *, quantity: str, formula: str, source: str, unit: str = "1", quick: bool = False
) -> Callable[[Measure], ClosedForm]:
    """Register a function as a closed form; see the attributes of :class:`ClosedForm`."""

    def register(measure: Measure) -> ClosedForm:
        name = measure.__name__.replace("_", " ")
        family = measure.__module__.rsplit(".", 1)[-1]
        if name in REGISTERED:
            raise ValueError(f"there are two closed forms named {name!r}")
        form = ClosedForm(name, family, quantity, unit, formula, source, quick, measure)
        REGISTERED[name] = form
        return form

    return register


@dataclasses.dataclass(frozen=True)
class Row:
    """A closed form in one engine."""

    family: str
    scene: str
    engine: str
    status: str
    """holds, broken, failed (an error, or not finite), skipped"""
    figure: float
    bound: float
    unit: str
    quantity: str
    formula: str
    source: str
    reason: str
    """Why it failed or was skipped."""


def row_of(form: ClosedForm, engine: str) -> Row:
    """Measure a closed form in an engine, whatever comes of it.

    Parameters
    ----------
    form : ClosedForm
        The scene.
    engine : str
        A name of :data:`sapwood.studies.engines.ENGINES`.

    Returns
    -------
    Row
        The result; an engine that is not installed is skipped with its reason.
    """
    status, reason, figure, bound = FAILED, "", float("nan"), float("nan")
    try:
        figure, bound = form(load(engine))
    except ImportError as error:
        status, reason = SKIPPED, f"not installed: {error}"
    except CannotSimulate as error:
        status, reason = SKIPPED, f"cannot simulate: {error}"
    except Exception as error:  # each engine has errors of its own
        reason = " ".join(str(error).split())[:200] or type(error).__name__
    else:
        status = HOLDS if figure <= bound else BROKEN
    return Row(
        form.family, form.name, engine, status, figure, bound, form.unit,
        form.quantity, form.formula, form.source, reason,
    )  # fmt: skip
