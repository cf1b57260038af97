"""Requirements of figures 16 and 17, on their quick CSV files."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("mujoco")

from sapwood.studies.experiments.figures import make_figure
from sapwood.studies.plotting import read_steps

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(quick_results):
    return {n: make_figure(n, quick_results, quick=True, progress=False) for n in ("16", "17")}


def test_the_spatula_turns_in_the_loose_grip_alone(results):
    rows = read_steps(results["17"].sweeps[0].csv)
    secure = rows["force"] > 1.0
    assert rows["time"][-1] == pytest.approx(2.0)
    turned = np.diff(rows["pitch"], prepend=0.0)
    assert turned[~secure].sum() > 10 * abs(turned[secure].sum())
    contacts = rows["left_contacts"] + rows["right_contacts"]
    assert contacts[secure][-1] > 2 * contacts[-1]
    assert "loose grip, 1 N" in results["17"].report


def test_patches_carry_the_grip(results):
    """Most of it by pressure, over fans of triangles; friction on the slopes has the rest."""
    rows = read_steps(results["16"].sweeps[0].csv)
    sums = {}
    for force in (1.0, 16.0):
        patch = rows[(rows["force"] == force) & (rows["side"] == "left")]
        total = 0.0
        for face in np.unique(patch["face"]):
            corner = patch[patch["face"] == face]
            x, z = corner["x"] - corner["x"][0], corner["z"] - corner["z"][0]
            p = corner["pressure"]
            area = (x[1:-1] * z[2:] - z[1:-1] * x[2:]) / 2
            total += abs(area @ (p[0] + p[1:-1] + p[2:]) / 3)
        sums[force] = total
    assert 8.0 < sums[16.0] < 16.0
    assert 0.5 < sums[1.0] < 0.3 * sums[16.0]
