"""Elements that move more than two of MuJoCo's trees, and flexes: constraints of the problem."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import full_state
from sapwood import SapSolver
from sapwood.mujoco import Batch, ContactMaterial, Stepper, linearize

G = 9.81


def quiet(model, **options):
    """A stepper, made without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Stepper(model, **options)


def sliders(cord="", more="", jacobian="dense", joint="", axis="1 0 0", gravity="1 0 0"):
    """A tendon over three sliders, trees of their own, of different masses."""
    bodies = "".join(
        f"<body pos='0 {i} 1'><joint name='s{i}' type='slide' axis='{axis}' {joint}/>"
        f"<geom name='g{i}' size='.1' mass='{i + 1}'/></body>"
        for i in range(3)
    )
    over = "".join(f"<joint joint='s{i}' coef='{c}'/>" for i, c in enumerate((1, -2, 3)))
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option gravity='{gravity}' jacobian='{jacobian}' cone='elliptic'/>"
        f"<worldbody><geom name='wall' type='plane' size='5 5 1'/>{bodies}</worldbody>"
        f"<tendon><fixed name='cord' {cord}>{over}</fixed></tendon>{more}</mujoco>"
    )


COEF, MASS = np.array([1.0, -2.0, 3.0]), np.array([1.0, 2.0, 3.0])


# ---- tendons -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["symplectic_euler", "midpoint"])
def test_a_tendon_stops_at_its_limit(scheme):
    """By the force of a rigid stop, which bears the load."""
    model = sliders("limited='true' range='-1 .02'")
    stepper, data = quiet(model, scheme=scheme), mujoco.MjData(model)
    stepper.run(data, 400)
    assert abs(COEF @ data.qpos - 0.02) < 1e-8
    assert abs(COEF @ data.qvel) < 1e-9
    # COEF (g - COEF f / MASS) = 0
    f = (COEF @ np.ones(3)) / (COEF @ (COEF / MASS))
    np.testing.assert_allclose(data.qfrc_constraint, -f * COEF, rtol=1e-6)
    np.testing.assert_allclose(data.qacc, 1 - f * COEF / MASS, rtol=1e-6, atol=1e-9)
    (limit,) = stepper.constraints
    np.testing.assert_allclose(limit.force, [0, f], atol=1e-6)


def dense_minimum(M, v_star, J, R, v_hat):
    """Velocity of least |v - v*|_M^2/2 + sum max(0, v_hat - J v)^2/(2 R), by its active sets."""
    for active in itertools.product((False, True), repeat=len(R)):
        rows = J[list(active)]
        weights = 1 / R[list(active)]
        H = M + rows.T @ (weights[:, None] * rows)
        v = np.linalg.solve(H, M @ v_star + rows.T @ (weights * v_hat[list(active)]))
        if np.array_equal(v_hat - J @ v > 0, active):
            return v
    raise AssertionError("no active set is consistent")


def test_a_limit_and_a_contact_act_in_the_same_step(rng):
    """The velocity is that of a dense program, of MuJoCo's rows and the numbers of Eq. (21)."""
    model = sliders("limited='true' range='-1 0'", axis="0 0 1", gravity="0 0 -9.81")
    model.geom_condim[:] = 1
    dt, both = model.opt.timestep, 0
    stepper = quiet(model, friction="convex")
    for _ in range(20):
        data = mujoco.MjData(model)
        # sphere 2 touches the floor, and the tendon is at its end: q_0 - 2 q_1 + 3 q_2 = 0
        data.qpos[2] = -0.9 - 1e-6 * rng.random()
        data.qpos[0] = rng.uniform(1.5, 2)
        data.qpos[1] = (data.qpos[0] + 3 * data.qpos[2]) / 2 - 1e-6
        data.qvel[:] = 0.1 * rng.standard_normal(3)
        data.qvel[2] -= 0.2
        mujoco.mj_forward(model, data)
        height = data.geom_xpos[1:, 2] - 0.1
        J = np.vstack([np.eye(3), -COEF])
        phi0 = np.append(height, 0 - COEF @ data.qpos)
        near_rigid = np.array([1, 1, 1, 0.01]) / (4 * np.pi**2)
        # |W|_F/3 of a contact with a normal alone, |W|_F of a row
        w = np.append(1 / MASS / 3, COEF @ (COEF / MASS))
        M, v_star = np.diag(MASS), data.qvel - 9.81 * dt
        expected = dense_minimum(M, v_star, J, near_rigid * w, -phi0 / (2 * dt))
        stepper.step(data)
        np.testing.assert_allclose(data.qvel, expected, rtol=0, atol=1e-8)
        forces = M @ (expected - v_star) / dt
        np.testing.assert_allclose(data.qfrc_constraint, forces, rtol=0, atol=1e-4)
        both += bool(forces[2] > 1 and forces[0] < -1)  # floor and tendon
    assert both > 5


