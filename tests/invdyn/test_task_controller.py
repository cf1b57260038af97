"""TaskController on MuJoCo models: contacts that are held, controls, limits, errors."""

import copy
import pickle

import mujoco
import numpy as np
import pytest

import sapwood.mujoco
from sapwood.invdyn import BaseTask, ComTask, FrameTask, JointTask, TaskController, TaskStatus

LEG = """
<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="1 1 .1"/>
  <body name="trunk" pos="0 0 .5"><freejoint/><geom type="box" size=".2 .1 .1" mass="10"/>
    <body name="foot"><joint name="leg" type="slide" axis="0 0 1"/>
      <geom type="box" size=".05 .05 .05" pos="0 0 -.45005" mass=".5"/></body>
  </body></worldbody>
  <actuator><general joint="leg" gear="5" gainprm="2" biastype="affine" biasprm="1 -3 -0.5"
    ctrllimited="true" ctrlrange="-40 40"/></actuator></mujoco>
"""


def leg():
    model = mujoco.MjModel.from_xml_string(LEG)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def test_a_leg_carries_its_weight_and_its_control_gives_the_torque():
    model, data = leg()
    result = TaskController(model, tasks=[JointTask(), BaseTask()]).solve(data)
    assert result.status is TaskStatus.solved
    weight = 10.5 * 9.81
    np.testing.assert_allclose(result.world_forces.sum(axis=0), [0, 0, weight], atol=2e-3 * weight)
    np.testing.assert_allclose(result.tau, -10 * 9.81, rtol=2e-3)
    data.qpos[7], data.qvel[6] = 1e-5, 0.2
    mujoco.mj_forward(model, data)
    result = TaskController(model, tasks=[JointTask([0.0])]).solve(data)
    given = result.apply(model, data)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qfrc_actuator[6:], result.tau, rtol=1e-12)
    np.testing.assert_allclose(given, result.tau, rtol=1e-12)


def test_torques_of_the_paper_go_to_controls():
    model, data = leg()
    result = sapwood.mujoco.inverse_dynamics(model, data, [-1.0])
    assert result.apply(model, data) == pytest.approx(result.tau)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qfrc_actuator[6:], result.tau, rtol=1e-12)
    # 5 (2 * 40 + 1) = 405 N is the most that the actuator gives
    strong = sapwood.mujoco.inverse_dynamics(model, data, [-100.0])
    assert strong.tau[0] < -405
    np.testing.assert_allclose(strong.apply(model, data), -5 * (2 * 40 - 1))


def test_limits_of_the_model_hold():
    model, data = leg()
    joints = JointTask([0.0])
    joints.acceleration = [-500.0]
    control = TaskController(model, tasks=[joints])
    result = control.solve(data)
    # gear (gain ctrl + b0 + b1 gear q): the lowest control at q = 0
    assert result.tau[0] == pytest.approx(-5 * (2 * 40 - 1), abs=1e-9)
    given = TaskController(model, tasks=[joints], torque_limit=[7.0])
    assert given.solve(data).tau[0] == pytest.approx(-7.0, abs=1e-9)
    assert TaskController(model, tasks=[joints], torque_limit=None).solve(data).tau[0] < -1000


def test_contacts_are_held_until_they_are_apart():
    """A contact that is no longer listed stays in the plan up to the hysteresis."""
    model, data = leg()
    control = TaskController(model, tasks=[JointTask([0.0])], hysteresis=2e-3)
    assert len(control.solve(data).forces) == 4
    for height, n in ((1e-4, 4), (1.9e-3, 4), (2.2e-3, 0)):
        data.qpos[2] = 0.5 + height
        mujoco.mj_forward(model, data)
        assert data.ncon == 0
        result = control.solve(data)
        assert len(result.forces) == n
        np.testing.assert_allclose(result.contacts.gaps, height - 5e-5, atol=1e-12)
    # one edge touches: its two contacts take their places among the four
    data.qpos[2] = 0.5
    mujoco.mj_forward(model, data)
    control.solve(data)
    data.qpos[3:7] = [1.0, 0.0, 5e-4, 0.0]
    data.qpos[2] = 0.5 + 2e-5
    mujoco.mj_forward(model, data)
    assert data.ncon == 2
    assert len(control.solve(data).forces) == 4
    control.reset()
    assert len(control.solve(data).forces) == 2


