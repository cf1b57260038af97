"""Patches by the model itself: custom numbers, friction, flexes beside them."""

import mujoco
import numpy as np
import pytest

from sapwood import ContactMaterial
from sapwood.geometry import PressureField
from sapwood.mujoco import Stepper

SOFT = PressureField(modulus=1e5, resolution=0.02)

BODIES = """
<mujoco>
  <custom>{numbers}</custom>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1" {floor}/>
    <body pos="0 0 .045"><freejoint/>
      <geom name="pad" type="ellipsoid" size=".1 .08 .05" group="2" {pad}/></body>
    <body pos=".5 0 .048"><freejoint/><geom name="ball" size=".05" group="3"/></body>
  </worldbody>
  <contact>{contact}</contact>
</mujoco>
"""


def bodies(numbers="", floor="", pad="", contact=""):
    text = BODIES.format(numbers=numbers, floor=floor, pad=pad, contact=contact)
    return mujoco.MjModel.from_xml_string(text)


def numeric(name, data):
    return f'<numeric name="{name}" data="{data}"/>'


# ---- custom numbers ------------------------------------------------------------------------------


def test_numbers_of_the_model_are_its_fields():
    """The same bits as by the argument."""
    numbers = numeric("sapwood/field/geom/pad", "1e5 .02") + numeric(
        "sapwood/field/group/3", "2e5 .01 .001"
    )
    given = {"pad": SOFT, 3: PressureField(2e5, resolution=0.01, margin=0.001)}
    states = []
    for stepper in (Stepper(bodies(numbers)), Stepper(bodies(), fields=given)):
        data = mujoco.MjData(stepper.model)
        stepper.run(data, 30)
        assert {patch.names[1] for patch in stepper.patches} == {"pad", "ball"}
        states.append(data.qpos.copy())
    assert np.array_equal(*states)


def test_what_is_given_comes_before_the_numbers():
    numbers = numeric("sapwood/field/geom/pad", "1e5 .02") + numeric(
        "sapwood/field/group/2", "3e5 .02"
    )
    model, pad = bodies(numbers), 1

    def modulus(**options):
        return Stepper(model, **options).parameters.fields.shapes[pad].pressure.max()

    assert modulus() == 1e5
    assert modulus(fields={3: SOFT}) == 1e5
    assert modulus(fields={2: PressureField(2e5, resolution=0.02)}) == 2e5


def test_prefixes_of_attached_models():
    numbers = numeric("sapwood/field/geom/pad", "1e5 .02")
    spec = mujoco.MjSpec()
    part = mujoco.MjSpec.from_string(BODIES.format(numbers=numbers, floor="", pad="", contact=""))
    spec.attach(part, prefix="left/", frame=spec.worldbody.add_frame())
    stepper = Stepper(spec.compile())
    data = mujoco.MjData(stepper.model)
    stepper.step(data)
    (patch,) = stepper.patches
    assert patch.names == ("left/floor", "left/pad")


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("sapwood/field/geom/nobody", "1e5", "there is no geom 'nobody'"),
        ("sapwood/field/group/7", "1e5", "there is no geom in group 7"),
        ("sapwood/field/pad", "1e5", "must be sapwood/field/geom/NAME"),
        ("a/sapwood/field/group/2", "1e5", "without a prefix"),
        ("sapwood/field/geom/pad", "-1", "modulus = -1.0: must be > 0"),
        ("sapwood/field/geom/pad", "1 1 1 1 1", "has 5 values"),
    ],
)
def test_wrong_numbers_are_named(name, data, text):
    with pytest.raises(ValueError, match=f"numeric '{name}'.*{text}"):
        Stepper(bodies(numeric(name, data)))


def test_fields_in_numbers_cannot_change():
    model = bodies(numeric("sapwood/field/geom/pad", "1e5 .02") + numeric("other", "1"))
    stepper, data = Stepper(model), mujoco.MjData(model)
    model.numeric_data[2] = 3.0
    stepper.step(data)
    assert stepper.patches
    model.numeric_data[0] = 2e5
    with pytest.raises(ValueError, match=r"model\.numeric_data, of pressure fields, has changed"):
        stepper.step(data)


