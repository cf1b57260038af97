"""Lemma 3, Theorem 1 and the estimates of section IX, on their own rows."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("matplotlib")

from sapwood.studies.experiments.algorithms.theory import REGIMES, rates, resting, values


@pytest.mark.parametrize("regime", REGIMES)
def test_every_iteration_keeps_the_bound(regime):
    rows = rates(regime, 2)
    assert len(rows) >= 4
    left = rows["relative_gap"][1:] / rows["relative_gap"][:-1]
    assert np.all(left <= 1.0 - rows["share"][1:])
    # Lemma 3 is no better than the condition of the problem
    assert (rows["share"][0] > 0.1) == (regime == "soft")


@pytest.mark.parametrize("program", ["(3)", "(5)"])
def test_the_gap_of_the_dual_closes_with_the_tolerance(program):
    pytest.importorskip("clarabel")
    apart = []
    for tolerance in (1e-3, 1e-8):
        (row,) = values(program, tolerance, 2)
        apart.append(abs(row["dual"] / row["primal"] - 1.0))
    assert apart[1] < 1e-6
    assert apart[1] < 1e-2 * apart[0]


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_a_point_mass_rests_and_slips_as_estimated(dt):
    """Depth R_n m g dt (dt + tau_d) and slip sigma w times the impulse, with w = 1/(sqrt(3) m)."""
    (row,) = resting(dt, 200)
    w = 1.0 / np.sqrt(3.0)
    depth = w / (4.0 * np.pi**2) * 9.81 * dt**2 * (1.0 + 1.0 / np.pi)
    assert row["depth"] == pytest.approx(depth, rel=1e-3)
    assert row["slip"] == pytest.approx(1e-3 * w * 0.999 * 9.81 * dt, rel=1e-3)
