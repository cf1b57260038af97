"""Bodies follow their mocap body, and let go of it before limits and floors yield."""

from __future__ import annotations

import math

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from release_models import WELD, compiled, peak_speed
from sapwood import ConstraintMaterial
from sapwood.mujoco import Stepper
from sapwood.mujoco.reading.release import release_speeds
from sapwood.reference.problem.regularization import driven_force

ARM = """<mujoco><option timestep="{time_step}"/><worldbody>
<body name="hand" mocap="true" pos=".8 0 0"/>
<body><joint axis="0 1 0" limited="true" range="-20 20"/>
<geom type="capsule" fromto="0 0 0 .4 0 0" size=".03" contype="0"/>
<body pos=".4 0 0"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .4 0 0" size=".03" contype="0"/>
<body name="wrist" pos=".4 0 0"><geom size=".04" contype="0"/></body></body></body></worldbody>
<equality><connect body1="hand" body2="wrist" anchor="0 0 0"/></equality></mujoco>"""


STRETCHED = """<mujoco><option timestep="{time_step}"/><worldbody>
<body name="hand" mocap="true" pos=".6 0 0"/>
<body><joint axis="0 1 0" damping=".1"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" contype="0"/>
<body pos=".3 0 0"><joint axis="0 1 0" damping=".1"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" contype="0"/>
<body name="wrist" pos=".3 0 0"><geom size=".03" contype="0"/></body></body></body></worldbody>
<equality><connect body1="hand" body2="wrist" anchor="0 0 0"/></equality></mujoco>"""


def arm_that_is_pulled(shoulder, elbow, time_step):
    """Where a mocap body holds the hand of an arm."""
    model = mujoco.MjModel.from_xml_string(ARM.format(time_step=time_step))
    data = mujoco.MjData(model)
    data.qpos[:] = shoulder, elbow
    mujoco.mj_kinematics(model, data)
    data.mocap_pos[0] = data.body("wrist").xpos
    return model, data


@pytest.mark.parametrize("time_step", [0.001, 0.002, 0.005])
@pytest.mark.parametrize("path", ["line", "circle", "swing"])
def test_a_mocap_body_that_moves_is_followed(path, time_step):
    """At 0.4 m/s the body lags by two steps, 0.8 mm at 2 ms, where MuJoCo has 16 mm."""
    model, speed, reach = compiled(WELD, time_step), 0.4, 0.1
    stepper, data = Stepper(model), mujoco.MjData(model)
    lag = 0.0
    for i in range(round(1.0 / time_step)):
        t = i * time_step
        turn = speed / reach * t
        data.mocap_pos[0, :2] = {
            "line": (speed * t, 0.0),
            "circle": (reach * math.sin(turn), reach - reach * math.cos(turn)),
            "swing": (reach - reach * math.cos(turn), 0.0),
        }[path]
        stepper.step(data)
        lag = max(lag, np.linalg.norm(data.qpos[:3] - data.mocap_pos[0]))
    assert lag <= 2.02 * speed * time_step


def test_a_limit_and_a_weld_that_are_in_each_others_way_come_to_rest():
    """The rows of an arm held where a joint is beyond its limit: nothing can be released."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option timestep=".0025"/><worldbody>
        <body><joint axis="0 1 0" limited="true" range="-20 20"/>
        <geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/>
        <body pos=".4 0 0"><joint axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/>
        <body name="hand" pos=".4 0 0"><geom size=".04"/></body></body></body>
        </worldbody>
        <equality><connect name="grip" body1="hand" anchor="0 0 0"/></equality></mujoco>"""
    )
    stepper = Stepper(model)
    _, ours = peak_speed(stepper.model, stepper.step, lambda d: d.qpos.__setitem__(0, 0.6), 400)
    assert np.abs(ours.qvel).max() < 0.5


@pytest.mark.parametrize("time_step", [0.001, 0.0025, 0.005])
@pytest.mark.parametrize("beyond", [0.1, 0.3, 0.6])
def test_a_limit_is_harder_than_what_a_mocap_body_pulls_at(beyond, time_step):
    limit = math.radians(20.0)
    model, data = arm_that_is_pulled(limit + beyond, -0.3, time_step)
    Stepper(model).run(data, round(1.0 / time_step))
    # the hand lets go before the limit does
    assert data.qpos[0] - limit < release_speeds(model, None).rate * 2.0 * time_step
    assert np.abs(data.qvel).max() < 1e-3


