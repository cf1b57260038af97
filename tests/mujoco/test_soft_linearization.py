"""Derivatives of steps with soft bodies: against differences of whole steps, and rules."""

from __future__ import annotations

import copy
import dataclasses

import mujoco
import numpy as np
import pytest

from sapwood import SapSettings, fem
from sapwood.geometry import PressureField
from sapwood.mujoco import (
    NotSupported,
    SoftStepLinearization,
    StepError,
    Stepper,
    linearize,
    linearize_batch,
    sensitivities,
)
from sapwood.mujoco.stepping import soft_steps

# tight solves stall at round-off
pytestmark = pytest.mark.filterwarnings("ignore:.*ended in stalled:RuntimeWarning")

TIGHT = SapSettings(relative_tolerance=1e-13, max_iterations=200)

GRIPPER = """
<mujoco><option timestep='.005'/><worldbody>
<geom name='floor' type='plane' size='1 1 1'/>
<body name='palm' pos='0 0 .03'><joint name='lift' type='slide' axis='0 0 1'/>
<joint name='turn' type='ball'/><camera name='eye' pos='.1 0 0'/>
<geom size='.01' mass='.3' contype='0' conaffinity='0'/>
<body name='left' pos='-.045 0 0'><joint name='left' type='slide' axis='1 0 0' damping='2'/>
<geom size='.005' mass='.1' contype='0' conaffinity='0'/></body>
<body name='right' pos='.045 0 0'><joint name='right' type='slide' axis='-1 0 0' damping='2'/>
<geom size='.005' mass='.1' contype='0' conaffinity='0'/></body></body>
<body name='thing' pos='.001 .002 .0295'><freejoint/>
<geom name='thing' type='TYPE' size='.03 .025 .03' mass='.2' euler='3 4 5' friction='.5'/></body>
</worldbody><actuator><motor joint='lift' ctrlrange='-9 9' ctrllimited='true'/>
<position name='close' joint='left' kp='300'/>
<general joint='right' dyntype='filter' dynprm='.03' gainprm='30'/>
</actuator></mujoco>"""


def pad(name, x, model):
    pose = np.eye(4)
    pose[:3, 3] = x, 0.0, 0.03
    soft = fem.Material(
        young=2e5, poisson=0.3, density=1000.0, model=model, stiffness_damping=0.002
    )
    return fem.SoftBody(
        fem.box([0.02, 0.03, 0.03], 2), soft, pose=pose, friction=0.6, name=name,
        dissipation_time=0.01, contact_stiffness=1e7,
    )  # fmt: skip


def gripper(rng, material="linear_corotated", kind="sphere"):
    """Pads on two fingers of a hand press a free thing that stands on the floor."""
    model = mujoco.MjModel.from_xml_string(GRIPPER.replace("TYPE", kind))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    bodies = []
    for name, x, side in (("left", -0.0385, -1), ("right", 0.0405, 1)):
        body = pad(name, x, material)
        outer = np.flatnonzero(side * (body.positions[:, 0] - x) > 0.009)
        pose = np.eye(4)
        pose[:3, 3] = data.body(name).xpos
        body.attach(outer, name, pose)
        body.positions = body.positions + 3e-4 * rng.standard_normal(body.positions.shape)
        body.velocities = body.velocities + 0.03 * rng.standard_normal(body.positions.shape)
        bodies.append(body)
    data.qvel[:] = 0.1 * rng.standard_normal(model.nv)
    data.act[:] = 0.2
    data.ctrl[:] = 0.3, 0.05, 0.4
    mujoco.mj_integratePos(model, data.qpos, 1e-3 * rng.standard_normal(model.nv), 1.0)
    return model, data, bodies


def stepper_of(model, bodies, **options):
    options = {"sigma": 1e-6, "settings": TIGHT} | options
    return Stepper(model, soft=bodies, **options)


def after(stepper, data, change, h):
    """The state at the end of a step from a changed start."""
    model, bodies = stepper.model, stepper.soft
    before, scratch = copy.copy(stepper.soft_state), mujoco.MjData(model)
    mujoco.mj_copyData(scratch, model, data)
    nv, na = model.nv, model.na
    q, v, act, x, u, ctrl = np.split(
        h * change, np.cumsum([nv, nv, na, *[sum(b.positions.size for b in bodies)] * 2])
    )
    mujoco.mj_integratePos(model, scratch.qpos, q, 1.0)
    scratch.qvel += v
    scratch.act += act
    scratch.ctrl += ctrl
    begin = 0
    for body in bodies:
        part = slice(begin, begin + body.positions.size)
        body.positions = body.positions + x[part].reshape(-1, 3)
        body.velocities = body.velocities + u[part].reshape(-1, 3)
        begin = part.stop
    stepper.step(scratch)
    rest = [scratch.qvel, scratch.act]
    rest += [b.positions.ravel() for b in bodies] + [b.velocities.ravel() for b in bodies]
    found = scratch.qpos.copy(), np.concatenate(rest)
    stepper.soft_state = before
    return found


