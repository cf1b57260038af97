"""A trot: where each foot should be, relative to the base, and how fast it should move there.

The trajectory planner of Pacer, after its published code. A foot stands for a share of each cycle,
the duty factor, and moves backwards under the base as the command says; then it swings to where it
will stand next, on a spline that leaves and meets the ground with the velocity of a standing foot.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline, make_interp_spline

from sapwood.studies.walking.robot import STANCE

Array = NDArray[np.float64]

#: Duration of a cycle, s; share of it that a foot stands; how high it swings, m.
CYCLE, DUTY, LIFT = 0.3, 0.75, 0.015
#: When in a cycle the feet come down: those of a diagonal together.
TOUCHDOWN = (0.25, 0.75, 0.75, 0.25)
#: Fastest walk, m/s.
SPEED = 0.2

#: Time in which commands grow to their whole size at the start, s.
START = 0.3

#: Places to walk to, one after the other, m, and how near to each is there, m.
WAYPOINTS = ((0.0, 0.0), (0.25, 0.0), (0.0, 0.25), (0.0, -0.25), (-0.25, 0.0))
NEAR = 0.1


class Guide:
    """Commands that lead along the waypoints: forward speed, m/s, and rate of turn, rad/s."""

    def __init__(self) -> None:
        self._next = 1
        self._recent: deque[Array] = deque(maxlen=10)

    def command(self, time: float, x: float, y: float, heading: float) -> Array:
        """The mean of the last ten commands (2,), this one included, at a time and place."""
        goal = np.array(WAYPOINTS[self._next]) - (x, y)
        if np.hypot(*goal) < NEAR:
            self._next = (self._next + 1) % len(WAYPOINTS)
            goal = np.array(WAYPOINTS[self._next]) - (x, y)
        off = np.arctan2(goal[1], goal[0]) - heading
        off = (off + np.pi) % (2.0 * np.pi) - np.pi
        ahead = SPEED * np.cos(off) if abs(off) < np.pi / 4 else 0.0
        self._recent.append(np.array([ahead, np.clip(off, -1.0, 1.0)]))
        return np.asarray(min(1.0, time / START) * np.mean(self._recent, axis=0))


@dataclass
class Feet:
    """The plan of the four feet, relative to the base.

    Attributes
    ----------
    x, v, a : ndarray (4, 3)
        Positions, velocities and accelerations: m, m/s, m/s^2.
    stands : ndarray (4,) of bool
        Feet that should stand.
    """

    x: Array
    v: Array
    a: Array
    stands: NDArray[np.bool_]


def _drift(command: Array, x: Array) -> Array:
    """Velocity of a standing foot at x under a base that moves as commanded, m/s."""
    return -np.array([command[0] - command[1] * x[1], command[1] * x[0], 0.0])


class Gait:
    """The plan of the feet, in steps of `dt` seconds from time 0 on.

    Parameters
    ----------
    dt
        Time step, s.
    duty
        Share of a cycle that a foot stands; with 0.5 two feet stand at a time.
    cycle
        Duration of a cycle, s.
    """

    def __init__(self, dt: float, duty: float = DUTY, cycle: float = CYCLE) -> None:
        self._dt, self._origin, self._duty, self._cycle = dt, STANCE, duty, cycle
        self._x = STANCE.copy()
        self._v = np.zeros((4, 3))
        self._swing: list[BSpline | None] = [None] * 4
        self._steps = -1

    def advance(self, command: Array) -> Feet:
        """The plan of the next instant, under a command (2,) of forward speed and rate of turn."""
        self._steps += 1
        cycles = self._steps * self._dt / self._cycle
        a, stands = np.zeros((4, 3)), np.ones(4, dtype=bool)
        for foot in range(4):
            since = (cycles - TOUCHDOWN[foot]) % 1.0
            v_before = self._v[foot].copy()
            if since < self._duty:
                self._swing[foot] = None
                self._v[foot] = _drift(command, self._x[foot])
                self._x[foot] += self._dt * self._v[foot]
                a[foot] = np.clip((self._v[foot] - v_before) / self._dt, -500.0, 500.0)
            else:
                stands[foot] = False
                phase = (since - self._duty) / (1.0 - self._duty)
                spline = self._swing[foot]
                if spline is None:
                    spline = self._swing[foot] = self._plan(foot, command)
                rate = 1.0 / ((1.0 - self._duty) * self._cycle)
                self._x[foot] = spline(phase)
                self._v[foot] = rate * spline(phase, 1)
                a[foot] = rate**2 * spline(phase, 2)
        return Feet(self._x.copy(), self._v.copy(), a, stands)

    def _plan(self, foot: int, command: Array) -> BSpline:
        """The swing of a foot, over phases from 0 to 1."""
        seconds = (1.0 - self._duty) * self._cycle
        # where it stands is that of the last instant
        start = self._x[foot] + self._dt * self._v[foot]
        origin = self._origin[foot]
        goal = origin - 0.5 * self._cycle * _drift(command, origin)
        up = np.array([0.0, 0.0, LIFT])
        ends = [[(1, seconds * _drift(command, x)), (2, np.zeros(3))] for x in (start, goal)]
        points = np.array([start, start + up, goal + up, goal])
        return make_interp_spline(np.linspace(0.0, 1.0, 4), points, k=5, bc_type=tuple(ends))
