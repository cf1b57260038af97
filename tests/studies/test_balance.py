"""The planner's balance: virtual forces that push alone give the moment, and a push tilts less."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("scipy")

from sapwood.studies.walking.balance import GAINS, moment, virtual_forces
from sapwood.studies.walking.pushed import pushed
from sapwood.studies.walking.robot import MASS, STANCE, crouched, robot
from sapwood.studies.walking.walk import walk


def test_virtual_forces_push_and_give_the_moment_where_pulls_are_not_needed():
    arms = STANCE[:, :2]
    wanted = np.array([0.3, -0.2])
    forces = virtual_forces(wanted, arms)
    assert (forces >= 0.0).all()
    # the least forces of a symmetric stance come in opposite pairs: the pulls are left out, and
    # half of the moment remains
    given = np.array([forces @ arms[:, 1], -forces @ arms[:, 0]])
    np.testing.assert_allclose(given, wanted / 2, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_moment_is_against_the_tilt(axis):
    model = robot(1.0, 1e-3)
    data = crouched(model)
    angle = 0.1
    data.qpos[3:7] = [np.cos(angle / 2), *(np.sin(angle / 2) * np.eye(3)[axis])]
    mujoco.mj_kinematics(model, data)
    expected = np.zeros(2)
    expected[axis] = -GAINS[0] * np.sin(angle)
    np.testing.assert_allclose(moment(data), expected, atol=1e-12)


def test_a_push_tilts_a_balanced_robot_less():
    alone, balanced = (pushed("lcp_coulomb", held, 60.0, 0.4)["tilt"] for held in (False, True))
    assert balanced.max() < 0.7 * alone.max()


@pytest.mark.parametrize("name", ["lcp_coulomb", "qp_coulomb"])
def test_balance_leaves_feet_on_the_ground(name):
    """Virtual forces as accelerations of light legs threw the robot into the air by now."""
    steps = walk(name, "compliant", "high", 0.3, stand=True, balanced=True, push=60.0)
    assert steps["feet"].min() >= 1
    assert steps["measured"].max() < 10.0 * MASS * 9.81
