"""Bodies and trees that rotate freely: forces of rotation at the middle of the step."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from helpers import rebuild
from mujoco_models import bias_of, mass_matrix, take_explicit_rotation
from sapwood.mujoco import Batch, DifferentiableModel, Stepper, linearize, sensitivities
from sapwood.mujoco.reading.trees import free_quaternions, turning_dofs
from sapwood.reference.step.free_rotation import free_rotation, tree_rotation
from sapwood.studies.conservation import floating_loop, floating_loop_change

OFFSETS = {"centred": "0 0 0", "offset": ".03 .02 -.01"}


def compiled(body, rest="", options='gravity="0 0 0"', time_step=0.002):
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option {options} timestep="{time_step}"/>
        <worldbody>{body}</worldbody>{rest}</mujoco>"""
    )


def box(offset="0 0 0", **options):
    """A free box, with its centre of mass away from its origin."""
    return compiled(
        f"""<body><freejoint/><geom type="box" size=".1 .05 .02" pos="{offset}"/></body>""",
        **options,
    )


def invariants(model, data):
    """Energy, angular momentum about the centre of mass, and momentum, of body 1."""
    mujoco.mj_forward(model, data)
    velocity = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, 1, velocity, 0)
    R, w = data.ximat[1].reshape(3, 3), velocity[:3]
    v = velocity[3:] + np.cross(w, data.xipos[1] - data.xpos[1])
    spin = R @ (model.body_inertia[1] * (R.T @ w))
    return 0.5 * (w @ spin + model.body_mass[1] * v @ v), spin, model.body_mass[1] * v


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize(
    ("speed", "time_step"), [(20.0, 0.002), (200.0, 0.002), (5.0, 0.01), (50.0, 0.01)]
)
def test_a_tumbling_box_keeps_energy_and_momenta(speed, time_step, offset):
    """About the middle axis, where a small error grows fastest."""
    model = box(OFFSETS[offset], time_step=time_step)
    data = mujoco.MjData(model)
    data.qvel[:] = 0.3, -0.2, 0.1, 0.01 * speed, speed, 0.02 * speed
    energy, spin, momentum = invariants(model, data)
    Stepper(model).run(data, round(2.0 / time_step))
    end, end_spin, end_momentum = invariants(model, data)
    assert end == pytest.approx(energy, rel=1e-12)
    assert np.linalg.norm(end_spin) == pytest.approx(np.linalg.norm(spin), rel=1e-12)
    np.testing.assert_allclose(end_momentum, momentum, rtol=0, atol=1e-12 * (1.0 + 0.1 * speed))


def test_a_heavy_top_precesses_at_the_rate_of_its_closed_form():
    """Steady precession: A cos(theta) W^2 - C w W + m g l = 0 with the spin w along the axis."""
    tilt, arm, mass, along, across, spin = 0.5, 0.05, 0.5, 8e-4, 5e-4, 200.0
    model = compiled(
        f"""<body euler="{np.degrees(tilt)} 0 0"><joint type="ball"/>
        <inertial pos="0 0 {arm}" mass="{mass}" diaginertia="{across} {across} {along}"/></body>""",
        options="",
        time_step=2e-4,
    )
    data = mujoco.MjData(model)
    A, C, load = across + mass * arm**2, along, mass * 9.81 * arm
    a = A * np.cos(tilt)
    rate = (C * spin - np.sqrt((C * spin) ** 2 - 4.0 * a * load)) / (2.0 * a)
    mujoco.mj_kinematics(model, data)
    data.qvel[:] = rate * data.xmat[1].reshape(3, 3)[2]
    data.qvel[2] = spin
    stepper, azimuth = Stepper(model), []
    for _ in range(2500):
        stepper.step(data)
        mujoco.mj_kinematics(model, data)
        axis = data.xmat[1].reshape(3, 3)[:, 2]
        azimuth.append(np.arctan2(axis[1], axis[0]))
    turned = np.unwrap(azimuth)
    assert (turned[-1] - turned[0]) / (2499 * 2e-4) == pytest.approx(rate, rel=0.01)
    assert np.arccos(axis[2]) == pytest.approx(tilt, abs=0.01)


