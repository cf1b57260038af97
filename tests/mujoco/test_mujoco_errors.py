"""Refusals of a stepper: by name, with a remedy."""

from __future__ import annotations

import pickle
import re
import runpy
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import mixed, needs_surface_velocity, urdf_on_floor
from sapwood import RigidCore
from sapwood.mujoco import ContactMaterial, NotSupported, Rollout, Stepper
from sapwood.mujoco.reading import versions
from sapwood.mujoco.reading.versions import OLDEST, TOO_NEW, check_version, warn_if_untested
from sapwood.studies import scenes


def model_of(body="", *, option="", after="", geom=""):
    """An arm with a ball at its end above a floor."""
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option {option}/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
        <body name="arm" pos="0 0 .5"><joint name="pivot" axis="0 1 0"/>
          <geom name="rod" type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
          <site name="mid"/>
          <body name="end" pos=".3 0 0"><joint name="wrist" axis="0 1 0" {body}/>
            <geom name="ball" size=".05" {geom}/><site name="tip"/></body></body>
        </worldbody>{after}</mujoco>"""
    )


TENDON = "<tendon><fixed name='cord' {}><joint joint='wrist' coef='1'/></fixed></tendon>"
LEFT_OUT = {
    "joint limit": (lambda: model_of("limited='true' range='-1 1'"), "limit.*joint 'wrist'"),
    "tendon limit": (
        lambda: model_of(after=TENDON.format("limited='true' range='-1 1'")),
        "limit.*tendon 'cord'",
    ),
    "joint friction": (lambda: model_of("frictionloss='.1'"), "frictionloss.*joint 'wrist'"),
    "tendon friction": (
        lambda: model_of(after=TENDON.format("frictionloss='.1'")),
        "frictionloss.*tendon 'cord'",
    ),
    "equality": (
        lambda: model_of(
            after="<equality><connect name='pin' body1='end' anchor='0 0 0'/></equality>"
        ),
        "equality.*equality 'pin'",
    ),
    "urdf limit": (lambda: urdf_on_floor("revolute"), "limit.*joint 'shoulder'"),
    "urdf friction": (lambda: urdf_on_floor(friction=0.5), "frictionloss.*joint 'shoulder'"),
}  # fmt: skip


CLOTH = """<mujoco><worldbody><body name="cloth" pos="0 0 1">
  <flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" radius=".01" dim="2">
  {}<edge equality="{}"/></flexcomp></body></worldbody></mujoco>"""


REFUSED = {
    "torsion of a belt that turns": (
        lambda: model_of(geom="condim='4' surfacevel='0 0 0 0 0 1'"),
        "geom 'ball': condim 4, .* goes with no .*: geom 'ball' has a surface that turns",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_unsupported_elements_are_refused_by_name(kind):
    make, message = REFUSED[kind]
    with pytest.raises(NotSupported, match=message):
        Stepper(make())


@needs_surface_velocity
def test_all_reasons_are_told_at_once():
    model = model_of(geom="condim='4' surfacevel='0 0 0 0 0 1'")
    with pytest.raises(NotSupported) as caught:
        with_core(model)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        core, turns = error.reasons
        assert "condim 4" in core
        assert "has a rigid core" in core
        assert "has a surface that turns" in turns
        assert str(error) == f"2 reasons:\n- {core}\n- {turns}"
    # and what they name lets it run
    model.geom_condim[:] = 3
    with_core(model).run(mujoco.MjData(model), 5)


def test_reasons_of_every_kind_are_told_at_once(monkeypatch):
    """Where MuJoCo tells contacts of no surface velocity, that and torsional friction."""
    monkeypatch.setattr(mujoco, "MjContact", object)
    with pytest.raises(NotSupported) as caught:
        Stepper(model_of(geom="condim='4' surfacevel='0 0 0 0 0 1'"))
    moves, turns = caught.value.reasons
    assert moves.startswith("surfacevel: geom 'ball'; ")
    assert "geom 'ball' has a surface that turns" in turns


@pytest.mark.parametrize("flag", ["override", "sleep", "speculative", "ipc"])
def test_flags_of_mujocos_own_contact_are_cleared(flag):
    model, plain = model_of(), model_of()
    bit = getattr(mujoco.mjtEnableBit, f"mjENBL_{flag.upper()}", None)
    if bit is None:
        pytest.skip(f"MuJoCo {mujoco.__version__} has no flag {flag}")
    model.opt.enableflags |= int(bit)
    data = mujoco.MjData(model)  # made with the flag set
    with pytest.warns(UserWarning, match=f"option flag {flag} is cleared: ") as warned:
        stepper = Stepper(model)
    assert warned[0].filename == __file__
    assert model.opt.enableflags == int(bit)
    reference = mujoco.MjData(plain)
    stepper.run(data, 200)
    Stepper(plain).run(reference, 200)
    np.testing.assert_array_equal(data.qpos, reference.qpos)
    # set later, on the copy that is simulated: as at first, and that was said
    stepper.model.opt.enableflags |= int(bit)
    for call in (stepper.step, stepper.step1, stepper.problem):
        call(data)
        assert stepper.model.opt.enableflags == 0
    assert stepper.steps == 201


def test_flags_of_mujocos_own_contact_are_refused_within_a_run():
    """Where a callback of MuJoCo sets one between two steps."""
    stepper, bit = Stepper(model_of()), int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
    data = mujoco.MjData(stepper.model)

    def control(model, data):
        if data.time > 0.01:
            model.opt.enableflags |= bit

    mujoco.set_mjcb_control(control)
    try:
        with pytest.raises(NotSupported, match=r"option flag override: .*; clear it"):
            stepper.run(data, 20)
    finally:
        mujoco.set_mjcb_control(None)
    assert 0 < stepper.steps < 20


def test_pairs_have_the_geometric_mean_of_their_frictions():
    """A box on a tilted plane: held or not by the mean, in either direction."""
    xml = """<mujoco><option gravity="{} {} -9.81"/><worldbody>
      <geom name="floor" type="plane" size="5 5 1"/>
      <body pos="0 0 .1"><freejoint/><geom name="box" type="box" size=".2 .2 .1"/></body>
      </worldbody><contact><pair name="slide" geom1="floor" geom2="box" friction=".9 .4 0 0 0"/>
      </contact></mujoco>"""
    for along in ((1, 0), (0, 1)):
        for slope, slides in ((0.58, False), (0.62, True)):
            model = mujoco.MjModel.from_xml_string(xml.format(*(9.81 * slope * x for x in along)))
            with pytest.warns(UserWarning, match="geometric mean in both: pair 'slide'"):
                stepper = Stepper(model)
            data = mujoco.MjData(model)
            stepper.run(data, 200)
            assert (np.linalg.norm(data.qvel[:2]) > 0.05) == slides
    model.pair_friction[0, :2] = 0.6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Stepper(model)


def sticky(adhesion):
    """A ball below a ceiling that it weighs 9.81 N on."""
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><geom type="box" size="1 1 .1" pos="0 0 2"/>
        <body pos="0 0 1.8"><freejoint/>
          <geom name="ball" type="sphere" size=".1" mass="1" adhesion="{adhesion}"/></body>
        </worldbody></mujoco>"""
    )


