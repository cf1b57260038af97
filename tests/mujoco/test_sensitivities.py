"""Runs with their derivatives by numbers of the model, beside differences of whole runs."""

from __future__ import annotations

import copy
import time

import numpy as np
import pytest

from sapwood import ContactMaterial, SapSettings

mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import Stepper, sensitivities

EXACT = SapSettings(relative_tolerance=1e-12, max_iterations=1000)
PUSHED = """
<mujoco><option timestep="0.002"/><worldbody>
  <geom name="floor" type="plane" size="5 5 .1" friction=".2"/>
  <body name="block" pos="0 0 .0999"><joint name="x" type="slide" axis="1 0 0" damping="{damping}"
      frictionloss="{loss}"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
    <inertial pos="0 0 0" mass="{mass}" diaginertia=".013 .013 .013"/>
    <geom name="block" type="box" size=".1 .1 .1" friction="{friction}"/>
    <site name="block"/></body></worldbody>
  <actuator><motor name="push" joint="x" gear="{gear}"/></actuator>
  <sensor><jointpos joint="x"/><jointvel joint="x"/><accelerometer site="block"/></sensor></mujoco>
"""
VALUES = {"mass": 2.0, "friction": 0.35, "damping": 3.0, "loss": 0.0, "gear": 1.0}
PARAMETERS = [
    ("body", "block", "mass"), ("geom", "block", "friction", 0), ("joint", "x", "damping"),
    ("joint", "x", "frictionloss"), ("actuator", "push", "gear", 0),
]  # fmt: skip
FORCES = 9.0 * np.sin(np.arange(300) / 30.0)[:, None]


def made(**values):
    model = mujoco.MjModel.from_xml_string(PUSHED.format(**{**VALUES, **values}))
    return Stepper(model, settings=EXACT), mujoco.MjData(model)


def run(forces, **values):
    stepper, data = made(**values)
    found = []
    for force in forces:
        data.ctrl[:] = force
        stepper.step(data)
        found.append(np.array(data.sensordata))
    return np.array(found)


@pytest.mark.filterwarnings("ignore:.*ended in stalled:RuntimeWarning")
def test_a_pushed_block():
    """Friction, damping, mass, dry friction and gain of a block that slides to and fro."""
    stepper, data = made()
    found = sensitivities(stepper, data, FORCES, parameters=PARAMETERS)
    np.testing.assert_allclose(found.y, run(FORCES), atol=1e-9)
    assert found.J.shape == (300, 5, 5)
    assert found.X.shape == (300, 6, 5)
    np.testing.assert_allclose(found.X[:-1, 0], found.J[1:, 0], atol=1e-9)
    assert found.near_kink.sum() <= 1  # where the block begins to slide
    for k, (name, value) in enumerate(VALUES.items()):
        h = 1e-5 * (value or 1.0)
        low = run(FORCES) if value == 0.0 else run(FORCES, **{name: value - h})
        expected = (run(FORCES, **{name: value + h}) - low) / (h if value == 0.0 else 2.0 * h)
        for sensor in (0, 1, 2):
            off = np.abs(found.J[:, sensor, k] - expected[:, sensor]).max()
            assert off <= 2e-6 * np.abs(expected[:, sensor]).max()
    # the state of the data stays
    assert data.time == 0.0
    assert not data.qvel.any()


