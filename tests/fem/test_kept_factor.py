"""Steps that go on with the factor of an earlier step."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from sapwood import SapSettings, _core, fem

TIGHT = SapSettings(friction="coulomb", relative_tolerance=1e-12)
FOAM = fem.Material(young=2e4, poisson=0.3, density=1000.0, stiffness_damping=0.02)


@pytest.fixture
def factored(monkeypatch):
    """A list that grows by one with every factorization."""
    calls, factor = [], _core.fem_factor
    monkeypatch.setattr(_core, "fem_factor", lambda *args: (calls.append(1), factor(*args))[1])
    return calls


def cube(height=0.05, model="linear_corotated", **options):
    pose = np.eye(4)
    pose[2, 3] = height
    foam = dataclasses.replace(FOAM, model=model)
    return fem.SoftBody(fem.box([0.1] * 3, 3), foam, pose=pose, **options)


def world_of(body, **options):
    plane = fem.HalfSpace(dissipation_time=0.01)
    return fem.World([body], planes=[plane], time_step=0.01, settings=TIGHT, **options)


def step_anew(world, n):
    """Steps that know nothing of earlier ones."""
    for _ in range(n):
        world.state = world.state
        result = world.step()
    return result


@pytest.mark.parametrize("model", ["linear_corotated", "neo_hookean"])
def test_a_body_at_rest_keeps_its_factor(factored, model):
    bodies = [cube(model=model, dissipation_time=0.01) for _ in range(2)]
    kept, anew = map(world_of, bodies)
    kept.step(150)
    anew.state = kept.state
    del factored[:]
    result = kept.step(50)
    assert len(factored) == 0
    other = step_anew(anew, 50)
    assert len(factored) == 50
    # the residual is at most 1e-7 of the weight: 1e-8 m/s, for half a second
    np.testing.assert_allclose(bodies[0].positions, bodies[1].positions, rtol=0, atol=5e-9)
    np.testing.assert_allclose(result.touches[0].force, other.touches[0].force, atol=1e-7)
    assert result.residual < 1e-7


@pytest.mark.parametrize("model", ["linear_corotated", "corotated"])
def test_corrections_give_the_step_of_a_new_factor(factored, model):
    """In a fall with an impact, where A changes in every step."""
    body, other = (cube(0.055, model, dissipation_time=0.01) for _ in range(2))
    world, anew = world_of(body), world_of(other)
    largest, n_factors = 0.0, 0
    for _ in range(40):
        anew.state = world.state
        del factored[:]
        world.step()
        n_factors += len(factored)
        anew.step()
        largest = max(largest, np.abs(body.velocities - other.velocities).max())
    assert n_factors < 30
    # 1e-7 of the weight, for a step
    assert largest < 2e-7 * 9.81 * 0.01


def test_a_body_that_slides_keeps_its_factor(factored):
    body = cube(dissipation_time=0.01, friction=0.2)
    world = world_of(body)
    world.step(150)
    body.velocities[:, 0] += 3.0
    del factored[:]
    world.step(60)
    assert body.velocities[:, 0].mean() > 1.0
    assert len(factored) < 40


def test_a_body_that_turns_is_factored_every_step(factored, monkeypatch):
    def solve(*_args):
        raise AssertionError("a step tried an old factor")

    monkeypatch.setattr(_core, "fem_solve", solve)
    body = cube(1.0)
    body.velocities[:] = np.cross([3.0, 2.0, 1.0], body.positions - [0, 0, 1.0])
    world = fem.World([body], gravity=[0, 0, 0], time_step=0.01)
    world.step(20)
    assert len(factored) == 20


def test_a_factor_of_other_fixed_vertices_is_not_tried():
    """It changes no velocity of a body at rest, and has rows for vertices that cannot move."""
    world = world_of(cube(dissipation_time=0.01))
    world.step(150)
    (step,) = world._steps
    change = step.guess - step.start
    assert step._keeps(change)
    step._fixed[3] = 1
    assert not step._keeps(change)


def test_a_factor_whose_corrections_would_diverge_is_given_up(monkeypatch):
    """The pass begins again: its linearization and its guess are as they were."""
    body = cube(model="neo_hookean", dissipation_time=0.01)
    world = world_of(body)
    world.step(150)
    (step,) = world._steps
    body.positions *= [1.0, 1.0, 2.0]
    monkeypatch.setattr(step, "_keeps", lambda _change: True)
    world._reduce()
    start, guess = step.start, step.guess
    step.evaluate(start)
    step.linearize(start)
    v = step.free_velocity(guess)
    assert step._linearization[1] is not start
    assert step.guess_again(v, guess) is guess
    assert step._linearization[1] is start
    found = step.free_velocity(guess)
    size = np.linalg.norm(step._linear_residual(start))
    assert np.linalg.norm(step._linear_residual(found)) < 1e-12 * size
    assert step.guess_again(found, guess) is None


def test_a_factor_is_tried_for_the_change_of_the_pass_before(monkeypatch):
    """In a first step the change of the step before is 0, which any factor fits."""
    body = cube(model="neo_hookean")
    world, changes = world_of(body), []
    (step,) = world._steps
    monkeypatch.setattr(step, "_keeps", lambda change: changes.append(change) or True)
    world._reduce()
    for w in (step.start, step.start + 0.25):
        step.evaluate(w)
        step.linearize(w)
    np.testing.assert_array_equal(changes[0], 0)
    np.testing.assert_array_equal(changes[1], 0.25)


@pytest.mark.parametrize("change", ["load", "floor", "dt", "material", "moved", "held"])
def test_a_factor_that_does_not_fit_is_not_kept(change, factored):
    """Whatever changes after a rest, the step is that of a new world."""
    bodies = [cube(dissipation_time=0.01), cube(dissipation_time=0.01)]
    worlds = [world_of(body) for body in bodies]
    worlds[0].step(150)
    worlds[1].state = worlds[0].state
    del factored[:]
    for world, body in zip(worlds, bodies, strict=True):
        if change == "load":
            body.force(body.mesh.vertices[:, 2] > 0.04, [2.0, 1.0, -3.0])
        elif change == "floor":
            world.planes[0].offset -= 0.01
        elif change == "dt":
            world.time_step = 0.005
        elif change == "material":
            body.material = fem.Material(young=1e4, poisson=0.3, density=1000.0)
        else:
            body.fix(body.mesh.vertices[:, 2] > 0.04, [0.5 * (change == "moved"), 0, 0])
    worlds[0].step()
    # loads and contacts leave A as it is
    assert len(factored) > 0 or change in ("load", "floor")
    worlds[1].step()
    assert change in ("dt", "held") or np.abs(bodies[1].velocities).max() > 1e-3
    held = bodies[0].fixed > 0
    np.testing.assert_array_equal(bodies[0].velocities[held], bodies[0].fixed_velocities[held])
    np.testing.assert_allclose(bodies[0].velocities, bodies[1].velocities, rtol=1e-6, atol=1e-7)


def test_a_kept_factor_is_a_part_of_the_state(factored):
    """Bit for bit: in a world after another one, in a new batch, and after other steps."""
    mujoco = pytest.importorskip("mujoco")
    from sapwood.mujoco import Batch, Stepper

    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='1 1 1'/>"
        "</worldbody></mujoco>"
    )
    stepper, *others = (Stepper(model, soft=[cube(dissipation_time=0.01)]) for _ in range(3))
    batch, twin = (Batch(each, 2) for each in others)
    batch.step(nstep=150)
    rest = batch.get_state()
    batch.step([0], nstep=7)
    batch.step([1], nstep=7)
    end = batch.get_state()
    stepper.run(mujoco.MjData(model), 157)
    for world in range(2):
        found = batch.soft_state(world).positions[0]
        np.testing.assert_array_equal(found, stepper.soft_state.positions[0])
    del factored[:]
    twin.set_state(rest)
    twin.step(nstep=7)
    # each world of the new batch finds the factor of its own again
    assert len(factored) < 14
    np.testing.assert_array_equal(twin.get_state(), end)
    batch.set_state(rest)
    batch.step(nstep=7)
    np.testing.assert_array_equal(batch.get_state(), end)
