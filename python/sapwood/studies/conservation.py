"""Scenes whose energy is known: bodies that are thrown at each other, and a linkage that falls."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import ContactMaterial, PressureField
from sapwood.mujoco import Stepper

TIME_STEPS = (0.01, 0.005, 0.002, 0.001)
"""Time steps of thrown cubes, s."""
MODULI = (1e6, 1e7, 1e8)
"""Moduli of thrown cubes, Pa."""
SPEEDS = (1.0, 3.0)
"""Speeds of thrown cubes, m/s."""
EDGE = 0.1
"""Edge of a thrown cube, m."""

_SHAPES = (
    'type="sphere" size=".05"',
    'type="ellipsoid" size=".05 .04 .03"',
    'type="box" size=".05 .05 .05"',
    'type="box" size=".06 .04 .02"',
    'type="cylinder" size=".04 .05"',
    'type="capsule" size=".03 .04"',
)


class Throw(NamedTuple):
    """The result of a throw."""

    gain: float
    """The largest energy of a run over that of its start."""
    met: int
    """Steps with a contact surface."""


class Pose(NamedTuple):
    """How the thrown body is turned and shifted."""

    quat: NDArray[np.float64]
    """(4)"""
    shift: NDArray[np.float64]
    """(2) across the direction of the throw, m"""


def random_pose(rng: np.random.Generator, reach: float) -> Pose:
    """A rotation, and a shift of at most `reach` along each axis."""
    quat = rng.normal(size=4)
    return Pose(quat / np.linalg.norm(quat), rng.uniform(-reach, reach, 2))


def energy(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Kinetic energy of free bodies whose frames are those of their inertia, J."""
    total = 0.0
    for body, v in enumerate(data.qvel.reshape(-1, 6), start=1):
        w = v[3:]
        total += 0.5 * model.body_mass[body] * float(v[:3] @ v[:3])
        total += 0.5 * float(w @ (model.body_inertia[body] * w))
    return total


# ---- pressure fields ---------------------------------------------------------------------------


def throw(
    dt: float,
    shapes: tuple[str, str],
    fields: tuple[PressureField, PressureField],
    pose: Pose,
    speed: float,
    gap: float,
    seconds: float,
    **options: Any,
) -> Throw:
    """Throw one free body on another in space, where nothing puts energy in.

    Parameters
    ----------
    dt : float
        Time step, s.
    shapes : tuple of str
        Attributes of both geoms in MJCF.
    fields : tuple of PressureField
        Their pressure fields.
    pose : Pose
        Of the second body.
    speed : float
        Of the second body towards the first, m/s.
    gap : float
        Distance of their centres at the start, m.
    seconds : float
        Longest time; a throw ends where the bodies part.
    **options
        Further arguments of the stepper.

    Returns
    -------
    Throw
        Its gain of energy.
    """
    model = mujoco.MjModel.from_xml_string(f"""
    <mujoco>
      <option timestep="{dt}" gravity="0 0 0"/>
      <default><geom mass="1" friction="0.5"/></default>
      <worldbody>
        <body><freejoint/><geom name="a" {shapes[0]}/></body>
        <body pos="0 0 1"><freejoint/><geom name="b" {shapes[1]}/></body>
      </worldbody>
    </mujoco>""")
    stepper = Stepper(model, fields=dict(zip("ab", fields, strict=True)), **options)
    data = mujoco.MjData(model)
    data.qpos[7:10] = [*pose.shift, gap]
    data.qpos[10:14] = pose.quat
    data.qvel[8] = -speed
    before, most, met = energy(model, data), 0.0, 0
    for _ in range(math.ceil(seconds / dt)):
        stepper.step(data)
        met += len(stepper.patches) > 0
        most = max(most, energy(model, data))
        if met and not stepper.patches and data.qvel[8] > data.qvel[2]:
            break
    return Throw(most / before, met)


def cube_poses() -> list[Pose]:
    """Face to face, then seven turned and shifted ones, always the same."""
    rng = np.random.default_rng(18241)
    face_to_face = Pose(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(2))
    return [face_to_face, *(random_pose(rng, 0.03) for _ in range(7))]