def difference(stepper, data, change, h):
    high, low = (after(stepper, data, change, side) for side in (h, -h))
    return state_difference(stepper.model, high, low) / (2 * h)


def state_difference(model, high, low):
    motion = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, motion, 1.0, low[0], high[0])
    return np.concatenate([motion, high[1] - low[1]])


def way(rng, stepper):
    """A random change of the state and the controls, in sizes that fit."""
    model, n = stepper.model, sum(body.positions.size for body in stepper.soft)
    sizes = [model.nv, model.nv, model.na, n, n, model.nu]
    scales = [1e-2, 1.0, 1.0, 1e-3, 0.1, 1.0]
    parts = [s * rng.standard_normal(k) for k, s in zip(sizes, scales, strict=True)]
    return np.concatenate(parts)


def check(stepper, data, found, rng, tolerance=1e-6):
    """A and B against the best of central differences of whole steps, part by part of the state."""
    A, B, _ = found.matrices()
    change = way(rng, stepper)
    push = np.concatenate([A, B], axis=1) @ change
    nv, na = stepper.model.nv, stepper.model.na
    n_soft = (found.size - 2 * nv - na) // 2
    ends = np.cumsum([nv, nv, na, n_soft])
    parts = [part for part in np.split(np.arange(found.size), ends) if part.size]
    errors = []
    for h in (1e-4, 1e-5, 1e-6, 1e-7):
        expected = difference(stepper, data, change, h)
        errors.append(
            [np.max(np.abs(push - expected)[p]) / np.max(np.abs(expected[p])) for p in parts]
        )
    assert np.min(np.max(errors, axis=1)) < tolerance
    forward = found.jvp(change[: found.size], change[found.size :])
    np.testing.assert_allclose(forward, push, rtol=0, atol=1e-9 * np.max(np.abs(push)))
    # reverse mode is the transpose
    bar = rng.standard_normal(found.size)
    before, ctrl, _ = found.vjp(bar)
    np.testing.assert_allclose(before, bar @ A, rtol=0, atol=1e-9 * np.max(np.abs(bar @ A)))
    np.testing.assert_allclose(ctrl, bar @ B, rtol=0, atol=1e-9 * np.max(np.abs(bar @ A)))


def first_smooth(make, rng, others, distance=0.0):
    """The first of some scenes with a derivative, where soft bodies touch all of these."""
    for _ in range(30):
        stepper, data = make(rng)
        found = SoftStepLinearization(stepper, data)
        met = {touch.other for touch in found.result.touches if np.any(touch.forces)}
        if found.status == "ok" and found.distance > distance and others <= met:
            return stepper, data, found
    raise AssertionError("no such scene")


@pytest.fixture
def exact(monkeypatch):
    """Steps of several passes are taken to the end."""
    monkeypatch.setattr(soft_steps, "_TOLERANCE", 1e-12)
    monkeypatch.setattr(soft_steps, "default_passes", lambda _: 40)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("kind", ["sphere", "box"])
@pytest.mark.parametrize("material", ["linear_corotated", "corotated"])
def test_pads_on_fingers_grip_a_free_thing(material, kind, rng):
    def make(rng):
        model, data, bodies = gripper(rng, material, kind)
        return stepper_of(model, bodies), data

    check(*first_smooth(make, rng, {"thing"}), rng)


@pytest.mark.parametrize("on_floor", [False, True])
def test_a_thing_with_a_pressure_field_in_the_air_and_on_the_floor(on_floor, rng):
    """Polygons of the pads on the thing, and its patch on the floor, whose faces are rigid."""

    def make(rng):
        model, data, bodies = gripper(rng, "linear_corotated", "box")
        joint = data.joint(model.body("thing").jntadr[0])
        joint.qpos[2] += -0.002 if on_floor else 0.01
        joint.qvel[2] -= 0.2 * on_floor
        return stepper_of(model, bodies, fields={"thing": PressureField(modulus=1e6)}), data

    stepper, data, found = first_smooth(make, rng, {"thing"})
    n_soft = [len(touch.contacts.k) for touch in found.result.touches]
    assert max(n_soft) > 20
    assert bool(found._linear.acts[: -sum(n_soft)].any()) == on_floor
    # the friction of a face that slips by nanometres a second curves within the differences
    check(stepper, data, found, rng, 1e-5 if on_floor else 1e-6)


