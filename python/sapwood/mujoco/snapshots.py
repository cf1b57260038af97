"""The numbers of the contact problem of a state, and how those of a state close by differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.dense import offsets
from sapwood.differential import Gradient
from sapwood.mujoco.groups import given_entries

_Float = NDArray[np.float64]

# contacts whose J^T diag(1, 1, 2) J differ by less, relative to these, are one that has moved
_SAME = 1e-3
_OF_CONTACT = ("mu", "R_t", "R_n", "v_hat_n")
_OF_ROWS = ("J", "R", "v_hat", "lower", "upper")


@dataclasses.dataclass(frozen=True, eq=False)
class Snapshot:
    """The problem of a state, R and bounds too.

    Attributes
    ----------
    arrays : mapping of str to ndarray
        By the names of :class:`sapwood.ContactProblem`.
    others : mapping of str to ndarray
        Of the constraints of other kinds, as ``_core.ModelStepper.groups`` has them.
    """

    arrays: Mapping[str, NDArray[Any]]
    others: Mapping[str, NDArray[Any]]

    def rows(self, J: ArrayLike) -> _Float:
        """Rows (n_contacts, 3, nv) from blocks in the shape of J."""
        return self._spread(np.asarray(J), np.arange(len(self.arrays["mu"])))

    def spin_rows(self, J: ArrayLike | None) -> _Float:
        """Rows (n_contacts, 3, nv) from blocks in the shape of spin_J; 0 where there are none."""
        found = np.zeros((len(self.arrays["mu"]), 3, len(self.arrays["v_star"])))
        if J is not None:
            contacts = self.arrays["spin_contact"]
            found[contacts] = self._spread(np.asarray(J), contacts)
        return found

    def spin_mu(self, values: ArrayLike | None) -> _Float:
        """Numbers (n_contacts, 3) from those in the shape of spin_mu."""
        found = np.zeros((len(self.arrays["mu"]), 3))
        if values is not None:
            found[self.arrays["spin_contact"]] = values
        return found

    def _spread(self, J: _Float, contacts: NDArray[Any]) -> _Float:
        tree_nv = self.arrays["tree_nv"]
        first = offsets(tree_nv)
        found, begin = np.zeros((len(contacts), 3, first[-1])), 0
        for k, i in enumerate(contacts):
            for t in (self.arrays["tree_a"][i], self.arrays["tree_b"][i]):
                if t >= 0:
                    end = begin + 3 * tree_nv[t]
                    found[k, :, first[t] : first[t + 1]] = J[begin:end].reshape(3, -1)
                    begin = end
        return found


class Differences:
    """What a gradient says of the way from one problem to those of states close by.

    The frames of contacts turn about their normals as the engine likes: they are turned back, which
    the law does not notice.

    Parameters
    ----------
    at : Snapshot
        The problem of the gradient.
    gradient : Gradient
        By its numbers, R, v_hat and bounds as numbers of their own.
    """

    def __init__(self, at: Snapshot, gradient: Gradient) -> None:
        self._at, self._gradient = at, gradient
        self._J, self._J_bar = at.rows(at.arrays["J"]), at.rows(_of(gradient.J))
        self._spin_J = at.spin_rows(at.arrays.get("spin_J"))
        self._spin_J_bar = at.spin_rows(gradient.spin_J)
        self._spin_mu, self._spin_mu_bar = (
            at.spin_mu(x) for x in (at.arrays.get("spin_mu"), gradient.spin_mu)
        )
        # by rows of other constraints, where it is not 0: bounds may be infinite elsewhere
        self._of_rows = {}
        for name in _OF_ROWS:
            bars = [_of(getattr(group, name)) for group in gradient.constraints]
            bar = np.concatenate([np.zeros(0), *bars])
            bar = bar[given_entries(at.others)] if name == "J" and bars else bar
            counts = np.flatnonzero(bar)
            self._of_rows[name] = counts, bar[counts]
        acting = self._J_bar.any(axis=(1, 2))
        for name in _OF_CONTACT:
            acting |= _of(getattr(gradient, name)) != 0.0
        self._acting = np.flatnonzero(acting)

    def __call__(self, other: Snapshot) -> float | None:
        """<dL/dp, p' - p>, or None where a contact or a row that acts is no more."""
        if not np.array_equal(self._at.others["label"], other.others["label"]):
            return None
        found = self._contacts(other)
        if found is None:
            return None
        gradient, at = self._gradient, self._at
        for name in ("A", "v_star"):
            found += _of(getattr(gradient, name)) @ (other.arrays[name] - at.arrays[name])
        for name, (counts, bar) in self._of_rows.items():
            found += bar @ (other.others[name][counts] - at.others[name][counts])
        return float(found)

    def _contacts(self, other: Snapshot) -> float | None:
        found = 0.0
        if not len(self._acting):
            return found
        J, spin_J = other.rows(other.arrays["J"]), other.spin_rows(other.arrays.get("spin_J"))
        spin_mu = other.spin_mu(other.arrays.get("spin_mu"))
        for i in self._acting:
            if not len(J):
                return None
            mine = _shape_of(self._J[i])
            apart = np.abs(_shape_of(J) - mine).max(axis=(1, 2))
            j = int(apart.argmin())
            if apart[j] > _SAME * np.abs(mine).max():
                return None
            # the turn that brings their tangents closest to each other
            U, _, V = np.linalg.svd(self._J[i, :2] @ J[j, :2].T)
            turn = np.eye(3)
            turn[:2, :2] = U @ V
            about = turn[np.ix_([2, 0, 1], [2, 0, 1])]
            found += np.sum(self._J_bar[i] * (turn @ J[j] - self._J[i]))
            found += np.sum(self._spin_J_bar[i] * (about @ spin_J[j] - self._spin_J[i]))
            found += self._spin_mu_bar[i] @ (spin_mu[j] - self._spin_mu[i])
            for name in _OF_CONTACT:
                change = other.arrays[name][j] - self._at.arrays[name][i]
                found += _of(getattr(self._gradient, name))[i] * change
            if self._gradient.v_hat_t is not None:
                moved = turn[:2, :2] @ other.arrays["v_hat_t"][j] - self._at.arrays["v_hat_t"][i]
                found += _of(self._gradient.v_hat_t)[i] @ moved
        return float(found)


def _shape_of(J: _Float) -> _Float:
    """J^T diag(1, 1, 2) J of rows (..., 3, nv): no turn of the tangents changes it."""
    found: _Float = J.swapaxes(-1, -2) @ (np.array([1.0, 1.0, 2.0])[:, None] * J)
    return found


def _of(values: ArrayLike | None) -> _Float:
    return np.asarray(values, np.float64)
