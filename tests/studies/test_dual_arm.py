"""Two arms and a jar: the scene, the controllers, the plan, and that the task is done."""

from __future__ import annotations

import math

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from sapwood.studies.dual_arm.arms import AROUND_JAR, Arm
from sapwood.studies.dual_arm.control import Control
from sapwood.studies.dual_arm.objects import BOWL, JAR, JAR_HEIGHT, N_MARBLES
from sapwood.studies.dual_arm.poses import Pose
from sapwood.studies.dual_arm.robot import (
    HAND_GEOMS,
    HAND_RANGE,
    N_ARM,
    SIDES,
    robot,
)
from sapwood.studies.dual_arm.run import STEP_DTYPE, run
from sapwood.studies.dual_arm.scene import DT, joints, outcome, pose, scene
from sapwood.studies.dual_arm.simulations import PeerSteps, SapwoodSteps
from sapwood.studies.dual_arm.task import Phase, Push


@pytest.fixture(scope="module")
def lifted():
    """The task up to the lifted jar."""
    return run("lift", progress=False)


def random_pose(rng) -> Pose:
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Pose.at(rng.normal(size=3), R * np.linalg.det(R))


def same(a: Pose, b: Pose) -> bool:
    close = np.allclose(a.position, b.position, atol=1e-9)
    return bool(close and abs(abs(a.quaternion @ b.quaternion) - 1.0) < 1e-12)


# ---- poses --------------------------------------------------------------------------------------


def test_poses_are_a_group(rng):
    a, b, point = random_pose(rng), random_pose(rng), rng.normal(size=3)
    assert same(a.times(a.inverse()), Pose.at(np.zeros(3)))
    assert np.allclose(a.times(b).point(point), a.point(b.point(point)))


def test_a_path_goes_from_end_to_end_and_its_error_is_what_is_left(rng):
    a, b, share = random_pose(rng), random_pose(rng), rng.uniform()
    assert same(a.towards(b, 0.0), a)
    assert same(a.towards(b, 1.0), b)
    assert np.allclose(a.towards(b, share).error(b), (1.0 - share) * a.error(b), atol=1e-9)
    # to turn by the error, about an axis of the world, is to be there
    error, turned = a.error(b), np.zeros(4)
    mujoco.mju_axisAngle2Quat(turned, error[3:] / np.linalg.norm(error[3:]),
                              np.linalg.norm(error[3:]))  # fmt: skip
    there = Pose(np.zeros(3), turned).times(Pose(np.zeros(3), a.quaternion))
    assert same(Pose(a.position + error[:3], there.quaternion), b)


# ---- the scene ----------------------------------------------------------------------------------


def test_the_scene_has_the_papers_degrees_of_freedom():
    model = scene()
    assert (model.nv, model.nq, model.nu, model.opt.timestep) == (160, 179, 46, DT)
    assert math.isclose(sum(model.body(f"marble_{i}").mass[0] for i in range(N_MARBLES)), 0.8)
    for name, mass in (("jar", 0.25), ("lid", 0.12), ("bowl", 0.6)):
        assert math.isclose(model.body(name).mass[0], mass)
    # seven links, and a hand of 0.955 kg
    arm = 25.61
    robots = sum(model.body(f"{side}_link_1").subtreemass[0] for side in SIDES)
    assert math.isclose(robots, 2 * (arm + 0.955), rel_tol=1e-3)


def test_nothing_overlaps_at_the_beginning():
    model = scene()
    data = mujoco.MjData(model)
    Control(data, DT, lambda *_: 0.0)
    mujoco.mj_forward(model, data)
    assert data.contact.dist.min() > -1e-9
    # the robots begin where nothing is in their way
    touched = model.geom_bodyid[data.contact.geom]
    assert touched.min(initial=model.nbody) >= 0
    robots = [i for i in range(model.nbody) if model.body(i).name.startswith(SIDES)]
    assert not np.isin(touched, robots).any()


def test_a_left_hand_is_a_right_one_in_a_mirror(rng):
    angles = rng.uniform(*HAND_RANGE.T)
    places = {}
    for side in SIDES:
        model = robot(side).compile()
        data = mujoco.MjData(model)
        data.qpos[N_ARM:] = angles
        mujoco.mj_kinematics(model, data)
        palm = pose(data, "palm").inverse()
        hand = range(model.body("palm").geomadr[0], model.ngeom)
        places[side] = np.array([palm.point(data.geom_xpos[geom]) for geom in hand])
        assert tuple(model.geom(geom).name for geom in hand) == HAND_GEOMS
    assert np.allclose(places["left"], places["right"] * (1.0, -1.0, 1.0), atol=1e-9)


# ---- controllers --------------------------------------------------------------------------------


@pytest.mark.parametrize("side", SIDES)
def test_an_arm_follows_its_path_and_bears_its_weight(side):
    model = scene()
    data = mujoco.MjData(model)
    for other in SIDES:
        Arm(other, DT).place(data)
    arm = Arm(side, DT)
    wanted = arm.wanted.moved(0.02, 0.03, 0.05)
    arm.begin(wanted, AROUND_JAR, 0.4)
    for _ in range(160):
        arm.act(data)
        mujoco.mj_step(model, data)
    assert np.abs(pose(data, f"{side}_palm").error(wanted)).max() < 3e-3
    assert np.allclose(data.qpos[joints(side)][N_ARM:], AROUND_JAR, atol=0.02)


def test_a_phase_ends_in_its_time_or_by_its_force():
    data = mujoco.MjData(scene())
    force = {"now": 0.0}
    phases = (
        Phase("first", 3 * DT),
        Phase("felt", 100 * DT, until=Push("right", "jar", 5.0)),
        Phase("last", 2 * DT),
    )
    control = Control(data, DT, lambda *_: force["now"], lambda _: iter(phases))
    names = []
    while control.act():
        names.append(control.phase)
        force["now"] = 6.0 if len(names) == 10 else 0.0
    assert names == 3 * ["first"] + 7 * ["felt"] + 2 * ["last"]


