"""The contacts of a scene in one step: which act, the solve, and its derivatives by the poses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.derivatives.differential import Gradient
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import Solution, Status
from sapwood.solver import SapSolver
from sapwood.trajectory.contact_rows import Rows, find_rows, pull_rows
from sapwood.trajectory.meetings import PlaneTable, Poses, Table
from sapwood.trajectory.system import TrajectoryError

_Float = NDArray[np.float64]


class Encounter(NamedTuple):
    """The contacts of one step, and what the solver made of those that were kept."""

    poses: Poses
    rows: list[Rows]
    kept: list[NDArray[np.intp]]
    """Rows of each table."""
    problem: ContactProblem
    solution: Solution


class Encounters:
    """All pairs of cores that may touch, and the numbers of their contacts.

    Parameters
    ----------
    tables : sequence of Table
        The pairs of cores: with half-spaces first.
    of_pair : mapping of str to ndarray (n_pairs,)
        k, tau_d and mu of each pair of the scene.
    A : ndarray (n_bodies, 6, 6)
        Mass of each body.
    dt, sigma, beta : float
        The same as for :class:`sapwood.ContactProblem`.
    solver : SapSolver
        That solves.
    """

    def __init__(
        self,
        tables: Sequence[Table],
        of_pair: Mapping[str, _Float],
        A: _Float,
        dt: float,
        sigma: float,
        beta: float,
        solver: SapSolver,
    ) -> None:
        self._tables, self._solver = tuple(tables), solver
        self._A, self._dt, self._sigma, self._beta = A, dt, sigma, beta
        self._tree_nv = np.full(len(A), 6, np.int32)
        self._pair = np.concatenate([np.zeros(0, np.int32), *(t.pair for t in tables)])
        self._n_pairs = len(of_pair["k"])
        self._k, self._tau_d, self._mu = (of_pair[x][self._pair] for x in ("k", "tau_d", "mu"))

    def meet(self, poses: Poses, v_star: _Float) -> Encounter | None:
        """Contact in one step.

        A contact without impulse at the solution is not needed for it. So those are given to the
        solver that have one at v*, with all of their pairs, and more where the solution asks.

        Parameters
        ----------
        poses : Poses
            At the start of the step.
        v_star : ndarray (n_bodies, 6)
            Free-motion velocity.

        Returns
        -------
        Encounter or None
            None where v* obeys all laws without an impulse, and is the solution.

        Raises
        ------
        TrajectoryError
            If the solve does not converge.
        """
        rows = [find_rows(table, poses) for table in self._tables]
        kept = np.zeros(len(self._pair), np.bool_)
        found, v = None, v_star
        while (missed := self._pushing(rows, v) & ~kept).any():
            pairs = np.zeros(self._n_pairs, np.bool_)
            pairs[self._pair[missed]] = True
            kept |= pairs[self._pair]
            found = self._solve(poses, rows, kept, v_star)
            v = found.solution.v.reshape(v.shape)
        return found

    def _pushing(self, rows: list[Rows], v: _Float) -> NDArray[np.bool_]:
        """Which contacts have an impulse at v: s > 0, with s R_n as a velocity."""
        phi, v_c = [np.zeros(0)], [np.zeros((0, 3))]
        for table, of in zip(self._tables, rows, strict=True):
            phi.append(of.phi)
            v_c.append((of.J[0] @ v[table.a, :, None])[..., 0])
            if len(of.J) > 1:
                v_c[-1] += (of.J[1] @ v[table.b, :, None])[..., 0]
        velocity = np.concatenate(v_c)
        slip = np.sqrt(velocity[:, 0] ** 2 + velocity[:, 1] ** 2)
        v_hat = -np.concatenate(phi) / (self._dt + self._tau_d)
        found: NDArray[np.bool_] = v_hat - velocity[:, 2] + self._mu * slip > 0.0
        return found

    def _solve(
        self, poses: Poses, rows: list[Rows], kept: NDArray[np.bool_], v_star: _Float
    ) -> Encounter:
        ends = np.cumsum([len(table.a) for table in self._tables])
        chosen = [np.flatnonzero(part) for part in np.split(kept, ends[:-1])]
        parts = list(zip(self._tables, rows, chosen, strict=True))
        problem = ContactProblem(
            self._tree_nv,
            self._A.ravel(),
            v_star.ravel(),
            np.concatenate([table.a[at] for table, _, at in parts]),
            np.concatenate([table.b[at] for table, _, at in parts]),
            np.concatenate([np.stack([J[at] for J in of.J], 1).ravel() for _, of, at in parts]),
            self._mu[kept],
            dt=self._dt,
            phi0=np.concatenate([of.phi[at] for _, of, at in parts]),
            k=self._k[kept],
            tau_d=self._tau_d[kept],
            sigma=self._sigma,
            beta=self._beta,
        )
        solution = self._solver.solve(problem)
        if solution.status not in (Status.converged, Status.stalled):
            raise TrajectoryError(f"the solve ended with {solution.status!s}")
        return Encounter(poses, rows, chosen, problem, solution)

    def pull(
        self, of: Encounter, gradient: Gradient, to: Poses, bars: Mapping[str, _Float]
    ) -> None:
        """From derivatives by the problem, those by poses and by the numbers of the contacts.

        Parameters
        ----------
        of : Encounter
            Where the problem is from.
        gradient : Gradient
            dL/d of the problem.
        to : Poses
            dL/d of the poses, added to in place.
        bars : mapping of str to ndarray
            dL/d of k, tau_d, mu (n_pairs,) and height (n_planes,), added to in place.
        """
        kept = np.concatenate(
            [table.pair[at] for table, at in zip(self._tables, of.kept, strict=True)]
        )
        for name in ("k", "tau_d", "mu"):
            np.add.at(bars[name], kept, getattr(gradient, name))
        phi, J = np.asarray(gradient.phi0), np.asarray(gradient.J)
        for table, rows, at in zip(self._tables, of.rows, of.kept, strict=True):
            sides, size = len(rows.J), 18 * len(rows.J) * len(at)
            phi_bar, J_bar = np.zeros_like(rows.phi), np.zeros((sides, *rows.J[0].shape))
            phi_bar[at] = phi[: len(at)]
            J_bar[:, at] = J[:size].reshape(len(at), sides, 3, 6).transpose(1, 0, 2, 3)
            phi, J = phi[len(at) :], J[size:]
            found = pull_rows(table, of.poses, rows, phi_bar, tuple(J_bar), to)
            if isinstance(table, PlaneTable):
                np.add.at(bars["height"], table.plane, table.by_height(found))
