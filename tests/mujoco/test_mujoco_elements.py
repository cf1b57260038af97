"""Limits, equalities, friction loss and implicit actuators of models, against MuJoCo's own numbers.

Rows are compared with those that mj_makeConstraint fills and with finite differences of what they
constrain; what a step leaves in the data, with the laws it stands for.
"""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import (
    constraint_rows,
    elements,
    mass_matrix,
    mixed,
    set_controls,
    take_explicit_rotation,
)
from sapwood.mujoco import ConstraintMaterial, Stepper

KINDS = ("dense", "sparse")
IMPLICIT = ["servo", "drive", "pull", "spin"]


def random_state(model, rng, active=None):
    """A state of the model with all joints off their zero, and every equality constraint active."""
    data = mujoco.MjData(model)
    offset = 0.2 * rng.standard_normal(model.nv)
    mujoco.mj_integratePos(model, data.qpos, offset, 1.0)
    data.qvel[:] = rng.standard_normal(model.nv)
    data.ctrl[:] = rng.standard_normal(model.nu)
    data.act[:] = rng.standard_normal(model.na)
    if active is not None:
        data.eq_active[:] = active
    return data


def evaluated(stepper, data):
    """The state with all that MuJoCo computes before the constraint solver."""
    now = copy.copy(data)
    mujoco.mj_step1(stepper.model, now)
    mujoco.mj_fwdActuation(stepper.model, now)
    mujoco.mj_fwdAcceleration(stepper.model, now)
    return now


def dense(group, model):
    """J of a group of constraints as a matrix (n_rows, nv)."""
    rows, at = [], 0
    for size, a, b in zip(group.size, group.tree_a, group.tree_b, strict=True):
        block = np.zeros((size, model.nv))
        for tree in (a, b):
            if tree >= 0:
                n, first = model.tree_dofnum[tree], model.tree_dofadr[tree]
                block[:, first : first + n] = group.J[at : at + size * n].reshape(size, n)
                at += size * n
        rows.append(block)
    assert at == len(group.J)
    return np.concatenate(rows)


def groups_of(stepper, data):
    """The groups of a problem by kind."""
    return {group.kind: group for group in stepper.problem(data).constraints}


# ---- rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("jacobian", KINDS)
def test_equality_and_friction_rows_are_those_of_mujoco(jacobian, rng):
    model = elements(jacobian)
    stepper = Stepper(model)
    for _ in range(10):
        data = random_state(model, rng, active=1)
        oracle, groups = evaluated(stepper, data), groups_of(stepper, data)
        J = constraint_rows(stepper.model, oracle)
        # rotations of a weld are in rad here, and MuJoCo's times torquescale/2
        scale = np.ones(oracle.ne)
        scale[3:6] = 2.0 / 1.7
        assert list(oracle.efc_id[3:6]) == [0, 0, 0]
        equalities = groups["bilateral"]
        assert list(equalities.size) == [3, 3, 3, 1, 1, 1]
        np.testing.assert_allclose(
            dense(equalities, model), scale[:, None] * J[: oracle.ne], rtol=1e-14, atol=1e-15
        )
        np.testing.assert_allclose(equalities.g, scale * oracle.efc_pos[: oracle.ne], rtol=1e-14)
        frictions = groups["dry_friction"]
        rows = slice(oracle.ne, oracle.ne + oracle.nf)
        np.testing.assert_array_equal(dense(frictions, model), J[rows])
        np.testing.assert_array_equal(frictions.f, oracle.efc_frictionloss[rows])


def test_limit_rows_are_those_that_mujoco_lists(rng):
    """Ours are there in every step; of those that are passed, MuJoCo has the same rows."""
    model = elements()
    stepper = Stepper(model)
    compared = 0
    while compared < 60:
        data = random_state(model, rng)
        mujoco.mj_integratePos(model, data.qpos, rng.standard_normal(model.nv), 0.5)
        oracle, limits = evaluated(stepper, data), groups_of(stepper, data)["limit"]
        J, ours = constraint_rows(stepper.model, oracle), dense(limits, model)
        assert len(limits.phi0) == 2 + 2 + 1 + 2 + 2
        first = oracle.ne + oracle.nf
        for row in range(first, first + oracle.nl):
            same = np.abs(ours - J[row]).max(axis=1) < 1e-14
            same &= np.abs(limits.phi0 - oracle.efc_pos[row]) < 1e-14
            assert same.sum() == 1
            compared += 1
        assert (limits.phi0 < 0).sum() == oracle.nl