def test_a_sliding_contact_has_its_friction_against_it():
    model, data = leg()
    data.qvel[:2] = [0.3, 0.4]
    mujoco.mj_forward(model, data)
    tasks = [JointTask([0.0])]
    sliding = TaskController(model, tasks, contacts="coulomb").solve(data).world_forces
    mu = model.geom_friction[0, 0]
    np.testing.assert_allclose(sliding[:, :2], -mu * sliding[:, 2:] * [0.6, 0.8], atol=1e-9)
    held = TaskController(model, tasks).solve(data)
    assert held.accelerations[0] < -0.3


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda m: TaskController(m, ["stand"]), TypeError, r"tasks\[0\] must be a Task, not str"),
        (lambda m: TaskController(m, [], contacts="slide"), ValueError, "contacts = 'slide'"),
        (lambda m: TaskController(m, [], hold_time=0.0), ValueError, "hold_time = 0"),
        (lambda m: TaskController(m, [], hysteresis=-1.0), ValueError, "hysteresis = -1"),
        (lambda m: TaskController(m, [], torque_limit="no"), ValueError, "torque_limit = 'no'"),
        (lambda m: TaskController(m, [], torque_limit=[0.0]), ValueError, "torque_limit: must be"),
        (lambda m: TaskController(m, [JointTask()], [-1.0]), ValueError, r"weights\[0\] = -1"),
        (lambda m: TaskController(m, [JointTask([0.0, 1.0])]), ValueError, "position has shape"),
        (lambda _: TaskController(None, []), TypeError, "model must be a MjModel, not NoneType"),
        (lambda m: TaskController(m, None), TypeError, "tasks must be a sequence of Task"),
        (lambda m: TaskController(m, [], edges=4.5), TypeError, "edges must be an integer"),
        (lambda m: TaskController(m, [], edges=5), ValueError, "edges = 5"),
        (
            lambda m: TaskController(m, [JointTask(joints=["leg", "arm"])]),
            KeyError,
            r"joints\[1\] = 'arm': the model has no such joint",
        ),
        (lambda m: TaskController(m, [JointTask(joints=[9])]), KeyError, r"joints\[0\] = 9"),
        (lambda _: JointTask(joints="leg"), TypeError, "joints must be a sequence .* not 'leg'"),
        (lambda _: JointTask(joints=[]), ValueError, "joints: must have one at least"),
        (lambda _: FrameTask("foot", rotation=np.zeros((3, 3))), ValueError, "rotation: must be"),
        (lambda _: FrameTask("foot", axes="x"), ValueError, "axes = 'x'"),
        (lambda _: JointTask(stiffness=-1.0), ValueError, "stiffness = -1"),
    ],
)
def test_errors(make, error, text):
    model, _ = leg()
    with pytest.raises(error, match=text):
        make(model)


