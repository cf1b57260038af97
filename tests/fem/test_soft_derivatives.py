"""Derivatives of steps of soft bodies: against central differences of whole steps, and rules."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

from sapwood import SapSettings, fem
from sapwood.base.step_error import StepError
from sapwood.geometry import PressureField
from sapwood.trajectory import DifferentiableWorld, simulate
from soft_worlds import (
    NUMBERS,
    check_against_differences,
    scene,
    smooth_scene,
    states_after,
    step_difference,
    sticking_scene,
)

MODELS = ("linear", "linear_corotated", "corotated", "neo_hookean", "st_venant_kirchhoff")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scheme", ["implicit", (1.0, 1.0, 0.5)])
def test_derivatives_by_the_state_are_those_of_differences(model, scheme, rng):
    check_against_differences(smooth_scene(rng, model, scheme=scheme), rng)


def number(world, kind, field):
    if kind == "plane":
        return getattr(world.planes[0], field)
    body = world.bodies[0]
    return getattr(body.material if hasattr(body.material, field) else body, field)


def scene_like(world, kind, field, value):
    """The same world with another number."""
    made = copy.copy(world)
    made.bodies, made.planes = copy.deepcopy(world.bodies), copy.deepcopy(world.planes)
    if kind == "plane":
        setattr(made.planes[0], field, value)
        return made
    body = made.bodies[0]
    if not hasattr(body.material, field):
        setattr(body, field, value)
        return made
    soft = dataclasses.replace(body.material, **{field: value})
    again = fem.SoftBody(
        body.mesh, soft, friction=body.friction, dissipation_time=body.dissipation_time,
        contact_stiffness=body.contact_stiffness, contact=body.contact, name=body.name,
    )  # fmt: skip
    again.positions, again.velocities = body.positions, body.velocities
    made.bodies = (again,)
    return made


@pytest.mark.parametrize("model", MODELS)
def test_reverse_mode_has_the_slopes_of_differences_by_numbers(model, rng):
    world = smooth_scene(rng, model)
    found = fem.linearize(world, NUMBERS)
    bar = rng.standard_normal(found.velocities[0].shape)
    gradient: fem.SoftGradient = found.vjp(velocities=[bar])
    for kind, name, field in NUMBERS:
        label = f"{kind}/{name}/{field}"
        forward = found.jvp(parameters={label: 1.0})[1][0]
        assert gradient.parameters[label] == pytest.approx(np.vdot(bar, forward), rel=1e-8)
        value = number(world, kind, field)
        sides = []
        for factor in (1 + 1e-4, 1 - 1e-4):
            changed = scene_like(world, kind, field, factor * value)
            sides.append(states_after(changed)[0][1])
        expected = (sides[0] - sides[1]) / (2e-4 * value)
        scale = max(np.max(np.abs(expected)), 1e-3 / value)
        np.testing.assert_allclose(forward / scale, expected / scale, rtol=0, atol=1e-6)


def test_loads_and_pressures_are_arrays(rng):
    """One gradient for each vertex and each face, and the slopes of differences."""
    world = smooth_scene(rng)
    cube = world.bodies[0]
    cube.pressure(np.arange(8), 300.0)
    cube.fix([13])
    found = fem.linearize(world, [("body", "cube", "loads"), ("body", "cube", "pressures")])
    bar = rng.standard_normal(found.velocities[0].shape)
    gradient = found.vjp(velocities=[bar])
    np.testing.assert_allclose(
        gradient.parameters["body/cube/loads"], gradient.loads[0], rtol=1e-12
    )
    push = rng.standard_normal(cube.pressures.shape)

    def change(bodies, h):
        bodies[0].pressures += 1e3 * h * push

    expected = step_difference(world, change, 1e-4)[0][1]
    forward = found.jvp(parameters={"body/cube/pressures": 1e3 * push})[1][0]
    np.testing.assert_allclose(forward, expected, rtol=0, atol=1e-6 * np.max(np.abs(expected)))
    backward = 1e3 * gradient.parameters["body/cube/pressures"] @ push
    assert backward == pytest.approx(np.vdot(bar, forward), rel=1e-9)


@pytest.mark.parametrize("field", ["mass_damping", "stiffness_damping"])
def test_a_number_that_is_0_has_the_slope_beside_it(field, rng):
    world = smooth_scene(rng)
    slopes = [
        fem.linearize(scene_like(world, "body", field, value), [("body", "cube", field)]).jvp(
            parameters={f"body/cube/{field}": 1.0}
        )[1][0]
        for value in (0.0, 1e-9)
    ]
    np.testing.assert_allclose(*slopes, rtol=0, atol=1e-6 * np.max(np.abs(slopes[0])))


def test_the_world_stays_as_it_is(rng):
    world = scene(rng)
    before = world.state
    found = fem.linearize(world, NUMBERS)
    for now, then in zip(
        world.state.positions + world.state.velocities,
        before.positions + before.velocities,
        strict=True,
    ):
        np.testing.assert_array_equal(now, then)
    world.step()
    np.testing.assert_allclose(found.positions[0], world.bodies[0].positions, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.velocities[0], world.bodies[0].velocities, rtol=0, atol=1e-11)
    assert found.result.passes == world.result.passes


def smooth_sticking_scene(rng, *arguments, **options):
    for _ in range(20):
        world = sticking_scene(rng, *arguments, **options)
        found = fem.linearize(world)
        if found.distance > 1e-5 and not found.is_near_kink:
            return world
    raise AssertionError("no such scene")


@pytest.mark.parametrize("beta", [0.0, 8.0])
@pytest.mark.parametrize("model", ["linear", "linear_corotated"])
def test_weights_of_contacts_that_stick_follow_the_body(model, beta, rng):
    """R has w by positions and materials; beta gives near-rigid R_n, which has it too."""
    world = smooth_sticking_scene(rng, model, beta=beta)
    found, _, _ = check_against_differences(world, rng)
    touch = found.result.touches[0]
    normal, tangent = touch.forces[:, 2], np.linalg.norm(touch.forces[:, :2], axis=1)
    assert np.count_nonzero(tangent < 2.9 * normal) >= 3
    for kind, name, field in NUMBERS[:5]:
        label, value = f"{kind}/{name}/{field}", number(world, kind, field)
        if value == 0.0:  # damping by the mass
            continue
        sides = [
            states_after(scene_like(world, kind, field, factor * value))[0][1]
            for factor in (1 + 1e-4, 1 - 1e-4)
        ]
        expected = (sides[0] - sides[1]) / (2e-4 * value)
        forward = found.jvp(parameters={label: 1.0})[1][0]
        scale = np.max(np.abs(expected))
        np.testing.assert_allclose(forward, expected, rtol=0, atol=1e-6 * scale)


def test_weights_of_several_passes_cost_little(rng):
    """Derivatives leave out how the weights follow from the velocities of the iterates."""
    world = smooth_sticking_scene(rng, "corotated")
    check_against_differences(world, rng, 1e-2)


def test_a_run_has_the_gradient_of_differences(rng):
    """Ten steps of a cube that drops onto a plane: state, forces and parameters."""
    world = smooth_scene(rng, passes=1)
    world.bodies[0].positions += 0.002 * world.planes[0].normal
    system = DifferentiableWorld(world, NUMBERS[:3])
    q, v = world.bodies[0].positions.copy(), world.bodies[0].velocities.copy()
    inputs = 0.1 * rng.standard_normal((10, 27, 3))
    run = simulate(system, q, v, inputs)
    assert run.in_contact.any()
    bars = rng.standard_normal((2, *run.q.shape))
    gradient = run.vjp(*bars)
    way = rng.standard_normal((2, 27, 3)) * [[[1e-3]], [[0.1]]]
    push = rng.standard_normal(inputs.shape)

    def loss(h):
        moved = simulate(system, q + h * way[0], v + h * way[1], inputs + h * push)
        return np.vdot(bars[0], moved.q) + np.vdot(bars[1], moved.v)

    parts = np.vdot(gradient.q0, way[0]), np.vdot(gradient.v0, way[1])
    parts = *parts, np.vdot(gradient.inputs, push)
    errors = [abs((loss(h) - loss(-h)) / (2 * h) - sum(parts)) for h in (1e-4, 1e-5, 1e-6)]
    assert min(errors) < 1e-4 * sum(map(abs, parts))
    assert set(gradient.parameters) == {"body/cube/young", "body/cube/poisson", "body/cube/density"}
    assert gradient.parameters["body/cube/density"] != 0


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("young", r"must be \(kind, name, field\)"),
        (("joint", "cube", "young"), "its kind must be"),
        (("body", "cube", "mass"), "its field must be one of young"),
        (("plane", "floor", "young"), "its field must be one of friction"),
        (("body", "ball", "young"), "0 have this name"),
    ],
)
def test_wrong_parameters_are_named(wrong, text, rng):
    with pytest.raises(ValueError, match=text):
        fem.linearize(scene(rng), [wrong])


def test_loads_are_inputs_of_a_run(rng):
    with pytest.raises(ValueError, match="loads are the inputs"):
        DifferentiableWorld(scene(rng), [("body", "cube", "loads")])


def test_worlds_without_derivatives_are_refused(rng):
    with pytest.raises(TypeError, match="world must be a World, not int"):
        fem.linearize(1)
    world = scene(rng, settings=SapSettings(friction="lagged"))
    with pytest.raises(ValueError, match="bounds are of the step before"):
        fem.linearize(world)
    shape = PressureField(modulus=1e7).box([0.1, 0.1, 0.1])
    slide = fem.RigidBody(shape, mass=1.0, axis=[0, 0, 1])
    world = scene(rng)
    with pytest.raises(ValueError, match="the state of a run has no rigid bodies on slides"):
        DifferentiableWorld(fem.World(world.bodies, planes=world.planes, rigid=[slide]))
    world.bodies[0].velocities[4, 1] = np.nan
    with pytest.raises(StepError, match=r"cube.velocities\[4\]: must be finite"):
        fem.linearize(world)


def test_wrong_bars_are_named(rng):
    found = fem.linearize(scene(rng))
    with pytest.raises(ValueError, match="positions has 2 arrays for 1 bodies"):
        found.vjp([np.zeros((27, 3))] * 2)
    with pytest.raises(ValueError, match=r"velocities\[0\] has shape"):
        found.jvp(velocities=[np.zeros((26, 3))])
    with pytest.raises(ValueError, match=r"loads\[0\]"):
        found.jvp(loads=[np.full((27, 3), np.nan)])
    with pytest.raises(ValueError, match=r"parameters\['body/cube/young'\]: must be"):
        found.jvp(parameters={"body/cube/young": 1.0})
    found = fem.linearize(scene(rng), [("body", "cube", "pressures")])
    with pytest.raises(ValueError, match=r"parameters\['body/cube/pressures'\] has shape"):
        found.jvp(parameters={"body/cube/pressures": 1.0})


def test_a_step_that_fails_has_no_derivative(rng):
    world = scene(rng)
    world.bodies[0].velocities *= 1e200
    with pytest.raises(StepError):
        fem.linearize(world)
