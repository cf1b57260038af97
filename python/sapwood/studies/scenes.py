"""Scenes built in code: clutter, single bodies with known motions, free flight, a humanoid.

Every function returns a ``mujoco.MjSpec``, to be changed further or compiled::

    model = sapwood.studies.scenes.clutter(bodies=40, seed=3).compile()

Contact materials travel with the model in its custom numbers (see
:func:`sapwood.laws.custom_materials`), so ``sapwood.mujoco.Stepper(model)`` needs no more.
Where a scene starts with a velocity, that is its first keyframe:
``mujoco.mj_resetDataKeyframe(model, data, 0)``.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.checks import integer

BOX_SIZE = 0.8
"""Inner side length of the clutter's container, m."""
CLUTTER_STIFFNESS = 1e12
"""Stiffness of the clutter's geoms, N/m: near-rigid."""
RADIUS = 0.05
"""Radius of the clutter's spheres and half side length of its boxes, m."""
DENSITY = 1000.0
"""Density of the clutter's bodies, kg/m^3."""

_COLUMNS = ((0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2))
_WALL = 0.05  # half thickness, m
_COLORS = (
    (0.86, 0.37, 0.34, 1.0), (0.86, 0.74, 0.34, 1.0), (0.57, 0.80, 0.38, 1.0),
    (0.34, 0.78, 0.68, 1.0), (0.34, 0.58, 0.86, 1.0), (0.63, 0.43, 0.82, 1.0),
)  # fmt: skip

_GEOM = mujoco.mjtGeom


def _new_spec(name: str, time_step: float, *, gravity: float = 9.81) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.modelname = name
    spec.option.timestep = float(_core.as_float64(time_step, "time_step", (), "positive"))
    spec.option.gravity = [0.0, 0.0, -gravity]
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.visual.headlight.ambient = [0.35, 0.35, 0.35]
    spec.visual.headlight.diffuse = [0.45, 0.45, 0.45]
    spec.visual.global_.offwidth = 1600
    spec.visual.global_.offheight = 1200
    spec.add_texture(
        name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.95, 0.97, 1.0], rgb2=[0.62, 0.72, 0.85], width=64, height=384,
    )  # fmt: skip
    # from straight above, so that walls throw no shadow inwards
    spec.worldbody.add_light(
        pos=[0.0, 0.0, 4.0], dir=[0.0, 0.0, -1.0], diffuse=[0.5, 0.5, 0.5], cutoff=60.0
    )
    return spec


def _add_material(
    spec: mujoco.MjSpec, stiffness: float, dissipation_time: float, target: str = "default"
) -> None:
    """Put a contact material into the custom numbers; infinite stiffness is written as 0."""
    values = [0.0 if math.isinf(stiffness) else stiffness, dissipation_time]
    spec.add_numeric(name=f"sapwood/{target}", data=values, size=len(values))


def _add_floor(
    spec: mujoco.MjSpec, friction: float = 1.0, angle: float = 0.0, margin: float = 0.0
) -> None:
    """Plane through the origin, turned by `angle` (rad) about y: downhill is +x."""
    spec.add_texture(
        name="floor", type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=[0.86, 0.86, 0.84], rgb2=[0.78, 0.78, 0.77], width=256, height=256,
    )  # fmt: skip
    material = spec.add_material(name="floor", texrepeat=[5, 5], texuniform=True)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "floor"
    spec.worldbody.add_geom(
        name="floor", type=_GEOM.mjGEOM_PLANE, size=[0, 0, 0.05], material="floor",
        quat=_about_y(angle), friction=[friction, 0.0, 0.0], margin=margin,
    )  # fmt: skip


def _about_y(angle: float) -> list[float]:
    return [math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0]