PRESS = """
<mujoco><option timestep='.005'/><worldbody><geom name='floor' type='plane' size='1 1 1'/>
<body name='press' pos='0 0 .137'><joint name='x' type='slide' axis='1 0 0' stiffness='20'/>
<joint name='z' type='slide' axis='0 0 1' limited='true' range='-.02 -.0001' solreflimit='.01 1'/>
<joint name='tip' type='hinge' axis='0 1 0' frictionloss='.01'/>
<geom name='press' type='capsule' size='.04 .03' euler='90 0 0' mass='.4' friction='.7'/></body>
<body name='block' pos='.3 0 .0199'><freejoint/>
<geom type='box' size='.02 .02 .02' mass='.1' contype='2' conaffinity='2'/>
<geom type='sphere' size='.02' mass='.1'/></body>
</worldbody></mujoco>"""


def pressed(rng, material, contact, *, fixed):
    """A cube on the floor under a capsule on joints with a limit and dry friction; a ball rests."""
    model = mujoco.MjModel.from_xml_string(PRESS)
    data = mujoco.MjData(model)
    soft = fem.Material(
        young=1e5, poisson=0.3, density=1000.0, model=material, stiffness_damping=0.003
    )
    pose = np.eye(4)
    pose[:3, 3] = 0.0, 0.0, 0.0485
    turn, _ = np.linalg.qr(np.eye(3) + 0.03 * rng.standard_normal((3, 3)))
    pose[:3, :3] = turn * np.sign(np.diag(turn))
    body = fem.SoftBody(
        fem.box([0.1] * 3, 2), soft, pose=pose, friction=0.4, dissipation_time=0.02, name="cube",
        contact=contact, contact_stiffness=1e7,
    )  # fmt: skip
    if fixed:
        body.fix([3])
        body.attach([6], "world", np.eye(4))
    noise = rng.standard_normal((2, *body.positions.shape))
    body.positions = body.positions + 1e-3 * noise[0]
    body.velocities = [0.3, 0.1, -0.3] + 0.05 * noise[1]
    data.qvel[:3] = -0.2, -0.3, 1.0
    data.qvel[3:] = 0.02 * rng.standard_normal(6)
    return stepper_of(model, [body]), data


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("contact", ["faces", "vertices"])
@pytest.mark.parametrize("material", ["linear_corotated", "corotated"])
@pytest.mark.parametrize("fixed", [False, True])
def test_a_soft_body_that_is_free_or_held_by_the_world(material, contact, fixed, rng):
    def make(rng):
        return pressed(rng, material, contact, fixed=fixed)

    # a body that the world holds does not meet the floor
    check(*first_smooth(make, rng, {"press"} if fixed else {"press", "floor"}), rng)


STACK = """
<mujoco><option timestep='.005'/><worldbody><geom name='floor' type='plane' size='1 1 1'/>
<body name='ball' pos='.012 -.008 .194'><freejoint/>
<geom name='ball' size='.03' mass='.3' friction='.6'/></body></worldbody></mujoco>"""


def stack(rng, *, as_one):
    """A ball on two soft cubes, one on the other, or on one soft body of two parts."""
    soft = fem.Material(young=1e5, poisson=0.3, density=1000.0, stiffness_damping=0.003)
    meshes = [fem.box([0.1] * 3, 2), fem.box([0.08] * 3, 2)]
    places = [[0, 0, 0.0495], [0.013, -0.007, 0.127]]
    options = {"friction": 0.4, "dissipation_time": 0.02, "contact_stiffness": 1e7}
    if as_one:
        meshes = [
            fem.Mesh(
                np.concatenate([meshes[0].vertices, meshes[1].vertices + [1.0, 0, 0]]),
                np.concatenate([meshes[0].tetrahedra, meshes[1].tetrahedra + 27]),
            )
        ]
        places = [
            np.repeat(np.array(places), 27, axis=0) - np.repeat([[0, 0, 0], [1, 0, 0]], 27, 0)
        ]
    bodies = []
    for mesh, place in zip(meshes, places, strict=True):
        body = fem.SoftBody(mesh, soft, self_contact=as_one, **options)
        noise = rng.standard_normal((2, *body.positions.shape))
        body.positions = body.positions + place + 5e-4 * noise[0]
        body.velocities = [0.3, 0.1, -0.2] + 0.03 * noise[1]
        bodies.append(body)
    model = mujoco.MjModel.from_xml_string(STACK)
    data = mujoco.MjData(model)
    data.qvel[:] = [0.1, -0.2, -0.3, 1.0, 0.5, -0.5]
    return stepper_of(model, bodies), data