def test_a_violated_limit_comes_back_without_being_fired():
    """As fast as MuJoCo corrects the row, by its solref, and no faster at the end."""
    model = sliders("limited='true' range='-1 0'")
    model.opt.gravity[:] = 0
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qpos[2] = 0.1  # by 0.3 m
    speeds = []
    for _ in range(100):
        stepper.step(data)
        speeds.append(-COEF @ data.qvel)
    assert 0 < max(speeds) < 0.3 / 0.05
    assert COEF @ data.qpos < 0


@pytest.mark.parametrize("jacobian", ["dense", "sparse"])
def test_friction_of_a_tendon_brakes_and_holds(jacobian, rng):
    model = sliders("frictionloss='.5'", jacobian=jacobian)
    model.opt.gravity[:] = 0
    stepper, data = quiet(model), mujoco.MjData(model)
    data.qvel[:] = rng.uniform(0.5, 1, 3) * np.sign(COEF)
    speed = COEF @ data.qvel
    stepper.step(data)
    np.testing.assert_allclose(data.qfrc_constraint, -0.5 * COEF, rtol=1e-9)
    np.testing.assert_allclose(data.efc_force[0], -0.5, rtol=1e-9)
    w = COEF @ (COEF / MASS)
    np.testing.assert_allclose(COEF @ data.qvel, speed - 0.002 * 0.5 * w, rtol=1e-9)
    stepper.run(data, int(speed / (0.002 * 0.5 * w)) + 5)
    assert abs(COEF @ data.qvel) < 1e-6


@pytest.mark.parametrize("jacobian", ["dense", "sparse"])
def test_an_equality_of_a_tendon_holds(jacobian):
    more = "<equality><tendon name='hold' tendon1='cord'/></equality>"
    model = sliders(more=more, jacobian=jacobian)
    stepper, data = quiet(model), mujoco.MjData(model)
    stepper.run(data, 300)
    assert abs(COEF @ data.qpos) < 1e-8
    assert np.abs(data.qvel).max() > 0.01
    # switched off in the data it lets go
    data.eq_active[0] = 0
    stepper.run(data, 100)
    assert abs(COEF @ data.qpos) > 1e-3


def test_steps_in_halves_are_the_same():
    model = sliders("limited='true' range='-1 .02' frictionloss='.5'", joint="damping='.3'")
    first, second = mujoco.MjData(model), mujoco.MjData(model)
    stepper = Stepper(model)
    stepper.run(first, 200)
    for _ in range(200):
        stepper.step1(second)
        stepper.step2(second)
    np.testing.assert_array_equal(full_state(model, first), full_state(model, second))


def test_limits_that_are_switched_on_join_the_trees():
    model = sliders("limited='false' range='-1 .02'")
    stepper, data = quiet(model), mujoco.MjData(model)
    assert stepper.problem(data).n_trees == 3
    stepper.model.tendon_limited[0] = True
    stepper.run(data, 400)
    assert stepper.problem(data).n_trees == 1
    assert abs(COEF @ data.qpos - 0.02) < 1e-8


