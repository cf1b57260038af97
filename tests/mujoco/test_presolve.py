"""Constraints of more than two trees, and of flexes: held ahead of the contact problem."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from mujoco_models import full_state
from sapwood.mujoco import NotSupported, Stepper

pytestmark = pytest.mark.filterwarnings("ignore:constraints are held ahead of contact")


def sliders(cord="", more="", jacobian="dense", joint=""):
    """A tendon over three sliders that fall along x, trees of their own, of different masses."""
    bodies = "".join(
        f"<body pos='0 {i} 1'><joint name='s{i}' type='slide' axis='1 0 0' {joint}/>"
        f"<geom size='.1' mass='{i + 1}'/></body>"
        for i in range(3)
    )
    over = "".join(f"<joint joint='s{i}' coef='{c}'/>" for i, c in enumerate((1, -2, 3)))
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option gravity='1 0 0' jacobian='{jacobian}' cone='elliptic'/>"
        f"<worldbody><geom name='wall' type='plane' size='5 5 1'/>{bodies}</worldbody>"
        f"<tendon><fixed name='cord' {cord}>{over}</fixed></tendon>{more}</mujoco>"
    )


COEF, MASS = np.array([1.0, -2.0, 3.0]), np.array([1.0, 2.0, 3.0])


def test_a_tendon_stops_at_its_limit():
    """In the step that would pass it, by the impulse of a rigid stop; its force bears the load."""
    model = sliders("limited='true' range='-1 .02'")
    with pytest.warns(UserWarning, match="held ahead of contact.*: tendon 'cord'"):
        stepper = Stepper(model)
    data = mujoco.MjData(model)
    stepper.run(data, 400)
    length = COEF @ data.qpos
    assert abs(length - 0.02) < 1e-9
    assert abs(COEF @ data.qvel) < 1e-9
    # COEF (g - COEF f / MASS) = 0
    f = (COEF @ np.ones(3)) / (COEF @ (COEF / MASS))
    np.testing.assert_allclose(data.qfrc_constraint, -f * COEF, rtol=1e-6)
    np.testing.assert_allclose(data.qacc, 1 - f * COEF / MASS, rtol=1e-6, atol=1e-9)


def test_a_violated_limit_comes_back_without_being_fired():
    model = sliders("limited='true' range='-1 0'")
    model.opt.gravity[:] = 0
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qpos[2] = 0.1  # by 0.3 m
    for _ in range(100):
        stepper.step(data)
        np.testing.assert_allclose(COEF @ data.qvel, -0.3 / 0.05, rtol=1e-9)


@pytest.mark.parametrize("jacobian", ["dense", "sparse"])
def test_friction_of_a_tendon_brakes_and_holds(jacobian, rng):
    model = sliders("frictionloss='.5'", jacobian=jacobian)
    model.opt.gravity[:] = 0
    stepper, data = Stepper(model), mujoco.MjData(model)
    data.qvel[:] = rng.uniform(0.5, 1, 3) * np.sign(COEF)
    speed = COEF @ data.qvel
    stepper.step(data)
    np.testing.assert_allclose(data.qfrc_constraint, -0.5 * COEF, rtol=1e-9)
    np.testing.assert_allclose(data.efc_force[0], -0.5, rtol=1e-9)
    w = COEF @ (COEF / MASS)
    np.testing.assert_allclose(COEF @ data.qvel, speed - 0.002 * 0.5 * w, rtol=1e-9)
    stepper.run(data, int(speed / (0.002 * 0.5 * w)) + 5)
    assert abs(COEF @ data.qvel) < 1e-9


@pytest.mark.parametrize("jacobian", ["dense", "sparse"])
def test_an_equality_of_a_tendon_holds(jacobian):
    more = "<equality><tendon name='hold' tendon1='cord'/></equality>"
    model = sliders(more=more, jacobian=jacobian)
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 300)
    assert abs(COEF @ data.qpos) < 1e-9
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


def test_other_schemes_refuse_them():
    model = sliders("limited='true' range='-1 .02'")
    with pytest.raises(NotSupported, match="scheme midpoint cannot take tendon 'cord'"):
        Stepper(model, scheme="midpoint")
    Stepper(sliders(), scheme="midpoint")


FALLING = """<mujoco><option cone="{cone}" timestep="0.002"/>
  <worldbody><geom type="plane" size="2 2 1" euler="0 {tilt} 0" friction="{mu}"/>
  <body name="cloth" pos="0 0 .2"><flexcomp name="cloth" type="grid" count="4 4 1"
  spacing=".1 .1 .1" radius=".01" dim="2" mass="1"><contact selfcollide="none" friction="{mu}"/>
  <edge equality="true"/></flexcomp></body></worldbody></mujoco>"""


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_a_cloth_comes_to_rest_on_the_floor(cone, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log file
    model = mujoco.MjModel.from_xml_string(FALLING.format(cone=cone, tilt=0, mu=0.8))
    with pytest.warns(UserWarning, match="ahead of contact.*: .*contacts of flex 'cloth'"):
        stepper = Stepper(model)
    data = mujoco.MjData(model)
    stepper.run(data, 500)
    assert np.abs(data.qvel).max() < 0.02
    # the floor bears the weight
    np.testing.assert_allclose(data.qfrc_constraint[2::3].sum(), 9.81, rtol=1e-3)
    assert -1e-3 < np.ravel(data.flexvert_xpos)[2::3].min() - 0.01 < 1e-3
    assert len(stepper.contacts) == 0
    assert data.ncon > 0


@pytest.mark.parametrize(("mu", "slides"), [(0.2, True), (0.8, False)])
def test_a_cloth_slides_down_or_holds(mu, slides, tmp_path, monkeypatch):
    """On a slope of 20 degrees, whose tangent is 0.36."""
    monkeypatch.chdir(tmp_path)
    model = mujoco.MjModel.from_xml_string(FALLING.format(cone="elliptic", tilt=20, mu=mu))
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 500)
    before = data.qvel.copy()
    stepper.run(data, 100)
    along = np.array([np.cos(np.deg2rad(20)), 0, -np.sin(np.deg2rad(20))])
    gained = ((data.qvel - before).reshape(-1, 3) @ along).mean()
    if slides:
        # g (sin - mu cos) over 0.2 s
        expected = 9.81 * (np.sin(np.deg2rad(20)) - mu * np.cos(np.deg2rad(20))) * 0.2
        np.testing.assert_allclose(gained, expected, rtol=0.05)
    else:
        assert np.abs(data.qvel).max() < 0.05


def test_edges_of_a_cloth_keep_their_lengths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log file
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body name="cloth" pos="0 0 1">
        <flexcomp name="cloth" type="grid" count="4 4 1" spacing=".1 .1 .1" radius=".01" dim="2">
        <contact contype='0' conaffinity='0' selfcollide='none'/><edge equality="true"/>
        <pin id="0 3"/></flexcomp></body></worldbody></mujoco>"""
    )
    stepper, data = Stepper(model), mujoco.MjData(model)
    stepper.run(data, 300)
    assert np.isfinite(data.qpos).all()
    stretched = np.ravel(data.flexedge_length) / np.ravel(model.flexedge_length0) - 1
    assert np.abs(stretched).max() < 0.05
    assert np.abs(data.qvel).max() < 10


@pytest.mark.slow
def test_a_large_cloth_holds_better_than_that_of_mj_step(tmp_path, monkeypatch):
    """So many edges that sweeps end before the last digits: what is left is little, and goes on."""
    monkeypatch.chdir(tmp_path)
    model = mujoco.MjModel.from_xml_string(
        FALLING.format(cone="elliptic", tilt=20, mu=0.8).replace("4 4 1", "16 16 1")
    )
    stepper = Stepper(model)
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    stepper.run(ours, 300)
    mujoco.mj_step(model, theirs, nstep=300)
    strain = [np.ravel(d.flexedge_length) / model.flexedge_length0 - 1 for d in (ours, theirs)]
    assert len(strain[0]) > 600
    most = [np.sqrt(np.mean(s**2)) for s in strain]
    assert most[0] < 0.01
    assert most[0] < 0.5 * most[1]
