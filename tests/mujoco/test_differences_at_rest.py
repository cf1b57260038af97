"""Derivatives of steps where contacts and limits lie as shallow as differences are wide."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

import sapwood
from sapwood import trajectory

mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import DifferentiableModel, Stepper

BOX = """
<mujoco><option timestep="{dt}"/><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
  <body pos="0 0 {height}"><freejoint/><geom name="box" type="box" size=".1 .1 .1"/></body>
</worldbody></mujoco>
"""
HOPPER = """
<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .52"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
    <joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .2" size=".05"/>
    <body><joint name="hip" axis="0 1 0" damping="1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.25" size=".04"/>
      <body pos="0 0 -.25"><joint name="knee" axis="0 1 0" damping="1"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.22" size=".03"/>
        <body pos="0 0 -.22"><joint name="ankle" axis="0 1 0" damping="1"/>
          <geom type="capsule" fromto="-.1 0 -.02 .15 0 -.02" size=".03"/></body>
      </body></body></body></worldbody>
  <actuator><position joint="hip" kp="300"/><position joint="knee" kp="300"/>
    <position joint="ankle" kp="300"/></actuator></mujoco>
"""
LEG = """
    <body pos="0 {y} 0"><joint name="hip{y}" axis="0 1 0" damping="2"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".04"/>
      <body pos="0 0 -.3"><joint name="knee{y}" axis="0 1 0" damping="2"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.26" size=".03"/>
        <geom type="box" pos=".03 0 -.28" size=".12 .05 .02"/></body></body>
"""
JOINTS = ("hip.1", "knee.1", "hip-.1", "knee-.1")
WALKER = f"""
<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .601"><freejoint/><geom type="box" size=".08 .15 .1" pos="0 0 .1"/>
    {LEG.format(y=".1")}{LEG.format(y="-.1")}</body></worldbody>
  <actuator>{"".join(f'<position joint="{name}" kp="500"/>' for name in JOINTS)}</actuator></mujoco>
