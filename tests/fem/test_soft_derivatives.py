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

TIGHT = SapSettings(friction="coulomb", relative_tolerance=1e-14, max_iterations=200)
MODELS = ("linear", "linear_corotated", "corotated", "neo_hookean", "st_venant_kirchhoff")
NUMBERS = (
    ("body", "cube", "young"),
    ("body", "cube", "poisson"),
    ("body", "cube", "density"),
    ("body", "cube", "mass_damping"),
    ("body", "cube", "stiffness_damping"),
    ("body", "cube", "friction"),
    ("body", "cube", "dissipation_time"),
    ("body", "cube", "contact_stiffness"),
    ("plane", "floor", "friction"),
    ("plane", "floor", "dissipation_time"),
)


def scene(rng, model="linear_corotated", *, beta=0.003, sigma=1e-10, settings=TIGHT, **options):
    """A deformed cube that hits a tilted floor and slides."""
    soft = fem.Material(
        young=1e5, poisson=0.3, density=1000.0, model=model, mass_damping=0.5,
        stiffness_damping=beta,
    )  # fmt: skip
    contact = options.pop("contact", "faces")
    mesh = fem.box([0.1] * 3, 2)
    body = fem.SoftBody(
        mesh, soft, friction=0.3, dissipation_time=0.02, name="cube", contact=contact
    )
    turn, _ = np.linalg.qr(np.eye(3) + 0.1 * rng.standard_normal((3, 3)))
    turn *= np.sign(np.diag(turn))
    body.positions = mesh.vertices @ turn.T + 1e-3 * rng.standard_normal(mesh.vertices.shape)
    body.velocities = [0.5, 0.2, -0.3] + 0.05 * rng.standard_normal(mesh.vertices.shape)
    plane = fem.HalfSpace([0.05, -0.03, 1.0], friction=0.3, dissipation_time=0.02, name="floor")
    body.positions -= (np.min(body.positions @ plane.normal) + 0.002) * plane.normal
    options = {"passes": 40, "nonlinear_tolerance": 1e-12} | options
    return fem.World([body], planes=[plane], sigma=sigma, beta=0.0, settings=settings, **options)


def after(world):
    """The state at the end of a step of a copy."""
    made = copy.deepcopy(world.bodies)
    copied = fem.World(
        made, planes=world.planes, rigid=world.rigid, gravity=world.gravity,
        time_step=world.time_step,
        scheme=(world.scheme.q, world.scheme.v, world.scheme.vq), passes=world.passes,
        nonlinear_tolerance=world.nonlinear_tolerance, settings=world.settings,
        sigma=world.sigma, beta=world.beta,
    )  # fmt: skip
    copied.step()
    return [np.stack([body.positions, body.velocities]) for body in made]


def after_changed(world, change, h):
    """The state at the end of a step whose start has a change."""
    side = copy.copy(world)
    side.bodies, side.planes = copy.deepcopy(world.bodies), copy.deepcopy(world.planes)
    change(side.bodies, h)
    return after(side)


def difference(world, change, h):
    """Central difference of a step along a change of its bodies."""
    sides = after_changed(world, change, h), after_changed(world, change, -h)
    return [(above - below) / (2 * h) for above, below in zip(*sides, strict=True)]


def along(direction):
    def change(bodies, h):
        for body, (q, v, f) in zip(bodies, direction, strict=True):
            body.positions += h * q
            body.velocities += h * v
            body.loads += 100 * h * f

    return change


def smooth_scene(rng, *arguments, **options):
    """A scene whose contacts are not near a boundary of their law."""
    for _ in range(20):
        world = scene(rng, *arguments, **options)
        if fem.linearize(world).distance > 1e-4:
            return world
    raise AssertionError("no such scene")


