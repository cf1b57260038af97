"""Fits of a pushed block and of a tossed cube find what the measurements were made with."""

from __future__ import annotations

import dataclasses
import importlib.util
import os

import numpy as np
import pytest

pytest.importorskip("scipy")
pytest.importorskip("mujoco")

from sapwood.studies import tossing
from sapwood.studies.experiments.figures import make_figure
from sapwood.studies.identification import pushed_block, tossed_cube
from sapwood.studies.identification.fitting import cost_of, fit, simulate
from sapwood.studies.plotting.tables import read_steps, select

needs_toolbox = pytest.mark.skipif(
    importlib.util.find_spec("tabulate") is None, reason="needs mujoco[sysid]"
)
START = np.array([3.0, 0.2, 1.0])


@pytest.mark.parametrize(
    "way", ["sensitivities", pytest.param("sysid with sapwood", marks=needs_toolbox)]
)
def test_a_pushed_block(way):
    """Mass, friction and damping within the noise, which the residuals show."""
    task = pushed_block.task("sapwood", 400, seed=1)
    found = fit(way, task, START)
    np.testing.assert_allclose(found.values, pushed_block.TRUTH, rtol=0.03)
    assert 0.85 < found.cost < 1.05
    assert found.cost < cost_of(task, pushed_block.TRUTH, by_mujoco=False)


@needs_toolbox
def test_mujocos_friction_ends_at_several_frictions():
    """On its own measurements, from a start where exact friction finds the truth."""
    task = pushed_block.task("mujoco", 400, seed=1)
    start = np.array([3.0, 0.8, 1.0])
    stuck, found = (fit(way, task, start) for way in ("sysid with mj_step", "sysid with sapwood"))
    assert stuck.values[1] > 1.0
    assert stuck.cost > 5.0
    assert abs(found.values[1] - 0.35) < 0.01
    assert found.cost < 1.15


def test_a_block_that_sticks_tells_nothing_about_its_friction():
    task = pushed_block.task("sapwood", 400, seed=1)
    assert fit("sensitivities", task, np.array([3.0, 0.8, 1.0])).values[1] == pytest.approx(0.8)


def test_simulated_tosses():
    """Friction and inertia of simulated tosses, from above and from below."""
    task = tossed_cube.task(tossing.made(4, seed=1))
    truth = np.array([0.25, tossing.INERTIA])
    model = task.spec_of(truth).compile()
    runs = [run._replace(sensors=simulate(model, run, by_mujoco=False)) for run in task.runs]
    task = dataclasses.replace(task, runs=runs)
    for factor in (0.8, 1.2):
        found = fit("sensitivities", task, truth * factor)
        np.testing.assert_allclose(found.values, truth, rtol=1e-3)


def test_figure(quick_results):
    pytest.importorskip("matplotlib")
    pytest.importorskip("tabulate")
    result = make_figure("identification", quick_results, quick=True, progress=False)
    assert result.image.stat().st_size > 10_000
    rows = select(read_steps(result.sweeps[0].csv), way="sysid with sapwood")
    assert rows.size == 6
    np.testing.assert_allclose(rows["friction"], 0.35, atol=0.01)


@pytest.mark.skipif(not os.environ.get("SAPWOOD_DATA"), reason="needs SAPWOOD_DATA")
def test_measured_tosses():
    """Each start ends at the same friction, near the published one."""
    task = tossed_cube.task(tossing.measured()[:20])
    for mu in (0.1, 0.8):
        found = fit("sensitivities", task, np.array([mu, 1.3 * tossing.INERTIA]))
        assert found.values[0] == pytest.approx(0.170, abs=0.002)
        assert found.cost < 6.5