@pytest.mark.parametrize("kind", ["bilateral", "limit", "controller"])
def test_jacobians_are_derivatives(kind, rng):
    """J v against central differences of the residuals, also where a body turns far."""
    model = elements()
    stepper = Stepper(model)
    position = {"bilateral": "g", "limit": "phi0", "controller": "q_0"}
    for _ in range(5):
        data = random_state(model, rng, active=1)
        v, h = rng.standard_normal(model.nv), 1e-6
        ends = []
        for sign in (-1, 1):
            moved = copy.copy(data)
            mujoco.mj_integratePos(model, moved.qpos, v, sign * h)
            group = groups_of(stepper, moved)[kind]
            ends.append(getattr(group, position[kind]))
        rate = (ends[1] - ends[0]) / (2 * h)
        J = dense(groups_of(stepper, data)[kind], model)
        np.testing.assert_allclose(J @ v, rate, rtol=0, atol=3e-8)


def test_the_angle_of_a_ball_joint_is_the_shorter_way_round(rng):
    """Its limit against MuJoCo's, on both sides of half a turn and without a rotation."""
    model = elements()
    stepper, joint = Stepper(model), model.joint("socket")
    (place,) = joint.qposadr
    for angle in (0.0, 1e-9, 1.0, 3.0, 3.3, 6.0, -2.0):
        data = mujoco.MjData(model)
        axis = rng.standard_normal(3)
        mujoco.mju_axisAngle2Quat(data.qpos[place : place + 4], axis / np.linalg.norm(axis), angle)
        limits = groups_of(stepper, data)["limit"]
        expected = np.deg2rad(35) - abs((angle + np.pi) % (2 * np.pi) - np.pi)
        assert limits.phi0[4] == pytest.approx(expected, abs=1e-14)
        oracle = evaluated(stepper, data)
        listed = (oracle.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT) & (
            oracle.efc_id == joint.id
        )
        if expected < 0:
            (row,) = np.flatnonzero(listed)
            np.testing.assert_allclose(
                dense(limits, model)[4], constraint_rows(model, oracle)[row], atol=1e-14
            )


def test_controllers_have_the_gains_of_the_model(rng):
    model = elements()
    stepper = Stepper(model)
    data = random_state(model, rng)
    oracle, group = evaluated(stepper, data), groups_of(stepper, data)["controller"]
    ids = [model.actuator(name).id for name in IMPLICIT]
    np.testing.assert_array_equal(group.Kp, [60, 0, 30, 5])
    np.testing.assert_array_equal(group.Kd, [3, 8, 1, 0.2])
    np.testing.assert_array_equal(group.q_0, oracle.actuator_length[ids])
    set_points = group.Kp * group.q_d + group.Kd * group.v_d
    expected = [60 * data.ctrl[0], 8 * data.ctrl[2], 30 * data.act[0], 5 * data.ctrl[4] + 0.1]
    np.testing.assert_allclose(set_points, expected, rtol=1e-12)
    # J is the rate of the actuator's length, and bounds are those of the model
    np.testing.assert_allclose(
        dense(group, model) @ data.qvel, oracle.actuator_velocity[ids], rtol=1e-13
    )
    dt = stepper.time_step
    np.testing.assert_allclose([group.lower[1], group.upper[1]], [-6 * dt, 2 * dt])
    assert np.isinf(group.upper[2:]).all()
    # the joint takes -3 to 4 N m from both actuators, and the servo has a gear of -2
    extra = np.clip(1.5 * data.ctrl[1], -3, 4)
    np.testing.assert_allclose(
        [group.lower[0], group.upper[0]], [dt * (4 - extra) / -2, dt * (-3 - extra) / -2]
    )


