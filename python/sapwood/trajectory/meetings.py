"""Nearest points of cores and half-spaces, and derivatives back through them.

A row of a table is a pair of cores that may touch, of radii r_a and r_b. It finds the nearest
points c_a and c_b, the normal n from b to a and the distance d of the cores; phi = d - r_a - r_b.
`pull` is the transpose of the derivative: it takes derivatives of a loss by c_a, c_b, n and d to
derivatives by the positions of the bodies and by small turns of them in the world.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.trajectory.rotations import cross
from sapwood.trajectory.system import TrajectoryError

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

# a nearest point closer to the end of a segment, relative to its half, is the end
_END = 1e-12


class Meeting(NamedTuple):
    """Nearest points of n pairs of cores, also of losses by them."""

    c_a: _Float
    """Points of the first core (n, 3), m."""
    c_b: _Float
    """Points of the second one (n, 3), m."""
    normal: _Float
    """Normals from the second to the first (n, 3)."""
    distance: _Float
    """Along the normal (n,), m; negative in a box and below a plane."""


class Poses(NamedTuple):
    """Poses of bodies in the world; also losses by them, R by small turns (n_bodies, 3)."""

    x: _Float
    """Positions (n_bodies, 3), m."""
    R: _Float
    """Rotation matrices (n_bodies, 3, 3)."""


def spread(to: _Float, bodies: _Index, values: _Float) -> None:
    """Add rows of values to the rows of their bodies.

    Parameters
    ----------
    to : ndarray (n_bodies, m)
        Sums, added to in place.
    bodies : ndarray of int (n,)
        Rows of `to`.
    values : ndarray (n, m)
        The rows.
    """
    if len(to) == 1:
        to[0] += values.sum(axis=0)
    else:
        np.add.at(to, bodies, values)


def placed(poses: Poses, bodies: _Index, local: _Float) -> _Float:
    """Vectors of bodies in the world.

    Parameters
    ----------
    poses : Poses
        Poses of all bodies.
    bodies : ndarray of int (n,)
        The body of each vector.
    local : ndarray (n, 3)
        Along the axes of the body.

    Returns
    -------
    ndarray (n, 3)
        The vectors along the axes of the world.
    """
    found: _Float = (poses.R[bodies] @ local[..., None])[..., 0]
    return found


def points_at(poses: Poses, bodies: _Index, local: _Float) -> _Float:
    """Points of bodies in the world.

    Parameters
    ----------
    poses : Poses
        Poses of all bodies.
    bodies : ndarray of int (n,)
        The body of each point.
    local : ndarray (n, 3)
        Points in the frame of the body, m.

    Returns
    -------
    ndarray (n, 3)
        m.
    """
    return poses.x[bodies] + placed(poses, bodies, local)


def pull_points(poses: Poses, bodies: _Index, points: _Float, bar: _Float, to: Poses) -> None:
    """Derivatives of a loss by poses, from derivatives by points that move with bodies.

    Parameters
    ----------
    poses : Poses
        Poses of all bodies.
    bodies : ndarray of int (n,)
        The body of each point.
    points, bar : ndarray (n, 3)
        Points in the world, m, and dL/d of each.
    to : Poses
        dL/dposes, added to in place.
    """
    spread(to.x, bodies, bar)
    spread(to.R, bodies, cross(points - poses.x[bodies], bar))


def _dot(one: _Float, other: _Float) -> _Float:
    found: _Float = np.einsum("ij,ij->i", one, other)
    return found


@dataclasses.dataclass(frozen=True, eq=False)
class PlaneTable:
    """Points of bodies above half-spaces n.x >= h.

    Attributes
    ----------
    a : ndarray of int (n,)
        Body of each row.
    b : ndarray of int (n,)
        -1, for the world.
    pair : ndarray of int (n,)
        Pair of the scene.
    r_a, r_b : ndarray (n,)
        Radius about the point, m, and 0.
    points : ndarray (n, 3)
        Points in the frame of the body, m.
    plane : ndarray of int (n,)
        Half-space of each row.
    normals : ndarray (n, 3)
        Its normal.
    height : ndarray (n,)
        Its h, m.
    """

    a: _Index
    b: _Index
    pair: _Index
    r_a: _Float
    r_b: _Float
    points: _Float
    plane: _Index
    normals: _Float
    height: _Float

    def find(self, poses: Poses) -> Meeting:
        """The nearest points of all rows."""
        c_a = points_at(poses, self.a, self.points)
        distance = _dot(self.normals, c_a) - self.height
        return Meeting(c_a, c_a - distance[:, None] * self.normals, self.normals, distance)

    def by_height(self, bar: Meeting) -> _Float:
        """dL/dh of each row (n,); -d of its plane's distance."""
        found: _Float = _dot(self.normals, bar.c_b) - bar.distance
        return found

    def pull(self, poses: Poses, found: Meeting, bar: Meeting, to: Poses) -> None:
        """Add the derivatives of a loss by the poses to `to`."""
        c_a = bar.c_a + bar.c_b - self.by_height(bar)[:, None] * self.normals
        pull_points(poses, self.a, found.c_a, c_a, to)


