"""Geoms on two sides of a hinge never meet if a plane across its axis separates them."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import Stepper

# a flange of eight corners, from z = 0 to z = .1
ANGLES = np.arange(8) * np.pi / 4
RING = np.column_stack([0.1 * np.cos(ANGLES), 0.1 * np.sin(ANGLES)])
FLANGE = " ".join(f"{x:.9f} {y:.9f} {z}" for z in (0, 0.1) for x, y in RING)


def arm(link: str, base: str = "", joint: str = "hinge", gap: float = 0.0, own: float = 0.0):
    """A flange on another one, tilted, in a body that is welded to the world."""
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="0.002"/>
        <asset><mesh name="flange" vertex="{FLANGE}"/></asset>
        <default><geom margin="{own / 2}"/></default>
        <worldbody><body pos=".3 .2 .5" euler="20 30 10"><geom type="mesh" mesh="flange"/>{base}
        <body pos="0 0 {0.1 + gap}"><joint type="{joint}" axis="0 0 1"/>
        <geom type="mesh" mesh="flange"/>{link}</body></body></worldbody></mujoco>"""
    )


def pairs(stepper, angle, speed):
    data = mujoco.MjData(stepper.model)
    data.qpos[0], data.qvel[0] = angle, speed
    stepper.step1(data)
    return {tuple(sorted(pair)) for pair in data.contact.geom.tolist()}


@pytest.mark.parametrize("gap", [0.0, 1e-9, 3e-4])
def test_flanges_that_touch_do_not_meet(gap, rng):
    """By far less than gravity would close in a step, if it could."""
    model = arm("", gap=gap)
    stepper = Stepper(model)
    for _ in range(20):
        assert not pairs(stepper, rng.uniform(-3, 3), rng.uniform(-20, 20))


def test_they_turn_freely():
    model = arm("<geom type='box' size='.1 .02 .02' pos='.1 0 .3' mass='2'/>", gap=1e-9)
    model.opt.gravity[:] = 0
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[0] = 3
    stepper.run(data, 500)
    assert data.qvel[0] == pytest.approx(3, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "listed"),
    [
        ({"joint": "slide", "gap": 1e-6}, True),  # which moves along its axis
        ({"gap": -1e-4}, True),  # they overlap
        ({"gap": 1e-4, "own": 2e-4}, True),  # within a margin of the user's
        ({"gap": 2e-4, "own": 1e-4}, False),
    ],
)
def test_others_are_listed(change, listed):
    model = arm("", **change)
    assert pairs(Stepper(model), 0.0, 0.0) == ({(0, 1)} if listed else set())


def test_a_peg_stops_at_a_post():
    """The post reaches beyond the plane between the flanges."""
    peg = "<geom name='peg' type='box' size='.1 .01 .02' pos='.1 0 .04' mass='1'/>"
    post = "<geom name='post' type='box' size='.01 .01 .15' pos='0 .15 .15'/>"
    model = arm(peg, post, gap=1e-9)
    model.opt.gravity[:] = 0
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[0] = 2
    stepper.run(data, 1000)
    assert 1.2 < data.qpos[0] < np.pi / 2
    assert abs(data.qvel[0]) < 0.1


def test_a_flange_that_grows_or_is_moved_is_seen():
    """A bound does not outlive the shape or the place that it holds for."""
    base = "<geom name='low' type='box' size='.1 .1 .05' pos='0 0 .03'/>"
    model = arm("", base, gap=2e-9)
    stepper = Stepper(model)
    assert not pairs(stepper, 0.3, 1.0)
    stepper.model.geom_pos[1, 2] += 0.025
    assert pairs(stepper, 0.3, 1.0) == {(1, 2)}
    stepper.model.geom_pos[1, 2] -= 0.025
    assert not pairs(stepper, 0.3, 1.0)
    stepper.model.geom_aabb[1, 5] = stepper.model.geom_size[1, 2] = 0.075
    assert pairs(stepper, 0.3, 1.0) == {(1, 2)}