def test_an_arm_that_can_follow_a_mocap_body_does():
    model, data = arm_that_is_pulled(0.1, 0.8, 0.002)
    stepper, start, lag = Stepper(model), data.mocap_pos[0].copy(), 0.0
    for i in range(500):
        turn = 0.4 / 0.05 * i * 0.002
        data.mocap_pos[0] = start + [0.05 * math.cos(turn) - 0.05, 0.0, 0.05 * math.sin(turn)]
        stepper.step(data)
        mujoco.mj_kinematics(model, data)
        lag = max(lag, np.linalg.norm(data.body("wrist").xpos - data.mocap_pos[0]))
    assert lag < 2.1 * 0.4 * 0.002


@pytest.mark.parametrize("time_step", [0.002, 0.005, 0.01])
def test_a_stretched_arm_is_not_flung_by_a_jump_towards_it(time_step):
    """Its hand can hardly move that way at first: a force up to the speed of release flings it."""
    model = mujoco.MjModel.from_xml_string(STRETCHED.format(time_step=time_step))
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.mocap_pos[0, 0] -= 0.02
    fastest = 0.0
    for _ in range(round(0.5 / time_step)):
        rows = stepper.problem(data).constraints[0]
        # from rest a row that is released pulls with its bound at most
        released = np.abs(rows.g) / (2.0 * time_step) > 1.01 * np.abs(rows.v_hat)
        at_rest = np.abs(rows.v_hat) / rows.R
        assert np.all(at_rest[released] <= rows.upper[released] * (1.0 + 1e-9))
        stepper.step(data)
        fastest = max(fastest, np.abs(data.qvel).max())
    peak, _ = peak_speed(
        model,
        lambda d: mujoco.mj_step(model, d),
        lambda d: d.mocap_pos[0].__setitem__(0, 0.58),
        round(0.5 / time_step),
    )
    assert fastest < 1.45 * peak


@pytest.mark.parametrize("goal", [0.08, 0.0, -0.5])
def test_a_mocap_body_does_not_pull_through_the_floor(goal):
    """A ball that a mocap body presses on the floor, where MuJoCo's sinks by 40 mm and more."""
    model = compiled(
        """<mujoco><option {option}/><worldbody><geom type="plane" size="5 5 1"/>
        <body name="hand" mocap="true" pos="0 0 .1"/>
        <body name="held" pos="0 0 .1"><freejoint/><geom size=".1" {geom}/></body></worldbody>
        <equality><weld body1="hand" body2="held"/></equality></mujoco>"""
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    for i in range(500):
        data.mocap_pos[0, 2] = max(goal, 0.1 - 0.4 * 0.002 * i)
        stepper.step(data)
        assert data.qpos[2] > 0.099


def test_the_force_of_a_mocap_body_is_that_of_the_mirror(rng):
    model = compiled(WELD, geom="torquescale='0.5' solimp='0.2 0.9 0.01'")
    for speed in (0.1, 0.7):
        stepper, data = Stepper(model, release_speed=speed), mujoco.MjData(model)
        data.qpos[:3] += rng.normal(0.0, 0.01, 3)
        data.mocap_quat[0] = [1.0, *rng.normal(0.0, 0.01, 3)]
        rows = stepper.problem(data).constraints[0]
        mujoco.mj_forward(stepper.model, data)
        scale = rows.g / data.efc_pos[:6]
        force = driven_force(
            dt=0.002, D=data.efc_D[:6] / scale**2, impedance=data.efc_KBIP[:6, 2], speed=speed
        )
        np.testing.assert_allclose(rows.upper, 0.002 * force, rtol=1e-9)
        np.testing.assert_array_equal(rows.lower, -rows.upper)
    # A given stiffness has no bound, nor has a row where nothing is released.
    for options in ({"constraint": ConstraintMaterial(stiffness=1e5)}, {"release_speed": math.inf}):
        assert np.all(np.isinf(Stepper(model, **options).problem(data).constraints[0].upper[:3]))
