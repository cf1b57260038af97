"""Limits, closed loops, stiff servos and dry friction in simulations of models."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import ConstraintMaterial, ContactMaterial, Stepper
from sapwood.studies import scenes
from sapwood.studies.experiments import constraints as scene
from sapwood.studies.experiments.figures import make_figure
from sapwood.studies.plotting import read_steps

DT = 0.01


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The CSV file of the figure, made once; by scene and time step."""
    result = make_figure("constraints", tmp_path_factory.mktemp("c"), quick=True, progress=False)
    assert not any(sweep.failures or sweep.missing for sweep in result.sweeps)
    assert result.image.read_bytes().startswith(b"\x89PNG")
    assert len(result.report.splitlines()) == 6
    table = read_steps(result.sweeps[0].csv)
    return lambda name, dt=DT: table[(table["scene"] == name) & (table["dt"] == dt)]


# ---- the loop -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.claim
def test_a_closed_loop_keeps_its_length_to_the_near_rigid_bound(rows):
    """Errors below the bound, which is of second order, while the linkage turns."""
    largest = []
    for dt in (0.01, 0.005, 0.0025):
        run = rows("loop", dt)
        assert np.abs(np.diff(np.sign(run["velocity"]))).sum() > 0 or run["velocity"].max() > 1
        # the bound is exact to second order: a tenth for the rest, at the largest step
        bound = np.maximum.accumulate(run["expected"])
        assert (run["position"] <= 1.1 * bound).all()
        largest.append(run["position"].max())
    orders = np.log2(np.divide(largest[:-1], largest[1:]))
    # 1.6 to 1.9 on the way to 2; of first order they would be 1
    assert (orders > 1.5).all()


def test_a_loop_at_rest_gives_by_its_regularization():
    """|g| = dt (dt + tau_d) R |f| with R = beta^2 w/(4 pi^2), w from M^-1 alone."""
    model = scene.model_of("loop", DT)
    model.dof_damping[:] = 20.0
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 1000)
    stepper.step(data)
    assert np.abs(data.qvel).max() < 1e-6
    M = np.empty((3, 3))
    mujoco.mj_fullM(model, data, M)
    M += DT * 20.0 * np.eye(3)
    jacobian = np.empty((3, 3))
    mujoco.mj_jacSite(model, data, jacobian, None, model.site("foot").id)
    W = jacobian @ np.linalg.solve(M, jacobian.T)
    # the row across the plane moves nothing and is left out
    R = 0.1**2 / (4 * np.pi**2) * np.linalg.norm(W) / 2
    (close,) = stepper.constraints
    assert close.names == ("equality 'close' x", "equality 'close' z")
    np.testing.assert_allclose(close.position, -2 * DT**2 * R * close.force, rtol=1e-3, atol=1e-12)


def test_equality_constraints_move_as_in_mujoco():
    """Both converge to the motion of the ideal constraint: their distance shrinks with the step."""

    def distance(dt):
        # MuJoCo's constraint as hard as it can be made
        model = scene.model_of("loop", dt)
        model.eq_solref[:] = 2 * dt, 1
        model.eq_solimp[:, :2] = 0.9999, 0.9999
        ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
        for data in (ours, theirs):
            data.qvel[:] = 3.0, -3.0, 3.0
        Stepper(model).run(ours, round(0.25 / dt))
        for _ in range(round(0.25 / dt)):
            mujoco.mj_step(model, theirs)
        return np.abs(ours.qpos - theirs.qpos).max(), np.ptp(theirs.qpos)

    coarse, _ = distance(1e-3)
    fine, moved = distance(1e-4)
    assert moved > 0.5
    assert fine < 2e-3 * moved
    assert fine < 0.2 * coarse


def test_free_motion_with_servos_moves_as_in_mujoco():
    """Implicit and explicit forces of gentle servos: their distance shrinks with the step."""
    xml = """<mujoco><option timestep="{}"/><worldbody><body><joint name="a" axis="0 1 0"
      range="-170 170" limited="true" damping=".1"/><geom size=".05" pos=".3 0 0"/>
      <body pos=".3 0 0"><joint name="b" axis="1 1 0"/><geom size=".05" pos=".2 0 0"/></body></body>
      </worldbody><actuator><position joint="a" kp="9" kv="1"/><velocity joint="b" kv=".2"/>
      </actuator></mujoco>"""

    def distance(dt):
        model = mujoco.MjModel.from_xml_string(xml.format(dt))
        ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
        for data in (ours, theirs):
            data.ctrl[:] = 0.7, 2.0
        Stepper(model).run(ours, round(0.4 / dt))
        for _ in range(round(0.4 / dt)):
            mujoco.mj_step(model, theirs)
        return np.abs(ours.qpos - theirs.qpos).max(), np.abs(theirs.qpos).max()

    coarse, _ = distance(2e-3)
    fine, moved = distance(2e-4)
    assert moved > 0.3
    assert fine < 2e-3 * moved
    assert 5 < coarse / fine < 20


