"""The quadruped "Links" of Zapolsky and Drumwright, and the ground that it walks on.

Thirteen bodies, twelve joints, 4.8 kg. Legs in the order left front, right front, left hind, right
hind; of each the hip, which swings the leg sideways, the upper leg and the lower leg. Feet are
spheres. Sizes, masses and inertias are those of its published description, but for the largest
moment of the upper leg, which is misprinted there by ten times: here it is that of the leg's box.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

LEGS = ("LF", "RF", "LH", "RH")
N_JOINTS = 12
FOOT_RADIUS = 0.01
#: Total mass, kg.
MASS = 4.8
#: Feet below the base while it stands, m: legs by coordinates.
STANCE = np.array([[x, y, -0.161853] for x in (0.175, -0.175) for y in (0.07624, -0.07624)])
#: Height of the base while it stands on level ground, m.
HEIGHT = 0.161853 + FOOT_RADIUS

# joints of a leg as the robot stands, rad: those of the other diagonal are their negatives
_CROUCH = np.array([0.1, 0.8, 1.2])
_SIGNS = np.array([1.0, -1.0, -1.0, 1.0])

_LEG = """
    <body name="{leg}_hip" pos="{x0} {y} 0"><joint name="{leg}_roll" axis="{front} 0 0"/>
      <inertial pos="{x25} 0 0" mass=".1" diaginertia="1.5e-5 2.833e-5 2.833e-5"/>
      <geom type="capsule" fromto="0 0 0 {x50} 0 0" size=".006"/>
      <body name="{leg}_upper" pos="{x50} 0 0"><joint name="{leg}_pitch" axis="0 {left} 0"/>
        <inertial pos="{x50} 0 0" mass=".1" diaginertia="1.083e-5 1.233e-4 1.275e-4"/>
        <geom type="capsule" fromto="0 0 0 {x100} 0 0" size=".006"/>
        <body name="{leg}_lower" pos="{x100} 0 0"><joint name="{leg}_knee" axis="0 {left} 0"/>
          <inertial pos="{x50} 0 0" mass=".1" diaginertia="5e-7 3.358e-5 3.358e-5"/>
          <geom type="capsule" fromto="0 0 0 {x100} 0 0" size=".005"/>
          <geom name="{leg}_foot" pos="{x100} 0 0" size="{radius}" rgba=".1 .1 .1 1"/>
        </body></body></body>"""

_ROBOT = """<mujoco><option timestep="{dt}" cone="elliptic"/>
  <visual><headlight ambient=".5 .5 .5"/></visual>
  <default><geom contype="0" conaffinity="0" rgba=".7 .6 .4 1"/></default>
  <asset>
    <texture name="checks" type="2d" builtin="checker" rgb1=".8 .8 .8" rgb2=".7 .7 .7" width="200"
      height="200"/>
    <material name="checks" texture="checks" texrepeat="20 20"/>{asset}
  </asset>
  <worldbody>
    <light pos="0 0 3"/>
    <geom name="ground" {ground} material="checks"/>
    <body name="base" pos="0 0 {height}"><freejoint/>
    <camera mode="track" pos=".35 -.6 .3" xyaxes="1 .55 0 -.2 .3 .9"/>
    <inertial pos="0 0 0" mass="3.6" diaginertia="5.833e-3 3.033e-3 8.633e-3"/>
    <geom name="base" type="box" size=".05 .07 .01"/>{legs}
    </body>
  </worldbody>
  <contact>{pairs}</contact>
  <actuator>{motors}</actuator></mujoco>"""

_PAIR = '<pair geom1="ground" geom2="{geom}" condim="3" friction="{mu} {mu}"/>'


def heights(seed: int = 1, points: int = 151, extent: float = 3.0) -> NDArray[np.float64]:
    """Heights (points, points) of rough ground, m, from 0 to 0.03, on a square of `extent` m.

    A sum of 1000 Gaussians of random places, signs and widths, of a variance of 0.005 m^2 within a
    quarter.
    """
    rng = np.random.default_rng(seed)
    x = np.linspace(-extent / 2, extent / 2, points)
    z = np.zeros((points, points))
    for _ in range(1000):
        centre = rng.uniform(-extent / 2, extent / 2, 2)
        variance = 0.005 * rng.uniform(0.75, 1.25)
        bump = [np.exp(-((x - c) ** 2) / (2.0 * variance)) for c in centre]
        z += rng.choice((-1.0, 1.0)) * np.outer(*bump)
    z -= z.min()
    return np.asarray(z * (0.03 / z.max()))


def robot(mu: float, dt: float, rough: bool = False) -> mujoco.MjModel:
    """The robot on its ground, with a motor on each joint.

    Parameters
    ----------
    mu
        Friction coefficient of ground and robot.
    dt
        Time step, s.
    rough
        Whether the ground is that of `heights`; it is level otherwise.

    Returns
    -------
    mujoco.MjModel
        Its pairs of geoms are the ground with each foot, in the order of `LEGS`, and with the base.
    """
    legs = ""
    for leg in LEGS:
        front, left = (1 if leg[1] == "F" else -1), (1 if leg[0] == "L" else -1)
        x = {f"x{length}": 1e-3 * front * length for length in (25, 50, 100)}
        legs += _LEG.format(
            leg=leg, x0=0.1 * front, y=0.06 * left, front=front, left=left, radius=FOOT_RADIUS, **x
        )
    joints = [f"{leg}_{joint}" for leg in LEGS for joint in ("roll", "pitch", "knee")]
    asset, ground = "", 'type="plane" size="3 3 1"'
    if rough:
        asset = '<hfield name="rough" nrow="151" ncol="151" size="1.5 1.5 .03 .1"/>'
        ground = 'type="hfield" hfield="rough"'
    geoms = [*(f"{leg}_foot" for leg in LEGS), "base"]
    pairs = "".join(_PAIR.format(geom=geom, mu=mu) for geom in geoms)
    motors = "".join(f'<motor joint="{joint}"/>' for joint in joints)
    model = mujoco.MjModel.from_xml_string(
        _ROBOT.format(
            dt=repr(dt),
            asset=asset,
            ground=ground,
            height=HEIGHT,
            legs=legs,
            pairs=pairs,
            motors=motors,
        )
    )
    if rough:
        model.hfield_data[:] = heights().ravel() / 0.03
    return model


def crouched(model: mujoco.MjModel) -> mujoco.MjData:
    """The robot over the origin, legs bent about as it stands, its feet not yet placed."""
    data = mujoco.MjData(model)
    data.qpos[7:] = np.outer(_SIGNS, _CROUCH).ravel()
    if model.nhfield:
        # above the highest ground that a foot can be on
        points = model.hfield_data.reshape(151, 151)[62:89, 62:89]
        data.qpos[2] += 0.03 * points.max()
    return data
