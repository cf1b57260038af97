"""Requirements of the figure of gradients beside closed forms, on its quick file."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from sapwood.studies.experiments.analytic_gradients import SPEED
from sapwood.studies.experiments.figures import make_figure
from sapwood.studies.plotting import read_steps, select

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def result(quick_results):
    return make_figure("analytic-gradients", quick_results, quick=True, progress=False)


@pytest.fixture(scope="module")
def rows(result):
    return read_steps(result.sweeps[0].csv)


def off(rows):
    return rows["found"] / rows["exact"] - 1.0


def test_gradients_of_a_slide_are_of_first_order(rows):
    mine = select(rows, task="slide")
    assert np.all(np.abs(off(mine)) < 5.0 * mine["dt"])
    assert np.all(np.abs(mine["end"] - mine["end_exact"]) < mine["dt"])


@pytest.mark.parametrize("task", ["bounce", "collision"])
def test_impacts_are_right_in_the_mean_alone(rows, task):
    """No gradient from one start is near, that of the mean over the way of a step is."""
    for by in ("gap", "speed"):
        mine = off(select(rows, task=task, by=by, dt=1e-3))
        assert abs(mine.mean()) < 0.25
        assert np.abs(mine).max() > 2.0 * abs(mine.mean())


@pytest.mark.parametrize("task", ["bounce", "collision"])
def test_every_gradient_is_that_of_the_steps(rows, task):
    """Last places are pieces of straight lines over the gap, and gradients their slopes."""
    for dt in np.unique(rows["dt"]):
        mine = select(rows, task=task, by="gap", dt=dt)
        slopes = np.diff(mine["end"]) / (np.diff(mine["start"]) * SPEED * dt)
        same = np.isclose(np.diff(mine["found"]), 0.0, atol=1e-9)
        assert same.any()
        np.testing.assert_allclose(slopes[same], mine["found"][1:][same], rtol=1e-6)