def test_adhesion_holds_up_to_its_force():
    try:
        model = sticky(0)
    except ValueError:
        pytest.skip(f"MuJoCo {mujoco.__version__} has no adhesion")
    for force, holds in ((9.5, False), (10.5, True)):
        model = sticky(force)
        stepper, data = Stepper(model), mujoco.MjData(model)
        stepper.run(data, 300)
        assert (data.qpos[2] > 1.799) == holds
        if holds:
            # the pressing force is the adhesion without the weight
            np.testing.assert_allclose(data.efc_force.sum(), force - 9.81, rtol=1e-3)
    with pytest.raises(NotSupported, match="scheme midpoint cannot take adhesion of geom 'ball'; "):
        Stepper(model, scheme="midpoint")


def test_adhesion_actuators_pull_at_their_body():
    xml = """<mujoco><worldbody><geom type="box" size="1 1 .1" pos="0 0 2"/>
      <body name="ball" pos="0 0 1.8"><freejoint/><geom type="sphere" size=".1" mass="1"/></body>
      </worldbody><actuator><adhesion body="ball" ctrlrange="0 1" gain="20"/></actuator></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.ctrl[0] = 1.0
    stepper.run(data, 300)
    assert data.qpos[2] > 1.799
    np.testing.assert_allclose(data.efc_force.sum(), 20 - 9.81, rtol=1e-3)
    data.ctrl[0] = 0.0
    stepper.run(data, 100)
    assert data.qpos[2] < 1.7


def test_flexes_without_contacts_are_told_of_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log file
    colliding = mujoco.MjModel.from_xml_string(CLOTH.format("", "false"))
    with pytest.warns(UserWarning, match="contacts of flexes are left out: flex 'cloth'"):
        Stepper(colliding, ignore=["flex"])
    assert colliding.flex_contype[0] == 1
    apart = CLOTH.format("<contact contype='0' conaffinity='0' selfcollide='none'/>", "false")
    for model in (mujoco.MjModel.from_xml_string(apart), colliding):
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT) * (model is colliding)
        stepper, data = Stepper(model), mujoco.MjData(model)
        stepper.run(data, 5)
        assert np.isfinite(data.qpos).all()


def test_flexes_whose_contacts_are_switched_on_later_have_some(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    apart = CLOTH.format("<contact contype='0' conaffinity='0' selfcollide='none'/>", "false")
    apart = apart.replace(
        "<worldbody>", "<worldbody><geom type='plane' pos='0 0 .995' size='1 1 1'/>"
    )
    stepper = Stepper(mujoco.MjModel.from_xml_string(apart))
    data = mujoco.MjData(stepper.model)
    stepper.model.flex_contype[:] = stepper.model.flex_conaffinity[:] = 1
    stepper.run(data, 100)
    assert data.ncon
    assert data.flexvert_xpos[:, 2].min() > 0.99


def with_core(model):
    return Stepper(model, contact=ContactMaterial(1e5, core=RigidCore(0.01)))


@pytest.mark.parametrize(
    ("label", "elements"),
    [
        ("geom 'ball': condim 4", {"geom": "condim='4'"}),
        ("geom 'ball': condim 6", {"geom": "condim='6'"}),
        (
            "pair 'touch': condim 6",
            {
                "after": "<contact><pair name='touch' geom1='floor' geom2='ball' condim='6'/>"
                "</contact>"
            },
        ),
    ],
)
def test_rigid_cores_have_no_torsional_friction(label, elements):
    Stepper(model_of(**elements))
    message = f"{label}, torsional and rolling friction.*: geom '(floor|ball)' has a rigid core"
    with pytest.raises(NotSupported, match=message):
        with_core(model_of(**elements))


def test_condim_that_cannot_come_up_is_allowed():
    """Without collisions, or where a pair or a neighbour's priority sets the condim."""
    with_core(model_of(geom="condim='6' contype='0' conaffinity='0'"))
    model = model_of(geom="condim='6'")
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    with_core(model)
    with_core(
        model_of(
            geom="condim='6'",
            after="<contact><pair geom1='floor' geom2='ball' condim='3'/></contact>",
        )
    )
    # the floor alone can touch the ball, and decides by its priority
    xml = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1" priority="1"/>
      <body pos="0 0 .09"><freejoint/><geom name="ball" size=".1" condim="6"/></body>
      </worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    stepper, data = with_core(model), mujoco.MjData(model)
    stepper.step(data)
    assert stepper.n_contacts == 1


