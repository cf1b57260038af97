"""Requirements of the figures of the walking robot, on their quick CSV files."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("mujoco")
pytest.importorskip("scipy")

from sapwood.studies.experiments.figures import make_figure
from sapwood.studies.experiments.walking import CONTROLLERS, GROUNDS, MATCHED, TASKED
from sapwood.studies.plotting import read_steps, select
from sapwood.studies.plotting.walking_tables import chatter, force_error

pytestmark = pytest.mark.slow

NAMES = (
    "id-6", "id-14", "id-15", "id-16", "id-17",
    "id-table-3", "id-table-4", "id-table-5", "id-table-6",
)  # fmt: skip


@pytest.fixture(scope="module")
def results(quick_results):
    return {name: make_figure(name, quick_results, quick=True, progress=False) for name in NAMES}


def test_every_controller_walks_on_every_ground(results):
    rows = read_steps(results["id-14"].sweeps[0].csv)
    for ground, friction in GROUNDS:
        chosen = select(rows, ground=ground, friction=friction)
        assert set(chosen["controller"].tolist()) == set(CONTROLLERS)
    assert (rows["position_error"] >= 0.0).all()


def test_forces_are_predicted_in_matched_simulations(results):
    """Table 5: 2 % for complementarity, about 1 % for the convex model on its own ground."""
    rows = read_steps(results["id-table-5"].sweeps[1].csv)
    assert set(rows["controller"].tolist()) == set(MATCHED)
    for friction in ("low", "high"):
        for name, ground, most in (("lcp_coulomb", "lcp", 2.0), ("qp_coulomb", "qp", 1.0)):
            run = select(rows, controller=name, ground=ground, friction=friction)
            assert force_error(run) < most


def test_the_second_stage_takes_three_orders_of_magnitude(results):
    rows = read_steps(results["id-15"].sweeps[0].csv)
    one, two = (np.array(chatter(rows, name)) for name in ("one_stage_paper", "qp_coulomb_paper"))
    assert (two < 1e-3 * one).all()


def test_two_feet_at_most_carry_the_robot_at_high_friction(results):
    rows = read_steps(results["id-table-6"].sweeps[0].csv)
    assert set(rows["controller"].tolist()) == set(TASKED)
    assert not select(rows, friction="high")["fallen"].any()