@dataclasses.dataclass(frozen=True, eq=False)
class SegmentTable:
    """Segments of bodies, from centre - half to centre + half; points, where half is 0.

    Attributes
    ----------
    a, b : ndarray of int (n,)
        Bodies of each row.
    pair : ndarray of int (n,)
        Pair of the scene.
    r_a, r_b : ndarray (n,)
        Radii about both, m.
    centres, halves : ndarray (2, n, 3)
        Centres and half lengths of both segments, in the frame of their bodies, m.
    """

    a: _Index
    b: _Index
    pair: _Index
    r_a: _Float
    r_b: _Float
    centres: _Float
    halves: _Float

    def find(self, poses: Poses) -> Meeting:
        """The nearest points of all rows."""
        P, U = self._placed(poses)
        s = _nearest(P[0] - P[1], *U)
        c_a, c_b = (p + at[:, None] * u for p, at, u in zip(P, s, U, strict=True))
        gap = c_a - c_b
        distance = np.sqrt(_dot(gap, gap))
        if not distance.all():
            row = int(distance.argmin())
            raise TrajectoryError(
                f"bodies {self.a[row]} and {self.b[row]}: their cores meet in a point, "
                "which leaves no normal"
            )
        return Meeting(c_a, c_b, gap / distance[:, None], distance)

    def pull(self, poses: Poses, found: Meeting, bar: Meeting, to: Poses) -> None:
        """Add the derivatives of a loss by the poses to `to`."""
        P, U = self._placed(poses)
        gap, n = found.c_a - found.c_b, found.normal
        by_gap = bar.normal / found.distance[:, None]
        by_gap += (bar.distance - _dot(n, by_gap))[:, None] * n
        c_bar = bar.c_a + by_gap, bar.c_b - by_gap
        # gap.U = 0 at ends that are free: [U_a.U_a, -U_a.U_b; ., U_b.U_b] ds = -(dgap.U + gap.dU)
        s = [
            _dot(c - p, u) / np.maximum(_dot(u, u), np.finfo(float).tiny)
            for c, p, u in zip(found[:2], P, U, strict=True)
        ]
        free = [(_dot(u, u) > 0.0) & (np.abs(at) < 1.0 - _END) for u, at in zip(U, s, strict=True)]
        lengths = [np.where(f, _dot(u, u), 1.0) for f, u in zip(free, U, strict=True)]
        both = np.where(free[0] & free[1], _dot(*U), 0.0)
        wanted = [np.where(f, _dot(c, u), 0.0) for f, c, u in zip(free, c_bar, U, strict=True)]
        determinant = lengths[0] * lengths[1] - both**2
        along = (
            (lengths[1] * wanted[0] + both * wanted[1]) / determinant,
            (lengths[0] * wanted[1] + both * wanted[0]) / determinant,
        )
        by_rows = along[1][:, None] * U[1] - along[0][:, None] * U[0]
        for side, sign in enumerate((1.0, -1.0)):
            P_bar = c_bar[side] + sign * by_rows
            U_bar = s[side][:, None] * P_bar - (sign * along[side])[:, None] * gap
            bodies = (self.a, self.b)[side]
            pull_points(poses, bodies, P[side], P_bar, to)
            spread(to.R, bodies, cross(U[side], U_bar))

    def _placed(self, poses: Poses) -> tuple[list[_Float], list[_Float]]:
        """Centres and halves in the world."""
        sides = list(zip((self.a, self.b), self.centres, self.halves, strict=True))
        P = [points_at(poses, bodies, centres) for bodies, centres, _ in sides]
        return P, [placed(poses, bodies, halves) for bodies, _, halves in sides]


