"""Loads of soft bodies on the bodies of a model, and their derivatives at a solved step.

Beside the velocities of the model, the sensors of a step depend on its soft bodies by these loads
alone, six numbers for each body that soft bodies touch or that holds them. With a(p) = (n, a torque
axis x (p - x)) the load along row k is

    W_k = - sum of a_k(p_c) . f_c over contacts - sum of a_k(q_i) . l_i over held vertices
    l_i = (m_i(v) - impulses of contacts on vertex i)/dt
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.fem.derivatives.soft_equations import Equations
from sapwood.fem.reduction import Reduction
from sapwood.mujoco.soft_start import SoftStart, StepEnd

_Float = NDArray[np.float64]


class LoadRow(NamedTuple):
    """One number of the load on a body, and its partial derivatives."""

    body: int
    """The body of the model."""
    axis: int
    """0 to 2 for the force, 3 to 5 for the torque about the centre of mass."""
    gamma: _Float
    """Derivatives by the impulses (n, 3) of the contacts of soft bodies along their frames."""
    m: tuple[_Float, ...]
    """Derivatives by m (n, 3) of each body and flex."""
    positions: _Float
    """Derivatives by the positions of all vertices of the soft bodies, flat, at fixed m."""


class SoftLoads:
    """The loads of soft bodies on the bodies of a model.

    Parameters
    ----------
    start : SoftStart
        The start of the step, which the equations follow.
    equations : Equations
        The equations of the step.
    end : StepEnd
        The end of the step.

    Attributes
    ----------
    flex_contacts : ndarray of int
        Numbers of the contacts of flexes among those of the problem.
    """

    def __init__(self, start: SoftStart, equations: Equations, end: StepEnd) -> None:
        self._start, self._equations, self._end = start, equations, end
        start.follow()
        reduction = equations.reduction(start._find_contacts())
        assert reduction is not None
        owners = [np.full(len(m.contacts.k), m.body) for m in reduction.meetings]
        of_flex = np.concatenate([np.zeros(0, int), *owners]) >= len(start.bodies)
        self.flex_contacts = np.flatnonzero(
            of_flex[reduction.is_acting] if reduction.meetings else of_flex
        )
        self._met, self._held = list(start.met), list(start.held)
        self._holds, self._dt = list(reduction.holds), start.time_step
        self._bodies = sorted({body for body in (*self._met, *self._held) if body >= 0})
        self._centres = start.centres[self._bodies]
        self._find_holders(reduction)
        gamma = reduction.impulses_in_world(end.gamma)
        impulses = reduction.loads_of(gamma)
        self._loads = [
            (equations.momentum(b, end.v[b]).reshape(-1, 3) - impulses[b]) / self._dt
            for b in range(len(start.bodies))
        ]
        # derivatives along each axis of the frames
        axes = [np.broadcast_to(axis, end.gamma.shape) for axis in np.eye(3)]
        self._by_gamma = np.array([self._of_contacts(reduction, axis) for axis in axes])

    def rows(self) -> list[LoadRow]:
        """Find the derivatives of all loads.

        Returns
        -------
        list of LoadRow
            Six for each body that soft bodies load.
        """
        n_rows, sizes = 6 * len(self._bodies), [x.positions.size for x in self._start.bodies]
        if not n_rows:
            return []
        by_positions = np.zeros((n_rows, sum(sizes)))
        for b, end in enumerate(np.cumsum(sizes).tolist()):
            slopes = self._equations.contact_slopes(b, self._powers, n_rows)
            np.add.at(
                by_positions, (slopes.rows % n_rows, end - sizes[b] + slopes.columns), slopes.values
            )
            # the arms of held vertices move with them
            held = np.flatnonzero(self._holder[b] >= 0)
            for axis in range(3):
                turned = np.cross(np.eye(3)[axis], self._loads[b][held])
                columns = end - sizes[b] + 3 * held[:, None] + np.arange(3)
                by_positions[6 * self._holder[b][held, None] + 3 + axis, columns] += turned
        return [
            LoadRow(
                self._bodies[k // 6], k % 6, self._by_gamma[:, :, k].T, self._by_m(k),
                by_positions[k],
            )
            for k in range(n_rows)
        ]  # fmt: skip

    def _find_holders(self, reduction: Reduction) -> None:
        """The body that holds each vertex, by its place among the loaded ones, and the arms."""
        sizes = [len(body.positions) for body in self._start.bodies]
        self._holder = [np.full(n, -1) for n in sizes]
        self._arms = [np.zeros((n, 3)) for n in sizes]
        for hold, body in zip(self._holds, self._held, strict=True):
            place = self._bodies.index(body)
            at = reduction.steps[hold.body].q0[hold.vertices]
            self._holder[hold.body][hold.vertices] = place
            self._arms[hold.body][hold.vertices] = at - self._centres[place]

    def _by_m(self, k: int) -> tuple[_Float, ...]:
        found = [np.zeros_like(v) for v in self._end.v]
        for holder, arms, bar in zip(self._holder, self._arms, found, strict=False):
            held = holder == k // 6
            axis = np.eye(3)[k % 3]
            bar[held] = -(axis if k % 6 < 3 else np.cross(axis, arms[held])) / self._dt
        return tuple(found)

    def _powers(self) -> _Float:
        """Loads by each contact at the impulses of the step, flat; NaN if contacts changed."""
        reduction = self._equations.reduction(self._start._find_contacts())
        if reduction is None:
            return np.full(len(self._end.gamma) * 6 * len(self._bodies), np.nan)
        return self._of_contacts(reduction, self._end.gamma).ravel()

    def _of_contacts(self, reduction: Reduction, gamma: _Float) -> _Float:
        """Loads (n, n_rows) of the acting contacts with given impulses along their frames."""
        forces = reduction.impulses_in_world(gamma) / self._dt
        found, begin = np.zeros((len(forces), len(self._bodies), 6)), 0
        for k, meeting in enumerate(reduction.meetings):
            part = slice(begin, begin + len(meeting.contacts.k))
            begin, force = part.stop, forces[part]
            body = self._met[k] if k < len(self._met) else -1
            # flexes load bodies too, but have impulses of their own among what sensors follow
            if body >= 0 and meeting.body < len(self._holder):
                place = self._bodies.index(body)
                arms = meeting.contacts.points - self._centres[place]
                found[part, place] -= _wrench(arms, force)
            for sign, b, vertices, weights in meeting.sides():
                if b < len(self._holder):  # flexes are not held
                    self._add_shares(found[part], b, vertices, sign * weights, force)
        acting = reduction.is_acting if reduction.meetings else slice(None)
        return found.reshape(len(forces), -1)[acting]

    def _add_shares(
        self, found: _Float, b: int, vertices: NDArray[np.int32], weights: _Float, force: _Float
    ) -> None:
        """Add what the contacts of a body press on vertices that bodies of the model hold."""
        for corner, share in zip(vertices.T, weights.T, strict=True):
            contacts = np.flatnonzero(self._holder[b][corner] >= 0)
            held = corner[contacts]
            loads = _wrench(self._arms[b][held], share[contacts, None] * force[contacts])
            found[contacts, self._holder[b][held]] += loads


def _wrench(arms: _Float, forces: _Float) -> _Float:
    return np.concatenate([forces, np.cross(arms, forces)], axis=1)


def scaled_directions(matrix: _Float) -> tuple[_Float, _Float]:
    """Write a matrix as U V with few columns of U, also where its columns have many sizes.

    Contacts that stick have small changes of velocity along some directions, which stay exact.

    Parameters
    ----------
    matrix : ndarray (m, n)
        The matrix.

    Returns
    -------
    U : ndarray (m, rank)
        Directions, of at most the length of the largest one.
    V : ndarray (rank, n)
        The shares of the columns.
    """
    sizes = np.linalg.norm(matrix, axis=0)
    sizes[sizes == 0.0] = 1.0
    U, s, V = np.linalg.svd(matrix / sizes, full_matrices=False)
    kept = s > 1e-15 * max(float(np.max(s, initial=0.0)), 1e-300)
    return (U * s)[:, kept], V[kept] * sizes
