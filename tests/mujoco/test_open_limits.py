"""Limits that are far from closing wait outside of the problem of a step, and change nothing."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import elements, take_explicit_rotation
from sapwood.mujoco import Stepper

# b drags a, which rests, into its limit: nothing foretells it
COUPLED = """
<mujoco>
  <option timestep="0.01" gravity="0 0 0"/>
  <worldbody>
    <body><joint name="a" type="slide" range="-0.005 1" limited="true"/><geom size=".1"/></body>
    <body pos="0 0 2"><joint name="b" type="slide"/><geom size=".1"/></body>
  </worldbody>
  <equality><joint joint1="a" joint2="b" polycoef="0 1 0 0 0"/></equality>
</mujoco>
"""
# a tendon that is longer by 2 a - b, which b lets down to its limit
TENDON = """
<mujoco>
  <option timestep="0.01" gravity="0 0 0"/>
  <worldbody>
    <body><joint name="a" type="slide"/><geom size=".1"/></body>
    <body pos="0 0 2"><joint name="b" type="slide"/><geom size=".1"/></body>
  </worldbody>
  <equality><joint joint1="a" joint2="b" polycoef="0 1 0 0 0"/></equality>
  <tendon>
    <fixed name="t" range="-0.005 1" limited="true">
      <joint joint="a" coef="2"/><joint joint="b" coef="-0.1"/>
    </fixed>
  </tendon>
</mujoco>
"""
TIGHT = sapwood.SapSettings(relative_tolerance=1e-10)


@pytest.mark.parametrize("friction", ["convex", "lagged", "coulomb"])
def test_a_limit_that_closes_unforeseen_is_called_in(friction):
    model = mujoco.MjModel.from_xml_string(COUPLED)
    stepper, data = Stepper(model, settings=TIGHT, friction=friction), mujoco.MjData(model)
    data.qvel[1] = -4.0
    expected = sapwood.solve(stepper.problem(data), settings=stepper.settings)
    stepper.step(data)
    np.testing.assert_allclose(data.qvel, expected.v, rtol=1e-8)
    assert data.qvel[0] == pytest.approx(-0.25, rel=0.05)  # 5 mm in dt + tau_d
    limit = next(group for group in stepper.constraints if group.kind == "limit")
    assert limit.names == ("joint 'a' lower limit", "joint 'a' upper limit")
    assert limit.force[0] > 0.0
    assert limit.force[1] == 0.0
    np.testing.assert_allclose(limit.position, [0.005, 1.0])
    np.testing.assert_allclose(limit.velocity, [data.qvel[0], -data.qvel[0]])


def test_a_step_that_calls_in_a_limit_is_counted():
    model = mujoco.MjModel.from_xml_string(COUPLED)
    stepper, data = Stepper(model), mujoco.MjData(model)
    assert stepper.run(data, 2).fallbacks["inactive_set"] == 0
    data.qvel[1] = -4.0
    result = stepper.run(data, 2)
    assert result.fallbacks["inactive_set"] == 1
    assert result.total_iterations[0] > result.total_iterations[1]


def test_the_limit_of_a_tendon_is_called_in():
    """It waits where it is far, at a velocity of its own, and acts where b pulls it along."""
    model = mujoco.MjModel.from_xml_string(TENDON)
    stepper, data = Stepper(model, settings=TIGHT), mujoco.MjData(model)
    stepper.step(data)
    assert not any(len(group.gamma) for group in stepper.solution.constraints[1:])
    data.qvel[1] = -4.0
    expected = sapwood.solve(stepper.problem(data), settings=stepper.settings)
    stepper.step(data)
    np.testing.assert_allclose(data.qvel, expected.v, rtol=1e-8)
    limit = next(group for group in stepper.constraints if group.kind == "limit")
    assert limit.names == ("tendon 't' lower limit", "tendon 't' upper limit")
    assert limit.force[0] > 0.0
    assert limit.force[1] == 0.0
    rate = 2.0 * data.qvel[0] - 0.1 * data.qvel[1]
    np.testing.assert_allclose(limit.velocity, [rate, -rate])


def test_steps_are_those_with_all_limits(rng, monkeypatch):
    """Along a run, in which joints reach their limits, leave them and stay away."""
    take_explicit_rotation(monkeypatch)  # which would have a second problem
    model = elements()
    stepper, data = Stepper(model, settings=TIGHT), mujoco.MjData(model)
    data.qvel[:] = 3.0 * rng.standard_normal(model.nv)
    waited = 0
    for _ in range(60):
        problem = stepper.problem(data)
        expected = sapwood.solve(problem, settings=stepper.settings)
        stepper.step(data)
        np.testing.assert_allclose(stepper.solution.v, expected.v, rtol=1e-6, atol=1e-6)
        rows = sum(len(group.gamma) for group in stepper.solution.constraints)
        told = sum(len(group.force) for group in stepper.constraints)
        assert told == sum(len(group.R) for group in problem.constraints)
        waited += told - rows
    assert waited > 0


def test_limits_that_turn_beside_a_contact_are_solved_at_once():
    """Fourteen narrow limits of a chain of 32 joints, one contact: their impulses are no more than
    two thirds of the velocities, so that all are unknowns and none has to be guessed."""
    link = (
        "<body pos='.05 0 0'><joint axis='0 {} {}' range='-{range} {range}'/>"
        "<geom type='capsule' size='.01' fromto='0 0 0 .05 0 0' contype='0' conaffinity='0'/>"
    )
    chain = "".join(link.format(k % 2, (k + 1) % 2, range=2 if k < 14 else 60) for k in range(31))
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option timestep='.005'/>"
        "<default><joint limited='true' damping='.01' armature='.001'/></default><worldbody>"
        f"<geom type='plane' size='9 9 .1' pos='0 0 -.3'/><body>{chain}"
        "<body pos='.05 0 0'><joint range='-90 90'/><geom size='.03'/></body>"
        f"{'</body>' * 31}</body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qvel = 2 * np.random.default_rng(1).normal(size=model.nv)
    log = Stepper(model).run(data, 300)
    assert log.converged
    touches = log.records["contacts"] > 0
    assert touches.sum() > 200
    assert (log.iterations[touches] > 1).mean() < 0.03