@pytest.mark.parametrize("option", ["timestep", "integrator", "cone", "disableflags"])
def test_options_that_belong_to_the_stepper_stay(option):
    model = scenes.sphere_on_floor(-0.001).compile()
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.step(data)
    setattr(stepper.model.opt, option, 1 if option == "integrator" else 0)
    for call in (stepper.step, stepper.problem):
        with pytest.raises(ValueError, match=r"stepper\.model\.opt: .* belong to the stepper"):
            call(data)


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_constraints_may_be_left_out_with_a_warning(kind):
    make, message = LEFT_OUT[kind]
    word = message.split(".")[0]
    model = make()
    with pytest.warns(UserWarning, match=message) as record:
        stepper = Stepper(model, ignore=[word])
    assert record[0].filename == __file__
    data = mujoco.MjData(model)
    data.qpos[:] = 2.0  # outside every range
    for _ in range(3):
        stepper.step(data)
    assert (data.ne, data.nf, data.nl) == (0, 0, 0)
    assert stepper.constraints == ()


def test_nothing_to_ignore_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Stepper(model_of(), ignore={"limit", "equality", "frictionloss"})
        # the model itself has its limits disabled
        model = model_of("limited='true' range='-1 1'")
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
        Stepper(model)


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"ignore": "limit"}, TypeError, "ignore must be a collection of str, not str"),
        ({"ignore": ["limits"]}, ValueError, "ignore: 'limits' must be one of limit, equality"),
        ({"time_step": 0.0}, ValueError, "time_step = 0: must be finite and > 0"),
        ({"time_step": "1"}, TypeError, "time_step"),
        ({"sigma": 0.0}, ValueError, "sigma = 0: must be finite and > 0"),
        ({"sigma": float("nan")}, ValueError, "sigma"),
        ({"beta": -1.0}, ValueError, "beta = -1: must be finite and >= 0"),
        ({"delassus": "exact"}, ValueError, "delassus = 'exact': must be one of block, diagonal"),
        ({"settings": {}}, TypeError, "settings must be a SapSettings, not dict"),
        ({"materials": [1]}, TypeError, "materials must be a mapping, not list"),
        ({"materials": 5}, TypeError, "materials must be a mapping, not int"),
    ],
)
def test_wrong_arguments_are_refused(keywords, error, message):
    with pytest.raises(error, match=message):
        Stepper(model_of(), **keywords)


