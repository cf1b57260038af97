"""Barriers of the user's own, as tables that a rigid core reads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sapwood import _core

_Float = NDArray[np.float64]
Function = Callable[[_Float], _Float]

FIRST_NODES = 17
MOST_NODES = 100_000
LEAST_INTERVAL = 1e-9
WITHIN = np.array([0.25, 0.5, 0.75])
"""Places in an interval at which the table is compared with the curvature."""


def tabulate_barrier(
    value: Function, slope: Function, curvature: Function, most: float, tolerance: float = 1e-4
) -> _Float:
    r"""Tabulate a barrier b(s) for ``core="table"``.

    The table holds :math:`b''` at nodes, is linear between them, and is integrated exactly from
    :math:`b(0) = b'(0) = 0`. A relative error of at most `tolerance` in :math:`b''` bounds those of
    :math:`b'` and b by the same number. Beyond `most` the table continues with a constant
    :math:`b''`. :math:`b'' = 1` is the compliant law, and a core acts at s = 1.

    Parameters
    ----------
    value, slope, curvature : callable
        b, its first and its second derivative: functions of s (n,), >= 0, that return (n,).
    most : float
        Largest s, > 0, that the table follows.
    tolerance : float
        Largest relative error of the curvature, from 1e-8 to 0.1.

    Returns
    -------
    ndarray (2, n_nodes)
        Nodes s, and the curvature there: the argument ``core_table``.

    Raises
    ------
    ValueError
        If the barrier is not convex, its curvature not continuous, or its derivatives are not those
        of its value; the text names the function and s.

    Examples
    --------
    A layer that stiffens like 1 + s^2:

    >>> from sapwood import project
    >>> table = tabulate_barrier(
    ...     lambda s: s**2 / 2 + s**4 / 12, lambda s: s + s**3 / 3, lambda s: 1 + s**2, most=2.0)
    >>> contact = project([0.0, 0.0, 1.5], 0.5, 1.0, 1.0, core="table", kappa=1.0, core_table=table)
    >>> float(contact.gamma[2].round(3))
    2.625
    """
    end = float(_core.as_float64(most, "most", (), "positive"))
    error = float(_core.as_float64(tolerance, "tolerance", (), "positive"))
    if not 1e-8 <= error <= 0.1:
        raise ValueError(f"tolerance = {error:g}: must be from 1e-8 to 0.1")
    s = np.linspace(0.0, end, FIRST_NODES)
    coarse = np.ones(len(s) - 1, bool)
    while np.any(coarse):
        if len(s) > MOST_NODES or np.min(np.diff(s)) < LEAST_INTERVAL * end:
            raise ValueError(
                f"curvature({s[:-1][coarse][0]:g}): must be continuous; {len(s)} nodes do not "
                f"follow it to {error:g}"
            )
        s = np.sort(np.concatenate([s, (s[:-1] + s[1:])[coarse] / 2.0]))
        coarse = _misses(s, curvature, error)
    table = np.stack([s, _at(curvature, s, "curvature")])
    _check_integrals(table, value, slope, error)
    return table


def integrals(table: _Float) -> tuple[_Float, _Float]:
    """Slope and value (n,) of the barrier at the nodes of a table (2, n)."""
    c, h = table[1], np.diff(table[0])
    zero = np.zeros(1)
    slope = np.concatenate([zero, np.cumsum(h * (c[:-1] + c[1:]) / 2.0)])
    steps = h * (slope[:-1] + h * (2.0 * c[:-1] + c[1:]) / 6.0)
    return slope, np.concatenate([zero, np.cumsum(steps)])


def _at(function: Function, s: _Float, name: str) -> _Float:
    """The function at s (n,): finite, and positive for the curvature."""
    found = _core.as_float64(function(s), name, s.shape)
    wrong = ~np.isfinite(found)
    rule = "must be finite"
    if name == "curvature":
        wrong |= ~(found > 0.0)
        rule = "must be finite and > 0: the barrier must be convex"
    for i in np.flatnonzero(wrong)[:1]:
        raise ValueError(f"{name}({s[i]:g}) = {found[i]:g}: {rule}")
    return found


def _misses(s: _Float, curvature: Function, error: float) -> NDArray[np.bool_]:
    """True for the intervals in which a line misses the curvature by more than the error."""
    c = _at(curvature, s, "curvature")
    places = (s[:-1] + np.diff(s) * WITHIN[:, None]).ravel()
    exact = _at(curvature, places, "curvature").reshape(len(WITHIN), -1)
    line = c[:-1] + np.diff(c) * WITHIN[:, None]
    return np.asarray(np.any(np.abs(line - exact) > error * exact, axis=0))


def _check_integrals(table: _Float, value: Function, slope: Function, error: float) -> None:
    """Check that the derivatives are those of the value."""
    s = table[0]
    for name, function, integral in zip(
        ("slope", "value"), (slope, value), integrals(table), strict=True
    ):
        given = _at(function, s, name)
        for i in np.flatnonzero(np.abs(given - integral) > 2.0 * error * integral)[:1]:
            raise ValueError(
                f"{name}({s[i]:g}) = {given[i]:g}: must be {integral[i]:g}, the integral of the "
                f"{'curvature' if name == 'slope' else 'slope'} from {name}(0) = 0"
            )
