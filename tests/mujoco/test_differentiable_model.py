"""Derivatives of runs of MuJoCo models against differences of whole runs."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import sapwood
from derivatives import quotient
from sapwood import PressureField, trajectory

mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import DifferentiableModel, Stepper

# tight solves stall at round-off
pytestmark = pytest.mark.filterwarnings("ignore:.*ended in stalled:RuntimeWarning")

STATE = ("q", "v", "inputs")
MATERIAL = {"stiffness": 1e4, "dissipation_time": 0.01}
PARAMETERS = (
    ("body", "moving", "mass"), ("body", "moving", "inertia", 1), ("geom", "moving", "friction", 0),
    ("geom", "moving", "stiffness"), ("geom", "moving", "dissipation_time"),
    ("joint", "turn", "damping"), ("joint", "turn", "armature"), ("joint", "turn", "frictionloss"),
)  # fmt: skip
LABELS = ["/".join(map(str, one)) for one in PARAMETERS]

BOX_AND_ARM = """
<mujoco><option timestep="0.005"/><worldbody>
  <geom name="floor" type="plane" size="3 3 .1" condim="{condim}" friction=".3"/>
  <body name="moving" pos="0 0 .15"><freejoint/>
    <geom name="moving" type="box" size=".1 .1 .1" mass="1" condim="{condim}" friction=".6"/></body>
  <body pos="0 1 .1">
    <joint name="turn" axis="0 0 1" damping=".1" frictionloss=".02" armature=".01"/>
    <joint name="lift" axis="0 1 0" range="-20 60" limited="true" damping=".1"/>
    <geom type="capsule" fromto="0 0 0 .4 0 0" size=".03" condim="{condim}"/>
    <body pos=".4 0 0"><joint type="ball" damping=".01"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" condim="{condim}"/></body>
  </body></worldbody>
  <actuator><motor joint="lift"/><position joint="turn" kp="3"/></actuator></mujoco>
"""
LOOP = """
<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="3 3 .1"/>
  <body name="moving" pos="0 0 .16"><joint name="turn" axis="0 1 0" damping=".1" armature=".01"
      frictionloss=".02"/>
    <geom name="moving" type="capsule" fromto="0 0 0 .3 0 0" size=".03" friction="1.1"/>
    <body pos=".3 0 0"><joint name="knee" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .2 0 -.1" size=".03"/></body></body>
  <body pos=".1 .5 .06"><freejoint/><geom size=".05"/></body></worldbody>
  <equality><joint joint1="knee" joint2="turn" polycoef="0 .5 0 0 0"/></equality></mujoco>
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
        self.values |= {name: float(x) for name, x in system.parameters.items()}

    def system(self, values):
        model = mujoco.MjModel.from_xml_string(self.xml)
        material = dict(MATERIAL)
        for (kind, name, field, *index), label in zip(PARAMETERS, LABELS, strict=True):
            if label in values and field in material:
                material[field] = values[label]
            elif label in values:
                of = getattr(model, kind)(name)
                getattr(of, field)[index[0] if index else 0] = values[label]
        mujoco.mj_setConst(model, mujoco.MjData(model))
        settings = sapwood.SapSettings(relative_tolerance=1e-12, friction=self.friction)
        stepper = Stepper(
            model, contact=sapwood.ContactMaterial(**MATERIAL),
            materials={"moving": sapwood.ContactMaterial(**material)}, settings=settings,
            friction=self.friction, constraint=sapwood.ConstraintMaterial(stiffness=1e4),
        )  # fmt: skip
        return DifferentiableModel(stepper, parameters=PARAMETERS)

    def run(self, change, h=0.0, **options):
        """The run, where h times a change is added to all that it follows from."""
        values = {name: x + h * change.get(name, 0.0) for name, x in self.values.items()}
        system = self.system({name: values[name] for name in LABELS})
        return trajectory.simulate(system, *(values[name] for name in STATE), **options)

    def change(self, rng, names):
        sizes = {name: np.maximum(1.0, np.abs(self.values[name])) for name in names}
        return {name: size * rng.uniform(-1, 1, size.shape) for name, size in sizes.items()}


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
        if not expected or not run.in_contact.any():
            continue  # at a kink, and where the number does not count
        gradient = run.vjp(*bars)
        of = {"q": gradient.q0, "v": gradient.v0, "inputs": gradient.inputs, **gradient.parameters}
        terms = [np.sum(of[name] * dot) for name, dot in change.items()]
        size = max(sum(map(abs, terms)), abs(expected))
        assert abs(sum(terms) - expected) <= 1e-5 * size
        return
    pytest.fail("differences converge, and are not 0, in no case")


