"""Steppers as objects: results, counters, warnings, copies, several data, threads."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import mixed, urdf_on_floor
from sapwood.mujoco import ContactMaterial, Stepper
from sapwood.studies import scenes


def run(stepper, data, steps):
    for _ in range(steps):
        stepper.step(data)


# ---- results and counters -----------------------------------------------------------------------


def test_results_before_and_after_the_first_step():
    model = scenes.sphere_on_floor(0.001).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    assert stepper.solution is None
    assert (stepper.n_contacts, stepper.steps) == (0, 0)
    assert stepper.penetration.shape == stepper.slip_speed.shape == (0,)
    stepper.step(data)
    assert stepper.solution.status is sapwood.Status.converged
    assert stepper.solution.gamma.shape == (0, 3)
    while stepper.n_contacts == 0:
        stepper.step(data)
    contacts = stepper.contacts
    assert contacts.index.tolist() == [0]
    assert contacts.force.shape == (1, 3)
    np.testing.assert_array_equal(stepper.penetration, np.maximum(-contacts.distance, 0.0))
    assert stepper.contacts is contacts
    assert "steps=" in repr(stepper)
    assert "sphere_on_floor" in repr(stepper)


def test_results_are_copies():
    model = scenes.box_on_slope(0.1, 0.5).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    for _ in range(5):
        stepper.step(data)
    solution, contacts = stepper.solution, stepper.contacts
    v, force = solution.v.copy(), contacts.force.copy()
    for _ in range(5):
        stepper.step(data)
    np.testing.assert_array_equal(solution.v, v)
    np.testing.assert_array_equal(contacts.force, force)


def test_steps_that_did_not_converge_are_counted_and_told_once():
    model = scenes.clutter(8, seed=2).compile()
    stepper = Stepper(model, settings=sapwood.SapSettings(max_iterations=0), friction="convex")
    data = mujoco.MjData(model)
    with pytest.warns(RuntimeWarning, match="ended in iteration_limit") as record:
        run(stepper, data, 30)
    assert len(record) == 1
    assert stepper.iteration_limit_steps > 1
    assert (stepper.steps, stepper.stalled_steps) == (30, 0)
    assert data.time == pytest.approx(0.3)


def take_step(stepper, data):
    stepper.step(data)


def take_run(stepper, data):
    stepper.run(data, 10)


def take_halves(stepper, data):
    stepper.step1(data)
    stepper.step2(data)


@pytest.mark.parametrize("take", [take_step, take_halves, take_run])
def test_warning_points_at_the_line_that_steps(take):
    model = scenes.sphere_on_floor(-0.001).compile()
    stepper = Stepper(model, settings=sapwood.SapSettings(max_iterations=0), friction="convex")
    with pytest.warns(RuntimeWarning, match="ended in iteration_limit") as record:
        take(stepper, mujoco.MjData(model))
    lines, first = inspect.getsourcelines(take)
    # the step is the last line
    assert (record[0].filename, record[0].lineno) == (__file__, first + len(lines) - 1)


def take_each(step, steppers, model):
    for stepper in steppers:
        step(stepper, mujoco.MjData(model))


def test_a_warning_passes_over_packages_of_environments():
    """And a process is told once, whatever the number of environments."""
    model = scenes.sphere_on_floor(-0.001).compile()
    settings = sapwood.SapSettings(max_iterations=0)
    package = {"__name__": "gymnasium.envs.mujoco.mujoco_env"}
    exec("def step(stepper, data): stepper.step(data)", package)
    steppers = [Stepper(model, settings=settings, friction="convex") for _ in range(3)]
    with pytest.warns(RuntimeWarning, match="ended in iteration_limit") as record:
        take_each(package["step"], steppers, model)
    assert [warning.filename for warning in record] == [__file__]


def take_often(take, stepper, data):
    for _ in range(30):
        take(stepper, data)


class Stalled:
    """Stands for a core whose every solve stalls, which on a real one round-off decides."""

    def __init__(self, core):
        self.core, self.stalls = core, 0
        self.result = core.result

    def finish(self, *arguments):
        taken, _, failure = self.core.finish(*arguments)
        self.stalls += taken
        arguments[4]["status"][:taken] = sapwood.Status.stalled
        return taken, taken, failure

    def run(self, *arguments):
        taken, _, failure = self.core.run(*arguments)
        self.stalls += taken
        arguments[4]["status"][:taken] = sapwood.Status.stalled
        return taken, taken, failure

    def prepare(*_):
        """No step: all are taken by `run`."""

    def accept_options(self, *arguments):
        self.core.accept_options(*arguments)

    def counts(self):
        return 0, self.stalls, 0, 0


@pytest.mark.parametrize("take", [take_step, take_halves, take_run])
def test_steps_that_stall_are_counted_and_told_once(take, monkeypatch):
    model = scenes.clutter(8, seed=2).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    monkeypatch.setattr(stepper._steps, "_core", Stalled(stepper._steps._core))
    message = r"time 0 s: .* ended in stalled at a momentum"
    with pytest.warns(RuntimeWarning, match=message) as record:
        take_often(take, stepper, data)
    assert len(record) == 1
    taken = 300 if take is take_run else 30
    assert stepper.steps == stepper.stalled_steps == taken
    assert stepper.iteration_limit_steps == 0


def test_what_lies_takes_no_iteration():
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .11'>"
        "<freejoint/><geom type='box' size='.1 .1 .1'/></body></worldbody></mujoco>"
    )
    result = Stepper(model).run(mujoco.MjData(model), 500)
    assert result.iterations.max() > 0
    assert result.contacts[-1] == 4
    assert result.iterations[-100:].max() == 0


def test_time_step_may_differ_from_the_models():
    model = scenes.sphere_on_floor(1.0).compile()
    stepper, data = Stepper(model, time_step=0.02), mujoco.MjData(model)
    stepper.step(data)
    assert data.time == 0.02
    assert data.qvel[2] == pytest.approx(-9.81 * 0.02)
    assert model.opt.timestep == 1e-4
    assert stepper.time_step == stepper.model.opt.timestep == 0.02


def test_the_model_given_is_not_changed():
    model = mixed()
    flags = model.opt.disableflags
    stepper, data = Stepper(model, time_step=0.001), mujoco.MjData(model)
    stepper.step(data)
    assert (model.opt.disableflags, model.opt.timestep) == (flags, 0.004)
    assert stepper.model is not model
    # physical values are changed on the stepper's own model
    stepper.model.opt.gravity[:] = 0
    fresh = mujoco.MjData(model)
    stepper.step(fresh)
    ball = model.joint(model.body("ball").jntadr[0]).dofadr[0]
    assert abs(fresh.qvel[ball + 2]) < 1e-12


# ---- several data, several threads --------------------------------------------------------------


def test_data_may_go_before_the_stepper():
    model = scenes.clutter(4).compile()
    stepper = Stepper(model)
    for _ in range(20):
        data = mujoco.MjData(model)
        stepper.step(data)
        del data
    assert stepper.steps == 20


def test_urdf_model_comes_to_rest():
    model = urdf_on_floor()
    stepper, data = Stepper(model, contact=ContactMaterial(friction=0.8)), mujoco.MjData(model)
    data.qvel[:] = 0.5
    for _ in range(2000):
        stepper.step(data)
    assert stepper.n_contacts >= 1
    assert np.abs(data.qvel).max() < 1e-3
    assert 0 < stepper.penetration.max() < 1e-3
