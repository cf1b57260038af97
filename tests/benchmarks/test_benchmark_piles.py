"""Piles under two builds: their models, the table, a run of the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco")

import sapwood
from benchmarks import pile_sequences, piles, rows
from sapwood import _core
from sapwood.studies import scenes

SITE = Path(sapwood.__file__).resolve().parents[1]


def test_every_second_layer_is_heavier():
    equal, heavy = (piles.pile(12, ratio, seed=1).body_mass[1:] for ratio in (1, 100))
    np.testing.assert_array_equal(equal, scenes.clutter(12, seed=1).compile().body_mass[1:])
    np.testing.assert_allclose(heavy / equal, np.repeat([1.0, 100.0, 1.0], 4))


@pytest.mark.slow
@pytest.mark.skipif(
    Path(_core.__file__).resolve().parent != SITE / "sapwood", reason="an editable installation"
)
def test_quick_run_of_the_same_build(quick):
    out, _ = quick("pile-builds", "--builds", SITE, SITE, pictures=0)
    measured = rows.read(out / "pile-builds.csv", piles.Row)
    assert [(row.bodies, row.mass_ratio, row.seed) for row in measured] == [(8, 1, 0), (8, 10, 0)]
    for row in measured:
        assert row.steps == 30
        assert row.contacts > 1.0
        assert row.iterations_before == row.iterations_after > 0.0
        assert row.changed == 0
        assert 0.3 < row.ratio < 3.0


def test_quick_run_beside_the_convex_law(quick):
    out, _ = quick("piles", pictures=0)
    (row,) = rows.read(out / "piles.csv", pile_sequences.Row)
    assert (row.steps, row.problems, row.missed) == (40, 2, 0)
    assert row.coulomb > 0.0
    assert row.convex > 0.0
    assert row.ratio > 0.0


@pytest.mark.parametrize("kind", ["mixed", "boxes"])
def test_boxes_alone_are_boxes(kind):
    model = pile_sequences.Pile(12, kind, True, 0).model()
    types = set(model.geom_type[model.geom_bodyid > 0])
    assert (len(types) == 1) == (kind == "boxes")
