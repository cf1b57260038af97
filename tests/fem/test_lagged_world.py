"""Lagged friction of soft bodies: bounds by the forces of the step before, and Coulomb's motion."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapSettings, fem
from sapwood.fem.contacts import contacts_with_plane
from sapwood.fem.friction_memory import FrictionMemory
from sapwood.fem.meetings import Meeting
from sapwood.geometry import PressureField
from soft_friction import loads, parts_at_bound

G, MU, DT = 9.81, 0.5, 0.005
LAGGED = SapSettings(friction="lagged", relative_tolerance=1e-10)


def cube(centre=(0.0, 0.0, 0.05), tilt=0.0, side=0.1, **options):
    """A cube over a floor that is inclined by an angle."""
    c, s = np.cos(tilt), np.sin(tilt)
    pose = np.eye(4)
    pose[:3, :3] = [[c, 0, s], [0, 1, 0], [-s, 0, c]]
    pose[:3, 3] = pose[:3, :3] @ centre
    rubber = fem.Material(young=1e5, poisson=0.3, density=1000.0, stiffness_damping=0.01)
    return fem.SoftBody(
        fem.box([side] * 3, 2), rubber, pose=pose, friction=MU, dissipation_time=0.01, **options
    )


def incline(tilt, contact="faces", friction="lagged"):
    """A world with a cube on an incline, and the direction downhill."""
    downhill = np.array([np.cos(tilt), 0, -np.sin(tilt)])
    normal = np.array([np.sin(tilt), 0, np.cos(tilt)])
    world = fem.World(
        [cube(tilt=tilt, contact=contact)],
        planes=[fem.HalfSpace(normal=normal, friction=MU)],
        time_step=DT,
        settings=SapSettings(friction=friction, relative_tolerance=1e-10),
    )
    return world, downhill


def speed(body, direction):
    return float(body.vertex_mass @ (body.velocities @ direction) / body.vertex_mass.sum())


@pytest.mark.parametrize("contact", ["faces", "vertices"])
def test_a_cube_sticks_on_an_incline(contact):
    """The slope is 0.3 and friction 0.5: friction carries the weight, and the cube creeps."""
    tilt = np.arctan(0.3)
    world, downhill = incline(tilt, contact)
    result = world.step(200)
    weight = world.bodies[0].vertex_mass.sum() * G
    assert -result.touches[0].force @ downhill == pytest.approx(weight * np.sin(tilt), rel=1e-4)
    assert abs(speed(world.bodies[0], downhill)) < 1e-4


@pytest.mark.parametrize("contact", ["faces", "vertices"])
def test_a_cube_slides_down_an_incline_as_by_coulombs_law(contact):
    """At g (sin a - mu cos a), once it does not shake."""
    tilt = np.arctan(0.8)
    ends = []
    for friction in ("lagged", "coulomb"):
        world, downhill = incline(tilt, contact, friction)
        world.step(100)
        before = speed(world.bodies[0], downhill)
        world.step(100)
        ends.append(speed(world.bodies[0], downhill))
        acceleration = (ends[-1] - before) / (100 * DT)
        assert acceleration == pytest.approx(G * (np.sin(tilt) - MU * np.cos(tilt)), rel=1e-4)
    # the lag costs what the forces of the landing change within a step
    assert ends[0] == pytest.approx(ends[1], abs=0.02)


def sliding_worlds(rng):
    """Cubes that slide along a wall, on a rigid box with a pressure field, and on a held cube."""
    floor = fem.HalfSpace(friction=MU, name="floor")
    wall = fem.HalfSpace(normal=[0, 1, 0], offset=-0.04995, friction=MU, name="wall")
    for contact in ("faces", "vertices"):
        yield cube(contact=contact), {"planes": [floor, wall]}
    pose = np.eye(4)
    pose[:3, 3] = *(0.003 * rng.standard_normal(2)), -0.099
    shape = PressureField(modulus=1e6).box([1.0, 0.5, 0.2])
    yield cube(), {"rigid": [fem.RigidBody(shape, pose=pose, friction=MU)]}
    base = cube((0.004, 0.003, -0.147), side=0.3)
    base.fix(np.arange(len(base.positions)))
    yield cube((0, 0, 0.05)), {"base": base}


@pytest.mark.parametrize("scene", range(4))
def test_friction_is_bounded_by_the_normal_forces_of_the_step_before(rng, scene):
    """A sliding cube is pressed more and less: each face lags a step behind."""
    body, options = list(sliding_worlds(rng))[scene]
    base = options.pop("base", None)
    bodies = [body] if base is None else [body, base]
    world = fem.World(bodies, time_step=DT, settings=LAGGED, **options)
    world.step(20)
    body.velocities = body.velocities + [0.5, -0.1, 0]
    before, parts = loads(world.step()), 0
    for _ in range(6):
        world.gravity = np.array([0, 0, -G * rng.uniform(0.5, 2)])
        now = loads(world.step())
        parts += parts_at_bound(before, now, MU)
        # the test can fail: Coulomb's law has other forces
        assert max(abs(t - MU * n) for n, t in now.values()) > 1e-3 * G
        before = now
    assert parts >= 6 * 3


def test_the_memory_holds_for_the_state_that_a_step_left():
    """A world whose state was set steps as a new one; with its own state it goes on."""

    def sliding():
        world, _ = incline(np.arctan(0.8))
        world.step(8)
        return world

    def next_velocities(world):
        world.gravity = 2 * world.gravity
        world.step()
        return world.bodies[0].velocities

    expected = next_velocities(sliding())
    same = sliding()
    same.state = same.state
    other = sliding()
    other.bodies[0].velocities[0, 0] += 1e-12
    new, _ = incline(np.arctan(0.8))
    new.state = sliding().state
    forgetful = next_velocities(new)
    np.testing.assert_allclose(next_velocities(same), expected, atol=1e-7)
    np.testing.assert_allclose(next_velocities(other), forgetful, atol=1e-7)
    assert np.abs(forgetful - expected).max() > 1e-3


def test_a_new_contact_has_an_unknown_bound_unless_it_has_no_friction():
    contacts = contacts_with_plane(cube(), np.array([0, 0, 1.0]), 0.001)
    meetings = [Meeting(0, "floor", contacts, mu, 0.0, surface=i) for i, mu in enumerate((0.0, MU))]
    bounds = np.split(FrictionMemory().recall([], meetings, DT), 2)
    assert len(bounds[0]) > 0
    assert (bounds[0] == 0).all()
    assert np.isnan(bounds[1]).all()


def test_contacts_without_friction_have_none():
    body = cube()
    body.friction = 0.0
    world = fem.World([body], planes=[fem.HalfSpace()], time_step=DT, settings=LAGGED)
    body.velocities = body.velocities + [1.0, 0, 0]
    result = world.step(20)
    assert np.abs(result.touches[0].force[:2]).max() == 0.0
    assert speed(body, [1.0, 0, 0]) == pytest.approx(1.0, rel=1e-12)
