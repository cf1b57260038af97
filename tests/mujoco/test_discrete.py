"""Springs and position gains that act at the end of the step, as with MuJoCo's `discrete`."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import Stepper, linearize

pytestmark = pytest.mark.skipif(
    not hasattr(mujoco.mjtIntegrator, "mjINT_DISCRETE"), reason="since MuJoCo 3.13"
)

# a tree with two branches, steps of up to fifty times what explicit springs take
SPRINGS = """
<mujoco>
  <compiler angle="radian"/>
  <option integrator="discrete" timestep="{dt}" tolerance="1e-14"><flag contact="disable"/></option>
  <default><geom mass="1"/></default>
  <worldbody>
    <body pos="0 0 1">
      <joint name="a" axis="0 1 0" stiffness="{joint}" springref=".3" damping="1"/>
      <geom size=".1" pos=".2 0 0"/>
      <body pos=".4 0 0">
        <joint name="b" axis="0 0 1" {damping}/><geom size=".1" pos=".2 0 0"/>
        <site name="hand" pos=".3 0 .1"/>
      </body>
      <body pos=".4 .4 0"><joint name="c" axis="1 0 0"/><geom size=".1" pos=".2 .1 0"/></body>
    </body>
    <body pos="0 0 4">
      <joint name="d" type="slide" stiffness="{joint}"/><geom size=".1" pos=".2 0 0"/>
    </body>
    <site name="wall" pos="0 .5 0"/>
  </worldbody>
  <tendon>
    <fixed name="pair" {tendon}><joint joint="b" coef="1"/><joint joint="c" coef="-2"/></fixed>
    <spatial name="sinew"><site site="wall"/><site site="hand"/></spatial>
  </tendon>
  <actuator>{actuators}</actuator>
</mujoco>
"""
PLAIN = {"dt": 0.02, "joint": 0, "damping": "", "tendon": "", "actuators": ""}
CASES = {
    "joints": {"joint": 5e4},
    "a tendon across branches": {"tendon": 'stiffness="3e4" springlength=".1 .2"'},
    "a damped tendon across branches": {"tendon": 'stiffness="3e3" damping="40"'},
    "servos": {"actuators": '<position joint="a" kp="4e4" kv="20"/><velocity joint="b" kv="50"/>'},
    "a servo of a tendon": {"actuators": '<position tendon="pair" kp="1e4" kv="10"/>'},
    "a servo of a site": {
        "actuators": '<position site="hand" refsite="wall" gear="0 0 1 0 0 0" kp="500" kv="5"/>'
    },
    "all": {
        "joint": 5e3, "damping": 'damping="2"', "tendon": 'stiffness="3e3" damping="3"',
        "actuators": '<position joint="a" kp="4e3" kv="20"/>'
        '<position site="hand" refsite="wall" gear="1 0 0 0 0 0" kp="500" kv="5"/>',
    },
}  # fmt: skip


def made(**numbers):
    return mujoco.MjModel.from_xml_string(SPRINGS.format(**{**PLAIN, **numbers}))


def moving(model, rng):
    data = mujoco.MjData(model)
    data.qvel[:] = rng.uniform(-1, 1, model.nv)
    data.qpos[:] = rng.uniform(-0.3, 0.3, model.nq)
    data.ctrl[:] = rng.uniform(0, 0.3, model.nu)
    return data


@pytest.mark.parametrize("numbers", CASES.values(), ids=CASES)
def test_without_contact_steps_are_mujocos(numbers, rng, recwarn):
    model = made(**numbers)
    stepper, data, reference = Stepper(model), moving(model, rng), mujoco.MjData(model)
    mujoco.mj_copyData(reference, model, data)
    for _ in range(25):
        stepper.step(data)
        mujoco.mj_step(model, reference)
    np.testing.assert_allclose(data.qpos, reference.qpos, atol=1e-6)
    np.testing.assert_allclose(data.qvel, reference.qvel, atol=1e-6)
    assert not recwarn.list


def test_free_and_ball_joints():
    """Bodies on springs, whose rotation is small: gyroscopic torques are taken otherwise."""
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><option integrator="discrete" timestep="0.02" tolerance="1e-14"/><worldbody>
      <body pos="0 0 1"><joint type="ball" stiffness="900" damping=".3"/>
        <geom type="box" size=".1 .1 .1" mass="1"/></body>
      <body pos="0 0 3"><joint type="free" stiffness="5000" damping="2"/>
        <geom type="box" size=".1 .2 .1" mass="1"/></body></worldbody></mujoco>""")
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[[0, 4, 6]] = 0.1
    reference = mujoco.MjData(model)
    mujoco.mj_copyData(reference, model, data)
    for _ in range(50):
        stepper.step(data)
        mujoco.mj_step(model, reference)
    np.testing.assert_allclose(data.qpos, reference.qpos, atol=1e-6)
    np.testing.assert_allclose(data.qvel, reference.qvel, atol=1e-6)