# ---- what is judged -----------------------------------------------------------------------------


def done(model) -> np.ndarray:
    """A configuration in which all is done."""
    data = mujoco.MjData(model)
    for i in range(N_MARBLES):
        at = BOWL + (0.03 * (i % 4) - 0.045, 0.03 * (i // 4) - 0.045, 0.04)
        data.joint(model.body(f"marble_{i}").jntadr[0]).qpos[:3] = at
    return data.qpos.copy()


def moved(model, qpos, body, by) -> np.ndarray:
    start = model.jnt_qposadr[model.body(body).jntadr[0]]
    other = qpos.copy()
    other[start : start + 3] += by
    return other


def test_success_is_all_of_it():
    model = scene()
    qpos = done(model)
    assert outcome(model, qpos).success
    for body, by in (
        ("marble_3", (0.0, 0.0, 0.2)),
        ("marble_7", (0.4, 0.0, 0.0)),
        ("lid", (0.0, 0.02, 0.0)),
        ("lid", (0.0, 0.0, 0.01)),
        ("jar", (0.05, 0.0, 0.0)),
    ):
        assert not outcome(model, moved(model, qpos, body, by)).success
    start = model.jnt_qposadr[model.body("jar").jntadr[0]]
    qpos[start + 3 : start + 7] = math.cos(0.05), math.sin(0.05), 0.0, 0.0
    tilted = outcome(model, qpos)
    assert math.isclose(tilted.jar_tilt, 0.1)
    assert not tilted.success


# ---- the beginning of the task ------------------------------------------------------------------


def test_the_jar_is_lifted_with_all_that_is_in_it(lifted):
    steps = lifted.steps
    assert lifted.success
    assert lifted.failure is None
    assert lifted.cpu_time > 0.0
    assert lifted.phases == ("settle", "reach jar", "grasp jar", "lift jar")
    assert np.array_equal(steps["step"], 1 + np.arange(len(steps)))
    assert np.allclose(steps["time"], DT * steps["step"])
    assert abs(steps["jar_height"][-1] - JAR[2] - 0.12) < 0.02
    assert np.allclose(steps["lid_height"] - steps["jar_height"], JAR_HEIGHT, atol=3e-3)
    held = steps[steps["phase"] == "lift jar"]
    assert (held["right_grip"] > 15.0).all()
    assert not steps["left_grip"].any()
    # marbles between staves
    data = mujoco.MjData(lifted.model)
    data.qpos[:] = lifted.frames[-1].qpos
    mujoco.mj_kinematics(lifted.model, data)
    for i in range(N_MARBLES):
        x, y, z = pose(data, "jar").inverse().point(data.body(f"marble_{i}").xpos)
        assert math.hypot(x, y) < 0.040
        assert 0.015 < z < JAR_HEIGHT


def test_every_step_is_solved_to_its_tolerance(lifted):
    assert set(lifted.steps["status"].tolist()) == {"converged"}
    assert (lifted.steps["momentum_error"] <= lifted.tolerance).all()
    assert lifted.steps["contacts"].max() > 60
    assert (lifted.steps["solver_time"] <= lifted.steps["step_time"]).all()


def test_the_same_steps_with_another_solver_of_the_problem():
    """A solver that is told the same problem gives the same motion and the same forces."""
    own, other = SapwoodSteps(1e-9), PeerSteps("sapwood-plain", 1e-9, every=1)
    record = np.zeros((), STEP_DTYPE)
    for simulation in (own, other):
        control = Control(simulation.data, DT, simulation.push)
        mujoco.mj_forward(simulation.model, simulation.data)
        for _ in range(15):
            control.act()
            simulation.step(record)
        assert record["contacts"] > 50
        assert record["momentum_error"] < 1e-6
    assert np.allclose(own.data.qpos, other.data.qpos, atol=1e-7)
    assert record["complementarity_error"] < 1e-12
    weight = 9.81 * (0.25 + 0.12 + 0.8)
    for simulation in (own, other):
        assert abs(simulation.push("jar", "table") - weight) < 0.5 * weight
    assert math.isclose(own.push("jar", "table"), other.push("table", "jar"), rel_tol=1e-3)


@pytest.mark.parametrize("fields", ["lid", "grips"])
def test_what_meets_may_do_so_in_patches(lifted, fields):
    result = run("lift", fields=fields, progress=False)
    assert result.success
    assert (result.steps["momentum_error"] <= result.tolerance).all()
    # the lid on the jar: surfaces in the place of corners
    settled = slice(100, 200)
    lid = [each.steps["contacts"][settled].mean() for each in (lifted, result)]
    assert lid[1] > 1.5 * lid[0]
    gap = result.steps["lid_height"] - result.steps["jar_height"] - JAR_HEIGHT
    assert np.abs(gap).max() < 1e-3
    assert np.abs(gap[:200]).max() < 5e-5
    # the hand on the jar adds to the contacts as it closes: tens of points, a hundred in patches
    held = result.steps["phase"] == "lift jar"
    added = result.steps["contacts"][held].mean() - lid[1]
    assert added > 50.0 if fields == "grips" else added < 50.0
    assert (result.steps["right_grip"][held] > 15.0).all()


# ---- files and command --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["sapwood", "mujoco"])
def test_the_task_is_done(solver):
    result = run(solver=solver, progress=False)
    assert result.success, result.outcome
    assert result.outcome.marbles == N_MARBLES
    assert 25.0 < result.steps["time"][-1] < 27.7
