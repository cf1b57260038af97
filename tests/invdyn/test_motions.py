"""Jacobians of points, their bias accelerations and the mass matrix, beside MuJoCo's."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import _core, reference

mujoco = pytest.importorskip("mujoco")

from sapwood.invdyn.robot import Motions, mechanism_of
from sapwood.invdyn.tasks import _rotation_error

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


def by_core(model, data, body, point):
    found = mechanism_of(model).points(
        data.cdof, data.cdof_dot, data.qvel, data.subtree_com, [body], point[None]
    )
    return tuple(array[0] for array in found)


def by_body(model, data, body, point):
    J, velocity, bias = mechanism_of(model).body(
        data.cdof, data.cdof_dot, data.qvel, data.subtree_com, body, point
    )
    return J[:3], J[3:], velocity[:3], bias[:3], velocity[3:], bias[3:]


def by_reference(model, data, body, point):
    chain, dof = [], -1
    while body > 0 and model.body_dofnum[body] == 0:
        body = model.body_parentid[body]
    if body > 0:
        dof = model.body_dofadr[body] + model.body_dofnum[body] - 1
    while dof >= 0:
        chain.append(dof)
        dof = model.dof_parentid[dof]
    arm = point - data.subtree_com[model.body_rootid[body]]
    return reference.point_motion(chain, data.cdof, data.cdof_dot, data.qvel, arm)


@pytest.mark.parametrize("find", [by_core, by_body, by_reference])
@pytest.mark.parametrize("name", BODIES)
def test_motions_are_those_of_mujoco(moving, rng, find, name):
    model, data = moving
    body = model.body(name).id
    point = data.xpos[body] + rng.normal(size=3)
    J, J_r, v, bias, w, bias_r = find(model, data, body, point)
    expected, rate = np.zeros((2, 3, model.nv)), np.zeros((2, 3, model.nv))
    mujoco.mj_jac(model, data, *expected, point, body)
    mujoco.mj_jacDot(model, data, *rate, point, body)
    np.testing.assert_allclose(J, expected[0], atol=1e-12)
    np.testing.assert_allclose(J_r, expected[1], atol=1e-12)
    np.testing.assert_allclose(v, expected[0] @ data.qvel, atol=1e-12)
    np.testing.assert_allclose(w, expected[1] @ data.qvel, atol=1e-12)
    np.testing.assert_allclose(bias, rate[0] @ data.qvel, atol=1e-11)
    np.testing.assert_allclose(bias_r, rate[1] @ data.qvel, atol=1e-11)


def test_contacts_are_differences_of_points(moving, rng):
    model, data = moving
    motions = Motions(mechanism_of(model), data)
    bodies = np.array([[0, 4], [2, 5], [3, 3], [1, 0]])
    points = rng.normal(size=(4, 3))
    frames = np.array([np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(4)])
    J, u, bias = motions.contacts(bodies, points, frames)
    ends = [motions.points(bodies[:, side], points) for side in (0, 1)]
    np.testing.assert_allclose(J, frames @ (ends[1][0] - ends[0][0]), atol=1e-12)
    for found, k in ((u, 1), (bias, 2)):
        expected = np.einsum("nij,nj->ni", frames, ends[1][k] - ends[0][k])
        np.testing.assert_allclose(found, expected, atol=1e-11)


def test_the_mass_matrix(moving):
    model, data = moving
    M = mechanism_of(model).mass_matrix(data.M)
    columns = np.zeros((model.nv, model.nv))
    for column, unit in zip(columns, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, column, unit)
    np.testing.assert_allclose(M, columns, atol=1e-13)


def test_wrong_arguments(moving):
    model, data = moving
    state = data.cdof, data.cdof_dot, data.qvel, data.subtree_com
    mechanism = mechanism_of(model)
    with pytest.raises(ValueError, match=r"bodies\[1\] = 6: is out of range"):
        mechanism.points(*state, [0, 6], np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"body = 6: is out of range"):
        mechanism.body(*state, 6, np.zeros(3))
    with pytest.raises(ValueError, match=r"point has shape \(2,\), expected \(3,\)"):
        mechanism.body(*state, 0, np.zeros(2))
    with pytest.raises(ValueError, match=r"points has shape \(1, 3\), expected \(2, 3\)"):
        mechanism.points(*state, [0, 1], np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"frames has shape"):
        mechanism.contacts(*state, [0, 1], np.zeros((1, 3)), np.zeros((2, 3, 3)))
    with pytest.raises(ValueError, match=r"M has shape \(3,\)"):
        mechanism.mass_matrix(np.zeros(3))
    with pytest.raises(ValueError, match=r"dof_parent\[0\] = 0: must be -1"):
        _core.Mechanism([-1, 0], [0, 1], [0], [1], [0], [0])
    with pytest.raises(ValueError, match=r"M_rowadr\[0\] = 1: must be the begin of a row"):
        _core.Mechanism([-1, 0], [0, 1], [-1], [1], [1], [0])
    with pytest.raises(ValueError, match=r"last_dof\[1\] = 1: is out of range"):
        _core.Mechanism([-1, 1], [0, 1], [-1], [1], [0], [0])
    with pytest.raises(TypeError, match="points takes 6 arguments"):
        mechanism.points(*state)


def test_rotation_vectors_turn_one_matrix_to_another(rng):
    """Also half turns and none."""
    for angle in (0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-6, np.pi):
        for _ in range(20):
            quaternion = rng.normal(size=4)
            axis = rng.normal(size=3)
            axis /= np.linalg.norm(axis)
            start, turn = np.zeros(9), np.zeros(4)
            mujoco.mju_quat2Mat(start, quaternion / np.linalg.norm(quaternion))
            mujoco.mju_axisAngle2Quat(turn, axis, angle)
            rotation = np.zeros(9)
            mujoco.mju_quat2Mat(rotation, turn)
            start = start.reshape(3, 3)
            found = _rotation_error(rotation.reshape(3, 3) @ start, start)
            sign = np.sign(found @ axis) if angle > 3.1 else 1.0  # a half turn has two axes
            np.testing.assert_allclose(sign * found, angle * axis, atol=1e-7)


def test_touching_contacts_are_those_of_the_list():
    """Geoms apart, and flexes, are left out; friction counts by the dimension of a contact."""
    ball = (
        '<body pos="{} 0 .{}"><freejoint/><geom size=".1" condim="{}" friction=".5 .1 .2"/></body>'
    )
    balls = "".join(ball.format(i, depth, dim) for i, (depth, dim) in enumerate(
        [("09", 1), ("0999", 3), ("11", 3), ("08", 4), ("09", 6)]
    ))  # fmt: skip
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="plane" size="9 9 1" margin=".1" condim="1" '
        f'friction=".5 .1 .2"/>{balls}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    arrays = ("geom", "dist", "pos", "frame", "friction", "dim")
    found = _core.touching_contacts(*(getattr(data.contact, name) for name in arrays), None)
    assert [len(array) for array in found] == [0] * 6
    mujoco.mj_forward(model, data)
    listed = data.contact
    geoms, positions, frames, mu, radii, gaps = _core.touching_contacts(
        *(getattr(listed, name) for name in arrays), None
    )
    near = listed.dist <= 0.0
    assert near.sum() == 4
    assert len(near) == 5
    np.testing.assert_array_equal(geoms, listed.geom[near])
    np.testing.assert_array_equal(positions, listed.pos[near])
    np.testing.assert_array_equal(frames, np.roll(listed.frame[near].reshape(-1, 3, 3), -1, axis=1))
    np.testing.assert_array_equal(mu, [0.0, 0.5, 0.5, 0.5])
    np.testing.assert_array_equal(radii, [[0, 0, 0], [0, 0, 0], [0, 0, 0.1], [0.2, 0.2, 0.1]])
    np.testing.assert_array_equal(gaps, listed.dist[near])
    again, *_ = _core.touching_contacts(*(getattr(listed, name) for name in arrays), geoms)
    assert again is geoms
    listed.geom[np.flatnonzero(near)[0], 0] = -1
    left, *_ = _core.touching_contacts(*(getattr(listed, name) for name in arrays), geoms)
    assert len(left) == 3
    with pytest.raises(TypeError, match="takes 7 arguments"):
        _core.touching_contacts(listed.geom)
    with pytest.raises(ValueError, match=r"dist has shape \(4,\), expected \(5,\)"):
        _core.touching_contacts(
            listed.geom, listed.dist[1:], listed.pos, listed.frame, listed.friction, listed.dim,
            None,
        )  # fmt: skip
