"""Derivatives of steps with soft bodies by state and controls: differences of whole steps."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from sapwood import fem
from sapwood.geometry import PressureField
from sapwood.mujoco import SoftStepLinearization
from soft_differences import (
    check_matrices,
    finish_passes,
    first_smooth,
    random_change,
    step_difference,
)
from soft_models import gripper, stepper_of

# tight solves stall at round-off
pytestmark = pytest.mark.filterwarnings("ignore:.*ended in stalled:RuntimeWarning")


@pytest.fixture
def exact(monkeypatch):
    """Steps of several passes are taken to the end."""
    finish_passes(monkeypatch)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("kind", ["sphere", "box"])
@pytest.mark.parametrize("material", ["linear_corotated", "corotated"])
def test_pads_on_fingers_grip_a_free_thing(material, kind, rng):
    def make(rng):
        model, data, bodies = gripper(rng, material, kind)
        return stepper_of(model, bodies), data

    check_matrices(*first_smooth(make, rng, {"thing"}), rng, 1e-5)


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
    check_matrices(stepper, data, found, rng, 1e-5 if on_floor else 1e-6)


SLOPE = """
<mujoco><option timestep='.005'/><worldbody>
<geom name='floor' type='plane' size='1 1 1' euler='8 5 0'/></worldbody></mujoco>"""


def test_faces_that_lie_a_micrometre_deep_have_derivatives(rng):
    """A frictionless cube at rest on an incline: its polygons curve over their depth of 10 um."""
    foam = fem.Material(young=1e5, poisson=0.3, density=1000.0, stiffness_damping=0.01)
    pose = np.eye(4)
    pose[:3, 3] = 0.001, 0.002, 0.062
    body = fem.SoftBody(fem.box([0.1] * 3, 2), foam, pose=pose, friction=0.0, name="cube")
    model = mujoco.MjModel.from_xml_string(SLOPE)
    stepper, data = stepper_of(model, [body]), mujoco.MjData(model)
    stepper.run(data, 150)
    found = SoftStepLinearization(stepper, data)
    assert found.contacts == 8
    change = 1e-4 * random_change(rng, stepper)
    push = found.jvp(change[: found.size])
    errors = []
    for h in (1e-3, 1e-4, 1e-5):
        expected = step_difference(stepper, data, change, h)
        errors.append(np.max(np.abs(push - expected)) / np.max(np.abs(expected)))
    assert min(errors) < 1e-6, errors


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
    check_matrices(*first_smooth(make, rng, {"press"} if fixed else {"press", "floor"}), rng)


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
    check_matrices(stepper, data, found, rng, 1e-5)


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


def test_weights_of_friction_follow_soft_bodies(rng):
    """With the default sigma and stiff surfaces a part of the weights w by the model is missing."""

    def make(rng):
        model, data, bodies = gripper(rng)
        for body in bodies:
            body.contact_stiffness, body.friction = 1e8, 3.0
        model.geom_friction[:, 0] = 3.0
        return stepper_of(model, bodies, sigma=None), data

    stepper, data, found = first_smooth(make, rng, {"thing"})
    A, B, _ = found.matrices()
    change = random_change(rng, stepper)
    of_soft, n_model = np.zeros_like(change), 2 * stepper.model.nv + stepper.model.na
    of_soft[n_model : found.size] = change[n_model : found.size]
    for along, tolerance in ((change, 1e-3), (of_soft, 1e-6)):
        errors = []
        for h in (1e-4, 1e-5, 1e-6):
            expected = step_difference(stepper, data, along, h)
            error = np.max(np.abs(np.concatenate([A, B], axis=1) @ along - expected))
            errors.append(error / np.max(np.abs(expected)))
        assert min(errors) < tolerance
