"""Models whose integrator is not Euler: which forces are implicit, and that MuJoCo agrees."""

from __future__ import annotations

import copy

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import full_state, mass_matrix
from sapwood.mujoco import Stepper

# forces that depend on velocities in many ways, and no contact; what else is not MuJoCo's (limits,
# dry friction, implicit controllers) is left out
ARMS = """
<mujoco>
  <option integrator="{integrator}" timestep=".005" density="1000" viscosity=".5">
    <flag contact="disable"/>
  </option>
  <default><geom mass="1" {fluid}/></default>
  <worldbody>
    <body pos="0 0 1">
      <joint name="a" axis="0 1 0" damping=".1 .05"/>
      <geom type="ellipsoid" size=".1 .05 .03" pos=".2 0 0"/>
      <body pos=".4 0 0">
        <joint name="b" axis="0 0 1" damping=".2"/>
        <geom type="ellipsoid" size=".1 .02 .05" pos=".2 0 0"/>
        <site name="hand" pos=".3 0 .1"/>
      </body>
      <body pos=".4 .4 0"><joint name="c" axis="1 0 0"/><geom size=".1" pos=".2 .1 0"/></body>
    </body>
    <body pos="0 0 4"><joint name="d" type="slide"/><geom size=".1" pos=".2 0 0"/></body>
    <site name="wall" pos="0 .5 0"/>
  </worldbody>
  <tendon>
    <fixed name="shared" damping="2" stiffness="3">
      <joint joint="b" coef="1"/><joint joint="c" coef="2"/><joint joint="d" coef="3"/>
    </fixed>
    <fixed name="pair"><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed>
    <spatial name="sinew"><site site="wall"/><site site="hand"/></spatial>
  </tendon>
  <actuator>
    <damper name="brake" joint="a" kv="7" ctrlrange="0 1"/>
    <muscle name="muscle" tendon="sinew"/>
    <motor name="motor" joint="d" damping="3"/>
    {actuators}
  </actuator>
</mujoco>
"""

# implicit controllers, one of which is switched off
SERVOS = """
    <position name="held" joint="a" kp="100" kv="20"/>
    <velocity name="fast" joint="b" kv="5" gear="3"/>
    <velocity name="cable" tendon="pair" kv="4"/>
    <velocity name="off" joint="c" kv="1000" group="1"/>
"""


def arms(integrator="implicitfast", fluid="", actuators="") -> mujoco.MjModel:
    text = ARMS.format(integrator=integrator, fluid=fluid, actuators=actuators)
    return mujoco.MjModel.from_xml_string(text)


def moving(model, rng):
    data = mujoco.MjData(model)
    data.qvel[:] = rng.uniform(-2, 2, model.nv)
    data.qpos[:] += rng.uniform(-0.3, 0.3, model.nq)
    data.ctrl[:] = rng.uniform(0, 1, model.nu)
    return data


def copy_of(model, data):
    other = mujoco.MjData(model)
    mujoco.mj_copyData(other, model, data)
    return other


def slopes(model, data) -> np.ndarray:
    """Derivative of MuJoCo's smooth forces by finite differences of the velocity."""
    D, h = np.zeros((model.nv, model.nv)), 1e-6
    for i in range(model.nv):
        forces = []
        for sign in (1, -1):
            other = copy_of(model, data)
            other.qvel[i] += sign * h
            mujoco.mj_forward(model, other)
            # bias forces stay explicit
            forces.append(other.qfrc_smooth + other.qfrc_bias)
        D[:, i] = (forces[0] - forces[1]) / (2 * h)
    return D


@pytest.mark.parametrize("fluid", ["", "fluidshape='ellipsoid'"])
def test_implicitfast_without_constraints_is_mujocos(fluid, rng):
    model = arms(fluid=fluid)
    stepper, data = Stepper(model), moving(model, rng)
    reference = copy_of(model, data)
    for _ in range(100):
        stepper.step(data)
        mujoco.mj_step(model, reference)
        for name in ("qpos", "qvel", "act"):
            np.testing.assert_allclose(
                getattr(data, name), getattr(reference, name), rtol=1e-9, atol=1e-10, err_msg=name
            )
    assert data.time == reference.time
    np.testing.assert_array_equal(data.qacc_warmstart, data.qacc)


