"""Requirements of the figure of the rigid core, on its quick CSV files."""

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


def test_the_sphere_stops_in_one_step(run):
    """From 50 m/s to the wall and away from it again, half a metre of free flight before."""
    rows = run("impact", "log")
    assert rows["speed"][0] == pytest.approx(50.0)
    hit = int(np.argmax(rows["penetration"] > 0.0))
    assert rows["speed"][hit - 1] == pytest.approx(50.0)
    assert rows["speed"][hit + 1] < 1.0
    assert rows["height"][-1] > 0.05