def _add_free_body(
    spec: mujoco.MjSpec,
    name: str,
    kind: mujoco.mjtGeom,
    size: list[float],
    position: NDArray[np.float64] | list[float],
    rotation: NDArray[np.float64] | list[float] | None = None,
    *,
    mass: float | None = None,
    friction: float = 1.0,
    color: int = 0,
) -> None:
    body = spec.worldbody.add_body(
        name=name, pos=position, quat=[1.0, 0.0, 0.0, 0.0] if rotation is None else rotation
    )
    body.add_freejoint(name=name)
    geom = body.add_geom(
        name=name, type=kind, size=size, friction=[friction, 0.0, 0.0],
        rgba=_COLORS[color % len(_COLORS)], density=DENSITY,
    )  # fmt: skip
    if mass is not None:
        geom.mass = mass


# ---- clutter ------------------------------------------------------------------------------------


def _add_walls(spec: mujoco.MjSpec) -> None:
    half, height = BOX_SIZE / 2, BOX_SIZE / 2
    for i, (x, y) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
        # along x the walls reach around the corners
        width = half + 2 * _WALL if x == 0 else half
        spec.worldbody.add_geom(
            name=f"wall_{i}", type=_GEOM.mjGEOM_BOX,
            size=[_WALL if x else width, _WALL if y else width, height],
            pos=[x * (half + _WALL), y * (half + _WALL), height],
            friction=[1.0, 0.0, 0.0], rgba=[0.5, 0.65, 0.9, 0.12],
        )  # fmt: skip


def _random_rotation(random: np.random.Generator) -> NDArray[np.float64]:
    q = random.standard_normal(4)
    return q / np.linalg.norm(q)


def clutter(
    bodies: int = 40,
    walls: bool = True,
    seed: int = 0,
    *,
    time_step: float = 0.01,
    stiffness: float = CLUTTER_STIFFNESS,
    friction: float = 1.0,
) -> mujoco.MjSpec:
    """Spheres and boxes that drop in four columns, into a box or on open floor (section X-C).

    Spheres have a radius of 5 cm (0.524 kg), boxes sides of 10 cm (1 kg); which of the two, and the
    rotation of the boxes, is random. The bodies of a column hang above each other at the distance
    of their bounding spheres, a few millimetres off its axis. The dissipation time of all geoms is
    the time step.

    Parameters
    ----------
    bodies : int
        Number of bodies, dealt to the four columns in turn.
    walls : bool
        Walls around 80 cm x 80 cm, 80 cm high.
    seed : int
        Of the random assortment.
    time_step : float
        In s.
    stiffness : float
        Of every geom, N/m.
    friction : float
        Of every geom.

    Returns
    -------
    mujoco.MjSpec

    Raises
    ------
    TypeError, ValueError
        For numbers of bodies or seeds that are no integers >= 0, or a time step that is not > 0.
    """
    bodies = integer(bodies, "bodies", least=0)
    random = np.random.default_rng(integer(seed, "seed", least=0))
    spec = _new_spec("clutter", time_step)
    # address space for the contacts of a dense heap; pages that are not needed are never touched
    spec.memory = 2**24 + 2**18 * bodies
    _add_material(spec, stiffness, time_step)
    _add_floor(spec, friction)
    if walls:
        _add_walls(spec)
    spec.worldbody.add_camera(
        name="view", pos=[1.55, -1.75, 1.5], xyaxes=[0.75, 0.66, 0.0, -0.33, 0.37, 0.87], fovy=38
    )

    # height that each column has reached, and the bounding radius of its last body
    tops, last = np.zeros(4), np.zeros(4)
    for i in range(bodies):
        column = i % 4
        box = bool(random.integers(2))
        bound = math.sqrt(3.0) * RADIUS if box else RADIUS
        tops[column] += last[column] + bound + 1e-3
        last[column] = bound
        offset = random.uniform(-5e-3, 5e-3, 2)
        _add_free_body(
            spec, f"{'box' if box else 'sphere'}_{i}",
            _GEOM.mjGEOM_BOX if box else _GEOM.mjGEOM_SPHERE,
            [RADIUS] * 3 if box else [RADIUS, 0, 0],
            [*(_COLUMNS[column] + offset), tops[column]],
            _random_rotation(random) if box else None,
            friction=friction, color=i,
        )  # fmt: skip
    return spec


# ---- single bodies ------------------------------------------------------------------------------


