"""Scenes whose result is known in closed form, for any simulation engine.

Each closed form is a function that takes the class of an engine and returns a figure and the
largest value that a formula or a publication allows:

>>> from sapwood.studies import closed_forms, engines
>>> braking = closed_forms.FORMS["braking"]
>>> figure, bound = braking(engines.load("sapwood"))
>>> braking.unit, figure <= bound
('m', True)

A new one is a function with the decorator ``closed_form`` in the module of its family.
"""

from __future__ import annotations

from sapwood.studies.closed_forms import friction, impacts, presses, rotation, stacks
from sapwood.studies.closed_forms.record import (
    BROKEN,
    FAILED,
    HOLDS,
    REGISTERED,
    SKIPPED,
    ClosedForm,
    Measured,
    Row,
    row_of,
)

__all__ = [
    "BROKEN",
    "FAILED",
    "FORMS",
    "HOLDS",
    "SKIPPED",
    "ClosedForm",
    "Measured",
    "Row",
    "friction",
    "impacts",
    "presses",
    "rotation",
    "row_of",
    "stacks",
]

#: All closed forms by name, family by family.
FORMS: dict[str, ClosedForm] = REGISTERED
