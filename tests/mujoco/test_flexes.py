"""Flexes whose elasticity and contacts are part of the contact problem."""

from __future__ import annotations

import copy
import pickle
import warnings

import mujoco
import numpy as np
import pytest

from sapwood import fem
from sapwood.mujoco import DifferentiableModel, NotSupported, Stepper
from sapwood.mujoco.reading import flexes
from sapwood.mujoco.reading.flexes import read_flexes
from sapwood.mujoco.stepping.edge_rows import NO_EDGES
from sapwood.mujoco.stepping.flex_step import FlexStep

G = 9.81
if not hasattr(mujoco.mjtIntegrator, "mjINT_DISCRETE"):
    pytest.skip("MuJoCo before 3.13", allow_module_level=True)


def model_of(flex: str, **options: str) -> mujoco.MjModel:
    given = " ".join(f"{name}='{value}'" for name, value in options.items())
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option timestep='.002' {given}/><worldbody>"
        f"<geom name='floor' type='plane' size='1 1 1'/>{flex}</worldbody></mujoco>"
    )


def cube(cells=2, height=0.101, young=1e5, inner="", outer="pos='0 0 0'", **options):
    """A cube of 20 cm and 8 kg, 1 mm above the floor; the radius of a flex is 1 mm."""
    options = {"integrator": "discrete", **options}
    count, spacing = cells + 1, 0.2 / cells
    return model_of(
        f"<body name='place' {outer}><flexcomp name='f' type='grid' count='{count} {count} {count}'"
        f" spacing='{spacing} {spacing} {spacing}' pos='0 0 {height}' dim='3' mass='8'"
        f" radius='.001'><elasticity young='{young}' poisson='.3' damping='.01'/>"
        f"<contact selfcollide='none'/>{inner}</flexcomp></body>",
        **options,
    )


def cloth(kind="both", inner="", **options):
    options = {"integrator": "discrete", **options}
    return model_of(
        "<body name='place' pos='0 0 .5'><flexcomp name='f' type='grid' count='5 4 1'"
        " spacing='.05 .05 .05' dim='2' mass='.5' radius='.001'><elasticity young='1e5'"
        f" poisson='.3' damping='.01' thickness='.02' elastic2d='{kind}'/>"
        f"<contact selfcollide='none'/>{inner}</flexcomp></body>",
        **options,
    )


def step_of(model, data):
    """The equations of the only flex in a step with the mass of the vertices alone."""
    (flex,) = read_flexes(model)
    step = FlexStep(flex)
    mujoco.mj_forward(model, data)
    masses = model.dof_M0[flex.dofs][:, :, None] * np.eye(3)
    step.begin(model, data, masses, data.qvel[flex.dofs], NO_EDGES, model.opt.timestep)
    return step


@pytest.mark.parametrize(
    "model",
    [
        cube(integrator="Euler"),
        cube(integrator="Euler", outer="euler='30 20 10'"),
        *(cloth(kind, integrator="Euler") for kind in ("both", "bend", "stretch")),
        cloth(inner="<pin id='0 3'/>", integrator="Euler"),
    ],
)
def test_the_forces_that_are_taken_out_are_those_of_mujoco(model, rng):
    """To round-off: of elements and of hinges, with damping, for turned and pinned flexes."""
    data = mujoco.MjData(model)
    data.qpos += 0.01 * rng.standard_normal(model.nq)
    data.qvel[:] = rng.standard_normal(model.nv)
    step = step_of(model, data)
    theirs = data.qfrc_passive[step.flex.dofs]
    np.testing.assert_allclose(
        step.to_slides(step.force), theirs, rtol=0, atol=1e-11 * np.abs(theirs).max()
    )


def test_springs_of_edges_are_taken_out_too(rng):
    model = model_of(
        "<body name='place' pos='0 0 .5'><flexcomp name='f' type='grid' count='6 1 1'"
        " spacing='.05 .05 .05' dim='1' mass='.5' radius='.001'>"
        "<edge stiffness='30' damping='.2'/><contact selfcollide='none'/></flexcomp></body>",
        integrator="Euler",
    )
    data = mujoco.MjData(model)
    data.qpos += 0.01 * rng.standard_normal(model.nq)
    data.qvel[:] = rng.standard_normal(model.nv)
    step = step_of(model, data)
    theirs = data.qfrc_passive[step.flex.dofs]
    np.testing.assert_allclose(
        step.to_slides(step.force), theirs, rtol=0, atol=1e-11 * np.abs(theirs).max()
    )
    # in a step they are those of its end: a stiff cord stays together
    stiff = copy.copy(model)
    stiff.flex_edgestiffness[:] = 1e6
    end = mujoco.MjData(stiff)
    Stepper(stiff).run(end, 200)
    strain = np.ravel(end.flexedge_length) / stiff.flexedge_length0 - 1
    assert np.abs(strain).max() < 1e-3


