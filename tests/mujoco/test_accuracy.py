"""Runs to a given accuracy: parts of time steps whose error is estimated."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sapwood
from sapwood.mujoco import NotSupported, Stepper
from sapwood.mujoco.stepping.accurate_steps import position_scales
from sapwood.reference import take_in_parts

EXACT = sapwood.SapSettings(relative_tolerance=1e-8, max_iterations=100)
MATERIAL = sapwood.ContactMaterial(stiffness=2e4, dissipation_time=2e-3, friction=0.5)

BALL = """
<mujoco><option timestep="0.01"/><statistic extent="1"/>
<worldbody><geom type="plane" size="5 5 1"/>
  <body pos="0 0 0.3"><freejoint/><geom type="sphere" size="0.05" mass="0.5"/></body>
</worldbody></mujoco>
"""
SPRING = """
<mujoco><option timestep="0.01"/><statistic extent="1"/><worldbody>
  <body><joint name="slide" type="slide" axis="1 0 0" stiffness="800" damping="0.5"/>
    <geom type="box" size="0.1 0.1 0.1" mass="1" contype="0" conaffinity="0"/></body>
</worldbody><actuator><motor joint="slide"/></actuator>
<sensor><jointpos joint="slide"/></sensor></mujoco>
"""
PENDULUM = """
<mujoco><option timestep="0.01"/><statistic extent="1"/><worldbody>
  <body pos="0 0 1"><joint type="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.02" mass="0.3"/>
    <body pos="0 0 -0.4"><joint type="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.02" mass="0.3"/></body></body>
  <geom type="box" pos="-0.45 0 0.5" size="0.1 0.3 0.5"/>
</worldbody></mujoco>
"""
RIGID = """
<mujoco><option timestep="0.01"/><statistic extent="1"/><worldbody>
  <geom type="plane" size="5 5 1"/>
  <body pos="0 0 0.3"><joint name="one" type="hinge" axis="0 1 0" range="-20 20" limited="true"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="0.3"/>
    <body pos="0.3 0 0"><joint name="two" type="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="0.3"/></body></body>
  <body pos="0.1 0.5 0.3"><joint name="up" type="slide" axis="0 0 1"/>
    <geom type="sphere" size="0.05" mass="0.2"/></body>
  <body pos="0.1 -0.5 0.06"><freejoint/><geom type="sphere" size="0.05" mass="0.2"/></body>
