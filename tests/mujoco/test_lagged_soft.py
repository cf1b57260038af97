"""Lagged friction in a model with soft bodies and flexes, for each data and each state."""

from __future__ import annotations

import gc

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from sapwood import SapSettings, fem
from sapwood.geometry import PressureField
from sapwood.mujoco import Stepper
from soft_friction import loads, parts_at_bound

G, MU = 9.81, 0.5
TIGHT = SapSettings(relative_tolerance=1e-10)
FLOOR = f"<geom name='floor' type='plane' size='3 3 1' friction='{MU}'/>"
BOX = (
    "<body pos='.5 0 .05'><freejoint/>"
    f"<geom name='box' type='box' size='.05 .05 .05' mass='1' friction='{MU}'/></body>"
)
FLEX = (
    "<body name='place' pos='0 0 0'><flexcomp name='f' type='grid' count='3 3 3'"
    " spacing='.1 .1 .1' pos='0 0 .1005' dim='3' mass='8' radius='.001'>"
    "<elasticity young='1e5' poisson='.3' damping='.01'/>"
    f"<contact selfcollide='none' friction='{MU} 0 0'/></flexcomp></body>"
)


def model_of(bodies):
    return mujoco.MjModel.from_xml_string(
        "<mujoco><option timestep='0.005' integrator='discrete'/>"
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )


def cube(contact="faces", x=0.0):
    pose = np.eye(4)
    pose[:3, 3] = x, 0, 0.05
    rubber = fem.Material(young=1e5, poisson=0.3, density=1000.0, stiffness_damping=0.01)
    return fem.SoftBody(
        fem.box([0.1] * 3, 2),
        rubber,
        pose=pose,
        friction=MU,
        dissipation_time=0.01,
        contact=contact,
        name="cube",
    )


def lagged(model, soft=(), **options):
    return Stepper(model, soft=soft, friction="lagged", settings=TIGHT, **options)


def test_a_rigid_body_beside_a_soft_one_moves_as_alone():
    """Its contacts remember their forces, too."""
    model = model_of(FLOOR + BOX)
    speeds = []
    for soft in ([], [cube()]):
        stepper, data = lagged(model, soft, speculative=False), mujoco.MjData(model)
        data.qvel[0] = 1.0
        speeds.append([])
        for i in range(30):
            data.xfrc_applied[1, 2] = -5 * np.sin(i)
            stepper.step(data)
            speeds[-1].append(data.qvel.copy())
    np.testing.assert_allclose(speeds[1], speeds[0], atol=1e-7)


def test_a_soft_cube_and_a_box_rest_on_a_plane():
    """Both slide to rest, and press with their weights."""
    model = model_of(FLOOR + BOX)
    body = cube()
    stepper, data = lagged(model, [body]), mujoco.MjData(model)
    stepper.run(data, 200)
    start = data.qpos[0], body.positions[:, 0].mean()
    body.velocities = body.velocities + [0.5, 0, 0]
    data.qvel[0] = 0.5
    stepper.run(data, 200)
    assert np.abs(data.qvel).max() < 1e-6
    assert np.abs(body.velocities).max() < 1e-3
    # the way by Coulomb's law, in steps whose velocity is that at their end
    way = 0.5**2 / (2 * MU * G) - 0.5 * 0.005 / 2
    assert data.qpos[0] - start[0] == pytest.approx(way, rel=0.05)
    assert body.positions[:, 0].mean() - start[1] == pytest.approx(way, rel=0.05)
    (touch,) = stepper.soft_result.touches
    assert touch.force[2] == pytest.approx(body.vertex_mass.sum() * G, rel=1e-4)
    assert stepper.body_forces[1, 2] == pytest.approx(G, rel=1e-6)