# ---- what a step does ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("jacobian", KINDS)
def test_forces_in_the_data_agree_with_each_other(jacobian, cone):
    model = elements(jacobian, cone)
    stepper, data = Stepper(model), mujoco.MjData(model)
    dt, seen, contacts, sensed = stepper.time_step, set(), 0, 0
    for i in range(150):
        set_controls(model, data, i)
        length = evaluated(stepper, data).actuator_length.copy()
        limits = groups_of(stepper, data)["limit"]
        stepper.step(data)
        v, contacts = data.qvel, contacts + stepper.n_contacts
        M = mass_matrix(model, data)
        balance = data.qfrc_smooth + data.qfrc_constraint - M @ data.qacc
        balance -= dt * model.dof_damping * data.qacc
        scale = np.abs(data.qfrc_constraint).max() + np.abs(data.qfrc_smooth).max()
        np.testing.assert_allclose(balance, 0, atol=1e-5 * scale * np.sqrt(np.diag(M)).max())

        # rows of the engine, and limits that it does not list, make up the constraint force
        J = constraint_rows(stepper.model, data)
        force = J.T @ data.efc_force
        for group in stepper.constraints:
            assert len(set(group.names)) == len(group.names)
            seen |= {name for name, f in zip(group.names, group.force, strict=True) if f != 0}
            if group.kind == "limit":
                force += dense(limits, model).T @ np.where(limits.phi0 >= 0, group.force, 0)
        np.testing.assert_allclose(force, data.qfrc_constraint, atol=1e-9 * scale)

        # actuators: forces and their moments, and the law at the end of the step
        moment = np.zeros((model.nu, model.nv))
        mujoco.mju_sparse2dense(
            moment, data.actuator_moment, data.moment_rownnz, data.moment_rowadr,
            data.moment_colind,
        )  # fmt: skip
        total = moment.T @ data.actuator_force
        elbow = int(model.joint("elbow").dofadr[0])
        extra = 1.5 * data.ctrl[1]
        total[elbow] += np.clip(extra, -3, 4) - extra
        np.testing.assert_allclose(data.qfrc_actuator, total, atol=1e-10)
        assert -3 - 1e-12 <= data.qfrc_actuator[elbow] <= 4 + 1e-12
        rate = moment @ v
        end = length + dt * rate
        u = data.ctrl
        law = 60 * (u[0] - end[0]) - 3 * rate[0]
        low, high = sorted(((4 - np.clip(extra, -3, 4)) / -2, (-3 - np.clip(extra, -3, 4)) / -2))
        assert data.actuator_force[0] == pytest.approx(np.clip(law, low, high), abs=1e-4)
        law = 8 * (u[2] - rate[2])
        assert data.actuator_force[2] == pytest.approx(np.clip(law, -6, 2), abs=1e-4)
        law = 5 * (u[4] - end[4]) - 0.2 * rate[4] + 0.1
        assert data.actuator_force[4] == pytest.approx(law, abs=1e-4)
        # explicit forces: as in MuJoCo
        assert data.actuator_force[5] == u[5]
        # sensors see what acted; of limits they see what MuJoCo lists
        shoulder = data.sensordata[5]
        listed = limits.phi0[:2] < 0
        assert shoulder == (stepper.constraints[2].force[:2][listed].sum() if any(listed) else 0)
        sensed += shoulder > 0
        assert data.sensordata[0] == data.actuator_force[0]
        assert data.sensordata[1] == data.qfrc_actuator[elbow]
    assert contacts > 50
    assert sensed > 10
    assert {"equality 'glue' rotation z", "equality 'pin' x", "equality 'gear'",
            "joint 'shoulder' friction", "joint 'socket' friction 2", "tendon 'belt' friction",
            "joint 'shoulder' upper limit", "tendon 'rope' upper limit",
            "actuator 'servo'", "actuator 'pull'"} <= seen  # fmt: skip


