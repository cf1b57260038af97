"""Rigid contact of robots and piles, made from models of Pinocchio.

A robot of `example-robot-data` touches a horizontal floor with points around its feet: more rows
than it has velocities, and rows that depend on each other. It stands, slides or lands. A pile is
bodies that touch each other and the floor at random points. The unknowns are impulses and the next
velocity of one time step, with Coulomb's friction.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from sapwood import ContactProblem

Array = NDArray[np.float64]

DT = 1e-3
"""Time step, s."""


@dataclasses.dataclass(frozen=True)
class Robot:
    """A model and the frames of its feet."""

    file: str
    """below the robots of example-robot-data"""
    feet: tuple[str, ...]
    half_size: tuple[float, float]
    """Sides of the rectangle that the contacts of a foot surround, m."""
    points: int
    """contacts of a foot"""


_SOLE, _BALL = (0.1, 0.05), (0.015, 0.015)
ROBOTS = {
    "talos": Robot(
        "talos_data/robots/talos_reduced.urdf", ("left_sole_link", "right_sole_link"), _SOLE, 12
    ),
    "romeo": Robot("romeo_description/urdf/romeo_small.urdf", ("l_sole", "r_sole"), _SOLE, 12),
    "icub": Robot("icub_description/robots/icub_reduced.urdf", ("l_sole", "r_sole"), _SOLE, 8),
    "g1": Robot(
        "g1_description/urdf/g1_29dof_rev_1_0.urdf",
        ("left_ankle_roll_link", "right_ankle_roll_link"), _SOLE, 8,
    ),
    "anymal": Robot(
        "anymal_b_simple_description/robots/anymal.urdf",
        ("LF_FOOT", "LH_FOOT", "RF_FOOT", "RH_FOOT"), _BALL, 4,
    ),
    "solo12": Robot(
        "solo_description/robots/solo12.urdf",
        ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"), _BALL, 4,
    ),
    "a1": Robot(
        "a1_description/urdf/a1.urdf", ("FL_foot", "FR_foot", "RL_foot", "RR_foot"), _BALL, 4
    ),
    "go2": Robot(
        "go2_description/urdf/go2.urdf", ("FL_foot", "FR_foot", "RL_foot", "RR_foot"), _BALL, 4
    ),
    "hyq": Robot(
        "hyq_description/robots/hyq_no_sensors.urdf",
        ("lf_foot", "lh_foot", "rf_foot", "rh_foot"), _BALL, 4,
    ),
}  # fmt: skip

MOTIONS = ("stands", "slides", "lands")

PILES = 10
PILE_BODIES, PILE_CONTACTS = 20, 60


@dataclasses.dataclass
class Posed:
    """A problem for every solver; rows of a contact are (t1, t2, n)."""

    name: str
    kind: str
    """robot or pile"""
    A: Array
    """(nv, nv) mass matrix"""
    trees: list[int]
    """velocities of each tree"""
    J: Array
    """(3 n, nv)"""
    v_star: Array
    """(nv) velocity without contact impulses"""
    mu: Array
    """(n)"""
    model: pin.Model
    data: pin.Data
    constraints: pin.StdVec_ConstraintModel

    @property
    def W(self) -> Array:
        """The Delassus operator J A^-1 J^T."""
        product: Array = self.J @ np.linalg.solve(self.A, self.J.T)
        return product

    def effective_masses(self) -> Array:
        """w = |W_ii|_F/3 of each contact, 1/kg."""
        n = len(self.mu)
        blocks = self.W.reshape(n, 3, n, 3)[np.arange(n), :, np.arange(n)]
        masses: Array = np.linalg.norm(blocks, axis=(1, 2)) / 3.0
        return masses

    def at(self, share: float) -> ContactProblem:
        """The problem with R = share w."""
        R = share * self.effective_masses()
        return ContactProblem.from_dense(
            self.A, self.v_star, self.J, mu=self.mu, dt=DT, R_t=R, R_n=R,
            v_hat_n=np.zeros(len(R)), trees=self.trees, source=self.name,
        )  # fmt: skip


def names() -> list[str]:
    """All problems."""
    robots = [f"{robot} {motion}" for robot in ROBOTS for motion in MOTIONS]
    return robots + [f"pile {seed}" for seed in range(PILES)]


def make(name: str) -> Posed:
    """The problem of a name.

    Raises
    ------
    FileNotFoundError
        example-robot-data is not installed beside Pinocchio.
    """
    kind, which = name.split()
    return _pile(int(which)) if kind == "pile" else _robot(kind, which)


def _folder() -> Path:
    """The robots of example-robot-data, where its wheel puts them."""
    for path in sys.path:
        folder = Path(path) / "cmeel.prefix/share/example-robot-data/robots"
        if folder.is_dir():
            return folder
    raise FileNotFoundError("example-robot-data is not installed")


def _robot(name: str, motion: str) -> Posed:
    robot = ROBOTS[name]
    model = pin.buildModelFromUrdf(str(_folder() / robot.file), pin.JointModelFreeFlyer())
    data = model.createData()
    q, v = pin.neutral(model), np.zeros(model.nv)
    rng = np.random.default_rng(len(name))
    if motion == "slides":
        v[:2] = 0.8, 0.6
    elif motion == "lands":
        v[2] = -0.5
        v[6:] = 0.2 * rng.standard_normal(model.nv - 6)
    points: list[tuple[int, int, Array]] = []
    pin.forwardKinematics(model, data, q)
    pin.updateFramePlacements(model, data)
    for foot in robot.feet:
        frame = model.frames[model.getFrameId(foot)]
        center = data.oMf[model.getFrameId(foot)].translation
        for angle in 0.2 + 2.0 * np.pi * np.arange(robot.points) / robot.points:
            x, y = np.cos(angle) * robot.half_size[0], np.sin(angle) * robot.half_size[1]
            points.append((frame.parentJoint, 0, center + [x, y, 0.0]))
    normals = np.tile([0.0, 0.0, 1.0], (len(points), 1))
    posed = _pose(f"{name} {motion}", model, data, q, v, points, normals, 0.6)
    return dataclasses.replace(posed, kind="robot", trees=[model.nv])


def _pile(seed: int) -> Posed:
    """Bodies at random places; a contact lies between two of them, or one and the floor."""
    rng = np.random.default_rng(seed)
    model = pin.Model()
    for k in range(PILE_BODIES):
        joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), f"body {k}")
        mass = rng.uniform(0.5, 2.0)
        inertia = pin.Inertia.FromBox(mass, *rng.uniform(0.1, 0.2, 3))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    data = model.createData()
    q = pin.neutral(model)
    places = rng.uniform(-0.5, 0.5, (PILE_BODIES, 3))
    places[:, 2] = 0.1 + 0.1 * np.arange(PILE_BODIES)
    for k, place in enumerate(places):
        q[7 * k : 7 * k + 3] = place
    points, normals = [], []
    for _ in range(PILE_CONTACTS):
        body = int(rng.integers(PILE_BODIES))
        below = int(rng.integers(-1, body))
        up = rng.standard_normal(3) * [0.4, 0.4, 0.0] + [0.0, 0.0, 1.0]
        normal = up / np.linalg.norm(up) if below >= 0 else np.array([0.0, 0.0, 1.0])
        offset = np.append(rng.uniform(-0.08, 0.08, 2), -0.08)
        points.append((body + 1, below + 1, places[body] + offset))
        normals.append(normal)
    v = 0.2 * rng.standard_normal(model.nv)
    posed = _pose(f"pile {seed}", model, data, q, v, points, np.array(normals), 0.5)
    return dataclasses.replace(posed, kind="pile", trees=[6] * PILE_BODIES)


def _pose(
    name: str, model: pin.Model, data: pin.Data, q: Array, v: Array,
    points: list[tuple[int, int, Array]], normals: Array, mu: float,
) -> Posed:  # fmt: skip
    """Contacts at points between two joints, 0 the world; normals lead to the first."""
    a = pin.aba(model, data, q, v, np.zeros(model.nv))
    A = pin.crba(model, data, q)
    A = np.triu(A) + np.triu(A, 1).T
    pin.computeJointJacobians(model, data, q)
    constraints, rows = pin.StdVec_ConstraintModel(), []
    for (first, second, point), normal in zip(points, normals, strict=True):
        world = pin.SE3(_frame(normal), point)
        sides = [data.oMi[joint].actInv(world) for joint in (first, second)]
        contact = pin.PointContactConstraintModel(model, second, sides[1], first, sides[0])
        contact.setFriction(mu)
        constraints.append(pin.ConstraintModel(contact))
        rows.append(_velocity(model, data, first, world) - _velocity(model, data, second, world))
    return Posed(
        name=name, kind="", A=A, trees=[], J=np.vstack(rows), v_star=v + DT * a,
        mu=np.full(len(points), mu), model=model, data=data, constraints=constraints,
    )  # fmt: skip


def _velocity(model: pin.Model, data: pin.Data, joint: int, world: pin.SE3) -> Array:
    """Velocity (3, nv) of the point of a joint that lies at a frame, in its axes."""
    if joint == 0:
        return np.zeros((3, model.nv))
    J = pin.getJointJacobian(model, data, joint, pin.ReferenceFrame.LOCAL)
    local = data.oMi[joint].actInv(world)
    part: Array = (local.toActionMatrixInverse() @ J)[:3]
    return part


def _frame(normal: Array) -> Array:
    """A rotation whose third axis is the normal."""
    other = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = np.cross(other, normal)
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(normal, first), normal])


def problems(chosen: list[str]) -> Iterator[Posed]:
    """Problems by name, one after the other."""
    for name in chosen:
        yield make(name)
