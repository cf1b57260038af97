"""States and bodies that are hardly any: steps go on, or say what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import fem


def cube(cells=2, height=0.0, model="linear_corotated", damping=0.01, **options):
    """A cube of 0.1 m whose lower face is this high."""
    soft = fem.Material(
        young=1e5, poisson=0.3, density=1000.0, model=model, stiffness_damping=damping
    )
    pose = np.eye(4)
    pose[2, 3] = height + 0.05
    return fem.SoftBody(fem.box([0.1] * 3, cells), soft, pose=pose, **options)


def test_a_state_that_is_not_finite_is_an_error():
    body = cube(height=1.0)
    world = fem.World([body])
    world.step()
    body.velocities[5, 1] = np.nan
    with pytest.raises(RuntimeError, match=r"soft\.velocities\[5\]: must be finite, at 0\.01 s"):
        world.step()
    body.velocities[5, 1] = 1e200
    before = body.positions.copy()
    with pytest.raises(RuntimeError, match="not finite"):
        world.step()
    np.testing.assert_array_equal(body.positions, before)


@pytest.mark.parametrize(
    ("owner", "name", "value", "text"),
    [
        ("body", "fixed", np.zeros(27), r"soft\.fixed: must be an array of int8 of shape \(27,\)"),
        ("body", "fixed", np.zeros(3, np.int8), r"soft\.fixed: must be an array of int8"),
        ("body", "positions", np.zeros((5, 3)), r"soft\.positions has shape \(5, 3\), expected"),
        ("body", "friction", np.nan, r"soft\.friction = nan: must be finite"),
        ("body", "friction", -1.0, r"soft\.friction = -1"),
        ("body", "dissipation_time", "long", r"soft\.dissipation_time must be a real number"),
        ("body", "contact_stiffness", np.nan, r"soft\.contact_stiffness = nan: must be finite"),
        ("body", "contact_stiffness", 0.0, r"soft\.contact_stiffness = 0\.0: must be .* > 0"),
        ("body", "material", "foam", r"soft\.material must be a Material, not str"),
        ("body", "contact", "edges", r"soft\.contact = 'edges': must be faces, vertices or none"),
        ("body", "vertex_mass", -np.ones(27), r"vertices\[\d+\]: its block of mass and stiffness"),
        ("plane", "offset", np.nan, r"plane\.offset: must be finite"),
    ],
)
def test_what_is_wrong_in_a_run_is_named_and_changes_nothing(owner, name, value, text):
    body, plane = cube(height=-0.001), fem.HalfSpace()
    world = fem.World([body], planes=[plane])
    world.step()
    setattr({"body": body, "plane": plane}[owner], name, value)
    before = body.positions.copy(), body.velocities.copy()
    with pytest.raises(RuntimeError, match=text):
        world.step()
    np.testing.assert_array_equal(body.positions, before[0])
    np.testing.assert_array_equal(body.velocities, before[1])
    assert world.time == 0.01


def test_turned_over_bodies_recover():
    """A cube with a vertex pushed through it stays finite, and unfolds."""
    body = cube(height=1.0, model="neo_hookean", damping=0.05)
    body.positions[0] += [0.08, 0.08, 0.08]
    world = fem.World([body], gravity=[0, 0, 0], time_step=0.01, passes=5)
    assert world.step().turned_over > 0
    result = world.step(100)
    assert result.turned_over == 0
    assert body.evaluate().energy < 1e-9


def test_too_few_passes_are_told_of():
    """An impact of a nonlinear body meets the tolerance after two passes or three."""
    found = []
    for most in (1, 3):
        body = cube(cells=3, height=0.001, model="corotated", velocity=[0, 0, -1.0])
        world = fem.World([body], planes=[fem.HalfSpace()], time_step=0.01, passes=most)
        results = [world.step() for _ in range(3)]
        assert len(results[1].touches[0].forces) > 0
        for result in results:
            is_met = result.residual <= world.nonlinear_tolerance
            assert result.status == ("converged" if is_met else "nonlinear_limit")
            assert result.passes <= most
        found.append(max(results, key=lambda result: result.residual))
    few, many = found
    assert few.status == "nonlinear_limit"
    assert few.passes == 1
    assert many.status == "converged"
    assert many.residual < few.residual


def test_bodies_with_all_vertices_fixed_stand_still_in_contact():
    body = cube(height=-0.01)
    body.fix(np.arange(len(body.positions)))
    start = body.positions.copy()
    world = fem.World([body], planes=[fem.HalfSpace()])
    result = world.step(3)
    assert result.status == "converged"
    np.testing.assert_array_equal(body.positions, start)
    np.testing.assert_array_equal(body.velocities, 0)


def test_boundaries_that_touch_at_an_edge_are_elastic_and_make_no_contacts():
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0.0]])
    mesh = fem.Mesh(0.1 * x, [[0, 1, 2, 3], [0, 4, 5, 3]])
    soft = fem.Material(young=1e5, poisson=0.3, density=1000.0)
    for contact in ("faces", "vertices"):
        with pytest.raises(ValueError, match=r"faces\[\d\]: its edge \(0, 3\) has 4 faces"):
            fem.SoftBody(mesh, soft, contact=contact)
    body = fem.SoftBody(mesh, soft, contact="none")
    body.positions[1] += [0.01, 0, 0]
    result = fem.World([body], gravity=[0, 0, 0]).step()
    assert result.status == "converged"
    assert body.velocities[1, 0] < 0


def test_tetrahedra_that_are_turned_over_are_counted_and_touch_nothing():
    """Once the only tetrahedron below the floor turns over, no contact is left."""
    mesh = fem.Mesh(0.1 * np.vstack([np.zeros(3), np.eye(3)]), [[0, 1, 2, 3]])
    soft = fem.Material(young=1e5, poisson=0.3, density=1000.0, model="corotated")
    touches = []
    for fourth in (0.1, -0.1):
        body = fem.SoftBody(mesh, soft)
        body.positions[3, 2] = fourth
        world = fem.World([body], planes=[fem.HalfSpace(offset=0.05)], time_step=1e-4)
        result = world.step()
        assert result.turned_over == (fourth < 0)
        assert np.isfinite(body.velocities).all()
        touches.append(sum(len(touch.forces) for touch in result.touches))
    assert touches[0] > 0
    assert touches[1] == 0
