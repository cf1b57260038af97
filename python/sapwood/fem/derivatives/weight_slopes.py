"""Slopes of the weights w in the regularization of soft contacts.

A weight follows from the block of the Delassus operator of its contact,

    w_i = |W_i|_F/3,   W_i = J_i A^-1 J_i^T

so that, with X_i = A^-1 J_i^T and C_i = W_i/|W_i|_F^2,

    d log w_i = 2 <C_i X_i^T, dJ_i> - <X_i C_i X_i^T, dA>

dA is sparse, as A is: the stiffness of a vertex follows from the vertices around it.
Bodies whose A follows from velocities too, those of several passes, have dA = 0 here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.base.blocks import offsets
from sapwood.problem.contact_problem import ContactProblem

from ..body_step import BodyStep
from ..reduction import Reduction
from ..soft_step import SoftStep
from .slopes import Slopes

_Float = NDArray[np.float64]

# contacts whose derivatives by A are in memory at once
_AT_ONCE = 64


def entries_of(step: BodyStep) -> _Float:
    """List the entries of A of a body: the blocks of the vertices, then those of the pairs.

    Parameters
    ----------
    step : BodyStep
        The equations of the body, with its stiffness evaluated.

    Returns
    -------
    ndarray
        The entries, flat.
    """
    c_K, K, K_pairs, c_M, mass, mass_pairs = step.blocks()
    masses = (mass[:, None, None] * np.eye(3), mass_pairs[:, None, None] * np.eye(3))
    parts = [c_K * K + c_M * M for K, M in zip((K, K_pairs), masses, strict=True)]
    return np.concatenate([part.ravel() for part in parts])


class WeightSlopes:
    """The change of log w of each acting contact of soft bodies, at a solved step.

    Parameters
    ----------
    reduction : Reduction
        The convex problem of the step; the bodies have the factors of A.
    problem : ContactProblem
        The problem at the end of the step.
    """

    def __init__(self, reduction: Reduction, problem: ContactProblem) -> None:
        soft, nv = reduction._soft, problem.tree_nv.astype(np.int64)
        self._J, self._n = soft["J"], len(soft["mu"])
        slopes, owners = np.zeros(len(self._J)), [np.zeros(0, np.int64)]
        begins, is_exact = offsets(nv * nv), reduction.options.delassus == "block"
        A = [
            problem.A[begin : begin + n * n].reshape(n, n)
            for begin, n in zip(begins.tolist(), nv.tolist(), strict=False)
        ]
        self._pairs = [getattr(step.mesh, "pairs", None) for step in reduction.steps]
        self._C = np.zeros((self._n, 3, 3))
        self._X: dict[int, _Float] = {
            b: np.zeros((self._n, len(reduction.steps[b].place), 3, 3))
            for b in reduction.bodies
            if is_exact and self.follows(reduction.steps[b])
        }
        begin = 0
        for i in range(self._n):
            sides = []
            for tree in (int(soft["tree_a"][i]), int(soft["tree_b"][i])):
                if tree >= 0:
                    part = slice(begin, begin + 3 * nv[tree])
                    J = self._J[part].reshape(3, -1)
                    sides.append((tree, part, np.linalg.solve(A[tree], J.T)))
                    self._C[i] += J @ sides[-1][2]
                    begin = part.stop
            self._C[i] *= is_exact / np.sum(self._C[i] ** 2)
            for tree, part, X in sides:
                slopes[part] = 2 * (self._C[i] @ X.T).ravel()
                for b, body in reduction.bodies.items():
                    if body.tree == tree and b in self._X:
                        for k in range(3):
                            self._X[b][i, :, :, k] = body.step.extend(body.changes(X[:, k]))
            owners.append(np.full(sum(3 * nv[tree] for tree, _, _ in sides), i))
        rows, columns = np.concatenate(owners), np.arange(len(self._J))
        self._slopes = Slopes(rows, columns, slopes, (self._n, len(self._J)))

    @staticmethod
    def follows(step: BodyStep) -> bool:
        """Tell whether A of a body follows from its positions at the start alone.

        Parameters
        ----------
        step : BodyStep
            The equations of the body.

        Returns
        -------
        bool
            Whether one pass is exact.
        """
        return isinstance(step, SoftStep) and step.is_quadratic

    def by_jacobian(self, J: _Float) -> _Float:
        """Change of log w, to first order, with another Jacobian.

        Parameters
        ----------
        J : ndarray
            The Jacobian of the contacts, in the layout of a problem.

        Returns
        -------
        ndarray (n,)
            The changes; 0 where the Jacobian is of other contacts.
        """
        if len(J) != len(self._J):  # another count of contacts is found elsewhere
            return np.zeros(self._n)
        return self._slopes.push(J - self._J)

    def by_entries(self, b: int, i: int) -> _Float:
        """Derivatives of log w of a contact by A.

        Parameters
        ----------
        b, i : int
            Numbers of the body and the contact.

        Returns
        -------
        ndarray
            Derivatives by the entries of A of the body, as of :func:`entries_of`.
        """
        X, pairs = self._X[b][i], np.asarray(self._pairs[b])
        first, second = pairs[:, 0], pairs[:, 1]
        left = -X @ self._C[i]
        own = left @ np.swapaxes(X, 1, 2)
        mutual = 2 * left[first] @ np.swapaxes(X[second], 1, 2)
        return np.concatenate([own.ravel(), mutual.ravel()])

    def along(self, b: int, slopes: Slopes) -> _Float:
        """Derivatives of log w through A.

        Parameters
        ----------
        b : int
            Number of the body.
        slopes : Slopes
            Derivatives of the entries of its A.

        Returns
        -------
        ndarray (n, n_columns)
            Derivatives of log w of each contact by the same numbers.
        """
        order = np.argsort(slopes.columns, kind="stable")
        ends = np.cumsum(np.bincount(slopes.columns, minlength=slopes.shape[1]))[:-1]
        parts = np.split(order, ends)
        found = np.empty((self._n, slopes.shape[1]))
        for begin in range(0, self._n, _AT_ONCE):
            chosen = range(begin, min(begin + _AT_ONCE, self._n))
            by = np.stack([self.by_entries(b, i) for i in chosen], axis=1)
            for column, part in enumerate(parts):
                found[begin : chosen.stop, column] = slopes.values[part] @ by[slopes.rows[part]]
        return found

    def has(self, b: int) -> bool:
        """Tell whether weights follow from A of a body.

        Parameters
        ----------
        b : int
            Number of the body.

        Returns
        -------
        bool
            Whether they do.
        """
        return b in self._X
