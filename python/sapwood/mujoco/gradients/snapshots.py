"""The numbers of the contact problem of a state, and how those of a state close by differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.base.blocks import offsets
from sapwood.derivatives.differential import Gradient
from sapwood.mujoco.reading.names import GeomNames
from sapwood.mujoco.results.groups import given_entries, stabilized_rows

_Float = NDArray[np.float64]

# contacts whose J^T diag(1, 1, 2) J differ by less, relative to these, are one that has moved
_SAME = 1e-3
_OF_CONTACT = ("mu", "R_t", "R_n", "v_hat_n")
_OF_ROWS = ("J", "R", "v_hat", "lower", "upper")
_OF_RELEASE = ("R", "v_hat")


@dataclasses.dataclass(frozen=True, eq=False)
class Snapshot:
    """The problem of a state, R and bounds too.

    Attributes
    ----------
    arrays : mapping of str to ndarray
        By the names of :class:`sapwood.ContactProblem`.
    others : mapping of str to ndarray
        Of the constraints of other kinds, as ``_core.ModelStepper.groups`` has them.
    geoms : ndarray of int (n_contacts, 2)
        Numbers of the geoms of each contact.
    time_step : float
        Time step, s.
    """

    arrays: Mapping[str, NDArray[Any]]
    others: Mapping[str, NDArray[Any]]
    geoms: NDArray[np.int32]
    time_step: float

    def released(self) -> NDArray[np.bool_]:
        """Contacts (n_contacts,) whose violation at the start is corrected more slowly."""
        of = self.arrays
        return _is_released(of["v_hat_n"], of["phi0"], of["tau_d"], self.time_step)

    def released_rows(self) -> NDArray[np.bool_]:
        """The same of the rows (n_rows,) of other constraints."""
        of = self.others
        slow = _is_released(of["v_hat"], of["value_0"], of["value_2"], self.time_step)
        return slow & stabilized_rows(of)

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


class NotComparable(Exception):
    """What acts in one state is not there in the other, or acts by another rule."""


class Differences:
    """What a gradient says of the way from one problem to those of states close by.

    The frames of contacts turn about their normals as the engine likes: they are turned back, which
    the law does not notice. The dissipation time of a contact, which is shorter where it is open,
    is that of the first problem: a contact that opens or closes on the way brings no kink.

    Parameters
    ----------
    at : Snapshot
        The problem of the gradient.
    gradient : Gradient
        By its numbers, R, v_hat and bounds as numbers of their own.
    names : GeomNames
        Of the geoms of the model.
    """

    def __init__(self, at: Snapshot, gradient: Gradient, names: GeomNames) -> None:
        self._at, self._gradient, self._names = at, gradient, names
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
        self._acting = np.flatnonzero(acting).tolist()
        self._released, self._released_rows = at.released(), at.released_rows()

    def __call__(self, other: Snapshot) -> float:
        """<dL/dp, p' - p>; raises NotComparable."""
        # the last column is the engine's row, which has no say
        if not np.array_equal(self._at.others["label"][:, :3], other.others["label"][:, :3]):
            raise NotComparable("other limits or equality constraints are there")
        found = self._contacts(other)
        gradient, at = self._gradient, self._at
        for name in ("A", "v_star"):
            found += _of(getattr(gradient, name)) @ (other.arrays[name] - at.arrays[name])
        turned = np.flatnonzero(other.released_rows() != self._released_rows)
        for name, (counts, bar) in self._of_rows.items():
            if name in _OF_RELEASE and np.isin(turned, counts).any():
                raise NotComparable("a limit or an equality constraint is released from violation")
            found += bar @ (other.others[name][counts] - at.others[name][counts])
        return float(found)

    def _contacts(self, other: Snapshot) -> float:
        found = 0.0
        if not len(self._acting):
            return found
        J, spin_J = other.rows(other.arrays["J"]), other.spin_rows(other.arrays.get("spin_J"))
        spin_mu, released = other.spin_mu(other.arrays.get("spin_mu")), other.released()
        for i in self._acting:
            j = self._find(i, other, J)
            if released[j] != self._released[i]:
                raise NotComparable(f"{self._text(i)} is released from its depth on one side")
            # the turn that brings their tangents closest to each other
            U, _, V = np.linalg.svd(self._J[i, :2] @ J[j, :2].T)
            turn = np.eye(3)
            turn[:2, :2] = U @ V
            about = turn[np.ix_([2, 0, 1], [2, 0, 1])]
            found += np.sum(self._J_bar[i] * (turn @ J[j] - self._J[i]))
            found += np.sum(self._spin_J_bar[i] * (about @ spin_J[j] - self._spin_J[i]))
            found += self._spin_mu_bar[i] @ (spin_mu[j] - self._spin_mu[i])
            for name, change in self._changes(i, other, j).items():
                found += _of(getattr(self._gradient, name))[i] * change
            if self._gradient.v_hat_t is not None:
                moved = turn[:2, :2] @ other.arrays["v_hat_t"][j] - self._at.arrays["v_hat_t"][i]
                found += _of(self._gradient.v_hat_t)[i] @ moved
        return float(found)

    def _find(self, i: int, other: Snapshot, J: _Float) -> int:
        """The contact of another problem that contact i has become."""
        between = np.flatnonzero((other.geoms == self._at.geoms[i]).all(axis=1))
        mine = _shape_of(self._J[i])
        apart = np.abs(_shape_of(J[between]) - mine).max(axis=(1, 2), initial=0.0)
        if not (len(between) and apart.min() <= _SAME * np.abs(mine).max()):
            raise NotComparable(f"{self._text(i)} is not there")
        return int(between[apart.argmin()])

    def _changes(self, i: int, other: Snapshot, j: int) -> dict[str, float]:
        """To contact j of another problem, with the dissipation time of contact i of this."""
        mine, its, dt = self._at.arrays, other.arrays, self._at.time_step
        own, time, k = dt + mine["tau_d"][i], dt + its["tau_d"][j], mine["k"][i]
        R_n = its["R_n"][j]
        if own != time and _is_spring(mine["R_n"][i], k, dt, own):
            R_n = mine["R_n"][i]
        elif own != time and _is_spring(R_n, k, dt, time):
            # near-rigid with its own damper: as w, which R_t is a multiple of
            R_n = mine["R_n"][i] * its["R_t"][j] / mine["R_t"][i]
        found = {name: float(its[name][j] - mine[name][i]) for name in ("mu", "R_t")}
        found["R_n"] = float(R_n - mine["R_n"][i])
        found["v_hat_n"] = float(its["v_hat_n"][j] * (time / own) - mine["v_hat_n"][i])
        if "delta" in mine and np.isfinite(mine["delta"][i]):
            speed = mine["delta"][i] / own
            found["kappa"] = float(speed**2 * (1.0 / R_n - 1.0 / mine["R_n"][i]))
        return found

    def _text(self, i: int) -> str:
        one, other = (self._names.label("geom", geom) for geom in self._at.geoms[i])
        return f"the contact of {one!r} and {other!r}, {-self._at.arrays['phi0'][i]:.3g} m deep,"


def _is_released(v_hat: _Float, g: _Float, tau_d: _Float, dt: float) -> NDArray[np.bool_]:
    """Whether v_hat is less than that of the whole correction, -g/(dt + tau_d)."""
    return np.abs(v_hat) < (1.0 - 1e-9) * np.abs(g) / (dt + tau_d)


def _is_spring(R_n: float, k: float, dt: float, time: float) -> bool:
    """Whether R_n is that of the stiffness and no near-rigid one, Eq. (21)."""
    return bool(R_n * dt * k * time <= 1.0 + 1e-9)


def _shape_of(J: _Float) -> _Float:
    """J^T diag(1, 1, 2) J of rows (..., 3, nv): no turn of the tangents changes it."""
    found: _Float = J.swapaxes(-1, -2) @ (np.array([1.0, 1.0, 2.0])[:, None] * J)
    return found


def _of(values: ArrayLike | None) -> _Float:
    return np.asarray(values, np.float64)
