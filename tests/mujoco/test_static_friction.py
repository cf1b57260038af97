"""A static coefficient of friction above the dynamic one."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import compiled
from sapwood.geometry import PressureField
from sapwood.mujoco import (
    Batch,
    ContactMaterial,
    DifferentiableModel,
    NotSupported,
    Stepper,
    linearize,
)
from sapwood.reference.problem.stiction import friction_at

G, DYNAMIC, STATIC = 9.81, 0.3, 0.5
MATERIAL = ContactMaterial(friction=DYNAMIC, static_friction=STATIC)
BOX = """<geom name="floor" type="plane" size="50 50 1"/>
<body pos="0 0 .1"><freejoint/><geom name="box" type="box" size=".1 .1 .1" mass="2"/></body>"""


def tilted(angle, dt=0.002):
    """A box on an incline."""
    model = compiled(BOX, dt)
    model.opt.gravity[:] = G * np.sin(angle), 0.0, -G * np.cos(angle)
    return model


def run(model, seconds, speed=0.0, contact=MATERIAL, **options):
    stepper, data = Stepper(model, contact=contact, **options), mujoco.MjData(model)
    data.qvel[0] = speed
    stepper.run(data, round(seconds / stepper.time_step))
    return data


# ---- closed forms ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("friction", "slope"),
    [("coulomb", 0.35), ("coulomb", 0.49), ("convex", 0.35), ("lagged", 0.35)],
)
def test_a_box_holds_up_to_the_static_coefficient(slope, friction):
    """At rest, on an incline that is steeper than the dynamic coefficient.

    With the other laws a box that is laid down slips in its first steps.
    """
    data = run(tilted(np.arctan(slope)), 2.0, friction=friction)
    assert abs(data.qvel[0]) < 1e-6
    assert abs(data.qpos[0]) < 1e-4


@pytest.mark.parametrize(("slope", "speed"), [(0.52, 0.0), (0.4, 0.05), (0.4, -0.5)])
def test_a_box_slides_with_the_dynamic_coefficient(slope, speed):
    """Beyond the static one, or pushed: v = v0 + (sin a - mu cos a) g t, to a few steps.

    Thrown uphill it stops and sticks.
    """
    angle = np.arctan(slope)
    data = run(tilted(angle), 1.0, speed)
    if speed < 0.0:
        assert abs(data.qvel[0]) < 1e-6
        return
    expected = speed + G * (np.sin(angle) - DYNAMIC * np.cos(angle))
    assert data.qvel[0] == pytest.approx(expected, abs=5.0 * G * 0.002)


def test_a_growing_force_breaks_away_at_the_static_coefficient():
    model = compiled(BOX, 0.001)
    stepper, data = Stepper(model, contact=MATERIAL), mujoco.MjData(model)
    weight, rate = 2.0 * G, 2.0
    while data.qvel[0] < 0.01:
        data.qfrc_applied[0] = rate * data.time
        stepper.step(data)
    assert data.qfrc_applied[0] / weight == pytest.approx(STATIC, abs=0.01)
    start = data.qvel[0]
    for _ in range(200):
        stepper.step(data)
    slides = (data.qfrc_applied[0] / weight - DYNAMIC) * G * 0.2
    assert data.qvel[0] - start == pytest.approx(slides, rel=0.02)


def test_a_spring_that_is_pulled_slowly_sticks_and_slips_between_its_closed_forms():
    """Its force rises to mu_s N and falls to (2 mu_d - mu_s) N in each slip (Den Hartog 1931)."""
    model = compiled(
        """<geom type="plane" size="50 50 1"/>
        <body name="hand" mocap="true" pos="0 0 .1"/>
        <body pos="0 0 .1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
        <geom type="box" size=".1 .1 .1" mass="2"/></body>""",
        0.0005,
    )
    stepper, data = Stepper(model, contact=MATERIAL), mujoco.MjData(model)
    k, pull, force = 200.0, 0.01, []
    for _ in range(round(14.0 / 0.0005)):
        data.qfrc_applied[0] = k * (pull * data.time - data.qpos[0])
        stepper.step(data)
        force.append(data.qfrc_applied[0])
    late, weight = np.array(force[20000:]), 2.0 * G
    assert late.max() / weight == pytest.approx(STATIC, abs=0.01)
    assert late.min() / weight == pytest.approx(2.0 * DYNAMIC - STATIC, abs=0.02)


# ---- rules -------------------------------------------------------------------------------------


def test_the_coefficient_is_that_of_the_mirror():
    """At slip speeds around the speed at which static friction ends, on a moving surface too."""
    model = compiled(BOX, 0.002)
    stepper, data = Stepper(model, contact=MATERIAL), mujoco.MjData(model)
    V = stepper.parameters.slip.stiction
    assert pytest.approx(0.001 * np.sqrt(G * model.stat.meansize)) == V
    data.qpos[2] = 0.0999
    seen = set()
    for speed in np.linspace(0.0, 1.5 * V, 7):
        data.qvel[:2] = 0.6 * speed, -0.8 * speed
        problem = stepper.problem(data)
        expected = friction_at(DYNAMIC, STATIC, speed, V)
        np.testing.assert_allclose(problem.mu, expected, rtol=1e-12)
        seen.add(float(problem.mu[0]))
    assert len(seen) == 5
    assert {DYNAMIC, STATIC} <= {round(mu, 12) for mu in seen}


def test_both_coefficients_of_a_pair_are_harmonic_means():
    """Without a static one a geom has its dynamic one; pairs without materials have the model's."""
    model = compiled(BOX, 0.002)
    data = mujoco.MjData(model)
    data.qpos[2] = 0.0999
    other = ContactMaterial(friction=0.4)
    stepper = Stepper(model, materials={"box": MATERIAL, "floor": other})
    np.testing.assert_allclose(stepper.problem(data).mu, 2.0 * STATIC * 0.4 / (STATIC + 0.4))
    data.qvel[0] = 1.0
    np.testing.assert_allclose(stepper.problem(data).mu, 2.0 * DYNAMIC * 0.4 / (DYNAMIC + 0.4))
    data.qvel[0] = 0.0
    np.testing.assert_allclose(Stepper(model).problem(data).mu, 1.0)


