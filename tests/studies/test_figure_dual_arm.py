"""Requirements of the figures of the two arms, on their quick CSV files."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from sapwood.studies.dual_arm.scene import scene
from sapwood.studies.experiments.dual_arm import SOLVERS
from sapwood.studies.experiments.figures import make_figure
from sapwood.studies.plotting import read_steps, select

pytestmark = pytest.mark.slow

NAMES = ("18", "19", "20", "21")
CONIC = ("clarabel", "qoco", "ecos", "geodesic")


@pytest.fixture(scope="module")
def results(quick_results):
    return {name: make_figure(name, quick_results, quick=True, progress=False) for name in NAMES}


def solved(rows, name):
    """Rows of a solver, where its package is installed."""
    chosen = select(rows, solver=name)
    if not chosen.size:
        pytest.skip(f"needs {name}")
    return chosen


def test_19_sapwoods_tolerance_bounds_its_momentum_error(results):
    for sweep in results["19"].sweeps:
        rows = select(read_steps(sweep.csv), solver="sapwood")
        assert (rows["e_m_most"] <= rows["tolerance"]).all()
        assert (rows["e_m_least"] <= rows["e_m_median"]).all()
        assert (rows["solved"] == rows["problems"]).all()


@pytest.mark.parametrize("name", CONIC)
def test_19_20_tolerances_of_others_bound_no_momentum_error(results, name):
    rows = solved(read_steps(results["19"].sweeps[0].csv), name)
    loose, tight = rows[np.argsort(-rows["tolerance"])]
    assert tight["e_m_most"] > tight["tolerance"]
    assert tight["e_mu_mean"] < loose["e_mu_mean"]


@pytest.mark.parametrize("name", [name for name in SOLVERS if name not in ("sapwood", "scs")])
def test_21_sapwood_needs_the_fewest_iterations(results, name):
    rows = read_steps(results["21"].sweeps[0].csv)
    own = select(rows, solver="sapwood")["iterations"].mean()
    assert solved(rows, name)["iterations"].mean() > 1.5 * own


def test_the_beginning_is_done_with_each_tolerance(results):
    rows = read_steps(results["21"].sweeps[1].csv)
    assert set(rows["tolerance"].tolist()) == {1e-1, 1e-3}
    assert rows["done"].all()


def test_1_keyframes_are_pictures_of_the_scene(quick_results):
    result = make_figure("1", quick_results, quick=True, progress=False)
    rows = read_steps(result.sweeps[0].csv)
    assert list(dict.fromkeys(rows["phase"].tolist())) == ["start", "grasp jar"]
    assert (rows["i"] == np.tile(np.arange(scene().nq), 2)).all()
    if not result.undrawn:
        assert result.image.stat().st_size > 50_000
