"""The plan: keyframes of palms and held objects, postures of hands, forces that are waited for.

A `Phase` says where palms and fingers are to be, how long they may take, and which force ends the
phase before that. Where an object is held, its keyframe is one of the object: the palm is asked for
where it would have to be if the object stayed in the hand as it lies there now, so that what slips
or sags is corrected at the next keyframe.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.studies.dual_arm.arms import AROUND_HANDLE, AROUND_JAR, OPEN
from sapwood.studies.dual_arm.objects import BOWL, HANDLE, JAR, JAR_HEIGHT
from sapwood.studies.dual_arm.poses import Pose
from sapwood.studies.dual_arm.scene import pose

Array = NDArray[np.float64]

#: Axes of the palms as they grip, in the world: fingers ahead, thumb up.
_GRIP = {
    "right": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "left": np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]),
}
# place of the grip in the frame of the palm, m
_IN_PALM = {"right": np.array([0.0591, 0.0, 0.005]), "left": np.array([0.0391, 0.0, 0.008])}
# height at which the jar is gripped, m
_HEIGHT = 0.085


class Push(NamedTuple):
    """A sum of normal forces between two bodies, or a hand and a body: waited for until it is N."""

    first: str
    second: str
    newtons: float


@dataclass(frozen=True)
class Phase:
    """A part of the plan.

    Attributes
    ----------
    name
        What happens.
    seconds
        How long it takes, at most.
    right, left
        Where the palms are to be; None to leave them where they are wanted.
    right_hand, left_hand
        Postures (16,), rad; None to leave them.
    until
        The force that ends it earlier.
    """

    name: str
    seconds: float
    right: Pose | None = None
    left: Pose | None = None
    right_hand: Array | None = None
    left_hand: Array | None = None
    until: Push | None = None


def gripping(side: str, at: Array) -> Pose:
    """Where a palm is to be to have a point (3,) of the world in its grip."""
    R = _GRIP[side]
    return Pose.at(at - R @ _IN_PALM[side], R)


def _holding(data: mujoco.MjData, side: str, body: str, wanted: Pose) -> Pose:
    """Where a palm is to be for the object in it to come to a pose."""
    in_object = pose(data, body).inverse().times(pose(data, f"{side}_palm"))
    return wanted.times(in_object)


def jar_task(data: mujoco.MjData) -> Iterator[Phase]:
    """The task of the paper; each phase is made from the state when it begins.

    Settle, grasp the jar and lift it off the table; grasp the lid, take it aside; tilt the jar over
    the bowl, and back; bring the lid back over the jar as that is held now, lower it until it sits;
    bring the jar home, lower it until it stands.

    Parameters
    ----------
    data
        The scene, after a step.

    Yields
    ------
    Phase
        One after the other.
    """

    def jar(place: Array, tilt: float = 0.0) -> Pose:
        """Palm for the jar's grip point at a place, its mouth tilted towards the bowl, rad."""
        c, s = math.cos(tilt), math.sin(tilt)
        at_grip = Pose.at(place, np.array([[1, 0, 0], [0, c, s], [0, -s, c]]))
        bottom = at_grip.times(Pose.at((0.0, 0.0, -_HEIGHT)))
        return _holding(data, "right", "jar", bottom)

    def lid(place: Array) -> Pose:
        """Palm for the lid's origin at a place, level."""
        return _holding(data, "left", "lid", Pose.at(place))

    yield Phase("settle", 0.6)
    grip = JAR + (0.0, 0.0, _HEIGHT)
    yield Phase("reach jar", 1.0, right=gripping("right", grip))
    yield from _grasp("grasp jar", "right", "jar", AROUND_JAR, 25.0)

    up = grip + (0.0, 0.0, 0.12)
    handle = JAR + (0.0, 0.0, 0.12 + JAR_HEIGHT + HANDLE)
    beside = gripping("left", handle + (0.0, 0.12, 0.0))
    yield Phase("lift jar", 1.2, right=jar(up), left=beside)
    yield Phase("lift jar", 0.6, right=jar(up))
    handle = pose(data, "lid").point((0.0, 0.0, HANDLE))
    yield Phase("reach lid", 0.8, left=gripping("left", handle))
    yield from _grasp("grasp lid", "left", "lid", AROUND_HANDLE, 10.0)

    off = gripping("left", handle)
    yield Phase("open jar", 0.8, left=off.moved(z=0.12))
    yield Phase("open jar", 1.0, left=off.moved(-0.06, 0.36, 0.16))

    over = (BOWL + (0.0, -0.17, 0.25), BOWL + (0.0, -0.135, 0.26), BOWL + (0.0, -0.085, 0.24))
    yield Phase("carry jar", 1.2, right=jar(over[0]))
    yield Phase("pour", 1.2, right=jar(over[1], math.radians(62.5)))
    yield Phase("pour", 1.2, right=jar(over[2], math.radians(125.0)))
    yield Phase("pour", 1.0)
    yield Phase("turn back", 0.8, right=jar(over[1], math.radians(62.5)))
    yield Phase("turn back", 0.8, right=jar(over[0]))

    above = JAR + (0.0, 0.0, 0.12 + JAR_HEIGHT + 0.10)
    yield Phase("bring lid", 1.2, right=jar(up), left=lid(above))
    yield Phase("bring lid", 0.5, right=jar(up))
    for seconds in (0.8, 0.4):
        over_jar = pose(data, "jar").point((0.0, 0.0, JAR_HEIGHT + 0.03))
        yield Phase("close jar", seconds, left=lid(over_jar))
    below = pose(data, "lid").position - (0.0, 0.0, 0.036)
    yield Phase("close jar", 1.2, left=lid(below), until=Push("jar", "lid", 4.0))
    yield Phase("release lid", 0.8, left_hand=OPEN)
    yield Phase("release lid", 1.0, left=pose(data, "left_palm").moved(y=0.12))
    home = gripping("left", np.array([0.72, 0.30, 0.50]))
    yield Phase("bring jar", 1.0, left=home)

    yield Phase("bring jar", 0.8, right=jar(grip + (0.0, 0.0, 0.03)))
    yield Phase("bring jar", 0.4, right=jar(grip + (0.0, 0.0, 0.03)))
    yield Phase("put jar", 2.0, right=jar(grip - (0.0, 0.0, 0.02)), until=Push("jar", "table", 4.0))
    yield Phase("release jar", 1.0, right_hand=OPEN)
    yield Phase("leave", 1.0, right=pose(data, "right_palm").moved(y=-0.12))
    yield Phase("leave", 0.8)


def lift_task(data: mujoco.MjData) -> Iterator[Phase]:
    """The beginning of `jar_task`: settle, grasp the jar, lift it."""
    for phase in jar_task(data):
        if phase.name == "reach lid":
            return
        yield phase


#: Plans by name, and how long they take at most, s.
TASKS = {"jar": (jar_task, 27.7), "lift": (lift_task, 5.2)}


def _grasp(name: str, side: str, body: str, posture: Array, newtons: float) -> Iterator[Phase]:
    """Close a hand, then wait for its grip."""
    push = Push(side, body, newtons)
    if side == "right":
        yield Phase(name, 1.2, right_hand=posture)
    else:
        yield Phase(name, 1.2, left_hand=posture)
    yield Phase(name, 0.5, until=push)