# ---- limits -------------------------------------------------------------------------------------


def test_a_joint_stops_at_its_limit_without_bounce(rows):
    run = rows("limit")
    reached = np.flatnonzero(run["position"] < 1e-3)[0]
    rest = run["expected"][-1]
    assert run["position"][0] > 1.0
    # never further beyond than where it rests, and never back
    assert run["position"].min() == pytest.approx(rest, rel=1e-3)
    assert run["position"][-1] == pytest.approx(rest, rel=1e-6)
    assert -1e-6 < rest < 0
    assert (np.diff(run["position"][: reached + 60]) <= 1e-12).all()
    assert (run["velocity"] >= -1e-9).all()
    # held against gravity: a rod of 0.5 m, with its mass at 0.25 m, at 60 degrees
    model = scene.model_of("limit", DT)
    weight = model.body_mass[1] * 9.81 * 0.25 * np.cos(np.deg2rad(60))
    assert run["force"][-1] == pytest.approx(weight, rel=1e-4)


@pytest.mark.parametrize("k", [1e3, 1e5])
def test_compliant_limits_give_as_a_spring(k):
    model = scene.model_of("limit", DT)
    material = ConstraintMaterial(stiffness=k, dissipation_time=0.05)
    stepper, data = Stepper(model, constraint=material), mujoco.MjData(model)
    stepper.run(data, 2000)
    stepper.step(data)
    beyond = data.qpos[0] - model.jnt_range[0, 1]
    assert beyond == pytest.approx(stepper.constraints[0].force[1] / k, rel=1e-3)
    assert beyond > 1e-6


# ---- servos -------------------------------------------------------------------------------------


def test_a_stiff_servo_is_stable_in_contact_and_saturates_at_its_limit(rows):
    run = rows("servo")
    hit = np.flatnonzero(run["force"] == scene.EFFORT)[0]
    free, pressed = run[3:hit], run[hit:]
    # before the wall it is where it should be, to torque/Kp
    assert 0.5 < run["time"][hit] < 0.7
    np.testing.assert_allclose(free["position"], free["expected"], rtol=0, atol=2e-6)
    np.testing.assert_allclose(free["velocity"], 1.0, rtol=0, atol=1e-3)
    assert np.abs(free["force"]).max() < 10
    # behind the wall not a bit more than the limit, and at rest
    assert (pressed["force"] == scene.EFFORT).all()
    assert np.abs(pressed["velocity"][60:]).max() < 1e-4
    # MuJoCo's explicit force of the same gain leaves the range of numbers at once
    model = scene.model_of("servo", DT)
    model.actuator_forcelimited[:] = False
    data = mujoco.MjData(model)
    data.ctrl[0] = 0.1
    for _ in range(5):
        mujoco.mj_step(model, data)
    assert data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number > 0 or abs(data.qpos[0]) > 1e3


