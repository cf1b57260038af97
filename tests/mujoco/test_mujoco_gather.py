"""The contact problem gathered from a model, against MuJoCo's own Jacobians and plain formulas."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import (
    bias_of,
    constraint_rows,
    mass_matrix,
    mixed,
    point_jacobian,
    urdf_on_floor,
)
from sapwood.mujoco import ContactMaterial, Stepper
from sapwood.mujoco.reading.trees import free_quaternions, turning_dofs
from sapwood.reference.step.free_rotation import free_rotation, tree_rotation
from sapwood.studies import scenes

# models, and how far a random state lies from the model's own (m, rad); joints move further
MODELS = {
    "mixed": (mixed, 0.1),
    "mixed_pyramidal": (lambda: mixed("pyramidal"), 0.1),
    "urdf": (urdf_on_floor, 0.2),
    "clutter": (lambda: scenes.clutter(12, seed=1).compile(), 0.15),
    "humanoids": (lambda: scenes.humanoids(2).compile(), 0.05),
    "free_flight": (lambda: scenes.free_flight(8, chain=True).compile(), 0.4),
}


def random_state(model, rng, spread):
    """A state near the model's own, in which some geoms that can move overlap."""
    free = model.jnt_type[model.dof_jntid] == mujoco.mjtJoint.mjJNT_FREE
    while True:
        data = mujoco.MjData(model)
        offset = np.where(free, spread, 10 * spread) * rng.standard_normal(model.nv)
        mujoco.mj_integratePos(model, data.qpos, offset, 1.0)
        if model.nmocap:
            data.mocap_pos[:] += spread * rng.standard_normal((model.nmocap, 3))
        mujoco.mj_forward(model, data)
        if data.nefc > 0:
            break
    data.qvel[:] = 0.5 * rng.standard_normal(model.nv)
    data.qfrc_applied[:] = rng.standard_normal(model.nv)
    data.ctrl[:] = rng.standard_normal(model.nu)
    return data


def evaluated(model, data):
    """The same state with all of MuJoCo's quantities before the constraint solver."""
    copy = mujoco.MjData(model)
    mujoco.mj_copyData(copy, model, data)
    mujoco.mj_step1(model, copy)
    mujoco.mj_fwdActuation(model, copy)
    mujoco.mj_fwdAcceleration(model, copy)
    return copy


def with_midpoint(stepper, oracle, M):
    """The free acceleration with forces of rotation at the middle of the step."""
    model, found = stepper.model, oracle.qacc_smooth.copy()
    turns = turning_dofs(model)
    for first, count in zip(model.tree_dofadr, model.tree_dofnum, strict=True):
        of = slice(first, first + count)
        if free_quaternions(model)[first] >= 0:
            R = oracle.xmat[model.dof_bodyid[first]].reshape(3, 3)
            found[of] = free_rotation(M[of, of], R, stepper.time_step, oracle.qvel[of], found[of])
        elif (turns[of] == 2).any():
            bias = bias_of(model, oracle, of)
            found[of] += tree_rotation(
                bias, M[of, of], turns[of], stepper.time_step, oracle.qvel[of]
            )
    return found


def moving(model, body):
    return model.body_dofnum[model.body_weldid[body]] > 0


