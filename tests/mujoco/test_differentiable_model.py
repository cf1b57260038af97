"""Derivatives of runs of MuJoCo models against differences of whole runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sapwood
from sapwood import PressureField, trajectory

mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import DifferentiableModel, Stepper

STATE = ("q", "v", "inputs")
FACTORS = ("mass", "k", "tau_d", "mu")

BOX_AND_ARM = """
<mujoco><option timestep="0.005"/><worldbody>
  <geom name="floor" type="plane" size="3 3 .1" condim="{condim}"/>
  <body pos="0 0 .15"><freejoint/>
    <geom type="box" size=".1 .1 .1" mass="1" condim="{condim}"/></body>
  <body pos="0 1 .1">
    <joint name="turn" axis="0 0 1" damping=".1" frictionloss=".02"/>
    <joint name="lift" axis="0 1 0" range="-20 60" limited="true" damping=".1"/>
    <geom type="capsule" fromto="0 0 0 .4 0 0" size=".03" condim="{condim}"/>
    <body pos=".4 0 0"><joint type="ball" damping=".01"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" condim="{condim}"/></body>
  </body></worldbody>
  <actuator><motor joint="lift"/><position joint="turn" kp="3"/></actuator></mujoco>
"""
LOOP = """
<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="3 3 .1"/>
  <body pos="0 0 .16"><joint name="hip" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    <body pos=".3 0 0"><joint name="knee" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .2 0 -.1" size=".03"/></body></body>
  <body pos=".1 .5 .06"><freejoint/><geom size=".05"/></body></worldbody>
  <equality><joint joint1="knee" joint2="hip" polycoef="0 .5 0 0 0"/></equality></mujoco>