SPINNING = """
<body><freejoint/><geom type="box" size=".1 .05 .02"/></body>
<body pos="1 0 0"><joint type="free" armature=".05" damping=".3"/>
  <geom type="capsule" size=".03 .1" pos=".02 .03 0"/><geom size=".05" pos="0 .1 0"/></body>
<body pos="2 0 0"><joint type="ball" damping=".01"/>
  <geom type="box" size=".1 .05 .02" pos="0 0 .1"/></body>
<body pos="3 0 0"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
<body pos="4 0 0"><freejoint/><geom type="box" size=".1 .05 .02"/>
  <body pos="0 0 .1"><joint/><geom size=".03" pos=".1 0 0"/></body></body>
<body name="held" pos="5 0 0"><freejoint/><geom type="box" size=".1 .05 .02"/></body>"""
HELD = '<equality><connect body1="held" anchor=".1 0 0" active="false"/></equality>'


def blocks(model):
    for first, count in zip(model.tree_dofadr, model.tree_dofnum, strict=True):
        yield slice(first, first + count)


@pytest.mark.parametrize("speed", [0.0, 1e-5, 1.0, 100.0, 1e4])
def test_the_free_motion_is_that_of_the_mirror(speed, rng):
    """v* = A^-1 (A v_0 + dt M a) with the acceleration a of the mirror, tree by tree."""
    model = compiled(SPINNING, HELD, options="")
    stepper, data = Stepper(model), mujoco.MjData(model)
    dt, rules = stepper.time_step, free_quaternions(model)[model.tree_dofadr] >= 0
    turns = turning_dofs(model)
    np.testing.assert_array_equal(turns[21:], [0, 0, 0, 2, 2, 2, 1, 0, 0, 0, 4, 4, 4])
    assert not turns[:21].any()
    np.testing.assert_array_equal(rules, [True, True, True, True, False, False])
    changed = 0
    for _ in range(20):
        data.qpos[:] = rng.normal(size=model.nq)
        mujoco.mj_normalizeQuat(model, data.qpos)
        data.qvel[:] = speed * rng.normal(size=model.nv)
        data.qfrc_applied[:] = rng.normal(size=model.nv)
        problem = stepper.problem(data)
        mujoco.mj_forward(stepper.model, data)
        M, before = mass_matrix(stepper.model, data), data.qacc_smooth.copy()
        after = before.copy()
        for tree, of in enumerate(blocks(model)):
            if rules[tree]:
                body = model.dof_bodyid[of.start]
                R = data.xmat[body].reshape(3, 3)
                after[of] = free_rotation(M[of, of], R, dt, data.qvel[of], before[of])
            elif (turns[of] == 2).any():
                bias = bias_of(stepper.model, data, of)
                after[of] += tree_rotation(bias, M[of, of], turns[of], dt, data.qvel[of])
        A = M + dt * np.diag(model.dof_damping)
        expected = np.linalg.solve(A, A @ data.qvel + dt * M @ after)
        scale = np.abs(data.qvel).max() + dt * np.abs(before).max()
        np.testing.assert_allclose(problem.v_star, expected, rtol=0, atol=1e-10 * scale)
        changed += (before != after).sum()
    assert changed > 0 or speed < 1.0


def test_forces_and_accelerations_of_the_data_agree():
    """M a = passive + applied - bias + constraint forces - dt D a, with the bias that acted."""
    model = compiled(SPINNING, HELD, options="")
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[:] = np.linspace(-20.0, 30.0, model.nv)
    data.qfrc_applied[:] = np.linspace(-1.0, 2.0, model.nv)
    for _ in range(50):
        stepper.step1(data)
        M, explicit = mass_matrix(stepper.model, data), data.qfrc_bias.copy()
        stepper.step2(data)
        smooth = data.qfrc_passive - data.qfrc_bias + data.qfrc_applied
        size = np.abs(explicit).max()
        np.testing.assert_allclose(data.qfrc_smooth, smooth, rtol=0, atol=1e-12 * size)
        np.testing.assert_allclose(M @ data.qacc_smooth, smooth, rtol=0, atol=1e-11 * size)
        damped = M @ data.qacc + stepper.time_step * model.dof_damping * data.qacc
        forces = smooth + data.qfrc_constraint
        np.testing.assert_allclose(damped, forces, rtol=0, atol=1e-8 * size)
        assert not np.allclose(data.qfrc_bias, explicit, rtol=1e-6)


def test_bodies_of_equal_moments_and_slow_ones_are_mujocos_to_the_bit():
    model = compiled(
        """<body><freejoint/><geom type="box" size=".1 .1 .1"/></body>
        <body pos="1 0 0"><freejoint/><geom type="box" size=".1 .05 .02" pos=".1 0 0"/></body>"""
    )
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    for data in (ours, theirs):
        data.qvel[:6] = 1.0, 2.0, 3.0, 20.0, 30.0, -40.0
        data.qvel[9:12] = 1e-4
    stepper = Stepper(model)
    for _ in range(50):
        stepper.step(ours)
        mujoco.mj_step(model, theirs)
        np.testing.assert_array_equal(ours.qvel, theirs.qvel)
        np.testing.assert_array_equal(ours.qpos, theirs.qpos)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("speed", [1e3, 2e3, 2e4, 5e5])
