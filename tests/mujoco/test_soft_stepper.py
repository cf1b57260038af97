"""Soft bodies in the steps of a model: loads both ways, attachments, state, refusals."""

from __future__ import annotations

import copy
import pickle

import mujoco
import numpy as np
import pytest

import sapwood
from sapwood import SapSettings, fem
from sapwood.geometry import PressureField
from sapwood.mujoco import NotSupported, SoftStepLinearization, StepError, Stepper, body_pose

G = 9.81
TIGHT = SapSettings(relative_tolerance=1e-9)


def model_of(bodies: str, **options: str) -> mujoco.MjModel:
    given = " ".join(f"{name}='{value}'" for name, value in options.items())
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option timestep='0.005' {given}/><worldbody>{bodies}</worldbody></mujoco>"
    )


def cube(side=0.1, cells=2, centre=(0.0, 0.0, 0.0), young=1e5, name="cube", **options):
    pose = np.eye(4)
    pose[:3, 3] = centre
    material = fem.Material(young=young, poisson=0.3, density=1000.0, stiffness_damping=0.01)
    return fem.SoftBody(
        fem.box([side] * 3, cells),
        material,
        pose=pose,
        dissipation_time=options.pop("dissipation_time", 0.01),
        name=name,
        **options,
    )


def weight_of(body):
    return float(body.vertex_mass.sum()) * G


SHAPES = {
    "box": "type='box' size='.08 .07 .02'",
    "sphere": "type='sphere' size='.08'",
    "capsule": "type='capsule' size='.05 .04' euler='90 0 0'",
    "cylinder": "type='cylinder' size='.08 .02'",
    "ellipsoid": "type='ellipsoid' size='.09 .08 .05'",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_rigid_body_rests_on_vertices(shape):
    """As on faces, with a finer cube: vertices under a ball are few."""
    model = model_of(
        "<geom name='floor' type='plane' size='1 1 1'/>"
        "<body name='top' pos='.003 .002 .19'><joint type='slide' axis='0 0 1'/>"
        f"<geom name='top' {SHAPES[shape]} mass='.5'/></body>"
    )
    body = cube(centre=(0, 0, 0.05), cells=4, friction=0.5, contact="vertices")
    stepper, data = Stepper(model, soft=[body], settings=TIGHT), mujoco.MjData(model)
    stepper.run(data, 400)
    force = {touch.other: touch.force for touch in stepper.soft_result.touches}
    assert force["top"][2] == pytest.approx(-0.5 * G, rel=2e-3)
    assert force["floor"][2] == pytest.approx(weight_of(body) + 0.5 * G, rel=2e-3)
    assert data.qfrc_constraint[0] == pytest.approx(0.5 * G, rel=2e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_rigid_body_rests_on_a_soft_one(shape):
    """A geom on a slide lies on a cube, which lies on a plane: all weights arrive."""
    model = model_of(
        "<geom name='floor' type='plane' size='1 1 1'/>"
        "<body name='top' pos='.003 .002 .19'><joint type='slide' axis='0 0 1'/>"
        f"<geom name='top' {SHAPES[shape]} mass='.5'/></body>"
    )
    body = cube(centre=(0, 0, 0.05), friction=0.5)
    stepper, data = Stepper(model, soft=[body], settings=TIGHT), mujoco.MjData(model)
    stepper.run(data, 400)
    force = {touch.other: touch.force for touch in stepper.soft_result.touches}
    assert force["top"][2] == pytest.approx(-0.5 * G, rel=2e-3)
    assert force["floor"][2] == pytest.approx(weight_of(body) + 0.5 * G, rel=2e-3)
    assert abs(data.qvel[0]) < 1e-3
    assert data.qfrc_constraint[0] == pytest.approx(0.5 * G, rel=2e-3)
    np.testing.assert_allclose(stepper.body_forces[1], -force["top"], atol=1e-12)
    # the depth of rest is that of the stiffness of the surface, 1e8 Pa/m
    depth = stepper.soft_result.touches[0].contacts.phi0
    for touch in stepper.soft_result.touches:
        contacts: fem.SoftContacts = touch.contacts
        assert len(np.unique(contacts.faces)) == len(touch.forces)
    assert -1e-4 < depth.min() < 0


def test_meshes_and_fields_of_pressure():
    """A hull, and a compliant box, carry a soft cube."""
    points = " ".join(f"{x} {y} {z}" for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0))
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><option timestep='.005'/><asset><mesh name='block' vertex='{points}'/></asset>"
        "<worldbody><geom name='block' type='mesh' mesh='block'/></worldbody></mujoco>"
    )
    body = cube(centre=(0.003, 0.002, 0.0501))
    data = mujoco.MjData(model)
    Stepper(model, soft=[body]).run(data, 300)
    assert abs(body.positions[:, 2].min()) < 1e-3
    model = model_of("<geom name='block' type='box' size='.1 .1 .05' pos='0 0 -.05'/>")
    for field, depth in ((None, 1e-5), (PressureField(1e5), 4e-4)):
        fields = {} if field is None else {"block": field}
        body = cube(centre=(0.003, 0.002, 0.0501))
        stepper = Stepper(model, soft=[body], fields=fields)
        stepper.run(mujoco.MjData(model), 400)
        (touch,) = stepper.soft_result.touches
        assert touch.force[2] == pytest.approx(weight_of(body), rel=2e-3)
        # 981 Pa on 1e8 Pa/m, or on 1e5 Pa over 0.05 m
        bottom = body.mesh.vertices[:, 2] < -0.049
        assert -body.positions[bottom, 2].mean() == pytest.approx(depth, rel=0.5)


