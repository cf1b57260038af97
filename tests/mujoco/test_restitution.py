"""Impacts with a coefficient of restitution: speeds, heights, energy."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import compiled
from sapwood.mujoco import (
    Batch,
    ContactMaterial,
    DifferentiableModel,
    NotSupported,
    Stepper,
    linearize,
)
from sapwood.mujoco.reading.engine import engine
from sapwood.mujoco.stepping.stages import Stages
from sapwood.reference.problem.regularization import regularize
from sapwood.reference.step.rebounds import Impacts, share
from sapwood.studies.conservation import impacts, tumbling_bodies
from sapwood.trajectory import TrajectoryError, simulate

FLOOR = '<geom name="floor" type="plane" size="5 5 1"/>'
BALL = '<body pos="0 0 1.05"><freejoint/><geom name="ball" size=".05"/></body>'
DROP = FLOOR + BALL


def fall(model, seconds, **options):
    """Velocities and heights of the first body before and after every step."""
    stepper, data = Stepper(model, **options), mujoco.MjData(model)
    v, z = [data.qvel[2]], [data.qpos[2]]
    for _ in range(round(seconds / stepper.time_step)):
        stepper.step(data)
        v.append(data.qvel[2])
        z.append(data.qpos[2])
    return np.array(v), np.array(z)


def ratios(v):
    """Speed of separation over speed of approach of every impact, and the approach."""
    impacts = np.flatnonzero((v[:-1] < 0.0) & (v[1:] > 0.0))
    return -v[impacts + 1] / v[impacts], -v[impacts]


# ---- one ball ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("e", "speculative"), [(0.1, True), (0.5, True), (0.8, True), (1.0, True), (0.8, False)]
)
@pytest.mark.parametrize("dt", [0.0005, 0.002, 0.005])
def test_a_ball_separates_with_e_times_its_approach(e, speculative, dt):
    """Without speculative contacts it overlaps first, which is corrected with up to u/2."""
    v, _ = fall(
        compiled(DROP, dt), 1.5, contact=ContactMaterial(restitution=e), speculative=speculative
    )
    found, approach = ratios(v)
    fast = approach > 4.0 * 9.81 * dt
    assert fast.sum() >= 1
    np.testing.assert_allclose(found[fast], e, rtol=0.01)


@pytest.mark.parametrize("e", [0.6, 0.8])
def test_heights_fall_by_the_square_of_e(e):
    """To 3 u dt: of a gap of up to u dt in which the impact begins, and of Euler's method."""
    dt = 0.0005
    v, z = fall(compiled(DROP, dt), 2.0, contact=ContactMaterial(restitution=e))
    tops = z[:-1][(v[:-1] > 0.0) & (v[1:] <= 0.0)][:3] - 0.05
    height = 1.0
    for top in tops:
        u = np.sqrt(2.0 * 9.81 * height)
        assert abs(top - e**2 * height) <= 3.0 * u * dt + 0.003 * height
        height = top


def test_a_ball_comes_to_rest():
    """The threshold ends the rebounds."""
    v, z = fall(compiled(DROP, 0.002), 3.0, contact=ContactMaterial(restitution=0.5))
    assert np.abs(v[-200:]).max() < 1e-6
    assert abs(z[-1] - 0.05) < 1e-4


def test_materials_without_restitution_do_not_rebound():
    model = compiled(DROP, 0.002)
    without, _ = fall(model, 1.0)
    one, _ = fall(model, 1.0, materials={"ball": ContactMaterial(restitution=0.8)})
    np.testing.assert_array_equal(one, without)
    # a compliant contact rebounds by its stiffness alone
    soft = {"ball": ContactMaterial(restitution=0.8), "floor": ContactMaterial(stiffness=1e5)}
    plain = {"floor": ContactMaterial(stiffness=1e5)}
    np.testing.assert_array_equal(
        fall(model, 1.0, materials=soft)[0], fall(model, 1.0, materials=plain)[0]
    )


