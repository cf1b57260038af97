"""Coefficient of friction of contacts that stick or slip."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def friction_at(mu: ArrayLike, mu_s: ArrayLike, slip: ArrayLike, V: float) -> NDArray[np.float64]:
    """The coefficient at a slip speed in the state before a step.

    mu + (mu_s - mu) (1 - h(slip/V)) with h(s) = s^3 (10 - 15 s + 6 s^2), and 1 for s > 1.

    Parameters
    ----------
    mu, mu_s : array_like (n,)
        Dynamic and static coefficient of each contact.
    slip : array_like (n,)
        Slip speed, m/s, >= 0.
    V : float
        Speed at which static friction ends, m/s, > 0.

    Returns
    -------
    ndarray (n,)
        Between mu and mu_s.
    """
    s = np.minimum(np.asarray(slip, dtype=float) / V, 1.0)
    static, dynamic = np.asarray(mu_s, dtype=float), np.asarray(mu, dtype=float)
    found: NDArray[np.float64] = dynamic + (static - dynamic) * (
        1.0 - s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    )
    return found