def _nearest(gap: _Float, U_a: _Float, U_b: _Float) -> tuple[_Float, _Float]:
    """s and t in [-1, 1] that make |gap + s U_a - t U_b| least (Ericson 2005, section 5.1.9)."""
    aa, ab, bb = _dot(U_a, U_a), _dot(U_a, U_b), _dot(U_b, U_b)
    ga, gb = _dot(gap, U_a), _dot(gap, U_b)
    determinant = aa * bb - ab * ab
    # for parallel segments any s is right: take the middle
    crossing = determinant > 1e-12 * aa * bb
    s = np.where(crossing, (ab * gb - bb * ga) / np.where(crossing, determinant, 1.0), 0.0)
    t = _within(gb + ab * np.clip(s, -1.0, 1.0), bb)
    return _within(ab * t - ga, aa), t


def _within(numerator: _Float, square: _Float) -> _Float:
    """The quotient in [-1, 1]; 0 if the segment is a point."""
    ends = np.where(square > 0.0, numerator / np.where(square > 0.0, square, 1.0), 0.0)
    return np.clip(ends, -1.0, 1.0)


class _InBox(NamedTuple):
    """Points in the frames of boxes."""

    y: _Float
    """The points (n, 3), m."""
    nearest: _Float
    """The nearest point on the box (n, 3), m."""
    normal: _Float
    """Out of the box (n, 3)."""
    distance: _Float
    """Along it (n,), m; negative inside."""
    face: NDArray[np.bool_]
    """The coordinate of the nearest face (n, 3)."""


@dataclasses.dataclass(frozen=True, eq=False)
class BoxTable:
    """Points of bodies outside or inside the boxes of others.

    Attributes
    ----------
    a, b : ndarray of int (n,)
        Bodies of the point and of the box.
    pair : ndarray of int (n,)
        Pair of the scene.
    r_a, r_b : ndarray (n,)
        Radii about both, m.
    points : ndarray (n, 3)
        Points in the frame of body a, m.
    half_sizes : ndarray (n, 3)
        Half sizes of the box, m.
    """

    a: _Index
    b: _Index
    pair: _Index
    r_a: _Float
    r_b: _Float
    points: _Float
    half_sizes: _Float

    def find(self, poses: Poses) -> Meeting:
        """The nearest points of all rows."""
        c_a, local = self._local(poses)
        c_b = points_at(poses, self.b, local.nearest)
        return Meeting(c_a, c_b, placed(poses, self.b, local.normal), local.distance)

    def pull(self, poses: Poses, found: Meeting, bar: Meeting, to: Poses) -> None:
        """Add the derivatives of a loss by the poses to `to`."""
        _, (y, _, normal, distance, face) = self._local(poses)
        R = poses.R[self.b]
        by_normal, by_nearest = (
            (x[:, None, :] @ R)[:, 0] for x in (bar.normal, bar.c_b)
        )  # along the axes of the box
        inside = (distance <= 0.0)[:, None]
        away = np.where(inside, 1.0, distance[:, None])
        by_gap = np.where(inside, 0.0, by_normal - _dot(by_normal, normal)[:, None] * normal) / away
        by_gap += bar.distance[:, None] * normal
        # if the box's nearest point follows the point, it depends on the point only
        follows = np.where(inside, ~face, np.abs(y) < self.half_sizes)
        y_bar = placed(poses, self.b, np.where(follows, by_nearest, by_gap))
        pull_points(poses, self.a, found.c_a, bar.c_a + y_bar, to)
        # the box turns away below the point
        pull_points(poses, self.b, found.c_a, -y_bar, to)
        pull_points(poses, self.b, found.c_b, bar.c_b, to)
        spread(to.R, self.b, cross(found.normal, bar.normal))

    def _local(self, poses: Poses) -> tuple[_Float, _InBox]:
        """The points in the world, and their nearest points on the boxes."""
        c_a = points_at(poses, self.a, self.points)
        y = ((c_a - poses.x[self.b])[:, None, :] @ poses.R[self.b])[:, 0]
        on_box = np.clip(y, -self.half_sizes, self.half_sizes)
        gap = y - on_box
        distance = np.sqrt(_dot(gap, gap))
        inside = distance == 0.0
        depth = self.half_sizes - np.abs(y)
        face = np.zeros(y.shape, np.bool_)
        face[np.arange(len(y)), depth.argmin(axis=1)] = True
        side = np.where(y < 0.0, -1.0, 1.0)
        out = inside[:, None]
        on_box = np.where(out & face, side * self.half_sizes, on_box)
        normal = np.where(out, face * side, gap / np.where(inside, 1.0, distance)[:, None])
        return c_a, _InBox(y, on_box, normal, np.where(inside, -depth.min(axis=1), distance), face)


Table = PlaneTable | SegmentTable | BoxTable
