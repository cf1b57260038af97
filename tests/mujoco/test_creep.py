"""Bodies at rest do not creep by default, and sliding is as with a constant sigma."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapSettings, reference

mujoco = pytest.importorskip("mujoco")

from mujoco_models import boxes_on_floor
from sapwood.mujoco import Batch, Stepper
from sapwood.mujoco.reading.release import slip_speeds
from sapwood.studies import scenes
from sapwood.studies.loaded_scenes import SCENES, creep, incline, joint, scene, settled

BOX_ON_FLOOR = """<geom type="plane" size="5 5 .1"/>
<body pos="0 0 .05"><freejoint/><geom type="box" size=".05 .05 .05" mass="1"/></body>"""


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("friction", ["coulomb", "lagged"])
def test_nothing_at_rest_creeps(name, friction):
    """Below 1 um/s; a constant sigma lets the same scenes creep by sigma w dt f."""
    model = SCENES[name]()
    assert creep(model, friction=friction) < 1e-6
    assert creep(model, friction=friction, sigma=1e-3) > 1e-6


@pytest.mark.parametrize("scheme", ["midpoint", "implicit_euler"])
def test_nothing_creeps_by_other_schemes(scheme):
    assert creep(incline(), scheme=scheme) < 1e-6


@pytest.mark.parametrize("time_step", [0.002, 0.01])
@pytest.mark.parametrize("load", [1e2, 1e4])
def test_what_a_load_presses_does_not_creep(load, time_step):
    """A box holds a push of half of its load, below 2 um/s; a constant sigma lets it go."""
    model = scene(BOX_ON_FLOOR, f'timestep="{time_step}"')
    speeds = []
    for sigma in (None, 1e-3):
        stepper, data = Stepper(model, sigma=sigma), mujoco.MjData(model)
        data.xfrc_applied[1, [0, 2]] = 0.5 * load * 9.81, -load * 9.81
        stepper.run(data, 400)
        speeds.append(np.abs(data.qvel).max())
    assert speeds[0] < 2e-6
    assert speeds[1] > 5e-4


def test_a_thin_plate_under_a_heavy_box_does_not_creep():
    """1 g under 10 kg on an incline of 0.3 rad, at a tolerance that sees the plate's momentum."""
    gravity = f"{9.81 * np.sin(0.3)} 0 {-9.81 * np.cos(0.3)}"
    model = scene(
        '<geom type="plane" size="9 9 1"/>'
        '<body pos="0 0 .01"><freejoint/><geom type="box" size=".1 .1 .01" mass=".001"/></body>'
        '<body pos="0 0 .12"><freejoint/><geom type="box" size=".1 .1 .1" mass="10"/></body>',
        f'timestep="0.005" gravity="{gravity}"',
    )
    _, data = settled(model, settings=SapSettings(relative_tolerance=1e-10))
    assert np.abs(data.qvel[[0, 1, 6, 7]]).max() < 2e-6


@pytest.mark.parametrize("length", [0.01, 0.04])
def test_dry_friction_of_small_links_does_not_creep(length):
    """Two links of a finger: the speed of their surfaces is below 2 um/s at 20 ms."""
    link = f'<geom type="capsule" size="{0.1 * length}" fromto="0 0 0 {length} 0 0" mass=".01"/>'
    holds = [f'frictionloss="{factor * 0.01 * 9.81 * length}"' for factor in (3, 2)]
    model = scene(
        f'<body><joint axis="0 1 0" {holds[0]}/>{link}'
        f'<body pos="{length} 0 0"><joint axis="0 1 0" {holds[1]}/>{link}</body></body>',
        'timestep="0.02"',
    )
    assert creep(model, seconds=4.0) * length < 2e-6


@pytest.mark.slow
def test_a_small_pile_comes_to_rest():
    model = scenes.clutter(12, walls=True, seed=1).compile()
    stepper, _ = settled(model, seconds=8.0, time_step=0.01)
    contacts = stepper.contacts
    assert len(contacts) > 12
    assert np.median(contacts.slip_speed[contacts.force[:, 2] > 0.0]) < 1e-6


# ---- the rule -----------------------------------------------------------------------------------