def block_of(stepper, data) -> np.ndarray:
    """A of the first tree, which has three dofs."""
    return np.reshape(stepper.problem(data).A[:9], (3, 3))


@pytest.mark.parametrize("integrator", ["implicit", "implicitfast"])
def test_controllers_and_damping_are_implicit_once(integrator, rng):
    """D of all forces but those of controllers, whose constraints have it."""
    model, dt = arms(integrator, actuators=SERVOS), 0.005
    without = arms(integrator)
    for m in (model, without):
        m.opt.disableactuator = 1 << 1
    data = moving(model, rng)
    other = mujoco.MjData(without)
    other.qpos[:], other.qvel[:] = data.qpos, data.qvel
    other.ctrl[:] = data.ctrl[: without.nu]
    stepper = Stepper(model)
    assert len(stepper.parameters.elements["controller_gains"]) == 4
    mujoco.mj_forward(without, other)
    M, D = mass_matrix(without, other)[:3, :3], slopes(without, other)[:3, :3]
    # MuJoCo has no entry for the two arms, which do not move each other
    D[1, 2] = D[2, 1] = 0.0
    # nor, for drag, the asymmetric part
    expected = M - 0.5 * dt * (D + D.T)
    np.testing.assert_allclose(block_of(stepper, data), expected, rtol=1e-6, atol=1e-7)
    explicit = Stepper(model, implicit_actuators=False)
    more = block_of(explicit, data) - block_of(stepper, data)
    gains = np.diag([20.0, 9 * 5.0, 0.0]) + 4.0 * np.outer([1, -2, 0], [1, -2, 0])
    np.testing.assert_allclose(more, dt * gains, rtol=1e-12, atol=1e-12)


# no force depends on velocities but damping of joints, also by an actuator, and servos
ROBOT = """
<mujoco>
  <option integrator="implicitfast" timestep=".005"/>
  <default><geom mass="1" contype="0" conaffinity="0"/></default>
  <worldbody>
    <body><joint name="a" axis="0 1 0" damping=".1 .05"/><geom size=".1" pos=".2 0 0"/>
      <body pos=".4 0 0"><joint name="b" axis="0 0 1"/><geom size=".1" pos=".2 .1 0"/></body>
    </body>
  </worldbody>
  <tendon><fixed name="both"><joint joint="a" coef="1"/><joint joint="b" coef="2"/></fixed></tendon>
  <actuator>
    <motor joint="b" damping="3" gear="2"/>
    <general joint="a" gainprm="2" biastype="affine" biasprm="1 .5 0"/>
    {actuators}
  </actuator>
</mujoco>
"""


def test_damping_alone_takes_no_derivative_and_is_mujocos(rng):
    model = mujoco.MjModel.from_xml_string(ROBOT.format(actuators=""))
    stepper, data = Stepper(model), moving(model, rng)
    assert not stepper.parameters.implicit
    reference = copy_of(model, data)
    for _ in range(100):
        stepper.step(data)
        mujoco.mj_step(model, reference)
    np.testing.assert_allclose(data.qpos, reference.qpos, rtol=1e-9, atol=1e-10)
    assert not data.qDeriv.any()


@pytest.mark.parametrize(
    ("actuators", "implicit", "servos"),
    [
        ("<position joint='a' kp='100' kv='20'/>", False, True),
        ("<position joint='a' kp='100' kv='20'/>", True, False),
        ("<general joint='a' gaintype='affine' gainprm='1 0 -2'/>", True, True),
        ("<damper joint='a' kv='7' ctrlrange='0 1'/>", True, True),
        ("<muscle joint='a' lengthrange='.01 4'/>", True, True),
        ("<motor tendon='both' damping='1'/>", True, True),
    ],
)
def test_forces_that_take_the_derivative(actuators, implicit, servos, rng):
    model = mujoco.MjModel.from_xml_string(ROBOT.format(actuators=actuators))
    stepper = Stepper(model, implicit_actuators=servos)
    assert stepper.parameters.implicit == implicit
    data = moving(model, rng)
    data.qvel[:] = np.abs(data.qvel)
    # with controllers as constraints, A has all else
    without = model if not servos or implicit else copy_without_servos(model)
    free = copy_of(without, mujoco.MjData(without))
    free.qpos[:], free.qvel[:], free.ctrl[:] = data.qpos, data.qvel, data.ctrl
    mujoco.mj_forward(without, free)
    D, M = slopes(without, free), mass_matrix(without, free)
    A = np.reshape(stepper.problem(data).A, (2, 2))
    np.testing.assert_allclose(A, M - 0.0025 * (D + D.T), rtol=1e-6, atol=1e-7)


