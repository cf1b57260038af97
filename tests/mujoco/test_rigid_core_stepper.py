"""Rigid cores of geoms in MuJoCo models: which core a pair has, and what a step says of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import physics_state
from sapwood import CoreKind, RigidCore
from sapwood.mujoco import ContactMaterial, NotSupported, Stepper, rollout

DT = 0.01
STIFFNESS = st.one_of(st.just(math.inf), st.floats(1e2, 1e9))
CORES = st.one_of(
    st.none(),
    st.builds(
        RigidCore, st.floats(1e-4, 1e-2), st.sampled_from(["log", "exp"]), st.floats(0.5, 9.0)
    ),
)

BALL = """<mujoco><option timestep="0.01"/><worldbody>
  <geom name="floor" type="plane" size="1 1 1" margin="{margin}"/>
  <body pos="0 0 {height}"><freejoint/>
  <geom name="ball" size=".05" mass="1" margin="{margin}"/></body></worldbody></mujoco>"""


def ball(height=0.05, margin=1.0):
    """A ball of 1 kg above a floor."""
    return mujoco.MjModel.from_xml_string(BALL.format(height=height, margin=margin))


def stepper_of(model, delta=1e-3, stiffness=1e4, kind="log", **options):
    """A stepper of a ball with a core on a rigid floor."""
    layer = ContactMaterial(stiffness, DT, 0.5, RigidCore(delta, kind))
    return Stepper(
        model, materials={"ball": layer, "floor": ContactMaterial(math.inf, DT)}, **options
    )


@settings(deadline=None, print_blob=True)
@given(k=st.tuples(STIFFNESS, STIFFNESS), cores=st.tuples(CORES, CORES))
def test_core_of_a_pair(k, cores):
    """Each geom has the share of the depth of its compliance; the core that is met first counts."""
    model = ball(0.049)
    materials = {
        name: ContactMaterial(stiffness, DT, 0.5, core)
        for name, stiffness, core in zip(("floor", "ball"), k, cores, strict=True)
    }
    problem = Stepper(model, materials=materials).problem(mujoco.MjData(model))
    compliance = [1.0 / stiffness for stiffness in k]
    both_rigid = sum(compliance) == 0.0
    shares = [0.5 if both_rigid else c / sum(compliance) for c in compliance]
    met = [
        (core.delta / share, core)
        for core, share in zip(cores, shares, strict=True)
        if core is not None and share > 0.0
    ]
    if not met:
        assert problem.core is None
        return
    delta, core = min(met, key=lambda pair: pair[0])
    assert problem.delta[0] == pytest.approx(delta, rel=1e-12)
    assert problem.core[0] == CoreKind[core.kind]
    if core.kind == "exp":
        assert problem.core_lambda[0] == core.strength


@pytest.mark.parametrize("kind", ["log", "exp"])
def test_a_step_solves_its_problem(kind):
    """The stepper's solution is that of the problem it gives out, to the last bit."""
    model = ball(0.0505)
    data = mujoco.MjData(model)
    stepper = stepper_of(model, kind=kind)
    data.qvel[2] = -3.0
    problem = stepper.problem(data)
    stepper.step(data)
    expected = sapwood.solve(problem)
    np.testing.assert_array_equal(stepper.solution.v, expected.v)
    np.testing.assert_array_equal(stepper.solution.gamma, expected.gamma)
    assert stepper.solution == expected
    np.testing.assert_array_equal(stepper.contacts.core_scale, [1.0])


def test_contacts_that_start_too_deep_are_told():
    """A ball 3 mm deep in a layer of 1 mm, until it is out."""
    model = ball(0.047)
    data = mujoco.MjData(model)
    stepper = stepper_of(model)
    assert stepper.problem(data).deep_contacts.tolist() == [0]
    stepper.step(data)
    np.testing.assert_array_equal(stepper.contacts.deepened, [0])
    np.testing.assert_array_equal(stepper.solution.deepened, [0])
    assert stepper.contacts.core_scale[0] == pytest.approx(3.0 * 1.01, rel=1e-9)
    result = stepper.run(data, 100)
    deep = result.deep_contacts
    # it comes out, and stays out
    assert deep[-1] == 0
    assert np.all(np.diff(deep) <= 0)
    assert stepper.contacts.deepened.size == 0
    assert stepper.penetration[0] < 1e-3


def test_other_schemes_refuse_them():
    """Without them they would step the compliant layer alone, which a load goes deep into."""
    model = ball()
    with pytest.raises(NotSupported, match=r"midpoint cannot take the rigid core of geom 'ball'"):
        stepper_of(model, scheme="midpoint")
    every = ContactMaterial(core=RigidCore(1e-3))
    with pytest.raises(NotSupported, match=r"implicit_euler cannot .* core of geom 'floor'"):
        Stepper(model, contact=every, scheme="implicit_euler")
    assert Stepper(model, contact=every).run(mujoco.MjData(model), 1).steps == 1


def test_runs_and_rollouts_count_them():
    model = ball(0.047)
    steppers = [stepper_of(model) for _ in range(2)]
    one, many = mujoco.MjData(model), mujoco.MjData(model)
    counts = []
    for _ in range(5):
        steppers[0].step(one)
        counts.append(steppers[0].contacts.deepened.size)
    np.testing.assert_array_equal(steppers[1].run(many, 5).deep_contacts, counts)
    assert counts[0] == 1
    state = physics_state(model, mujoco.MjData(model))
    worlds = rollout(stepper_of(model), state[None], nstep=5)
    np.testing.assert_array_equal(worlds.records["deep_contacts"][0], counts)


@pytest.mark.parametrize("speed", [1.0, 10.0, 50.0])
def test_a_fall_with_a_margin_stays_out_of_the_core(speed):
    """Seen early enough, no fall is fast enough to reach it."""
    model = ball(0.4)
    data = mujoco.MjData(model)
    data.qvel[2] = -speed
    stepper = stepper_of(model)
    for _ in range(100):
        stepper.step(data)
        assert data.qpos[2] > 0.05 - 1e-3
        assert stepper.contacts.deepened.size == 0


def test_without_a_core_nothing_is_reported():
    model = ball(0.049)
    stepper = Stepper(model, contact=ContactMaterial(1e4))
    data = mujoco.MjData(model)
    assert stepper.problem(data).core is None
    stepper.step(data)
    assert stepper.solution.core_scale is None
    np.testing.assert_array_equal(stepper.contacts.core_scale, [1.0])
    assert stepper.contacts.deepened.size == 0


def test_material_checks_its_core():
    with pytest.raises(TypeError, match="core must be a RigidCore, not float"):
        ContactMaterial(1e4, core=1e-3)
