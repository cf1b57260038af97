"""Batches whose worlds have parameters of their own: each steps as with a stepper of its own."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import mixed
from sapwood.mujoco import Batch, ContactMaterial, SimulationError, Stepper
from sapwood.mujoco.batches.model_fields import fixed_fields, model_fields
from sapwood.mujoco.batches.parameters import DERIVED, field_in
from sapwood.studies import scenes

WHOLE = mujoco.mjtState.mjSTATE_INTEGRATION
N, STEPS = 4, 25

pytestmark = pytest.mark.filterwarnings("ignore:.*overlap is:RuntimeWarning")


def model_of(batch, model, names, world, const):
    own = copy.copy(model)
    for name in names:
        value = batch.expand(name)[world]
        if name.startswith("opt.") and not isinstance(getattr(own.opt, name[4:]), np.ndarray):
            setattr(own.opt, name[4:], value.item())
        else:
            field_in(own, name)[...] = value
    if const:
        mujoco.mj_setConst(own, mujoco.MjData(own))
    return own


def assert_worlds_are_of_their_models(batch, models, start, **options):
    for world, model in enumerate(models):
        stepper, data = Stepper(model, **options), mujoco.MjData(model)
        mujoco.mj_setState(model, data, start[world], WHOLE)
        for _ in range(STEPS):
            stepper.step(data)
        np.testing.assert_array_equal(batch.qpos[world], data.qpos)
        np.testing.assert_array_equal(batch.bind("qvel")[world], data.qvel)


@pytest.mark.parametrize(
    ("names", "const"),
    [
        (("geom_friction",), False),
        (("dof_damping", "dof_frictionloss"), False),
        (("jnt_range",), False),
        (("actuator_gainprm", "actuator_biasprm"), False),
        (("opt.gravity",), False),
        (("opt.wind", "opt.density", "opt.viscosity"), False),
        (("body_mass", "body_inertia"), True),
        (("geom_size",), True),
        (("geom_pos", "dof_armature", "qpos0"), True),
        (("eq_data",), False),
        (("geom_solref", "geom_margin"), False),
    ],
)
@pytest.mark.parametrize("integrator", ["mjINT_EULER", "mjINT_IMPLICITFAST"])
def test_every_parameter_is_as_in_a_model_of_its_own(names, const, integrator, rng):
    model = mixed()
    model.opt.integrator = getattr(mujoco.mjtIntegrator, integrator)
    model.opt.viscosity = 0.1
    model.opt.density = 1.0
    batch = Batch(model, N, 2)
    batch.qvel[:] = 0.3 * rng.standard_normal((N, model.nv))
    for name in names:
        rows = batch.expand(name)
        assert batch.expand(name) is rows
        rows[:] = (rows.T * (1.0 + 0.2 * np.arange(N))).T
    if const:
        batch.set_const()
    start = batch.get_state()
    batch.step(nstep=STEPS)
    models = [model_of(batch, model, names, world, const) for world in range(N)]
    assert_worlds_are_of_their_models(batch, models, start)
    # set back, all worlds are the same again; and a world read again follows its new values
    for name in names:
        batch.expand(name)[:] = batch.expand(name)[0]
    if const:
        batch.set_const()
    batch.set_state(start)
    batch.step(nstep=STEPS)
    assert_worlds_are_of_their_models(batch, [models[0]] * N, start)


def test_materials_per_world(rng):
    model = scenes.clutter(4, seed=1).compile()
    batch = Batch(model, 3, 2, contact=ContactMaterial(stiffness=1e4, dissipation_time=0.01))
    batch.qvel[:] = 0.1 * rng.standard_normal((3, model.nv))
    stiffness = batch.expand("sapwood.contact_stiffness")
    times = batch.expand("sapwood.dissipation_time")
    assert stiffness.shape == times.shape == (3, model.ngeom)
    assert (stiffness == 1e4).all()
    assert (times == 0.01).all()
    stiffness *= np.array([[1.0], [3.0], [10.0]])
    times *= np.array([[1.0], [2.0], [0.5]])
    start = batch.get_state()
    batch.step(nstep=STEPS)
    for world in range(3):
        material = ContactMaterial(stiffness=stiffness[world, 0], dissipation_time=times[world, 0])
        stepper, data = Stepper(model, contact=material), mujoco.MjData(model)
        mujoco.mj_setState(model, data, start[world], WHOLE)
        for _ in range(STEPS):
            stepper.step(data)
        np.testing.assert_array_equal(batch.qpos[world], data.qpos)
    stiffness[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"sapwood.contact_stiffness\[1, 2\] = nan: must be > 0"):
        batch.step()


def test_friction_of_materials_per_world(rng):
    model = scenes.clutter(4, seed=1).compile()
    batch = Batch(model, 3, 2, contact=ContactMaterial(friction=0.5))
    batch.qvel[:] = 0.1 * rng.standard_normal((3, model.nv))
    friction = batch.expand("sapwood.friction")
    assert (friction == 0.5).all()
    friction[:] = np.array([[0.0], [0.3], [0.9]])
    start = batch.get_state()
    batch.step(nstep=STEPS)
    for world in range(3):
        material = ContactMaterial(friction=friction[world, 0])
        stepper, data = Stepper(model, contact=material), mujoco.MjData(model)
        mujoco.mj_setState(model, data, start[world], WHOLE)
        for _ in range(STEPS):
            stepper.step(data)
        np.testing.assert_array_equal(batch.qpos[world], data.qpos)
    assert not np.array_equal(batch.qpos[0], batch.qpos[2])
    for wrong in (-1.0, np.inf, np.nan):
        friction[2, 1] = wrong
        with pytest.raises(ValueError, match=rf"sapwood.friction\[2, 1\] = {wrong}: must be fin"):
            batch.step()
    with pytest.raises(ValueError, match="no material of the geoms has a friction"):
        Batch(model, 2).expand("sapwood.friction")


def test_set_const_derives_all_that_mujoco_does():
    """No field that MuJoCo changes is left out of the list of derived ones."""
    model = mixed()
    own = copy.copy(model)
    own.body_mass[1:] *= 1.7
    own.body_inertia[1:] *= 1.3
    own.geom_size[1:] *= 1.2
    own.qpos0[:7] += 0.1
    own.dof_armature[:] += 0.2
    before = copy.copy(own)
    mujoco.mj_setConst(own, mujoco.MjData(own))
    changed = {
        name
        for name in dir(own)
        if not name.startswith("_")
        and isinstance(getattr(own, name), np.ndarray)
        and not np.array_equal(getattr(own, name), getattr(before, name))
    }
    assert changed <= set(DERIVED), changed - set(DERIVED)
    batch = Batch(model, 2)
    for name in ("body_mass", "body_inertia", "geom_size", "qpos0", "dof_armature"):
        batch.expand(name)[1] = getattr(before, name)
    batch.set_const([1])
    for name in changed:
        np.testing.assert_array_equal(batch.expanded(name)[1], field_in(own, name))
        np.testing.assert_array_equal(batch.expanded(name)[0], field_in(model, name))
        with pytest.raises(ValueError, match="read-only"):
            batch.expanded(name)[0] = 0
    assert batch.expanded("body_quat") is None
    made = batch.get_model(1)
    for name in sorted(changed):
        np.testing.assert_array_equal(getattr(made, name), getattr(own, name))
    np.testing.assert_array_equal(batch.get_model(0).body_mass, model.body_mass)


def test_set_const_names_the_worlds_that_mujoco_refuses():
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><joint type='slide'/>"
        "<geom size='.1' contype='0' conaffinity='0'/></body></worldbody></mujoco>"
    )
    batch = Batch(model, 3)
    batch.expand("body_mass")[:, 1] = [0, 2, 0]
    with pytest.raises(SimulationError, match=r"in 1 of 2 simulations \(0\)") as told:
        batch.set_const([0, 1])
    assert told.value.ids.tolist() == [0]
    assert batch.status.tolist() == [3, 0, 0]
    assert "MuJoCo: " in batch.error(0)
    assert batch.error(1) == ""


def test_models_of_the_caller(rng):
    model = mixed()
    models = []
    for world in range(N):
        own = copy.copy(model)
        own.body_mass[1:] *= 1.0 + 0.3 * world
        own.geom_friction[:, 0] *= 1.0 + 0.1 * world
        own.opt.gravity[2] *= 1.0 + 0.05 * world
        mujoco.mj_setConst(own, mujoco.MjData(own))
        models.append(own)
    batch = Batch(model, N, 2)
    batch.qvel[:] = 0.3 * rng.standard_normal((N, model.nv))
    start = batch.get_state()
    assert batch.models is None
    batch.set_models(models)
    assert batch.models == tuple(models)
    batch.step(nstep=STEPS)
    assert_worlds_are_of_their_models(batch, models, start)
    np.testing.assert_array_equal(batch.get_model(2).body_mass, models[2].body_mass)
    mass = batch.body(1).mass
    np.testing.assert_array_equal(mass[:, 0], [own.body_mass[1] for own in models])
    for call in (
        lambda: batch.expand("body_mass"),
        lambda: batch.set_const(),
        lambda: setattr(batch.body(1), "mass", 1.0),
    ):
        with pytest.raises(ValueError, match="caller's models"):
            call()
    batch.set_models(models[1])
    assert batch.models is models[1]
    batch.set_state(start)
    batch.step(nstep=STEPS)
    assert_worlds_are_of_their_models(batch, [models[1]] * N, start)
    batch.set_models(None)
    batch.set_state(start)
    batch.step(nstep=STEPS)
    assert_worlds_are_of_their_models(batch, [model] * N, start)
    batch.expand("body_mass")
    with pytest.raises(ValueError, match="per-simulation"):
        batch.set_models(models)


def test_wrong_models_are_refused():
    model, other = mixed(), mixed("pyramidal")
    batch = Batch(model, 2)
    turned = copy.copy(model)
    turned.jnt_type[0] = mujoco.mjtJoint.mjJNT_BALL
    for models, error, message in (
        ([model], ValueError, "1 models, expected one per simulation, 2"),
        ([model, other], ValueError, r"models\[1\] has another opt.cone"),
        ([model, turned], ValueError, r"models\[1\] has another jnt_type"),
        ([model, mujoco.MjModel.from_xml_string("<mujoco/>")], ValueError, r"models\[1\]"),
        ([model, "x"], TypeError, r"models\[1\] must be a mujoco.MjModel"),
    ):
        with pytest.raises(error, match=message):
            batch.set_models(models)
        assert batch.models is None
        batch.step()


def test_wrong_parameters_are_refused_by_name():
    model = mixed()
    batch = Batch(model, 3)
    for name, message in (
        ("xpos", r"use bind\('xpos'\)"), ("timestep", r"opt\.timestep|no field"),
        ("mesh_vert", "asset data"), ("body_mas", "did you mean 'body_mass'"),
        ("jnt_type", "structural"), ("opt.timestep", "structural"), ("_address", "no field"),
        ("opt.integrator", "structural"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            batch.expand(name)
        with pytest.raises(ValueError, match=message):
            batch.expanded(name)
    state = batch.get_state()
    friction = batch.expand("geom_friction")
    friction[1, 0, 0] = -1.0
    with pytest.raises(ValueError, match=r"simulation 1: friction\[0\] = -1"):
        batch.step()
    np.testing.assert_array_equal(batch.state, state)
    friction[1, 0, 0] = 0.5
    batch.step()
    places = batch.expand("geom_pos")
    places[2, 1, 0] = np.nan
    with pytest.raises(ValueError, match=r"^geom_pos\[2, 1, 0\] = nan: must be finite"):
        batch.step()
    places[2, 1] = model.geom_pos[1]
    limited = batch.expand("jnt_limited")
    limited[2] = ~limited[2].astype(bool)
    with pytest.raises(ValueError, match="simulation 2: changes limit_"):
        batch.step()
    limited[2] = model.jnt_limited
    batch.step()
    assert not fixed_fields() & model_fields()


def test_any_field_may_be_expanded_and_changes_nothing():
    model = mixed()
    bare, full = Batch(model, 2), Batch(model, 2)
    full.set_state(bare.state)
    refused = []
    for name in sorted(model_fields()):
        try:
            assert full.expand(name).shape[0] == 2
        except ValueError:
            refused.append(name)
    assert set(refused) <= {
        "actuator_forcelimited", "jnt_actfrclimited", "tendon_actfrclimited"
    }  # fmt: skip
    for batch in (bare, full):
        batch.step(nstep=20)
    np.testing.assert_array_equal(bare.state, full.state)


# ---- named views, queries -----------------------------------------------------------------------


def test_named_views_are_slices(rng):
    model = mixed()
    batch = Batch(model, N, 2)
    batch.qvel[:] = 0.1 * rng.standard_normal((N, model.nv))
    batch.step()
    data = mujoco.MjData(model)
    pairs = (
        ("joint", range(model.njnt)), ("body", range(model.nbody)), ("geom", range(model.ngeom)),
        ("sensor", range(model.nsensor)), ("actuator", range(model.nactuator))
    ) if hasattr(model, "nactuator") else (("body", range(model.nbody)),)  # fmt: skip
    for kind, keys in pairs:
        for key in keys:
            for attribute in ("qpos", "qvel", "xpos", "xmat", "data", "ctrl"):
                view = getattr(data, kind)(key)
                if not hasattr(view, attribute):
                    continue
                got = getattr(getattr(batch, kind)(key), attribute)
                assert got.shape == (N, *getattr(view, attribute).shape)
                for world in range(N):
                    batch.get_data(world, data)
                    if attribute in ("qpos", "qvel", "ctrl"):
                        np.testing.assert_array_equal(got[world], getattr(view, attribute))
    body = batch.body(1)
    other_batch, other = pickle.loads(pickle.dumps((batch, body)))
    other_batch.body(1).mass = 3.0
    assert (other.mass == 3.0).all()
    assert (body.mass != 3.0).all()
    assert (body.id, body.name) == (1, model.body(1).name)
    mass = body.mass
    np.testing.assert_array_equal(mass, np.full((N, 1), model.body_mass[1]))
    assert not mass.flags.writeable
    assert not batch.is_expanded("body_mass")
    body.mass = np.arange(1, N + 1)[:, None]
    np.testing.assert_array_equal(batch.expand("body_mass")[:, 1], np.arange(1, N + 1))
    batch.joint(0).qvel = 0.5
    assert (batch.qvel[:, model.jnt_dofadr[0]] == 0.5).all()
    with pytest.raises(ValueError, match="computed by every call"):
        body.xpos = 0
    with pytest.raises(ValueError, match="structural"):
        batch.joint(0).qposadr = 0
    with pytest.raises(AttributeError, match="read-only"):
        body.id = 0
    with pytest.raises(AttributeError, match="not a field of a body"):
        _ = body.qpso
    with pytest.raises(KeyError):
        batch.body("nope")


def test_jacobians_and_rays(rng):
    model = mixed()
    batch = Batch(model, N, 2)
    batch.qvel[:] = rng.standard_normal((N, model.nv))
    batch.step(nstep=5)
    point, body = rng.standard_normal((N, 3)), rng.integers(1, model.nbody, N)
    before = batch.get_state()
    jacp, jacr = batch.jac(body, point)
    pnt, vec = np.array([[0, 0, 3.0], [0.1, 0, 3.0]]), np.array([0, 0, -1.0])
    distance, geom = batch.ray(pnt, vec, bodyexclude=[-1, 1])
    np.testing.assert_array_equal(batch.state, before)
    found = np.zeros(1, np.int32)
    for world in range(N):
        data = batch.get_data(world)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        expected = np.zeros((2, 3, model.nv))
        mujoco.mj_jac(model, data, expected[0], expected[1], point[world], int(body[world]))
        np.testing.assert_array_equal(jacp[world], expected[0])
        np.testing.assert_array_equal(jacr[world], expected[1])
        for k, exclude in enumerate((-1, 1)):
            length = mujoco.mj_ray(model, data, pnt[k], vec, None, 1, exclude, found)
            assert (distance[world, k], geom[world, k]) == (length, found[0])
    some, _ = batch.jac(body[[1, 3]], point[[1, 3]], ids=[1, 3])
    np.testing.assert_array_equal(some, jacp[[1, 3]])
    assert batch.ray(pnt[0], vec)[0].shape == (N, 1)
    for call, message in (
        (lambda: batch.jac(model.nbody, np.zeros(3)), "body must be in"),
        (lambda: batch.jac(0.5, np.zeros(3)), "body must be integers"),
        (lambda: batch.jac(0, np.zeros(2)), "point has shape"),
        (lambda: batch.ray(np.zeros(3), vec, bodyexclude=2**32), "bodyexclude must be in"),
        (lambda: batch.ray(np.zeros(2), vec), "pnt has shape"),
        (lambda: batch.ray(np.zeros(3), vec, geomgroup=[1]), "geomgroup has shape"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_geom_that_grows_between_two_calls_is_met_in_the_next():
    model = mujoco.MjModel.from_xml_string("""
        <mujoco><worldbody><geom name="floor" type="sphere" size=".1"/>
        <body pos="0 0 1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>""")
    batch = Batch(model, 1, 1)
    radius = batch.expand("geom_size")[0]
    rbound = batch.expand("geom_rbound")[0]
    batch.step(nstep=5)
    radius[0, 0] = rbound[0] = 0.89
    start = batch.state.copy()
    batch.step(nstep=STEPS)
    own = copy.copy(model)
    own.geom_size[0, 0] = own.geom_rbound[0] = 0.89
    assert_worlds_are_of_their_models(batch, [own], start)


