"""What the figure of the rigid core must show, on the CSV files of its quick version."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("mujoco")

from sapwood.studies.experiments.figures import make_figure
from sapwood.studies.experiments.rigid_core import CORES, DELTA, STIFFNESS
from sapwood.studies.plotting import read_steps

pytestmark = pytest.mark.slow

LAMBDA = 5.0


@pytest.fixture(scope="module")
def result(quick_results):
    return make_figure("rigid-core", quick_results, quick=True, progress=False)


@pytest.fixture
def run(result):
    """Rows of one scene with one core."""
    rows = read_steps(result.sweeps[0].csv)
    return lambda scene, core: rows[(rows["scene"] == scene) & (rows["core"] == core)]


def test_a_log_barrier_is_never_passed(run):
    """No contact is deeper than delta after any step, and none starts a step deeper."""
    for scene in ("load", "tower", "impact"):
        rows = run(scene, "log")
        assert rows["penetration"].max() < DELTA, scene
        assert not rows["deep_contacts"].any()
        assert not rows["unconverged"].any()
        assert rows["momentum_error"].max() <= 1e-6


def test_the_compliant_law_gives_way(run):
    """Without a core the same layers are passed, in every scene."""
    for scene in ("load", "tower", "impact"):
        assert run(scene, "none")["penetration"].max() > 10 * DELTA, scene


@pytest.mark.parametrize("core", CORES)
def test_penetration_under_load(run, core):
    """k delta s phi(s) = load, s = depth/delta: the ball follows it while the load grows slowly.

    The load grows by 1.6 % in a step, and the depth lags behind by tau_d and dt: at most 2 steps,
    or 3.3 % of the load.
    """
    rows = run("load", core)
    s = rows["penetration"] / DELTA
    phi = {
        "none": np.ones_like(s),
        "log": -np.log1p(-s) / (2 * s) + 1 / (2 * (1 - s)) if core == "log" else None,
        "exp": np.exp(LAMBDA * s) * (1 + LAMBDA * s / 2) if core == "exp" else None,
    }[core]
    force = STIFFNESS * DELTA * s * phi
    settled = rows["time"] > 0.5
    expected = rows["load"] + 9.81
    ratio = (force / expected)[settled]
    assert ratio.min() > 0.96
    assert ratio.max() < 1.001


def test_loads_at_which_the_laws_part(run):
    """Far above k delta = 100 N: only the log barrier holds, and exp is not far off."""
    depths = {core: run("load", core)["penetration"] for core in CORES}
    load = run("load", "none")["load"] + 9.81
    heavy = load > 1e4 * STIFFNESS * DELTA * 0.9
    assert np.all(depths["none"][heavy] > 1e3 * DELTA)
    assert np.all(depths["log"][heavy] > 0.999 * DELTA)
    assert np.all((depths["exp"][heavy] > DELTA) & (depths["exp"][heavy] < 2 * DELTA))
    # log is stiffer than the spring at any load
    assert np.all(depths["log"][50:] < depths["none"][50:])


def test_the_tower_stands_on_its_cores(run):
    """Twenty boxes of 10 cm, each contact less than delta deep: the top centre is near 1.95 m."""
    lowest = 1.95 - 20 * DELTA
    assert run("tower", "log")["height"].min() > lowest
    assert run("tower", "none")["height"].min() < lowest


def test_the_sphere_stops_in_one_step(run):
    """From 50 m/s to the wall and away from it again, half a metre of free flight before."""
    rows = run("impact", "log")
    assert rows["speed"][0] == pytest.approx(50.0)
    hit = int(np.argmax(rows["penetration"] > 0.0))
    assert rows["speed"][hit - 1] == pytest.approx(50.0)
    assert rows["speed"][hit + 1] < 1.0
    assert rows["height"][-1] > 0.05


def test_small_loads_cost_little(result):
    """Where cores have nothing to do, iterations are those of the compliant law within a few.

    Times are in the file; a busy machine cannot promise them.
    """
    rows = read_steps(result.sweeps[1].csv)
    plain = rows[rows["core"] == "none"][0]
    soft = rows[(rows["core"] != "none") & (rows["delta"] >= 0.1)]
    assert np.all(soft["iterations"] <= plain["iterations"] + 2.0)
    assert np.all(rows["momentum_error"] <= 1e-6)
    assert np.all(rows["step_seconds"] > rows["solver_seconds"])
