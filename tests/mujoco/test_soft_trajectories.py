"""Derivatives of runs of models with soft bodies: against differences of whole runs."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import mujoco
import numpy as np
import pytest

from sapwood import SapSettings, fem
from sapwood.mujoco import DifferentiableModel, DifferentiableSoftModel, NotSupported, Stepper
from sapwood.trajectory import TrajectoryError, simulate

# tight solves stall at round-off
pytestmark = pytest.mark.filterwarnings("ignore:.*ended in stalled:RuntimeWarning")

TIGHT = SapSettings(relative_tolerance=1e-13, max_iterations=200)

PUSHER = """
<mujoco><option timestep='.005'/><worldbody>
<geom name='floor' type='plane' size='1 1 1' friction='.3'/>
<body name='finger' pos='-.09 0 .05'><joint name='x' type='slide' axis='1 0 0' damping='2'/>
<joint name='turn' type='ball' damping='.01'/><geom size='.035' mass='.3' friction='.5'/></body>
</worldbody><actuator><general joint='x' dyntype='filter' dynprm='.02' gainprm='30'/>
</actuator></mujoco>"""


def pusher(rng):
    """A finger with an actuator of its own state pushes a soft cube over the floor."""
    model = mujoco.MjModel.from_xml_string(PUSHER)
    soft = fem.Material(young=1e5, poisson=0.3, density=1000.0, stiffness_damping=0.003)
    pose = np.eye(4)
    pose[2, 3] = 0.0495
    body = fem.SoftBody(
        fem.box([0.1] * 3, 2), soft, pose=pose, friction=0.4, dissipation_time=0.02, name="cube",
        contact_stiffness=1e7,
    )  # fmt: skip
    body.positions = body.positions + 3e-4 * rng.standard_normal(body.positions.shape)
    body.velocities = [0.3, 0.1, 0.0] + 0.02 * rng.standard_normal(body.positions.shape)
    data = mujoco.MjData(model)
    data.qpos[0], data.qvel[:] = 0.007, [0.3, 3.0, 3.0, 3.0] * rng.standard_normal(4)
    data.act[:] = 0.2
    return Stepper(model, soft=[body], sigma=1e-6, settings=TIGHT), data


def changed(system, q, motion, positions):
    """Positions of a state moved along a motion of the model and of the vertices."""
    model, found = system.model, q.copy()
    mujoco.mj_integratePos(model, found[: model.nq], motion, 1.0)
    found[model.nq :] += positions
    return found


def smooth_run(rng, parameters=()):
    """The first of some runs that stay away from kinks while the finger touches the cube."""
    for _ in range(100):
        stepper, data = pusher(rng)
        if not np.any(stepper_forces(stepper, data)):
            continue
        system = DifferentiableSoftModel(stepper, data=data, parameters=parameters)
        inputs = 0.3 + 0.2 * rng.standard_normal((4, 1))
        run = simulate(system, *system.state, inputs)
        bars = rng.standard_normal(run.q.shape), rng.standard_normal(run.v.shape)
        gradient = run.vjp(*bars)
        if np.min(gradient.distance) > 1e-7:
            return system, run, bars, gradient
    raise AssertionError("no such run")


def stepper_forces(stepper, data):
    """Force on the finger in the first step."""
    first = mujoco.MjData(stepper.model)
    mujoco.mj_copyData(first, stepper.model, data)
    kept = stepper.soft_state
    stepper.step(first)
    stepper.soft_state = kept
    return stepper.body_forces[stepper.model.body("finger").id]


def test_gradients_of_a_run_are_those_of_whole_runs(rng):
    """By the start and the controls, in reverse and in forward mode."""
    system, run, bars, gradient = smooth_run(rng)
    model = system.model
    n = run.q.shape[1] - model.nq
    motion, x = 1e-2 * rng.standard_normal(model.nv), 1e-3 * rng.standard_normal(n)
    v, u = 0.1 * rng.standard_normal(run.v.shape[1]), rng.standard_normal(run.inputs.shape)

    def loss(h):
        moved = changed(system, run.q[0], h * motion, h * x)
        other = simulate(system, moved, run.v[0] + h * v, run.inputs + h * u)
        return np.sum(bars[0] * other.q) + np.sum(bars[1] * other.v)

    q_dot = (changed(system, run.q[0], 1e-6 * motion, 0) - run.q[0])[: model.nq] / 1e-6
    along = gradient.q0 @ np.concatenate([q_dot, x]) + gradient.v0 @ v
    along += np.sum(gradient.inputs * u)
    errors = [abs((loss(h) - loss(-h)) / (2 * h) - along) / abs(along) for h in (1e-3, 1e-4, 1e-5)]
    assert min(errors) < 1e-5
    q_dots, v_dots = run.jvp(np.concatenate([motion, x]), v, u)
    # numbers of quaternions follow from motions
    pushed = np.sum(bars[1] * v_dots)
    for i, moves in enumerate(q_dots):
        after = changed(system, run.q[i], 1e-6 * moves[: model.nv], 1e-6 * moves[model.nv :])
        pushed += bars[0][i] @ (after - run.q[i]) / 1e-6
    assert pushed == pytest.approx(along, rel=1e-5)


def test_gradients_of_a_run_by_numbers_are_those_of_whole_runs(rng):
    """Numbers of the soft body and the model, and an array: in reverse and in forward mode."""
    numbers = [("body", "cube", "young"), ("body", "cube", "loads"), ("joint", "x", "damping")]
    system, run, bars, gradient = smooth_run(rng, numbers)
    model, (cube,) = system.model, system.stepper.soft
    assert system.parameters["body/cube/young"] == 1e5
    push = rng.standard_normal(cube.loads.shape)

    def ends(h, number):
        soft = fem.SoftBody(
            cube.mesh, dataclasses.replace(cube.material, young=1e5 * (1 + h * (number == 0))),
            friction=0.4, dissipation_time=0.02, contact_stiffness=1e7,
        )  # fmt: skip
        soft.positions, soft.velocities = cube.positions.copy(), cube.velocities.copy()
        soft.loads += h * push * (number == 1)
        other_model = copy.copy(model)
        other_model.joint("x").damping[:] += h * (number == 2)
        stepper = Stepper(other_model, soft=[soft], sigma=1e-6, settings=TIGHT)
        other = simulate(
            DifferentiableSoftModel(stepper, data=system._data), run.q[0], run.v[0], run.inputs
        )
        return np.sum(bars[0] * other.q) + np.sum(bars[1] * other.v)

    by_young, by_loads, by_damping = gradient.parameters.values()
    slopes = 1e5 * by_young, np.sum(by_loads * push), by_damping
    for k, slope in enumerate(slopes):
        errors = [abs((ends(h, k) - ends(-h, k)) / (2 * h) - slope) for h in (1e-2, 1e-3, 1e-4)]
        assert min(errors) < 1e-5 * abs(slope)
    change = {"body/cube/young": 1e5, "body/cube/loads": push, "joint/x/damping": 1.0}
    q_dots, v_dots = run.jvp(parameters_dot=change)
    pushed = np.sum(bars[1] * v_dots)
    for i, moves in enumerate(q_dots):
        moved = changed(system, run.q[i], 1e-6 * moves[: model.nv], 1e-6 * moves[model.nv :])
        pushed += bars[0][i] @ (moved - run.q[i]) / 1e-6
    assert pushed == pytest.approx(sum(slopes), rel=1e-5)


def test_a_run_is_that_of_the_stepper_and_leaves_it_as_it_is(rng):
    stepper, data = pusher(rng)
    system = DifferentiableSoftModel(stepper, data=data)
    before = stepper.soft_state
    q, v = system.state
    data.ctrl[:] = 0.4
    run = simulate(system, q, v, np.full((3, 1), 0.4))
    np.testing.assert_array_equal(stepper.soft_state.positions[0], before.positions[0])
    np.testing.assert_array_equal(simulate(system, q, v, np.full((3, 1), 0.4)).q, run.q)
    stepper.run(data, 3)
    ends = np.concatenate([data.qpos, stepper.soft[0].positions.ravel()])
    np.testing.assert_allclose(run.q[-1], ends, rtol=0, atol=1e-10)
    ends = np.concatenate([data.qvel, data.act, stepper.soft[0].velocities.ravel()])
    np.testing.assert_allclose(run.v[-1], ends, rtol=0, atol=1e-8)


def test_models_without_soft_bodies_have_the_other_class(rng):
    stepper, _ = pusher(rng)
    with pytest.raises(NotSupported, match="and DifferentiableSoftModel"):
        DifferentiableModel(stepper)
    with pytest.raises(ValueError, match="no soft bodies: use DifferentiableModel"):
        DifferentiableSoftModel(Stepper(stepper.model))
    system = DifferentiableSoftModel(stepper)
    q, v = system.state
    with pytest.raises(ValueError, match="q0 has shape"):
        simulate(system, q[:-1], v, n_steps=1)
    v[-1] = 1e200
    with pytest.raises(TrajectoryError, match="step 0"):
        simulate(system, q, v, n_steps=1)


def test_copies_and_pickles_take_the_same_steps(rng):
    stepper, data = pusher(rng)
    system = DifferentiableSoftModel(stepper, data=data)
    run = simulate(system, *system.state, n_steps=3)
    for other in (pickle.loads(pickle.dumps(system)), copy.deepcopy(system)):
        assert other.stepper is not stepper
        again = simulate(other, *other.start(run.q[0], run.v[0]), n_steps=3)
        np.testing.assert_array_equal(again.q, run.q)
        with pytest.raises(TypeError):
            other.parameters["mass"] = 1.0