@pytest.mark.parametrize("contact", ["faces", "vertices", "field", "flex"])
def test_friction_is_bounded_by_the_normal_forces_of_the_step_before(rng, contact):
    slab = "<geom name='slab' type='box' size='.5 .5 .1' pos='0 0 -.0995' friction='.5'/>"
    wall = (
        "<geom name='wall' type='plane' size='3 3 1' euler='-90 0 0' friction='.5' pos='0 {} 0'/>"
    )
    bodies = {"field": slab, "flex": FLOOR + FLEX + wall.format(-0.0995)}
    bodies = bodies.get(contact, FLOOR + wall.format(-0.04995))
    soft = [] if contact == "flex" else [cube("vertices" if contact == "vertices" else "faces")]
    fields = {"slab": PressureField(1e6, 0.1)} if contact == "field" else None
    model = model_of(bodies)
    stepper, data = lagged(model, soft, fields=fields), mujoco.MjData(model)
    stepper.run(data, 20)
    for body in soft:
        body.velocities = body.velocities + [0.5, -0.1, 0]
    if not soft:
        data.qvel.reshape(-1, 3)[:] += [0.5, -0.1, 0]
    stepper.step(data)
    before, parts = loads(stepper.soft_result), 0
    for _ in range(6):
        push = rng.uniform(-0.1, 0.3)
        for body in soft:
            body.force(range(27), [0, 0, -push])
        if not soft:
            data.qfrc_applied.reshape(-1, 3)[:, 2] = -5 * push
        stepper.step(data)
        now = loads(stepper.soft_result)
        parts += parts_at_bound(before, now, MU)
        # the test can fail: Coulomb's law has other forces
        assert max(abs(t - MU * n) for n, t in now.values()) > 1e-3 * G
        before = now
    assert parts >= 6 * 3


def sliding_flex():
    model = model_of(FLOOR + FLEX)
    data = mujoco.MjData(model)
    data.qvel.reshape(-1, 3)[:] += [0.5, 0.1, 0]
    return model, data


def test_each_data_has_a_memory_of_its_own():
    """Steps of two data in turn are those of either by itself, and its memory ends with it."""
    model, alone = sliding_flex()
    stepper = lagged(model)
    stepper.run(alone, 10)
    both = [sliding_flex()[1] for _ in range(2)]
    both[1].qvel[:] *= 2
    stepper = lagged(model)
    for _ in range(10):
        for data in both:
            stepper.step(data)
    np.testing.assert_allclose(both[0].qpos, alone.qpos, atol=1e-9)
    memories = stepper._steps._memories._of
    assert len(memories) == 2
    stepper._bind(both[0])  # a stepper keeps the data that it served last
    del both[1:], data
    gc.collect()
    assert len(memories) == 1


def test_the_memory_holds_for_the_state_that_a_step_left():
    """A set state is one without memory, and the state that is there already goes on."""

    def next_velocities(change):
        model = model_of(FLOOR + BOX)
        body = cube()
        stepper, data = lagged(model, [body]), mujoco.MjData(model)
        stepper.run(data, 100)
        body.velocities = body.velocities + [0.5, 0, 0]
        data.qvel[0] = 0.5
        stepper.run(data, 5)
        stepper, data = change(stepper, data)
        stepper.soft[0].force(range(27), [0, 0, -1.0])
        data.xfrc_applied[1, 2] = -20
        stepper.problem(data)  # shows a problem without memory, and keeps it
        stepper.step(data)
        return stepper.soft[0].velocities, data.qvel

    def go_on(stepper, data):
        stepper.soft_state = stepper.soft_state
        return stepper, data

    def nudge(stepper, data):
        data.qvel[0] += 1e-13
        return stepper, data

    def start_anew(stepper, data):
        new = lagged(stepper.model, [cube()])
        new.soft_state = stepper.soft_state
        return new, data

    unchanged = next_velocities(lambda *both: both)
    kept, nudged, new = map(next_velocities, (go_on, nudge, start_anew))
    for k in range(2):
        np.testing.assert_allclose(kept[k], unchanged[k], atol=1e-7)
        np.testing.assert_allclose(nudged[k], new[k], atol=1e-7)
        assert np.abs(new[k] - unchanged[k]).max() > 1e-3
