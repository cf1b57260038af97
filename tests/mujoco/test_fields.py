"""Geoms with pressure fields in simulation: what is solved is what the surfaces say."""

import copy
import math

import mujoco
import numpy as np
import pytest

import sapwood
from mujoco_models import needs_surface_velocity
from sapwood.geometry import FieldShape, PressureField, contact_surface
from sapwood.mujoco import Stepper
from sapwood.reference import limit_depth

SOFT = PressureField(modulus=1e5, resolution=0.02)

SCENE = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1" friction=".6"/>
    <body name="arm" pos="-.2 0 .11">
      <joint axis="0 1 0" damping=".1"/>
      <geom name="link" type="capsule" fromto="0 0 0 .2 0 0" size=".02" friction=".3"/>
      <body pos=".2 0 0">
        <joint axis="0 1 0"/>
        <geom name="pad" type="ellipsoid" size=".04 .03 .02" friction=".9"/>
      </body>
    </body>
    <body name="block" pos="0 0 .045">
      <freejoint/>
      <geom name="block" type="box" size=".05 .06 .06" friction=".8"/>
      <geom name="peg" type="cylinder" size=".02 .04" pos="0 .1 0" friction=".5"/>
    </body>
    <body name="ball" pos=".08 .02 .05">
      <freejoint/><geom name="ball" type="sphere" size=".05" friction=".4"/>
    </body>
  </worldbody>
