"""Motions with known answers: conservation, friction, compliance; the clutter has its own tests."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from sapwood.mujoco import ContactMaterial, Stepper
from sapwood.studies import scenes

G = 9.81


def started(spec, **keywords):
    """Stepper and data of a scene, at its first keyframe where it has one."""
    model = spec.compile()
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    return Stepper(model, **keywords), data


def run(stepper, data, seconds):
    for _ in range(round(seconds / stepper.time_step)):
        stepper.step(data)


# ---- conservation -------------------------------------------------------------------------------


def momenta(model, data):
    """Linear and angular momentum of the whole model about the origin of the world."""
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_comVel(model, data)
    linear, angular = np.zeros(3), np.zeros(3)
    velocity = np.empty(6)
    for body in range(1, model.nbody):
        # velocity of the centre of mass in the directions of the world, rotation first
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, body, velocity, 0)
        R = data.ximat[body].reshape(3, 3)
        p = model.body_mass[body] * velocity[3:]
        linear += p
        spin = R @ (model.body_inertia[body] * (R.T @ velocity[:3]))
        angular += np.cross(data.xipos[body], p) + spin
    return linear, angular


@pytest.mark.parametrize("friction", [0.0, 0.8])
@pytest.mark.parametrize("seed", range(4))
def test_momentum_is_conserved_through_collisions(friction, seed):
    """Linear and angular momentum of spheres and cubes in free flight, to round-off."""
    stepper, data = started(
        scenes.free_flight(10, seed), contact=ContactMaterial(friction=friction)
    )
    linear, angular = momenta(stepper.model, data)
    mass = stepper.model.body_mass.sum()
    largest, contacts = 0.0, 0
    for _ in range(200):
        stepper.step(data)
        contacts += stepper.n_contacts
        largest = max(largest, mass * np.abs(data.qvel).max() * max(1, np.abs(data.qpos).max()))
        now = momenta(stepper.model, data)
        np.testing.assert_allclose(now[0], linear, rtol=0, atol=2e-14 * largest)
        np.testing.assert_allclose(now[1], angular, rtol=0, atol=2e-14 * largest)
    assert contacts > 20


def momentum_drift(time_step):
    """Largest change of the momenta in 0.2 s of free flight of a chain alone, without contact."""
    stepper, data = started(scenes.free_flight(0, seed=2, chain=True, time_step=time_step))
    linear, angular = momenta(stepper.model, data)
    drift = np.zeros(2)
    for _ in range(round(0.2 / time_step)):
        stepper.step(data)
        assert stepper.n_contacts == 0
        now = momenta(stepper.model, data)
        drift = np.maximum(drift, [np.abs(now[0] - linear).max(), np.abs(now[1] - angular).max()])
    return drift


def test_momentum_of_a_chain_is_conserved_to_first_order():
    np.testing.assert_allclose(momentum_drift(4e-3) / momentum_drift(1e-3), 4.0, rtol=0.1)


@pytest.mark.parametrize("friction", [0.0, 0.8])
@pytest.mark.parametrize("seed", range(4))
def test_contact_impulses_carry_no_momentum(friction, seed):
    """J^T gamma has no component along a rigid motion of the whole world, with a chain too.

    A rigid motion moves the root of every tree: three translations and three rotations about the
    origin.
    """
    stepper, data = started(
        scenes.free_flight(8, seed, chain=True), contact=ContactMaterial(friction=friction)
    )
    model = stepper.model
    roots = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    contacts = 0
    for _ in range(200):
        stepper.step1(data)
        motions = np.zeros((6, model.nv))
        for j in roots:
            address, body = model.jnt_dofadr[j], model.jnt_bodyid[j]
            R = data.xmat[body].reshape(3, 3)
            for k, axis in enumerate(np.eye(3)):
                motions[k, address : address + 3] = axis
                motions[3 + k, address : address + 3] = np.cross(axis, data.xpos[body])
                # rotations of a free joint are in the frame of the body
                motions[3 + k, address + 3 : address + 6] = R.T @ axis
        stepper.step2(data)
        force = data.qfrc_constraint
        scale = np.abs(force).max(initial=1.0)
        np.testing.assert_allclose(motions @ force, 0, rtol=0, atol=1e-13 * scale)
        contacts += stepper.n_contacts
    assert contacts > 20


# ---- friction -----------------------------------------------------------------------------------


@pytest.mark.parametrize("delassus", ["block", "diagonal"])
@pytest.mark.parametrize("ratio", [1.05, 1.5, 4.0])
@pytest.mark.parametrize("degrees", [5, 20, 40])
def test_box_sticks_on_a_slope(degrees, ratio, delassus):
    """For mu > tan the box creeps at no more than the slip of the regularization, Eq. (23).

    The upper corners carry little of a box on a steep slope; they may be on their cone.
    """
    angle = math.radians(degrees)
    mu = ratio * math.tan(angle)
    stepper, data = started(scenes.box_on_slope(angle, mu), delassus=delassus)
    run(stepper, data, 1.0)
    start = data.qpos[:3].copy()
    run(stepper, data, 2.0)
    bound = 1e-3 * mu * G * stepper.time_step
    assert np.linalg.norm(data.qpos[:3] - start) <= 2.0 * bound
    assert 0 < stepper.slip_speed.max() <= bound
    # all forces together carry the weight
    np.testing.assert_allclose(data.qfrc_constraint[:3], [0, 0, G], atol=1e-3)


@pytest.mark.parametrize("friction", ["convex", "coulomb"])
@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("degrees", [10, 40])
def test_box_slides_down_a_slope(degrees, ratio, friction):
    """For mu < tan it accelerates at g (sin - mu cos).

    Gliding of the convex law: its height grows at mu dt times the acceleration while it speeds up
    (section VII).
    """
    angle = math.radians(degrees)
    mu, dt = ratio * math.tan(angle), 1e-3
    stepper, data = started(
        scenes.box_on_slope(angle, mu, time_step=dt, margin=0.02),
        contact=ContactMaterial(dissipation_time=0.0),
        settings=sapwood.SapSettings(relative_tolerance=1e-9),
        friction=friction,
    )
    run(stepper, data, 0.5)
    before = data.qvel[:3].copy()
    run(stepper, data, 1.0)
    change = data.qvel[:3] - before
    expected = G * (math.sin(angle) - mu * math.cos(angle))
    assert stepper.n_contacts == 4
    assert change @ [math.cos(angle), 0.0, -math.sin(angle)] == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(change @ [math.sin(angle), 0.0, math.cos(angle)], 0, atol=1e-5)
    climb = data.qvel[:3] @ [math.sin(angle), 0.0, math.cos(angle)]
    gliding = mu * dt * expected if friction == "convex" else 0.0
    assert climb == pytest.approx(gliding, rel=1e-2, abs=1e-9)
    assert abs(change[1]) < 1e-9


@pytest.mark.parametrize("mu", [0.2, 0.7])
@pytest.mark.parametrize("dt", [2e-3, 5e-4])
def test_sliding_box_stops_where_friction_has_used_up_its_energy(mu, dt):
    speed = 2.0
    stepper, data = started(
        scenes.sliding_box(speed, mu, time_step=dt, margin=0.01),
        contact=ContactMaterial(dissipation_time=0.0),
    )
    run(stepper, data, speed / (mu * G) + 0.2)
    distance = speed**2 / (2 * mu * G)
    # symplectic Euler is half a step's way short at constant deceleration
    assert data.qpos[0] == pytest.approx(distance, abs=1.5 * speed * dt)
    assert abs(data.qpos[1]) < 1e-9
    assert np.abs(data.qvel).max() < 1e-3


def test_frictionless_box_keeps_its_speed():
    stepper, data = started(scenes.sliding_box(1.0, 0.0))
    run(stepper, data, 1.0)
    assert data.qvel[0] == pytest.approx(1.0, abs=1e-12)
    assert data.qpos[0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("sigma", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("dt", [0.01, 0.002])
def test_slip_in_stiction_is_below_its_bound(sigma, dt):
    """v_s = mu sigma g dt, Eq. (23), for a box held on a slope by friction near its limit."""
    angle = math.radians(30)
    mu = 1.02 * math.tan(angle)
    stepper, data = started(
        scenes.box_on_slope(angle, mu, time_step=dt),
        sigma=sigma,
        settings=sapwood.SapSettings(relative_tolerance=1e-9),
    )
    run(stepper, data, 0.5)
    slip = stepper.slip_speed.max()
    assert 0.1 * mu * sigma * G * dt < slip < mu * sigma * G * dt


# ---- compliance ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("mass", "stiffness"), [(1.0, 1e4), (0.3, 5e3), (2.0, 1e5)])
def test_sphere_in_compliant_contact_swings(mass, stiffness):
    """Period 2 pi sqrt(m/k) about the depth m g/k, without loss."""
    rest = mass * G / stiffness
    period = 2 * math.pi * math.sqrt(mass / stiffness)
    stepper, data = started(
        scenes.sphere_on_floor(
            -0.5 * rest, mass=mass, stiffness=stiffness, time_step=period / 2000
        ),
        beta=0.0,
    )
    steps = 2000 * 6
    heights = np.empty(steps)
    for i in range(steps):
        heights[i] = data.qpos[2] - scenes.RADIUS
        stepper.step(data)
    # crossings of the depth of rest, upwards and downwards, in fractions of steps
    offset = heights + rest
    i = np.flatnonzero(np.sign(offset[:-1]) != np.sign(offset[1:]))
    crossings = i + offset[i] / (offset[i] - offset[i + 1])
    periods = (crossings[2:] - crossings[:-2]) * stepper.time_step
    np.testing.assert_allclose(periods, period, rtol=5e-3)
    # the theta = 1 treatment of contact damps by pi/1000 per turn at this step, and no more
    amplitude = np.abs(offset).reshape(6, 2000).max(axis=1)
    assert amplitude[0] == pytest.approx(0.5 * rest, rel=1e-6)
    np.testing.assert_allclose(
        np.log(amplitude[1:] / amplitude[:-1]), -2 * math.pi**2 / 2000, rtol=0.02
    )


def test_bounce_gives_the_speed_back_in_half_a_period():
    mass, stiffness, speed = 1.0, 1e5, 1.0
    contact_time = math.pi * math.sqrt(mass / stiffness)
    dt = contact_time / 2000
    spec = scenes.sphere_on_floor(1e-4, mass=mass, stiffness=stiffness, time_step=dt)
    spec.option.gravity = [0, 0, 0]
    stepper, data = started(spec, beta=0.0)
    data.qvel[2] = -speed
    touching, depth = 0, 0.0
    while data.qvel[2] < 0 or stepper.n_contacts > 0:
        stepper.step(data)
        touching += stepper.n_contacts
        depth = max(depth, stepper.penetration.max(initial=0.0))
    assert touching * dt == pytest.approx(contact_time, rel=5e-3)
    assert depth == pytest.approx(speed * math.sqrt(mass / stiffness), rel=5e-3)
    assert data.qvel[2] == pytest.approx(speed, rel=5e-3)


@pytest.mark.parametrize("tau_d", [0.0, 0.01, 0.1])
def test_sphere_comes_to_rest_at_the_depth_of_its_spring(tau_d):
    """m g/k whatever the dissipation."""
    stepper, data = started(
        scenes.sphere_on_floor(0.01, stiffness=2e3, dissipation_time=tau_d, time_step=0.002)
    )
    run(stepper, data, 30.0 if tau_d == 0.0 else 3.0)
    assert stepper.penetration == pytest.approx([G / 2e3], rel=1e-3)


@pytest.mark.parametrize("beta", [0.5, 1.0])
@pytest.mark.parametrize("dt", [0.01, 0.001])
def test_resting_depth_of_a_rigid_sphere(beta, dt):
    """Near-rigid: g dt (dt + tau_d) beta^2/(4 pi^2) (w m), half of it for tau_d = 0.

    W of a sphere at rest on a plane is diag(7/2, 7/2, 1)/m, so w m = sqrt(1 + 2 (7/2)^2)/3.
    """
    for tau_d in (0.0, dt):
        stepper, data = started(
            scenes.sphere_on_floor(1e-4, stiffness=math.inf, dissipation_time=tau_d, time_step=dt),
            beta=beta,
        )
        run(stepper, data, 1.0)
        w = math.sqrt(1 + 2 * 3.5**2) / 3
        expected = G * dt * (dt + tau_d) * beta**2 / (4 * math.pi**2) * w
        assert stepper.penetration == pytest.approx([expected], rel=2e-3)


def test_resting_depth_of_a_point_mass():
    """g dt^2 beta^2/(4 pi^2): a body that cannot turn has w = 1/(sqrt(3) m)."""
    xml = """<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="1 1 1"/>
      <body pos="0 0 .05"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="slide" axis="0 0 1"/><geom size=".05" mass="3"/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    stepper = Stepper(model, contact=ContactMaterial(dissipation_time=0.0))
    data = mujoco.MjData(model)
    run(stepper, data, 1.0)
    point_mass = G * 0.01**2 / (4 * math.pi**2)
    assert stepper.penetration == pytest.approx([point_mass / math.sqrt(3)], rel=1e-6)
    assert stepper.penetration.max() <= point_mass