def cube_throw(dt: float, modulus: float, speed: float, pose: Pose, **options: Any) -> Throw:
    """Throw a rigid cube on a soft one of an elastic modulus."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, pose.quat)
    corners = EDGE / 2 * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8)
    gap = EDGE / 2 - float((matrix[6:] @ corners).min()) + 1e-3
    fields = PressureField(modulus), PressureField(math.inf)
    return throw(dt, (_SHAPES[2], _SHAPES[2]), fields, pose, speed, gap, 0.2, **options)


def random_throw(rng: np.random.Generator) -> tuple[Throw, tuple[object, ...]]:
    """A throw of two random shapes, and a description of it."""
    dt = float(rng.choice(TIME_STEPS[:3]))
    tau_d = float(rng.choice([0.1 * dt, 0.3 * dt, dt, 4.0 * dt, 0.1]))
    one, two = (_SHAPES[i] for i in rng.integers(len(_SHAPES), size=2))
    modulus = 10 ** rng.uniform(5, 8.5)
    second = math.inf if rng.integers(2) else 10 ** rng.uniform(5, 8.5)
    fields = PressureField(modulus, resolution=0.04), PressureField(second, resolution=0.04)
    pose = random_pose(rng, 0.02)
    speed = rng.uniform(1, 6)
    material = ContactMaterial(dissipation_time=tau_d)
    thrown = throw(dt, (one, two), fields, pose, speed, 0.15, 0.3, contact=material)
    return thrown, (dt, tau_d, one, two, modulus, second, speed)


# ---- impacts -----------------------------------------------------------------------------------


def tumbling_bodies(
    rng: np.random.Generator, friction: float, restitution: float
) -> tuple[Stepper, mujoco.MjData]:
    """Three bodies without gravity that turn and fly into each other, and their stepper."""
    shape = rng.choice(["box", "ellipsoid", "capsule"])
    model = mujoco.MjModel.from_xml_string(f"""
    <mujoco>
      <option timestep="0.002" gravity="0 0 0"/>
      <worldbody>
        <body><freejoint/><geom type="box" size=".1 .05 .02"/></body>
        <body pos=".25 0 0"><freejoint/><geom type="{shape}" size=".05 .1 .03"/></body>
        <body pos="-.25 .1 0"><freejoint/><geom type="capsule" size=".03 .1"/></body>
      </worldbody>
    </mujoco>""")
    data = mujoco.MjData(model)
    for body in range(3):
        q = rng.normal(size=4)
        data.qpos[7 * body + 3 : 7 * body + 7] = q / np.linalg.norm(q)
        data.qvel[6 * body + 3 : 6 * body + 6] = rng.normal(0.0, 5.0, 3)
    data.qvel[6:9] = -rng.uniform(0.5, 5.0), *rng.normal(0.0, 0.2, 2)
    data.qvel[12:15] = rng.uniform(0.5, 5.0), *rng.normal(0.0, 0.2, 2)
    material = ContactMaterial(restitution=restitution, friction=friction)
    return Stepper(model, contact=material), data


class Impacts(NamedTuple):
    """The result of some impacts."""

    gain: float
    """Largest gain of energy of a step without overlap, over the energy before it."""
    impacts: int
    """Steps that lose a thousandth of the energy."""
    limited: int
    """Steps whose rebound is limited, because it would gain energy."""


def impacts(rng: np.random.Generator, friction: float, restitution: float) -> Impacts:
    """Let the tumbling bodies meet for 0.3 s."""
    stepper, data = tumbling_bodies(rng, friction, restitution)
    last, gain, hits, limited = energy(stepper.model, data), 0.0, 0, 0
    for _ in range(150):
        result = stepper.run(data, 1)
        now = energy(stepper.model, data)
        distance = stepper.contacts.distance
        if not len(distance) or distance.min() >= 0.0:
            gain = max(gain, now / last - 1.0)
        hits += now < 0.999 * last
        limited += result.fallbacks["rebound"]
        last = now
    return Impacts(gain, hits, limited)


# ---- closed loops ------------------------------------------------------------------------------

_ROD = '<geom type="capsule" fromto="0 0 0 {0}" size=".01" contype="0" conaffinity="0"/>'
_FOUR_BAR = f"""<mujoco><option timestep="{{dt}}"><flag energy="enable"/></option><worldbody>
  <body><joint type="hinge" axis="0 1 0"/>{_ROD.format("0 0 .3")}
    <body name="coupler" pos="0 0 .3"><joint type="hinge" axis="0 1 0"/>{_ROD.format(".5 0 .1")}
    </body></body>
  <body name="rocker" pos=".5 0 0"><joint type="hinge" axis="0 1 0"/>{_ROD.format("0 0 .4")}</body>
  </worldbody><equality><connect body1="coupler" body2="rocker" anchor=".5 0 .1"/></equality>