# ---- friction ------------------------------------------------------------------------------------

PAIR = '<pair geom1="floor" geom2="pad" friction=".25 .25"/>'


@pytest.mark.parametrize(
    ("options", "materials", "expected"),
    [
        ({"floor": 'friction=".3"', "pad": 'friction=".9"'}, {}, 0.9),
        ({"floor": 'friction=".3" priority="1"', "pad": 'friction=".9"'}, {}, 0.3),
        ({"floor": 'friction=".3"', "pad": 'friction="0" priority="1"'}, {}, 0.0),
        ({"floor": 'friction=".3"', "contact": PAIR}, {}, 0.25),
        ({"floor": 'friction=".3"', "contact": PAIR}, {"pad": 0.9}, 0.25),
        ({"floor": 'friction=".3"'}, {"pad": 0.9}, 2 * 0.3 * 0.9 / 1.2),
    ],
)
def test_friction_of_patches_is_that_of_points(options, materials, expected):
    model = bodies(**options)
    found = {name: ContactMaterial(friction=mu) for name, mu in materials.items()}
    for fields in (None, {"pad": SOFT}):
        stepper, data = Stepper(model, fields=fields, materials=found), mujoco.MjData(model)
        stepper.step(data)
        contacts = stepper.contacts.between("floor", "pad")
        assert len(contacts) > 0
        np.testing.assert_allclose(contacts.friction, expected, rtol=1e-15)


def test_friction_of_an_explicit_pair_may_change():
    model = bodies(contact=PAIR)
    stepper, data = Stepper(model, fields={"pad": SOFT}), mujoco.MjData(model)
    stepper.step(data)
    model.pair_friction[0, :2] = 0.5
    stepper.step(data)
    assert set(stepper.contacts.between("floor", "pad").friction) == {0.5}


# ---- flexes --------------------------------------------------------------------------------------

CLOTH = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <body pos="0 0 .1"><freejoint/>
      <geom name="block" type="box" size=".2 .2 .1" {block}/></body>
    <body name="cloth" pos="0 0 .22">
      <flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" radius=".01" dim="2"
          mass=".5"><contact selfcollide="none" {cloth}/><edge damping=".01"/></flexcomp>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize("bits", [("", ""), ('contype="4" conaffinity="1"', 'conaffinity="4"')])
def test_a_cloth_lies_on_a_compliant_block(bits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log file
    model = mujoco.MjModel.from_xml_string(CLOTH.format(block=bits[0], cloth=bits[1]))
    stepper, data = Stepper(model, fields={"block": SOFT}), mujoco.MjData(model)
    stepper.run(data, 400)
    assert np.ravel(data.flexvert_xpos)[2::3].min() > 0.2
    assert [patch.names for patch in stepper.patches] == [("floor", "block")]
    # the floor's points are MuJoCo's, the block's with the cloth too, and no other ones
    block = model.geom("block").id
    assert np.any(data.contact.geom[:, 0] == block)
    assert not np.any(data.contact.geom[:, 1] == block)


def test_flexes_that_cannot_touch_the_block_do_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    apart = 'contype="2" conaffinity="2"'
    model = mujoco.MjModel.from_xml_string(CLOTH.format(block="", cloth=apart))
    stepper = Stepper(model, fields={"block": SOFT})
    assert stepper.model.flex_contype[0] == 2
    assert stepper.model.geom("block").conaffinity == 0


def test_no_bit_left_for_flexes_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = mujoco.MjModel.from_xml_string(CLOTH.format(block="", cloth=""))
    model.geom("floor").contype = 0x7FFFFFFF
    with pytest.raises(ValueError, match=r"flex 'cloth' touches geom 'block'.*all 31 are in use"):
        Stepper(model, fields={"block": SOFT})
