"""Violations are released as fast as by MuJoCo, and what moves is held as closely as ever."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from release_models import LIMIT, SPHERE, WELD, compiled, peak_speed
from sapwood import ConstraintMaterial, ContactMaterial
from sapwood.mujoco import StepError, Stepper
from sapwood.mujoco.reading.engine import engine
from sapwood.mujoco.reading.release import release_speeds
from sapwood.mujoco.stepping.stages import Stages
from sapwood.reference.problem.regularization import (
    HELD,
    effective_inverse_mass,
    regularize,
    regularize_group,
    release_speed,
)
from sapwood.studies import scenes

# stiffness and damping of MuJoCo's default solref
MUJOCOS = {"K": 1.0 / (0.95 * 0.02) ** 2, "B": 2.0 / (0.95 * 0.02)}


def jump(data):
    """The hand moves by 2 cm at once; limits and overlaps are violated from the start."""
    if len(data.mocap_pos):
        data.mocap_pos[0, 0] += 0.02
    elif data.qpos.size == 1:
        data.qpos[0] = math.radians(35.0)


@pytest.mark.parametrize(
    ("solref", "time_step"),
    [*(("", t) for t in (0.001, 0.002, 0.005, 0.01)), ("0.04 1", 0.005), ("0.02 0.6", 0.002),
     ("-2000 -80", 0.001)],
)  # fmt: skip
@pytest.mark.parametrize("xml", [SPHERE, LIMIT, WELD], ids=["overlap", "limit", "jump"])
def test_a_violation_is_released_no_faster_than_by_mujoco(xml, solref, time_step):
    word = "solreflimit" if xml is LIMIT else "solref"
    model = compiled(xml, time_step, f"{word}='{solref}'" if solref else "")
    expected, _ = peak_speed(model, lambda data: mujoco.mj_step(model, data), jump)
    stepper = Stepper(model)
    found, data = peak_speed(stepper.model, stepper.step, jump)
    # a jump of a mocap body may be the start of a motion: up to a speed it is followed at once
    floor = 0.35 if xml is WELD else 0.1
    assert found <= max(1.02 * expected, floor)
    # it does come out, and with full correction it would be fired
    assert found > 0.4 * expected
    fired, _ = peak_speed(stepper.model, Stepper(model, release_speed=math.inf).step, jump)
    assert fired > 1.5 * found
    if xml is not SPHERE:
        at = data.qpos[0] - (data.mocap_pos[0, 0] if xml is WELD else math.radians(30.0))
        assert at < 2e-3 + 0.02 * math.exp(-200 * time_step / 0.2)


def test_what_rests_carries_its_load_no_deeper():
    """Eighty times its weight on a body: the load alone needs more than `release_speed`."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option timestep=".01"/><worldbody><geom type="plane" size="5 5 1"/>
        <body pos="0 0 .05"><freejoint/><geom size=".05" mass="1"/></body>
        <body pos="0 0 .15"><joint type="slide" axis="0 0 1"/><geom size=".05" mass="80"/></body>
        </worldbody></mujoco>"""
    )
    depths = []
    for speed in (0.1, math.inf):
        stepper = Stepper(model, friction="convex", release_speed=speed)
        data = mujoco.MjData(model)
        stepper.run(data, 400)
        assert np.abs(data.qvel).max() < 1e-4
        depths.append(0.05 - data.qpos[2])
    # full correction, dt + tau_d = 20 ms, has more than the release speed
    assert depths[1] / 0.02 > 0.1
    assert depths[0] < depths[1]


LOADED = """<mujoco><option timestep="{dt}"/><worldbody><body>
<joint type="slide" axis="0 0 -1" limited="true" range="-1 0" damping="{damping}"/>
<geom size=".05" mass="{mass}" contype="0"/></body>{weight}</worldbody></mujoco>"""


@pytest.mark.parametrize("damping", [0.0, 10.0, 1e5])
@pytest.mark.parametrize("time_step", [0.002, 0.01])
def test_a_limit_bears_what_is_laid_on_it(time_step, damping):
    """A kilonewton on 10 g, which is 1e4 times its weight, with implicit damping and without."""
    model = mujoco.MjModel.from_xml_string(
        LOADED.format(dt=time_step, damping=damping, mass=0.01, weight="")
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qfrc_applied[0] = 1e3
    stepper.run(data, round(1.0 / time_step))
    assert 0.0 < data.qpos[0] < 1e3 * time_step * 2.0 * time_step * 100.0 * 0.01 / 39.0
    assert abs(data.qvel[0]) < 1e-6


@pytest.mark.parametrize("time_step", [0.002, 0.01])
def test_an_equality_constraint_bears_what_pulls_at_it(time_step):
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{time_step}"/><worldbody><body name="held"><freejoint/>
        <geom size=".05" mass=".01"/></body></worldbody>
        <equality><connect body1="held" anchor="0 0 0"/></equality></mujoco>"""
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.xfrc_applied[1, 2] = -1e3
    stepper.run(data, round(1.0 / time_step))
    assert abs(data.qpos[2]) < 0.01
    assert np.abs(data.qvel).max() < 1e-3


