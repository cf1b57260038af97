"""Models for the tests of the simulation layer."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest

#: Major and minor version of MuJoCo.
VERSION = tuple(int(part) for part in mujoco.__version__.split(".")[:2])

#: Of tests whose models have a surface that moves.
needs_surface_velocity = pytest.mark.skipif(
    not hasattr(mujoco.MjContact, "surfacevel"),
    reason=f"MuJoCo {mujoco.__version__} tells contacts of no surface velocity",
)


# arrays of data that only stages write which a step of ours leaves out: islands, the dual problem
_OF_OTHER_STAGES = re.compile("map_|i(acc|frc|efc|M|LD)|efm_|efc_(Y|AR)|.*island")


def is_defined(name):
    """Whether an array of data means anything after our steps: old versions do not clear some."""
    return VERSION >= (3, 17) or not _OF_OTHER_STAGES.match(name)


# bodies of every joint type, in contact with each other and with static and moved geoms: a free box
# with a welded child, a free ball, an arm that can touch itself and carries an offset geom, a mocap
# body, frictionless geoms, armature, and inertia frames that are not aligned with the bodies
MIXED = """
<mujoco model="mixed">
  <option cone="{cone}" timestep="0.004" gravity="0.3 -0.2 -9.81"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1" friction="0.7"/>
    <geom name="post" type="cylinder" size=".05 .3" pos=".5 .4 .3"/>
    <body name="hand" mocap="true" pos="-.4 .5 .1"><geom name="hand" size=".1"/></body>
    <body name="box" pos="0 0 .109">
      <freejoint/>
      <geom name="box" type="box" size=".1 .12 .11" friction="0.5"/>
      <body name="knob" pos=".05 .02 .15"><geom name="knob" size=".05" density="3000"/></body>
    </body>
    <body name="ball" pos=".03 -.01 .385" euler="10 20 30">
      <freejoint/><geom name="ball" size=".079" condim="1"/>
      <geom name="lump" size=".03" pos=".06 .03 .02" condim="1"/>
    </body>
    <body name="puck" pos="-.3 .5 .019"><freejoint/>
      <geom name="puck" type="cylinder" size=".06 .02" condim="1" friction="0"/>
    </body>
    <body name="arm" pos=".5 .12 .6">
      <joint name="shoulder" type="ball" damping=".2"/>
      <geom name="upper" type="capsule" fromto="0 0 0 .3 0 -.1" size=".04"/>
      <body name="fore" pos=".3 0 -.1">
        <joint name="elbow" axis="0 1 0" damping=".1" armature=".02"/>
        <geom name="fore" type="capsule" fromto="0 0 0 .05 .02 -.3" size=".035"/>
        <body name="wrist" pos=".05 .02 -.3">
          <joint name="reach" type="slide" axis="0 0 1"/>
          <joint name="turn" axis="1 0 0" pos=".01 0 0" stiffness="3"/>
          <geom name="tip" type="box" size=".03 .05 .06" pos="0 0 -.05" friction="0.9"/>
          <site name="tip" pos="0 0 -.05" type="box" size=".1 .1 .1"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="elbow" joint="elbow" gear="2"/>
    <position joint="reach" kp="40" kv="2"/>
  </actuator>
  <sensor>
    <touch site="tip"/><accelerometer site="tip"/><force site="tip"/><torque site="tip"/>
    <framelinacc objtype="xbody" objname="ball"/>
  </sensor>
</mujoco>
"""

# an arm as it comes from a robot's description: damping, continuous joints, a mesh-free gripper
URDF = """
<robot name="arm">
  <link name="base">
    <inertial><mass value="4"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <collision><geometry><cylinder radius=".1" length=".1"/></geometry></collision>
  </link>
  <link name="upper">
    <inertial><origin xyz="0 0 .2"/><mass value="1"/><inertia ixx=".02" iyy=".02" izz=".004" ixy="0"
      ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 .2"/>
      <geometry><cylinder radius=".04" length=".3"/></geometry></collision>
  </link>
  <link name="lower">
    <inertial><origin xyz="0 0 .15"/><mass value=".7"/><inertia ixx=".01" iyy=".01" izz=".002"
      ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 .15"/><geometry><box size=".05 .06 .3"/></geometry></collision>
    <collision><origin xyz="0 0 .33"/><geometry><sphere radius=".05"/></geometry></collision>
  </link>
  <joint name="shoulder" type="{kind}"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 .08"/><axis xyz="0 1 0"/>{limit}
    <dynamics damping="0.3" friction="{friction}"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 .4"/><axis xyz="0 1 0"/><dynamics damping="0.2"/></joint>
