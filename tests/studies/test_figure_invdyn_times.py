"""What the figure of times of inverse dynamics must show, on the CSV file of its quick version."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from sapwood.studies.experiments.figures import FIGURES, make_figure
from sapwood.studies.experiments.invdyn_times import CONTROLLERS
from sapwood.studies.plotting import read_steps, select

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def result(quick_results):
    return make_figure("id-19", quick_results, quick=True, progress=False)


@pytest.fixture
def rows(result):
    return read_steps(result.sweeps[0].csv)


def test_every_call_is_in_the_file_and_solved(rows):
    points = FIGURES["id-19"].plan(quick=True).sweeps[0].points
    assert rows.size == sum(point["samples"] for point in points)
    assert rows["solved"].all()
    assert (rows["cpu_seconds"] > 0.0).all()


def test_the_largest_time_is_drawn(result, rows):
    """No sample is left out of the last panel, whose lines are in the order of the legend."""
    figure = result.figure
    lines = figure.axes[2].lines
    for controller, line in zip(CONTROLLERS, lines, strict=False):
        run = select(rows, controller=controller)
        largest = [run["cpu_seconds"][run["contacts"] == n].max() for n in line.get_xdata()]
        assert np.allclose(line.get_ydata(), 1e3 * np.array(largest))


def test_pivots_without_slip_are_bounded_by_the_rank(rows):
    """The problem without slip has rank 6 at most, those of friction grow with the contacts."""
    pivots = {name: select(rows, controller=name, contacts=10)["pivots"] for name in CONTROLLERS}
    assert pivots["lcp_noslip"].max() <= 6
    assert pivots["lcp_coulomb"].mean() > 6


def test_the_figure_is_drawn_from_its_file_alone(result, tmp_path):
    plan = FIGURES["id-19"].plan(quick=True)
    plan.draw({"invdyn_times": result.sweeps[0].csv}, tmp_path / "again.png")
    assert (tmp_path / "again.png").read_bytes() == result.image.read_bytes()
    assert "CPU median" in result.report