</mujoco>
"""


def scene(rng, xml=SCENE):
    """The model, and a state in which its bodies overlap a little."""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qpos[:] += rng.uniform(-0.01, 0.01, model.nq)
    mujoco.mj_normalizeQuat(model, data.qpos)
    data.qvel[:] = rng.normal(size=model.nv) * 0.1
    return model, data


def pose(data, geom):
    X = np.eye(4)
    X[:3, :3] = data.geom_xmat[geom].reshape(3, 3)
    X[:3, 3] = data.geom_xpos[geom]
    return X


def point_jacobian(model, data, geom, point):
    J = np.zeros((3, model.nv))
    mujoco.mj_jac(model, data, J, None, point, model.geom_bodyid[geom])
    return J


@pytest.mark.parametrize("friction", ["convex", "coulomb"])
def test_a_step_is_that_of_the_surfaces(rng, friction):
    """Against surfaces, Jacobians and masses found without the stepper, solved by sapwood.solve."""
    model, data = scene(rng)
    materials = {"pad": sapwood.ContactMaterial(dissipation_time=0.05)}
    stepper = Stepper(
        model,
        fields={"block": SOFT, "pad": SOFT},
        materials=materials,
        friction=friction,
        speculative=False,
        release_speed=math.inf,
        settings=sapwood.SapSettings(relative_tolerance=1e-12),
    )
    before = copy.copy(data)
    stepper.step(data)
    mujoco.mj_forward(stepper.model, before)

    geom = {name: model.geom(name).id for name in ("floor", "pad", "block", "ball", "link", "peg")}
    rigid = PressureField(math.inf, resolution=SOFT.resolution)
    shapes = {
        "floor": rigid.half_space(),
        "link": rigid.capsule(0.02, 0.2),
        "pad": SOFT.ellipsoid([0.04, 0.03, 0.02]),
        "block": SOFT.box([0.1, 0.12, 0.12]),
        "ball": rigid.sphere(0.05),
        "peg": rigid.cylinder(0.02, 0.08),
    }
    tau = dict.fromkeys(geom, model.opt.timestep) | {"pad": 0.05}
    mu = {name: model.geom_friction[i, 0] for name, i in geom.items()}
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, before, M)
    dt = model.opt.timestep
    A = M + dt * np.diag(model.dof_damping)
    v_0 = before.qvel
    v_star = v_0 + dt * np.linalg.solve(A, before.qfrc_smooth)

    rows, k, phi0, tau_d, friction_of = [], [], [], [], []
    pairs = [("floor", "block"), ("floor", "pad"), ("link", "block"), ("pad", "block"),
             ("pad", "peg"), ("pad", "ball"), ("block", "ball")]  # fmt: skip
    for a, b in pairs:
        surface = contact_surface(
            shapes[a], pose(before, geom[a]), shapes[b], pose(before, geom[b])
        )
        for f in np.flatnonzero(surface.kept):
            n, p = -surface.normals[f], surface.centroids[f]
            t = np.linalg.svd(n[None])[2][1:]
            J = point_jacobian(model, before, geom[b], p) - point_jacobian(
                model, before, geom[a], p
            )
            rows.append(np.vstack([t, n]) @ J)
            g_a, g_b = surface.g_a[f], surface.g_b[f]
            share = 0.0 if math.isinf(g_a) else 1.0 if math.isinf(g_b) else g_b / (g_a + g_b)
            k.append(surface.k[f])
            phi0.append(surface.phi0[f])
            tau_d.append(share * tau[a] + (1 - share) * tau[b])
            friction_of.append(max(mu[a], mu[b]))
    contacts = stepper.contacts
    patch_contacts = contacts.records["face"] >= 0
    assert np.count_nonzero(patch_contacts) == len(k) > 0
    assert len({tuple(pair) for pair in contacts.geoms[patch_contacts].tolist()}) > 1

    # the other contacts are MuJoCo's own, of rigid geoms
    others = contacts.records[~patch_contacts]
    for i, friction_there in zip(others["index"], others["friction"], strict=True):
        listed = before.contact[i]
        a, b = listed.geom
        J = point_jacobian(model, before, b, listed.pos) - point_jacobian(
            model, before, a, listed.pos
        )
        frame = listed.frame.reshape(3, 3)
        rows.append(frame[[1, 2, 0]] @ J)
        k.append(1e300)
        phi0.append(listed.dist)
        tau_d.append(dt)
        friction_of.append(friction_there)

    # the whole model as one tree
    problem = sapwood.ContactProblem(
        tree_nv=[model.nv],
        A=A.ravel(),
        v_star=v_star,
        tree_a=np.zeros(len(k), int),
        tree_b=np.full(len(k), -1),
        J=np.concatenate([J.ravel() for J in rows]),
        mu=friction_of,
        phi0=phi0,
        k=k,
        tau_d=tau_d,
        dt=dt,
    )
    settings = sapwood.SapSettings(relative_tolerance=1e-12, friction=friction)
    solution = sapwood.solve(problem, settings=settings)
    assert str(solution.status) == "converged"
    scale = np.abs(solution.v - v_0).max()
    np.testing.assert_allclose(data.qacc * dt, solution.v - v_0, atol=1e-6 * scale)
    total = data.qfrc_constraint * dt
    impulse = M @ (solution.v - v_0) - dt * (
        before.qfrc_smooth - model.dof_damping * (solution.v - v_0)
    )
    np.testing.assert_allclose(total, impulse, atol=1e-6 * np.abs(impulse).max())


@pytest.mark.parametrize("tau_d", [1e-4, 0.1])
def test_faces_promise_no_more_than_their_depth(rng, tau_d):
    """k and phi0 of the problem are those of the reference; the load of each face is its own."""
    model, data = scene(rng)
    limited = 0
    for speed in (0.01, 0.1, math.inf):
        stepper = Stepper(
            model,
            fields={"block": SOFT, "pad": SOFT},
            contact=sapwood.ContactMaterial(dissipation_time=tau_d),
            release_speed=speed,
        )
        # a face has the weighted mean of equal times, which round-off changes
        problem = stepper.problem(copy.copy(data))
        times = problem.tau_d
        np.testing.assert_allclose(times[problem.phi0 <= 0.0], tau_d, rtol=1e-15)
        stepper.step(copy.copy(data))
        records = stepper.contacts.records
        for patch in stepper.patches:
            surface, dt = patch.surface, model.opt.timestep
            here = np.isin(records["face"], patch.contacts.records["face"])
            k, phi0 = limit_depth(surface, times[here], dt, speed)
            np.testing.assert_array_equal(records["distance"][here], phi0)
            np.testing.assert_allclose(-k * phi0, surface.loads[surface.kept], rtol=1e-13)
            changed = phi0 != surface.phi0[surface.kept]
            assert math.isfinite(speed) or not np.any(changed)
            limited += np.count_nonzero(changed)
    assert limited > 0


def test_patches_tell_what_the_contacts_do(rng):
    model, data = scene(rng)
    stepper = Stepper(model, fields={"block": SOFT})
    assert stepper.patches == ()
    for _ in range(3):
        stepper.step(data)
    patches = stepper.patches
    assert ("floor", "block") in [patch.names for patch in patches]
    assert sum(len(patch.contacts) for patch in patches) == np.count_nonzero(
        stepper.contacts.records["face"] >= 0
    )
    for patch in patches:
        assert patch.geoms == tuple(model.geom(name).id for name in patch.names)
        assert np.array_equal(patch.faces, np.flatnonzero(patch.surface.kept))
        np.testing.assert_allclose(
            patch.contacts.position, patch.surface.centroids[patch.faces], rtol=1e-14
        )
        np.testing.assert_allclose(
            patch.contacts.frame[:, 2], -patch.surface.normals[patch.faces], rtol=1e-14
        )
        assert np.array_equal(np.isnan(patch.slip_speed), ~patch.surface.kept)
        arms = patch.contacts.position - data.geom_xpos[patch.geoms[1]]
        by_hand = np.cross(arms, patch.contacts.world_force).sum(axis=0)
        moved = patch.torque + np.cross(patch.centre - data.geom_xpos[patch.geoms[1]], patch.force)
        np.testing.assert_allclose(by_hand, moved, atol=1e-12)
        assert repr(patch).startswith(f"StepPatch({patch.names[0]} - {patch.names[1]}")


def test_what_mujoco_lists_is_of_other_geoms(rng):
    """No contact of a compliant geom is in MuJoCo's list, and no row of its efc_force."""
    model, data = scene(rng)
    stepper = Stepper(model, fields={"block": SOFT, "ball": SOFT})
    soft = [model.geom("block").id, model.geom("ball").id]
    for _ in range(30):
        stepper.step(data)
        assert not np.isin(data.contact.geom, soft).any()
        listed = stepper.contacts.index >= 0
        assert np.count_nonzero(listed) <= data.ncon
        of_patch = stepper.contacts.records["face"] >= 0
        assert not listed[of_patch].any()
        assert np.isin(stepper.contacts.geoms[of_patch], soft).any(axis=1).all()


