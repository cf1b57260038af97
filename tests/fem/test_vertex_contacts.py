"""Contacts of boundary vertices."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import fem
from sapwood.fem.vertex_contacts import contacts_of_vertices, hull_planes
from sapwood.geometry import PressureField

G = 9.81
FOAM = fem.Material(young=1e5, poisson=0.3, density=1000.0, stiffness_damping=0.01)


def cube(height, contact="vertices", cells=3, **options):
    pose = np.eye(4)
    pose[2, 3] = height + 0.05
    options = {"friction": 0.5, "dissipation_time": 0.01, **options}
    return fem.SoftBody(fem.box([0.1] * 3, cells), FOAM, pose=pose, contact=contact, **options)


def test_planes_of_shapes():
    normals, offsets = hull_planes(PressureField(1.0).box([0.2, 0.4, 0.6]))
    assert len(normals) == 6
    half = np.abs(normals) @ [0.1, 0.2, 0.3]
    np.testing.assert_allclose(offsets, half, rtol=0, atol=1e-15)
    ball = PressureField(1.0, 0.01).sphere(0.05)
    normals, offsets = hull_planes(ball)
    assert np.all(ball.vertices @ normals.T <= offsets + 1e-9)
    assert np.all((offsets > 0.0485) & (offsets <= 0.05))


def test_distances_from_a_box(rng):
    """Depths inside; outside only vertices that come down on a face."""
    planes = hull_planes(PressureField(1.0).box([0.2, 0.2, 0.2]))
    body = cube(0.0)
    vertices = body.mesh.boundary_vertices
    body.positions[vertices] = rng.uniform(-0.15, 0.15, (len(vertices), 3))
    body.velocities[:] = -body.positions  # towards the centre
    found = contacts_of_vertices(body, *planes, 0.1)
    x = body.positions[vertices]
    distance = np.max(np.abs(x) - 0.1, axis=1)
    over = np.sum(np.abs(x) > 0.1, axis=1) <= 1
    closing = np.abs(x)[np.arange(len(x)), np.argmax(np.abs(x), axis=1)]
    expected = over & (distance < 0.15 * closing)
    assert expected.any()
    assert (over & (distance > 0)).any()
    np.testing.assert_array_equal(found.vertices[:, 0], vertices[expected])
    np.testing.assert_allclose(found.phi0, distance[expected], rtol=0, atol=1e-15)
    assert np.all(np.sum(found.normals * found.points, axis=1) > 0)
    # a surface that flees as fast is not met ahead
    same = contacts_of_vertices(body, *planes, 0.1, lambda points: -points)
    np.testing.assert_array_equal(same.phi0 < 0, True)


def test_a_resting_body_presses_with_its_weight():
    body = cube(0.0)
    world = fem.World([body], planes=[fem.HalfSpace(dissipation_time=0.01)])
    (touch,) = world.step(200).touches
    np.testing.assert_allclose(touch.force, [0, 0, G], atol=1e-3)
    np.testing.assert_array_equal(touch.contacts.faces, -1)
    # 16 vertices share the lower face, and a little of the sides is theirs
    load = -touch.contacts.k @ touch.contacts.phi0
    assert load == pytest.approx(G, rel=1e-3)
    assert touch.contacts.k.sum() == pytest.approx(1e8 * (0.01 + 4 * 0.1 * 0.1 / 6), rel=0.05)


def test_contacts_act_ahead_of_an_overlap():
    lowest = {}
    for contact in ("vertices", "faces"):
        body = cube(0.013, contact, velocity=[0, 0, -3.0])
        world = fem.World([body], planes=[fem.HalfSpace()], time_step=0.01)
        lowest[contact] = 0.0
        for _ in range(10):
            world.step()
            lowest[contact] = min(lowest[contact], body.positions[:, 2].min())
    assert lowest["vertices"] > -1e-3
    assert lowest["faces"] < -5e-3


def test_what_vertices_do_not_meet():
    shape = PressureField(modulus=1e7).box([0.1, 0.1, 0.1])
    with pytest.raises(ValueError, match=r"bodies\[0\]: contact = 'vertices' meets no rigid body"):
        fem.World([cube(0.0)], rigid=[fem.RigidBody(shape)])
    with pytest.raises(ValueError, match="must be faces, vertices or none"):
        cube(0.0, contact="edges")