def test_errors_of_calls():
    """Data of another model, numbers that are not finite, and what is no model."""
    model, data = leg()
    other = mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>")
    task = JointTask([0.0])
    control = TaskController(model, [FrameTask("foot"), task])
    for wrong, error in ((None, TypeError), (mujoco.MjData(other), ValueError)):
        with pytest.raises(error, match="data "):
            control.solve(wrong)
    result = control.solve(data)
    with pytest.raises(TypeError, match="model must be a MjModel"):
        result.apply(None, data)
    with pytest.raises(ValueError, match="data belongs to another model"):
        result.apply(model, mujoco.MjData(other))
    with pytest.raises(ValueError, match="model is not that of the controller"):
        result.apply(other, mujoco.MjData(other))
    task.velocity = [np.nan]
    with pytest.raises(ValueError, match=r"tasks\[1\].velocity\[0\] = nan: must be finite"):
        control.solve(data)
    task.velocity = 0.0
    data.qvel[6] = np.inf
    with pytest.raises(ValueError, match=r"data.qvel\[6\] = inf: must be finite"):
        control.solve(data)
    data.qvel[6] = 0.0
    np.testing.assert_array_equal(control.solve(data).status, TaskStatus.solved)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_start_as_after_a_reset(again):
    model, data = leg()
    control = TaskController(
        model, [JointTask([0.1]), BaseTask()], [1.0, 2.0], contacts="coulomb", edges=8,
        torque_limit=[200.0], hold_time=0.02, hysteresis=1e-3,
    )  # fmt: skip
    first = control.solve(data)
    other = again(control)
    other.tasks[0].position[:] = 0.3
    assert control.tasks[0].position[0] == 0.1
    other.tasks[0].position[:] = 0.1
    np.testing.assert_array_equal(other.solve(data).tau, first.tau)
    kept = again(first)
    np.testing.assert_array_equal(kept.forces, first.forces)
    np.testing.assert_array_equal(kept.apply(model, data), first.apply(model, data))


def test_models_that_task_control_does_not_take():
    xml = LEG.replace('gainprm="2"', 'gaintype="affine" gainprm="2 1"')
    with pytest.raises(ValueError, match="the actuator of joint leg must have a fixed gain"):
        TaskController(mujoco.MjModel.from_xml_string(xml), [])
    xml = LEG.replace("</mujoco>", '<equality><weld body1="trunk"/></equality></mujoco>')
    with pytest.raises(ValueError, match="equality constraints are not supported"):
        TaskController(mujoco.MjModel.from_xml_string(xml), [])


def test_the_bias_of_tasks_is_the_change_of_their_jacobians(rng):
    """With a = 0 the velocities of points change by the bias: differences of mj_integratePos."""
    model, data = leg()
    data.qpos[:3] = rng.normal(size=3)
    data.qpos[3:7] = rng.normal(size=4)
    data.qvel[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    tasks = [
        FrameTask("foot", np.zeros(3), stiffness=0.0), ComTask(np.zeros(3), stiffness=0.0)
    ]  # fmt: skip
    control = TaskController(model, tasks)

    def program(qpos):
        data.qpos[:] = qpos
        mujoco.mj_forward(model, data)
        _, _, T, t, *_ = control._program(data, control._held.update(data))
        return T[-9:], t[-9:]

    q, step = data.qpos.copy(), 1e-6
    sides = []
    for sign in (-1.0, 1.0):
        moved = q.copy()
        mujoco.mj_integratePos(model, moved, data.qvel, sign * step)
        sides.append(program(moved)[0] @ data.qvel)
    below, above = sides
    np.testing.assert_allclose(-program(q)[1], (above - below) / (2 * step), atol=1e-7)


def test_torque_limits_follow_the_model():
    """Ranges that change between calls, of a servo whose torque depends on its position."""
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><worldbody><body><joint name="x" type="slide" axis="0 0 1"/><geom size=".1"/></body>
    </worldbody><actuator><position joint="x" kp="10" ctrlrange="-1 2" gear="-3"/></actuator>
    </mujoco>""")
    data = mujoco.MjData(model)
    data.qpos[0] = 0.1
    control = TaskController(model, [JointTask()])
    # gear (kp u - kp gear q), gear = -3
    np.testing.assert_allclose(control.torque_limits(data), [[-69.0], [21.0]])
    model.actuator_ctrlrange[0] = -1.0, 1.0
    np.testing.assert_allclose(control.torque_limits(data), [[-39.0], [21.0]])
    model.jnt_actfrclimited[0], model.jnt_actfrcrange[0] = True, (-5.0, 4.0)
    np.testing.assert_allclose(control.torque_limits(data), [[-5.0], [4.0]])