def test_a_box_that_turns_by_many_radians_in_a_step_keeps_energy_and_momenta(speed, offset):
    """Up to 1000 rad in a step, where the midpoint rule has no solution for the whole step."""
    model = box(OFFSETS[offset])
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[:] = 0.3, -0.2, 0.1, 0.15 * speed, speed, 0.05 * speed
    energy, spin, momentum = invariants(model, data)
    result = stepper.run(data, 100)
    end, end_spin, end_momentum = invariants(model, data)
    assert end == pytest.approx(energy, rel=1e-9)
    assert np.linalg.norm(end_spin) == pytest.approx(np.linalg.norm(spin), rel=1e-9)
    np.testing.assert_allclose(end_momentum, momentum, rtol=0, atol=1e-11 * speed)
    assert result.fallbacks["explicit_rotation"] == 0


def test_gradients_follow_the_midpoint(rng):
    """Derivatives of a step by the velocity, against differences of the steps themselves."""
    model = box(OFFSETS["offset"])
    stepper = Stepper(model)
    differentiable = DifferentiableModel(stepper)
    q, v = differentiable.start([0, 0, 0, 1, 0, 0, 0], [0.3, -0.2, 0.1, 3.0, 20.0, -5.0])
    bar, none = rng.normal(size=model.nv), np.zeros(0)
    taken = differentiable.step(q, v, none)
    parameters = {name: np.zeros_like(x) for name, x in differentiable.parameters.items()}
    pulled = differentiable.pull(taken.tape, np.zeros(model.nq), bar, parameters)
    h = 1e-5
    for i, row in enumerate(np.eye(model.nv)):
        ends = [differentiable.step(q, v + s * h * row, none).v @ bar for s in (1, -1)]
        assert pulled.v[i] == pytest.approx((ends[0] - ends[1]) / (2.0 * h), rel=1e-5, abs=1e-7)


# ---- trees with joints below -----------------------------------------------------------------


def wheel(time_step=0.002, rest="", options='gravity="0 0 0"'):
    """A free box that carries a wheel."""
    return compiled(
        """<body><freejoint/><geom type="box" size=".1 .05 .02"/>
        <body pos="0 0 .1"><joint axis="0 1 1"/><geom type="box" size=".1 .1 .01"/></body>
        </body>""",
        rest,
        options=options,
        time_step=time_step,
    )


def energy_of(model, data):
    mujoco.mj_forward(model, data)
    mujoco.mj_energyVel(model, data)
    return data.energy[1]


@pytest.mark.parametrize("time_step", [0.002, 0.005])
def test_a_body_with_a_fast_wheel_keeps_its_energy(time_step, monkeypatch):
    """A wheel of 100 rad/s: the change in 0.1 s, beside that with the forces at v_0."""
    change = []
    for explicit in (False, True):
        if explicit:
            take_explicit_rotation(monkeypatch)
        model = wheel(time_step)
        data = mujoco.MjData(model)
        data.qvel[3:] = 1.0, 2.0, 3.0, 100.0
        start = energy_of(model, data)
        Stepper(model).run(data, round(0.1 / time_step))
        change.append(abs(energy_of(model, data) / start - 1.0))
    assert change[0] < 15.0 * time_step, change
    assert change[1] > 5.0 * change[0], change


def test_forces_of_a_tree_agree_and_sensors_read_its_own_velocity():
    model = compiled(
        """<body><freejoint/><geom type="box" size=".1 .05 .02"/><site name="s"/>
        <body pos="0 0 .1"><joint axis="0 1 1"/><geom type="box" size=".1 .1 .01"/></body>
        </body>""",
        '<sensor><gyro site="s"/><frameangvel objtype="site" objname="s"/></sensor>',
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[3:] = 1.0, 2.0, 3.0, 30.0
    w, velocity = data.qvel[3:6].copy(), np.zeros(6)
    stepper.step1(data)
    explicit = data.qfrc_bias.copy()
    stepper.step2(data)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, 0, velocity, 1)
    np.testing.assert_allclose(velocity[:3], w, rtol=1e-12)
    np.testing.assert_allclose(data.sensordata[:3], w, rtol=1e-12)
    np.testing.assert_allclose(data.qfrc_smooth, -data.qfrc_bias, rtol=0, atol=1e-12)
    assert not np.allclose(data.qfrc_bias, explicit, rtol=1e-3)