@pytest.mark.parametrize("as_one", [False, True])
def test_soft_bodies_that_touch_each_other_or_themselves(as_one, rng):
    stepper, data, found = first_smooth(
        lambda rng: stack(rng, as_one=as_one), rng, {"floor", "ball", "soft"}
    )
    check(stepper, data, found, rng)


def test_a_model_that_has_a_floor_alone_has_the_derivatives_of_a_world(rng):
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option timestep='.005'/><worldbody><geom name='floor' type='plane' size='1 1 1'"
        " friction='.5'/></worldbody></mujoco>"
    )
    body = fem.SoftBody(
        fem.box([0.1] * 3, 2), fem.Material(young=1e5, poisson=0.3, density=1000.0),
        dissipation_time=0.02, name="cube",
    )  # fmt: skip
    body.positions = body.positions + [0, 0, 0.049] + 1e-3 * rng.standard_normal((27, 3))
    body.velocities = [0.5, 0.2, -0.3] + 0.05 * rng.standard_normal((27, 3))
    stepper, data = stepper_of(model, [body]), mujoco.MjData(model)
    found = SoftStepLinearization(stepper, data)
    (touch,) = found.result.touches
    plane = fem.HalfSpace([0, 0, 1.0], friction=0.5, name="floor")
    plane.dissipation_time = 0.0
    world = fem.World(
        [body], planes=[plane], gravity=[0, 0, -9.81], time_step=0.005, sigma=1e-6, beta=0.1,
        settings=stepper.settings,
    )  # fmt: skip
    expected = fem.linearize(world)
    np.testing.assert_allclose(expected.result.touches[0].forces, touch.forces, rtol=1e-9)
    bar = rng.standard_normal(found.size)
    before, ctrl, _ = found.vjp(bar)
    gradient = expected.vjp([bar[:81].reshape(-1, 3)], [bar[81:].reshape(-1, 3)])
    both = np.concatenate([gradient.positions[0].ravel(), gradient.velocities[0].ravel()])
    np.testing.assert_allclose(before, both, rtol=0, atol=1e-9 * np.max(np.abs(both)))
    assert ctrl.shape == (0,)


def test_held_weights_of_friction_cost_little(rng):
    """With the default sigma and stiff surfaces derivatives leave out how the weights w change."""

    def make(rng):
        model, data, bodies = gripper(rng)
        for body in bodies:
            body.contact_stiffness = 1e8
        return stepper_of(model, bodies, sigma=None), data

    stepper, data, found = first_smooth(make, rng, {"thing"})
    A, B, _ = found.matrices()
    change = way(rng, stepper)
    expected = difference(stepper, data, change, 1e-5)
    error = np.max(np.abs(np.concatenate([A, B], axis=1) @ change - expected))
    assert error < 1e-2 * np.max(np.abs(expected))


SOFT_FIELDS = (
    "young", "poisson", "density", "mass_damping", "stiffness_damping", "friction",
    "dissipation_time", "contact_stiffness", "loads", "pressures",
)  # fmt: skip
NUMBERS = [("body", "left", field) for field in SOFT_FIELDS] + [
    ("geom", "thing", "friction", 0), ("body", "thing", "mass"),
    ("joint", "left", "damping"), ("actuator", "close", "gainprm", 0), ("joint", "lift", "damping"),
]  # fmt: skip


def with_number(stepper, given, change):
    """A stepper in the same state with another number."""
    kind, name, field = given[:3]
    model, bodies = copy.copy(stepper.model), copy.deepcopy(stepper.soft)
    if kind == "body" and field in SOFT_FIELDS:
        (body,) = (body for body in bodies if body.name == name)
        holder = body.material if hasattr(body.material, field) else body
        value = getattr(holder, field) + change
        if holder is body:
            setattr(body, field, value)
        else:
            body.material = dataclasses.replace(body.material, **{field: value})
            body.vertex_mass, body.pair_mass = fem.mass_matrix(
                body.mesh, body.material.density, body.mass
            )
    elif kind == "joint":
        model.joint(name).damping[:] += change
    elif kind == "body":
        model.body(name).mass[:] += change
        mujoco.mj_setConst(model, mujoco.MjData(model))
    elif kind == "geom":
        model.geom(name).friction[given[3]] += change
    else:
        model.actuator(name).gainprm[given[3]] += change
    return stepper_of(model, bodies)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("material", ["linear_corotated", "corotated"])