def test_rays_that_mujoco_would_end_the_process_for_are_refused():
    batch = Batch(mixed(), 2)
    for vec in ([0, 0, 0], [0, 0, 1e-16], [0, np.nan, 1], [0, np.inf, 1]):
        with pytest.raises(ValueError, match=r"vec = \[0.0, .*\] of ray 1: must be finite and at"):
            batch.ray([[0, 0, 3], [0, 0, 3]], [[0, 0, -1], vec])
    with pytest.raises(ValueError, match=r"pnt = \[nan, 0.0, 3.0\] of ray 0: must be finite"):
        batch.ray([np.nan, 0, 3], [0, 0, -1])
    with pytest.raises(TypeError, match="geomgroup must hold integers or booleans, not float64"):
        batch.ray([0, 0, 3], [0, 0, -1], geomgroup=np.ones(6))
    with pytest.raises(TypeError, match="flg_static = 1: must be True or False"):
        batch.ray([0, 0, 3], [0, 0, -1], flg_static=1)


def test_a_name_that_a_batch_lacks_is_no_attribute():
    batch = Batch(mixed(), 2)
    with pytest.raises(AttributeError, match="no attribute 'crtl'; did you mean 'ctrl'"):
        batch.crtl = 0.0
    with pytest.raises(AttributeError, match=r"use expand\('geom_friction'\)"):
        batch.geom_friction = 1.0
    with pytest.raises(AttributeError, match="has no setter"):
        batch.state = 0.0
    with pytest.raises(ValueError, match=r"^qvel: could not broadcast .* from shape"):
        batch.qvel = np.zeros((2, 99))