def test_custom_numbers_are_the_material():
    entry = f'<numeric name="sapwood/default" data="0 -1 {DYNAMIC} 0 {STATIC}"/>'
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><custom>{entry}</custom><worldbody>{BOX}</worldbody></mujoco>"
    )
    stepper = Stepper(model)
    np.testing.assert_array_equal(stepper.parameters.forest["static_friction"], STATIC)
    np.testing.assert_array_equal(stepper.parameters.forest["friction"], DYNAMIC)


def test_patches_have_it_too():
    """A soft box on an incline between the two coefficients stays; without, it slides."""
    for contact, stays in ((MATERIAL, True), (ContactMaterial(friction=DYNAMIC), False)):
        data = run(tilted(np.arctan(0.4)), 0.5, contact=contact, fields={"box": PressureField(1e7)})
        assert (abs(data.qvel[0]) < 1e-4) == stays


def test_worlds_of_a_batch_may_differ_in_it():
    model = tilted(np.arctan(0.4))
    batch = Batch(model, 3, contact=MATERIAL)
    batch.expand("sapwood.static_friction")[:] = [[DYNAMIC], [0.35], [0.45]]
    qvel = batch.bind("qvel")
    batch.step(nstep=200)
    slides = np.abs(qvel[:, 0]) > 0.1
    np.testing.assert_array_equal(slides, [True, True, False])
    batch.expand("sapwood.static_friction")[1] = 0.1
    with pytest.raises(ValueError, match=r"sapwood.static_friction\[1, 0\] = 0.1: must be >= the"):
        batch.step(nstep=1)


def test_static_friction_of_a_batch_follows_friction_unless_it_is_given():
    model = tilted(np.arctan(0.4))
    for contact, holds in ((ContactMaterial(friction=0.45), False), (MATERIAL, True)):
        batch = Batch(model, 1, contact=contact)
        batch.expand("sapwood.friction")[:] = 0.2
        qvel = batch.bind("qvel")
        batch.step(nstep=100)
        assert (abs(qvel[0, 0]) < 1e-6) == holds


# ---- derivatives and errors ------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.5, 4.0])
def test_derivatives_know_the_speed(share):
    """Derivatives of a box that slides at a share of the stiction speed, against differences."""
    model = tilted(np.arctan(0.8))
    stepper = Stepper(model, contact=MATERIAL)
    differentiable = DifferentiableModel(stepper)
    V = stepper.parameters.slip.stiction
    data = mujoco.MjData(model)
    Stepper(model, contact=ContactMaterial(friction=5.0)).run(data, 100)
    q, v = differentiable.start(data.qpos, [share * V, 0.0, 0.0, 0.0, 0.0, 0.0])
    bar = np.array([1.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    taken = differentiable.step(q, v, np.zeros(0))
    assert taken.v[0] > V
    parameters = {name: np.zeros_like(x) for name, x in differentiable.parameters.items()}
    pulled = differentiable.pull(taken.tape, np.zeros(model.nq), bar, parameters)
    data.qpos[:], data.qvel[:] = q, v
    linear = linearize(stepper, data)
    nv, h = model.nv, 1e-7
    for i in range(0 if share else 1, 2):
        row = np.eye(nv)[i]
        ends = [differentiable.step(q, v + s * h * row, np.zeros(0)).v for s in (1, -1)]
        expected = (ends[0] - ends[1]) / (2.0 * h)
        assert pulled.v[i] == pytest.approx(expected @ bar, rel=1e-3, abs=1e-3)
        np.testing.assert_allclose(linear.A[nv : nv + 2, nv + i], expected[:2], rtol=0, atol=2e-3)


def test_wrong_static_frictions_are_named():
    for given in ({"static_friction": 0.5}, {"friction": 0.6, "static_friction": 0.5}):
        with pytest.raises(ValueError, match=r"static_friction = 0\.5: must be >= friction"):
            ContactMaterial(**given)
    with pytest.raises(ValueError, match="static_friction"):
        ContactMaterial(friction=0.1, static_friction=np.nan)
    with pytest.raises(NotSupported, match="the static friction of geom 'floor'"):
        Stepper(compiled(BOX, 0.002), scheme="midpoint", contact=MATERIAL)
