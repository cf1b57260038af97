"""Torques of a swaying biped: Lemke's method jumps, the nearest solution does not."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco")

from sapwood.studies.walking.mindiff import CONTROLLERS, sway


def test_the_nearest_solution_does_not_chatter():
    runs = {name: sway(name, 0.05) for name in CONTROLLERS}
    assert all(run["solved"].all() for run in runs.values())
    change = {name: run["torque_change"][1:] for name, run in runs.items()}
    assert change["lcp_coulomb"].mean() > 20.0 * change["lcp_nearest"].mean()
    # torques are as smooth as the least ones, and never smoother than the motion asks for
    np.testing.assert_allclose(change["lcp_nearest"].mean(), change["qp_coulomb"].mean(), rtol=0.05)
    # far fewer convex programs than the 2^12 choices
    assert runs["lcp_nearest"]["pivots"].max() < 400