@pytest.mark.parametrize("name", [*STATE, *LABELS])
def test_each_number_of_a_model(name, rng):
    check_gradient(rng, lambda: Case(rng, BOX_AND_ARM.format(condim=3)), [name])


@pytest.mark.slow
@pytest.mark.parametrize("friction", ["convex", "coulomb"])
@pytest.mark.parametrize("condim", [3, 4, 6])
def test_all_numbers_of_a_model(condim, friction, rng):
    xml = BOX_AND_ARM.format(condim=condim)
    check_gradient(rng, lambda: Case(rng, xml, friction), [*STATE, *LABELS])


def test_a_model_with_an_equality_constraint(rng):
    check_gradient(rng, lambda: Case(rng, LOOP), ["q", "v", *LABELS])


def test_a_gradient_with_checkpoints(rng):
    case = Case(rng, BOX_AND_ARM.format(condim=3), n_steps=7)
    one, other = case.run({}), case.run({}, checkpoints=True)
    np.testing.assert_array_equal(one.q, other.q)
    bar = rng.standard_normal(one.q.shape)
    np.testing.assert_array_equal(one.vjp(bar).v0, other.vjp(bar).v0)


def test_many_losses_share_the_linearizations(rng):
    case = Case(rng, BOX_AND_ARM.format(condim=3), n_steps=6)
    run = case.run({})
    q_bar, v_bar = (rng.standard_normal((2, 3, *x.shape)) for x in (run.q, run.v))
    many = run.vjp(q_bar, v_bar)
    for at in np.ndindex(2, 3):
        one = run.vjp(q_bar[at], v_bar[at])
        for name in ("q0", "v0", "inputs"):
            np.testing.assert_allclose(getattr(many, name)[at], getattr(one, name), atol=1e-12)
        for name, bar in one.parameters.items():
            np.testing.assert_allclose(many.parameters[name][at], bar, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match=r"v_bar has shape \(3,\), expected \(..., 7, 11\)"):
        run.vjp(v_bar=np.zeros(3))


def test_forward_mode_is_the_transpose_of_reverse_mode(rng):
    case = Case(rng, BOX_AND_ARM.format(condim=3), n_steps=8)
    run = case.run({})
    nv = run.system.model.nv
    v_bar = rng.standard_normal(run.v.shape)
    dots = rng.standard_normal(nv), rng.standard_normal(nv), rng.standard_normal(run.inputs.shape)
    by = {LABELS[0]: 0.3, LABELS[5]: -0.2}
    dq, dv = run.jvp(*dots, by)
    assert dq.shape == (9, nv)
    gradient = run.vjp(v_bar=v_bar)
    motions = run.system._manifold.by_motions(run.q[0], gradient.q0)
    expected = motions @ dots[0] + gradient.v0 @ dots[1] + np.sum(gradient.inputs * dots[2])
    expected += sum(gradient.parameters[name] * dot for name, dot in by.items())
    assert np.sum(v_bar * dv) == pytest.approx(expected, rel=1e-9)
    steps = run.jacobians()
    assert steps.A.shape == (8, 2 * nv, 2 * nv)
    assert steps.P.shape == (8, 2 * nv, len(LABELS))
    with pytest.raises(ValueError, match="parameters_dot: mass is none of body/moving/mass"):
        run.jvp(parameters_dot={"mass": 1.0})
    free = trajectory.FreeBodies(
        [trajectory.Sphere(0.1)], mass=1.0, inertia=[4e-3] * 3, dt=0.01, k=1e4, tau_d=0.0, mu=0.3
    )
    ball = trajectory.simulate(free, [0, 0, 1, 1, 0, 0, 0], np.zeros(6), n_steps=2)
    with pytest.raises(TypeError, match="FreeBodies has no Jacobians of its steps"):
        ball.jacobians()
    many = ball.vjp(np.array([np.ones_like(ball.q), 2.0 * np.ones_like(ball.q)]))
    np.testing.assert_allclose(many.v0[1], 2.0 * many.v0[0])