@pytest.mark.parametrize("options", [{}, {"cone": "pyramidal", "jacobian": "sparse"}])
def test_a_cube_stays_and_rests_on_the_floor(options):
    """Explicit forces make it diverge after some steps. It is as low as its weight makes it."""
    model = cube(cells=3, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stepper = Stepper(model)
    data = mujoco.MjData(model)
    stepper.run(data, 400)
    z = data.flexvert_xpos[:, 2]
    assert np.abs(data.qvel).max() < 1e-3
    assert z.min() == pytest.approx(1e-3, abs=1e-5)
    # between a column that is free to widen and one that is not: rho g L^2/(2 E)
    free = 1000 * G * 0.2**2 / 2 / 1e5
    assert 0.7 * free < 0.2 - (z.max() - z.min()) < free
    assert data.qfrc_constraint[2::3].sum() == pytest.approx(8 * G, rel=1e-3)
    force = np.zeros(6)
    total = 0.0
    for i in range(data.ncon):
        mujoco.mj_contactForce(model, data, i, force)
        total += force[0]
    assert total == pytest.approx(8 * G, rel=1e-3)
    assert stepper.soft_result.status == "converged"
    assert stepper.soft == ()


def test_momentum_stays_and_energy_falls(rng):
    """A cube that turns and swings in the air."""
    model = cube(height=1.0, gravity="0 0 0", integrator="Euler")
    model.flex_damping[:] = 0
    stepper, data = Stepper(model), mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    x = data.flexvert_xpos - data.flexvert_xpos.mean(axis=0)
    v = np.cross([2.0, 3.0, 1.0], x) + 0.3 * x + 0.1 * rng.standard_normal(x.shape)
    data.qvel[:] = v.ravel()
    mass = model.dof_M0.reshape(-1, 3)[:, :1]
    energies = []
    p = (mass * v).sum(axis=0)
    for _ in range(100):
        stepper.step(data)
        mujoco.mj_forward(model, data)
        (flex,) = read_flexes(model)
        numbers = flex.numbers(model)
        L = np.ravel(data.flexedge_length)
        e = (L**2 - numbers.rest**2)[model.flex_elemedge.reshape(-1, 6)[: len(numbers.stiffness)]]
        M = np.zeros((len(e), 6, 6))
        M[:, *np.triu_indices(6)] = numbers.stiffness[:, :21]
        M += np.triu(M, 1).swapaxes(1, 2)
        elastic = np.einsum("ni,nij,nj->", e, M, e) / 4
        energies.append(elastic + 0.5 * np.sum(mass * data.qvel.reshape(-1, 3) ** 2))
    after = (mass * data.qvel.reshape(-1, 3)).sum(axis=0)
    np.testing.assert_allclose(after, p, rtol=0, atol=1e-10)
    assert np.all(np.diff(energies) < 1e-6 * energies[0])


def test_a_held_plate_bends_as_that_of_mujoco():
    """Smaller steps of both come together."""
    model = cloth(inner="<pin id='0 1 2 3'/>")
    differences = []
    for dt in (0.002, 0.0005):
        ends = []
        for ours in (True, False):
            fine = copy.copy(model)
            fine.opt.timestep = dt
            data, steps = mujoco.MjData(fine), round(0.2 / dt)
            if ours:
                Stepper(fine).run(data, steps)
            else:
                mujoco.mj_step(fine, data, nstep=steps)
            mujoco.mj_kinematics(fine, data)
            mujoco.mj_comPos(fine, data)
            mujoco.mj_flex(fine, data)
            ends.append(data.flexvert_xpos.copy())
        differences.append(np.abs(ends[0] - ends[1]).max())
    fall = 0.5 - ends[0][:, 2].min()
    assert fall > 0.01
    assert differences[1] < 0.4 * differences[0]
    assert differences[1] < 0.02 * fall


BALL = "<body name='ball' pos='.003 .002 {}'><freejoint/><geom size='.05' mass='.3'/></body>"


def test_bodies_and_flexes_carry_each_other(tmp_path, monkeypatch):
    """A ball falls on a held cloth: the cloth bears it, and the pins bear both."""
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log file
    text = (
        "<mujoco><option timestep='.002' integrator='discrete'/><worldbody>"
        "<body name='place' pos='0 0 .5'><flexcomp name='f' type='grid' count='5 5 1'"
        " spacing='.05 .05 .05' dim='2' mass='.2' radius='.002'><elasticity young='1e6'"
        " poisson='.3' damping='.01' thickness='.005' elastic2d='both'/>"
        "<contact selfcollide='none'/><pin id='0 1 2 3 4 20 21 22 23 24'/></flexcomp></body>"
        + BALL.format(0.56)
        + "<geom type='sphere' size='.05' pos='0 0 2'/></worldbody></mujoco>"
    )
    model = mujoco.MjModel.from_xml_string(text)
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 400)
    ball, means = model.body("ball").id, np.zeros(3)
    for _ in range(200):
        stepper.step(data)
        # the last six dofs are those of the ball
        loads = data.qfrc_constraint[:-6].reshape(-1, 3)[:, 2].sum(), data.qfrc_constraint[-4]
        means += (*loads, stepper.body_forces[ball][2])
    assert 0.4 < data.body("ball").xpos[2] < 0.56
    np.testing.assert_allclose(means / 200, np.array([-1, 1, 1]) * 0.3 * G, rtol=0.02)