"""


class Case:
    """A model, a state near the floor, and controls."""

    def __init__(self, rng, xml, friction="convex", n_steps=12):
        self.xml, self.friction = xml, friction
        system = self.system({})
        model = system.model
        self.values = {"q": np.array(model.qpos0), "v": 0.5 * rng.standard_normal(model.nv)}
        self.values["inputs"] = 0.5 * rng.standard_normal((n_steps, model.nu))
        motion = 0.3 * rng.standard_normal(model.nv)
        mujoco.mj_integratePos(model, self.values["q"], motion, 1.0)
        self.values |= {"mass": np.ones(model.nbody), "k": 1.0, "tau_d": 1.0, "mu": 1.0}

    def system(self, factors):
        model = mujoco.MjModel.from_xml_string(self.xml)
        mass = factors.get("mass", np.ones(model.nbody))
        model.body_mass *= mass
        model.body_inertia *= mass[:, None]
        model.geom_friction[:, 0] = 0.5 * factors.get("mu", 1.0)
        mujoco.mj_setConst(model, mujoco.MjData(model))
        # a pair has half the stiffness of each, and both dissipation times
        contact = sapwood.ContactMaterial(
            stiffness=1e4 * factors.get("k", 1.0), dissipation_time=0.01 * factors.get("tau_d", 1.0)
        )
        settings = sapwood.SapSettings(relative_tolerance=1e-12, friction=self.friction)
        stepper = Stepper(
            model, contact=contact, settings=settings, friction=self.friction,
            constraint=sapwood.ConstraintMaterial(stiffness=1e4),
        )  # fmt: skip
        return DifferentiableModel(stepper)

    def run(self, change, h=0.0, **options):
        """The run, where h times a change is added to all that it follows from."""
        values = {name: x + h * change.get(name, 0.0) for name, x in self.values.items()}
        system = self.system({name: values[name] for name in FACTORS})
        return trajectory.simulate(system, *(values[name] for name in STATE), **options)

    def change(self, rng, names):
        return {name: rng.uniform(-1, 1, np.shape(self.values[name])) for name in names}


def quotient(case, change, bars):
    """Central differences of a loss: None where those of three lengths do not agree.

    Those of two may by chance, where they are round-off.
    """

    def loss(h):
        run = case.run(change, h)
        return sum(np.sum(bar * x) for bar, x in zip(bars, (run.q, run.v), strict=True))

    for h in (1e-5, 1e-6):
        far, near, nearest = ((loss(x) - loss(-x)) / (2 * x) for x in (2 * h, h, h / 2))
        if max(abs(nearest - near), abs(near - far)) <= 2e-7 * abs(near):
            return (4 * nearest - near) / 3
    return None


def check_gradient(rng, make, names):
    for _ in range(20):
        case = make()
        try:
            run = case.run({})
            change = case.change(rng, names)
            bars = rng.standard_normal(run.q.shape), 0.1 * rng.standard_normal(run.v.shape)
            expected = quotient(case, change, bars)
        except trajectory.TrajectoryError:
            continue  # Coulomb's law is not solved everywhere
        if expected is None or not run.in_contact.any():
            continue
        gradient = run.vjp(*bars)
        of = {"q": gradient.q0, "v": gradient.v0, "inputs": gradient.inputs, **gradient.parameters}
        terms = [np.sum(of[name] * dot) for name, dot in change.items()]
        size = max(sum(map(abs, terms)), abs(expected))
        assert abs(sum(terms) - expected) <= 1e-5 * size
        return
    pytest.fail("differences converge in no case")


@pytest.mark.parametrize("name", [*STATE, *FACTORS])
def test_each_number_of_a_model(name, rng):
    check_gradient(rng, lambda: Case(rng, BOX_AND_ARM.format(condim=3)), [name])


@pytest.mark.slow
@pytest.mark.parametrize("friction", ["convex", "coulomb"])
@pytest.mark.parametrize("condim", [3, 4, 6])
def test_all_numbers_of_a_model(condim, friction, rng):
    xml = BOX_AND_ARM.format(condim=condim)
    check_gradient(rng, lambda: Case(rng, xml, friction), [*STATE, *FACTORS])


def test_the_short_damper_of_open_contacts_is_no_multiple_of_theirs():
    """A ball closes its gap within the step; where it has sunk in, its damper is its own."""
    xml = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="1 1 .1"/>
      <body pos="0 0 .1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    change = {"tau_d": 1.0}
    for gap in 2e-3, -2e-3:
        case = Case(np.random.default_rng(0), xml, "coulomb", n_steps=1)
        case.values["q"][:] = [0.0, 0.0, 0.1 + gap, 1.0, 0.0, 0.0, 0.0]
        case.values["v"][:] = [0.3, 0.0, -1.0, 0.0, 0.0, 0.0]
        run = case.run({})
        bars = np.zeros_like(run.q), np.zeros_like(run.v)
        bars[1][1, 2] = 1.0
        assert run.in_contact.all()
        gradient = run.vjp(*bars).parameters["tau_d"]
        far, near = (case.run(change, h).v[1, 2] for h in (1e-4, -1e-4))
        assert gradient == pytest.approx((far - near) / 2e-4, rel=1e-5, abs=1e-12)
        assert (gradient == 0.0) == (gap > 0.0)


def test_a_model_with_an_equality_constraint(rng):
    check_gradient(rng, lambda: Case(rng, LOOP), ["q", "v", *FACTORS])


def test_a_gradient_with_checkpoints(rng):
    case = Case(rng, BOX_AND_ARM.format(condim=3), n_steps=7)
    one, other = case.run({}), case.run({}, checkpoints=True)
    np.testing.assert_array_equal(one.q, other.q)
    bar = rng.standard_normal(one.q.shape)
    np.testing.assert_array_equal(one.vjp(bar).v0, other.vjp(bar).v0)


def test_steps_are_those_of_the_stepper(rng):
    case = Case(rng, BOX_AND_ARM.format(condim=3))
    run = case.run({})
    system = case.system({})
    data = mujoco.MjData(system.model)
    data.qpos[:], data.qvel[:] = run.q[0], run.v[0]
    for i, controls in enumerate(run.inputs):
        data.ctrl[:] = controls
        system.stepper.step(data)
        np.testing.assert_array_equal(run.q[i + 1], data.qpos)
        np.testing.assert_array_equal(run.v[i + 1], data.qvel)


def test_what_cannot_be_differentiated_is_named():
    model = mujoco.MjModel.from_xml_string(BOX_AND_ARM.format(condim=3))
    with pytest.raises(TypeError, match="stepper must be a Stepper, not MjModel"):
        DifferentiableModel(model)
    with pytest.raises(ValueError, match="lagged"):
        DifferentiableModel(Stepper(model, friction="lagged"))
    with pytest.raises(ValueError, match=r"stepper\.scheme"):
        DifferentiableModel(Stepper(model, scheme="midpoint"))
    fields = {0: PressureField(1e5, resolution=0.1), "floor": PressureField(math.inf)}
    with pytest.raises(ValueError, match=r"stepper\.fields: patches have no derivatives"):
        DifferentiableModel(Stepper(model, fields=fields))
    with pytest.raises(ValueError, match="step"):
        DifferentiableModel(Stepper(model), step=0.0)
    text = BOX_AND_ARM.format(condim=3).replace('kp="3"', 'kp="3" timeconst="1"')
    with pytest.raises(ValueError, match="activations"):
        DifferentiableModel(Stepper(mujoco.MjModel.from_xml_string(text)))
    system = DifferentiableModel(Stepper(model))
    with pytest.raises(ValueError, match="q0"):
        trajectory.simulate(system, np.zeros(3), np.zeros(model.nv), n_steps=1)
    state = np.array(model.qpos0), np.full(model.nv, np.inf)
    with pytest.raises(ValueError, match="v0"):
        trajectory.simulate(system, *state, n_steps=1)