def pairs_of(stepper):
    model, fields = stepper.model, stepper.parameters.fields
    return {} if fields is None else {
        frozenset(model.geom(g).name for g in pair): dim
        for pair, dim in zip(fields.geoms.tolist(), fields.condim.tolist(), strict=True)
    }  # fmt: skip


RULES = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1" group="1"/>
    <body name="a"><freejoint/>
      <geom name="a" size=".1"/><geom name="twin" size=".1"/>
      <body name="child" pos="0 0 .1"><joint/><geom name="child" size=".1"/></body>
    </body>
    <body name="b"><freejoint/><geom name="b" size=".1" condim="1"/></body>
    <body name="c"><freejoint/><geom name="c" size=".1" contype="2" conaffinity="2"/></body>
    <body name="d"><freejoint/><geom name="d" size=".1"/></body>
    <body name="e"><freejoint/><geom name="e" size=".1" condim="1" priority="1" group="4"/></body>
  </worldbody>
  <contact>
    <exclude body1="a" body2="d"/>
    <pair geom1="a" geom2="c" condim="1"/>
  </contact>
</mujoco>
"""


def test_pairs_are_those_that_mujoco_would_collide():
    model = mujoco.MjModel.from_xml_string(RULES)
    stepper = Stepper(model, fields={"a": PressureField(1e5, resolution=0.05)})
    assert pairs_of(stepper) == {
        frozenset(("floor", "a")): 3,
        frozenset(("a", "b")): 3,
        frozenset(("a", "c")): 1,
        frozenset(("a", "e")): 1,
    }
    # and MuJoCo finds none that acts, of the explicit pair neither
    data, a = mujoco.MjData(model), model.geom("a").id
    for used, expected in ((model, True), (stepper.model, False)):
        mujoco.mj_forward(used, data)
        acts = data.contact.geom[data.contact.exclude == 0]
        assert len(acts) > 0
        assert np.any(acts == a) == expected
    assert model.geom_contype[a] == 1
    assert model.pair_margin[0] == 0


def test_fields_by_group_and_by_name():
    model = mujoco.MjModel.from_xml_string(RULES)
    coarse, fine = PressureField(1e5, resolution=0.05), PressureField(2e5, resolution=0.02)
    stepper = Stepper(model, fields={0: coarse, "b": fine})
    shapes = stepper.parameters.fields.shapes
    of = {name: shapes[model.geom(name).id] for name in ("a", "b", "e", "floor")}
    assert len(of["b"].vertices) > len(of["a"].vertices)
    assert of["b"].pressure.max() == 2 * of["a"].pressure.max() == 2e5
    assert of["e"].rigid
    assert of["e"].vertices.shape[0] == len(of["b"].vertices) - 1
    assert of["floor"].rigid


def test_alike_geoms_share_one_shape():
    model = mujoco.MjModel.from_xml_string(RULES)
    shapes = Stepper(model, fields={0: SOFT}).parameters.fields.shapes
    assert shapes[model.geom("a").id] is shapes[model.geom("b").id]


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ([SOFT], TypeError, "fields must be a mapping, not list"),
        (
            {"a": 3.0},
            TypeError,
            r"fields\['a'\] must be a PressureField or a FieldShape, not float",
        ),
        ({"nobody": SOFT}, ValueError, "fields: 'nobody': the model has no geom of this name"),
        ({5: SOFT}, ValueError, "fields: 5: the model has no geom in this group"),
        ({1.5: SOFT}, TypeError, "fields: 1.5 must be the name of a geom or the number of a group"),
        ({"floor": PressureField(1e5)}, ValueError, "geom 'floor': thickness"),
        (
            {"floor": PressureField(1e5, thickness=0.1), "b": SOFT},
            ValueError,
            "fields: geom 'floor', geom 'b': a compliant half space meets rigid meshes alone",
        ),
    ],
)
def test_wrong_fields_are_named(fields, error, text):
    model = mujoco.MjModel.from_xml_string(RULES)
    with pytest.raises(error, match=text):
        Stepper(model, fields=fields)


@needs_surface_velocity
def test_patches_with_a_surface_that_moves_are_refused():
    xml = RULES.replace('name="b" size=".1"', 'name="b" size=".1" surfacevel="1 0 0 0 0 0"')
    model = mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(ValueError, match="geom 'b' has a surface that moves"):
        Stepper(model, fields={"a": SOFT})


def test_schemes_without_patches_are_refused():
    model = mujoco.MjModel.from_xml_string(RULES)
    with pytest.raises(ValueError, match="fields: scheme midpoint knows none"):
        Stepper(model, fields={"a": SOFT}, scheme="midpoint")


def test_rigid_fields_keep_the_points_of_mujoco(rng):
    """Two rigid shapes have no surface."""
    model, data = scene(rng)
    stepper = Stepper(model, fields={"block": PressureField(math.inf)})
    plain, other = Stepper(model), copy.copy(data)
    assert stepper.parameters.fields is None
    stepper.step(data)
    plain.step(other)
    assert np.array_equal(data.qvel, other.qvel)
    assert stepper.patches == ()


def test_a_shape_of_ones_own(rng):
    """The same shape as a PressureField makes gives the same bits."""
    model, data = scene(rng)
    other = copy.copy(data)
    Stepper(model, fields={"block": SOFT}).step(data)
    own = SOFT.box([0.1, 0.12, 0.12])
    # shapes that meet it have no field of their own: rigid shapes are given too
    rigid = PressureField(math.inf, resolution=SOFT.resolution)
    fields = {"block": own, "link": rigid, "pad": rigid, "ball": rigid}
    Stepper(model, fields=fields).step(other)
    assert np.array_equal(data.qvel, other.qvel)


def test_mesh_geoms_are_their_hulls():
    corners = " ".join(f"{x} {y} {z}" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1))
    xml = f"""
    <mujoco>
      <asset><mesh name="cube" vertex="{corners}" scale=".05 .06 .06"/></asset>
      <worldbody>
        <geom name="floor" type="plane" size="1 1 .1"/>
        <body pos="0 0 .059"><freejoint/><geom name="cube" type="mesh" mesh="cube"/></body>
      </worldbody>
    </mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    shape = Stepper(model, fields={"cube": SOFT}).parameters.fields.shapes[1]
    assert len(shape.cells) == 12
    assert len(shape.vertices) == 9
    data = mujoco.MjData(model)
    stepper = Stepper(model, fields={"cube": SOFT})
    stepper.run(data, 500)
    (patch,) = stepper.patches
    weight = model.body_mass[1] * 9.81
    np.testing.assert_allclose(patch.force, [0, 0, weight], atol=1e-2 * weight)