</robot>
"""

FLAGS = mujoco.mjtDisableBit.mjDSBL_EULERDAMP | mujoco.mjtDisableBit.mjDSBL_ISLAND


def compiled(bodies: str, dt: float, more: str = "", gravity: str = "0 0 -9.81"):
    """A model of these bodies, with the time step in s."""
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{dt}" gravity="{gravity}"/><worldbody>{bodies}</worldbody>'
        f"{more}</mujoco>"
    )


def mixed(cone: str = "elliptic") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(MIXED.format(cone=cone))


def wide(cone: str = "elliptic") -> mujoco.MjModel:
    """The mixed model with contacts of all dimensions."""
    model = mixed(cone)
    dims = {"box": 4, "knob": 6, "ball": 6, "lump": 3, "fore": 6, "tip": 4, "post": 4, "hand": 6}
    for name, condim in dims.items():
        model.geom(name).condim[:] = condim
    model.geom_friction[:, 1] = 0.02
    model.geom_friction[:, 2] = 0.003
    return model


def urdf_on_floor(kind: str = "continuous", friction: float = 0.0) -> mujoco.MjModel:
    """The URDF arm on a plane, with a margin that keeps contacts while they open and close."""
    limit = "" if kind == "continuous" else '<limit lower="-1" upper="2" effort="9" velocity="9"/>'
    spec = mujoco.MjSpec.from_string(URDF.format(kind=kind, friction=friction, limit=limit))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], name="floor")
    for geom in spec.geoms:
        geom.margin = 1e-3
    return spec.compile()


def boxes_on_floor(memory: str) -> mujoco.MjModel:
    """Ten boxes that touch the floor, in data with this much memory."""
    bodies = "".join(
        f"<body pos='{i} 0 .09'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
        for i in range(10)
    )
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><size memory='{memory}'/><worldbody><geom type='plane' size='1 1 1'/>{bodies}"
        "</worldbody></mujoco>"
    )


def set_controls(model: mujoco.MjModel, data: mujoco.MjData, step: int) -> None:
    """Controls that vary with time."""
    data.ctrl[:] = 0.3 * np.sin(0.05 * step + np.arange(model.nu))


def twin_of(model: mujoco.MjModel, data: mujoco.MjData) -> mujoco.MjData:
    """A copy of the data."""
    twin = mujoco.MjData(model)
    mujoco.mj_copyData(twin, model, data)
    return twin


def full_state(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """All that a step starts from: state, controls, applied forces, warm start."""
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, state, kind)
    return state


def physics_state(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Time, positions, velocities and activations, as rollouts begin with and return them."""
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.empty(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, state, kind)
    return state


def mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    dense = np.empty((model.nv, model.nv))
    mujoco.mj_fullM(model, data, dense)
    return dense


