"""Contact materials: where they come from and how two of them combine."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

mujoco = pytest.importorskip("mujoco")

from sapwood.mujoco import ContactMaterial, Stepper

STIFFNESS = st.floats(1e-3, 1e12)


def problem_of(*arguments, geoms=("", ""), extra="", **keywords):
    """Problem of one contact between two spheres, the model's friction 0.6 and 0.3."""
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody>
        <geom name="a" size=".1" friction=".6" {geoms[0]}/>
        <body pos="0 0 .19"><freejoint/><geom name="b" size=".1" friction=".3" {geoms[1]}/></body>
        </worldbody>{extra}</mujoco>"""
    )
    stepper = Stepper(model, *arguments, **keywords)
    problem = stepper.problem(mujoco.MjData(model))
    assert problem.n_contacts == 1
    return problem


def pair(first, second):
    """k, tau_d, mu of the contact of geoms with these materials."""
    problem = problem_of(materials={"a": first, "b": second})
    return problem.k[0], problem.tau_d[0], problem.mu[0]


# ---- combination --------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    k=st.tuples(STIFFNESS, STIFFNESS),
    tau=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    mu=st.tuples(st.floats(0, 3), st.floats(0, 3)),
)
def test_two_materials_in_series(k, tau, mu):
    first, second = (ContactMaterial(*values) for values in zip(k, tau, mu, strict=True))
    stiffness, time, friction = pair(first, second)
    # the softer side deforms more: a common force f stretches the springs by f/k1 and f/k2
    assert 1 / stiffness == pytest.approx(1 / k[0] + 1 / k[1], rel=1e-12)
    expected = (tau[0] / k[0] + tau[1] / k[1]) / (1 / k[0] + 1 / k[1])
    assert time == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert friction == pytest.approx(
        2 * mu[0] * mu[1] / (mu[0] + mu[1]) if sum(mu) else 0.0, rel=1e-12
    )
    assert pair(second, first) == pytest.approx((stiffness, time, friction), rel=1e-14)


@settings(max_examples=25)
@given(k=STIFFNESS, tau=st.floats(0, 1))
def test_a_rigid_side_leaves_compliance_to_the_other(k, tau):
    rigid, soft = ContactMaterial(math.inf, 0.5), ContactMaterial(k, tau)
    for sides in ((rigid, soft), (soft, rigid)):
        stiffness, time, _ = pair(*sides)
        assert stiffness == pytest.approx(k, rel=1e-15)
        assert time == tau


def test_two_rigid_geoms_are_near_rigid():
    problem = problem_of(contact=ContactMaterial(), beta=0.5, release_speed=math.inf)
    assert problem.k[0] == np.inf
    # W of a sphere at a lever of 95 mm: 1/m along n, 1/m + 0.095^2/(2/5 m r^2) along t1 and t2
    mass = 4 / 3 * math.pi * 0.1**3 * 1000
    w = math.sqrt(1 + 2 * (1 + 0.95**2 / 0.4) ** 2) / 3 / mass
    assert problem.R_n[0] == pytest.approx(0.5**2 / (4 * math.pi**2) * w, rel=1e-12)
    assert pair(ContactMaterial(math.inf, 0.2), ContactMaterial(math.inf, 0.6))[1] == 0.4


def test_friction_comes_from_the_model_unless_given():
    """MuJoCo's rule where no material has a friction: the larger one, or that of priority."""
    assert problem_of().mu[0] == 0.6
    assert problem_of(contact=ContactMaterial(stiffness=1e5)).mu[0] == 0.6
    assert problem_of(geoms=("", "priority='1'")).mu[0] == 0.3
    assert problem_of(geoms=("priority='2'", "priority='1'")).mu[0] == 0.6
    assert problem_of(contact=ContactMaterial(friction=0.4)).mu[0] == pytest.approx(0.4)
    # MuJoCo puts 1e-5 in the place of 0
    slippery = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><geom size=".1" friction="0"/>
        <body pos="0 0 .19"><freejoint/><geom size=".1" friction="0"/></body></worldbody>
        </mujoco>"""
    )
    assert Stepper(slippery).problem(mujoco.MjData(slippery)).mu[0] == 0.0
    # condim 1 has none
    assert problem_of(geoms=("condim='1'", "condim='1'")).mu[0] == 0.0
    assert problem_of(geoms=("condim='1'", "condim='3'")).mu[0] > 0.0


@pytest.mark.parametrize("geoms", [("", ""), ("", "priority='1'")])
def test_one_given_friction_meets_that_of_the_other_geom(geoms):
    for name, other in (("a", 0.3), ("b", 0.6)):
        problem = problem_of(materials={name: ContactMaterial(friction=0.2)}, geoms=geoms)
        assert problem.mu[0] == pytest.approx(2 * 0.2 * other / (0.2 + other), rel=1e-14)
    assert problem_of(materials={"a": ContactMaterial(friction=0.0)}, geoms=geoms).mu[0] == 0.0


def test_explicit_pairs_bring_their_own_friction():
    extra = "<contact><pair geom1='b' geom2='a' friction='.77 .77 0 0 0'/></contact>"
    problem = problem_of(extra=extra, contact=ContactMaterial(stiffness=4e5, friction=0.1))
    assert problem.mu[0] == 0.77
    assert problem.k[0] == pytest.approx(2e5)
    assert problem_of(extra=extra.replace("/>", " condim='1'/>")).mu[0] == 0.0


def test_dissipation_time_is_the_time_step_unless_given():
    assert problem_of(time_step=0.003).tau_d[0] == 0.003
    assert problem_of(contact=ContactMaterial(dissipation_time=0.0)).tau_d[0] == 0.0


# ---- sources ------------------------------------------------------------------------------------


def numeric(name, data):
    return f"<numeric name='{name}' data='{data}'/>"


def test_the_more_special_source_wins():
    """Names before groups before defaults; arguments before the model's own numbers."""
    custom = {
        "sapwood/default": "1e3",
        "sapwood/group/2": "2e3 .02",
        "sapwood/geom/a": "3e3 .03 .33",
    }
    geoms = ("group='2'", "group='2'")

    def materials_of(entries, **keywords):
        extra = f"<custom>{''.join(numeric(*entry) for entry in entries.items())}</custom>"
        rigid = ContactMaterial(math.inf, 0.0)
        keywords["materials"] = {"b": rigid, **keywords.get("materials", {})}
        problem = problem_of(geoms=geoms, extra=extra, **keywords)
        return problem.k[0]

    names = list(custom)
    assert materials_of({}) == np.inf
    assert materials_of({n: custom[n] for n in names[:1]}) == pytest.approx(1e3)
    assert materials_of({n: custom[n] for n in names[:2]}) == pytest.approx(2e3)
    assert materials_of(custom) == pytest.approx(3e3)
    default = {names[0]: custom[names[0]]}
    assert materials_of(default, contact=ContactMaterial(5e3)) == pytest.approx(5e3)
    assert materials_of(custom, contact=ContactMaterial(5e3)) == pytest.approx(3e3)
    group = {2: ContactMaterial(6e3)}
    assert materials_of(custom, materials=group) == pytest.approx(6e3)
    both = {**group, "a": ContactMaterial(7e3)}
    assert materials_of(custom, materials=both) == pytest.approx(7e3)


