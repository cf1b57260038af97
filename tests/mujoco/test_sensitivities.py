"""Runs with their derivatives by numbers of the model, beside differences of whole runs."""

from __future__ import annotations

import copy
import time

import numpy as np
import pytest

from sapwood import ContactMaterial, SapSettings

mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import Stepper, sensitivities
from sapwood.mujoco.gradients import model_numbers

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

    A force along y moves the point across, and the hinge seems to turn by 10 rad/s and more.
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
    assert (np.abs(found.X[:, 5]).max() > 1.0) == jumps
    assert found.near_kink.any() == jumps


def arm(mass=1.0):
    """An arm that a stiff servo turns by a tendon, whose moment follows the angle."""
    model = mujoco.MjModel.from_xml_string(f"""
    <mujoco><option timestep="0.002"/><worldbody><site name="wall" pos=".3 0 .1"/>
    <body name="arm"><joint axis="0 1 0" damping=".1"/>
    <inertial pos=".1 0 0" mass="{mass}" diaginertia="1e-3 4e-3 4e-3"/>
    <site name="tip" pos=".2 0 0"/></body></worldbody>
    <tendon><spatial name="cord"><site site="wall"/><site site="tip"/></spatial></tendon>
    <actuator><position tendon="cord" kp="50000" kv="100"/></actuator></mujoco>""")
    data = mujoco.MjData(model)
    data.ctrl[:] = 0.12
    return Stepper(model, settings=EXACT), data


def test_a_servo_whose_moment_on_one_joint_changes():
    """Its row has one entry, as those of joints have, which do not change."""

    def end(mass):
        stepper, data = arm(mass)
        stepper.run(data, 20)
        return np.append(data.qpos, data.qvel)

    found = sensitivities(*arm(), n_steps=20, parameters=[("body", "arm", "mass")], sensors=False)
    expected = (end(1.0 + 1e-4) - end(1.0 - 1e-4)) / 2e-4
    np.testing.assert_allclose(found.X[-1, :, 0], expected, rtol=1e-5)


@pytest.mark.parametrize("sensor", ["", "<jointpos joint='z'/>"])
def test_a_ball_that_falls_has_closed_forms(sensor):
    """v = -(1 - exp(-c t/m)) m g/c; by implicit damping v' = (m v - dt m g)/(m + dt c).

    With a sensor the numbers have differences, whose curvature cancels.
    """
    model = mujoco.MjModel.from_xml_string(f"""
    <mujoco><option timestep="0.01"/><worldbody><body name="ball">
      <joint name="z" type="slide" axis="0 0 1" damping="0.5"/><geom size=".1" mass="2"/></body>
    </worldbody><sensor>{sensor}</sensor></mujoco>""")
    by = [("joint", "z", "damping"), ("body", "ball", "mass")]
    found = sensitivities(Stepper(model), mujoco.MjData(model), n_steps=50, parameters=by)
    v, dv_c, dv_m, m, c, dt, g = 0.0, 0.0, 0.0, 2.0, 0.5, 0.01, 9.81
    for k in range(50):
        new = (m * v - dt * m * g) / (m + dt * c)
        dv_c = (m * dv_c - dt * new) / (m + dt * c)
        dv_m = (m * dv_m + v - dt * g - new) / (m + dt * c)
        v = new
        assert found.v[k, 0] == pytest.approx(v, rel=1e-12)
        assert found.X[k, 1, 0] == pytest.approx(dv_c, rel=1e-7)
        assert found.X[k, 1, 1] == pytest.approx(dv_m, rel=1e-7, abs=1e-9)
    assert found.y.shape == (50, bool(sensor))
    assert found.J.shape == (50, bool(sensor), 2)


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