def test_activations_are_velocities_of_the_state():
    """A servo with a time constant: its activation follows the control."""
    text = BOX_AND_ARM.format(condim=3).replace('kp="3"', 'kp="3" timeconst=".05"')
    stepper = Stepper(mujoco.MjModel.from_xml_string(text))
    system, model = DifferentiableModel(stepper), stepper.model
    assert model.na == 1
    u, start = np.zeros((30, model.nu)), np.zeros(model.nv + 1)
    run = trajectory.simulate(system, model.qpos0, start, u)
    bar = np.zeros_like(run.v)
    bar[-1, -1] = 1.0
    gradient = run.vjp(v_bar=bar)
    # the activation decays by exp(-dt/tau) or 1 - dt/tau a step, by the integrator
    decay = gradient.v0[-1] ** (1.0 / 30.0)
    assert decay == pytest.approx(1.0 - 0.005 / 0.05, abs=0.005)
    sums = (1.0 - decay) * decay ** np.arange(29, -1, -1.0)
    np.testing.assert_allclose(gradient.inputs[:, 1], sums, rtol=1e-5)


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


def test_copies_and_pickles_have_the_same_derivatives(rng):
    case = Case(rng, BOX_AND_ARM.format(condim=3))
    system, run = case.system({}), case.run({})
    bar = rng.standard_normal(run.q.shape)
    gradient = run.vjp(bar)
    for other in (pickle.loads(pickle.dumps(system)), copy.deepcopy(system)):
        assert other.stepper is not system.stepper
        assert other.model is other.stepper.model
        again = trajectory.simulate(other, run.q[0], run.v[0], run.inputs, n_steps=len(run.inputs))
        np.testing.assert_array_equal(again.q, run.q)
        found = again.vjp(bar)
        np.testing.assert_array_equal(found.q0, gradient.q0)
        assert dict(found.parameters) == dict(gradient.parameters)
        with pytest.raises(TypeError):
            other.parameters["moving"] = 1.0


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
    for given, text in (
        ("mass", r"parameters\[0\] must be \(kind, name, field\) or"),
        (("body", "moving"), r"parameters\[0\] must be \(kind, name, field\) or"),
        (("site", "moving", "pos"), "the kind must be one of body, geom, joint, tendon, actuator"),
        (("body", "moving", "pos"), "the field of a body must be one of mass, inertia"),
        (("body", "none", "mass"), "the model has no body of this name"),
        (("body", "moving", "inertia"), "needs an index from 0 to 2"),
        (("body", "moving", "inertia", 3), "the index must be from 0 to 2"),
        (("geom", "moving", "stiffness"), "is inf, and has no derivatives"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            DifferentiableModel(Stepper(model), parameters=[given])
    changed = mujoco.MjModel.from_xml_string(BOX_AND_ARM.format(condim=3))
    changed.body_mass[1] *= 2.0
    changed.body_inertia[1] *= 2.0
    system = DifferentiableModel(Stepper(changed), parameters=[("body", "moving", "mass")])
    run = trajectory.simulate(system, model.qpos0, np.zeros(model.nv), n_steps=1)
    with pytest.raises(ValueError, match=r"call mujoco\.mj_setConst\(model, data\) after"):
        run.vjp(run.q)
    system = DifferentiableModel(Stepper(model))
    with pytest.raises(ValueError, match="q0"):
        trajectory.simulate(system, np.zeros(3), np.zeros(model.nv), n_steps=1)
    state = np.array(model.qpos0), np.full(model.nv, np.inf)
    with pytest.raises(ValueError, match="v0"):
        trajectory.simulate(system, *state, n_steps=1)
