"""The forward step that matches inverse dynamics: rigid contact, torques given."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sapwood import _core

from .controller import InverseDynamics
from .options import Controller, choice
from .result import InverseDynamicsResult
from .selection import selected

Model = Literal["lcp", "qp", "noslip"]

_CONTROLLER: dict[str, Controller] = {
    "lcp": "lcp_coulomb", "qp": "one_stage", "noslip": "lcp_noslip"
}  # fmt: skip

# a simulation holds whatever contacts determine at all
_ROUND_OFF = 1e-8


def forward(
    M: ArrayLike,
    h: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    J_n: ArrayLike,
    J_t: ArrayLike,
    mu: ArrayLike,
    phi: ArrayLike | None = None,
    *,
    actuated: ArrayLike,
    dt: float,
    model: Model = "lcp",
    edges: int = 4,
) -> InverseDynamicsResult:
    """One step of the rigid contact model that inverse dynamics inverts.

    With the torques of ``InverseDynamics`` it gives back the accelerations asked for, where
    friction leaves one motion possible: inverse dynamics with nothing actuated.

    Parameters
    ----------
    M, h, v, J_n, J_t, mu, phi
        The same as for :meth:`InverseDynamics.solve`.
    tau : (n_q,) array_like
        Torques of the actuated velocities, N m.
    actuated : array_like
        Which these are, as for :class:`InverseDynamics`.
    dt : float
        Time step, s.
    model : str
        ``"lcp"``: Coulomb friction with complementarity. ``"qp"``: the convex model. ``"noslip"``:
        contacts hold or open.
    edges : int
        Edges of the friction pyramid.

    Returns
    -------
    InverseDynamicsResult
        ``v_plus`` is the next velocity; ``tau`` and ``slack`` are empty.
    """
    choice(model, "model", Model)
    chosen = selected(actuated)
    load = _core.as_float64(h, "h", (-1,), "finite").copy()
    torque = _core.as_float64(tau, "tau", (len(chosen),), "finite")
    if chosen.size and chosen.max() >= len(load):
        raise ValueError(f"actuated: {chosen.max()} is no velocity, there are {len(load)}")
    np.subtract.at(load, chosen, torque)
    step = InverseDynamics(
        _CONTROLLER[model], actuated=np.zeros(0, dtype=np.intp), dt=dt, edges=edges,
        rank_tolerance=_ROUND_OFF,
    )  # fmt: skip
    return step.solve(M, load, v, np.zeros(0), J_n, J_t, mu, phi)
