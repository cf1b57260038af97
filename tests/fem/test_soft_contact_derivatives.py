"""Derivatives of steps of soft bodies that touch each other, themselves or rigid bodies."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from sapwood import SapSettings, fem
from sapwood.geometry import PressureField
from soft_worlds import TIGHT, check_against_differences, first_smooth, scene


def test_two_bodies_a_fixed_vertex_a_pressure_and_vertex_contacts(rng):
    """A body with contacts of vertices, two of them fixed, and one that presses on it."""
    world = scene(rng, contact="vertices")
    low = world.bodies[0]
    low.fix([3, 20])
    low.pressure(np.arange(10), 500.0)
    upper = fem.SoftBody(fem.box([0.06] * 3, 2), low.material, friction=0.4, name="upper")
    upper.contact = "none"
    upper.velocities += 0.1 * rng.standard_normal(upper.velocities.shape)
    world = fem.World(
        [low, upper], planes=world.planes, sigma=1e-10, beta=0.0, settings=TIGHT, passes=40,
        nonlinear_tolerance=1e-12,
    )  # fmt: skip
    found, gradient, _ = check_against_differences(world, rng)
    assert not np.any(gradient.loads[0][[3, 20]])
    assert found.result.touches[0].contacts.vertices.shape[1] == 1


def stacked(rng, settings=TIGHT):
    """Two cubes, one on the other, on a floor."""
    world = scene(rng, settings=settings)
    low = world.bodies[0]
    upper = fem.SoftBody(
        fem.box([0.08] * 3, 2), low.material, friction=0.3, dissipation_time=0.02, name="upper"
    )
    upper.positions += low.positions.mean(axis=0) + [0.013, -0.007, 0.0]
    upper.positions += 5e-4 * rng.standard_normal(upper.positions.shape)
    heights = [body.positions[:, 2] for body in (low, upper)]
    upper.positions[:, 2] += heights[0].max() - 0.02 - heights[1].min()
    upper.velocities += [0.0, 0.1, -0.2]
    return fem.World([low, upper], planes=world.planes, sigma=1e-10, beta=0.0, settings=settings)


@pytest.mark.parametrize("friction", ["convex", "coulomb"])
def test_two_soft_bodies_that_touch(friction, rng):
    settings = SapSettings(friction=friction, relative_tolerance=1e-14, max_iterations=200)
    world = first_smooth(lambda rng: stacked(rng, settings), rng, 2)
    check_against_differences(world, rng)


def as_one_body(world):
    """The same with one body of two parts, which are far apart at rest."""
    low, upper = world.bodies
    n = len(low.positions)
    mesh = fem.Mesh(
        np.concatenate([low.mesh.vertices, upper.mesh.vertices + [1.0, 0, 0]]),
        np.concatenate([low.mesh.tetrahedra, upper.mesh.tetrahedra + n]),
    )
    whole = fem.SoftBody(
        mesh, low.material, friction=0.3, dissipation_time=0.02, name="cube", self_contact=True
    )
    whole.positions = np.concatenate([low.positions, upper.positions])
    whole.velocities = np.concatenate([low.velocities, upper.velocities])
    return fem.World([whole], planes=world.planes, sigma=1e-10, beta=0.0, settings=world.settings)


def test_a_body_that_touches_itself(rng):
    """Its polygons move with the corners of two tetrahedra of the same body."""

    def make(rng):
        return as_one_body(stacked(rng))

    found, _, _ = check_against_differences(first_smooth(make, rng, 2), rng)
    assert found.result.touches[1].other == "cube"


def test_a_body_of_two_parts_has_the_derivatives_of_two_bodies(rng):
    parts = first_smooth(stacked, rng, 2)
    number = [("body", "cube", "contact_stiffness")]
    whole = fem.linearize(as_one_body(parts), number)
    found = fem.linearize(parts, [*number, ("body", "upper", "contact_stiffness")])
    bar = rng.standard_normal((2, *whole.velocities[0].shape))
    gradient = whole.vjp([bar[0]], [bar[1]])
    expected = found.vjp(*([each[:27], each[27:]] for each in bar))
    for name in ("positions", "velocities", "loads"):
        slopes = np.concatenate(getattr(expected, name))
        np.testing.assert_allclose(
            getattr(gradient, name)[0], slopes, rtol=0, atol=1e-8 * np.max(np.abs(slopes))
        )
    by_whole = gradient.parameters["body/cube/contact_stiffness"]
    assert by_whole == pytest.approx(sum(expected.parameters.values()), rel=1e-6)


def test_a_rigid_body_with_a_pressure_field(rng):
    """A fixed box that presses from above: its polygons move with the faces of the cube."""

    def make(rng):
        world = scene(rng)
        turn, _ = np.linalg.qr(np.eye(3) + 0.2 * rng.standard_normal((3, 3)))
        pose = np.eye(4)
        pose[:3, :3] = turn * np.sign(np.linalg.det(turn))
        pose[:3, 3] = world.bodies[0].positions.mean(axis=0) + [0.01, -0.005, 0.108]
        box = fem.RigidBody(PressureField(modulus=1e6).box([0.08, 0.07, 0.1]), pose=pose)
        return fem.World(
            world.bodies, planes=world.planes, rigid=[box], sigma=1e-10, beta=0.0, settings=TIGHT
        )

    check_against_differences(first_smooth(make, rng, 2), rng)


@pytest.mark.parametrize("tilt", [1e-5, 3e-5])
def test_faces_that_are_nearly_parallel_to_the_gradient_of_a_field(tilt, rng):
    """The sides of a cube under a box have k near 0, so R_n and v_hat_n curve in a difference."""

    def make(rng):
        mesh = fem.box([0.1] * 3, 2)
        body = fem.SoftBody(
            mesh, scene(rng).bodies[0].material, dissipation_time=0.02, name="cube"
        )  # fmt: skip
        # the sides stay plane
        noise = 1e-3 * rng.standard_normal(mesh.vertices.shape)
        noise[:, :2] *= np.abs(mesh.vertices[:, :2]) < 0.049
        x = mesh.vertices + noise
        body.positions = x + tilt * x[:, [2]] * [1.0, 0.7, 0.0]
        body.velocities = [0.5, 0.2, 0.3] + 0.05 * rng.standard_normal(x.shape)
        c, s = np.cos(angle := rng.uniform(0.2, 0.6)), np.sin(angle)
        pose = np.array([[c, -s, 0, 0.01], [s, c, 0, -0.005], [0, 0, 1, 0.146], [0, 0, 0, 1]])
        box = fem.RigidBody(PressureField(modulus=1e6).box([0.3, 0.28, 0.2]), pose=pose)
        return fem.World([body], rigid=[box], sigma=1e-10, beta=0.0, settings=TIGHT)

    world = first_smooth(make, rng, 1)
    (touch,) = fem.linearize(world).result.touches
    sides = np.abs(touch.contacts.normals[:, 2]) < 2 * tilt
    assert np.any(touch.forces[sides])
    check_against_differences(world, rng)


@pytest.mark.parametrize("scheme", ["implicit", (1.0, 0.5, 0.5)])
def test_a_rigid_body_on_a_slide(scheme, rng):
    """A box that falls on the cube: its state and its force, and all others with it."""

    def make(rng):
        world = scene(rng)
        turn, _ = np.linalg.qr(np.eye(3) + 0.2 * rng.standard_normal((3, 3)))
        pose = np.eye(4)
        pose[:3, :3] = turn * np.sign(np.linalg.det(turn))
        pose[:3, 3] = world.bodies[0].positions.mean(axis=0) + [0.01, -0.005, 0.11]
        axis = np.array([0.1, 0.2, 1.0]) / np.linalg.norm([0.1, 0.2, 1.0])
        box = fem.RigidBody(
            PressureField(modulus=1e6).box([0.08, 0.07, 0.1]), pose=pose, mass=0.5, axis=axis,
            damping=3.0, force=-1.0,
        )  # fmt: skip
        box.position, box.velocity = -0.002, -0.3
        return fem.World(
            world.bodies, planes=world.planes, rigid=[box], sigma=1e-10, beta=0.0, settings=TIGHT,
            scheme=scheme,
        )  # fmt: skip

    world = first_smooth(make, rng, 2)
    x, v, f = rng.standard_normal((3, 1, 27, 3)) * np.reshape([1e-3, 0.1, 100.0], (3, 1, 1, 1))
    way = rng.standard_normal(3) * [1e-3, 0.3, 5.0]

    def end(h):
        """State after a step whose start is changed."""
        body, box = copy.deepcopy(world.bodies[0]), copy.copy(world.rigid[0])
        body.positions += h * x[0]
        body.velocities += h * v[0]
        body.loads += h * f[0]
        box.position += h * way[0]
        box.velocity += h * way[1]
        box.force += h * way[2]
        fem.World(
            [body], planes=world.planes, rigid=[box], sigma=1e-10, beta=0.0, settings=TIGHT,
            scheme=scheme,
        ).step()  # fmt: skip
        return body.positions, body.velocities, np.array([[box.position, box.velocity]])

    found = fem.linearize(world)
    np.testing.assert_allclose(found.slides, end(0.0)[2], rtol=0, atol=1e-9)
    assert (world.rigid[0].position, world.rigid[0].velocity) == (-0.002, -0.3)
    push: fem.SoftChange = found.jvp(x, v, f, slides=[way[:2]], slide_forces=way[2:])
    flat = [np.ravel(push.positions), np.ravel(push.velocities), *push.slides[0]]
    errors = []
    for h in (1e-4, 1e-5, 1e-6):
        slopes = [(a - b) / (2 * h) for a, b in zip(end(h), end(-h), strict=True)]
        expected = [slopes[0].ravel(), slopes[1].ravel(), *slopes[2][0]]
        errors.append(
            max(
                np.max(np.abs(a - b)) / np.max(np.abs(b))
                for a, b in zip(flat, expected, strict=True)
            )
        )
    assert min(errors) < 1e-6
    bars = rng.standard_normal((2, 1, 27, 3)), rng.standard_normal((1, 2))
    gradient = found.vjp(*bars[0], bars[1])
    forward = np.vdot(bars[0], [push.positions, push.velocities]) + np.vdot(bars[1], push.slides)
    backward = np.vdot(gradient.positions, x) + np.vdot(gradient.velocities, v)
    backward += np.vdot(gradient.loads, f) + gradient.slides[0] @ way[:2]
    backward += gradient.slide_forces[0] * way[2]
    assert forward == pytest.approx(backward, rel=1e-9)
    with pytest.raises(ValueError, match="slides has shape"):
        found.vjp(slides=np.zeros(2))
    with pytest.raises(ValueError, match=r"slide_forces\[0\]"):
        found.jvp(slide_forces=[np.nan])