def test_sigma_follows_the_slip_of_the_state(rng):
    """By the mirror in NumPy, to the bit up to the order of sums."""
    model = boxes_on_floor("15M")
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 100)
    sizes = 10.0 ** np.linspace(-7.0, 0.0, model.nv // 6)
    data.qvel[:] = rng.normal(size=model.nv) * np.repeat(sizes, 6)
    problem = stepper.problem(data)
    _, J = problem.to_dense()
    slip = (J @ data.qvel).reshape(-1, 3)[:, :2] - problem.v_hat_t
    V = stepper.parameters.slip.speed
    np.testing.assert_allclose(problem.slip_ratio, np.linalg.norm(slip, axis=1) / V, rtol=1e-10)
    w = reference.effective_inverse_mass(problem)
    sigma = np.maximum(1e-6, np.minimum(1e-3, 1e-3 * problem.slip_ratio))
    np.testing.assert_allclose(problem.R_t, sigma * w, rtol=1e-12)
    assert sigma.min() < 1e-4 < sigma.max()


def test_dry_friction_follows_the_velocity_in_its_unit():
    model = scene(
        '<body><freejoint/><geom size=".05" mass="1"/></body>'
        '<body><joint axis="0 1 0" frictionloss="5"/>'
        '<geom size=".05" pos=".1 0 0" mass="1"/></body>'
        '<body><joint type="slide" frictionloss="5"/><geom size=".05" mass="1"/></body>'
        '<body><joint name="a"/><geom size=".05" pos="0 .1 0" mass="1"/></body>',
        more='<tendon><fixed frictionloss="2"><joint joint="a" coef="3"/></fixed></tendon>',
    )
    model.dof_frictionloss[:6] = 1.0
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[:] = np.linspace(1e-3, 2e-3, model.nv)
    (group,) = stepper.problem(data).constraints
    speed, rate, _ = stepper.parameters.slip
    units = np.array([speed] * 3 + [rate] * 4 + [speed, rate])
    velocity = np.append(data.qvel[:8], 3.0 * data.qvel[8])
    np.testing.assert_allclose(group.slip_ratio, velocity / units, rtol=1e-12)
    assert speed != rate


def test_the_speed_scales_with_the_units():
    model = incline()
    speed, rate, stiction = slip_speeds(model, None)
    model.opt.gravity *= 1e3
    model.stat.meansize *= 1e3
    assert slip_speeds(model, None) == pytest.approx((1e3 * speed, rate, 1e3 * stiction))
    assert slip_speeds(model, 1e-3)[:2] == (0.0, 0.0)


def test_a_change_of_gravity_is_followed():
    steppers = []
    for late in (False, True):
        model = incline()
        model.opt.gravity[:] = [0.0, 0.0, -9.81] if late else [0.4, 0.0, -0.8]
        stepper, data = Stepper(model), mujoco.MjData(model)
        stepper.model.opt.gravity[:] = [0.4, 0.0, -0.8]
        stepper.run(data, 20)
        steppers.append(stepper.parameters.slip)
        assert steppers[0] == steppers[-1]
        assert np.array_equal(data.qvel, settled_at(data, stepper))
    assert steppers[0].speed < 0.01


def settled_at(data, stepper):
    """Velocities of the same steps by a new stepper of the current model."""
    again = mujoco.MjData(stepper.model)
    Stepper(stepper.model).run(again, round(data.time / stepper.time_step))
    return again.qvel


def test_what_slides_is_as_with_a_constant_sigma():
    """To the bit, while the slip exceeds the speed of the rule."""
    model = scene(BOX_ON_FLOOR)
    found = []
    for sigma in (None, 1e-3):
        stepper, data = Stepper(model, sigma=sigma), mujoco.MjData(model)
        data.qvel[:2] = 2.0, 1.0
        stepper.run(data, 30)
        found.append(np.concatenate([data.qpos, data.qvel]))
    assert abs(found[0][7]) > 0.1
    np.testing.assert_array_equal(found[0], found[1])


def test_a_number_holds_at_any_slip():
    model = incline()
    stepper, data = settled(model, sigma=2e-4)
    problem = stepper.problem(data)
    assert problem.slip_ratio is None
    np.testing.assert_allclose(
        problem.R_t, 2e-4 * reference.effective_inverse_mass(problem), rtol=1e-12
    )


def test_worlds_of_a_batch_take_the_same_steps():
    model = joint()
    batch = Batch(model, 2)
    batch.step(nstep=100)
    _, data = settled(model, seconds=0.5)
    np.testing.assert_array_equal(batch.qvel[0], data.qvel)