def test_the_model_moves_as_without_a_soft_body():
    """A soft body far away leaves arms, limits, friction, equalities and rigid contact alone."""
    xml = """<mujoco><option timestep='0.005'/><worldbody>
      <geom type='plane' size='2 2 1'/>
      <body pos='0 0 .05'><freejoint/><geom type='box' size='.1 .1 .05'/></body>
      <body pos='.3 0 .4'><joint name='a' axis='0 1 0' damping='.1' range='-20 20' limited='true'/>
        <geom type='capsule' fromto='0 0 0 .2 0 0' size='.02'/>
        <body pos='.2 0 0'><joint name='b' axis='0 1 0' frictionloss='.02'/>
          <geom type='capsule' fromto='0 0 0 .2 0 0' size='.02'/></body></body></worldbody>
      <equality><joint joint1='a' joint2='b' active='false'/></equality>
      <actuator><position joint='b' kp='5' kv='.1'/></actuator></mujoco>"""
    ends = []
    for soft in ([], [cube(centre=(0, 0, 100.0))]):
        model = mujoco.MjModel.from_xml_string(xml)
        data = mujoco.MjData(model)
        data.ctrl[0], data.qvel[0] = 0.5, 0.3
        stepper = Stepper(model, soft=soft, settings=TIGHT)
        stepper.run(data, 200)
        ends.append((data.qpos.copy(), data.qvel.copy(), data.qfrc_constraint.copy(), data.ncon))
    for one, other in zip(*ends, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8)


def test_momentum_is_conserved_in_a_collision():
    model = model_of(
        "<body name='b'><freejoint/><geom type='sphere' size='.05' density='500'/></body>",
        gravity="0 0 0",
    )
    body = cube(centre=(0.105, 0.01, 0.02))
    stepper, data = Stepper(model, soft=[body], settings=TIGHT), mujoco.MjData(model)
    data.qvel[:] = [1.0, 0, 0, 0, 0, 2.0]
    mass = model.body_mass[1]

    def momentum():
        mujoco.mj_forward(stepper.model, data)
        return mass * data.qvel[:3] + body.momentum

    start = momentum()
    for _ in range(10):
        stepper.run(data, 5)
        np.testing.assert_allclose(momentum(), start, rtol=0, atol=1e-12)
    assert np.linalg.norm(body.velocities.mean(axis=0)) > 0.1


