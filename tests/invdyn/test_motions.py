"""Rows of tasks and contacts, their bias and the mass matrix, beside MuJoCo's and each other's."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import _core, reference

mujoco = pytest.importorskip("mujoco")

from sapwood.invdyn.robot import bias_force, loads_of, mechanism_constants

# all kinds of joints, a body without joints, and two trees
TREES = """
<mujoco><worldbody>
  <body name="base" pos="0 0 1"><freejoint/><geom size=".1" mass="1" pos=".1 0 0"/>
    <body name="arm" pos=".2 0 0"><joint type="ball"/><geom size=".1" mass="1" pos=".1 .1 0"/>
      <body name="tool" pos=".3 0 .1"><geom size=".1" mass="1"/>
        <body name="hand" pos="0 .2 0"><joint axis="0 1 0"/><joint axis="1 0 0" pos=".1 0 0"/>
          <geom size=".1" mass="1" pos="0 .1 .1"/></body></body></body></body>
  <body name="cart" pos="2 0 0"><joint type="slide" axis="1 2 0"/><geom size=".1" mass="1"/></body>
</worldbody></mujoco>
"""
BODIES = ("world", "base", "arm", "tool", "hand", "cart")


@pytest.fixture
def moving(rng):
    model = mujoco.MjModel.from_xml_string(TREES)
    data = mujoco.MjData(model)
    data.qpos[:] = rng.normal(size=model.nq)
    data.qvel[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    return model, data


NO_CONTACTS = (
    np.zeros((0, 2), dtype=np.int32), np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros(0),
    np.zeros((0, 3)), np.zeros(0),
)  # fmt: skip
JOINTS, FRAME, CENTRE = range(3)
# velocities with a motor, some of them
MOTORS = np.array([9, 11], dtype=np.int32)


def core(constants, *arguments):
    return _core.Mechanism(*constants).task_program(*arguments)


implementations = pytest.mark.parametrize(
    "make", [pytest.param(core, id="core"), pytest.param(reference.task_program, id="reference")]
)


def program(
    make, model, data, *, contacts=NO_CONTACTS, hold=(1.0, 1.0, False), plan=None, tasks=(),
    **state,
):  # fmt: skip
    names = ("cdof", "cdof_dot", "qvel", "subtree_com", "qpos", "xpos", "xmat", "xipos")
    arrays = tuple(state.get(name, getattr(data, name)) for name in names)
    return make(
        mechanism_constants(model), arrays, data.M, loads_of(data, MOTORS), contacts, hold, plan,
        tasks,
    )  # fmt: skip


def frame(body, axes=3, k=0.0, d=0.0, position=0.0, rotation=None):
    rotation = np.eye(3) if rotation is None else rotation
    return FRAME, 1.0, np.array([body], dtype=np.int32), axes, k, d, position, 0.0, 0.0, rotation


@implementations
@pytest.mark.parametrize("name", BODIES)
def test_motions_are_those_of_mujoco(moving, rng, make, name):
    """A frame at any point of a body: its Jacobian, its bias and, by the damping, its velocity."""
    model, data = moving
    body = model.body(name).id
    xpos = data.xpos.copy()
    xpos[body] += rng.normal(size=3)
    tasks = frame(body), frame(body, d=1.0), frame(body, 1), frame(body, 2)
    _, _, T, t, *_ = program(make, model, data, tasks=tasks, xpos=xpos)
    expected, rate = np.zeros((2, 3, model.nv)), np.zeros((2, 3, model.nv))
    mujoco.mj_jac(model, data, *expected, xpos[body], body)
    mujoco.mj_jacDot(model, data, *rate, xpos[body], body)
    expected, rate = np.vstack(expected), np.vstack(rate)
    np.testing.assert_allclose(T[:6], expected, atol=1e-12)
    np.testing.assert_allclose(-t[:6], rate @ data.qvel, atol=1e-11)
    np.testing.assert_allclose(t[:6] - t[6:12], expected @ data.qvel, atol=1e-12)
    np.testing.assert_array_equal(T[12:], T[:6])
    np.testing.assert_array_equal(t[12:], t[:6])


@implementations
def test_rows_of_joints_and_of_the_centre_of_mass_are_those_of_mujoco(moving, rng, make):
    """Targets are k (x* - x) + d (v* - v) + a* less the bias."""
    model, data = moving
    k, d = 3.0, 0.5
    hinges = np.array([10, 9, 11], dtype=np.int32)
    places = model.jnt_qposadr[model.dof_jntid[hinges]]
    wanted, speeds, feed = rng.normal(size=(3, 3))
    bodies = np.arange(1, model.body("hand").id + 1, dtype=np.int32)
    share = model.body_mass[bodies] / model.body_mass[bodies].sum()
    tasks = (
        (JOINTS, 2.0, hinges, places, k, d, wanted, speeds, feed, None),
        (CENTRE, 5.0, bodies, share, k, d, wanted, 0.25, feed, None),
    )
    _, _, T, t, w, *_ = program(make, model, data, tasks=tasks)
    np.testing.assert_array_equal(T[:3], np.eye(model.nv)[hinges])
    q, v = data.qpos[places], data.qvel[hinges]
    np.testing.assert_allclose(t[:3], k * (wanted - q) + d * (speeds - v) + feed, atol=1e-12)
    np.testing.assert_array_equal(w, [2.0] * 3 + [5.0] * 3)
    J = np.zeros((3, model.nv))
    mujoco.mj_jacSubtreeCom(model, data, J, model.body("base").id)
    np.testing.assert_allclose(T[3:], J, atol=1e-12)
    step, ends = 1e-6, []
    for sign in (-1.0, 1.0):
        moved = mujoco.MjData(model)
        moved.qpos[:] = data.qpos
        mujoco.mj_integratePos(model, moved.qpos, data.qvel, sign * step)
        mujoco.mj_forward(model, moved)
        mujoco.mj_jacSubtreeCom(model, moved, J, model.body("base").id)
        ends.append(J @ data.qvel)
    bias = (ends[1] - ends[0]) / (2 * step)
    x, v = data.subtree_com[model.body("base").id], T[3:] @ data.qvel
    expected = k * (wanted - x) + d * (0.25 - v) + feed - bias
    np.testing.assert_allclose(t[3:], expected, atol=1e-7)


def some_contacts(rng, n=6):
    bodies = np.array([[0, 4], [2, 5], [3, 3], [1, 0], [4, 5], [0, 1]], dtype=np.int32)[:n]
    frames = np.array([np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(n)])
    mu = np.array([0.5, 0.0, 0.7, 1.0, 0.3, 0.9])[:n]
    radii = np.abs(rng.normal(size=(n, 3))) * np.array([1, 0, 1, 1, 0, 1])[:n, None]
    return bodies, rng.normal(size=(n, 3)), frames, mu, radii, rng.normal(size=n)


@implementations
def test_contacts_are_held_relative_to_the_first_body(moving, rng, make):
    """u vanishes within the hold time; a gap closes with two time constants of twice that."""
    model, data = moving
    contacts = bodies, points, frames, mu, _, gaps = some_contacts(rng)
    _, _, T, t, w, J, coefficients, slide = program(
        make, model, data, contacts=contacts, hold=(7.0, 0.1, False)
    )
    jacobians, rates = np.zeros((2, len(mu), 2, 3, model.nv))
    for i, pair in enumerate(bodies):
        for side, body in enumerate(pair):
            mujoco.mj_jac(model, data, jacobians[i, side], None, points[i], body)
            mujoco.mj_jacDot(model, data, rates[i, side], None, points[i], body)
    expected = frames @ (jacobians[:, 1] - jacobians[:, 0])
    bias = frames @ (rates[:, 1] - rates[:, 0]) @ data.qvel
    np.testing.assert_allclose(J, expected, atol=1e-12)
    np.testing.assert_array_equal(T, J.reshape(-1, model.nv))
    wanted = -expected @ data.qvel / 0.1 - bias
    wanted[:, 2] -= np.maximum(gaps, 0.0) / 0.04
    np.testing.assert_allclose(t, wanted.ravel(), atol=1e-10)
    np.testing.assert_array_equal(coefficients, mu)
    np.testing.assert_array_equal(slide, 0.0)
    np.testing.assert_array_equal(w.reshape(-1, 3), 7.0 * np.where(mu[:, None] > 0, 1, [0, 0, 1]))


@implementations
def test_sliding_contacts_and_dry_friction(moving, rng, make):
    """Friction is mu f_n against the sliding; planned motions have friction against them."""
    model, data = moving
    contacts = bodies, points, frames, mu, radii, _ = some_contacts(rng)
    still = program(make, model, data, contacts=contacts)
    _, _, T, _, w, J, coefficients, slide = program(
        make, model, data, contacts=contacts, hold=(1.0, 1.0, True)
    )
    u = (still[5] @ data.qvel)[:, :2]
    slides = (mu > 0) & (bodies[:, 0] != bodies[:, 1])
    np.testing.assert_array_equal(coefficients, np.where(slides, 0.0, mu))
    direction = u[slides] / np.linalg.norm(u[slides], axis=1)[:, None]
    np.testing.assert_allclose(slide[slides], -mu[slides, None] * direction, atol=1e-12)
    np.testing.assert_array_equal(slide[~slides], 0.0)
    force = still[5][:, 2] + np.einsum("ni,nij->nj", slide, still[5][:, :2])
    np.testing.assert_allclose(J[:, 2], force, atol=1e-12)
    np.testing.assert_array_equal(T, still[2])
    np.testing.assert_array_equal(w.reshape(-1, 3)[slides], [[0.0, 0.0, 1.0]] * slides.sum())

    hold, loss, v, a = (1.0, 0.1, False), *rng.normal(size=(3, model.nv))
    a = (2e-3 * rng.normal(size=model.nv) - v) / 0.1
    velocity, forces = v + 0.1 * a, rng.random((len(mu), 3))
    none = program(make, model, data, contacts=contacts, hold=hold)[1]
    alone = program(make, model, data, contacts=contacts, hold=hold, plan=(loss, v, a, None))
    share = np.clip(velocity / 1e-3, -1, 1)
    np.testing.assert_allclose(alone[1], none + loss * share, atol=1e-12)
    both = program(make, model, data, contacts=contacts, hold=hold, plan=(loss, v, a, forces))
    expected = np.zeros(model.nv)
    turn = np.zeros((2, 3, model.nv))
    for i, pair in enumerate(bodies):
        for side, body in enumerate(pair):
            mujoco.mj_jac(model, data, None, turn[side], points[i], body)
        rows = frames[i] @ (turn[1] - turn[0])
        # torques of the ellipsoid with these radii that oppose the turning most
        turns = rows @ velocity
        slip = np.linalg.norm(radii[i] * turns)
        if slip > 0.0:
            share = min(np.linalg.norm(turns) / 1e-3, 1.0)
            expected += forces[i, 2] * share * (radii[i] ** 2 * turns / slip) @ rows
    np.testing.assert_allclose(both[1] - alone[1], expected, atol=1e-12)


@implementations
def test_the_bias_force_is_without_applied_forces_on_motors(moving, rng, make):
    """Springs and dampers, generalized forces, and wrenches at centres of mass, by mj_applyFT."""
    model, data = moving
    model.dof_damping[:] = rng.random(model.nv)
    data.qfrc_applied[:] = rng.normal(size=model.nv)
    data.xfrc_applied[2:5] = rng.normal(size=(3, 6))
    mujoco.mj_forward(model, data)
    applied = data.qfrc_applied.copy()
    applied[MOTORS] = 0.0
    for body in range(model.nbody):
        force, torque = np.split(data.xfrc_applied[body], 2)
        mujoco.mj_applyFT(model, data, force, torque, data.xipos[body], body, applied)
    expected = data.qfrc_bias - data.qfrc_passive - applied
    np.testing.assert_allclose(program(make, model, data)[1], expected, atol=1e-12)
    np.testing.assert_allclose(bias_force(model, data, MOTORS), expected, atol=1e-12)


@implementations
def test_the_mass_matrix(moving, make):
    model, data = moving
    columns = np.zeros((model.nv, model.nv))
    for column, unit in zip(columns, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, column, unit)
    np.testing.assert_allclose(program(make, model, data)[0], columns, atol=1e-13)
    mechanism = _core.Mechanism(*mechanism_constants(model))
    np.testing.assert_allclose(mechanism.mass_matrix(data.M), columns, atol=1e-13)


def with_entry(task, place, value):
    return (*task[:place], value, *task[place + 1 :])


JOINT = (
    JOINTS, 1.0, np.array([9], dtype=np.int32), np.array([11], dtype=np.int32), 1.0, 1.0, 0.0, 0.0,
    0.0, None,
)  # fmt: skip
CENTRE_TASK = (CENTRE, 1.0, np.array([1], dtype=np.int32), np.ones(1), 1, 1, 0.0, 0.0, 0.0, None)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"tasks": (with_entry(JOINT, 0, 3),)}, "kind = 3: is out of range"),
        ({"tasks": (with_entry(JOINT, 2, [12]),)}, r"at\[0\] = 12: is out of range"),
        ({"tasks": (with_entry(JOINT, 3, [14]),)}, r"place\[0\] = 14: is out of range"),
        ({"tasks": (with_entry(JOINT, 6, [0.0, 1.0]),)}, r"position has shape \(2,\), expected"),
        ({"tasks": (with_entry(CENTRE_TASK, 3, [0.5, 0.5]),)}, r"share has shape \(2,\)"),
        ({"tasks": (frame(6),)}, r"at\[0\] = 6: is out of range"),
        ({"tasks": (frame(1, axes=4),)}, "axes = 4: is out of range"),
        ({"tasks": (with_entry(frame(1), 2, [1, 2]),)}, "at.* must be one body of a frame"),
        ({"tasks": (frame(1, rotation=np.eye(2)),)}, r"rotation has shape \(2, 2\)"),
        ({"tasks": (frame(1, position=np.zeros(2)),)}, r"position has shape \(2,\), expected"),
        ({"xpos": np.zeros((5, 3))}, r"xpos has shape \(5, 3\), expected \(6, 3\)"),
        (
            {"plan": (np.zeros(8), np.zeros(12), np.zeros(12), None)},
            r"frictionloss has shape \(8,\)",
        ),
        ({"plan": (*np.zeros((3, 12)), np.zeros(3))}, r"forces has shape \(3,\)"),
        (
            {"contacts": (np.array([[0, 6]], dtype=np.int32), *NO_CONTACTS[1:])},
            r"bodies\[1\] = 6: is out of range",
        ),
        (
            {"contacts": (np.array([[0, 1]], dtype=np.int32), *NO_CONTACTS[1:])},
            r"positions has shape \(0, 3\), expected \(1, 3\)",
        ),
    ],
)
def test_wrong_arguments(moving, change, text):
    with pytest.raises(ValueError, match=text):
        program(core, *moving, **change)


def test_wrong_kinds_of_arguments(moving):
    model, data = moving
    constants = mechanism_constants(model)
    mechanism = _core.Mechanism(*constants)
    with pytest.raises(TypeError, match="tasks must be a tuple, not list"):
        program(core, model, data, tasks=[])
    with pytest.raises(TypeError, match="a task must be a tuple, not int"):
        program(core, model, data, tasks=(1,))
    with pytest.raises(TypeError, match="plan must be a tuple, not int"):
        program(core, model, data, plan=1)
    with pytest.raises(TypeError, match="state must be a tuple, not int"):
        mechanism.bias_force(1, ())
    with pytest.raises(TypeError, match="a task has 10 entries"):
        program(core, model, data, tasks=((0,),))
    with pytest.raises(TypeError, match="task_program takes 7 arguments"):
        mechanism.task_program(())
    with pytest.raises(ValueError, match=r"M has shape \(3,\)"):
        mechanism.mass_matrix(np.zeros(3))
    with pytest.raises(ValueError, match=r"dof_parent\[0\] = 0: must be -1"):
        _core.Mechanism([-1, 0], [0, 1], [0], [1], [0], [0])
    with pytest.raises(ValueError, match=r"M_rowadr\[0\] = 1: must be the begin of a row"):
        _core.Mechanism([-1, 0], [0, 1], [-1], [1], [1], [0])
    with pytest.raises(ValueError, match=r"last_dof\[1\] = 1: is out of range"):
        _core.Mechanism([-1, 1], [0, 1], [-1], [1], [0], [0])


@implementations
def test_rotation_vectors_turn_one_matrix_to_another(moving, rng, make):
    """Also half turns and none."""
    model, data = moving
    body = model.body("hand").id
    xmat = data.xmat.copy()
    for angle in (0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-6, np.pi):
        for _ in range(20):
            quaternion = rng.normal(size=4)
            axis = rng.normal(size=3)
            axis /= np.linalg.norm(axis)
            turn, rotation = np.zeros(4), np.zeros(9)
            mujoco.mju_quat2Mat(xmat[body], quaternion / np.linalg.norm(quaternion))
            mujoco.mju_axisAngle2Quat(turn, axis, angle)
            mujoco.mju_quat2Mat(rotation, turn)
            wanted = rotation.reshape(3, 3) @ xmat[body].reshape(3, 3)
            task = frame(body, axes=2, k=1.0, rotation=wanted)
            still = np.zeros(model.nv)
            found = program(make, model, data, tasks=(task,), xmat=xmat, qvel=still)[3]
            vector = reference.rotation_vector(wanted @ xmat[body].reshape(3, 3).T)
            np.testing.assert_allclose(found, vector, atol=1e-7)
            sign = np.sign(found @ axis) if angle > 3.1 else 1.0  # a half turn has two axes
            np.testing.assert_allclose(sign * found, angle * axis, atol=1e-7)


def test_a_point_on_a_hinge_turns():
    """At (2, 0, 0) of a hinge about z at the origin it moves by 2 w, accelerated by -2 w^2."""
    hinge, w = [0.0, 0.0, 1.0, 0.0, 1.0, 0.0], 3.0  # at the centre of mass (1, 0, 0)
    J, J_r, v, bias, turn, bias_r = reference.point_motion(
        [0], [hinge], np.zeros((1, 6)), [w], [1.0, 0.0, 0.0]
    )
    np.testing.assert_array_equal(J.ravel(), [0.0, 2.0, 0.0])
    np.testing.assert_array_equal(J_r.ravel(), [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(v, [0.0, 2.0 * w, 0.0])
    np.testing.assert_array_equal(turn, [0.0, 0.0, w])
    np.testing.assert_array_equal(bias, [-2.0 * w**2, 0.0, 0.0])
    np.testing.assert_array_equal(bias_r, 0.0)
