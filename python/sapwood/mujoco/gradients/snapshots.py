"""The numbers of the contact problem of a state, and their change to a state close by."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.blocks import offsets
from sapwood.derivatives.differential import Gradient
from sapwood.mujoco.reading.names import GeomNames
from sapwood.mujoco.results.groups import given_entries, slip_ratios, stabilized_rows

_Float = NDArray[np.float64]

# relative difference of J^T diag(1, 1, 2) J up to which two contacts are the same one
_SAME = 1e-3
_OF_CONTACT = ("mu", "R_t", "R_n", "v_hat_n")
_OF_ROWS = ("J", "R", "v_hat", "lower", "upper")
_OF_RELEASE = ("R", "v_hat")


@dataclasses.dataclass(frozen=True, eq=False)
class Snapshot:
    """The problem of a state, with R and bounds.

    Attributes
    ----------
    arrays : mapping of str to ndarray
        Arrays by their names in :class:`sapwood.ContactProblem`.
    others : mapping of str to ndarray
        Arrays of the other constraints, as ``_core.ModelStepper.groups`` has them.
    geoms : ndarray of int (n_contacts, 2)
        Numbers of the geoms of each contact.
    time_step : float
        Time step, s.
    sigma : float
        Tangential regularization of what slips.
    """

    arrays: Mapping[str, NDArray[Any]]
    others: Mapping[str, NDArray[Any]]
    geoms: NDArray[np.int32]
    time_step: float
    sigma: float

    def released(self) -> NDArray[np.bool_]:
        """Contacts (n_contacts,) with a correction of the violation slower than one step."""
        of = self.arrays
        return _is_released(of["v_hat_n"], of["phi0"], of["tau_d"], self.time_step)

    def rebounds(self) -> NDArray[np.bool_]:
        """Contacts (n_contacts,) that open with a speed after an impact, which no overlap has."""
        of = self.arrays
        full = -of["phi0"] / (self.time_step + of["tau_d"])
        found: NDArray[np.bool_] = of["v_hat_n"] > (1.0 + 1e-9) * np.maximum(full, 0.0)
        found &= np.isinf(of["k"])
        return found

    def released_rows(self) -> NDArray[np.bool_]:
        """Rows (n_rows,) of other constraints with a slower correction."""
        of = self.others
        slow = _is_released(of["v_hat"], of["value_0"], of["value_2"], self.time_step)
        return slow & stabilized_rows(of)

    def R_t_by_rule_of(self, centre: Snapshot, j: int, i: int) -> tuple[float, float]:
        """R_t of contact j by the rule of contact i of another problem, and its R_t over sigma."""
        w = float(self.arrays["R_t"][j])
        if "slip_ratio" not in self.arrays:
            return w, w / self.sigma
        slip, rule = self.arrays["slip_ratio"][j], centre.arrays["slip_ratio"][i]
        w /= float(_sigma_by_rule(self.sigma, slip, slip))
        return w * float(_sigma_by_rule(self.sigma, slip, rule)), w

    def R_by_rule_of(self, centre: Snapshot) -> _Float:
        """R of rows (n_rows,), by the rules for sigma of the same rows of another problem."""
        slip, rule = slip_ratios(self.others), slip_ratios(centre.others)
        found = _sigma_by_rule(self.sigma, slip, rule) / _sigma_by_rule(self.sigma, slip, slip)
        return np.asarray(self.others["R"] * found)

    def rows(self, J: ArrayLike) -> _Float:
        """Rows (n_contacts, 3, nv) from blocks in the layout of J."""
        return self._spread(np.asarray(J), np.arange(len(self.arrays["mu"])))

    def spin_rows(self, J: ArrayLike | None) -> _Float:
        """Rows (n_contacts, 3, nv) from blocks in the layout of spin_J; 0 without such rows."""
        found = np.zeros((len(self.arrays["mu"]), 3, len(self.arrays["v_star"])))
        if J is not None:
            contacts = self.arrays["spin_contact"]
            found[contacts] = self._spread(np.asarray(J), contacts)
        return found

    def spin_mu(self, values: ArrayLike | None) -> _Float:
        """Numbers (n_contacts, 3) from numbers in the layout of spin_mu."""
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
    """Two states have different constraints, or constraints by different rules."""


class Differences:
    """First-order change of the loss from one problem to the problems of states close by.

    The engine may turn the frame of a contact about its normal; the frames are aligned first, which
    does not change the law. The dissipation time of a contact is shorter while it is open: the
    time of the first problem is used, so that a contact that opens or closes adds no kink. For the
    same reason sigma is the least one, in proportion to the slip, or the full one, as in the first
    problem.

    Parameters
    ----------
    at : Snapshot
        The problem where the gradient was taken.
    gradient : Gradient
        The gradient; R, v_hat and bounds count as numbers of their own.
    names : GeomNames
        Names of the geoms of the model.
    """

    def __init__(self, at: Snapshot, gradient: Gradient, names: GeomNames) -> None:
        self._at, self._gradient, self._names = at, gradient, names
        self._J, self._J_bar = at.rows(at.arrays["J"]), at.rows(_of(gradient.J))
        self._spin_J = at.spin_rows(at.arrays.get("spin_J"))
        self._spin_J_bar = at.spin_rows(gradient.spin_J)
        self._spin_mu, self._spin_mu_bar = (
            at.spin_mu(x) for x in (at.arrays.get("spin_mu"), gradient.spin_mu)
        )
        # derivatives by rows of other constraints, if not 0: bounds may be infinite elsewhere
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
        """<dL/dp, p' - p>; NotComparable if the constraints differ."""
        # the last column is the engine's row number, which does not matter
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
            its = other.R_by_rule_of(at) if name == "R" else other.others[name]
            found += bar @ (its[counts] - at.others[name][counts])
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
            # the angle that aligns their tangents best
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
        """The contact of another problem that corresponds to contact i."""
        between = np.flatnonzero((other.geoms == self._at.geoms[i]).all(axis=1))
        mine = _shape_of(self._J[i])
        apart = np.abs(_shape_of(J[between]) - mine).max(axis=(1, 2), initial=0.0)
        if not (len(between) and apart.min() <= _SAME * np.abs(mine).max()):
            raise NotComparable(f"{self._text(i)} is not there")
        return int(between[apart.argmin()])

    def _changes(self, i: int, other: Snapshot, j: int) -> dict[str, float]:
        """The change to contact j of another problem, with the dissipation time of contact i."""
        mine, its, dt = self._at.arrays, other.arrays, self._at.time_step
        own, time, k = dt + mine["tau_d"][i], dt + its["tau_d"][j], mine["k"][i]
        R_n = its["R_n"][j]
        R_t, w = other.R_t_by_rule_of(self._at, j, i)
        if own != time and _is_spring(mine["R_n"][i], k, dt, own):
            R_n = mine["R_n"][i]
        elif own != time and _is_spring(R_n, k, dt, time):
            # near-rigid with its own damper: R_n is proportional to w
            R_n = mine["R_n"][i] * w / self._at.R_t_by_rule_of(self._at, i, i)[1]
        found = {"mu": float(its["mu"][j] - mine["mu"][i]), "R_t": float(R_t - mine["R_t"][i])}
        found["R_n"] = float(R_n - mine["R_n"][i])
        found["v_hat_n"] = float(its["v_hat_n"][j] * (time / own) - mine["v_hat_n"][i])
        if "delta" in mine and np.isfinite(mine["delta"][i]):
            speed = mine["delta"][i] / own
            found["kappa"] = float(speed**2 * (1.0 / R_n - 1.0 / mine["R_n"][i]))
        return found

    def _text(self, i: int) -> str:
        one, other = (self._names.label("geom", geom) for geom in self._at.geoms[i])
        return f"the contact of {one!r} and {other!r}, {-self._at.arrays['phi0'][i]:.3g} m deep,"