@pytest.mark.parametrize(("y", "jumps"), [(1e-3, False), (0.0, True)])
def test_a_contact_that_jumps_along_a_tangent_is_near_a_kink(y, jumps):
    """The engine's iteration finds the point of an ellipsoid on the other side of y = 0.

    A force along y moves the point across, and the hinge seems to turn by thousands of rad/s.
    """
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><option timestep="0.002"/><default><geom friction="0"/></default><worldbody>
    <geom type="box" size=".3 .4 .2" pos="0 0 -.2"/>
    <body><joint name="y" type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
    <joint axis="1 0 0"/><geom type="ellipsoid" size=".02 .06 .05" density="500"/></body>
    </worldbody><actuator>
    <general name="push" joint="y" biastype="affine" biasprm="0 0 0"/></actuator></mujoco>""")
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qpos[:2] = y, 0.0499
    by = [("actuator", "push", "biasprm", 0)]
    found = sensitivities(stepper, data, n_steps=4, parameters=by)
    assert (np.abs(found.X[:, 5]).max() > 100.0) == jumps
    assert found.near_kink.any() == jumps


def test_a_ball_that_falls_has_closed_forms():
    """v = -(1 - exp(-c t/m)) m g/c; by implicit damping v' = (m v - dt m g)/(m + dt c)."""
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><option timestep="0.01"/><worldbody><body name="ball">
      <joint name="z" type="slide" axis="0 0 1" damping="0.5"/><geom size=".1" mass="2"/></body>
    </worldbody></mujoco>""")
    by = [("joint", "z", "damping"), ("body", "ball", "mass")]
    found = sensitivities(Stepper(model), mujoco.MjData(model), n_steps=50, parameters=by)
    v, dv_c, dv_m, m, c, dt, g = 0.0, 0.0, 0.0, 2.0, 0.5, 0.01, 9.81
    for k in range(50):
        new = (m * v - dt * m * g) / (m + dt * c)
        dv_c = (m * dv_c - dt * new) / (m + dt * c)
        dv_m = (m * dv_m + v - dt * g - new) / (m + dt * c)
        v = new
        assert found.v[k, 0] == pytest.approx(v, rel=1e-12)
        assert found.X[k, 1, 0] == pytest.approx(dv_c, rel=1e-6)
        assert found.X[k, 1, 1] == pytest.approx(dv_m, rel=2e-5, abs=1e-8)
    assert found.y.shape == (50, 0)
    assert found.J.shape == (50, 0, 2)


def quadruped():
    """A robot of four legs with two joints each, held by servos."""
    legs = "".join(
        f"""<body name="thigh{i}" pos="{x} {y} 0"><joint name="hip{i}"/>
        <geom type="capsule" fromto="0 0 0 -.1 0 -.17" size=".02" mass=".5"/>
        <body name="shank{i}" pos="-.1 0 -.17"><joint name="knee{i}"/>
        <geom type="capsule" fromto="0 0 0 .1 0 -.17" size=".015" mass=".2"/></body></body>"""
        for i, (x, y) in enumerate([(0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)])
    )
    servos = "".join(
        f'<position joint="{joint}{i}" kp="60" kv="1"/>'
        for i in range(4)
        for joint in ("hip", "knee")
    )
    return mujoco.MjModel.from_xml_string(f"""
    <mujoco><option timestep="0.002"/><default><joint axis="0 1 0" armature=".005" damping=".1"/>
    </default><worldbody><geom type="plane" size="5 5 .1"/><body name="trunk" pos="0 0 .36">
    <freejoint/><geom type="box" size=".2 .1 .05" mass="5"/>{legs}</body></worldbody>
    <actuator>{servos}</actuator></mujoco>""")


@pytest.mark.filterwarnings("ignore:.*ended in stalled:RuntimeWarning")
def test_inertias_of_a_robot_at_rest():
    """Masses, armatures and dampings act little at rest, where round-off of differences counts.

    Central differences of runs over changes of 1 and 2 %, extrapolated to none, have an error of
    1e-7.
    """
    model = quadruped()
    data, stepper = mujoco.MjData(model), Stepper(model, settings=EXACT)
    stepper.run(data, 1500)
    by = [
        ("joint", "hip0", "armature"), ("joint", "knee3", "armature"), ("body", "trunk", "mass"),
        ("body", "shank1", "mass"), ("body", "thigh2", "inertia", 1), ("joint", "hip1", "damping"),
    ]  # fmt: skip

    def velocities(kind, name, field, index, change):
        other = copy.copy(model)
        array = getattr(other, f"dof_{field}" if kind == "joint" else f"{kind}_{field}")
        row = other.joint(name).dofadr[0] if kind == "joint" else other.body(name).id
        array[(row, *index)] *= 1.0 + change
        mujoco.mj_setConst(other, mujoco.MjData(other))
        own, found = copy.copy(data), []
        step = Stepper(other, settings=EXACT).step
        for _ in range(20):
            step(own)
            found.append(np.array(own.qvel))
        return np.array(found), array[(row, *index)] / (1.0 + change)

    def difference(change, one):
        (high, value), (low, _) = (velocities(*one, h) for h in (change, -change))
        return (high - low) / (2.0 * change * value)

    found = sensitivities(stepper, data, n_steps=20, parameters=by).X[:, model.nv : 2 * model.nv]
    for k, (kind, name, field, *index) in enumerate(by):
        small, large = (difference(h, (kind, name, field, index)) for h in (0.01, 0.02))
        expected = (4.0 * small - large) / 3.0
        assert np.abs(found[:, :, k] - expected).max() <= 2e-6 * np.abs(expected).max()


def test_stiffness_of_a_material():
    """A ball on a spring at rest sinks by m g/k, with half of k of each geom."""
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><option timestep="0.01"/><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
    <body pos="0 0 .1"><joint type="slide" axis="0 0 1"/><geom name="ball" size=".1" mass="2"/>
    </body></worldbody></mujoco>""")
    k = 1e4
    stepper = Stepper(model, contact=ContactMaterial(stiffness=k, dissipation_time=0.05))
    data = mujoco.MjData(model)
    by = [("geom", "ball", "stiffness"), ("geom", "floor", "stiffness")]
    found = sensitivities(stepper, data, n_steps=400, parameters=by)
    # depth = m g (1/k_a + 1/k_b)
    assert found.q[-1, 0] == pytest.approx(-2.0 * 9.81 * 2.0 / k, rel=1e-3)
    np.testing.assert_allclose(found.X[-1, 0], 2.0 * 9.81 / k**2, rtol=1e-3)


def test_price():
    """Seven parameters cost less than as many runs: no difference takes a solve."""
    stepper, data = made(loss=0.1)
    by = [*PARAMETERS, ("joint", "x", "armature")]
    least = {}
    for _ in range(5):
        for name, numbers in (("run", []), ("gradient", by)):
            begin = time.thread_time()
            sensitivities(stepper, data, FORCES, parameters=numbers, sensors=False)
            spent = time.thread_time() - begin
            least[name] = min(spent, least.get(name, np.inf))
    assert least["gradient"] <= len(by) * least["run"]


def test_wrong_arguments():
    stepper, data = made()
    with pytest.raises(TypeError, match="sensitivities needs controls or n_steps"):
        sensitivities(stepper, data, parameters=PARAMETERS)
    with pytest.raises(ValueError, match=r"controls has shape \(3, 2\), expected"):
        sensitivities(stepper, data, np.zeros((3, 2)), parameters=PARAMETERS)
    with pytest.raises(TypeError, match="stepper must be a Stepper, not MjModel"):
        sensitivities(stepper.model, data, n_steps=1, parameters=PARAMETERS)
    other = mujoco.MjData(mujoco.MjModel.from_xml_string("<mujoco/>"))
    with pytest.raises(ValueError, match="data belongs to another model"):
        sensitivities(stepper, other, n_steps=1, parameters=PARAMETERS)
    data.qvel[0] = np.nan
    with pytest.raises(RuntimeError, match="qvel") as raised:
        sensitivities(stepper, data, n_steps=3, parameters=PARAMETERS)
    assert raised.value.step == 0
