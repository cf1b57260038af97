"""The quick scenes whose result is known: the stepper meets their bounds by its defaults."""

from __future__ import annotations

import pytest

pytest.importorskip("mujoco")

from sapwood.studies.closed_forms import FORMS
from sapwood.studies.engines import load


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if form.quick])
def test_bound_holds(name):
    figure, bound = FORMS[name](load("sapwood"))
    assert figure <= bound
