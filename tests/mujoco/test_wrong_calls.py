"""Calls that users of MuJoCo write at first: errors say how they are written here."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from mujoco_models import physics_state
from sapwood.mujoco import NotSupported, Rollout, Stepper, rollout

XML = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="crate" pos="0 0 .3"><freejoint/><geom name="box" type="box" size=".1 .1 .1"/></body>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(XML)


@pytest.fixture(scope="module")
def start(model):
    return physics_state(model, mujoco.MjData(model))


@pytest.mark.parametrize("given", ["robot.xml", XML])
def test_a_file_or_a_text_is_no_model(given):
    with pytest.raises(TypeError, match=r"MjModel, not str: .*from_xml_path .*from_xml_string"):
        Stepper(given)


ARGUMENTS = {
    "dt": "time_step=",
    "timestep": "time_step=",
    "tolerance": r"settings=sapwood\.SapSettings\(relative_tolerance=\.\.\.\)",
    "stiffness": r"contact=sapwood\.ContactMaterial\(stiffness=\.\.\.\)",
    "mu": r"contact=sapwood\.ContactMaterial\(friction=\.\.\.\)",
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_unknown_options(model, start, name):
    options = {name: 0.01}
    for call, label in (
        (lambda: Stepper(model, **options), "Stepper"),
        (lambda: Rollout(model, **options), "Rollout"),
        (lambda: rollout(model, start, **options), "rollout"),
    ):
        with pytest.raises(TypeError, match=f"^{label} has no argument '{name}': write "):
            call()
        with pytest.raises(TypeError, match=f"write {ARGUMENTS[name]}$"):
            call()


def test_numbers_in_the_place_of_laws_and_materials(model):
    with pytest.raises(TypeError, match=r"friction must be a law.*ContactMaterial\(friction=\.\."):
        Stepper(model, friction=0.5)
    with pytest.raises(TypeError, match=r"not float: write contact=sapwood\.ContactMaterial\("):
        Stepper(model, contact=1e5)
    with pytest.raises(TypeError, match=r"write constraint=sapwood\.ConstraintMaterial\("):
        Stepper(model, constraint=1e5)


def test_the_order_of_mj_step(model):
    stepper, data = Stepper(model), mujoco.MjData(model)
    with pytest.raises(TypeError, match=r"^write stepper\.step\(data\): a stepper has its model"):
        stepper.step(model, data)
    with pytest.raises(TypeError, match=r"^write stepper\.run\(data, steps\)"):
        stepper.run(model, data, 10)
    for call in (stepper.step, stepper.problem):
        with pytest.raises(TypeError, match="not MjModel: a stepper has its model"):
            call(model)
    assert data.time == 0.0


def test_names_of_the_model(model):
    soft, field = sapwood.ContactMaterial(1e5), sapwood.PressureField(1e5)
    data = mujoco.MjData(model)
    data.qpos[2] = 0.1
    stepper = Stepper(model)
    stepper.step(data)
    for call, name in (
        (lambda: Stepper(model, materials={"flor": soft}), "floor"),
        (lambda: Stepper(model, fields={"bx": field}), "box"),
        (lambda: stepper.contacts.force_on_body("crates"), "crate"),
        (lambda: stepper.contacts.between("flor", "box"), "floor"),
    ):
        with pytest.raises(
            ValueError, match=rf"no (geom|body) of this name; did you mean '{name}'\?"
        ):
            call()


def test_names_in_custom_numbers():
    numeric = "<custom><numeric name='sapwood/field/geom/flor' data='1e5'/></custom>"
    model = mujoco.MjModel.from_xml_string(XML.replace("<worldbody>", numeric + "<worldbody>"))
    with pytest.raises(NotSupported, match=r"no geom 'flor'; did you mean 'floor'\?"):
        Stepper(model)


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_a_start_of_another_size_names_the_state(model, shape):
    text = rf"initial_state has shape \({shape[0]}, ?.*expected \(14,\) or .* mjSTATE_FULLPHYSICS"
    with pytest.raises(ValueError, match=text):
        rollout(model, np.zeros(shape), nstep=2)
    with pytest.raises(ValueError, match=text):
        Rollout(model).rollout(np.zeros(shape), nstep=2)


def test_the_order_of_mujocos_rollout(model, start):
    data = mujoco.MjData(model)
    for call in (
        lambda: rollout(model, data, nstep=2),
        lambda: rollout(model, [data, data], nstep=2),
        lambda: rollout(model, data, start, np.zeros((1, 2, 0))),
    ):
        with pytest.raises(TypeError, match=r"write rollout\(model, initial_state, control\)"):
            call()


def test_a_warm_start_of_a_rollout(model, start):
    with pytest.raises(
        TypeError, match=r"^rollout has no argument 'initial_warmstart': write init"
    ):
        rollout(model, start, nstep=2, initial_warmstart=np.zeros(6))


def test_warnings_point_at_the_call():
    """Decorated, they still name the line of the user."""
    model = mujoco.MjModel.from_xml_string(
        XML.replace("<worldbody>", "<option integrator='RK4'/><worldbody>")
    )
    with pytest.warns(UserWarning, match="RK4") as warned:
        Stepper(model)
    assert warned[0].filename == __file__
    bad = np.full(14, np.nan)
    with pytest.warns(RuntimeWarning, match="1 of 1 worlds failed") as warned:
        rollout(mujoco.MjModel.from_xml_string(XML), bad, nstep=2)
    assert warned[0].filename == __file__