"""
MODELS = {
    "box, 1 ms": BOX.format(dt=0.001, height=0.1),
    "box, 2 ms": BOX.format(dt=0.002, height=0.1),
    "hopper": HOPPER,
    "walker": WALKER,
}
TIGHT = sapwood.SapSettings(relative_tolerance=1e-13)
# shorter than contacts at rest are deep
WIDTHS = np.geomspace(3e-9, 1e-7, 5)


@dataclasses.dataclass
class Place:
    """A state of a model, and its stepper."""

    model: object
    q: np.ndarray
    v: np.ndarray
    stepper: Stepper

    def after(self, change):
        """Velocity after a step, of the state with motions, velocities and controls changed."""
        nv, data = self.model.nv, mujoco.MjData(self.model)
        data.qpos[:] = self.q
        mujoco.mj_integratePos(self.model, data.qpos, change[:nv], 1.0)
        data.qvel[:] = self.v + change[nv : 2 * nv]
        data.ctrl[:] = change[2 * nv :]
        self.stepper.step(data)
        return np.array(data.qvel)

    def differences(self, widths=WIDTHS):
        """Central ones by each number, those of the widths whose neighbours agree best."""
        n = 2 * self.model.nv + self.model.nu
        found = []
        for h in widths:
            pairs = [(self.after(h * x) - self.after(-h * x)) / (2.0 * h) for x in np.eye(n)]
            found.append(np.transpose(pairs))
        apart = [np.abs(b - a).max() for a, b in itertools.pairwise(found)]
        return found[int(np.argmin(apart))]

    def derivatives(self, bars, **options):
        """The same by reverse mode, of losses bar @ v, and the last gradient."""
        system = DifferentiableModel(self.stepper, **options)
        run = trajectory.simulate(system, self.q, self.v, n_steps=1)
        rows = []
        for bar in bars:
            gradient = run.vjp(v_bar=np.array([np.zeros_like(bar), bar]))
            motions = system._manifold.by_motions(run.q[0], gradient.q0)
            rows.append(np.concatenate([motions, gradient.v0, gradient.inputs[0]]))
        return np.array(rows), gradient

    def off(self, rng, expected, **options):
        """Distance of the differences from these ones, over the largest, and the last gradient."""
        bars = rng.standard_normal((2, self.model.nv))
        found, gradient = self.derivatives(bars, **options)
        return np.abs(found - bars @ expected).max() / np.abs(bars @ expected).max(), gradient


def at_rest(xml, **options):
    model = mujoco.MjModel.from_xml_string(xml)
    data, stepper = mujoco.MjData(model), Stepper(model, settings=TIGHT, **options)
    for _ in range(int(2.0 / model.opt.timestep)):
        stepper.step(data)
    return Place(model, np.array(data.qpos), np.array(data.qvel), stepper)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*ended in stalled:RuntimeWarning")
@pytest.mark.parametrize("name", MODELS)
def test_contacts_at_rest(name, rng):
    """They lie some g dt^2/(4 pi^2) deep, less than the step of the differences.

    R_t at rest is 1e-6 w, and impulses from velocities have ten digits.
    """
    place = at_rest(MODELS[name])
    expected = place.differences()
    for options in ({}, {"step": 1e-5}, {"step": 1e-7}):
        off, gradient = place.off(rng, expected, **options)
        assert off <= 1e-6
    assert 0.0 < gradient.distance[0] < 1e-3


def placed(xml, q, v, **options):
    model = mujoco.MjModel.from_xml_string(xml)
    stepper = Stepper(model, settings=TIGHT, **options)
    return Place(model, np.array(q, dtype=float), np.array(v, dtype=float), stepper)


def on_floor(gap, v, dt=0.001, **options):
    """A box whose lowest corners are at these gaps from the floor."""
    q = [0.0, 0.0, 0.1 + gap, 1.0, 0.0, 0.0, 0.0]
    return placed(BOX.format(dt=dt, height=0.1), q, v, **options)


# a box at steps of a millisecond with tau_d = 20 ms: near-rigid while it touches, and a
# spring where the shorter damper of an open contact makes that the softer one
BETWEEN = 4.0 * math.pi**2 * 8.0 / (0.001 * math.sqrt(0.021 * 0.00125)) / 6.0


@pytest.mark.parametrize("gap", [-3e-7, 3e-7])
@pytest.mark.parametrize("stiffness", [1e4, BETWEEN, math.inf])
def test_a_contact_that_opens_or_closes_within_the_difference(stiffness, gap, rng):
    """The damper of an open contact is shorter: R and v_hat change where the gap does its sign."""
    material = sapwood.ContactMaterial(stiffness=stiffness / 0.5, dissipation_time=0.01)
    place = on_floor(gap, [0.3, 0.0, -0.05, 0.01, 0.02, 0.0], contact=material)
    expected = place.differences()
    for step in (1e-6, 1e-5):
        off, _ = place.off(rng, expected, step=step)
        assert off <= 1e-6


LOCKED = """
<mujoco><option timestep="0.001"/><worldbody><body><joint axis="0 1 0" range="{range}"
  limited="true"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/></body></worldbody>
</mujoco>
"""


def test_limits_that_the_engine_lists_on_one_side_of_the_difference(rng):
    """A joint with hardly any range passes one of its limits on either side."""
    place = placed(LOCKED.format(range="0 0.00001"), [8.8e-8], [0.0])
    expected = place.differences()
    assert place.off(rng, expected)[0] <= 1e-6


def test_contacts_that_are_not_there_when_they_open(rng):
    """Without a look ahead they are differenced while they are there, on one side or nearby."""
    place = at_rest(MODELS["box, 1 ms"], friction="convex")
    assert place.off(rng, place.differences(widths=np.geomspace(1e-9, 1e-8, 4)))[0] <= 1e-6


@pytest.mark.parametrize("share", [0.9999, 1.0001])
def test_a_difference_across_the_release_of_a_violation(share, rng):
    """An overlap from the body's own motion is corrected at once, a deeper one slowly."""
    depth, dt = 4e-3, 0.002
    q = [0.0, 0.0, 0.1 - depth, 1.0, 0.0, 0.0, 0.0]
    v = [0.2, 0.0, -share * depth / (2 * dt) / 2.0, 0.0, 0.0, 0.0]
    place = placed(BOX.format(dt=dt, height=0.1), q, v)
    expected = place.differences(widths=np.geomspace(1e-8, 1e-7, 4))
    off, gradient = place.off(rng, expected)
    assert off <= 1e-6 or gradient.distance[0] == 0.0