def test_custom_numbers_of_an_attached_model_keep_their_geoms():
    part = mujoco.MjSpec.from_string(
        f"""<mujoco><custom>{numeric("sapwood/geom/foot", "1e4 .05 .9")}</custom>
        <worldbody><body name="leg"><freejoint/><geom name="foot" size=".1"/></body></worldbody>
        </mujoco>"""
    )
    whole = mujoco.MjSpec()
    whole.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])
    frame = whole.worldbody.add_frame(pos=[0, 0, 0.09])
    frame.attach_body(part.body("leg"), "left/", "")
    if whole.numeric("left/sapwood/geom/foot") is None:
        # MuJoCo brings custom numbers along when a whole model is attached only
        whole = mujoco.MjSpec()
        whole.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])
        whole.attach(part, prefix="left/", frame=whole.worldbody.add_frame(pos=[0, 0, 0.09]))
    model = whole.compile()
    problem = Stepper(model).problem(mujoco.MjData(model))
    assert problem.k[0] == pytest.approx(1e4)
    assert problem.tau_d[0] == 0.05
    assert problem.mu[0] == pytest.approx(2 * 0.9 / 1.9)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("sapwood/geom/nobody", "1", "there is no geom 'nobody'"),
        (
            "sapwood/body/a",
            "1",
            "must be sapwood/default, sapwood/group/NUMBER or sapwood/geom/NAME",
        ),
        ("sapwood/group/x", "1", "must be sapwood/default"),
        ("sapwood/default", "-1", "stiffness = -1: must be > 0; inf is rigid"),
        ("sapwood/default", "1 -2", "dissipation_time = -2: must be finite and >= 0"),
        ("sapwood/default", "1 1 1 0 1 1", "has 6 values"),
    ],
)
def test_wrong_custom_numbers_are_refused_by_name(name, data, message):
    with pytest.raises(ValueError, match=rf"^numeric '{name}'.*{message}"):
        problem_of(extra=f"<custom>{numeric(name, data)}</custom>")


def test_other_custom_numbers_are_left_alone():
    problem_of(extra=f"<custom>{numeric('gains', '-1 2 3 4 5')}</custom>")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"stiffness": 0.0}, ValueError, "stiffness = 0: must be > 0; inf is rigid"),
        ({"stiffness": math.nan}, ValueError, "stiffness"),
        ({"stiffness": "hard"}, TypeError, "stiffness"),
        (
            {"dissipation_time": -1e-3},
            ValueError,
            "dissipation_time = -0.001: must be finite and >= 0",
        ),
        ({"dissipation_time": math.inf}, ValueError, "dissipation_time"),
        ({"friction": -1}, ValueError, "friction = -1: must be finite and >= 0"),
        ({"friction": 1j}, TypeError, "friction"),
    ],
)
def test_wrong_materials_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        ContactMaterial(**arguments)


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"materials": {"c": ContactMaterial()}}, ValueError, "'c'.*no geom of this name"),
        ({"materials": {7: ContactMaterial()}}, ValueError, "7.*no geom in this group"),
        ({"materials": {1.5: ContactMaterial()}}, TypeError, "geom names or group numbers"),
        ({"materials": {"a": 1e5}}, TypeError, "'a'.*must be a ContactMaterial, not float"),
        ({"contact": 1e5}, TypeError, "contact must be a ContactMaterial, not float"),
    ],
)
def test_wrong_assignments_are_refused(keywords, error, message):
    with pytest.raises(error, match=message):
        problem_of(**keywords)
