"""Contacts from nearest points: phi, the frame, the point of contact and J, pulled back.

The point of contact is midway between both surfaces, c = (c_a + c_b + (r_b - r_a) n)/2. A row of J
by the velocities of a body, linear in the world and angular in the body, is (e, R^T (c - x) x e), e
one of the axes (t1, t2, n).

The law does not tell one tangent from another: no velocity depends on how the frame is turned about
its normal, and derivatives may take any frame along, dE = (n x dn) x E.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.trajectory.meetings import Meeting, Poses, Table, spread
from sapwood.trajectory.rotations import cross, skew

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


class Rows(NamedTuple):
    """Contacts of one table."""

    found: Meeting
    phi: _Float
    """Signed distance (n,), m."""
    E: _Float
    """Axes (t1, t2, n) as rows (n, 3, 3)."""
    arms: tuple[_Float, ...]
    """Vectors from each body to the point of contact (n, 3), m."""
    J: tuple[_Float, ...]
    """Blocks (n, 3, 6) of the first body and, where the table has one, of the second."""


def frames(normals: _Float) -> _Float:
    """Axes (t1, t2, n), right-handed.

    Parameters
    ----------
    normals : ndarray (n, 3)
        Unit normals.

    Returns
    -------
    ndarray (n, 3, 3)
        The axes as rows.
    """
    least = np.zeros_like(normals)
    least[np.arange(len(normals)), np.abs(normals).argmin(axis=1)] = 1.0
    first = cross(least, normals)
    first /= np.sqrt(np.einsum("ij,ij->i", first, first))[:, None]
    return np.stack([first, cross(normals, first), normals], axis=1)


def find_rows(table: Table, poses: Poses) -> Rows:
    """All contacts of a table.

    Parameters
    ----------
    table : Table
        Pairs of cores.
    poses : Poses
        Poses of all bodies.

    Returns
    -------
    Rows
        However far apart they are.
    """
    found = table.find(poses)
    E = frames(found.normal)
    point = 0.5 * (found.c_a + found.c_b + (table.r_b - table.r_a)[:, None] * found.normal)
    arms, J = [], []
    for bodies, sign in _sides(table):
        arm = point - poses.x[bodies]
        block = np.empty((len(arm), 3, 6))
        block[:, :, :3] = E
        # arm x e for each row e is -E [arm]
        block[:, :, 3:] = E @ -skew(arm) @ poses.R[bodies]
        arms.append(arm)
        J.append(sign * block)
    phi = found.distance - table.r_a - table.r_b
    return Rows(found, phi, E, tuple(arms), tuple(J))


def pull_rows(
    table: Table, poses: Poses, rows: Rows, phi_bar: _Float, J_bar: tuple[_Float, ...], to: Poses
) -> Meeting:
    """Derivatives of a loss by poses and nearest points, from derivatives by phi and J.

    Parameters
    ----------
    table : Table
        Pairs of cores.
    poses : Poses
        Poses of all bodies.
    rows : Rows
        The result of :func:`find_rows` there.
    phi_bar : ndarray (n,)
        dL/dphi.
    J_bar : tuple of ndarray (n, 3, 6)
        dL/dJ, of as many blocks as there are.
    to : Poses
        dL/dposes, added to in place.

    Returns
    -------
    Meeting
        dL/d of the nearest points.
    """
    E_bar, point = np.zeros_like(rows.E), np.zeros_like(rows.found.c_a)
    for (bodies, sign), arm, bar in zip(_sides(table), rows.arms, J_bar, strict=True):
        turning = -(rows.E @ skew(arm))
        R = poses.R[bodies]
        by_turning = sign * bar[:, :, 3:] @ R.transpose(0, 2, 1)
        arm_bar = cross(rows.E, by_turning).sum(axis=1)
        E_bar += sign * bar[:, :, :3] + cross(by_turning, arm[:, None, :])
        spread(to.R, bodies, cross(by_turning, turning).sum(axis=1))
        spread(to.x, bodies, -arm_bar)
        point += arm_bar
    n = rows.found.normal
    normal = cross(cross(rows.E, E_bar).sum(axis=1), n)
    normal += (0.5 * (table.r_b - table.r_a))[:, None] * point
    bar_found = Meeting(0.5 * point, 0.5 * point, normal, phi_bar)
    table.pull(poses, rows.found, bar_found, to)
    return bar_found


def _sides(table: Table) -> list[tuple[_Index, float]]:
    """The bodies of each side, and the sign of their velocity in the contact's."""
    sides = [(table.a, 1.0)]
    return sides if (table.b < 0).any() else [*sides, (table.b, -1.0)]