def _sigma_by_rule(sigma: float, slip: ArrayLike, rule: ArrayLike) -> _Float:
    """Sigma at a slip ratio, by the branch of max(1e-6, min(sigma, sigma rule)) at another one."""
    slip, rule, least = _of(slip), _of(rule), min(_core.LEAST_SIGMA, sigma)
    by_slip = sigma * np.where(rule < 1.0, slip, 1.0)
    return np.where(sigma * rule <= least, least, by_slip)


def _is_released(v_hat: _Float, g: _Float, tau_d: _Float, dt: float) -> NDArray[np.bool_]:
    """Whether v_hat is less than the full correction, -g/(dt + tau_d)."""
    return np.abs(v_hat) < (1.0 - 1e-9) * np.abs(g) / (dt + tau_d)


def _is_spring(R_n: float, k: float, dt: float, time: float) -> bool:
    """Whether R_n follows from the stiffness instead of the near-rigid value, Eq. (21)."""
    return bool(R_n * dt * k * time <= 1.0 + 1e-9)


def _shape_of(J: _Float) -> _Float:
    """J^T diag(1, 1, 2) J of rows (..., 3, nv), which does not depend on the tangents."""
    found: _Float = J.swapaxes(-1, -2) @ (np.array([1.0, 1.0, 2.0])[:, None] * J)
    return found


def _of(values: ArrayLike | None) -> _Float:
    return np.asarray(values, np.float64)
