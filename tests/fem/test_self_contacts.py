"""Soft bodies that touch themselves."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapSettings, _core, fem
from sapwood.fem.body_contacts import contacts_between, contacts_within
from sapwood.reference import far_pairs

G, EDGE = 9.81, 0.01
TIGHT = SapSettings(friction="coulomb", relative_tolerance=1e-12)


def material(model="linear_corotated", young=2e4):
    return fem.Material(
        young=young, poisson=0.3, density=1000.0, model=model, stiffness_damping=0.01
    )


def clip(cells=(12, 6, 11), edge=EDGE):
    """Two arms of three cells on a back of three cells, with a slot of five cells in between."""
    box = fem.box(edge * np.array(cells), cells)
    centres = box.vertices[box.tetrahedra].mean(axis=1) - box.vertices.min(axis=0)
    in_slot = (centres[:, 0] > 3 * edge) & (np.abs(centres[:, 2] / edge - 5.5) < 2.5)
    mesh = fem.Mesh(box.vertices, box.tetrahedra[~in_slot], prune=True)
    return fem.Mesh(mesh.vertices - mesh.vertices.min(axis=0), mesh.tetrahedra)


def turned(rng):
    q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = q * np.linalg.det(q), rng.standard_normal(3)
    return pose


def closed(mesh, depth):
    """Positions of a clip whose arms overlap by about this depth."""
    x = mesh.vertices.copy()
    share = np.clip(x[:, 0] / EDGE - 3, 0, 6) / 6
    x[:, 2] -= (5 * EDGE + depth) * share * (x[:, 2] > 5.5 * EDGE)
    return x


def press(body, load):
    """Fix the foot of a clip, and load the end of its upper arm downwards."""
    X = body.mesh.vertices
    body.fix(X[:, 2] == 0)
    end = (X[:, 2] > X[:, 2].max() - 1e-9) & (X[:, 0] > X[:, 0].max() - 3 * EDGE)
    body.force(end, [0, 0, -load / end.sum()])
    return end


def test_the_core_agrees_with_the_mirror(rng):
    numbers = []
    for mesh in (clip((8, 3, 11)), fem.ball(0.1, 5), fem.box([0.1, 0.2, 0.3], [1, 1, 1])):
        order, centres, reach = mesh.balls
        np.testing.assert_array_equal(np.sort(order), np.arange(len(mesh.tetrahedra)))
        for axes in ([], [0], [0, 2], [0, 1, 2]):
            x = mesh.vertices + 1e-3 * rng.standard_normal(mesh.vertices.shape)
            x[:, axes] = np.abs(x[:, axes] - x[:, axes].mean(axis=0))  # folded
            found = _core.fem_far_pairs(mesh._mesh, order, centres, reach, x)
            expected = far_pairs(mesh.tetrahedra, centres, reach, x)
            numbers.append(len(expected))
            np.testing.assert_array_equal(found[np.lexsort(found.T[::-1])], expected)
    assert max(numbers) > 5_000
    assert min(numbers) == 0


def test_pairs_that_may_touch_are_apart_at_rest(rng):
    """By more than twice the mean of their edges, as points on both show."""
    mesh = clip()
    X = mesh.vertices[mesh.tetrahedra]
    ends = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
    edges = np.linalg.norm(X[:, ends[:, 0]] - X[:, ends[:, 1]], axis=2).mean(axis=1)
    pairs = _core.fem_far_pairs(mesh._mesh, *mesh.balls, closed(mesh, 0.5 * EDGE))
    assert len(pairs) > 500
    shares = rng.dirichlet(np.full(4, 0.3), (2, 50))
    for i, j in pairs[rng.permutation(len(pairs))[:500]]:
        apart = (shares[0] @ X[i])[:, None] - shares[1] @ X[j]
        assert np.linalg.norm(apart, axis=2).min() > edges[i] + edges[j]


def test_a_body_at_rest_touches_itself_nowhere(rng):
    mesh = clip()
    for _ in range(10):
        body = fem.SoftBody(mesh, material(), pose=turned(rng), self_contact=True)
        assert len(contacts_within(body).k) == 0
        stretched = np.eye(3) + 0.2 * rng.standard_normal((3, 3))
        body.positions = body.positions @ stretched
        assert len(contacts_within(body).k) == 0


def test_contacts_lie_where_both_depths_are_equal(rng):
    mesh = clip()
    body = fem.SoftBody(mesh, material(), self_contact=True, contact_stiffness=3e7)
    pose = turned(rng)
    body.positions = closed(mesh, 0.4 * EDGE) @ pose[:3, :3].T + pose[:3, 3]
    found = contacts_within(body)
    assert len(found.k) > 50
    assert found.vertices.shape == found.other_vertices.shape == (len(found.k), 4)
    sides = [(found.vertices, found.weights), (found.other_vertices, found.other_weights)]
    for vertices, weights in sides:
        # both sides move one point: neither momentum nor angular momentum is made
        points = np.einsum("cm,cmi->ci", weights, body.positions[vertices])
        np.testing.assert_allclose(points, found.points, rtol=0, atol=1e-14)
        depths = np.sum(weights * mesh.depths[vertices], axis=1)
        np.testing.assert_allclose(depths, -found.phi0, rtol=0, atol=1e-12)
    # half the overlap, and the area of the ends of the arms
    assert found.phi0.min() == pytest.approx(-0.2 * EDGE, rel=0.1)
    assert found.k.sum() == pytest.approx(3e7 * 6 * EDGE * 3 * EDGE, rel=0.5)


@pytest.mark.parametrize("model", ["linear_corotated", "corotated"])
def test_one_body_of_two_parts_is_two_bodies(model, rng):
    """A mesh whose parts are far apart at rest steps as the two meshes do."""
    soft, options = material(model), {"friction": 0.4, "dissipation_time": 0.01}
    one, other = fem.box([0.1] * 3, 3), fem.box([0.1] * 3, 4)
    n = len(one.vertices)
    both = fem.Mesh(
        np.concatenate([one.vertices, other.vertices + [1.0, 0, 0]]),
        np.concatenate([one.tetrahedra, other.tetrahedra + n]),
    )
    pose = np.eye(4)
    c, s = np.cos(0.3), np.sin(0.3)
    pose[:2, :2], pose[:3, 3] = [[c, -s], [s, c]], [0.01, 0.02, 0.096]
    bodies = [
        fem.SoftBody(one, soft, **options),
        fem.SoftBody(other, soft, pose=pose, **options),
    ]
    bodies[0].velocities += 0.02 * rng.standard_normal((n, 3))
    bodies[1].velocities += [0.3, 0.1, -0.5]
    whole = fem.SoftBody(both, soft, self_contact=True, **options)
    whole.positions = np.concatenate([each.positions for each in bodies])
    whole.velocities = np.concatenate([each.velocities for each in bodies])
    found, expected = contacts_within(whole), contacts_between(*bodies)
    assert found.k.sum() == pytest.approx(expected.k.sum(), rel=1e-9)
    parts = fem.World(bodies, settings=TIGHT, gravity=[0, 0, 0])
    world = fem.World([whole], settings=TIGHT, gravity=[0, 0, 0])
    for _ in range(5):
        forces = [each.step().touches[0].force for each in (world, parts)]
        np.testing.assert_allclose(*forces, rtol=1e-6, atol=1e-9)
        together = np.concatenate([each.velocities for each in bodies])
        np.testing.assert_allclose(whole.velocities, together, rtol=0, atol=1e-9)
    assert world.bodies[0].velocities[n:, 2].mean() > -0.4  # it was slowed down


def test_a_clip_pressed_shut_rests_on_itself():
    """Its arms do not pass through each other, and friction is within its cone."""
    body = fem.SoftBody(clip(), material(), dissipation_time=0.01, self_contact=True)
    passing = fem.SoftBody(body.mesh, material(), dissipation_time=0.01)
    end = press(body, 0.8)
    press(passing, 0.8)
    world = fem.World([body], time_step=0.01)
    for _ in range(200):
        result = world.step()
        assert result.turned_over == 0
        for touch in result.touches:
            # less deep than the motion of a step, and friction in its cone
            assert touch.contacts.phi0.min() > -0.4 * EDGE
            normal = np.sum(touch.forces * touch.contacts.normals, axis=1)
            along = touch.forces - normal[:, None] * touch.contacts.normals
            assert np.all(np.linalg.norm(along, axis=1) <= 0.5 * normal * (1 + 1e-9) + 1e-12)
        solution = result.solution
        speed = np.sqrt(np.sum(body.vertex_mass[:, None] * body.velocities**2))
        assert solution.velocity_error_bound <= 1e-3 * max(speed, G * world.time_step)
    (touch,) = result.touches
    assert (touch.body, touch.other) == ("soft", "soft")
    assert len(touch.contacts.k) > 100
    assert touch.contacts.phi0.min() > -0.1 * EDGE
    # less than the creep that the regularization of friction allows
    assert np.max(np.abs(body.velocities)) < world.sigma * 0.5 * G * world.time_step
    assert abs(touch.force[2]) > 0.8  # the lower arm carries the load and a part of the weight
    assert body.positions[end, 2].mean() > 4 * EDGE
    fem.World([passing], time_step=0.01).step(100)
    assert passing.positions[end, 2].mean() < 0


@pytest.mark.parametrize("model", ["linear_corotated", "corotated"])
def test_a_free_body_that_closes_keeps_its_momentum(model):
    mesh = clip((12, 3, 11))
    body = fem.SoftBody(mesh, material(model), self_contact=True, dissipation_time=0.01)
    share = np.maximum(mesh.vertices[:, 0] / EDGE - 3, 0) / 9
    upper = mesh.vertices[:, 2] > 5.5 * EDGE
    body.velocities[:, 2] = np.where(upper, -3.0, 3.0) * share
    body.velocities += [0.2, -0.1, 0.3]
    world = fem.World([body], gravity=[0, 0, 0], time_step=0.001, settings=TIGHT)
    start, touched = body.momentum, 0
    scale = np.sum(body.vertex_mass[:, None] * np.abs(body.velocities))
    for _ in range(60):
        touched += bool(world.step().touches)
        np.testing.assert_allclose(body.momentum, start, rtol=0, atol=1e-12 * scale)
    assert touched > 5


def test_a_body_that_does_not_close_has_the_same_bits():
    bodies = []
    for self_contact in (False, True):
        body = fem.SoftBody(clip((8, 3, 11)), material(), self_contact=self_contact)
        press(body, 0.1)
        fem.World([body], gravity=[0, 0, 0], time_step=0.01).step(20)
        assert np.max(np.abs(body.positions - body.mesh.vertices)) > 0.1 * EDGE
        bodies.append(body)
    np.testing.assert_array_equal(bodies[0].positions, bodies[1].positions)


def test_a_clip_rests_on_itself_in_a_stepper():
    """In a model it comes to the same place as in a world, within the creep of friction."""
    mujoco = pytest.importorskip("mujoco")
    from sapwood.mujoco import Stepper

    model = mujoco.MjModel.from_xml_string("<mujoco><option timestep='0.01'/></mujoco>")
    hollow = fem.SoftBody(fem.box([0.1] * 3, 1), material(), self_contact=True)
    with pytest.raises(ValueError, match=r"soft\[0\]: its mesh has no vertex inside .* itself"):
        Stepper(model, soft=[hollow])
    bodies = []
    for _ in range(2):
        body = fem.SoftBody(clip((10, 4, 11)), material(), dissipation_time=0.01, self_contact=True)
        press(body, 0.7)
        bodies.append(body)
    stepper, data = Stepper(model, soft=[bodies[0]]), mujoco.MjData(model)
    stepper.run(data, 100)
    result = fem.World([bodies[1]], time_step=0.01).step(100)
    forces = [each.touches[0].force for each in (stepper.soft_result, result)]
    np.testing.assert_allclose(*forces, rtol=0, atol=1e-2 * abs(forces[0][2]))
    np.testing.assert_allclose(stepper.soft[0].positions, bodies[1].positions, atol=0.02 * EDGE)


def test_bad_input():
    mesh = fem.box([0.1] * 3, 1)
    with pytest.raises(TypeError, match="self_contact"):
        fem.SoftBody(mesh, material(), self_contact="yes")
    with pytest.raises(ValueError, match="self_contact: a body with contact = 'none'"):
        fem.SoftBody(mesh, material(), self_contact=True, contact="none")
    body = fem.SoftBody(mesh, material(), self_contact=True)
    with pytest.raises(ValueError, match=r"bodies\[0\]: its mesh has no vertex inside .* itself"):
        fem.World([body])
    box = fem.box([0.1] * 3, 2)
    order, centres, reach = box.balls
    with pytest.raises(ValueError, match=r"order\[0\] = 48: must be >= 0 and < 48"):
        _core.fem_far_pairs(
            box._mesh, order - order[0] + np.int32(48), centres, reach, box.vertices
        )
    with pytest.raises(ValueError, match="reach"):
        _core.fem_far_pairs(box._mesh, order, centres, reach[1:], box.vertices)
