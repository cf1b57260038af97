"""Contacts that are held beyond an engine's list, and limits of motors, beside their mirrors."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import _core, reference

mujoco = pytest.importorskip("mujoco")

implementations = pytest.mark.parametrize(
    "hold",
    [
        pytest.param(_core.held_contacts, id="core"),
        pytest.param(reference.held_contacts, id="reference"),
    ],
)


def arguments(model, data, hysteresis=2e-3, held=b""):
    names = ("geom", "dist", "pos", "frame", "friction", "dim")
    listed = [getattr(data.contact, name) for name in names]
    return [*listed, model.geom_bodyid, data.xpos, data.xmat, hysteresis, held]


@implementations
def test_touching_contacts_are_those_of_the_list(hold):
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
    held, same, *found = hold(*arguments(model, data))
    assert same
    assert [len(array) for array in found] == [0] * 7
    mujoco.mj_forward(model, data)
    held, same, *found = hold(*arguments(model, data, held=held))
    geoms, bodies, positions, frames, mu, radii, gaps = found
    assert not same
    listed = data.contact
    near = listed.dist <= 0.0
    assert near.sum() == 4
    assert len(near) == 5
    np.testing.assert_array_equal(geoms, listed.geom[near])
    np.testing.assert_array_equal(bodies, model.geom_bodyid[geoms])
    np.testing.assert_array_equal(positions, listed.pos[near])
    np.testing.assert_array_equal(frames, np.roll(listed.frame[near].reshape(-1, 3, 3), -1, axis=1))
    np.testing.assert_array_equal(mu, [0.0, 0.5, 0.5, 0.5])
    np.testing.assert_array_equal(radii, [[0, 0, 0], [0, 0, 0], [0, 0, 0.1], [0.2, 0.2, 0.1]])
    np.testing.assert_array_equal(gaps, listed.dist[near])
    held, same, *_ = hold(*arguments(model, data, held=held))
    assert same
    listed.geom[np.flatnonzero(near)[0], 0] = -1
    _, same, geoms, *_ = hold(*arguments(model, data))
    assert not same
    assert len(geoms) == 3


def scene(rng, data):
    """Two boxes on a plane somewhere near the touch, one above the other or beside it."""
    for place in (0, 7):
        data.qpos[place : place + 3] = 1e-3 * rng.normal(size=3) + [place / 7, 0.0, 0.1]
        turn = 3e-3 * rng.normal(size=3)
        data.qpos[place + 3 : place + 7] = [1.0, *turn] / np.sqrt(1.0 + turn @ turn)


BOXES = """
<mujoco><worldbody><geom type="plane" size="9 9 1"/>
  <body><freejoint/><geom type="box" size=".2 .3 .1"/></body>
  <body><freejoint/><geom type="box" size=".2 .3 .1"/><geom size=".1" pos="-.7 0 0"/></body>
</worldbody></mujoco>"""


def test_held_contacts_follow_their_bodies_as_in_the_mirror(rng):
    """States of which each lists some of the contacts that the last one holds."""
    model = mujoco.MjModel.from_xml_string(BOXES)
    data = mujoco.MjData(model)
    held, kept, beyond = b"", None, 0
    for _ in range(200):
        scene(rng, data)
        mujoco.mj_forward(model, data)
        held, same, *found = _core.held_contacts(*arguments(model, data, 4e-3, held))
        kept, same_as, *expected = reference.held_contacts(*arguments(model, data, 4e-3, kept))
        assert same == same_as
        for array, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(array, other, atol=1e-13)
        beyond += np.count_nonzero(found[-1] > 0.0)
    assert beyond > 100


@implementations
def test_a_held_contact_takes_part_in_the_motion_of_its_bodies(hold):
    """A box turns about its middle: the frame stays with the plane, its first body."""
    model = mujoco.MjModel.from_xml_string(BOXES)
    data = mujoco.MjData(model)
    data.qpos[:3], data.qpos[7:10] = [0.0, 0.0, 0.0999], [5.0, 0.0, 1.0]
    mujoco.mj_forward(model, data)
    held, _, _, _, positions, frames, *_ = hold(*arguments(model, data))
    assert len(positions) == 4
    # an eighth of a turn about z, and up by 1 mm
    data.qpos[:7] = 0.0, 0.0, 0.1009, np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8)
    mujoco.mj_forward(model, data)
    assert data.ncon == 0
    _, same, _, _, moved, axes, _, _, gaps = hold(*arguments(model, data, held=held))
    assert same
    np.testing.assert_allclose(gaps, 9e-4, atol=1e-12)
    np.testing.assert_allclose(axes, frames, atol=1e-12)
    c = np.sqrt(0.5)
    turned = positions[:, :2] @ np.array([[c, c], [-c, c]])
    # the middle between the point on the plane, which rests, and the one on the box
    np.testing.assert_allclose(moved[:, :2], (positions[:, :2] + turned) / 2, atol=1e-9)
    assert len(hold(*arguments(model, data, 5e-4, held))[2]) == 0


def test_wrong_arguments_of_held_contacts():
    model = mujoco.MjModel.from_xml_string(BOXES)
    data = mujoco.MjData(model)
    data.qpos[2], data.qpos[7:10] = 0.0999, [5.0, 0.0, 1.0]
    mujoco.mj_forward(model, data)
    given = arguments(model, data)
    held = _core.held_contacts(*given)[0]
    with pytest.raises(TypeError, match="takes 11 arguments"):
        _core.held_contacts(*given[:2])
    for place, value, error, text in (
        (1, data.contact.dist[1:], ValueError, r"dist has shape \(3,\), expected \(4,\)"),
        (6, model.geom_bodyid[:1], ValueError, r"geom\[0\] = 1: is out of range"),
        (6, model.geom_bodyid + 2, ValueError, r"bodies\[0\] = 3: is out of range"),
        (9, -1.0, ValueError, "hysteresis = -1: must be finite and >= 0"),
        (10, b"1", TypeError, "held must be the last result of held_contacts"),
        (10, b"\xff" * len(held), ValueError, r"bodies\[0\] = -1: is out of range"),
    ):
        wrong = list(given)
        wrong[place] = value
        with pytest.raises(error, match=text):
            _core.held_contacts(*wrong)


def test_torques_are_bounded_as_in_the_mirror(rng):
    n = 7
    low, high = np.sort(10.0 * rng.normal(size=(2, 2, n)), axis=1).swapaxes(0, 1)
    low[0, :2], high[1, 1:3] = -np.inf, np.inf
    given = (
        rng.normal(size=9), rng.normal(size=8), np.arange(n)[::-1] + 1, np.arange(n),
        rng.normal(size=(3, n)), np.array([low[0], high[0]]), np.array([low[1], high[1]]),
    )  # fmt: skip
    found = _core.bound_torques(*given)
    np.testing.assert_allclose(found, reference.bound_torques(*given), rtol=1e-13)
    assert (found[1] <= found[2]).all()
    with pytest.raises(ValueError, match=r"place\[0\] = 9: is out of range"):
        _core.bound_torques(*given[:2], given[2] + 2, *given[3:])
    with pytest.raises(ValueError, match=r"bias has shape \(2, 7\), expected \(3, 7\)"):
        _core.bound_torques(*given[:4], given[4][:2], *given[5:])
    with pytest.raises(TypeError, match="takes 7 arguments"):
        _core.bound_torques(*given[:2])