@pytest.mark.parametrize("gains", [(1e7, 0.0), (1e7, 1e3), (0.0, 1e7), (1e3, 10.0)])
def test_servos_of_any_gain_end_a_step_where_their_law_says(gains):
    """The law at the end of the step, with gains that the time step allows."""
    Kp, Kd = gains
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{DT}" gravity="0 0 0"/><worldbody><body>
        <joint name="j" type="slide"/><geom size=".1" mass="2"/></body></worldbody><actuator>
        <general joint="j" gainprm="{max(Kp, Kd)}" biastype="affine" biasprm="0 -{Kp} -{Kd}"/>
        </actuator></mujoco>"""
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.ctrl[0] = 0.01
    R_nr = 0.01 / (4 * np.pi**2) / 2.0
    softer = min(1.0, 1.0 / (DT * (DT * Kp + Kd) * R_nr))
    v_d, q_d = (0.01, 0.0) if Kp == 0 else (0.0, 0.01)
    for _ in range(30):
        stepper.step(data)
        law = softer * (Kp * (q_d - data.qpos[0]) + Kd * (v_d - data.qvel[0]))
        assert data.actuator_force[0] == pytest.approx(law, rel=1e-6, abs=1e-4)
    if Kp > 0:
        assert data.qpos[0] == pytest.approx(0.01, rel=0.3)
    else:
        assert data.qvel[0] == pytest.approx(0.01, rel=1e-3)


# ---- dry friction -------------------------------------------------------------------------------


def test_dry_friction_holds_below_and_slides_above_its_threshold(rows):
    run = rows("friction")
    start = scene.FRICTION / scene.PULL
    held, slid = run[run["time"] < start], run[run["time"] > start + 2 * DT]
    # sigma w dt f, the velocity of creep, and the force that balances the pull
    creep = 1e-3 / scene.MASS * DT * scene.FRICTION
    assert np.abs(held["velocity"]).max() <= creep * (1 + 1e-6)
    pull = scene.PULL * (held["time"] - DT / 2)
    np.testing.assert_allclose(-held["force"], pull, rtol=0, atol=2e-2)
    assert (slid["force"] == -scene.FRICTION).all()
    np.testing.assert_allclose(slid["velocity"], slid["expected"], rtol=0, atol=1e-3)
    assert slid["velocity"][-1] > 1.0


# ---- real models --------------------------------------------------------------------------------


def test_a_humanoid_falls_into_its_limits():
    spec = scenes.humanoids(1, limits=True)
    for joint in spec.joints:
        joint.frictionloss = 0.2 * (joint.type == mujoco.mjtJoint.mjJNT_HINGE)
    model = spec.compile()
    hinges = model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE
    assert (model.jnt_limited == hinges).all()
    assert np.ptp(model.jnt_range[hinges], axis=1).min() > np.deg2rad(30)
    stepper = Stepper(model, contact=ContactMaterial(dissipation_time=0.01))
    data = mujoco.MjData(model)
    pressed, deepest = 0, 0.0
    for i in range(400):
        stepper.step(data)
        if i % 10 == 0:
            friction, limits = stepper.constraints
            assert (friction.kind, limits.kind) == ("dry_friction", "limit")
            assert np.abs(friction.force).max() <= 0.2 + 1e-12
            pressed += int((limits.force > 1e-3).sum())
            deepest = min(deepest, limits.position.min())
    assert stepper.stalled_steps + stepper.iteration_limit_steps == 0
    assert stepper.n_contacts > 0
    assert pressed > 20
    # a joint stops in the step that would pass its limit
    assert deepest > -1e-3


QUADRUPED = """<mujoco><option timestep="0.005"/><worldbody>
  <geom type="plane" size="3 3 1"/>
  <body name="trunk" pos="0 0 .42"><freejoint/><geom type="box" size=".25 .1 .05" mass="8"/>{legs}
  </body></worldbody><actuator>{servos}</actuator></mujoco>"""
LEG = """<body pos="{x} {y} 0"><joint name="hip{i}" axis="0 1 0" range="-70 70" limited="true"
    frictionloss=".1" damping=".1"/>
  <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".03" mass=".8"/>
  <body pos="0 0 -.2"><joint name="knee{i}" axis="0 1 0" range="-150 -20" limited="true"
    frictionloss=".1" actuatorfrcrange="-30 30"/>
    <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass=".3"/></body></body>"""
SERVO = '<position joint="{name}{i}" kp="{kp}" kv="5" forcerange="-40 40"/>'


def test_a_quadruped_stands_on_stiff_servos():
    """It stands still at a step that explicit gains of this size do not allow."""
    corners = [(0.2, 0.12), (0.2, -0.12), (-0.2, 0.12), (-0.2, -0.12)]
    legs = "".join(LEG.format(x=x, y=y, i=i) for i, (x, y) in enumerate(corners))
    servos = "".join(
        SERVO.format(name=name, i=i, kp=2e3) for i in range(4) for name in ("hip", "knee")
    )
    model = mujoco.MjModel.from_xml_string(QUADRUPED.format(legs=legs, servos=servos))
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.ctrl[:] = [0.6, -1.2] * 4
    data.qpos[7:] = [0.6, -1.2] * 4
    stepper.run(data, 400)
    stepper.step(data)
    assert stepper.stalled_steps + stepper.iteration_limit_steps == 0
    np.testing.assert_allclose(data.qpos[7:], [0.6, -1.2] * 4, rtol=0, atol=0.02)
    assert np.abs(data.qvel).max() < 2e-2
    assert 0.25 < data.qpos[2] < 0.4
    # the weight is on the feet
    weight = model.body_mass.sum() * 9.81
    force = stepper.contacts.force[:, 2].sum()
    assert force == pytest.approx(weight, rel=1e-2)
    # shoved down, the knees give all they are allowed and not more
    data.qvel[2] = -6.0
    strongest = 0.0
    for _ in range(20):
        stepper.step(data)
        knees = data.qfrc_actuator[7::2]
        strongest = max(strongest, np.abs(knees).max())
        assert np.abs(data.actuator_force[0::2]).max() <= 40.0
    assert strongest == pytest.approx(30.0, abs=1e-10)
