"""Models with soft bodies, whose steps have derivatives."""

from __future__ import annotations

import copy
import dataclasses

import mujoco
import numpy as np

from sapwood import SapSettings, fem
from sapwood.mujoco import Stepper

TIGHT = SapSettings(relative_tolerance=1e-13, max_iterations=200)

GRIPPER = """
<mujoco><option timestep='.005'/><worldbody>
<geom name='floor' type='plane' size='1 1 1'/>
<body name='palm' pos='0 0 .03'><joint name='lift' type='slide' axis='0 0 1'/>
<joint name='turn' type='ball'/><camera name='eye' pos='.1 0 0'/>
<geom size='.01' mass='.3' contype='0' conaffinity='0'/>
<body name='left' pos='-.045 0 0'><joint name='left' type='slide' axis='1 0 0' damping='2'/>
<geom size='.005' mass='.1' contype='0' conaffinity='0'/></body>
<body name='right' pos='.045 0 0'><joint name='right' type='slide' axis='-1 0 0' damping='2'/>
<geom size='.005' mass='.1' contype='0' conaffinity='0'/></body></body>
<body name='thing' pos='.001 .002 .0295'><freejoint/>
<geom name='thing' type='TYPE' size='.03 .025 .03' mass='.2' euler='3 4 5' friction='.5'/></body>
</worldbody><actuator><motor joint='lift' ctrlrange='-9 9' ctrllimited='true'/>
<position name='close' joint='left' kp='300'/>
<general joint='right' dyntype='filter' dynprm='.03' gainprm='30'/>
</actuator></mujoco>"""
SENSORS = """
<sensor><jointpos joint='left'/><jointvel joint='right'/><ballquat joint='turn'/>
<framelinvel objtype='body' objname='thing'/><framepos objtype='camera' objname='eye'/>
<subtreecom body='palm'/><subtreelinvel body='palm'/>
</sensor>"""
BALL = """
<mujoco><option timestep='.005'/><worldbody><geom name='floor' type='plane' size='1 1 1'/>
<body pos='.3 0 .05'><freejoint/><geom size='.02' mass='.1'/></body></worldbody></mujoco>"""
SOFT_FIELDS = (
    "young", "poisson", "density", "mass_damping", "stiffness_damping", "friction",
    "dissipation_time", "contact_stiffness", "loads", "pressures",
)  # fmt: skip


def pad(name, x, model):
    pose = np.eye(4)
    pose[:3, 3] = x, 0.0, 0.03
    soft = fem.Material(
        young=2e5, poisson=0.3, density=1000.0, model=model, stiffness_damping=0.002
    )
    return fem.SoftBody(
        fem.box([0.02, 0.03, 0.03], 2), soft, pose=pose, friction=0.6, name=name,
        dissipation_time=0.01, contact_stiffness=1e7,
    )  # fmt: skip


def gripper(rng, material="linear_corotated", kind="sphere"):
    """Pads on two fingers of a hand press a free thing that stands on the floor."""
    model = mujoco.MjModel.from_xml_string(GRIPPER.replace("TYPE", kind))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    bodies = []
    for name, x, side in (("left", -0.0385, -1), ("right", 0.0405, 1)):
        body = pad(name, x, material)
        outer = np.flatnonzero(side * (body.positions[:, 0] - x) > 0.009)
        pose = np.eye(4)
        pose[:3, 3] = data.body(name).xpos
        body.attach(outer, name, pose)
        body.positions = body.positions + 3e-4 * rng.standard_normal(body.positions.shape)
        body.velocities = body.velocities + 0.03 * rng.standard_normal(body.positions.shape)
        bodies.append(body)
    data.qvel[:] = 0.1 * rng.standard_normal(model.nv)
    data.act[:] = 0.2
    data.ctrl[:] = 0.3, 0.05, 0.4
    mujoco.mj_integratePos(model, data.qpos, 1e-3 * rng.standard_normal(model.nv), 1.0)
    return model, data, bodies


def stepper_of(model, bodies, **options):
    options = {"sigma": 1e-6, "settings": TIGHT} | options
    return Stepper(model, soft=bodies, **options)


def still_cube(height):
    """A cube over a plane, both at right angles, that does not move, and a ball that hangs."""
    pose = np.eye(4)
    pose[2, 3] = 0.05 + height
    soft = fem.Material(young=1e5, poisson=0.3, density=1000.0)
    body = fem.SoftBody(fem.box([0.1] * 3, 2), soft, pose=pose)
    model = mujoco.MjModel.from_xml_string(BALL)
    return Stepper(model, soft=[body]), mujoco.MjData(model)


def with_number(stepper, given, change):
    """A stepper in the same state with another number."""
    kind, name, field = given[:3]
    model, bodies = copy.copy(stepper.model), copy.deepcopy(stepper.soft)
    if kind == "body" and field in SOFT_FIELDS:
        (body,) = (body for body in bodies if body.name == name)
        holder = body.material if hasattr(body.material, field) else body
        value = getattr(holder, field) + change
        if holder is body:
            setattr(body, field, value)
        else:
            body.material = dataclasses.replace(body.material, **{field: value})
            body.vertex_mass, body.pair_mass = fem.mass_matrix(
                body.mesh, body.material.density, body.mass
            )
    elif kind == "joint":
        model.joint(name).damping[:] += change
    elif kind == "body":
        model.body(name).mass[:] += change
        mujoco.mj_setConst(model, mujoco.MjData(model))
    elif kind == "geom":
        model.geom(name).friction[given[3]] += change
    else:
        model.actuator(name).gainprm[given[3]] += change
    return stepper_of(model, bodies)