def test_the_problem_of_a_step_has_the_tendon_and_its_solution_is_that_of_the_step():
    model = sliders("limited='true' range='-1 .02' frictionloss='.1'")
    stepper, data = quiet(model), mujoco.MjData(model)
    stepper.run(data, 300)
    problem = stepper.problem(data, as_solved=True)
    assert [group.kind for group in problem.constraints] == ["dry_friction", "limit"]
    stepper.step(data)
    solution = SapSolver(stepper.settings).solve(problem)
    np.testing.assert_allclose(solution.v, data.qvel, rtol=0, atol=1e-12)
    assert solution.velocity_error_bound < 1e-8


def test_derivatives_see_a_tendon():
    model = sliders("limited='true' range='-1 .02'", joint="damping='.3'")
    stepper, data = quiet(model), mujoco.MjData(model)
    stepper.run(data, 300)
    found = linearize(stepper, data)
    np.testing.assert_allclose(COEF @ found.A[3:, 3:], 0, atol=0.02)
    for column in range(3):
        ends = []
        for sign in (1, -1):
            moved = mujoco.MjData(model)
            moved.qpos[:], moved.qvel[:] = data.qpos, data.qvel
            moved.qvel[column] += sign * 1e-6
            stepper.step(moved)
            ends.append(moved.qvel.copy())
        slope = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(found.A[3:, 3 + column], slope, atol=1e-4)


INTEGRATORS = ["Euler", "implicitfast"] + ["discrete"] * hasattr(
    mujoco.mjtIntegrator, "mjINT_DISCRETE"
)
SPINNING = "".join(
    f"<body name='b{i}' pos='{i} 0 1'><freejoint/><geom type='box' size='.1 .07 .03'/>"
    f"<site name='p{i}' pos='.1 0 0'/></body>"
    for i in range(4)
)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_slack_tendon_changes_nothing(integrator, rng):
    """Bodies of one tree of the problem turn as bodies alone do, by the midpoint rule."""
    ends = []
    start = rng.standard_normal(24)
    for limited in ("true", "false"):
        model = mujoco.MjModel.from_xml_string(
            f"<mujoco><option integrator='{integrator}' gravity='0 0 0'/><worldbody>{SPINNING}"
            f"</worldbody><tendon><spatial limited='{limited}' range='0 99'>"
            "<site site='p0'/><site site='p1'/><site site='p3'/></spatial></tendon></mujoco>"
        )
        stepper, data = quiet(model), mujoco.MjData(model)
        data.qvel[:] = 5 * start
        stepper.run(data, 200)
        ends.append(full_state(model, data))
        assert stepper.problem(data).n_trees == (1 if limited == "true" else 4)
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-9, atol=1e-11)


# ---- flexes --------------------------------------------------------------------------------------


def cloth(
    count="4 4 1", more="", inner="", z=0.2, tilt=0, mu=0.8, outer="dim='2'", edge="true", **options
):
    given = " ".join(f"{name}='{value}'" for name, value in options.items())
    spacing = 0.4 / int(count.split()[0])
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option timestep='.002' {given}/><worldbody>"
        f"<geom type='plane' size='2 2 1' euler='0 {tilt} 0' friction='{mu}'/>{more}"
        f"<body name='place' pos='0 0 {z}'><flexcomp name='cloth' type='grid' count='{count}' "
        f"spacing='{spacing} {spacing} {spacing}' radius='.01' mass='1' {outer}>"
        f"<contact selfcollide='none' friction='{mu}'/><edge equality='{edge}'/>{inner}"
        "</flexcomp></body></worldbody></mujoco>"
    )