</mujoco>"""


def four_bar_energy_error(dt: float) -> float:
    """Largest change of the energy of a four-bar linkage that falls for 2 s, by midpoint, J."""
    model = mujoco.MjModel.from_xml_string(_FOUR_BAR.format(dt=dt))
    stepper, data, energies = Stepper(model, scheme="midpoint"), mujoco.MjData(model), []
    data.qvel[0] = 1e-3
    for _ in range(round(2.0 / dt)):
        mujoco.mj_forward(model, data)
        energies.append(data.energy.sum())
        stepper.step(data)
    return float(np.abs(np.array(energies) - energies[0]).max())


_BAR = '<freejoint/><geom type="box" size=".2 .05 .02" contype="0" conaffinity="0"/>'
_FLOATING = {
    "bars": f"""<body name="a" pos="-.2 0 0">{_BAR}</body><body name="b" pos=".2 0 0">{_BAR}</body>
    </worldbody><equality><connect body1="a" body2="b" anchor=".2 0 0"/></equality>""",
    "welded": f"""<body name="a" pos="-.2 0 0">{_BAR}</body><body name="b" pos=".2 0 0">{_BAR}
    </body></worldbody><equality><weld body1="a" body2="b"/></equality>""",
    "four-bar": """<body name="a"><freejoint/><geom type="box" size=".2 .03 .02" pos=".2 0 0"/>
    <body pos=".4 0 0"><joint axis="0 0 1"/><geom type="box" size=".03 .2 .02" pos="0 .2 0"/>
    <body pos="0 .4 0"><joint axis="0 0 1"/><geom type="box" size=".2 .03 .02" pos="-.2 0 0"/>
    <body name="d" pos="-.4 0 0"><joint axis="0 0 1"/>
    <geom type="box" size=".03 .2 .02" pos="0 -.2 0"/></body></body></body></body></worldbody>
    <equality><connect body1="a" body2="d" anchor="0 0 0"/></equality>""",
}


def floating_loop(name: str, dt: float) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A closed loop of bodies that tumbles at 10 rad/s in space, where nothing puts energy in.

    Parameters
    ----------
    name : str
        "bars": two free bodies that a connect joins; "welded": two that a weld joins; "four-bar": a
        free body with three hinged links, which a connect closes.
    dt : float
        Time step, s.

    Returns
    -------
    MjModel, MjData
        The scene, at velocities that keep the loop closed.
    """
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><option gravity="0 0 0" timestep="{dt}"/>
    <default><geom contype="0" conaffinity="0"/></default>
    <worldbody>{_FLOATING[name]}</mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    w, swing = np.array([3.0, 10.0, 5.0]), np.array([5.0, 3.0, -7.0])
    arms = data.xpos - data.subtree_com[0]
    data.qvel[:3], data.qvel[3:6] = np.cross(w, arms[1]), w
    if name == "four-bar":
        data.qvel[6:] = 5.0, -5.0, 5.0
        return model, data
    data.qvel[6:9], data.qvel[9:] = np.cross(w, arms[2]), w
    if name == "bars":
        for first, sign in ((0, 1.0), (6, -1.0)):
            data.qvel[first : first + 3] += np.cross(swing, [-0.2, 0.0, 0.0])
            data.qvel[first + 3 : first + 6] += sign * swing
    return model, data


def floating_loop_change(name: str, dt: float, **options: Any) -> float:
    """Relative change of the energy of a floating loop in 0.5 s, with options of the stepper."""
    model, data = floating_loop(name, dt)
    ends = []
    for steps in (0, round(0.5 / dt)):
        Stepper(model, **options).run(data, steps)
        mujoco.mj_forward(model, data)
        mujoco.mj_energyVel(model, data)
        ends.append(data.energy[1])
    return float(ends[1] / ends[0] - 1.0)