def test_one_spring_has_a_closed_form():
    """m (v' - v) = -h k (x + h v'), far beyond the limit of explicit springs."""
    k, m, h = 1e6, 2.0, 0.01
    model = mujoco.MjModel.from_xml_string(f"""
    <mujoco><option integrator="discrete" timestep="{h}" gravity="0 0 0"/><worldbody>
      <body><joint type="slide" stiffness="{k}"/><geom size=".1" mass="{m}"/></body>
    </worldbody></mujoco>""")
    stepper, data = Stepper(model), mujoco.MjData(model)
    x = data.qpos[0] = 0.1
    v = data.qvel[0] = -1.0
    for _ in range(5):
        stepper.step(data)
        v = (m * v - h * k * x) / (m + h * h * k)
        x += h * v
        assert data.qpos[0] == pytest.approx(x, rel=1e-12)
        assert data.qvel[0] == pytest.approx(v, rel=1e-9)


def test_a_stiff_spring_presses_a_box_on_the_floor():
    """Contact and spring share the load, at a step that no explicit spring takes."""
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><option integrator="discrete" timestep="0.01"/><worldbody>
      <geom type="plane" size="3 3 .1"/>
      <body pos="0 0 .1"><joint type="slide" axis="0 0 1" stiffness="1e6" springref="-1e-4"/>
        <geom type="box" size=".1 .1 .1" mass="1"/></body></worldbody></mujoco>""")
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 200)
    force = stepper.contacts.force[:, 2].sum()
    assert force == pytest.approx(9.81 + 1e6 * (1e-4 + data.qpos[0]), rel=1e-6)
    assert abs(data.qvel[0]) < 1e-9


def test_derivatives_have_the_springs(rng):
    model = made(**CASES["all"])
    stepper, data = Stepper(model), moving(model, rng)
    found, expected = linearize(stepper, data), linearize(stepper, data, mode="difference")
    np.testing.assert_allclose(found.A, expected.A, atol=1e-6 * np.abs(expected.A).max())
    np.testing.assert_allclose(found.B, expected.B, atol=1e-6 * np.abs(expected.B).max())


def test_changed_stiffness_is_followed(rng):
    model, other = made(joint=5e3), made(joint=1e3)
    stepper, data = Stepper(model), moving(model, rng)
    changed = mujoco.MjData(model)
    mujoco.mj_copyData(changed, model, data)
    stepper.model.jnt_stiffness[:] = other.jnt_stiffness
    stepper.run(changed, 5)
    Stepper(other).run(data, 5)
    np.testing.assert_allclose(changed.qpos, data.qpos, atol=1e-12)


def test_springs_that_stay_explicit_are_told():
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><option integrator="discrete"/><worldbody>
      <body><joint name="x" type="slide"/><geom size=".1"/></body>
      <body pos="1 0 0"><joint name="y" type="slide"/><geom size=".1"/></body></worldbody>
      <tendon><fixed name="both" stiffness="9"><joint joint="x" coef="1"/>
        <joint joint="y" coef="1"/></fixed></tendon></mujoco>""")
    with pytest.warns(UserWarning, match="DISCRETE: springs of tendons between trees .*'both'"):
        Stepper(model)
