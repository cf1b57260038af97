"""Solvers on the problems of slip control and of the clutter, and both line searches."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("scipy")

from sapwood.studies.experiments.algorithms.line_search import searches
from sapwood.studies.experiments.algorithms.step_solvers import in_time
from sapwood.studies.slip_control.solvers import on_problems


def test_algorithm_1_takes_less_than_one_iteration_per_step_of_slip_control():
    """Section X-D: 0.62 iterations at 1e-3, and e_m below it."""
    (row,) = on_problems("sapwood-plain", 1e-3, 2.0, 50, 2.0)
    assert row["solved"] == row["problems"] == 8
    assert row["iterations"] <= 1.0
    assert row["e_m_most"] <= 1e-3


def test_geodesic_needs_several_iterations_in_every_step():
    (row,) = on_problems("geodesic", 1e-6, 2.0, 100, 2.0)
    assert row["solved"] == row["problems"]
    assert row["iterations"] > 4.0


def test_exact_line_search_takes_fewer_iterations():
    rows = searches(12, True, 0, 1.0, 5, 1)
    assert rows["iterations_exact"].sum() < rows["iterations_backtracking"].sum()
    assert (rows["seconds_exact"] > 0.0).all()


def test_solvers_agree_on_the_momentum_balance():
    rows = in_time("sapwood-plain", 1e-5, 12, True, 0, 1.0, 10, 1)
    assert np.isfinite(rows["iterations"]).all()
    assert (rows["e_m"] <= 1e-5).all()