def pad_on_a_box(young=1e5, **options):
    """A free box of 1 kg with a soft cube on its top."""
    model = model_of(
        "<body name='b'><freejoint/><geom type='box' size='.05 .05 .05' mass='1'/></body>",
        **options,
    )
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    body = cube(cells=1, centre=(0, 0, 0.1), young=young)
    bottom = body.mesh.vertices[:, 2] < 0
    body.attach(bottom, "b", body_pose(data, "b"))
    return model, data, body, bottom


def test_an_attached_body_is_one_with_its_holder():
    """A step against the whole dense system; the reaction is what the cube needs to follow."""
    model, data, body, bottom = pad_on_a_box()
    data.qvel[:] = [0.2, 0.1, 0.3, 1.0, -2.0, 0.5]
    rng = np.random.default_rng(1)
    body.velocities = 0.1 * rng.standard_normal(body.positions.shape)
    stepper, dt = Stepper(model, soft=[body], settings=TIGHT), 0.005
    x, v0, u0 = body.positions.copy(), body.velocities.copy(), data.qvel.copy()
    soft = fem.evaluate(body.mesh, body.material, x + dt * v0, fem.rotations(body.mesh, x))
    K = fem.scatter_blocks(body.mesh.pairs, soft.K, soft.K_pairs)
    M = np.kron(np.diag(body.vertex_mass), np.eye(3))
    weight = (body.vertex_mass[:, None] * [0, 0, -G]).ravel()
    A = M + (dt * dt + dt * 0.01) * K
    free = v0.ravel() - np.linalg.solve(
        A, -dt * (soft.force.ravel() + weight) + dt * 0.01 * K @ v0.ravel()
    )
    n, held = len(x), np.flatnonzero(bottom)
    T = np.zeros((3 * n, 6 + 3 * (n - len(held))))
    for i in range(n):
        rows = T[3 * i : 3 * i + 3]
        if bottom[i]:  # the box has no rotation at the start
            rows[:, :3] = np.eye(3)
            rows[:, 3:6] = np.cross(np.eye(3), x[i]).T
        else:
            rows[:, 6 + 3 * int(np.sum(~bottom[:i])) :][:, :3] = np.eye(3)
    rigid = np.diag([1.0] * 3 + [0.1**2 / 6] * 3)
    u_star = u0 + [0, 0, -G * dt, 0, 0, 0]
    whole = T.T @ A @ T
    whole[:6, :6] += rigid
    right = T.T @ A @ free
    right[:6] += rigid @ u_star
    v = np.linalg.solve(whole, right)
    stepper.step(data)
    np.testing.assert_allclose(data.qvel, v[:6], rtol=0, atol=1e-10)
    np.testing.assert_allclose(body.velocities.ravel(), T @ v, rtol=0, atol=1e-10)
    reaction: fem.Reaction = stepper.soft_result.reactions[0]
    change = rigid @ (v[:6] - u_star) / dt
    np.testing.assert_allclose(reaction.force, -change[:3], rtol=1e-8)
    np.testing.assert_allclose(reaction.torque, -change[3:], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(data.qfrc_constraint, change, rtol=1e-8, atol=1e-9)


def test_a_stiff_attached_body_turns_with_its_holder():
    """Momenta are kept, and the vertices stay in their places on the box over a turn."""
    model, data, body, bottom = pad_on_a_box(young=1e6, gravity="0 0 0")
    data.qvel[:] = [0.0, 0.0, 0.0, 3.0, 0.0, 0.0]
    body.velocities = np.cross([3.0, 0, 0], body.positions)
    start = body.momentum
    stepper = Stepper(model, soft=[body], settings=TIGHT)
    stepper.run(data, 400)
    mujoco.mj_kinematics(stepper.model, data)
    np.testing.assert_allclose(body.momentum + data.qvel[:3], start, rtol=0, atol=1e-9)
    pose = body_pose(data, "b")
    places = (body.positions - pose[:3, 3]) @ pose[:3, :3]
    rest = body.mesh.vertices + [0, 0, 0.1]
    np.testing.assert_allclose(places[bottom], rest[bottom], atol=2e-4)
    np.testing.assert_allclose(places, rest, atol=2e-3)
    assert abs(data.qpos[3]) < 0.99  # it has turned


def test_a_soft_body_joins_two_trees():
    """A bar between two carts pulls one along with the other."""
    cart = (
        "<body name='{0}' pos='{1} 0 0'><joint type='slide' axis='1 0 0'/>"
        "<geom type='box' size='.02 .05 .05' mass='1' contype='0' conaffinity='0'/></body>"
    )
    model = model_of(cart.format("a", -0.22) + cart.format("b", 0.22), gravity="0 0 0")
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    bar = fem.SoftBody(
        fem.box([0.4, 0.04, 0.04], [10, 1, 1]),
        fem.Material(young=1e5, poisson=0.3, density=100.0, stiffness_damping=0.05),
    )
    bar.attach(bar.mesh.vertices[:, 0] < -0.199, "a", body_pose(data, "a"))
    bar.attach(bar.mesh.vertices[:, 0] > 0.199, "b", body_pose(data, "b"))
    data.qvel[0] = -1.0
    stepper = Stepper(model, soft=[bar])
    assert stepper.problem(data).tree_nv.tolist() == [2]
    for _ in range(20):
        stepper.run(data, 20)
        total = data.qvel.sum() + bar.momentum[0]
        assert total == pytest.approx(-1.0, abs=1e-12)
    np.testing.assert_allclose(data.qvel, -1 / (2 + 100 * 0.4 * 0.04**2), rtol=0.02)
    one, two = stepper.soft_result.reactions
    assert (one.other, two.other) == ("a", "b")


def test_a_soft_pad_presses_a_soft_body():
    """A pad on a finger, on a cube, on a plane: all weights arrive, and nothing else is loaded."""
    model = model_of(
        "<geom name='floor' type='plane' size='1 1 1'/>"
        "<body name='finger' pos='.004 .003 .1602'><joint type='slide' axis='0 0 1'/>"
        "<geom type='box' size='.03 .03 .01' mass='.5' contype='0' conaffinity='0'/></body>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    pad = cube(side=0.05, cells=2, centre=(0.004, 0.003, 0.1252), name="pad")
    pad.attach(pad.mesh.vertices[:, 2] > 0.0249, "finger", body_pose(data, "finger"))
    low = cube(cells=3, centre=(0, 0, 0.05), name="low")
    stepper = Stepper(model, soft=[low, pad], settings=TIGHT)
    stepper.run(data, 300)
    force = {(touch.body, touch.other): touch.force for touch in stepper.soft_result.touches}
    assert set(force) == {("low", "floor"), ("low", "pad")}
    carried = weight_of(pad) + 0.5 * G
    # the finger may hold the pad sideways, and the floor holds the cube
    total = force["low", "pad"] + force["low", "floor"]
    np.testing.assert_allclose(total, [0, 0, weight_of(low)], atol=2e-2)
    assert force["low", "pad"][2] == pytest.approx(-carried, rel=2e-3)
    assert data.qfrc_constraint[0] == pytest.approx(0.5 * G, rel=2e-3)
    np.testing.assert_array_equal(stepper.body_forces[1], 0)  # the finger has no contact itself


def test_vertices_follow_a_mocap_body_and_the_world():
    model = model_of("<body name='hand' mocap='true'/>", gravity="0 0 0")
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    body = cube()
    top, bottom = body.mesh.vertices[:, 2] > 0.049, body.mesh.vertices[:, 2] < -0.049
    body.attach(top, "hand", body_pose(data, "hand"))
    body.attach(bottom, "world", np.eye(4))
    stepper = Stepper(model, soft=[body])
    for _ in range(100):
        data.mocap_pos[0, 2] += 1e-4
        stepper.step(data)
    np.testing.assert_allclose(body.positions[top, 2], 0.06, atol=1e-12)
    np.testing.assert_allclose(body.positions[bottom, 2], -0.05, atol=1e-12)


def test_sensors_feel_a_soft_body():
    """A force sensor under a tray reads the weight of the tray and of the cube that lies on it."""
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option timestep='.005'/><worldbody><body name='tray'>"
        "<geom type='box' size='.1 .1 .01' mass='.3'/><site name='s'/></body></worldbody>"
        "<sensor><force site='s'/><torque site='s'/></sensor></mujoco>"
    )
    body = cube(centre=(0.02, 0.0, 0.0601))
    stepper, data = Stepper(model, soft=[body]), mujoco.MjData(model)
    stepper.run(data, 300)
    assert abs(data.sensordata[2]) == pytest.approx(weight_of(body) + 0.3 * G, rel=2e-3)
    assert abs(data.sensordata[4]) == pytest.approx(weight_of(body) * 0.02, rel=5e-3)
    np.testing.assert_array_equal(data.xfrc_applied, 0)


def test_problem_of_a_state_gives_its_step():
    model = model_of(
        "<geom type='plane' size='1 1 1'/><body pos='0 0 .15'><freejoint/>"
        "<geom type='sphere' size='.05'/></body>"
    )
    body = cube(centre=(0, 0, 0.0499))
    stepper, data = Stepper(model, soft=[body], settings=TIGHT), mujoco.MjData(model)
    stepper.run(data, 3)
    problem = stepper.problem(data)
    solution = sapwood.solve(problem, settings=stepper.settings)
    before = stepper.soft_state
    stepper.step(data)
    np.testing.assert_allclose(stepper.solution.v, solution.v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(data.qvel, solution.v[:6], rtol=0, atol=1e-12)
    assert before.time == pytest.approx(data.time - 0.005)


def test_state_can_be_kept_and_set():
    model = model_of("<geom type='plane' size='1 1 1'/>")
    body = cube(centre=(0, 0, 0.06))
    stepper, data = Stepper(model, soft=[body]), mujoco.MjData(model)
    start = stepper.soft_state
    stepper.run(data, 10)
    middle, kept = pickle.loads(pickle.dumps(stepper.soft_state)), copy.copy(data)
    twin = copy.deepcopy(stepper)
    stepper.run(data, 10)
    first = body.positions.copy()
    with pytest.raises(StepError, match=r"soft bodies are at 0\.1 s, and data at another time"):
        stepper.step(kept)
    stepper.soft_state = middle
    stepper.run(kept, 10, record=("soft",))
    np.testing.assert_allclose(body.positions, first, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(stepper.last_run.soft[-1], body.positions)
    # the copy has bodies of its own
    again = mujoco.MjData(model)
    again.time = middle.time
    twin.run(again, 10)
    np.testing.assert_allclose(twin.soft[0].positions, first, rtol=0, atol=1e-8)
    stepper.soft_state = start
    stepper.step(mujoco.MjData(model))
    with pytest.raises(TypeError, match="soft_state must be a SoftState, not NoneType"):
        stepper.soft_state = None
    with pytest.raises(ValueError, match="state has bodies of shapes"):
        stepper.soft_state = fem.SoftState(0.0, (first[1:],), (first[1:],))


def test_errors_leave_data_and_bodies():
    model = model_of("<body><freejoint/><geom size='.1'/></body>")
    body = cube(centre=(0, 0, 1.0))
    stepper, data = Stepper(model, soft=[body]), mujoco.MjData(model)
    stepper.step(data)
    body.velocities[3, 1] = np.nan
    before = data.qpos.copy(), body.positions.copy()
    with pytest.raises(StepError, match=r"cube\.velocities\[3\]: must be finite"):
        stepper.step(data)
    body.velocities[3, 1] = 1e200
    with pytest.raises(StepError, match="not finite"):
        stepper.step(data)
    np.testing.assert_array_equal(data.qpos, before[0])
    np.testing.assert_array_equal(body.positions, before[1])


def test_what_goes_with_no_soft_body():
    model = model_of(
        "<geom type='plane' size='1 1 1'/><body name='b'><freejoint/>"
        "<geom name='g' size='.1'/></body>"
    )
    body, data = cube(centre=(0, 0, 1.0)), mujoco.MjData(model)
    with pytest.raises(TypeError, match="data must be a MjData, not MjModel"):
        body_pose(model, "b")
    with pytest.raises(ValueError, match=r"offset\[0\] = (nan|inf): must be finite"):
        body_pose(data, "b", [np.nan, 0, 0])
    linear = Stepper(model, soft=[body])
    with pytest.raises(TypeError, match="parameters must be a sequence of tuples, not int"):
        SoftStepLinearization(linear, data, parameters=3)
    with pytest.raises(TypeError, match="soft_state must be a SoftState, not int"):
        SoftStepLinearization(linear, data, soft_state=3)
    with pytest.raises(TypeError, match=r"soft\[0\] must be a SoftBody, not int"):
        Stepper(model, soft=[1])
    with pytest.raises(ValueError, match="soft: has the same body twice"):
        Stepper(model, soft=[body, body])
    with pytest.raises(NotSupported, match="scheme midpoint: soft bodies go with"):
        Stepper(model, soft=[body], scheme="midpoint")
    with pytest.raises(NotSupported, match=r"soft\[0\]: contact = 'vertices' meets no geom with"):
        Stepper(model, soft=[cube(contact="vertices")], fields={"g": PressureField(1e6, 0.05)})
    held = cube()
    held.attach([0], "hand", np.eye(4))
    attachment: fem.Attachment = held.attachments[0]
    np.testing.assert_array_equal(attachment.places, held.positions[:1])
    with pytest.raises(ValueError, match=r"soft\[0\]: is attached to 'hand', which no body"):
        Stepper(model, soft=[held])
    with pytest.raises(ValueError, match=r"bodies\[0\]: is attached"):
        fem.World([held])
    with pytest.raises(ValueError, match="vertex 0 is attached"):
        held.fix([0])
    with pytest.raises(ValueError, match="vertex 0 is attached"):
        held.attach([0], "b", np.eye(4))
    held.fix([1])
    with pytest.raises(ValueError, match="vertex 1 is fixed"):
        held.attach([1], "b", np.eye(4))
    with pytest.raises(ValueError, match="where: names no vertex"):
        held.attach([], "b", np.eye(4))
    stepper = Stepper(model, soft=[body])
    with pytest.raises(NotSupported, match="accuracy: soft bodies and elastic or large flexes"):
        stepper.run(data, 2, accuracy=1e-3)
    with pytest.raises(NotSupported, match="soft bodies"):
        sapwood.mujoco.DifferentiableModel(stepper)
    with pytest.raises(NotSupported, match="contact_reader is for"):
        stepper.contact_reader(["g"])
    with pytest.raises(ValueError, match="record: 'soft' must be one of"):
        Stepper(model).run(data, 1, record=("soft",))
    field = mujoco.MjModel.from_xml_string(
        "<mujoco><asset><hfield name='h' nrow='2' ncol='2' size='1 1 1 1'/></asset><worldbody>"
        "<geom name='hills' type='hfield' hfield='h'/></worldbody></mujoco>"
    )
    with pytest.raises(NotSupported, match="soft: geom 'hills'"):
        Stepper(field, soft=[body])


def test_the_offset_of_a_pose_is_named():
    data = mujoco.MjData(mujoco.MjModel.from_xml_string("<mujoco/>"))
    with pytest.raises(ValueError, match=r"offset has shape \(2,\), expected \(3,\)"):
        body_pose(data, 0, [0.0, 0.0])
    with pytest.raises(ValueError, match=r"offset\[1\] = nan: must be finite"):
        body_pose(data, 0, [0.0, np.nan, 0.0])
