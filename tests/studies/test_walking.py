"""The quadruped, its gait and its controllers."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("scipy")

from sapwood.studies.walking.controllers import JOINTS, Contacts, Instant, controller
from sapwood.studies.walking.gait import CYCLE, DUTY, LIFT, NEAR, SPEED, WAYPOINTS, Gait, Guide
from sapwood.studies.walking.legs import Legs
from sapwood.studies.walking.robot import LEGS, MASS, STANCE, crouched, robot
from sapwood.studies.walking.walk import DT, walk

DIAGONALS = ((0, 3), (1, 2))


@pytest.fixture(scope="module")
def model():
    return robot(0.5, DT)


def planned(command, steps):
    """Feet of some steps under one command."""
    gait = Gait(DT)
    return [gait.advance(command) for _ in range(steps)]


def test_the_robot_has_its_weight_and_its_contacts(model):
    assert model.body_subtreemass[0] == pytest.approx(MASS)
    assert (model.nv, model.nu, model.npair) == (18, 12, len(LEGS) + 1)


def test_legs_reach_the_feet_that_are_planned(model):
    legs, data = Legs(model, crouched(model).qpos[7:].copy()), mujoco.MjData(model)
    feet = [model.geom(f"{leg}_foot").id for leg in LEGS]
    plan = planned(np.array([SPEED, 0.5]), 300)
    before = None
    for each in plan:
        q, v, a = legs.follow(each)
        data.qpos[:7], data.qpos[7:] = [0, 0, 0, 1, 0, 0, 0], q
        mujoco.mj_kinematics(model, data)
        assert np.abs(data.geom_xpos[feet] - each.x).max() < 1e-7
        if before is not None:
            # the derivatives of the positions, over a step
            assert np.abs((q - before[0]) / DT - 0.5 * (v + before[1])).max() < 0.5
        before = q, v
        assert np.isfinite(a).all()


@pytest.mark.parametrize("command", [(0.0, 0.0), (SPEED, 0.0), (0.1, 1.0)])
def test_feet_trot(command):
    plan = planned(np.array(command), round(2 * CYCLE / DT))
    x, stands = np.array([each.x for each in plan]), np.array([each.stands for each in plan])
    assert stands.mean(axis=0) == pytest.approx(np.full(4, DUTY), abs=0.01)
    for one, two in DIAGONALS:
        assert (stands[:, one] == stands[:, two]).all()
    # two feet stand at any time
    assert stands.sum(axis=1).min() == 2
    # from step to step a foot moves by no more than its swing asks for
    assert np.abs(np.diff(x, axis=0)).max() < 4e-3
    height = x[:, :, 2] - STANCE[:, 2]
    assert np.abs(height[stands]).max() < 2e-4
    assert LIFT < height.max() < 2 * LIFT


def test_standing_feet_move_as_the_ground_does():
    """Under a robot that goes ahead and turns, the ground moves backwards and turns back."""
    command = np.array([0.15, 0.4])
    for each in planned(command, 300)[1:]:
        for x, v in zip(each.x[each.stands], each.v[each.stands], strict=True):
            still = np.array([command[0] - command[1] * x[1], command[1] * x[0], 0.0])
            assert np.abs(v + still).max() < 1e-3


def test_the_guide_leads_along_the_waypoints(rng):
    guide = Guide()
    ahead = [guide.command(1.0, 0.0, 0.0, 0.0) for _ in range(10)][-1]
    assert ahead == pytest.approx([SPEED, 0.0])
    x, y = WAYPOINTS[1]
    near = rng.uniform(0.0, NEAR / 2, 2)
    turn = [guide.command(1.0, x - near[0], y + near[1], 0.0) for _ in range(10)][-1]
    # the next waypoint is behind on the left: it turns in place
    assert turn[0] == 0.0
    assert 0.0 < turn[1] <= 1.0
    assert guide.command(0.0, x, y, 0.0) == pytest.approx([0.0, 0.0])


def test_contacts_without_slip_that_share_their_heights_or_nearly(model, rng):
    """Feet whose heights differ by a micrometre get torques as if they were level."""
    data = crouched(model)
    mujoco.mj_forward(model, data)
    M = np.zeros((18, 18))
    for i in range(18):
        mujoco.mj_mulM(model, data, M[i], np.eye(18)[i])
    J = np.zeros((2, 3, 18))
    for row, leg in zip(J, ("RF", "LH"), strict=True):
        mujoco.mj_jacGeom(model, data, row, None, model.geom(f"{leg}_foot").id)
    desired = rng.normal(size=12)
    torques = []
    for height in (0.0, 1e-6):
        rows = J.copy()
        # a foot that is lower turns with a longer arm
        rows[0, 0, 4] -= height
        rows[0, 1, 3] += height
        contacts = Contacts(rows[:, 2], rows[:, :2], np.ones(2), np.zeros(2), np.arange(2))
        instant = Instant(
            M, data.qfrc_bias, np.zeros(18), data.qpos[7:], contacts, data.qpos[7:],
            np.zeros(12), desired, np.zeros(6),
        )  # fmt: skip
        found = controller("lcp_noslip", DT, DT).torques(instant)
        torques.append(found.tau)
    assert torques[0].shape == JOINTS.shape
    assert np.abs(torques[1] - torques[0]).max() < 1e-2 * (1.0 + np.abs(torques[0]).max())


@pytest.mark.parametrize(
    ("name", "ground"), [("lcp_coulomb", "lcp"), ("qp_coulomb", "qp")]
)  # fmt: skip
@pytest.mark.parametrize("friction", ["low", "high"])
def test_forces_are_predicted_where_the_world_is_that_of_the_controller(name, ground, friction):
    steps = walk(name, ground, friction, 0.1)
    assert steps["solved"].all()
    assert not steps["fallen"].any()
    error = np.abs(steps["predicted"] - steps["measured"]).sum() / steps["measured"].sum()
    assert error < 0.02


def test_two_feet_at_a_time_keep_the_robot_up():
    """A duty factor of one half, with cycles so short that the base hardly sinks in them."""
    steps = walk("qp_coulomb_paper", "rigid", "high", 0.6, duty=0.5, cycle=0.15)
    assert not steps["fallen"].any()
    assert steps["feet"].max() <= 2
    assert steps["tilt"].max() < 0.2


def test_the_second_stage_ends_the_chatter_of_a_robot_that_stands():
    change = {}
    for name in ("one_stage_paper", "qp_coulomb_paper"):
        steps = walk(name, "rigid", "low", 0.15, stand=True)
        change[name] = steps["torque_change"][steps["time"] > 0.1]
    assert change["qp_coulomb_paper"].max() < 1e-3 * change["one_stage_paper"].mean()


@pytest.mark.parametrize("ground", ["rigid", "compliant"])
def test_a_standing_robot_is_carried(ground):
    steps = walk("qp_coulomb_paper", ground, "high", 0.15, stand=True)
    assert steps["measured"][-50:].mean() == pytest.approx(MASS * 9.81, rel=0.02)
    assert steps["predicted"][-50:].mean() == pytest.approx(MASS * 9.81, rel=0.02)