@pytest.mark.parametrize(("one", "two"), [(0.9, 0.3), (0.5, 0.5), (1.0, 0.0)])
def test_the_rule_of_a_pair_is_that_of_friction(one, two):
    """2 e1 e2/(e1 + e2), of the model's own numbers too."""
    model = compiled(DROP, 0.002)
    materials = {
        "ball": ContactMaterial(restitution=one), "floor": ContactMaterial(restitution=two)
    }  # fmt: skip
    found, approach = ratios(fall(model, 0.7, materials=materials)[0])
    if two == 0.0:
        assert approach.max() < 0.2
    else:
        assert found[0] == pytest.approx(2.0 * one * two / (one + two), rel=0.01)
    entries = "".join(
        f'<numeric name="sapwood/geom/{name}" data="0 -1 -1 {e}"/>'
        for name, e in (("ball", one), ("floor", two))
    )
    written = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="0.002"/><custom>{entries}</custom>
        <worldbody>{DROP}</worldbody></mujoco>"""
    )
    np.testing.assert_array_equal(fall(written, 0.7)[0], fall(model, 0.7, materials=materials)[0])


def test_restitution_is_exempt_from_the_release_speed():
    """A ball that is 1 cm deep as it arrives separates with e u, not with the release speed."""
    model = compiled(FLOOR + BALL.replace("1.05", "0.04"), 0.002)
    stepper, data = Stepper(model, contact=ContactMaterial(restitution=0.7)), mujoco.MjData(model)
    data.qvel[2] = -20.0
    stepper.step(data)
    assert data.qvel[2] == pytest.approx(14.0, rel=0.01)


def test_a_ceiling_and_a_wall_are_hit_like_a_floor():
    scene = """<geom type="plane" size="5 5 1" pos="0 0 2" zaxis="0 0 -1"/>
    <geom type="plane" size="5 5 1" pos="2 0 0" zaxis="-1 0 0"/>
    <body pos="0 0 1.9"><freejoint/><geom size=".05"/></body>
    <body pos="1.9 0 0"><freejoint/><geom size=".05"/></body>"""
    model = compiled(scene, 0.002)
    stepper = Stepper(model, contact=ContactMaterial(restitution=0.9, friction=0.0))
    data, before = mujoco.MjData(model), []
    data.qvel[[2, 6]] = 5.0
    for _ in range(30):
        before.append(data.qvel[[2, 6]].copy())
        stepper.step(data)
        if (data.qvel[[2, 6]] < 0.0).any():
            break
    hit = data.qvel[[2, 6]] < 0.0
    np.testing.assert_allclose(data.qvel[[2, 6]][hit], -0.9 * before[-1][hit], rtol=0.01)
    assert hit.any()


# ---- energy ------------------------------------------------------------------------------------


def test_impacts_never_gain_energy(rng):
    """With friction and many contacts at once; correction of overlaps is the only gain there is."""
    found = [
        impacts(rng, rng.choice([0.0, 0.3, 1.0, 2.0]), rng.choice([0.5, 1.0])) for _ in range(60)
    ]
    assert max(each.gain for each in found) <= 1e-8
    assert sum(each.impacts for each in found) > 60
    assert sum(each.limited for each in found) > 0


def test_a_limited_rebound_is_the_largest_without_gain(rng):
    """The combination of the two solutions by bisection, against the step and the mirror."""
    checked = 0
    while checked < 5:
        stepper, data = tumbling_bodies(rng, 2.0, 1.0)
        before = mujoco.MjData(stepper.model)
        for _ in range(150):
            mujoco.mj_copyData(before, stepper.model, data)
            if stepper.run(data, 1).fallbacks["rebound"]:
                break
        else:
            continue
        with_rebound = stepper.problem(before)
        if (with_rebound.phi0 < 0.0).any():
            continue
        parts = {"dt": stepper.time_step, "phi0": with_rebound.phi0, "tau_d": with_rebound.tau_d}
        _, R_n, v_hat_n = regularize(with_rebound, k=np.full(len(with_rebound.mu), np.inf), **parts)
        arrays = {
            name: getattr(with_rebound, name)
            for name in ("tree_nv", "A", "v_star", "tree_a", "tree_b", "J", "mu", "R_t")
        }
        without = sapwood.ContactProblem(**arrays, dt=0.002, R_n=R_n, v_hat_n=v_hat_n)
        ends = [
            sapwood.solve(problem, before.qvel, settings=stepper.settings)
            for problem in (without, with_rebound)
        ]
        if ends[0].n_islands > 1:
            continue
        free = with_rebound.to_dense()[1] @ with_rebound.v_star

        def work(s, ends=ends, free=free):
            gamma, v_c = (
                ((1.0 - s) * getattr(ends[0], name) + s * getattr(ends[1], name)).ravel()
                for name in ("gamma", "v_c")
            )
            return gamma @ (free + v_c)

        low, high = 0.0, 1.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if work(middle) <= 0.0 else (low, middle)
        expected = (1.0 - low) * ends[0].v + low * ends[1].v
        scale = np.abs(expected).max()
        np.testing.assert_allclose(data.qvel, expected, rtol=0, atol=1e-5 * scale)
        impacts = [Impacts(end.gamma, end.v_c) for end in ends[::-1]]
        v_hat_t = np.zeros((len(with_rebound.mu), 2))
        s = share(*impacts, free.reshape(-1, 3), v_hat_t, fall=0.0)
        assert s == pytest.approx(low, abs=1e-6)
        checked += 1


def test_balls_in_a_row_gain_nothing():
    """One impact at three contacts keeps the energy of equal balls, but for near-rigid ones."""
    bodies = "".join(
        f'<body pos="{0.1 * i + (0.05 if i else 0.0)} 0 0"><joint type="slide" axis="1 0 0"/>'
        '<geom size=".05"/></body>'
        for i in range(4)
    )
    model = compiled(bodies, 0.001)
    stepper, data = Stepper(model, contact=ContactMaterial(restitution=1.0)), mujoco.MjData(model)
    data.qvel[0] = 2.0
    kinetic = data.qvel @ data.qvel
    for _ in range(200):
        stepper.step(data)
        assert data.qvel @ data.qvel <= kinetic * (1.0 + 1e-9)
    assert data.qvel.sum() == pytest.approx(2.0, rel=1e-9)
    assert data.qvel @ data.qvel == pytest.approx(kinetic, rel=0.03)


# ---- the mirror, derivatives, errors -----------------------------------------------------------


def test_regularization_is_that_of_the_mirror():
    model = compiled(DROP, 0.002)
    stepper, data = Stepper(model, contact=ContactMaterial(restitution=0.8)), mujoco.MjData(model)
    seen = 0
    while data.qvel[2] <= 0.0:
        problem, u = stepper.problem(data), -data.qvel[2]
        stages, scratch = Stages(stepper.parameters, engine()), mujoco.MjData(stepper.model)
        mujoco.mj_copyData(scratch, stepper.model, data)
        stages.begin(scratch)
        if problem.n_contacts and problem.v_hat_n[0] > 0.0:
            given = {"dt": 0.002, "phi0": problem.phi0, "tau_d": problem.tau_d, "k": [np.inf]}
            _, R_n, v_hat_n = regularize(problem, **given, rebound=[0.8 * u])
            np.testing.assert_allclose(problem.R_n, R_n, rtol=1e-12)
            np.testing.assert_allclose(problem.v_hat_n, v_hat_n, rtol=1e-12)
            seen += 1
        stepper.step(data)
    assert seen == 1


def test_derivatives_of_an_impact():
    """By the state and by the restitution, against differences of steps."""
    model = compiled(DROP, 0.002)
    q, v, bar = [0.0, 0.0, 0.052, 1, 0, 0, 0], [0.3, 0.0, -4.0, 0.0, 1.0, 0.0], np.ones(6)

    def stepped(speed, e=0.8):
        ball = ContactMaterial(restitution=e, friction=0.3)
        floor = ContactMaterial(restitution=0.6, friction=0.3)
        stepper = Stepper(model, materials={"ball": ball, "floor": floor})
        by = [("geom", "ball", "restitution")]
        differentiable = DifferentiableModel(stepper, parameters=by)
        start = differentiable.start(q, [*v[:2], speed, *v[3:]])
        return differentiable, differentiable.step(*start, np.zeros(0))

    differentiable, taken = stepped(v[2])
    assert 2.0 < taken.v[2] < 3.3
    parameters = {name: np.zeros_like(x) for name, x in differentiable.parameters.items()}
    pulled = differentiable.pull(taken.tape, np.zeros(7), bar, parameters)
    h = 1e-4
    by_speed = [stepped(v[2] + s * h)[1].v @ bar for s in (1, -1)]
    assert pulled.v[2] == pytest.approx((by_speed[0] - by_speed[1]) / (2 * h), rel=1e-4)
    by_e = [stepped(v[2], 0.8 + s * h)[1].v @ bar for s in (1, -1)]
    expected = (by_e[0] - by_e[1]) / (2 * h)
    assert parameters["geom/ball/restitution"] == pytest.approx(expected, rel=1e-4)


def test_an_impact_that_would_gain_energy_has_no_derivatives(rng):
    """The combination of two solutions is no solution of one equation: the status says so."""
    for _ in range(20):
        stepper, data = tumbling_bodies(rng, 2.0, 1.0)
        before = mujoco.MjData(stepper.model)
        for _ in range(150):
            mujoco.mj_copyData(before, stepper.model, data)
            if stepper.run(data, 1).fallbacks["rebound"]:
                break
        else:
            continue
        assert linearize(stepper, before).status == "limited_rebound"
        system = DifferentiableModel(stepper)
        run = simulate(system, before.qpos, before.qvel, n_steps=1)
        with pytest.raises(TrajectoryError, match="gains no energy: such a step has no deriv"):
            run.vjp(v_bar=np.ones_like(run.v))
        return
    pytest.fail("no rebound is limited")


def test_wrong_restitutions_are_named():
    for value, rule in ((-0.1, "restitution"), (1.1, "must be <= 1"), (np.nan, "restitution")):
        with pytest.raises(ValueError, match=rule):
            ContactMaterial(restitution=value)
    with pytest.raises(ValueError, match="must be 0 with a finite stiffness or a core"):
        ContactMaterial(stiffness=1e5, restitution=0.5)
    core = sapwood.RigidCore(delta=1e-3)
    with pytest.raises(ValueError, match="must be 0 with a finite stiffness or a core"):
        ContactMaterial(core=core, restitution=0.5)
    model = compiled(DROP, 0.002)
    with pytest.raises(NotSupported, match="the restitution of geom 'floor'"):
        Stepper(model, scheme="midpoint", contact=ContactMaterial(restitution=0.5))
    wrong = mujoco.MjModel.from_xml_string(
        f"""<mujoco><custom><numeric name="sapwood/default" data="1e5 -1 -1 .5"/></custom>
        <worldbody>{DROP}</worldbody></mujoco>"""
    )
    with pytest.raises(NotSupported, match=r"restitution = 0\.5: must be 0 with a finite"):
        Stepper(wrong)


def test_an_impact_that_gains_nothing_rebounds_in_full():
    """The mirror: friction that opposes the slip, and a pair of contacts that would gain."""
    normal = Impacts(np.array([[0.0, 0.0, 1.5]]), np.array([[0.0, 0.0, 0.5]]))
    plastic = Impacts(np.array([[0.0, 0.0, 1.0]]), np.array([[0.0, 0.0, 0.0]]))
    free, still = np.array([[0.0, 0.0, -1.0]]), np.zeros((1, 2))
    assert share(normal, plastic, free, still, fall=0.0) == 1.0
    # 1.5 (3 - 1) > 0: half of the rebound in speed, without a loss
    lively = Impacts(np.array([[0.0, 0.0, 3.0]]), np.array([[0.0, 0.0, 3.0]]))
    s = share(lively, plastic, free, still, fall=0.0)
    assert (1.0 + 2.0 * s) * (3.0 * s - 1.0) == pytest.approx(0.0, abs=1e-12)


def test_worlds_of_a_batch_may_differ_in_restitution():
    model = compiled(DROP, 0.002)
    batch = Batch(model, 3, contact=ContactMaterial(restitution=0.2))
    e = np.array([0.0, 0.5, 0.9])
    rows = batch.expand("sapwood.restitution")
    rows[:] = e[:, None]
    qvel, found = batch.bind("qvel"), np.zeros(3)
    for _ in range(250):
        before = qvel[:, 2].copy()
        batch.step()
        hit = (before < -1.0) & (qvel[:, 2] > before + 1.0)
        found[hit] = -qvel[hit, 2] / before[hit]
    np.testing.assert_allclose(found[1:], e[1:], rtol=0.01)
    assert abs(qvel[0, 2]) < 0.05
    rows[1, 0] = 1.1
    with pytest.raises(ValueError, match=r"sapwood.restitution\[1, 0\] = 1.1: must be in \[0, 1\]"):
        batch.step()


@pytest.mark.parametrize("e", [0.3, 0.8])
def test_linearize_knows_the_rebound(e):
    """The speed after an impact by the speed before it, with friction, against differences."""
    model = compiled(DROP, 0.002)
    stepper, data = Stepper(model, contact=ContactMaterial(restitution=e)), mujoco.MjData(model)
    data.qpos[2] = 0.052
    data.qvel[:] = 0.3, 0.0, -4.0, 0.0, 1.0, 0.0
    linear, nv = linearize(stepper, data), model.nv
    h, ends = 1e-5, []
    for s in (1.0, -1.0):
        copy = mujoco.MjData(model)
        mujoco.mj_copyData(copy, model, data)
        copy.qvel[2] += s * h
        stepper.step(copy)
        ends.append(copy.qvel.copy())
    column = (ends[0] - ends[1]) / (2.0 * h)
    np.testing.assert_allclose(linear.A[nv:, nv + 2], column, rtol=0, atol=1e-5)
    assert column[2] == pytest.approx(-e, abs=0.01)