def test_a_model_in_millimetres_does_not_fall_through_its_floor():
    depths = []
    for unit in (1.0, 10.0, 1000.0):
        model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><option timestep=".005" gravity="0 0 {-9.81 * unit}"/><worldbody>
            <geom type="plane" size="{5 * unit} {5 * unit} {unit}"/><body pos="0 0 {0.1 * unit}">
            <freejoint/><geom type="box" size="{0.1 * unit} {0.1 * unit} {0.1 * unit}" mass="1"/>
            </body></worldbody></mujoco>"""
        )
        data = mujoco.MjData(model)
        Stepper(model).run(data, 400)
        depths.append((0.1 * unit - data.qpos[2]) / (0.2 * unit))
    np.testing.assert_allclose(depths, depths[0], rtol=1e-6)
    assert 0.0 < depths[0] < 1e-4


def test_release_speeds_follow_gravity_and_size():
    model = compiled(SPHERE)
    g, s = 9.81, model.stat.meansize
    assert release_speeds(model, None) == pytest.approx(
        (0.1 * (g * s) ** 0.5, 0.01 * (g / s) ** 0.5)
    )
    assert release_speeds(model, 0.3) == (0.3, 0.3)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_GRAVITY
    assert release_speeds(model, None) == pytest.approx((s, 0.1))
    model.opt.disableflags = 0
    model.opt.gravity[:] = 0.0
    assert release_speeds(model, None) == pytest.approx((s, 0.1))


def test_loads_are_those_of_the_mirror(rng):
    """R_n of piles under loads and of bodies that meet fast: of free bodies dv = dt M^-1 f."""
    model = scenes.clutter(10, seed=3).compile()
    stepper, data = Stepper(model, time_step=0.01), mujoco.MjData(model)
    stepper.run(data, 120)
    weight = stepper.parameters.forest["geom_inverse_mass"]
    stiffer = held = struck = 0
    for speed in (0.0, 0.0, 0.0, 20.0, 60.0):
        size = (model.nbody - 1, 3)
        data.qvel.reshape(-1, 6)[:, :3] += speed * rng.normal(size=size)
        data.xfrc_applied[1:, :3] = 10.0 ** rng.uniform(3.0, 5.5) * rng.normal(size=size)
        problem = stepper.problem(data)
        stages = Stages(stepper.parameters, engine())
        scratch = mujoco.MjData(stepper.model)
        mujoco.mj_copyData(scratch, stepper.model, data)
        stages.begin(scratch)
        stages.gather(scratch)
        one, two = weight[stages.core.contacts()["geom"]].T
        alone = problem.tree_b < 0
        body_w = np.where(alone, one + two, one), np.where(alone, 0.0, two)
        given = {
            "dt": 0.01,
            "phi0": problem.phi0,
            "k": np.full(problem.n_contacts, np.inf),
            "tau_d": problem.tau_d,
        }
        _, without, _ = regularize(problem, **given)
        R_t, R_n, _ = regularize(
            problem,
            **given,
            free_change=0.01 * scratch.qacc_smooth,
            body_w=np.stack(body_w, axis=1),
            load_speed=2.5 * stepper.parameters.release.speed,
            slip_ratio=problem.slip_ratio,
            slip_speed=stepper.parameters.slip.speed,
        )
        np.testing.assert_allclose(problem.R_t, R_t, rtol=1e-9)
        held += np.count_nonzero(R_t < 0.999e-6 * effective_inverse_mass(problem))
        slow = problem.v_hat_n == -problem.phi0 / (0.01 + problem.tau_d)
        assert slow.sum() > 10
        np.testing.assert_allclose(problem.R_n[slow], R_n[slow], rtol=1e-9)
        stiffer += np.count_nonzero(R_n < 0.999 * without)
        struck += np.count_nonzero((R_n < 0.999 * without) & (problem.phi0 > 0.0))
    assert stiffer > 20
    assert struck > 0
    assert held > 0


def walk(stepper, data):
    """Single steps, and a run."""
    stepper.step(data)
    stepper.step(data)
    return stepper.run(data, 1500)


def test_a_step_that_ends_with_a_deep_overlap_is_told_of_once():
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option timestep=".002"/><worldbody><geom type="plane" size="5 5 1"/>
        <body pos="0 0 .05"><freejoint/><geom name="ball" size=".1"/></body></worldbody></mujoco>"""
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    message = r"step at time 0 s: ended with a rigid contact whose overlap is 0\.24 of the width"
    with pytest.warns(RuntimeWarning, match=message) as told:
        result = walk(stepper, data)
    assert [warning.filename for warning in told] == [__file__]
    # it comes out by and by
    assert 0 < result.overlapping_steps < 1500
    assert result.overlap[0] > 0.2
    assert result.overlap[-1] < 1e-3
    mujoco.mj_resetData(model, data)
    # another stepper does not warn again
    result = Stepper(model).run(data, 3)
    assert result.overlapping_steps == 3
    # a given stiffness may yield
    soft = Stepper(model, contact=ContactMaterial(stiffness=100.0))
    mujoco.mj_resetData(model, data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = soft.run(data, 3)
    assert not result.overlap.any()


@pytest.mark.parametrize("much", [1.0, 1e8])
def test_a_stiffness_that_was_given_is_not_held_back(much):
    given = ContactMaterial(stiffness=2e4 * much, dissipation_time=0.0)
    model = compiled(SPHERE, 0.001)
    peaks = [
        peak_speed(model, Stepper(model, contact=given, release_speed=s).step, jump)[0]
        for s in (0.1, math.inf)
    ]
    assert peaks[0] == peaks[1] > 0.2
    hinge = ConstraintMaterial(stiffness=50.0 * much, dissipation_time=0.0)
    model = compiled(LIMIT, 0.001)
    peaks = [
        peak_speed(model, Stepper(model, constraint=hinge, release_speed=s).step, jump)[0]
        for s in (0.1, math.inf)
    ]
    assert peaks[0] == peaks[1] > 0.3


def test_speeds_are_those_of_the_mirror(rng):
    """R and v_hat of a limit, for every depth and speed of the joint."""
    model = compiled(LIMIT)
    stepper, data = Stepper(model), mujoco.MjData(model)
    V = release_speeds(model, None).rate
    for _ in range(20):
        depth, rate = math.radians(rng.uniform(-1.0, 8.0)), rng.normal(0.0, 8.0)
        data.qpos[0], data.qvel[0] = math.radians(30.0) + depth, rate
        problem = stepper.problem(data)
        rows = problem.constraints[0]
        upper = int(np.argmin(rows.phi0))
        full = depth / (2.0 * stepper.time_step)
        speed = release_speed(depth, full, rate, **MUJOCOS, speed=V, one_sided=True)
        w = 1.0 / problem.A[0]
        if depth <= 0.0 or full <= speed:
            assert rows.v_hat[upper] == pytest.approx(full, rel=1e-9, abs=1e-12)
            assert rows.R[upper] == pytest.approx(0.01 * w / (4.0 * math.pi**2), rel=1e-9)
        else:
            assert rows.v_hat[upper] == pytest.approx(speed, rel=1e-9)
            expected = 0.01 * w / (4.0 * math.pi**2) * speed / full
            assert rows.R[upper] == pytest.approx(expected, rel=1e-9)


def test_what_is_found_late_parts_no_faster_than_it_has_come(rng):
    """A ball inside of a floor, without gravity, gains no energy but that of its release."""
    model = compiled(SPHERE)
    model.opt.gravity = 0.0
    stepper, data, late = Stepper(model), mujoco.MjData(model), 0
    V, radius = release_speeds(model, None).speed, float(model.geom_size[1, 0])
    for _ in range(200):
        mujoco.mj_resetData(model, data)
        u, depth = 10.0 ** rng.uniform(-2.0, 1.0), 10.0 ** rng.uniform(-5.0, -2.0)
        data.qpos[2], data.qvel[2] = radius - depth, -u
        full = depth / (2.0 * stepper.time_step)
        stepper.step(data)
        bound = release_speed(depth, full, u, **MUJOCOS, speed=V, one_sided=True)
        v_hat = min(full, bound)
        # near-rigid: R is at most w/(4 pi^2), with 1.7 times the inverse mass of the ball
        assert v_hat - 1.7 / 39.0 * (u + v_hat) <= data.qvel[2] <= v_hat
        late += math.isfinite(bound) and bound == u
        assert math.isinf(bound) or bound <= max(V, u, depth / 0.05)
    assert late > 5


@pytest.mark.parametrize("offset", [0.0, 1e-17, 1e-12, 5e-10])
@pytest.mark.parametrize("joint", ['type="ball"', 'axis="0 1 0"'])
def test_an_overlap_that_no_joint_can_undo_is_left_as_it_is(joint, offset):
    """A post overlaps the link that turns about its end: no force there moves anything."""
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep=".002"/><worldbody><geom size=".02" pos="0 0 .1"/>
        <body pos="0 0 .1"><joint {joint}/>
        <geom type="capsule" fromto="{offset} 0 0 .2 0 .2" size=".02"/></body></worldbody></mujoco>
        """
    )
    data, free = mujoco.MjData(model), mujoco.MjData(model)
    Stepper(model).run(data, 100)
    assert data.ncon
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    Stepper(model).run(free, 100)
    np.testing.assert_allclose(data.qvel, free.qvel, atol=1e-6)
    assert np.abs(data.qvel).max() > 1.0


def test_close_to_a_centre_of_rotation_bodies_press_no_harder_than_they_weigh():
    """A leg overlaps the trunk at its hip, where no release speed brings it out."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option timestep=".002" gravity="0 0 0"/><worldbody>
        <geom size=".1"/><body><joint axis="0 1 0"/>
        <geom type="capsule" fromto=".001 0 0 .001 0 -.3" size=".03" mass="2"/></body></worldbody>
        </mujoco>"""
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    theirs = mujoco.MjData(model)
    fastest = 0.0
    for _ in range(100):
        stepper.step(data)
        mujoco.mj_step(model, theirs)
        fastest = max(fastest, abs(theirs.qvel[0]))
        w = model.body_invweight0[1, 0]
        contacts = stepper.contacts
        impulse = contacts.force[:, 2].sum() * model.opt.timestep
        full = np.maximum(-contacts.distance, 0.0) / (2.0 * model.opt.timestep)
        assert impulse <= 4.0 * math.pi**2 * full.sum() / w * (1.0 + 1e-9)
        assert abs(data.qvel[0]) < max(1.0, 2.0 * fastest)


DAMPED = """<mujoco><option timestep="{time_step}"/><worldbody>
<body><joint type="slide" axis="0 0 1" damping="{damping}" limited="true" range=".04 .4"/>
<geom size=".1" mass="50"/>
<body pos="0 0 .2"><joint axis="0 1 0" damping="1"/>
<geom type="capsule" fromto="0 0 0 .5 0 0" size=".05" mass="5"/></body></body></worldbody>
</mujoco>"""


@pytest.mark.parametrize("time_step", [0.001, 0.002, 0.01])
@pytest.mark.parametrize("damping", [0.0, 1e3, 1e7])
def test_what_is_damped_is_pressed_no_harder_than_it_weighs(damping, time_step):
    """A lift that starts 4 cm beyond its limit, with an arm on it that would be shaken."""
    model = mujoco.MjModel.from_xml_string(DAMPED.format(time_step=time_step, damping=damping))
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.step(data)
    force = data.qfrc_constraint[0]
    full = 0.04 / (2.0 * time_step)
    V = release_speeds(model, None).speed
    speed = release_speed(0.04, full, 0.0, **MUJOCOS, speed=V)
    mass = model.body_subtreemass[1]
    if damping > 0.0:
        # by its mass, or twice what holds its weight
        holding = 2.0 * mass * 9.81 * time_step
        most = max(4.0 * math.pi**2 * mass * min(full, HELD * V), holding)
        assert force * time_step < most
    assert 0.0 < data.qvel[0] < 1.01 * speed
    # it comes out, faster than MuJoCo's
    theirs = mujoco.MjData(model)
    stepper.run(data, round(2.0 / time_step))
    for _ in range(round(2.0 / time_step)):
        mujoco.mj_step(model, theirs)
    assert data.qpos[0] > min(0.039, theirs.qpos[0])


@pytest.mark.parametrize("implicit", [False, True])
def test_only_what_is_implicit_weighs_less(implicit):
    """R of a limit of a damped joint: by 1/M_dd where that is more than its inverse mass."""
    damping = 1e5 if implicit else 0.0
    model = mujoco.MjModel.from_xml_string(DAMPED.format(time_step=0.002, damping=damping))
    stepper, data = Stepper(model), mujoco.MjData(model)
    problem = stepper.problem(data)
    rows = problem.constraints[0]
    full = 0.04 / 0.004
    V = release_speeds(model, None).speed
    speed = release_speed(0.04, full, 0.0, **MUJOCOS, speed=V)
    own = np.linalg.inv(problem.A_block(0))[0, 0]
    least = 1.0 / model.body_subtreemass[1]
    assert (own < 0.5 * least) == implicit
    most = 4.0 * math.pi**2 * min(full, HELD * V) / least if implicit else math.inf
    R, v_hat, _, _ = regularize_group(problem, 0, dt=0.002, release=speed, release_impulse=most)
    np.testing.assert_allclose(rows.R, R, rtol=1e-9)
    np.testing.assert_allclose(rows.v_hat, v_hat, rtol=1e-9)
    lower = int(np.argmin(rows.phi0))
    expected = least / (HELD * V) if implicit else 0.01 * own / full
    assert R[lower] == pytest.approx(expected / (4 * math.pi**2) * speed)


@pytest.mark.parametrize("speed", [0.0, -1.0, math.nan])
def test_a_speed_that_is_none_is_refused(speed):
    with pytest.raises(ValueError, match=r"release_speed = .*: must be > 0"):
        Stepper(compiled(SPHERE), release_speed=speed)


def test_an_error_names_what_was_violated():
    model = compiled(LIMIT)
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qpos[0], data.qfrc_applied[0] = math.radians(40.0), 1e20
    with pytest.raises(StepError, match=r"joint 'hinge' is 0\.17\d* rad beyond its limit"):
        stepper.step(data)
    model = compiled(SPHERE)
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qfrc_applied[2] = 1e20
    with pytest.raises(StepError, match=r"geom 0 \(unnamed\) and geom 1 .* overlap by 0\.01 m"):
        stepper.step(data)
