"""Tabulated barriers: b'' linear between nodes s_j, constant beyond the last one.

    d = s - s_j     b''(s) = c_j + m d,   b'(s) = b'_j + c_j d + m d^2/2,
                    b(s)   = b_j + b'_j d + c_j d^2/2 + m d^3/6

A table is an array (2, n_nodes) of s and c = b''; `sapwood.tabulate_barrier` makes one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.laws.barrier_table import integrals

Array = NDArray[np.float64]


class Nodes(NamedTuple):
    """The nodes of a table (n), or those before given s (...)."""

    s: Array
    curvature: Array
    bend: Array  # slope of the curvature after the node
    slope: Array
    value: Array


def nodes(table: Array) -> Nodes:
    """The nodes (n) of a table (2, n)."""
    s, curvature = table
    bend = np.append(np.diff(curvature) / np.diff(s), 0.0)
    return Nodes(s, curvature, bend, *integrals(table))


def before(table: Array, s: Array) -> tuple[Nodes, NDArray[np.intp]]:
    """The last node at or before each s (...) >= 0, and its number."""
    j = np.searchsorted(table[0], s, side="right") - 1
    return Nodes(*(x[j] for x in nodes(table))), j


def factors(table: Array, s: Array) -> tuple[Array, Array, Array]:
    """beta, phi and s phi' at s (...) >= 0; in the first interval without dividing by s."""
    at, j = before(table, s)
    d, first = s - at.s, j == 0
    x = np.where(first, 1.0, s)
    slope = at.slope + d * (at.curvature + at.bend * d / 2.0)
    value = at.value + d * (at.slope + d * (at.curvature / 2.0 + at.bend * d / 6.0))
    phi = np.where(first, at.curvature + at.bend * d / 2.0, slope / x)
    beta = np.where(first, at.curvature + at.bend * d / 3.0, 2.0 * value / x / x)
    rise = np.where(first, at.bend * d / 2.0, at.curvature + at.bend * d - phi)
    return beta, phi, rise


def increase(at: Nodes, s: Array, ds: Array) -> Array:
    """b(s + ds) - b(s) for both between the nodes `at` and the next ones."""
    d = s - at.s
    slope = at.slope + d * (at.curvature + at.bend * d / 2.0)
    return ds * (slope + ds * ((at.curvature + at.bend * d) / 2.0 + ds * at.bend / 6.0))


def difference(table: Array, s_a: Array, s_b: Array, ds: Array) -> Array:
    """b(s_b) - b(s_a) (...) without cancellation, from ds = s_b - s_a formed without it."""
    forward = ds >= 0.0
    low, high = np.where(forward, s_a, s_b), np.where(forward, s_b, s_a)
    (at, j), (end, k) = before(table, low), before(table, high)
    size = np.abs(ds)
    every = nodes(table)
    following = np.minimum(j + 1, len(every.s) - 1)
    up = every.s[following] - low
    rest = np.where(k == j + 1, size - up, high - end.s)
    across = increase(at, low, up) + (end.value - every.value[following])
    across = across + increase(end, end.s, rest)
    return np.where(forward, 1.0, -1.0) * np.where(k > j, across, increase(at, low, size))


def stiffest(table: Array, s: Array) -> Array:
    """The largest b'' on [0, s] (...)."""
    at, j = before(table, s)
    most = np.maximum.accumulate(table[1])[j]
    return np.maximum(most, at.curvature + at.bend * np.where(at.bend == 0.0, 0.0, s - at.s))