@pytest.mark.parametrize("name", MODELS)
def test_problem_matches_mujocos_own_matrices(name, rng):
    make, spread = MODELS[name]
    model = make()
    material = ContactMaterial(stiffness=1e5, dissipation_time=0.02)
    stepper = Stepper(model, contact=material, implicit_actuators=False, speculative=False)
    one_tree = two_trees = world = states = 0
    # every kind of contact that the model can have must come up
    wanted = name.startswith("mixed")
    while states < 25 or (wanted and min(one_tree, two_trees, world) == 0):
        states += 1
        assert states < 1000
        data = random_state(model, rng, spread)
        problem = stepper.problem(data)
        oracle = evaluated(stepper.model, data)
        dt, nv = stepper.time_step, model.nv
        A, J = problem.to_dense()

        # mass, damping and free motion
        M = mass_matrix(stepper.model, oracle)
        expected_A = M + dt * np.diag(model.dof_damping)
        np.testing.assert_allclose(A, expected_A, rtol=1e-14, atol=1e-16)
        smooth = M @ with_midpoint(stepper, oracle, M)
        acceleration = np.linalg.solve(expected_A, smooth)
        scale = np.abs(dt * acceleration).max()
        np.testing.assert_allclose(
            problem.v_star, oracle.qvel + dt * acceleration, rtol=1e-12, atol=1e-12 * scale
        )
        np.testing.assert_array_equal(problem.v_guess, oracle.qvel)

        # contacts one by one
        contact = oracle.contact
        acting = [
            i
            for i in range(oracle.ncon)
            if contact.exclude[i] == 0
            and any(moving(model, model.geom_bodyid[g]) for g in contact.geom[i])
        ]
        assert problem.n_contacts == len(acting)
        rows = constraint_rows(stepper.model, oracle)
        for c, i in enumerate(acting):
            body = model.geom_bodyid[contact.geom[i]]
            relative = point_jacobian(model, oracle, body[1], contact.pos[i]) - point_jacobian(
                model, oracle, body[0], contact.pos[i]
            )
            axes = contact.frame[i].reshape(3, 3)[[1, 2, 0]]
            block = J[3 * c : 3 * c + 3]
            np.testing.assert_allclose(block, axes @ relative, rtol=0, atol=1e-14)
            assert problem.phi0[c] == contact.dist[i]
            if model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC or contact.dim[i] == 1:
                row = contact.efc_address[i]
                np.testing.assert_allclose(block[2], rows[row], rtol=0, atol=1e-14)
            assert problem.mu[c] == (0.0 if contact.dim[i] == 1 else contact.friction[i, 0])

            trees = {int(model.body_treeid[model.body_weldid[b]]) for b in body if moving(model, b)}
            found = {int(problem.tree_a[c]), int(problem.tree_b[c])} - {-1}
            assert found == trees
            both_move = all(moving(model, b) for b in body)
            one_tree += both_move and len(trees) == 1
            two_trees += len(trees) == 2
            world += not both_move
        assert len(problem.v_star) == nv


@pytest.mark.parametrize("delassus", ["block", "diagonal"])
def test_regularization_is_that_of_the_package(delassus, rng):
    stepper = Stepper(
        mixed(),
        contact=ContactMaterial(stiffness=2e4, dissipation_time=0.01),
        sigma=3e-4,
        beta=0.7,
        delassus=delassus,
    )
    for _ in range(5):
        problem = stepper.problem(random_state(stepper.model, rng, 0.1))
        again = sapwood.ContactProblem(
            problem.tree_nv, problem.A, problem.v_star, problem.tree_a, problem.tree_b, problem.J,
            problem.mu, dt=0.004, phi0=problem.phi0, k=problem.k, tau_d=problem.tau_d,
            sigma=3e-4, beta=0.7, delassus=delassus,
        )  # fmt: skip
        assert problem.n_contacts > 0
        for field in ("R_t", "R_n", "v_hat_n"):
            np.testing.assert_array_equal(getattr(problem, field), getattr(again, field))
        assert (problem.dt, problem.sigma, problem.beta) == (0.004, 3e-4, 0.7)
        assert problem.delassus == delassus


def test_problem_leaves_everything_as_it_was():
    model = mixed()
    stepper = Stepper(model)
    data = mujoco.MjData(model)
    for _ in range(20):
        stepper.step(data)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION)
    before, after = np.empty(size), np.empty(size)
    mujoco.mj_getState(model, data, before, mujoco.mjtState.mjSTATE_INTEGRATION)
    quantities = [
        np.copy(a) for a in (data.qacc, data.efc_force, data.sensordata, data.contact.dist)
    ]
    solution, steps = stepper.solution, stepper.steps
    stepper.problem(data)
    mujoco.mj_getState(model, data, after, mujoco.mjtState.mjSTATE_INTEGRATION)
    np.testing.assert_array_equal(before, after)
    now = (data.qacc, data.efc_force, data.sensordata, data.contact.dist)
    for old, new in zip(quantities, now, strict=True):
        np.testing.assert_array_equal(old, new)
    assert stepper.solution is solution
    assert stepper.steps == steps