def test_wrong_objects_are_refused():
    with pytest.raises(TypeError, match=r"model must be a mujoco\.MjModel, not str"):
        Stepper("robot.xml")
    stepper = Stepper(model_of())
    for call in (stepper.step, stepper.problem, lambda data: stepper.run(data, 1)):
        with pytest.raises(TypeError, match=r"data must be a mujoco\.MjData, not NoneType"):
            call(None)
        with pytest.raises(ValueError, match="data belongs to another model"):
            call(mujoco.MjData(mixed()))


@pytest.mark.parametrize("version", ["2.3.7", "3.1.0", "3.11.5", "5.0.0", "10.1.0"])
def test_versions_outside_the_tested_range_are_refused(version):
    with pytest.raises(ImportError, match=rf"found {version}: pip install 'mujoco>=3.12,<5.0'"):
        check_version(version)


def test_the_extra_asks_for_the_versions_that_are_accepted():
    pyproject = Path(__file__).resolve().parents[2] / "pyproject.toml"
    extras = tomllib.loads(pyproject.read_text())["project"]["optional-dependencies"]
    (requirement,) = extras["mujoco"]
    oldest, too_new = re.fullmatch(r"mujoco>=([\d.]+),<([\d.]+)", requirement).groups()
    # a missing minor version is 0
    bounds = [
        tuple(int(part) for part in f"{bound}.0".split(".")[:2]) for bound in (oldest, too_new)
    ]
    assert bounds == [OLDEST, TOO_NEW]


def test_a_version_that_was_not_tested_is_told_of(monkeypatch):
    warn_if_untested()
    monkeypatch.setattr(mujoco, "mj_version", lambda: 4_009_000)
    monkeypatch.setattr(mujoco, "__version__", "4.9.0")
    with pytest.warns(RuntimeWarning, match=r"MuJoCo 3\.12\.0, .*4\.0\.1, found 4\.9\.0"):
        warn_if_untested()


def test_tested_versions_are_those_that_the_tests_run_with():
    script = Path(__file__).resolve().parents[2] / "scripts/engines"
    engines = runpy.run_path(str(script), run_name="engines")["VERSIONS"]
    assert versions.tested_versions() == list(engines)


def test_tested_versions_are_accepted():
    for version in ("3.12.0", "3.17.0", "4.0.0", "4.12.1", mujoco.__version__):
        check_version(version)


# ---- arguments ----------------------------------------------------------------------------------

WRONG = {
    "speculative": ("yes", 2, 0, np.nan),
    "implicit_actuators": ("yes", 2, None),
    "delassus": ("yes",),
    "friction": ("yes",),
    "scheme": ("yes",),
    "ignore": (["yes"],),
}
VALID = {
    "delassus": "block, diagonal",
    "friction": "convex, lagged, coulomb",
    "scheme": "explicit_euler, symplectic_euler, implicit_euler, midpoint",
    "ignore": "limit, equality, frictionloss, flex",
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("how", [Stepper, Rollout])
def test_unknown_values_of_options_are_refused_with_those_known(name, how):
    model = scenes.sphere_on_floor(1.0).compile()
    for value in WRONG[name]:
        with pytest.raises((TypeError, ValueError)) as caught:
            how(model, **{name: value})
        assert str(caught.value).startswith(name)
        assert VALID.get(name, "must be True or False") in str(caught.value)


def test_what_a_scheme_has_not_is_no_argument_of_it():
    model = scenes.sphere_on_floor(1.0).compile()
    with pytest.raises(ValueError, match="speculative = True: scheme midpoint finds no contacts"):
        Stepper(model, scheme="midpoint", speculative=True)
    with pytest.raises(ValueError, match=r"release_speed = 0\.2: scheme midpoint .* math\.inf"):
        Stepper(model, scheme="midpoint", release_speed=0.2)
    Stepper(model, scheme="midpoint", speculative=False, release_speed=np.inf)
