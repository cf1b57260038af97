"""Energy of impacts that rebound: the largest share of a rebound without a gain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_ROUND_OFF = 1e-9


class Impacts(NamedTuple):
    """Contacts of one island: impulses and velocities of a solution.

    Attributes
    ----------
    gamma : ndarray (n, 3)
        Impulses in the frames (t1, t2, n), N s.
    v_c : ndarray (n, 3)
        Contact velocities, m/s.
    """

    gamma: Array
    v_c: Array


def work(impacts: Impacts, free: ArrayLike, v_hat_t: ArrayLike, fall: float) -> float:
    """Twice the work W - W_g of the contacts on the free motion, J.

    Parameters
    ----------
    impacts : Impacts
        A solution.
    free : array_like (n, 3)
        Contact velocities J v* of the free motion, m/s.
    v_hat_t : array_like (n, 2)
        Velocity to which friction drives the contact: minus that of a moving surface, m/s.
    fall : float
        g dt, m/s.

    Returns
    -------
    float
        Sum of gamma . (J v* + v_c), against the surface, minus g dt gamma_n.
    """
    before = np.array(free, dtype=float)
    before[:, :2] -= 2.0 * np.asarray(v_hat_t)
    before[:, 2] -= fall
    return float(np.sum(impacts.gamma * (before + impacts.v_c)))


def share(
    with_rebounds: Impacts, without: Impacts, free: ArrayLike, v_hat_t: ArrayLike, fall: float
) -> float:
    """The share s of the solution with rebounds that an island takes.

    The largest s <= 1 with W(s) - W_g <= max(W(0) - W_g, 0) for the impulses and velocities
    ``without + s (with_rebounds - without)``.

    Parameters
    ----------
    with_rebounds, without : Impacts
        Both solutions.
    free, v_hat_t : array_like (n, 3), (n, 2)
        As in :func:`work`.
    fall : float
        g dt, m/s.

    Returns
    -------
    float
        1 if the rebounds gain nothing.
    """

    def excess(s: float) -> float:
        parts = (one + s * (two - one) for one, two in zip(without, with_rebounds, strict=True))
        return work(Impacts(*parts), free, v_hat_t, fall) - limit

    limit = 0.0
    limit = max(excess(0.0), 0.0)
    before = np.array(free, dtype=float)
    before[:, :2] -= 2.0 * np.asarray(v_hat_t)
    before[:, 2] -= fall
    scale = np.abs(np.sum(with_rebounds.gamma * before, axis=1)).sum()
    if excess(1.0) <= _ROUND_OFF * scale:
        return 1.0
    # a quadratic function of s, <= 0 at 0 and > 0 at 1
    c, end, middle = excess(0.0), excess(1.0), excess(0.5)
    a = 2.0 * (end + c) - 4.0 * middle
    b = end - c - a
    roots = np.roots([a, b, c]) if a != 0.0 else np.array([-c / b])
    inside = roots[np.isreal(roots)].real
    inside = inside[(inside >= 0.0) & (inside <= 1.0)]
    return float(inside.max(initial=0.0))