def test_two_flexes_rest_on_each_other():
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option timestep='.002' integrator='discrete'/><worldbody>"
        "<geom type='plane' size='1 1 1'/>"
        + "".join(
            f"<body name='{name}' pos='0 0 {z}'><flexcomp name='{name}' type='grid' count='3 3 3'"
            f" spacing='.05 .05 .05' dim='3' mass='1' radius='.002'><elasticity young='1e5'"
            " poisson='.3' damping='.01'/><contact selfcollide='none'/></flexcomp></body>"
            for name, z in (("low", 0.053), ("high", 0.158))
        )
        + "</worldbody></mujoco>"
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 200)
    n, means = int(model.flex_vertnum[0]), np.zeros(2)
    for _ in range(200):
        stepper.step(data)
        forces = data.qfrc_constraint.reshape(-1, 3)[:, 2]
        means += forces.sum(), forces[n:].sum()
    np.testing.assert_allclose(means / 200, [2 * G, G], rtol=0.01)
    assert data.flexvert_xpos[n:, 2].min() > 0.1


# ---- equality rows of edges ----------------------------------------------------------------------


def sheet(n=5, more="", inner="", outer="pos='0 0 .5'"):
    """A cloth of rigid edges without elasticity."""
    return model_of(
        f"{more}<body name='place' {outer}><flexcomp name='f' type='grid' count='{n} {n} 1'"
        f" spacing='{0.3 / (n - 1)} {0.3 / (n - 1)} .1' dim='2' mass='.3' radius='.002'>"
        f"<edge equality='true'/><contact selfcollide='none'/>{inner}</flexcomp></body>",
        integrator="discrete",
    )


HEAD = "<geom name='head' size='.08' pos='.01 .02 .4'/>"


@pytest.mark.parametrize("inner", ["", "<pin id='0 3 12'/>"])
def test_edges_are_the_same_rows_inside_the_mass_and_beside_it(inner, rng, monkeypatch):
    """Their impulses have no bounds: a step without contact is that of a dense tree."""
    model = sheet(more=HEAD, inner=inner, outer="pos='0 0 .9' euler='30 20 10'")
    data = mujoco.MjData(model)
    data.qpos += 1e-3 * rng.standard_normal(model.nq)
    data.qvel[:] = 0.3 * rng.standard_normal(model.nv)
    ends = []
    for most in (10**9, 0):
        monkeypatch.setattr(flexes, "MOST_JOINED", most)
        stepper, end = Stepper(model), copy.copy(data)
        stepper.run(end, 3)
        (edges,) = stepper.constraints
        assert len(edges.force) > 50
        ends.append((end.qvel, end.qfrc_constraint, end.efc_force, edges.force, edges.velocity))
        assert (stepper.parameters.soft is None) == (most > 0)
    for one, other in zip(*ends, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8 * np.abs(one).max())