def constraint_rows(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """MuJoCo's own constraint Jacobian as a dense matrix (nefc, nv)."""
    if not mujoco.mj_isSparse(model):
        return np.array(data.efc_J).reshape(data.nefc, model.nv)
    rows = np.zeros((data.nefc, model.nv))
    for i in range(data.nefc):
        entries = slice(data.efc_J_rowadr[i], data.efc_J_rowadr[i] + data.efc_J_rownnz[i])
        rows[i, data.efc_J_colind[entries]] = data.efc_J[entries]
    return rows


def point_jacobian(model: mujoco.MjModel, data: mujoco.MjData, body: int, point) -> np.ndarray:
    """MuJoCo's Jacobian (3, nv) of a point fixed to a body."""
    translation = np.empty((3, model.nv))
    mujoco.mj_jac(model, data, translation, None, point, body)
    return translation


# one of every element that constrains a model beside contacts: limits of hinge, slide, ball and
# tendons, friction loss, equality constraints of all supported kinds between bodies of one tree, of
# two trees and with the world, and actuators of all kinds of transmission
ELEMENTS = """
<mujoco model="elements">
  <option timestep="0.004" jacobian="{jacobian}" cone="{cone}" gravity="0.2 -0.1 -9.81"/>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 .1" pos="0 0 -.05"/>
    <site name="anchor" pos="-.21 .4 .5"/>
    <body name="arm" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" range="-40 50" limited="true" damping=".2"
        frictionloss=".4"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
      <body name="fore" pos=".3 0 0">
        <joint name="elbow" axis="0 1 .3" actuatorfrcrange="-3 4"/>
        <geom type="capsule" fromto="0 0 0 .25 .02 0" size=".025"/>
        <site name="tip" pos=".25 0 0"/>
        <body name="hand" pos=".25 0 0">
          <joint name="reach" type="slide" axis="1 0 .2" range="-.05 .08" limited="true"/>
          <joint name="twist" axis="1 0 0"/>
          <geom type="box" size=".04 .05 .03" pos=".05 0 0"/>
        </body>
      </body>
    </body>
    <body name="pendulum" pos="-.5 .4 .8">
      <joint name="socket" type="ball" range="0 35" limited="true" frictionloss=".05"/>
      <geom type="capsule" fromto="0 0 0 .1 0 -.3" size=".03"/><site name="bob" pos=".1 0 -.3"/>
      <body name="tail" pos=".1 0 -.3"><joint name="wag" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 .2 0 -.05" size=".02"/><site name="end" pos=".2 0 0"/>
      </body>
    </body>
    <body name="box" pos=".4 .5 .1"><freejoint name="box"/><geom type="box" size=".1 .1 .1"/>
      <site name="lid" pos="0 0 .1"/></body>
    <body name="crate" pos=".4 .75 .1" euler="0 0 10"><freejoint/>
      <geom type="box" size=".1 .1 .1"/></body>
    <body name="cart" pos="0 -.6 .4"><joint name="rail" type="slide" axis="1 0 0"/>
      <geom type="box" size=".1 .05 .05"/>
      <body name="wheel" pos="0 -.1 0"><joint name="wheel" axis="0 1 0"/>
        <geom type="cylinder" size=".08 .02" euler="90 0 0"/></body></body>
  </worldbody>
  <contact><exclude body1="box" body2="crate"/></contact>
  <tendon>
    <fixed name="belt" range="-.4 .3" limited="true" frictionloss=".3">
      <joint joint="wheel" coef=".08"/><joint joint="twist" coef="-.05"/></fixed>
    <fixed name="strap"><joint joint="elbow" coef=".2"/></fixed>
    <spatial name="rope" range="0 .87" limited="true"><site site="bob"/><site site="lid"/></spatial>
  </tendon>
  <equality>
    <weld name="glue" body1="box" body2="crate" torquescale="1.7"/>
    <connect name="pin" site1="end" site2="anchor"/>
    <joint name="gear" joint1="rail" joint2="wheel" polycoef="0 .08 .01 0 0"/>
    <joint name="lock" joint1="twist" polycoef=".1 0 0 0 0" active="false"/>
    <tendon name="chain" tendon1="belt" tendon2="strap" polycoef="0 .5 0 0 0" active="false"/>
  </equality>
  <actuator>
    <position name="servo" joint="elbow" kp="60" kv="3" gear="-2"/>
    <motor name="extra" joint="elbow" gear="1.5"/>
    <velocity name="drive" joint="rail" kv="8" forcerange="-6 2"/>
    <position name="pull" tendon="belt" kp="30" kv="1" timeconst=".1"/>
    <general name="spin" joint="twist" gainprm="5" biastype="affine" biasprm=".1 -5 -.2"/>
    <motor name="push" joint="shoulder"/>
    <position name="screw" site="lid" gear="0 0 1 0 0 0" kp="2" kv="1"/>
  </actuator>
  <sensor>
    <actuatorfrc actuator="servo"/><jointactuatorfrc joint="elbow"/><force site="end"/>
    <jointlimitfrc joint="shoulder"/><tendonlimitfrc tendon="rope"/>
    <framelinacc objtype="xbody" objname="box"/>
  </sensor>
</mujoco>
"""


def elements(jacobian: str = "dense", cone: str = "elliptic") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(ELEMENTS.format(jacobian=jacobian, cone=cone))


def bias_of(model, data, tree):
    """The bias force of a tree as a function of its velocity."""
    copy, result = mujoco.MjData(model), np.zeros(model.nv)
    copy.qpos[:] = data.qpos

    def bias(v):
        copy.qvel[:] = data.qvel
        copy.qvel[tree] = v
        mujoco.mj_fwdPosition(model, copy)
        mujoco.mj_comVel(model, copy)
        mujoco.mj_rne(model, copy, 0, result)
        return result[tree].copy()

    return bias


def take_explicit_rotation(monkeypatch):
    """Steppers made from here on take all bias forces at the start of the step, as MuJoCo does."""
    reading = "sapwood.mujoco.reading.arrays."
    for name, size, value, kind in (
        ("free_quaternions", "nv", -1, np.int32),
        ("turning_dofs", "nv", 0, np.int8),
    ):

        def none(model, size=size, value=value, kind=kind):
            return np.full(getattr(model, size), value, kind)

        monkeypatch.setattr(reading + name, none)
