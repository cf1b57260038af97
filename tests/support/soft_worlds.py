"""Worlds of soft bodies, and central differences of their steps."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from sapwood import SapSettings, fem

TIGHT = SapSettings(friction="coulomb", relative_tolerance=1e-14, max_iterations=200)
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


def sticking_scene(rng, model="linear_corotated", **options):
    """A cube whose lower side lies on an incline and sticks, with much regularization."""
    soft = fem.Material(
        young=10 ** rng.uniform(4.5, 6), poisson=0.3, density=1000.0, model=model,
        stiffness_damping=0.003,
    )  # fmt: skip
    body = fem.SoftBody(
        fem.box([0.1] * 3, 2), soft, friction=3.0, dissipation_time=0.02, name="cube"
    )
    body.positions += 1e-4 * rng.standard_normal(body.positions.shape)
    plane = fem.HalfSpace(offset=-0.0498, friction=3.0, dissipation_time=0.02, name="floor")
    options = {"passes": 40, "nonlinear_tolerance": 1e-12, "beta": 0.0} | options
    return fem.World(
        [body], planes=[plane], gravity=[3.0, 0.2, -9.3], sigma=1e-2, settings=TIGHT, **options
    )


def smooth_scene(rng, *arguments, **options):
    """A scene whose contacts are not near a boundary of their law."""
    for _ in range(20):
        world = scene(rng, *arguments, **options)
        if fem.linearize(world).distance > 1e-4:
            return world
    raise AssertionError("no such scene")


def first_smooth(make, rng, touches):
    """The first world of some with these many touches, away from kinks."""
    for _ in range(30):
        world = make(rng)
        found = fem.linearize(world)
        smooth = found.distance > 1e-4 and not found.is_near_kink
        if smooth and len(found.result.touches) == touches:
            return world
    raise AssertionError("no such scene")


def states_after(world):
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
    return states_after(side)


def step_difference(world, change, h):
    """Central difference of a step along a change of its bodies."""
    sides = after_changed(world, change, h), after_changed(world, change, -h)
    return [(above - below) / (2 * h) for above, below in zip(*sides, strict=True)]


def change_along(direction):
    def change(bodies, h):
        for body, (q, v, f) in zip(bodies, direction, strict=True):
            body.positions += h * q
            body.velocities += h * v
            body.loads += 100 * h * f

    return change


def check_against_differences(world, rng, tolerance=1e-6):
    numbers = [each for each in NUMBERS if each[0] == "body" or world.planes]
    found = fem.linearize(world, numbers)
    assert not found.is_near_kink
    n = [len(body.positions) for body in world.bodies]
    direction = [rng.standard_normal((3, k, 3)) * [[[1e-3]], [[0.1]], [[1.0]]] for k in n]
    q, v, f = zip(*direction, strict=True)
    push = found.jvp(q, v, [100 * each for each in f])[:2]
    expected = min(
        (step_difference(world, change_along(direction), h) for h in (1e-4, 1e-5, 1e-6)),
        key=lambda each: relative_error(push, each),
    )
    assert relative_error(push, expected) < tolerance
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


def relative_error(push, expected):
    found = [np.stack(each) for each in zip(*push, strict=True)]
    return max(
        np.max(np.abs(a - b)[k]) / np.max(np.abs(b[k]))
        for a, b in zip(found, expected, strict=True)
        for k in range(2)
    )