def test_numbers_of_soft_bodies_and_of_the_model_have_the_slopes_of_differences(material, rng):
    def make(rng):
        model, data, bodies = gripper(rng, material)
        bodies[0].pressure(np.arange(12), 300.0)
        bodies[0].force([0, 4], [0.1, 0.2, 0.3])
        bodies[0].material = dataclasses.replace(bodies[0].material, mass_damping=5.0)
        return stepper_of(model, bodies), data

    # differences of numbers are wide, so that their steps must be far from kinks
    stepper, data, _ = first_smooth(make, rng, {"thing"}, 1e-6)
    found = SoftStepLinearization(stepper, data, parameters=NUMBERS)
    bar = rng.standard_normal(found.size)
    _, _, gradient = found.vjp(bar)
    assert list(gradient) == list(found.parameters)
    assert list(gradient)[-1] == "joint/lift/damping"
    still = np.zeros(way(rng, stepper).size)
    P = linearize(stepper, data, parameters=NUMBERS).P
    by_label = np.split(P, np.cumsum([each.size for each in gradient.values()])[:-1], axis=1)
    for given, (label, slope), columns in zip(NUMBERS, gradient.items(), by_label, strict=True):
        np.testing.assert_allclose(
            bar @ columns, slope.ravel(), rtol=1e-9, atol=1e-9 * np.max(np.abs(slope))
        )
        value = number_of(found, label)
        forward = found.jvp(np.zeros(found.size), parameters={label: np.ones_like(value)})
        size = np.max(np.abs(columns))
        np.testing.assert_allclose(forward, columns.sum(axis=1), rtol=0, atol=1e-8 * size)
        way_of = rng.standard_normal(value.shape) * (np.max(np.abs(value)) or 1.0)
        errors = []
        for h in (1e-3, 3e-4, 1e-4, 1e-2, 0.1, 3e-5):
            sides = []
            for change in (h, 0.0 if not np.any(value) else -h):
                changed = with_number(stepper, given, change * way_of)
                sides.append(after(changed, data, still, 0.0))
            expected = state_difference(stepper.model, *sides)
            width = h * (2 if np.any(value) else 1)
            push = columns @ way_of.ravel() * width
            errors.append(np.max(np.abs(push - expected)) / np.max(np.abs(expected)))
            if errors[-1] < 1e-6:
                break
        assert min(errors) < (1e-6 if np.any(value) else 1e-5), label


SENSORS = """
<sensor><jointpos joint='left'/><jointvel joint='right'/><ballquat joint='turn'/>
<framelinvel objtype='body' objname='thing'/><framepos objtype='camera' objname='eye'/>
<subtreecom body='palm'/><subtreelinvel body='palm'/>
</sensor>"""


def test_sensors_of_positions_and_velocities_have_c_and_d(rng):
    model, data, bodies = gripper(rng)
    sensed = mujoco.MjModel.from_xml_string(
        GRIPPER.replace("TYPE", "sphere").replace("</mujoco>", SENSORS + "</mujoco>")
    )
    stepper, state = stepper_of(sensed, bodies), mujoco.MjData(sensed)
    for name in ("qpos", "qvel", "act", "ctrl"):
        getattr(state, name)[:] = getattr(data, name)
    found = linearize(stepper, state, outputs="ABCD")
    plain = Stepper(sensed, sigma=1e-6)
    expected = linearize(plain, state, outputs="ABCD", mode="difference", step=1e-6)
    n = 2 * model.nv + model.na
    assert np.any(expected.C)
    np.testing.assert_allclose(found.C[:, :n], expected.C, rtol=0, atol=1e-6)
    assert not np.any(found.C[:, n:])
    np.testing.assert_allclose(found.D, expected.D, rtol=0, atol=1e-9)
    assert found.C.shape == (sensed.nsensordata, len(found.A))
    assert linearize(stepper, state).C is None