def test_flags_that_switch_contact_off(rng):
    model, data = scene(rng)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    stepper = Stepper(model, fields={"block": SOFT})
    stepper.step(data)
    assert stepper.patches == ()
    assert len(stepper.contacts) == 0


def test_field_shapes_of_heightfields_and_the_like_must_be_given():
    xml = """
    <mujoco>
      <asset><hfield name="hills" nrow="3" ncol="3" size="1 1 .1 .1"/></asset>
      <worldbody>
        <geom name="hills" type="hfield" hfield="hills"/>
        <body pos="0 0 .5"><freejoint/><geom name="ball" size=".1"/></body>
      </worldbody>
    </mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(ValueError, match="geom 'hills': a geom of type hfield has no shape"):
        Stepper(model, fields={"ball": SOFT})
    square = [[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]
    flat = FieldShape.triangles(square, [[0, 1, 2], [0, 2, 3]])
    stepper = Stepper(model, fields={"ball": SOFT, "hills": flat})
    data = mujoco.MjData(model)
    stepper.run(data, 1000)
    assert 0.08 < data.qpos[2] < 0.1


@pytest.mark.parametrize("name", ["geom_size", "geom_contype", "geom_condim"])
def test_what_shapes_and_pairs_follow_from_cannot_change(rng, name):
    model, data = scene(rng)
    stepper = Stepper(model, fields={"block": SOFT})
    stepper.step(data)
    getattr(model, name)[model.geom("ball").id] *= 2
    with pytest.raises(ValueError, match=f"model.{name} has changed"):
        stepper.step(data)
    # friction may
    model, data = scene(rng)
    stepper = Stepper(model, fields={"block": SOFT})
    stepper.step(data)
    model.geom_friction[:, 0] = 0
    stepper.step(data)
    assert stepper.patches
    assert np.all(stepper.contacts.friction == 0)
