"""Requirements of the figure of times of inverse dynamics, on its quick CSV file."""

from __future__ import annotations

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


def test_pivots_without_slip_are_bounded_by_the_rank(rows):
    """The problem without slip has rank 6 at most, those of friction grow with the contacts."""
    pivots = {name: select(rows, controller=name, contacts=10)["pivots"] for name in CONTROLLERS}
    assert pivots["lcp_noslip"].max() <= 6
    assert pivots["lcp_coulomb"].mean() > 6