def box_on_slope(
    angle: float, friction: float, *, time_step: float = 0.01, margin: float = 1e-3
) -> mujoco.MjSpec:
    """A box of 10 cm (1 kg) lying on a slope that falls towards +x.

    It stays for friction > tan(angle) and slides at g (sin(angle) - friction cos(angle)) otherwise.
    The margin keeps all four corners in contact: without it those that carry least open and close
    by fractions of a micrometre, and the box rocks. A box that slides glides at a height of
    friction (dt + tau_d) times its speed (section VII), which the margin must hold too.

    Parameters
    ----------
    angle : float
        Of the slope, rad.
    friction : float
        Of floor and box.
    time_step : float
        In s.
    margin : float
        Distance at which contacts are listed, m.

    Returns
    -------
    mujoco.MjSpec
    """
    spec = _new_spec("box_on_slope", time_step)
    _add_floor(spec, friction, angle, margin)
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    _add_free_body(
        spec, "box", _GEOM.mjGEOM_BOX, [RADIUS] * 3, RADIUS * normal, _about_y(angle),
        friction=friction,
    )  # fmt: skip
    return spec


def sliding_box(
    speed: float, friction: float, *, time_step: float = 0.01, margin: float = 1e-3
) -> mujoco.MjSpec:
    """A flat box (1 kg) on level floor that starts at a speed along +x, in the first keyframe.

    It decelerates at friction g and stops after speed^2/(2 friction g). For the margin see
    :func:`box_on_slope`.

    Parameters
    ----------
    speed : float
        In m/s.
    friction : float
        Of floor and box.
    time_step : float
        In s.
    margin : float
        Distance at which contacts are listed, m.

    Returns
    -------
    mujoco.MjSpec
    """
    spec = _new_spec("sliding_box", time_step)
    _add_floor(spec, friction, margin=margin)
    size = [2 * RADIUS, 2 * RADIUS, RADIUS / 4]
    _add_free_body(
        spec, "box", _GEOM.mjGEOM_BOX, size, [0.0, 0.0, RADIUS / 4], mass=1.0, friction=friction
    )
    spec.add_key(
        name="start", qpos=[0, 0, RADIUS / 4, 1, 0, 0, 0], qvel=[speed, 0.0, 0.0, 0.0, 0.0, 0.0]
    )
    return spec


def sphere_on_floor(
    height: float = 0.0,
    *,
    stiffness: float = 1e4,
    dissipation_time: float = 0.0,
    mass: float = 1.0,
    time_step: float = 1e-4,
) -> mujoco.MjSpec:
    """A compliant sphere of 5 cm above a rigid floor.

    Without dissipation it swings with the period 2 pi sqrt(m/k) about its depth m g/k while in
    contact; dropped from high above, a bounce takes pi sqrt(m/k) and gives the speed back.

    Parameters
    ----------
    height : float
        Gap between the floor and the sphere at the start, m; negative for overlap.
    stiffness : float
        Of the sphere, N/m.
    dissipation_time : float
        Of the sphere, s.
    mass : float
        Of the sphere, kg.
    time_step : float
        In s.

    Returns
    -------
    mujoco.MjSpec
    """
    spec = _new_spec("sphere_on_floor", time_step)
    _add_material(spec, math.inf, dissipation_time)
    _add_material(spec, stiffness, dissipation_time, "geom/sphere")
    _add_floor(spec)
    _add_free_body(
        spec, "sphere", _GEOM.mjGEOM_SPHERE, [RADIUS, 0, 0], [0.0, 0.0, RADIUS + height], mass=mass
    )
    return spec


# ---- free flight --------------------------------------------------------------------------------


def _add_chain(spec: mujoco.MjSpec, position: list[float]) -> None:
    """Three capsules along x, the first one free, then a ball and a hinge."""
    link = spec.worldbody.add_body(name="link_0", pos=position)
    link.add_freejoint(name="chain")
    for i, joint in enumerate((None, mujoco.mjtJoint.mjJNT_BALL, mujoco.mjtJoint.mjJNT_HINGE)):
        if joint is not None:
            link = link.add_body(name=f"link_{i}", pos=[0.16, 0.0, 0.0])
            link.add_joint(name=f"joint_{i}", type=joint, axis=[0.0, 1.0, 0.0])
        link.add_geom(
            name=f"link_{i}", type=_GEOM.mjGEOM_CAPSULE, fromto=[0, 0, 0, 0.1, 0, 0],
            size=[0.025, 0, 0], density=DENSITY, rgba=_COLORS[4],
        )  # fmt: skip