def copy_without_servos(model):
    own = copy.copy(model)
    own.actuator_gainprm[-1], own.actuator_biasprm[-1] = 0.0, 0.0
    return own


def test_water_that_a_model_comes_to_is_implicit_from_then_on(rng):
    model = mujoco.MjModel.from_xml_string(ROBOT.format(actuators=""))
    stepper, data = Stepper(model), moving(model, rng)
    stepper.step(data)
    model.opt.density = 1000.0
    reference = copy_of(model, data)
    for _ in range(20):
        stepper.step(data)
        mujoco.mj_step(model, reference)
    assert stepper.parameters.implicit
    np.testing.assert_allclose(data.qpos, reference.qpos, rtol=1e-9, atol=1e-10)


BRAKED = """
<mujoco><option integrator="{}" timestep=".01"/><worldbody>
  <geom type="plane" size="5 5 1"/>
  <body pos="0 0 .1"><freejoint/><geom name="box" type="box" size=".1 .1 .1" mass="1"/></body>
  <body pos="1 0 1"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0" mass="1"/></body>
</worldbody><actuator><general joint="j" gainprm="1" biastype="affine" biasprm="0 0 {}"/></actuator>
</mujoco>"""


def test_stiff_dampers_are_stable():
    """By 500 times what the time step resolves; without a constraint for it."""
    model = mujoco.MjModel.from_xml_string(BRAKED.format("implicitfast", -2000))
    stepper, data = Stepper(model, implicit_actuators=False), mujoco.MjData(model)
    data.qvel[6] = 5.0
    result = stepper.run(data, 100)
    assert result.converged
    assert abs(data.qvel[6]) < 0.01
    np.testing.assert_allclose(data.qpos[:3], [0, 0, 0.1], atol=1e-4)


def test_forces_that_drive_motion_on_are_explicit():
    """Where A would not be positive definite: the step of a model with Euler's integrator."""
    ends = []
    for integrator in ("implicitfast", "Euler"):
        model = mujoco.MjModel.from_xml_string(BRAKED.format(integrator, 200))
        stepper, data = Stepper(model), mujoco.MjData(model)
        data.qvel[6] = 0.1
        stepper.run(data, 3)
        ends.append(full_state(model, data))
    np.testing.assert_array_equal(*ends)


def test_rk4_steps_like_implicitfast_and_says_so(rng):
    model, implicit = arms("RK4"), arms()
    with pytest.warns(UserWarning, match="integrator RK4: .*implicitfast") as warned:
        stepper = Stepper(model)
    assert warned[0].filename == __file__
    assert stepper.model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    assert model.opt.integrator != stepper.model.opt.integrator
    data = moving(model, rng)
    other = copy_of(implicit, data)
    stepper.run(data, 20)
    Stepper(implicit).run(other, 20)
    np.testing.assert_array_equal(full_state(model, data), full_state(implicit, other))


def test_other_schemes_have_their_own_implicit_forces(recwarn):
    """The integrator of the model has no part in them."""
    ends = []
    for integrator in ("Euler", "RK4", "implicitfast"):
        model = arms(integrator)
        stepper = Stepper(model, scheme="midpoint")
        ends.append(moving(model, np.random.default_rng(1)))
        stepper.run(ends[-1], 5)
    for end in ends[1:]:
        np.testing.assert_array_equal(full_state(model, end), full_state(model, ends[0]))
    assert not recwarn.list


def test_a_change_of_the_integrator_is_refused(rng):
    model = arms()
    stepper, data = Stepper(model), moving(model, rng)
    stepper.step(data)
    stepper.model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    with pytest.raises(ValueError, match=r"integrator.* belong to the stepper"):
        stepper.step(data)
