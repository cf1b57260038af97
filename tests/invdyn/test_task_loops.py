"""Closed loops in the Stepper: robots of the data folder stand and squat under task control."""

import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks import legged

# largest median error of planned forces over the weight
STANDING, SQUATTING = 0.006, 0.01
ROBOTS = pytest.mark.parametrize("name", list(legged.ROBOTS))


def robot(name):
    folder = os.environ.get("SAPWOOD_DATA")
    if not folder:
        pytest.skip("SAPWOOD_DATA names no folder with models")
    return legged.load(Path(folder), name)


def check(course, depth, settled, error):
    """Up, level, as deep as asked; forces as planned; quiet torques within limits."""
    assert course.solved.all()
    assert course.excess.max() <= 1e-9
    assert course.tilt.max() < 0.1
    assert course.height.min() > -depth - 0.03
    assert course.height.max() < 0.03
    after = slice(settled, None)
    assert np.median(course.force_error[after]) < error
    if depth == 0.0:
        assert np.median(course.torque_change[after]) < 0.1
    else:
        assert course.height.min() < -0.5 * depth


@pytest.mark.filterwarnings("ignore::UserWarning")
@ROBOTS
def test_robots_stand(name):
    check(legged.run(*robot(name), seconds=0.6, depth=0.0), 0.0, settled=150, error=STANDING)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("depth", [0.0, legged.DEPTH])
@ROBOTS
def test_robots_stand_and_squat_for_a_minute(name, depth):
    error = STANDING if depth == 0.0 else SQUATTING
    course = legged.run(*robot(name), seconds=60.0, depth=depth)
    check(course, depth, settled=500, error=error)
    if depth == 0.0:
        assert course.torque_change[len(course.solved) // 2 :].max() < 0.1