def test_a_step_solves_the_problem_it_shows(rng, monkeypatch):
    """Where trees in equality constraints tumble, it solves another one after that."""
    take_explicit_rotation(monkeypatch)
    model = elements()
    settings = sapwood.SapSettings(relative_tolerance=1e-9)
    stepper = Stepper(model, settings=settings)
    for _ in range(5):
        data = random_state(model, rng)
        problem = stepper.problem(data)
        expected = sapwood.solve(problem, settings=stepper.settings)
        stepper.step(data)
        np.testing.assert_allclose(stepper.solution.v, expected.v, rtol=1e-7, atol=1e-7)
        kinds = [group.kind for group in problem.constraints]
        assert [group.kind for group in stepper.constraints] == kinds
        assert len(kinds) == 4
        for group, shown in zip(stepper.constraints, expected.constraints, strict=True):
            # limits that wait outside of what is solved have their row, without a force
            found = group.force * stepper.time_step
            np.testing.assert_allclose(found, shown.gamma, rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(group.velocity, shown.v_c, rtol=1e-6, atol=1e-7)
            assert len(group.names) == len(shown.gamma)


def test_regularization_is_that_of_the_package(rng):
    """Given the physical parameters alone, the groups get the same R and v_hat."""
    model = elements()
    stepper = Stepper(
        model, sigma=3e-4, constraint=ConstraintMaterial(1e4, 0.01), release_speed=math.inf
    )
    problem = stepper.problem(random_state(model, rng, active=1))
    physical = []
    for group in problem.constraints:
        names = {"limit": "phi0 k tau_d", "bilateral": "g k tau_d", "dry_friction": "f",
                 "controller": "Kp Kd q_0 q_d v_d"}[group.kind]  # fmt: skip
        size = {"size": group.size} if group.kind == "bilateral" else {}
        parameters = {name: getattr(group, name) for name in names.split()}
        physical.append(type(group)(group.J, group.tree_a, group.tree_b, **size, **parameters))
    again = sapwood.ContactProblem(
        problem.tree_nv, problem.A, problem.v_star, [], [], [], [], dt=problem.dt, phi0=[], k=[],
        tau_d=[], sigma=3e-4, constraints=physical,
    )  # fmt: skip
    for given, found in zip(problem.constraints, again.constraints, strict=True):
        # rows of one joint have one entry in the step, and are whole here
        np.testing.assert_allclose(given.R, found.R, rtol=1e-14)
        np.testing.assert_allclose(given.v_hat, found.v_hat, rtol=1e-14)


# ---- choices ------------------------------------------------------------------------------------


def test_models_without_such_elements_have_none():
    assert Stepper(sapwood.studies.scenes.humanoids(1).compile()).parameters.elements is None
    assert Stepper(mixed(), implicit_actuators=False).parameters.elements is None
    assert Stepper(mixed()).problem(mujoco.MjData(mixed())).constraints[0].kind == "controller"


def test_which_actuators_are_implicit():
    """The others keep their explicit forces, and MuJoCo its bounds on them."""

    def implicit(actuator, joint="", tendon="", kind="hinge"):
        model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><worldbody><body><joint name="j" type="{kind}" {joint}/>
            <geom size=".1"/><site name="s"/><body><joint name="k" axis="1 0 0"/><geom size=".1"/>
            </body></body></worldbody><tendon><fixed name="t" {tendon}><joint joint="k" coef="1"/>
            </fixed></tendon><actuator>{actuator}</actuator></mujoco>"""
        )
        stepper = Stepper(model)
        groups = stepper.problem(mujoco.MjData(model)).constraints
        kept = [name for c in groups if c.kind == "controller" for name in c.size]
        flags = stepper.model.actuator_forcelimited, stepper.model.jnt_actfrclimited
        return len(kept), flags

    servo = "<position joint='j' kp='3' {}/>"
    assert implicit(servo.format(""))[0] == 1
    assert implicit(servo.format("").replace("joint=", "jointinparent="))[0] == 1
    assert implicit("<velocity joint='j' kv='3'/>")[0] == 1
    assert implicit("<intvelocity joint='j' kp='3' actrange='-1 1'/>")[0] == 1
    assert implicit("<position tendon='t' kp='3'/>")[0] == 1
    assert implicit("<pid joint='j' kp='3' kv='1' input='pos vel ff'/>")[0] == 1
    for explicit in (
        "<motor joint='j'/>", "<damper joint='j' kv='1' ctrlrange='0 1'/>",
        "<muscle joint='j' lengthrange='0 1'/>", "<position site='s' kp='3'/>",
        "<general joint='j' biastype='affine' biasprm='0 2 0'/>",
        "<general joint='j' gaintype='affine' gainprm='1 2' biastype='affine' biasprm='0 -2 0'/>",
    ):  # fmt: skip
        assert implicit(explicit)[0] == 0, explicit
    assert implicit(servo.format(""), kind="ball")[0] == 0
    # a range of forces that does not hold 0
    count, (limited, _) = implicit(servo.format("forcerange='1 2'"))
    assert (count, list(limited)) == (0, [True])
    count, (limited, _) = implicit(servo.format("forcerange='-1 2'"))
    assert (count, list(limited)) == (1, [False])
    # bounds on a joint's or a tendon's total: for one of them
    bounded = "actuatorfrclimited='true' actuatorfrcrange='-1 1'"
    count, (_, limited) = implicit(servo.format(""), joint=bounded)
    assert (count, limited[0]) == (1, False)
    count, (_, limited) = implicit(2 * servo.format(""), joint=bounded)
    assert (count, limited[0]) == (0, True)
    pull = "<position tendon='t' kp='3'/>"
    assert implicit(pull, tendon=bounded)[0] == 1
    assert implicit(pull + "<motor tendon='t'/>", tendon=bounded)[0] == 0


@pytest.mark.parametrize("force", ["-3 5", "-7 2", "-1 9", "-8 1"])
def test_of_the_bounds_of_a_tendon_and_of_its_actuator_the_closer_ones_hold(force):
    model = mujoco.MjModel.from_xml_string(f"""
    <mujoco><option gravity="0 0 0"/><worldbody><body><joint name="j" type="slide"/>
      <geom size=".1" mass="2"/></body></worldbody>
    <tendon><fixed name="t" actuatorfrclimited="true" actuatorfrcrange="-4 3">
      <joint joint="j" coef="1"/></fixed></tendon>
    <actuator><position tendon="t" kp="1e7" forcerange="{force}"/></actuator></mujoco>""")
    low, high = (float(word) for word in force.split())
    for target, expected in ((1.0, min(high, 3.0)), (-1.0, max(low, -4.0))):
        stepper, data = Stepper(model), mujoco.MjData(model)
        data.ctrl[0] = target
        stepper.step(data)
        (group,) = stepper.constraints
        assert group.kind == "controller"
        assert data.actuator_force[0] == expected
        assert group.force[0] == pytest.approx(expected, rel=1e-12)
        assert data.qvel[0] == pytest.approx(0.5 * expected * stepper.time_step, rel=1e-9)


def test_actuators_that_are_off_do_nothing():
    model = elements()
    model.actuator_group[:] = 3
    stepper = Stepper(model)
    for off in ("group", "all"):
        data = mujoco.MjData(model)
        data.ctrl[:] = 1.0
        if off == "group":
            stepper.model.opt.disableactuator = 1 << 3
        else:
            stepper.model.opt.disableactuator = 0
            stepper.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
        halves = copy.copy(data)
        stepper.step(data)
        assert not data.actuator_force.any()
        assert not data.qfrc_actuator.any()
        assert "controller" not in {group.kind for group in stepper.constraints}
        stepper.step1(halves)
        stepper.step2(halves)
        np.testing.assert_array_equal(data.qvel, halves.qvel)


def test_equality_constraints_are_switched_on_and_off():
    model = elements()
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.step(data)
    count = [len(group.names) for group in stepper.constraints]
    data.eq_active[:] = 1
    stepper.step(data)
    assert [len(group.names) for group in stepper.constraints] == [count[0] + 2, *count[1:]]
    data.eq_active[:] = 0
    stepper.step(data)
    assert [group.kind for group in stepper.constraints] == ["dry_friction", "limit", "controller"]


def test_constraints_that_move_nothing_have_no_say():
    """A point of the axis of a hinge, where round-off leaves a Jacobian of 1e-15."""
    xml = """<mujoco><worldbody><body name="b" pos="3 1 7" euler="13 27 41">
      <joint axis=".3 .5 .2" pos=".11 .07 .05"/>
      <geom size=".1" pos=".3 0 0"/></body></worldbody>
      <equality><connect body1="b" anchor="1.61 2.57 1.05" active="{}"/></equality></mujoco>"""
    ends = []
    for active in ("true", "false"):
        model = mujoco.MjModel.from_xml_string(xml.format(active))
        stepper, data = Stepper(model), mujoco.MjData(model)
        stepper.run(data, 300)
        assert data.nefc == (3 if active == "true" else 0)
        assert stepper.constraints == ()
        ends.append(data.qpos.copy())
    np.testing.assert_array_equal(*ends)
