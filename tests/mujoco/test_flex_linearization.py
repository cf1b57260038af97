"""Derivatives of steps with elastic flexes, and with rigid edges: differences of whole steps."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from sapwood import ContactMaterial, SapSettings, fem
from sapwood.mujoco import DifferentiableSoftModel, SoftStepLinearization, Stepper, linearize
from sapwood.mujoco.reading import flexes
from sapwood.mujoco.stepping import soft_steps
from sapwood.trajectory import simulate

if not hasattr(mujoco.mjtIntegrator, "mjINT_DISCRETE"):
    pytest.skip("MuJoCo before 3.13", allow_module_level=True)
# tight solves stall at round-off
pytestmark = pytest.mark.filterwarnings("ignore:.*ended in stalled:RuntimeWarning")

TIGHT = SapSettings(relative_tolerance=1e-13, max_iterations=200)
CUBE = """<flexcomp name='f' type='grid' count='2 2 2' spacing='.05 .05 .05' pos='0 0 .0255' dim='3'
mass='.4' radius='.001'><elasticity young='2e4' poisson='.3' damping='.01'/>
<contact selfcollide='none' friction='.4'/></flexcomp>"""
CLOTH = """<body name='place' pos='0 0 .1' euler='2 3 0'>
<flexcomp name='f' type='grid' count='4 3 1' dim='2' spacing='.04 .04 .04' mass='.1' radius='.002'>
KIND<pin id='0 8'/>
<contact selfcollide='none' friction='.4'/></flexcomp></body>"""
BALL = """<body name='ball' pos='.011 .007 .1205'><joint name='x' type='slide' axis='1 0 0'/>
<joint name='z' type='slide' axis='0 0 1'/><geom name='ball' size='.02' mass='.05'/>
<site name='ball' size='.03'/></body>"""
SENSED = """<actuator><motor joint='x'/></actuator><sensor><accelerometer site='ball'/>
<force site='ball'/><touch site='ball'/></sensor>"""
ELASTIC = """<elasticity young='3e5' poisson='.3' damping='.005' thickness='.004'
elastic2d='both'/>"""
MODEL = """<mujoco><option timestep='.002' integrator='Euler'/><worldbody>
<geom name='floor' type='plane' size='1 1 1'/>{}</worldbody>{}</mujoco>"""
SCENES = {
    "cube": MODEL.format(CUBE, ""),
    "ball on an elastic cloth": MODEL.format(CLOTH.replace("KIND", ELASTIC) + BALL, SENSED),
    "ball on rigid edges": MODEL.format(
        CLOTH.replace("KIND", "<edge equality='true'/>") + BALL, SENSED
    ),
}


@pytest.fixture(autouse=True)
def exact(monkeypatch):
    """All flexes have sparse equations, and steps of several passes are taken to the end."""
    monkeypatch.setattr(flexes, "MOST_JOINED", 0)
    monkeypatch.setattr(soft_steps, "_TOLERANCE", 1e-12)
    monkeypatch.setattr(soft_steps, "default_passes", lambda _: 40)


def scene(name, rng):
    model = mujoco.MjModel.from_xml_string(SCENES[name])
    data = mujoco.MjData(model)
    data.qpos += 2e-4 * rng.standard_normal(model.nq)
    data.qvel[:] = 0.02 * rng.standard_normal(model.nv)
    data.qvel[2::3] -= 0.1
    data.ctrl[:] = 0.05
    return stepper_of(model), data


def stepper_of(model, soft=()):
    yields = ContactMaterial(stiffness=2e3, dissipation_time=0.01)
    return Stepper(model, sigma=1e-6, settings=TIGHT, contact=yields, soft=soft)


def smooth(name, rng):
    """The first of some scenes away from kinks, whose flex bears a load."""
    for _ in range(20):
        stepper, data = scene(name, rng)
        found = SoftStepLinearization(stepper, data)
        if found.status == "ok" and found.distance > 1e-10 and found.contacts > 0:
            return stepper, data, found
    raise AssertionError("no such scene")


def ends(stepper, data, change, h):
    model, moved = stepper.model, mujoco.MjData(stepper.model)
    mujoco.mj_copyData(moved, model, data)
    q, v, ctrl = np.split(h * change, [model.nv, 2 * model.nv])
    moved.qpos += q
    moved.qvel += v
    moved.ctrl += ctrl
    stepper.step(moved)
    return np.concatenate([moved.qpos, moved.qvel, moved.sensordata])


@pytest.mark.parametrize("name", SCENES)
def test_a_step_has_the_derivatives_of_whole_steps(name, rng):
    stepper, data, found = smooth(name, rng)
    model = stepper.model
    before = data.qpos.copy()
    A, B, _ = found.matrices()
    n = model.nv
    change = np.concatenate(
        [1e-2 * rng.standard_normal(n), rng.standard_normal(n), rng.standard_normal(model.nu)]
    )
    C, D, _ = found.sensor_matrices()
    push = np.block([[A, B], [C, D]]) @ change
    ns = model.nsensordata
    parts = [slice(n), slice(n, 2 * n), *map(slice, *2 * n + np.array([[0, 3, 6], [3, 6, 7]]))]
    errors = []
    for h in (1e-4, 1e-5, 1e-6):
        expected = (ends(stepper, data, change, h) - ends(stepper, data, change, -h)) / (2 * h)
        errors.append(
            [
                np.max(np.abs((push - expected)[p])) / np.max(np.abs(expected[p]))
                for p in parts[: 5 if ns else 2]
            ]
        )
    assert np.max(np.min(errors, axis=0)) < 1e-6
    push = push[: 2 * n]
    forward = found.jvp(change[: 2 * n], change[2 * n :])
    np.testing.assert_allclose(forward, push, rtol=0, atol=1e-9 * np.max(np.abs(push)))
    bar = rng.standard_normal(found.size)
    back, ctrl, _ = found.vjp(bar)
    np.testing.assert_allclose(back, bar @ A, rtol=0, atol=1e-9 * np.max(np.abs(bar @ A)))
    np.testing.assert_allclose(ctrl, bar @ B, rtol=0, atol=1e-9 * np.max(np.abs(bar @ A)))
    np.testing.assert_array_equal(data.qpos, before)
    np.testing.assert_array_equal(linearize(stepper, data).A, A)


def test_a_run_of_a_flex_has_gradients(rng):
    stepper, data, _ = smooth("ball on an elastic cloth", rng)
    system = DifferentiableSoftModel(stepper, data=data)
    inputs = 0.05 * rng.standard_normal((3, 1))
    run = simulate(system, *system.state, inputs)
    bar = np.zeros_like(run.q)
    bar[-1] = rng.standard_normal(run.q.shape[1])
    gradient = run.vjp(bar)
    q, v = rng.standard_normal((2, stepper.model.nv)) * [[1e-2], [1.0]]
    u = rng.standard_normal(inputs.shape)

    def loss(h):
        other = simulate(system, run.q[0] + h * q, run.v[0] + h * v, inputs + h * u)
        return np.sum(bar * other.q)

    along = gradient.q0 @ q + gradient.v0 @ v + np.sum(gradient.inputs * u)
    errors = [abs((loss(h) - loss(-h)) / (2 * h) / along - 1) for h in (1e-4, 1e-5, 1e-6)]
    assert min(errors) < 1e-5


def test_soft_bodies_beside_flexes_have_derivatives_too(rng):
    """The state has both, and a body held by the ball moves with the tree of the ball."""
    soft = fem.Material(young=1e5, poisson=0.3, density=500.0)
    pose = np.eye(4)
    pose[:3, 3] = 0.011, 0.007, 0.15
    stepper, data = scene("ball on an elastic cloth", rng)
    mujoco.mj_forward(stepper.model, data)
    held = np.eye(4)
    held[:3, 3] = data.body("ball").xpos
    body = fem.SoftBody(fem.box([0.02] * 3, 1), soft, pose=pose)
    body.attach([0, 1], "ball", held)
    stepper = stepper_of(stepper.model, [body])
    found = SoftStepLinearization(stepper, data)
    A, B, _ = found.matrices()
    model, x = stepper.model, body.positions.copy()
    change = np.concatenate([1e-2 * rng.standard_normal(model.nv), rng.standard_normal(model.nv)])
    change = np.concatenate([change, rng.standard_normal(model.nu)])
    push = np.concatenate([A[:, : 2 * model.nv], B], axis=1) @ change
    dx = np.concatenate([change[: 2 * model.nv], np.zeros(found.size - 2 * model.nv)])
    forward = found.jvp(dx, change[2 * model.nv :])
    np.testing.assert_allclose(forward, push, rtol=0, atol=1e-9 * np.max(np.abs(push)))
    start, errors = stepper.soft_state, []
    for h in (1e-4, 1e-5, 1e-6):
        sides = []
        for side in (h, -h):
            model_end = ends(stepper, data, change, side)[: 2 * model.nv]
            sides.append(np.concatenate([model_end, stepper.soft[0].positions.ravel()]))
            stepper.soft_state = start
        expected = (sides[0] - sides[1]) / (2 * h)
        error = np.abs(push[: len(expected)] - expected)
        errors.append(np.max(error) / np.max(np.abs(expected)))
    assert min(errors) < 1e-6
    np.testing.assert_array_equal(stepper.soft[0].positions, x)