@pytest.mark.usefixtures("exact")
def test_runs_have_the_sensitivities_of_whole_runs(rng):
    """Three steps under controls, by numbers of the model and of a soft body."""

    def make(rng):
        model, data, bodies = gripper(rng)
        return stepper_of(model, bodies), data

    stepper, data, _ = first_smooth(make, rng, {"thing"}, 1e-6)
    numbers = [("body", "thing", "mass"), ("body", "left", "young"), ("joint", "left", "damping")]
    model = mujoco.MjModel.from_xml_string(GRIPPER.replace("TYPE", "sphere").replace(
        "</mujoco>", SENSORS + "</mujoco>"
    ))  # fmt: skip
    stepper = stepper_of(model, stepper.soft)
    state = mujoco.MjData(model)
    for name in ("qpos", "qvel", "act", "ctrl"):
        getattr(state, name)[:] = getattr(data, name)
    data = state
    controls = np.array([[0.3, 0.05, 0.4], [0.2, 0.05, 0.4], [0.1, 0.04, 0.3]])
    start = stepper.soft_state
    found = sensitivities(stepper, data, controls, parameters=numbers)
    assert found.near_kink.shape == found.limited_rebound.shape == (3,)
    for body, x in zip(stepper.soft, start.positions, strict=True):
        np.testing.assert_array_equal(body.positions, x)

    def run(changed):
        moved = mujoco.MjData(changed.model)
        mujoco.mj_copyData(moved, changed.model, data)
        sensors = []
        for ctrl in controls:
            moved.ctrl[:] = ctrl
            changed.step(moved)
            sensors.append(moved.sensordata.copy())
        bodies = changed.soft
        rest = [moved.qvel, moved.act, np.ravel(sensors)]
        rest += [b.positions.ravel() for b in bodies] + [b.velocities.ravel() for b in bodies]
        return moved.qpos.copy(), np.concatenate(rest)

    nv, na, ns = model.nv, model.na, model.nsensordata
    q, rest = run(stepper_of(copy.copy(stepper.model), copy.deepcopy(stepper.soft)))
    np.testing.assert_allclose(found.q[-1], q, rtol=0, atol=1e-9)
    v, _, y = np.split(rest[: nv + na + 3 * ns], [nv, nv + na])
    np.testing.assert_allclose(found.v[-1], v, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.y.ravel(), y, rtol=0, atol=1e-8)
    for k, (given, size) in enumerate(zip(numbers, (0.2, 2e5, 2.0), strict=True)):
        errors = []
        for h in (1e-3, 1e-4, 1e-5):
            sides = [run(with_number(stepper, given, side * h * size)) for side in (1, -1)]
            expected = state_difference(stepper.model, *sides) / (2 * h * size)
            dq, dy, others = np.split(expected, [2 * nv + na, 2 * nv + na + 3 * ns])
            pairs = (
                (found.X[-1, :, k], np.concatenate([dq, others])), (found.J[:, :, k].ravel(), dy)
            )  # fmt: skip
            errors.append([np.max(np.abs(a - b)) / np.max(np.abs(b)) for a, b in pairs])
        assert np.all(np.min(errors, axis=0) < 1e-5), given


def test_wrong_sensitivities_are_named():
    stepper, data = still_cube(0.1)
    with pytest.raises(ValueError, match="its field must be one of young"):
        sensitivities(stepper, data, n_steps=1, parameters=[("body", "soft", "speed")])
    site = "<site name='tip'/></body></worldbody><sensor><clock/><accelerometer site='tip'/>"
    text = BALL.replace("</body></worldbody>", site + "<touch name='felt' site='tip'/></sensor>")
    sensed = mujoco.MjModel.from_xml_string(text)
    stepper = Stepper(sensed, soft=stepper.soft)
    numbers = [("body", "soft", "density")]
    with pytest.raises(NotSupported, match=r"no derivatives: sensor 1, felt$"):
        sensitivities(stepper, mujoco.MjData(sensed), n_steps=1, parameters=numbers)
    with pytest.raises(NotSupported, match=r"no derivatives: sensor 1, felt$"):
        linearize(stepper, mujoco.MjData(sensed), outputs="ABCD")
    found = sensitivities(
        stepper, mujoco.MjData(sensed), n_steps=2, parameters=numbers, sensors=False
    )
    assert found.J.shape == (2, 0, 1)
    stepper.soft[0].velocities[4, 1] = 1e200
    with pytest.raises(StepError) as failure:
        sensitivities(stepper, mujoco.MjData(sensed), n_steps=2, parameters=numbers, sensors=False)
    assert failure.value.step == 0


def number_of(found, label):
    (value,) = (number.value for number in found._numbers if number.label == label)
    return np.array(value)