def test_a_large_cloth_lies_on_a_ball():
    """Its vertices stay apart, and the ball bears its weight."""
    model = sheet(13, HEAD, outer="pos='.01 .02 .484'")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stepper = Stepper(model)
    data, dt = mujoco.MjData(model), model.opt.timestep
    stepper.run(data, 150)
    for _ in range(20):
        momentum = (model.dof_M0 * data.qvel)[2::3].sum()
        stepper.step(data)
        gained = (model.dof_M0 * data.qvel)[2::3].sum() - momentum
        # edges are forces within the cloth, and the ball presses from below
        lift = -stepper.body_forces[0][2]
        assert lift > 0
        assert gained == pytest.approx(dt * (lift - 0.3 * G), abs=1e-6 * dt)
        assert data.qfrc_constraint[2::3].sum() == pytest.approx(lift, abs=1e-6)
    strain = np.ravel(data.flexedge_length) / model.flexedge_length0 - 1
    assert np.sqrt(np.mean(strain**2)) < 2e-3
    assert stepper.problem(data).n_trees == 1
    assert stepper.problem(data).tree_nv[0] < 3 * 13**2 / 2


def test_an_elastic_cloth_may_have_rigid_edges():
    model = cloth("bend", inner="<edge equality='true'/><pin id='0 1 2 3'/>")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stepper = Stepper(model)
    data = mujoco.MjData(model)
    stepper.run(data, 300)
    strain = np.ravel(data.flexedge_length) / model.flexedge_length0 - 1
    assert np.abs(strain).max() < 1e-3
    assert stepper.soft_result.status == "converged"
    # let go, the edges are as long as the bending allows
    data.eq_active[:] = 0
    stepper.run(data, 300)
    assert stepper.constraints == ()
    assert data.flexvert_xpos[:, 2].min() < 0.05


def test_what_stays_outside_is_told_of_with_the_reason():
    moved = cube(inner="<pin id='0'/>")
    moved.jnt_limited[3] = 1
    moved.jnt_range[3] = -1, 1
    with pytest.warns(UserWarning, match="flex 'f' has vertices that other elements move"):
        Stepper(moved)


def test_ways_that_know_no_flexes_say_so():
    model = cube()
    stepper = Stepper(model)
    for call in (
        lambda: DifferentiableModel(stepper),
        lambda: stepper.run(mujoco.MjData(model), 2, accuracy=1e-3),
    ):
        with pytest.raises(NotSupported, match="flexes"):
            call()
    body = fem.SoftBody(fem.box([0.1] * 3, 2), fem.Material(young=1e5, poisson=0.3, density=1e3))
    body.attach([0], model.body(int(model.flex_vertbodyid[0])).name, np.eye(4))
    with pytest.raises(NotSupported, match=r"soft\[0\]: is attached to a vertex of a flex"):
        Stepper(model, soft=[body])
    # other schemes have the elastic forces of MuJoCo
    data = mujoco.MjData(model)
    Stepper(model, scheme="midpoint").run(data, 30)
    assert data.ncon > 0
    assert np.abs(data.qvel).max() < 0.1


def test_a_stepper_is_copied_and_follows_its_numbers():
    model = cube()
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 50)
    ends = []
    for other in (pickle.loads(pickle.dumps(stepper)), stepper):
        later = copy.copy(data)
        other.run(later, 20)
        ends.append(later.qpos.copy())
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)
    # a softer flex is lower
    stepper.model.flex_stiffness[:] /= 4
    stepper.model.geom_size[0, 0] = 2
    before = np.ptp(data.flexvert_xpos[:, 2])
    stepper.run(data, 400)
    assert np.ptp(data.flexvert_xpos[:, 2]) < before - 1e-3


def test_a_vertex_may_get_another_mass():
    # the masses that MuJoCo sums over subtrees are those of before until mj_setConst
    model = cube()
    stepper = Stepper(model)
    model.body_mass[model.flex_vertbodyid[2]] *= 1.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fresh = Stepper(copy.deepcopy(model))
    data, other = mujoco.MjData(model), mujoco.MjData(fresh.model)
    stepper.run(data, 20)
    fresh.run(other, 20)
    np.testing.assert_array_equal(data.qpos, other.qpos)