def free_flight(
    bodies: int = 8, seed: int = 0, *, chain: bool = False, time_step: float = 0.005
) -> mujoco.MjSpec:
    """Spheres and cubes that fly into each other without gravity; the first keyframe is the start.

    Nothing acts from outside, so linear and angular momentum are conserved through the collisions:
    to round-off, since neither spheres nor cubes have gyroscopic forces. With the chain they are to
    first order in the time step, as symplectic Euler moves its links.

    Parameters
    ----------
    bodies : int
        Number of free bodies, spheres and boxes in turn.
    seed : int
        Of positions, rotations and velocities.
    chain : bool
        A chain of three links, joined by a ball and a hinge, in the middle.
    time_step : float
        In s.

    Returns
    -------
    mujoco.MjSpec

    Raises
    ------
    TypeError, ValueError
        As for :func:`clutter`.
    """
    bodies = integer(bodies, "bodies", least=0)
    random = np.random.default_rng(integer(seed, "seed", least=0))
    spec = _new_spec("free_flight", time_step, gravity=0.0)

    qpos: list[float] = []
    qvel: list[float] = []
    if chain:
        qpos += [-0.15, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
        qvel += [*random.uniform(-0.5, 0.5, 6), *random.uniform(-1.0, 1.0, 4)]
        _add_chain(spec, qpos[:3])

    # bodies all around, on their way to the middle
    for i in range(bodies):
        direction = random.standard_normal(3)
        position = (0.45 + 0.2 * i) * direction / np.linalg.norm(direction)
        rotation = _random_rotation(random)
        box = i % 2 == 1
        _add_free_body(
            spec, f"body_{i}", _GEOM.mjGEOM_BOX if box else _GEOM.mjGEOM_SPHERE,
            [RADIUS] * 3 if box else [RADIUS, 0, 0], position, rotation, color=i,
        )  # fmt: skip
        qpos += [*position, *rotation]
        qvel += [*(-2.0 * position + random.uniform(-0.05, 0.05, 3)), *random.uniform(-3, 3, 3)]
    spec.add_key(name="start", qpos=qpos, qvel=qvel)
    return spec


# ---- articulated --------------------------------------------------------------------------------

# body, parent, position in the parent, capsules (from, to, radius), hinge axes
_HUMANOID = (
    ("torso", None, (0, 0, 1.29), (((0, -0.07, 0), (0, 0.07, 0), 0.07),), ""),
    ("head", "torso", (0, 0, 0.19), (((0, 0, -0.01), (0, 0, 0.01), 0.09),), ""),
    ("waist", "torso", (-0.01, 0, -0.26), (((0, -0.06, 0), (0, 0.06, 0), 0.06),), "zy"),
    ("pelvis", "waist", (0, 0, -0.165), (((-0.02, -0.07, 0), (-0.02, 0.07, 0), 0.09),), "x"),
    ("right_thigh", "pelvis", (0, -0.1, -0.04), (((0, 0.01, 0), (0, 0.01, -0.34), 0.06),), "xzy"),
    ("right_shin", "right_thigh", (0, 0.01, -0.403), (((0, 0, 0), (0, 0, -0.3), 0.049),), "y"),
    ("right_foot", "right_shin", (0, 0, -0.39),
     (((-0.07, -0.02, 0), (0.14, -0.04, 0), 0.027), ((-0.07, 0, 0), (0.14, 0.02, 0), 0.027)),
     "yx"),
    ("left_thigh", "pelvis", (0, 0.1, -0.04), (((0, -0.01, 0), (0, -0.01, -0.34), 0.06),), "xzy"),
    ("left_shin", "left_thigh", (0, -0.01, -0.403), (((0, 0, 0), (0, 0, -0.3), 0.049),), "y"),
    ("left_foot", "left_shin", (0, 0, -0.39),
     (((-0.07, 0.02, 0), (0.14, 0.04, 0), 0.027), ((-0.07, 0, 0), (0.14, -0.02, 0), 0.027)),
     "yx"),
    ("right_arm", "torso", (0, -0.17, 0.06), (((0, 0, 0), (0.16, -0.16, -0.16), 0.04),), "xy"),
    ("right_hand", "right_arm", (0.18, -0.18, -0.18),
     (((0.01, 0.01, 0.01), (0.17, 0.17, 0.17), 0.031),), "y"),
    ("left_arm", "torso", (0, 0.17, 0.06), (((0, 0, 0), (0.16, 0.16, -0.16), 0.04),), "xy"),
    ("left_hand", "left_arm", (0.18, 0.18, -0.18),
     (((0.01, -0.01, 0.01), (0.17, -0.17, 0.17), 0.031),), "y"),
)  # fmt: skip
# ranges of motion of the right side; on the left those about x and z are mirrored
_RANGES = {
    "waist_z": (-45, 45), "waist_y": (-75, 30), "pelvis_x": (-35, 35), "thigh_x": (-30, 10),
    "thigh_z": (-60, 35), "thigh_y": (-120, 20), "shin_y": (-2, 150), "foot_y": (-50, 50),
    "foot_x": (-50, 50), "arm_x": (-60, 85), "arm_y": (-85, 60), "hand_y": (-90, 50),
}  # fmt: skip
_AXES = {"x": [1.0, 0.0, 0.0], "y": [0.0, 1.0, 0.0], "z": [0.0, 0.0, 1.0]}


def _range_of(name: str, axis: str) -> list[float]:
    """Range of motion of a hinge of the humanoid, in degrees, as MJCF has it."""
    side, _, part = name.rpartition("_")
    low, high = _RANGES[f"{part}_{axis}"]
    return [-high, -low] if side == "left" and axis in "xz" else [low, high]


def humanoids(
    count: int = 1, *, time_step: float = 0.005, damping: float = 1.0, limits: bool = False
) -> mujoco.MjSpec:
    """Humanoids of 27 degrees of freedom in a row, above the floor.

    Parameters
    ----------
    count : int
        Number of humanoids.
    time_step : float
        In s.
    damping : float
        Of every hinge, N m s/rad.
    limits : bool
        Whether hinges have the limits of a human's joints.

    Returns
    -------
    mujoco.MjSpec

    Raises
    ------
    TypeError, ValueError
        For a number of humanoids that is no integer >= 0, or a time step that is not > 0.
    """
    count = integer(count, "count", least=0)
    spec = _new_spec("humanoids", time_step)
    _add_floor(spec)
    spec.memory = 2**24 + 2**20 * count
    for i in range(count):
        placed: dict[str, mujoco.MjsBody] = {}
        for name, parent, position, capsules, axes in _HUMANOID:
            offset = (0.0, 1.2 * (i - (count - 1) / 2), 0.0) if parent is None else (0.0, 0.0, 0.0)
            above = spec.worldbody if parent is None else placed[parent]
            body = above.add_body(name=f"{name}_{i}", pos=np.add(position, offset))
            placed[name] = body
            if parent is None:
                body.add_freejoint(name=f"root_{i}")
            for axis in axes:
                joint = body.add_joint(
                    name=f"{name}_{axis}_{i}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=_AXES[axis],
                    damping=[damping, 0.0, 0.0], armature=0.01,
                )  # fmt: skip
                if limits:
                    joint.limited, joint.range = True, _range_of(name, axis)
            for start, end, radius in capsules:
                body.add_geom(
                    type=_GEOM.mjGEOM_CAPSULE, fromto=[*start, *end], size=[radius, 0, 0],
                    density=DENSITY, rgba=_COLORS[i % len(_COLORS)], friction=[1.0, 0.0, 0.0],
                )  # fmt: skip
    return spec