def test_linearize_has_the_matrices_and_the_step(rng):
    def make(rng):
        model, data, bodies = gripper(rng)
        return stepper_of(model, bodies), data

    stepper, data, _ = first_smooth(make, rng, {"thing"})
    model, bodies = stepper.model, stepper.soft
    before, state = data.qpos.copy(), stepper.soft_state
    found = linearize(stepper, data)
    linear = SoftStepLinearization(stepper, data)
    A, B, _ = linear.matrices()
    np.testing.assert_array_equal(found.A, A)
    np.testing.assert_array_equal(found.B, B)
    assert (found.status, found.distance) == (linear.status, linear.distance)
    assert found.contacts == linear.contacts > 0
    assert A.shape == (linear.size,) * 2
    assert linear.size == 2 * model.nv + model.na + 12 * len(bodies[0].positions)
    # state and data stay
    np.testing.assert_array_equal(data.qpos, before)
    for body, positions in zip(stepper.soft, state.positions, strict=True):
        np.testing.assert_array_equal(body.positions, positions)
    stepper.step(data)
    np.testing.assert_allclose(found.v, data.qvel, rtol=0, atol=1e-10)
    for body, x, v in zip(stepper.soft, linear.positions, linear.velocities, strict=True):
        np.testing.assert_allclose(x, body.positions, rtol=0, atol=1e-12)
        np.testing.assert_allclose(v, body.velocities, rtol=0, atol=1e-10)
    assert linear.result.passes == stepper.soft_result.passes


@pytest.mark.parametrize("nthread", [1, 2])
def test_a_batch_has_the_matrices_of_each_state(nthread, rng):
    model, data, bodies = gripper(rng)
    stepper = stepper_of(model, bodies)
    start = stepper.soft_state
    qpos, qvel, ctrl, soft, expected = [], [], [], [], []
    for _ in range(3):
        stepper.step(data)
        ctrl.append([0.3, 0.05, 0.4])
        data.ctrl[:] = ctrl[-1]
        qpos.append(data.qpos.copy())
        qvel.append(data.qvel.copy())
        soft.append(stepper.soft_state)
        other = mujoco.MjData(model)
        other.qpos[:], other.qvel[:], other.ctrl[:] = data.qpos, data.qvel, data.ctrl
        other.act[:], other.time = 0.2, data.time
        expected.append(linearize(stepper, other))
    stepper.soft_state = start
    rest = mujoco.MjData(model)
    rest.act[:] = 0.2
    A, B, status = linearize_batch(
        stepper, qpos, qvel, ctrl, data=rest, soft_states=soft, nthread=nthread
    )
    for i, each in enumerate(expected):
        np.testing.assert_allclose(A[i], each.A, rtol=0, atol=1e-9 * np.max(np.abs(each.A)))
        np.testing.assert_allclose(B[i], each.B, rtol=0, atol=1e-9 * np.max(np.abs(each.B)))
    assert status == [each.status for each in expected]
    # without states of the soft bodies that of the stepper counts in all
    A, _, _ = linearize_batch(stepper, qpos[:1] * 2, qvel[:1] * 2, nthread=nthread)
    np.testing.assert_array_equal(A[0], A[1])
    for body, x in zip(stepper.soft, start.positions, strict=True):
        np.testing.assert_array_equal(body.positions, x)
    A, B, status = linearize_batch(stepper, np.zeros((0, model.nq)), np.zeros((0, model.nv)))
    assert (A.shape[0], B.shape[0], status) == (0, 0, [])


def test_wrong_batches_are_named():
    stepper, data = still_cube(0.1)
    states = data.qpos[None], data.qvel[None]
    with pytest.raises(NotSupported, match="mode and soften have their defaults"):
        linearize_batch(stepper, *states, soften=2.0)
    with pytest.raises(ValueError, match="soft_states has 2 states for 1 of the model"):
        linearize_batch(stepper, *states, soft_states=[stepper.soft_state] * 2)
    with pytest.raises(TypeError, match=r"soft_states\[0\] must be a SoftState, not int"):
        linearize_batch(stepper, *states, soft_states=[1])
    fewer = dataclasses.replace(stepper.soft_state, positions=(), velocities=())
    with pytest.raises(ValueError, match=r"soft_states\[0\]: must have the bodies"):
        linearize_batch(stepper, *states, soft_states=[fewer])
    with pytest.raises(ValueError, match="soft_states: the stepper has no soft bodies"):
        linearize_batch(Stepper(stepper.model), *states, soft_states=[stepper.soft_state])
    stepper.soft[0].velocities[4, 1] = np.nan
    with pytest.raises(StepError, match=r"velocities\[4\]: must be finite") as failure:
        linearize_batch(stepper, *states)
    assert failure.value.__notes__ == ["in state 0"]