# ---- robots -------------------------------------------------------------------------------------


def mechanical_energy(model, data):
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_crb(model, data)
    mujoco.mj_energyPos(model, data)
    mujoco.mj_energyVel(model, data)
    return data.energy.sum()


def test_humanoids_fall_and_lie_still():
    stepper, data = started(scenes.humanoids(2))
    energy = mechanical_energy(stepper.model, data)
    feet = 0
    for _ in range(1200):
        stepper.step(data)
        feet = max(feet, stepper.n_contacts)
        now = mechanical_energy(stepper.model, data)
        # gravity and damping alone, and contact takes energy out: but for the error of the step
        assert now <= energy + 0.02 * abs(energy)
        energy = max(now, 1.0)
    assert feet >= 10
    assert np.abs(data.qvel).max() < 0.5
    assert stepper.penetration.max() < 2e-3
    assert stepper.stalled_steps == stepper.iteration_limit_steps == 0


@pytest.mark.parametrize(
    "joint", ["<joint type='hinge' axis='1 0 0'/>", "<joint type='hinge' axis='1 1 1'/>"]
)
def test_a_box_that_its_joint_keeps_on_the_floor_rests(joint):
    """Contacts push against each other, and their sum is round-off: nothing to warn about."""
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody>
        <geom type="plane" size="1 1 .1"/>
        <body pos="0 0 .09">{joint}<geom type="box" size=".1 .1 .1"/></body>
    </worldbody></mujoco>""")
    stepper, data = Stepper(model), mujoco.MjData(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = stepper.run(data, 10)
    assert run.converged
    assert np.max(np.abs(data.qvel)) < 1e-12
