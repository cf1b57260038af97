"""Soft bodies that touch each other."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import ContactProblem, SapSettings, fem, solve
from sapwood.fem.body_contacts import contacts_between

G = 9.81
FOAM = fem.Material(young=1e5, poisson=0.3, density=1000.0, stiffness_damping=0.01)


def cube(centre, cells=3, angle=0.0, **options):
    pose = np.eye(4)
    c, s = np.cos(angle), np.sin(angle)
    pose[:2, :2], pose[:3, 3] = [[c, -s], [s, c]], centre
    options = {"friction": 0.5, "dissipation_time": 0.01, **options}
    return fem.SoftBody(fem.box([0.1] * 3, cells), FOAM, pose=pose, **options)


def test_depths_of_a_box():
    mesh = fem.box([0.1, 0.2, 0.3], [4, 6, 8])
    inside = np.min([0.05, 0.1, 0.15] - np.abs(mesh.vertices), axis=1)
    np.testing.assert_allclose(mesh.depths, inside, rtol=0, atol=1e-15)


def test_contacts_lie_where_both_depths_are_equal():
    low, top = cube([0, 0, 0]), cube([0.01, 0.02, 0.093], cells=4, angle=0.3)
    top.contact_stiffness = 3e8
    found = contacts_between(low, top)
    assert len(found.k) > 10
    assert np.all(found.phi0 < 0)
    for body, vertices, weights in (
        (low, found.vertices, found.weights),
        (top, found.other_vertices, found.other_weights),
    ):
        np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)
        assert weights.min() > -1e-9
        points = np.einsum("cm,cmi->ci", weights, body.positions[vertices])
        np.testing.assert_allclose(points, found.points, rtol=0, atol=1e-14)
        depths = np.sum(weights * body.mesh.depths[vertices], axis=1)
        np.testing.assert_allclose(depths, -found.phi0, rtol=0, atol=1e-12)
    assert found.normals[:, 2].mean() < -0.8  # into the lower body
    # pushed along the normal of a face the overlap grows twice as fast as the depth
    assert np.median(-found.phi0) == pytest.approx(0.0035, rel=0.3)
    swapped = contacts_between(top, low)
    assert swapped.k.sum() == pytest.approx(found.k.sum(), rel=1e-9)
    # C = 2 C_a C_b/(C_a + C_b) of 1e8 and 3e8
    assert found.k.sum() < 1.5e8 * 0.01 * 1.1
    assert len(contacts_between(low, cube([0, 0, 0.2])).k) == 0


def test_any_two_bodies_make_contacts_that_are_finite(rng):
    """At random poses, aligned ones, and with tetrahedra that are turned over."""
    meshes, touching = [fem.box([0.1] * 3, 2), fem.box([0.1] * 3, 3), fem.ball(0.06, 4)], 0
    for _ in range(150):
        bodies = []
        for place in (np.zeros(3), rng.uniform(-0.12, 0.12, 3)):
            pose = np.eye(4)
            if rng.random() < 0.5:
                q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
                pose[:3, :3] = q * np.linalg.det(q)
            pose[:3, 3] = np.round(place, 2) if rng.random() < 0.3 else place
            body = fem.SoftBody(meshes[rng.integers(3)], FOAM, pose=pose)
            noise = rng.choice([0, 1e-4, 3e-3, 3e-2])
            body.positions += noise * rng.standard_normal(body.positions.shape)
            bodies.append(body)
        found = contacts_between(*bodies)
        touching += len(found.k) > 0
        assert np.all((found.k > 0) & (found.phi0 < 0))
        for array in (found.k, found.phi0, found.points, found.normals):
            assert np.all(np.isfinite(array))
        for weights in (found.weights, found.other_weights):
            # centroids are inside of both tetrahedra, but for round-off of thin ones
            assert weights is None or np.all(np.abs(weights - 0.5) < 0.51)
    assert touching > 50


def test_a_stack_carries_its_weight():
    low, top = cube([0, 0, 0.05]), cube([0.01, 0, 0.151], cells=4, angle=0.3)
    low.name, top.name = "low", "top"
    world = fem.World([low, top], planes=[fem.HalfSpace(dissipation_time=0.01)], time_step=0.01)
    result = world.step(200)
    force = {(touch.body, touch.other): touch.force for touch in result.touches}
    np.testing.assert_allclose(force["low", "plane"], [0, 0, 2 * G], atol=1e-2)
    np.testing.assert_allclose(force["low", "top"], [0, 0, -G], atol=1e-2)
    assert np.max(np.abs(top.velocities)) < 1e-3


def test_a_collision_conserves_momentum():
    balls = []
    for side in (-1.0, 1.0):
        pose = np.eye(4)
        pose[:3, 3] = [0.052 * side, 0.01 * side, 0]
        velocity = [-side, 0.1, 0]
        balls.append(fem.SoftBody(fem.ball(0.05, 6), FOAM, pose=pose, velocity=velocity))
    settings = SapSettings(friction="coulomb", relative_tolerance=1e-12)
    world = fem.World(balls, gravity=[0, 0, 0], time_step=0.002, settings=settings)
    start = balls[0].momentum + balls[1].momentum
    touched = 0
    for _ in range(60):
        touched += bool(world.step().touches)
        total = balls[0].momentum + balls[1].momentum
        np.testing.assert_allclose(total, start, rtol=0, atol=1e-12)
    assert touched > 5
    assert balls[0].momentum[0] < 0 < balls[1].momentum[0]  # they bounce off


@pytest.mark.parametrize("fixed", [False, True])
def test_elimination_is_exact(fixed, rng):
    """A step equals the problem of both whole bodies."""
    bodies = [cube([0, 0, 0]), cube([0.01, 0.02, 0.095], cells=2, angle=0.3)]
    for body in bodies:
        n = len(body.positions)
        body.velocities = np.array([0.2, 0.1, 0]) + 0.02 * rng.standard_normal((n, 3))
    bodies[1].velocities[:, 2] -= 0.5
    if fixed:
        bodies[0].fix(bodies[0].mesh.vertices[:, 2] > 0.0499, [0.1, 0, 0])
    settings = SapSettings(friction="coulomb", relative_tolerance=1e-12)
    world = fem.World(bodies, settings=settings, beta=1.0)
    dt, contacts = world.time_step, contacts_between(*bodies)
    blocks, free, columns = [], [], []
    begin = 0
    for body in bodies:
        n, mesh = len(body.positions), body.mesh
        w = np.where(body.fixed[:, None] > 0, body.fixed_velocities, body.velocities)
        R0 = fem.rotations(mesh, body.positions)
        found = fem.evaluate(mesh, FOAM, body.positions + dt * w, R0)
        K = fem.scatter_blocks(mesh.pairs, found.K, found.K_pairs)
        M = np.kron(np.diag(body.vertex_mass), np.eye(3))
        A = M + (dt * dt + dt * 0.01) * K
        weight = body.vertex_mass[:, None] * np.array([0, 0, -G])
        residual = M @ (w - body.velocities).ravel() - dt * (found.force + weight).ravel()
        residual += dt * 0.01 * K @ w.ravel()
        moves = np.flatnonzero(np.repeat(body.fixed == 0, 3))
        change = np.zeros(3 * n)
        change[moves] = np.linalg.solve(A[np.ix_(moves, moves)], residual[moves])
        free.append(w.ravel() - change)
        blocks.append(A)
        columns.append(begin + moves)
        begin += 3 * n
    J = np.zeros((3 * len(contacts.k), begin))
    sides = (
        (1, 0, contacts.vertices, contacts.weights),
        (-1, 3 * len(bodies[0].positions), contacts.other_vertices, contacts.other_weights),
    )
    for sign, at, vertices, weights in sides:
        for c, normal in enumerate(contacts.normals):
            first = np.cross(normal, [0.6, 0.8, 0])
            first /= np.linalg.norm(first)
            frame = np.stack([first, np.cross(normal, first), normal])
            for vertex, share in zip(vertices[c], weights[c], strict=True):
                J[3 * c : 3 * c + 3, at + 3 * vertex : at + 3 * vertex + 3] += sign * share * frame
    v_star, moves = np.concatenate(free), np.concatenate(columns)
    held = np.delete(np.arange(begin), moves)
    bias = (J[:, held] @ v_star[held]).reshape(-1, 3)
    A = np.zeros((begin, begin))
    n = len(blocks[0])
    A[:n, :n], A[n:, n:] = blocks
    problem = ContactProblem.from_dense(
        A[np.ix_(moves, moves)],
        v_star[moves],
        J[:, moves],
        contacts.phi0 + (dt + 0.02) * bias[:, 2],
        contacts.k,
        0.02,
        0.5,
        dt,
        trees=[len(each) for each in columns],
        v_hat_t=-bias[:, :2],
    )
    whole = solve(problem, settings=settings)
    world.step()
    v = v_star.copy()
    v[moves] = whole.v
    stepped = np.concatenate([body.velocities.ravel() for body in bodies])
    np.testing.assert_allclose(stepped, v, rtol=0, atol=1e-9)


def test_meshes_without_depth_are_refused():
    with pytest.raises(ValueError, match=r"bodies\[1\]: its mesh has no vertex inside"):
        fem.World([cube([0, 0, 0]), cube([0, 0, 1], cells=1)])
    fem.World([cube([0, 0, 0], cells=1)])
    fem.World([cube([0, 0, 0]), cube([0, 0, 1], cells=1, contact="none")])