</worldbody>
<tendon><fixed range="-0.2 0.2" limited="true"><joint joint="up" coef="1"/></fixed></tendon>
<equality><joint joint1="two" joint2="one" polycoef="0 0.5 0 0 0"/></equality></mujoco>
"""
SCENES = {"ball": BALL, "spring": SPRING, "pendulum": PENDULUM}


def start(name, **options):
    """A stepper and data of a scene in motion."""
    model = mujoco.MjModel.from_xml_string(SCENES[name])
    data = mujoco.MjData(model)
    if name == "ball":
        data.qvel[0] = 1.0
    else:
        data.qpos[0] = 0.2 if name == "spring" else 1.2
    return Stepper(model, contact=MATERIAL, **options), data


@pytest.mark.parametrize("halvings", [1, 3])
def test_rigid_materials_follow_the_length_of_parts(halvings):
    model = mujoco.MjModel.from_xml_string(RIGID)
    data, other = mujoco.MjData(model), mujoco.MjData(model)
    stepper, fine = Stepper(model), Stepper(model, time_step=0.01 / 2**halvings, settings=EXACT)
    stepper.run(data, 40, accuracy=1e-300, halvings=halvings)
    fine.run(other, 40 * 2**halvings)
    assert np.array_equal(data.qpos, other.qpos)
    assert len(stepper.contacts) == 1
    assert [c.kind for c in stepper.constraints] == ["bilateral", "limit"]
    for one, same in zip(stepper.constraints, fine.constraints, strict=True):
        assert np.array_equal(one.force, same.force)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("halvings", [1, 3])
def test_parts_that_miss_the_tolerance_are_steps_of_the_least_length(name, halvings):
    stepper, data = start(name)
    fine, other = start(name, time_step=0.01 / 2**halvings, settings=EXACT)
    result = stepper.run(data, 20, accuracy=1e-300, halvings=halvings)
    fine.run(other, 20 * 2**halvings)
    assert np.array_equal(data.qpos, other.qpos)
    assert np.array_equal(data.qvel, other.qvel)
    assert np.all(result.error_control["substeps"] == 2**halvings)
    assert np.allclose(result.error_control["smallest_step"], 0.01 / 2**halvings, rtol=1e-15)
    assert fine.steps == stepper.steps == 20 * 2**halvings


def before_contact(name):
    """A stepper and data some steps before a contact closes."""
    stepper, data = start(name)
    if name == "ball":
        data.qpos[2], data.qvel[2] = 0.07, -1.4
    return stepper, data


class Mirror:
    """Steps in parts by :func:`sapwood.reference.take_in_parts` on steppers of each length."""

    def __init__(self, name):
        self.name, self.steppers = name, {}
        self.stepper, self.data = before_contact(name)
        self.model = self.stepper.model
        self.level = 0

    def advance(self, q, v, h):
        stepper = self.steppers.setdefault(h, start(self.name, time_step=h, settings=EXACT)[0])
        data = mujoco.MjData(self.model)
        data.qpos[:], data.qvel[:] = q, v
        stepper.step(data)
        contacts = stepper.contacts
        self.closes_gap = bool(((contacts.distance > 0.0) & (contacts.force[:, 2] > 0.0)).any())
        return data.qpos.copy(), data.qvel.copy()

    def difference(self, one, other):
        found = np.empty(self.model.nv)
        mujoco.mj_differentiatePos(self.model, found, 1.0, one, other)
        return found

    def move(self, q, by):
        found = q.copy()
        mujoco.mj_integratePos(self.model, found, by, 1.0)
        return found

    def step(self, accuracy, halvings):
        parts = take_in_parts(
            self.advance, self.data.qpos.copy(), self.data.qvel.copy(), 0.01, accuracy, halvings,
            self.level, scale=position_scales(self.model), difference=self.difference,
            move=self.move, closes_gap=lambda: self.closes_gap,
        )  # fmt: skip
        self.data.qpos[:], self.data.qvel[:], self.level = parts.q, parts.v, parts.level
        return parts


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("accuracy", [1e3, 1e-3, 1e-4])
def test_parts_are_those_of_the_mirror(name, accuracy):
    mirror = Mirror(name)
    stepper, data = before_contact(name)
    result = stepper.run(data, 6, accuracy=accuracy, halvings=6)
    parts = [mirror.step(accuracy, 6) for _ in range(6)]
    for column in ("substeps", "refused", "unmet", "smallest_step", "level"):
        assert np.array_equal(result.error_control[column], [getattr(p, column) for p in parts])
    assert np.allclose(result.error_control["error"], [p.error for p in parts], rtol=1e-6)
    assert np.allclose(data.qpos, parts[-1].q, rtol=0, atol=1e-9)
    assert np.allclose(data.qvel, parts[-1].v, rtol=0, atol=1e-7)


def swing(seconds):
    """Position of the slide of `SPRING` in closed form."""
    half, natural = 0.25, 800.0
    rate = np.sqrt(natural - half**2)
    wave = np.cos(rate * seconds) + half / rate * np.sin(rate * seconds)
    return 0.2 * np.exp(-half * seconds) * wave


def bounce(seconds, height=0.3):
    """Height of the ball of `BALL` by another integrator: m z'' = -m g + k (d - tau z') > 0."""
    mass, radius, k, tau, y = 0.5, 0.05, 1e4, 2e-3, np.array([height, 0.0])

    def force(y):
        return -k * (y[0] - radius + tau * y[1])

    def touch(_, y):
        return y[0] - radius

    def leave(_, y):
        return force(y)

    touch.terminal = leave.terminal = True
    touch.direction = leave.direction = -1
    time, pressed = 0.0, False
    while time < seconds:
        event = leave if pressed else touch
        found = solve_ivp(
            lambda _, y, p=pressed: [y[1], (force(y) / mass if p else 0.0) - 9.81],
            (time, seconds), y, events=event, rtol=1e-12, atol=1e-14, method="DOP853",
        )  # fmt: skip
        time, y, pressed = found.t[-1], found.y[:, -1], not pressed
    return y[0]


@pytest.mark.parametrize(
    ("name", "exact", "fall"), [("spring", swing(0.3), 3.0), ("ball", bounce(0.4), 5.0)]
)
def test_the_error_falls_with_the_tolerance(name, exact, fall):
    errors, parts = [], []
    for accuracy in (1e-2, 1e-4, 1e-6):
        stepper, data = start(name)
        data.qvel[:] = 0.0
        result = stepper.run(data, 30 if name == "spring" else 40, accuracy=accuracy)
        errors.append(abs(data.qpos[0 if name == "spring" else 2] - exact))
        parts.append(int(result.error_control["substeps"].sum()))
        assert not result.error_control["unmet"].any()
        assert result.error_control["error"].max() <= accuracy
    assert fall * errors[1] < errors[0]
    assert fall * errors[2] < errors[1]
    assert parts[0] < parts[1] < parts[2]


def test_impacts_within_a_part_are_seen():
    """A contact that closes in the second half of a part has no force in it yet.

    Whole and halves agree then. Impacts at many times within a part have errors in proportion to
    the accuracy all the same.
    """
    heights, largest = np.linspace(0.25, 0.26, 8), []
    exact = [bounce(0.35, height) for height in heights]
    for accuracy in (1e-4, 1e-6):
        errors = []
        for height, end in zip(heights, exact, strict=True):
            stepper, data = start("ball")
            data.qpos[2], data.qvel[:] = height, 0.0
            stepper.run(data, 35, accuracy=accuracy)
            errors.append(abs(data.qpos[2] - end))
        largest.append(max(errors))
    assert largest[0] < 2e-3
    assert 50.0 * largest[1] < largest[0]


def test_a_near_rigid_box_rests_in_parts():
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="5 5 1"/>'
        '<body pos="0 0 0.12"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>'
        "</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qvel[0] = 0.3
    stepper = Stepper(model)
    result = stepper.run(data, 200, accuracy=1e-4)
    assert np.abs(data.qvel).max() < 1e-6
    assert data.qpos[2] == pytest.approx(0.1, abs=1e-4)
    # rest needs no short parts
    assert result.error_control["substeps"][-50:].max() <= 4


def test_a_step_ends_on_time_with_its_records():
    stepper, data = start("ball")
    seen = []
    result = stepper.run(
        data,
        30,
        lambda data: seen.append(data.time),
        every=10,
        record=("qpos", "force", "contacts", "sensordata"),
        accuracy=1e-4,
    )
    assert np.array_equal(result.time, np.cumsum(np.full(30, 0.01)))
    assert seen == list(result.time[9::10])
    assert np.array_equal(result.qpos[-1], data.qpos)
    assert len(result.contacts_of(-1)) == result.contacts[-1] == len(stepper.contacts)
    assert result.converged
    assert "parts" in str(result)
    assert len(stepper.last_run.error_control) == 30


def test_runs_repeat_and_may_be_split():
    def run(*numbers):
        stepper, data = start("pendulum")
        for steps in numbers:
            stepper.run(data, steps, accuracy=1e-5)
        return data.qpos.tobytes() + data.qvel.tobytes()

    assert run(30) == run(30)
    stepper, data = start("pendulum")
    stepper.run(data, 30, lambda _: None, every=7, accuracy=1e-5)
    assert data.qpos.tobytes() + data.qvel.tobytes() == run(30)


def test_controls_and_changes_of_the_model_count():
    stepper, data = start("spring")
    model = stepper._given
    data.ctrl[0] = 3.0
    stepper.run(data, 10, accuracy=1e-6)
    other, again = start("spring")
    again.ctrl[0] = 3.0

    def change(_):
        other._given.opt.gravity[0] = 1.0
        other._given.dof_damping[0] = 2.0

    other.run(again, 10, change, every=5, accuracy=1e-6)
    assert abs(again.qpos[0] - data.qpos[0]) > 1e-3
    model.opt.gravity[0], model.dof_damping[0] = 1.0, 2.0
    third, last = start("spring")
    last.ctrl[0] = 3.0
    third.run(last, 5, accuracy=1e-6)
    # a new run begins with a whole step, so that parts may differ
    stepper.run(last, 5, accuracy=1e-6)
    assert again.qpos[0] == pytest.approx(last.qpos[0], abs=1e-4)


def test_a_step_that_fails_leaves_the_steps_before_it():
    stepper, data = start("ball")
    before = []

    def break_down(data):
        if data.time > 0.045:
            before.append(data.qpos.copy())
            data.qfrc_applied[0] = 1e300

    with pytest.raises(sapwood.mujoco.StepError) as caught:
        stepper.run(data, 20, break_down, accuracy=1e-4)
    assert caught.value.step == stepper.last_run.steps == 5
    assert np.array_equal(data.qpos, before[-1])


def test_scales_are_the_extent_and_a_radian():
    stepper, _ = start("ball")
    assert np.array_equal(position_scales(stepper.model), [1, 1, 1, 1, 1, 1])
    stepper.model.stat.extent = 3.0
    assert np.array_equal(position_scales(stepper.model), [3, 3, 3, 1, 1, 1])
    stepper, _ = start("pendulum")
    assert np.array_equal(position_scales(stepper.model), [1, 1])


@pytest.mark.parametrize("accuracy", [0.0, -1.0, np.nan, np.inf])
def test_accuracy_must_be_a_positive_number(accuracy):
    stepper, data = start("ball")
    with pytest.raises(ValueError, match="accuracy"):
        stepper.run(data, 1, accuracy=accuracy)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"accuracy": 1e-3, "halvings": 0}, "halvings = 0"),
        ({"accuracy": 1e-3, "halvings": 31}, "halvings = 31"),
        ({"halvings": 14}, "halvings = 14: goes with accuracy"),
    ],
)
def test_halvings_have_a_range_and_go_with_accuracy(options, text):
    stepper, data = start("ball")
    with pytest.raises(ValueError, match=text):
        stepper.run(data, 1, **options)


@pytest.mark.parametrize("option", [{"friction": "lagged"}, {"scheme": "midpoint"}])
def test_whole_steps_alone_are_refused(option):
    stepper, data = start("ball", **option)
    with pytest.raises(NotSupported, match=next(iter(option.values()))):
        stepper.run(data, 1, accuracy=1e-3)