BALL = """
<mujoco><option timestep='.005'/><worldbody><geom name='floor' type='plane' size='1 1 1'/>
<body pos='.3 0 .05'><freejoint/><geom size='.02' mass='.1'/></body></worldbody></mujoco>"""


def still_cube(height):
    """A cube over a plane, both at right angles, that does not move, and a ball that hangs."""
    pose = np.eye(4)
    pose[2, 3] = 0.05 + height
    soft = fem.Material(young=1e5, poisson=0.3, density=1000.0)
    body = fem.SoftBody(fem.box([0.1] * 3, 2), soft, pose=pose)
    model = mujoco.MjModel.from_xml_string(BALL)
    return Stepper(model, soft=[body]), mujoco.MjData(model)


def test_contacts_that_come_within_the_differences_are_near_a_kink():
    for height, status in ((1e-3, "ok"), (0.0, "near_kink"), (1e-12, "near_kink")):
        assert SoftStepLinearization(*still_cube(height)).status == status


def test_a_rigid_contact_near_its_boundary_is_near_a_kink():
    """The ball comes so near to the floor in the step that it just touches it, or not."""
    stepper, data = still_cube(0.1)
    data.qvel[2] = -0.1
    data.qpos[2] = 0.0205
    (target,) = stepper.problem(data).v_hat_n
    fall = (0.1 + 9.81 * 0.005) * 0.0005 / -target
    for gap, status in ((fall, "near_kink"), (fall - 1e-4, "ok"), (fall + 1e-4, "ok")):
        data.qpos[2] = 0.02 + gap
        assert SoftStepLinearization(stepper, data).status == status


def test_wrong_arguments_are_named():
    stepper, data = still_cube(0.1)
    found = SoftStepLinearization(stepper, data)
    with pytest.raises(ValueError, match=r"after has shape"):
        found.vjp(np.zeros(found.size - 1))
    with pytest.raises(ValueError, match=r"after\[2\]"):
        found.vjp(np.where(np.arange(found.size) == 2, np.nan, 0.0))
    with pytest.raises(ValueError, match=r"before has shape"):
        found.jvp(np.zeros(found.size - 1))
    with pytest.raises(ValueError, match=r"ctrl has shape"):
        found.jvp(np.zeros(found.size), np.zeros(1))
    with pytest.raises(ValueError, match=r"parameters\['body/soft/young'\]: must be one of"):
        found.jvp(np.zeros(found.size), parameters={"body/soft/young": 1.0})
    numbered = SoftStepLinearization(stepper, data, parameters=[("body", "soft", "loads")])
    with pytest.raises(ValueError, match=r"parameters\['body/soft/loads'\] has shape"):
        numbered.jvp(np.zeros(found.size), parameters={"body/soft/loads": 1.0})
    with pytest.raises(ValueError, match="step = 'fine': must be 'auto' or a number > 0"):
        SoftStepLinearization(stepper, data, step="fine")
    with pytest.raises(TypeError, match="stepper must be a Stepper, not MjModel"):
        SoftStepLinearization(stepper.model, data)
    with pytest.raises(ValueError, match="stepper has no soft bodies: use linearize"):
        SoftStepLinearization(Stepper(stepper.model), data)
    with pytest.raises(TypeError, match=r"data must be a mujoco\.MjData"):
        SoftStepLinearization(stepper, stepper.model)
    for given, text in (
        (("body", "soft", "mass"), "the model has no body of this name"),
        (("body", "soft", "speed"), "its field must be one of young"),
        (("body", "ball", "young"), "0 have this name"),
        (("geom", "floor", "young"), "the field of a geom must be one of"),
    ):
        with pytest.raises(ValueError, match=text):
            SoftStepLinearization(stepper, data, parameters=[given])
    for options in ({"mode": "difference"}, {"soften": 2.0}):
        with pytest.raises(NotSupported, match="have their defaults for a stepper with soft"):
            linearize(stepper, data, **options)
    stepper.soft[0].velocities[4, 1] = np.nan
    with pytest.raises(StepError, match=r"velocities\[4\]: must be finite"):
        SoftStepLinearization(stepper, data)
    stepper.soft[0].velocities[4, 1] = 0.0
    stepper.step(data)
    data.time = 0.0
    with pytest.raises(StepError, match="the soft bodies are at"):
        SoftStepLinearization(stepper, data)


def test_a_step_that_fails_has_no_derivative():
    stepper, data = still_cube(0.1)
    stepper.soft[0].velocities[3, 1] = 1e200
    with pytest.raises(StepError):
        SoftStepLinearization(stepper, data)
