"""A model in which everything acts, and ways to change it that a stepper follows."""

from __future__ import annotations

import mujoco
import numpy as np

from mujoco_models import VERSION
from sapwood.mujoco import Stepper

XML = """
<mujoco>
  <option integrator="implicitfast"/>
  <custom>
    <numeric name="sapwood/group/3" data="1e5 .02 .4"/>
    <numeric name="sapwood/joint/hinge" data="2e3 .01"/>
  </custom>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" friction=".7"/>
    <body name="hand" mocap="true" pos="0 2 1"><geom size=".05"/></body>
    <body name="held" pos="0 2 1.2"><freejoint/><geom size=".05"/></body>
    <body name="box" pos="0 0 .09"><freejoint/>
      <geom name="box" type="box" size=".1 .1 .1" friction=".5"/></body>
    <body name="puck" pos="1 0 .04"><freejoint/>
      <geom name="puck" type="cylinder" size=".1 .05" friction=".3" condim="4" group="3"/></body>
    <body name="arm" pos="-1 0 1">
      <joint name="hinge" axis="0 1 0" damping=".3" frictionloss=".2" stiffness="2"
       range="-20 5" actuatorfrcrange="-3 3"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/>
      <body pos=".3 0 0">
        <joint name="slide" type="slide" axis="1 0 0" range="-.05 .05" damping="1"/>
        <geom size=".05"/>
        <body pos=".1 0 0"><joint name="last" axis="0 1 0" damping=".1"/>
          <geom size=".05" pos=".1 0 0"/></body>
      </body>
    </body>
  </worldbody>
  <contact><pair name="own" geom1="floor" geom2="box" friction=".6 .6 0 0 0"/></contact>
  <equality>
    <weld name="grip" body1="hand" body2="held" torquescale=".5"/>
    <joint name="geared" joint1="last" joint2="hinge" polycoef="0 .5 0 0 0"/>
  </equality>
  <tendon><fixed name="cord" limited="true" range="-.02 .02" frictionloss=".1"
      actuatorfrclimited="true" actuatorfrcrange="-2 2">
    <joint joint="slide" coef="1"/><joint joint="last" coef=".3"/></fixed></tendon>
  <actuator>
    <position name="servo" joint="hinge" kp="40" kv="2" forcerange="-2 2"/>
    <position name="pull" tendon="cord" kp="30" kv="1" forcerange="-5 5"/>
    <motor name="push" joint="slide" gear="2" forcerange="-9 9"/>
  </actuator>
</mujoco>
"""
FLEX = """
<mujoco><worldbody><geom type="plane" size="1 1 1" contype="0"/>
  <flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" pos="0 0 .011" radius=".01"
   mass=".1"><contact selfcollide="none"/><edge damping=".01"/></flexcomp>
</worldbody></mujoco>
"""

# index and new value for arrays without floating-point numbers
VALUES = {
    "actuator_biastype": (0, int(mujoco.mjtBias.mjBIAS_NONE)),
    "actuator_forcelimited": (0, 0),
    "actuator_gaintype": (0, int(mujoco.mjtGain.mjGAIN_USER)),
    "actuator_group": (0, 2),
    "flex_conaffinity": (0, 0),
    "flex_contype": (0, 0),
    "flex_internal": (0, 1),
    "flex_selfcollide": (0, 1),
    "geom_group": (3, 3),
    "jnt_actfrclimited": (3, 0),
    "jnt_limited": (3, 0),
    "pair_geom1": (0, 4),
    "pair_geom2": (0, 4),
    "tendon_actfrclimited": (0, 0),
    "tendon_limited": (0, 0),
}
# read, and of no effect in these motions
IDLE = (
    "flex_conaffinity", "flex_selfcollide", "actuator_damping", "actuator_dampingpoly",
    "tendon_armature",
    *(["flex_internal"] if VERSION < (3, 17) else []),
)  # fmt: skip


LIVE = {
    "gravity": lambda m: m.opt.gravity.__setitem__(2, -1.62),
    "wind": lambda m: (m.opt.wind.__setitem__(0, 9.0), setattr(m.opt, "density", 500.0)),
    "viscosity": lambda m: setattr(m.opt, "viscosity", 2.0),
    "masses": lambda m: (m.body_mass.__imul__(2.0), m.body_inertia.__imul__(2.0)),
    "sizes": lambda m: m.geom_size.__setitem__((3, 2), 0.12),
    "pairs": lambda m: m.pair_friction.__setitem__((0, slice(0, 2)), 0.05),
    "condim": lambda m: m.geom_condim.__setitem__(slice(None), 1),
    "armature": lambda m: m.dof_armature.__iadd__(0.5),
    "flags": lambda m: setattr(
        m.opt, "disableflags", m.opt.disableflags | int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    ),
    "dampers": lambda m: setattr(
        m.opt, "disableflags", m.opt.disableflags | int(mujoco.mjtDisableBit.mjDSBL_DAMPER)
    ),
    "groups": lambda m: setattr(m.opt, "disableactuator", 1),
}


def model_with(name):
    return mujoco.MjModel.from_xml_string(FLEX if name.startswith("flex_") else XML)


def change(model, name, again=False):
    """Another value of an array, that a stepper can be made for."""
    array = getattr(model, name)
    if name in VALUES:
        index, value = VALUES[name]
        assert again or array[index] != value
        array[index] = value
    else:
        assert array.dtype == np.float64
        array[...] = 1.25 * array + (0.1 if "poly" in name or "damping" in name else 0.0)


def readable(names):
    """The fields that this version of MuJoCo has, and that have entries in the models here."""
    return [name for name in names if np.size(getattr(model_with(name), name, ()))]


def state_after(stepper, steps=30):
    """The state after a motion in which everything acts."""
    data = mujoco.MjData(stepper.model)
    data.ctrl[:] = [0.4, -0.3, 3.0][: stepper.model.nu]
    if stepper.model.nmocap:
        data.mocap_pos[0, 0] += 0.02
        data.qvel[6] = data.qvel[12] = 0.5  # box and puck slide
    stepper.run(data, steps)
    return np.concatenate([data.qpos, data.qvel])


def arrays_of(stepper):
    return stepper.parameters.forest, stepper.parameters.elements


def same_arrays(one, other):
    if one is None or other is None:
        return one is other
    return all(np.array_equal(one[name], other[name]) for name in one)


def write(target, changed, name):
    getattr(target, name)[...] = getattr(changed, name)


def follows(stepper, changed, n=30):
    """Whether a stepper has the arrays, and the steps, of one that is made for a changed model."""
    fresh = Stepper(changed)
    expected = state_after(fresh, n)
    np.testing.assert_array_equal(state_after(stepper, n), expected)
    assert all(map(same_arrays, arrays_of(stepper), arrays_of(fresh)))
    for name, cleared in fresh.parameters.released.items():
        np.testing.assert_array_equal(stepper.parameters.released[name], cleared)
    return expected