@pytest.mark.parametrize(("speed", "missed"), [(0.0, False), (20.0, False), (3000.0, True)])
def test_trees_that_turn_too_fast_keep_explicit_forces(speed, missed):
    model = wheel()
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[3:] = 0.5 * speed, speed, 0.5 * speed, speed
    assert (stepper.run(data, 1).fallbacks["explicit_rotation"] > 0) == missed


def test_slow_trees_are_mujocos_to_the_bit():
    model = wheel()
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    for data in (ours, theirs):
        data.qvel[3:] = 0.3, 0.2, 0.1, 5.0
    stepper = Stepper(model)
    for _ in range(50):
        stepper.step(ours)
        mujoco.mj_step(model, theirs)
        np.testing.assert_array_equal(ours.qvel, theirs.qvel)


@pytest.mark.parametrize("speed", [25.0, 200.0])
def test_gradients_of_trees_follow_the_middle_of_the_step(speed, rng):
    """Between the slow and the fast turn, and beyond it."""
    model = wheel()
    stepper = Stepper(model)
    differentiable = DifferentiableModel(stepper)
    q, v = differentiable.start([0, 0, 0, 1, 0, 0, 0, 0.2], [0.3, -0.2, 0.1, 1.0, -1.5, 0.5, speed])
    bar, none = rng.normal(size=model.nv), np.zeros(0)
    taken = differentiable.step(q, v, none)
    parameters = {name: np.zeros_like(x) for name, x in differentiable.parameters.items()}
    pulled = differentiable.pull(taken.tape, np.zeros(model.nq), bar, parameters)
    h = 1e-5
    for i, row in enumerate(np.eye(model.nv)):
        ends = [differentiable.step(q, v + s * h * row, none).v @ bar for s in (1, -1)]
        assert pulled.v[i] == pytest.approx((ends[0] - ends[1]) / (2.0 * h), rel=1e-5, abs=1e-7)


def test_trees_with_bias_forces_of_tendons_are_followed():
    """A tendon with an armature has a bias force that the pass does not know."""
    model = compiled(
        """<body><freejoint/><geom type="box" size=".1 .05 .02"/><site name="a" pos=".1 0 0"/>
        <body pos="0 0 .1"><joint name="j"/><geom size=".1"/><site name="b" pos="0 .1 0"/></body>
        </body>""",
        '<tendon><spatial><site site="a"/><site site="b"/></spatial></tendon>',
    )
    np.testing.assert_array_equal(turning_dofs(model), [0, 0, 0, 2, 2, 2, 1])
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[:] = 0.0, 0.0, 0.0, 6.0, 8.0, 5.0, 6.0
    mujoco.mj_forward(model, data)

    def differs():
        return not np.array_equal(
            stepper.problem(data).v_star, data.qvel + 0.002 * data.qacc_smooth
        )

    assert differs()
    model.tendon_armature[0] = 1e-9
    mujoco.mj_forward(model, data)
    assert not differs()


# ---- trees in equality constraints ---------------------------------------------------------------

LOOPS = ["bars", "welded", "four-bar"]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_floating_loop_does_not_gain_energy_as_with_explicit_forces(loop, monkeypatch):
    """The change falls faster than the step, while that with the forces at v_0 is of first order.
    A slow weld has least of it."""
    coarse, fine = (abs(floating_loop_change(loop, dt)) for dt in (0.004, 0.002))
    take_explicit_rotation(monkeypatch)
    assert fine < (0.3 if loop == "welded" else 0.05) * floating_loop_change(loop, 0.002)
    assert coarse > 2.5 * fine


@pytest.mark.parametrize("loop", LOOPS)
def test_the_step_of_a_floating_loop_is_that_of_the_mirror(loop):
    """The step with the forces at v_0, then the same problem from the corrected free velocity."""
    model, data = floating_loop(loop, 0.002)
    stepper, turns = Stepper(model), turning_dofs(model)
    stepper.run(data, 20)
    mujoco.mj_forward(model, data)
    problem, v_0, M = stepper.problem(data), data.qvel.copy(), mass_matrix(model, data)
    v_1 = sapwood.solve(problem, v_0).v
    change = np.zeros(model.nv)
    for of in blocks(model):
        bias = bias_of(model, data, of)
        change[of] = tree_rotation(bias, M[of, of], turns[of], 0.002, v_0[of], v_1[of])
    again = rebuild(problem, v_star=problem.v_star + 0.002 * change)
    stepper.step(data)
    expected = sapwood.solve(again, v_0).v
    np.testing.assert_allclose(data.qvel, expected, rtol=0, atol=1e-7)
    assert np.abs(expected - v_1).max() > 1e-4