ARM = """
<mujoco><option timestep="0.002" gravity="1 2 -9"/><default><geom condim="3"/></default><worldbody>
  <geom name="floor" type="plane" size="5 5 .1" friction=".4"/>
  <body name="upper" pos="0 0 .486915" euler="10 20 30"><joint name="a" axis="1 2 3" damping=".3"/>
    <joint name="b" axis="3 -1 1" armature=".02" damping=".1" frictionloss=".2"/>
    <inertial pos=".1 .05 -.02" euler="20 30 40" mass="2" diaginertia=".02 .03 .04"/>
    <geom type="capsule" fromto="0 0 0 .1 0 -.2" size=".02"/>
    <body name="lower" pos=".1 0 -.2"><joint name="c" axis="0 1 .3" stiffness="2" damping=".2"/>
      <inertial pos="0 .03 -.1" euler="50 10 0" mass="1" diaginertia=".006 .01 .008"/>
      <geom name="foot" size=".05" pos="0 0 -.25" friction=".3"/></body></body>
  <body name="brick" pos="1 0 .04999"><joint type="slide" axis="1 0 0"/>
    <joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/><joint axis="1 2 2"/>
    <inertial pos=".01 .02 0" euler="0 20 5" mass=".7" diaginertia=".002 .003 .004"/>
    <geom name="brick" size=".05" friction=".2" priority="1"/></body>
  <body pos="-1 0 .04999"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
    <geom name="ball" size=".05" friction=".9"/></body></worldbody>
  <contact><pair geom1="floor" geom2="ball" friction=".3 .3 0 0 0"/></contact>
  <actuator><general name="servo" joint="c" gainprm="30" biasprm="2 -30 -1" biastype="affine"/>
    <position name="held" joint="a" kp="50" kv="2" forcerange="-3 3"/></actuator></mujoco>
"""
ARM_NUMBERS = [
    ("body", "upper", "mass"), ("body", "lower", "mass"), ("body", "brick", "mass"),
    *(("body", name, "inertia", k) for name in ("upper", "brick") for k in range(3)),
    ("joint", "a", "armature"), ("joint", "b", "armature"), ("joint", "c", "damping"),
    *(("geom", name, "friction", 0) for name in ("floor", "foot", "brick", "ball")),
    ("actuator", "servo", "gainprm", 0), ("actuator", "held", "gainprm", 0),
]  # fmt: skip


@pytest.mark.parametrize("rows", ["", 'frictionloss="2"', 'range="-.1 .0005" limited="true"'])
@pytest.mark.parametrize("push", [-2.0, 0.05])
def test_numbers_in_closed_form(rng, push, rows, monkeypatch):
    """One step of moving bodies: its state has no derivative yet, so that numbers act alone.

    Closed forms are those of differences of all stages.
    """
    model = mujoco.MjModel.from_xml_string(ARM.replace('name="c"', f'name="c" {rows}'))
    data = mujoco.MjData(model)
    data.ctrl[:] = 0.2, push
    data.qvel[:] = 0.3 * rng.normal(size=model.nv)
    data.qvel[[5, 8]] = -0.05  # brick and ball meet the floor

    def derivatives():
        stepper = Stepper(model, settings=EXACT)
        found = sensitivities(stepper, data, n_steps=1, parameters=ARM_NUMBERS)
        return found.X[0, model.nv :]

    found = derivatives()
    monkeypatch.setattr(model_numbers, "_linear_number", lambda *_: (0, 0, 0))
    expected = derivatives()
    assert (found != expected).any()
    largest = np.abs(expected).max(axis=0)
    assert (np.abs(found - expected).max(axis=0) <= 5e-6 * largest + 1e-9).all()


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("", "", ""),
        ("<option ", '<option density="1.2" ', "mass inertia"),
        ("<option ", '<option viscosity="1e-5" ', "mass inertia"),
        ('name="upper" ', 'name="upper" gravcomp="1" ', "upper"),
        ("<actuator>", '<actuator><muscle joint="b" lengthrange="0 1"/>', "mass inertia armature"),
        ("<option ", '<option><flag damper="disable"/></option><option ', "damping"),
        ('gainprm="30"', 'gainprm="0"', "servo"),
        ('biasprm="2 -30 -1"', 'biasprm="2 30 -1"', "servo"),
    ],
)
def test_kinds_of_numbers_in_closed_form(old, new, lost):
    """Other forces that follow from a number leave it to differences."""
    model = mujoco.MjModel.from_xml_string(ARM.replace(old, new, 1) if old else ARM)
    kinds = model_numbers.ChangedModels(Stepper(model).parameters, ARM_NUMBERS).linear[:, 0]
    all_kinds = [1] * 3 + [2] * 6 + [3] * 2 + [4] + [5] * 4 + [6] * 2
    expected = [
        0 if set(lost.split()) & set(map(str, number)) else kind
        for number, kind in zip(ARM_NUMBERS, all_kinds, strict=True)
    ]
    assert kinds.tolist() == expected


def test_frictions_of_materials_have_differences():
    model = mujoco.MjModel.from_xml_string(ARM)
    stepper = Stepper(model, materials={"foot": ContactMaterial(friction=0.5)})
    kinds = model_numbers.ChangedModels(stepper.parameters, ARM_NUMBERS).linear[:, 0]
    assert kinds.tolist()[12:16] == [0] * 4


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