def check_against_differences(world, rng, tolerance=1e-6):
    numbers = [each for each in NUMBERS if each[0] == "body" or world.planes]
    found = fem.linearize(world, numbers)
    assert not found.is_near_kink
    n = [len(body.positions) for body in world.bodies]
    direction = [rng.standard_normal((3, k, 3)) * [[[1e-3]], [[0.1]], [[1.0]]] for k in n]
    q, v, f = zip(*direction, strict=True)
    push = found.jvp(q, v, [100 * each for each in f])[:2]
    expected = min(
        (difference(world, along(direction), h) for h in (1e-4, 1e-5)),
        key=lambda each: error(push, each),
    )
    assert error(push, expected) < tolerance
    # reverse mode is the transpose
    bars = [rng.standard_normal((2, k, 3)) for k in n]
    gradient: fem.SoftGradient = found.vjp([bar[0] for bar in bars], [bar[1] for bar in bars])
    forward = sum(
        np.vdot(bar, np.stack(each))
        for bar, each in zip(bars, zip(*push, strict=True), strict=True)
    )
    backward = (
        sum(map(np.vdot, gradient.positions, q))
        + sum(map(np.vdot, gradient.velocities, v))
        + 100 * sum(map(np.vdot, gradient.loads, f))
    )
    assert forward == pytest.approx(backward, rel=1e-9, abs=1e-9 * np.linalg.norm(push[1][0]))
    return found, gradient, bars


def error(push, expected):
    found = [np.stack(each) for each in zip(*push, strict=True)]
    return max(
        np.max(np.abs(a - b)[k]) / np.max(np.abs(b[k]))
        for a, b in zip(found, expected, strict=True)
        for k in range(2)
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scheme", ["implicit", (1.0, 1.0, 0.5)])
def test_derivatives_by_the_state_are_those_of_differences(model, scheme, rng):
    check_against_differences(smooth_scene(rng, model, scheme=scheme), rng)


@pytest.mark.parametrize("model", MODELS)
def test_reverse_mode_has_the_slopes_of_differences_by_numbers(model, rng):
    world = smooth_scene(rng, model)
    found = fem.linearize(world, NUMBERS)
    bar = rng.standard_normal(found.velocities[0].shape)
    gradient = found.vjp(velocities=[bar])
    for kind, name, field in NUMBERS:
        label = f"{kind}/{name}/{field}"
        forward = found.jvp(parameters={label: 1.0})[1][0]
        assert gradient.parameters[label] == pytest.approx(np.vdot(bar, forward), rel=1e-8)
        value = number(world, kind, field)
        sides = []
        for factor in (1 + 1e-4, 1 - 1e-4):
            changed = scene_like(world, kind, field, factor * value)
            sides.append(after(changed)[0][1])
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

    expected = difference(world, change, 1e-4)[0][1]
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


def test_two_bodies_a_fixed_vertex_a_pressure_and_vertex_contacts(rng):
    """A body with contacts of vertices, two of them fixed, and one that presses on it."""
    world = scene(rng, contact="vertices")
    low = world.bodies[0]
    low.fix([3, 20])
    low.pressure(np.arange(10), 500.0)
    upper = fem.SoftBody(fem.box([0.06] * 3, 2), low.material, friction=0.4, name="upper")
    upper.contact = "none"
    upper.velocities += 0.1 * rng.standard_normal(upper.velocities.shape)
    world.bodies = (low, upper)
    world = fem.World(
        world.bodies, planes=world.planes, sigma=1e-10, beta=0.0, settings=TIGHT, passes=40,
        nonlinear_tolerance=1e-12,
    )  # fmt: skip
    found, gradient, _ = check_against_differences(world, rng)
    assert not np.any(gradient.loads[0][[3, 20]])
    assert found.result.touches[0].contacts.vertices.shape[1] == 1


def first_smooth(make, rng, touches):
    """The first world of some with these many touches, away from kinks."""
    for _ in range(30):
        world = make(rng)
        found = fem.linearize(world)
        smooth = found.distance > 1e-4 and not found.is_near_kink
        if smooth and len(found.result.touches) == touches:
            return world
    raise AssertionError("no such scene")


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


def test_held_weights_of_friction_cost_little(rng):
    """With the default sigma the derivatives leave out how the weights w change."""
    world = smooth_scene(rng, sigma=1e-3)
    check_against_differences(world, rng, 1e-2)


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
    push = found.jvp(x, v, f, slides=[way[:2]], slide_forces=way[2:])
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


def test_a_step_that_fails_has_no_derivative(rng):
    world = scene(rng)
    world.bodies[0].velocities *= 1e200
    with pytest.raises(StepError):
        fem.linearize(world)