@pytest.fixture(autouse=True)
def log_elsewhere(tmp_path, monkeypatch):
    """MuJoCo leaves a log file in the working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("options", [{}, {"cone": "pyramidal", "jacobian": "sparse"}])
@pytest.mark.parametrize("friction", ["coulomb", "convex"])
def test_a_cloth_comes_to_rest_on_the_floor(options, friction):
    model = cloth(**options)
    stepper, data = quiet(model, friction=friction), mujoco.MjData(model)
    stepper.run(data, 500)
    assert np.abs(data.qvel).max() < 1e-6
    np.testing.assert_allclose(data.qfrc_constraint[2::3].sum(), G, rtol=1e-6)
    assert abs(np.ravel(data.flexvert_xpos)[2::3].min() - 0.01) < 1e-4
    contacts, force = stepper.contacts, np.zeros(6)
    assert len(contacts) == data.ncon == 16
    np.testing.assert_allclose(contacts.force[:, 2].sum(), G, rtol=1e-6)
    assert set(contacts.names) == {("geom 0", "cloth")}
    np.testing.assert_allclose(contacts.force_on_geom("cloth"), [0, 0, G], atol=1e-5)
    total = 0.0
    for i in range(data.ncon):
        mujoco.mj_contactForce(model, data, i, force)
        total += force[0]
    np.testing.assert_allclose(total, G, rtol=1e-6)


def test_other_schemes_take_contacts_of_flexes():
    """The midpoint rule brings the cloth to rest on the floor, too, by a force on its vertices."""
    model = cloth(z=0.02)
    stepper, data = quiet(model, scheme="midpoint"), mujoco.MjData(model)
    stepper.run(data, 100)
    assert np.abs(data.qvel).max() < 1e-3
    np.testing.assert_allclose(stepper.body_forces.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(stepper.contacts.force_on_geom("cloth")[2], G, rtol=1e-3)


def test_a_flex_has_a_material_and_a_reader_of_its_forces():
    """Contacts yield by the stiffness of the material, and the world of a batch steps as alone."""
    model = cloth(z=0.02)
    stepper = quiet(model, materials={"cloth": ContactMaterial(stiffness=1e4, friction=0.3)})
    batch, data = Batch(stepper, 2), mujoco.MjData(model)
    stepper.run(data, 300)
    contacts = stepper.contacts
    np.testing.assert_allclose(contacts.distance, -G / 16 / 1e4, rtol=1e-4)
    reader = stepper.contact_reader(["cloth"])
    reader.read()
    np.testing.assert_allclose(reader.force, [[0, 0, G]], atol=1e-4)
    for _ in range(300):
        batch.step()
    np.testing.assert_array_equal(batch.qpos[1], data.qpos)


@pytest.mark.parametrize(("mu", "slides"), [(0.2, True), (0.8, False)])
def test_a_cloth_slides_down_or_holds(mu, slides):
    """On a slope of 20 degrees, whose tangent is 0.36."""
    model = cloth(tilt=20, mu=mu)
    stepper, data = quiet(model), mujoco.MjData(model)
    stepper.run(data, 500)
    before = data.qvel.copy()
    stepper.run(data, 100)
    along = np.array([np.cos(np.deg2rad(20)), 0, -np.sin(np.deg2rad(20))])
    gained = ((data.qvel - before).reshape(-1, 3) @ along).mean()
    if slides:
        # g (sin - mu cos) over 0.2 s
        expected = G * (np.sin(np.deg2rad(20)) - mu * np.cos(np.deg2rad(20))) * 0.2
        np.testing.assert_allclose(gained, expected, rtol=1e-3)
    else:
        assert np.abs(data.qvel).max() < 1e-5


@pytest.mark.parametrize("jacobian", ["dense", "sparse"])
def test_a_hanging_cloth_keeps_its_edges_and_its_energy(jacobian):
    model = cloth(z=1.5, inner="<pin id='0 3'/>", jacobian=jacobian)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    stepper, data = quiet(model), mujoco.MjData(model)
    energies, kinetic, most = [], 0.0, 0.0
    for _ in range(1000):
        stepper.step(data)
        mujoco.mj_forward(model, data)
        energies.append(data.energy.sum())
        kinetic = max(kinetic, data.energy[1])
        strain = np.ravel(data.flexedge_length) / np.ravel(model.flexedge_length0) - 1
        most = max(most, np.abs(strain).max())
    assert most < 4e-3
    assert kinetic > 0.5
    # symplectic Euler lets it swing
    assert max(energies) < energies[0] + 1e-2 * kinetic
    assert energies[-1] < energies[0]
    assert stepper.problem(data).n_trees == model.ntree
    (edges,) = stepper.constraints
    assert edges.names[1].endswith("row 1")


BALL = "<body name='ball' pos='.013 .007 {}'><freejoint/><geom size='.05' mass='.3'/></body>"


def test_a_cloth_bears_a_ball_and_its_pins_bear_both():
    """Contacts are with elements: three vertices and the ball, trees of their own."""
    pins = "<pin id='0 1 2 3 4 5 9 10 14 15 19 20 21 22 23 24'/>"
    model = cloth("5 5 1", BALL.format(0.57), pins, z=0.5)
    stepper, data = quiet(model), mujoco.MjData(model)
    stepper.run(data, 1000)
    ball = model.body("ball").id
    means = np.zeros(2)
    for _ in range(200):
        stepper.step(data)
        # the first six dofs are those of the ball
        means += data.qfrc_constraint[2], stepper.body_forces[ball][2]
    np.testing.assert_allclose(means / 200, 0.3 * G, rtol=1e-2)
    assert 0.5 < data.body("ball").xpos[2] < 0.57


def test_strains_of_a_body_with_nodes_are_held():
    """Eight nodes move all vertices: contacts and strains move more trees than two."""
    if not hasattr(mujoco.MjModel, "flex_interp"):
        pytest.skip("MuJoCo without nodes")
    model = cloth("3 3 3", z=0.25, outer="dim='3' dof='trilinear'", edge="strain")
    with pytest.warns(UserWarning, match="elastic forces of flexes are explicit: .* has nodes"):
        stepper = Stepper(model)
    data = mujoco.MjData(model)
    stepper.run(data, 500)
    mujoco.mj_forward(model, data)
    strain = data.efc_pos[data.efc_type == 0]
    assert len(strain) > 10
    assert np.abs(strain).max() < 1e-4
    assert np.abs(data.qvel).max() < 1e-3
    np.testing.assert_allclose(stepper.contacts.force_on_geom("cloth")[2], G, rtol=1e-4)
    assert stepper.problem(data).n_trees == 1


def test_flexes_touch_each_other_and_themselves():
    low, high = (
        f"<body name='{name}' pos='{x} 0 {z}'><flexcomp name='{name}' type='grid' count='{n} {n} 1'"
        f" spacing='.1 .1 .1' radius='.01' dim='2' mass='{m}'><contact selfcollide='auto'/>"
        "<edge equality='true'/></flexcomp></body>"
        for name, x, z, n, m in (("low", 0, 0.02, 4, 1), ("high", 0.03, 0.05, 3, 0.5))
    )
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><geom type='plane' size='2 2 1'/>{low}{high}</worldbody></mujoco>"
    )
    stepper, data = quiet(model), mujoco.MjData(model)
    stepper.run(data, 600)
    found = np.zeros(2)
    for _ in range(100):
        stepper.step(data)
        contacts = stepper.contacts
        found += contacts.force_on_geom("high")[2], contacts.force_on_geom("low")[2]
    np.testing.assert_allclose(found / 100, [0.5 * G, G], rtol=0.02)


def test_contacts_that_a_model_gains_later_join_the_trees():
    """Contacts of elements, where vertices alone had contacts."""
    model = cloth("4 4 1", BALL.format(0.27).replace("<geom", "<geom name='ball' contype='0'"))
    model.geom("ball").conaffinity = 0
    stepper, data = quiet(model), mujoco.MjData(model)
    stepper.run(data, 100)
    assert stepper.problem(data).n_trees == 17
    stepper.model.geom("ball").contype = 1
    data = mujoco.MjData(model)
    stepper.run(data, 400)
    assert stepper.problem(data).n_trees == 2
    assert 0.05 < data.body("ball").xpos[2] < 0.08


@pytest.mark.slow
def test_a_large_cloth_holds_better_than_that_of_mj_step():
    model = cloth("16 16 1", tilt=20, mu=0.8)
    stepper = quiet(model)
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    stepper.run(ours, 300)
    mujoco.mj_step(model, theirs, nstep=300)
    strain = [np.ravel(d.flexedge_length) / model.flexedge_length0 - 1 for d in (ours, theirs)]
    assert len(strain[0]) > 600
    most = [np.sqrt(np.mean(s**2)) for s in strain]
    assert most[0] < 1e-3
    assert most[0] < 0.1 * most[1]