def test_slow_loops_have_the_step_with_explicit_forces_to_the_bit(monkeypatch):
    ends = []
    for explicit in (False, True):
        if explicit:
            take_explicit_rotation(monkeypatch)
        model, data = floating_loop("bars", 0.002)
        data.qvel *= 0.1
        Stepper(model).run(data, 50)
        ends.append(np.concatenate([data.qpos, data.qvel]))
    np.testing.assert_array_equal(*ends)


def test_a_loop_steps_alike_in_single_steps_in_runs_and_in_batches():
    model, data = floating_loop("four-bar", 0.002)
    batch, run = Batch(model, 2), mujoco.MjData(model)
    batch.bind("qvel")[:] = data.qvel
    run.qvel[:] = data.qvel
    stepper = Stepper(model)
    for _ in range(30):
        stepper.step(data)
        batch.step()
    stepper.run(run, 30)
    np.testing.assert_array_equal(run.qvel, data.qvel)
    np.testing.assert_array_equal(batch.bind("qvel"), np.stack([data.qvel] * 2))


def test_forces_of_a_loop_agree_and_sensors_read_its_own_velocity():
    model, data = floating_loop("four-bar", 0.002)
    stepper = Stepper(model)
    stepper.step1(data)
    M, explicit, w = mass_matrix(model, data), data.qfrc_bias.copy(), data.qvel[3:6].copy()
    stepper.step2(data)
    velocity = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, 1, velocity, 1)
    np.testing.assert_allclose(velocity[:3], w, rtol=1e-12)
    forces = data.qfrc_constraint - data.qfrc_bias
    scale = np.abs(forces).max()
    np.testing.assert_allclose(M @ data.qacc, forces, rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(data.qfrc_smooth, -data.qfrc_bias, rtol=0, atol=1e-12 * scale)
    assert not np.allclose(data.qfrc_bias, explicit, rtol=1e-3)


def test_a_loop_that_turns_too_fast_keeps_explicit_forces():
    model, data = floating_loop("four-bar", 0.002)
    data.qvel *= 50.0
    assert Stepper(model).run(data, 1).fallbacks["explicit_rotation"] == 1


def test_derivatives_of_a_loop_are_those_of_explicit_forces():
    """They leave out how the correction changes, half of w dt where a velocity is not consistent
    with the constraint, and (w dt)^2 where it is."""
    model, data = floating_loop("bars", 0.002)
    stepper = Stepper(model)
    A, nv, h = linearize(stepper, data).A, model.nv, 1e-5
    columns = []
    for i in range(nv):
        ends = []
        for s in (1.0, -1.0):
            copy = mujoco.MjData(model)
            mujoco.mj_copyData(copy, model, data)
            copy.qvel[i] += s * h
            stepper.step(copy)
            ends.append(copy.qvel.copy())
        columns.append((ends[0] - ends[1]) / (2.0 * h))
    turn = 0.002 * np.abs(data.qvel[[3, 4, 5, 9, 10, 11]]).max()
    difference = A[nv:, nv:] - np.transpose(columns)
    assert np.abs(difference).max() < turn
    joined = np.hstack(stepper.problem(data).constraints[0].J.reshape(2, 3, 6))
    consistent = np.linalg.svd(joined)[2][3:]
    assert np.abs(difference @ consistent.T).max() < turn**2


@pytest.mark.parametrize(("spin", "status"), [(1.0, "ok"), (15.0, "held_rotation")])
def test_the_linearization_tells_of_held_trees_that_turn_fast(spin, status):
    """Slow ones have the derivative of the whole step; that of fast ones leaves out a part."""
    model = compiled(
        '<body name="held"><freejoint/><geom type="box" size=".1 .05 .02"/></body>',
        '<equality><connect body1="held" anchor=".1 0 0"/></equality>',
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    # the corner at (0.1, 0, 0) rests
    data.qvel[3:] = spin * np.array([1.0, -0.7, 0.5])
    data.qvel[:3] = -np.cross(data.qvel[3:], [0.1, 0.0, 0.0])
    found = linearize(stepper, data)
    expected = linearize(stepper, data, mode="difference", step=1e-5)
    off = np.abs(found.A - expected.A).max() / np.abs(expected.A).max()
    assert found.status == status
    assert (off < 1e-7) == (status == "ok")
    assert off < 1e-2
    run = sensitivities(stepper, data, n_steps=2, parameters=[("body", "held", "mass")])
    assert run.held_rotation.tolist() == 2 * [status == "held_rotation"]
