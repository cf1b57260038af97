"""Contacts that are listed before they close: impacts without rebound, without energy."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import compiled
from sapwood.mujoco import Stepper

# falling shapes, and how far the lowest point of each is below its origin
SHAPES = {
    "sphere": ('size=".05"', 0.05),
    "box on a face": ('type="box" size=".05 .06 .04"', 0.04),
    "capsule, lying": ('type="capsule" size=".03 .08" euler="0 90 0"', 0.03),
    "capsule, upright": ('type="capsule" size=".03 .08"', 0.11),
    "ellipsoid": ('type="ellipsoid" size=".03 .08 .05"', 0.05),
    "cylinder": ('type="cylinder" size=".03 .08"', 0.08),
}
FLOORS = {"plane": 'type="plane" size="5 5 1"', "box": 'type="box" size="2 2 .5" pos="0 0 -.5"'}


def dropped(shape: str, floor: str, dt: float, height: float, **options):
    """Velocities of a body that falls from a height, up to 0.25 s after it has touched."""
    geom, below = SHAPES[shape]
    model = compiled(
        f"<geom {FLOORS[floor]}/>"
        f'<body pos="0 0 {height + below}"><freejoint/><geom {geom}/></body>',
        dt,
    )
    stepper, data, speeds = Stepper(model, **options), mujoco.MjData(model), []
    steps = round((np.sqrt(2 * height / 9.81) + 0.25) / dt)
    stepper.run(data, steps, lambda data: speeds.append(data.qvel[2]))
    return np.array(speeds), data.qpos[2] - below


def restitution(speeds: np.ndarray) -> float:
    fastest = speeds.argmin()
    return speeds[fastest:].max() / -speeds[fastest]


# ---- rebound -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.claim
@pytest.mark.parametrize("dt", [0.002, 0.01])
@pytest.mark.parametrize(
    ("shape", "floor"),
    [*((shape, "plane") for shape in SHAPES), ("sphere", "box"), ("box on a face", "box")],
)
def test_nothing_rebounds_at_dissipation_time_dt(shape, floor, dt):
    heights = np.linspace(0.5, 1.0, 40)
    found = [dropped(shape, floor, dt, height) for height in heights]
    assert max(restitution(speeds) for speeds, _ in found) < 0.01
    # and it came down: at rest on the floor
    assert max(abs(height) for _, height in found) < 2e-4
    assert max(abs(speeds[-1]) for speeds, _ in found) < 0.01


@pytest.mark.parametrize("dt", [0.002, 0.01])
def test_nothing_rises_above_where_it_was_let_go(dt):
    """Small heights, of which the first step may already pass through the surface."""
    for height in np.geomspace(0.02, 100.0, 60) * 9.81 * dt**2:
        speeds, _ = dropped("sphere", "plane", dt, height)
        heights = height + dt * np.cumsum(speeds)
        lowest = heights[: round(3 * np.sqrt(height) / dt) + 3].argmin()
        assert heights[lowest:].max() < 0.55 * height
        if height > 2 * 9.81 * dt**2:
            assert restitution(speeds) < 0.01


def test_without_it_the_rebound_is_a_matter_of_chance():
    heights = np.linspace(0.5, 1.0, 20)
    found = [
        restitution(dropped("sphere", "plane", 0.01, h, speculative=False)[0]) for h in heights
    ]
    assert min(found) < 0.1
    assert max(found) > 0.3


def test_an_impact_is_that_of_the_exact_step():
    """The gap is closed by the end of the step that would pass it, but for a fifth, and not before:
    until then the fall is free."""
    dt, height = 0.01, 0.7
    speeds, _ = dropped("sphere", "plane", dt, height)
    free = -9.81 * dt * np.arange(1, len(speeds) + 1)
    gaps = height + dt * np.cumsum(free)
    hit = np.flatnonzero(gaps < 0)[0]
    np.testing.assert_allclose(speeds[: hit - 1], free[: hit - 1], rtol=1e-12)
    gap = height + dt * np.cumsum(speeds)
    assert -1e-3 < gap[hit] < 0.2 * gaps[hit - 1] + 1e-4
    assert abs(gap[hit + 3]) < 3e-4


def test_a_stiff_spring_with_little_damping_still_bounces():
    """Materials rule the rebound: an elastic ball comes back to nearly its first height."""
    model = compiled(
        '<geom type="plane" size="5 5 1"/>'
        '<body pos="0 0 .55"><freejoint/><geom size=".05" mass="1"/></body>',
        1e-4,
    )
    material = sapwood.ContactMaterial(stiffness=1e5, dissipation_time=0.0)
    highest = []
    for speculative in (True, False):
        stepper = Stepper(model, contact=material, speculative=speculative)
        data, heights = mujoco.MjData(model), []
        stepper.run(data, 6500, lambda data, heights=heights: heights.append(data.qpos[2]))
        lowest = int(np.argmin(heights))
        highest.append(max(heights[lowest:]) - 0.05)
    assert highest[0] == pytest.approx(highest[1], rel=5e-3)
    assert highest[0] > 0.45


# ---- energy ------------------------------------------------------------------------------------

STAIRS = "".join(
    f'<geom type="box" size=".15 1 {0.05 * (8 - i)}" pos="{0.3 * i} 0 {0.05 * (8 - i)}"'
    ' friction=".3"/>'
    for i in range(8)
)
ROUGH_RIDES = {
    "stairs": (
        STAIRS + '<body pos="-.05 0 1.1" euler="10 20 30"><freejoint/>'
        '<geom type="box" size=".08 .06 .05" friction=".3"/></body>',
        {0: 1.5},
    ),
    "stack": (
        "".join(
            f'<body pos="{0.01 * i} 0 {0.05 + 0.1 * i}"><freejoint/>'
            '<geom type="box" size=".05 .05 .05"/></body>'
            for i in range(4)
        ),
        {0: 1.5, 6: 1.5, 12: 1.5, 18: 1.5},
    ),
    "top": (
        '<body pos="0 0 .1" euler="8 0 0"><freejoint/>{}</body>'.format(
            '<geom type="cylinder" size=".06 .01"/>'
            '<geom type="capsule" fromto="0 0 -.09 0 0 .05" size=".008"/>'
        ),
        {5: 60.0},
    ),
}


def energies(model, stepper, speeds, steps):
    """Kinetic and potential energy after each step, J."""
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    data, measured, found = mujoco.MjData(model), mujoco.MjData(model), []
    for dof, speed in speeds.items():
        data.qvel[dof] = speed

    def measure(data):
        measured.qpos[:], measured.qvel[:] = data.qpos, data.qvel
        mujoco.mj_forward(model, measured)
        found.append(measured.energy.sum())

    measure(data)
    stepper.run(data, steps, measure)
    return np.array(found)


@pytest.mark.parametrize("dt", [0.002, 0.01])
@pytest.mark.parametrize("name", ROUGH_RIDES)
def test_energy_grows_by_no_more_than_the_scheme_errs(name, dt):
    """A box down the stairs, a stack that falls over, and a top. Turning bodies may gain in a step
    by the second-order errors of symplectic Euler: less than a fall loses in one by the same,
    m g^2 dt^2/2. What only falls and slides never gains."""
    bodies, speeds = ROUGH_RIDES[name]
    model = compiled('<geom type="plane" size="9 9 1"/>' + bodies, dt)
    found = energies(model, Stepper(model), speeds, round(2.0 / dt))
    assert found.max() == found[0]
    error = 0.0 if name == "stack" else 0.5 * 9.81**2 * dt**2 * model.body_subtreemass[0]
    assert np.diff(found).max() < error + 1e-10
    assert found[-1] < 0.8 * found[0]