def test_a_step_solves_the_problem_it_shows(rng):
    """The velocity of a step is the solution of `problem`, whose rows of one joint are whole."""
    model = mixed()
    settings = sapwood.SapSettings(relative_tolerance=1e-9, record_history=True)
    stepper = Stepper(model, contact=ContactMaterial(stiffness=1e6), settings=settings)
    for _ in range(5):
        data = random_state(model, rng, spread=0.05)
        problem = stepper.problem(data)
        expected = sapwood.solve(problem, settings=stepper.settings)
        velocity = data.qvel.copy()
        stepper.step(data)
        np.testing.assert_allclose(stepper.solution.v, expected.v, rtol=1e-7, atol=1e-7)
        assert len(stepper.solution.history) > 1
        np.testing.assert_allclose(
            data.qvel - velocity, stepper.solution.v - velocity, rtol=1e-12, atol=1e-12
        )


def test_touching_bodies_without_dofs_are_left_alone():
    """Static geoms that overlap, and a model with no dof at all."""
    static = "<geom size='.1'/><body pos='0 0 .1' mocap='true'><geom size='.1'/></body>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{static}</worldbody></mujoco>")
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.step(data)
    assert stepper.n_contacts == 0
    assert data.time == model.opt.timestep

    falling = "<body pos='0 0 3'><freejoint/><geom size='.1'/></body>"
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{static}{falling}</worldbody></mujoco>"
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.step(data)
    assert stepper.n_contacts == 0
    assert data.qvel[2] == -9.81 * model.opt.timestep


def test_a_contact_that_moves_no_dof_has_no_say():
    """A wheel that is touched on its axis: no force, and no error."""
    xml = """<mujoco><option timestep="0.01"/><worldbody>
      <geom type="box" size=".1 .1 .1" pos="0 .199 0"/>
      <body><joint name="axis" axis="0 1 0"/><geom type="sphere" size=".1"/></body>
      <body pos="0 0 1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[0] = 1.0
    stepper.step(data)
    assert data.ncon == 1
    assert (stepper.n_contacts, stepper.problem(data).n_contacts) == (0, 0)
    assert (data.efc_force == 0).all()
    assert data.qvel[0] == 1.0


def test_margin_makes_contacts_and_gap_does_not():
    """A contact within the margin acts if the gap closes; one in the gap has no force."""

    def stepped(margin, gap, speed):
        model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><option gravity="0 0 0" timestep="0.01"/><worldbody>
            <geom type="plane" size="1 1 1" margin="{margin}" gap="{gap}"/>
            <body pos="0 0 .11"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
        )
        stepper, data = Stepper(model, speculative=False), mujoco.MjData(model)
        data.qvel[2] = speed
        stepper.step(data)
        return stepper, data

    # 1 cm away at 2 m/s: twice too fast for one step of 10 ms; the contact brakes it
    stepper, data = stepped(margin=0.02, gap=0.0, speed=-2.0)
    assert stepper.contacts.distance == pytest.approx([0.01])
    assert -2.0 < data.qvel[2] < -0.4
    # too slow to close the gap within the step
    stepper, data = stepped(margin=0.02, gap=0.0, speed=-0.2)
    assert stepper.n_contacts == 1
    assert data.qvel[2] == pytest.approx(-0.2, abs=1e-15)
    # listed by MuJoCo for being in the gap, but not in contact
    stepper, data = stepped(margin=0.005, gap=0.015, speed=-2.0)
    assert data.ncon == 1
    assert stepper.n_contacts == 0
    assert data.qvel[2] == -2.0
