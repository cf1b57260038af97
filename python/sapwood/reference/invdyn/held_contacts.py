"""Contacts that are held: the mirror of ``csrc/invdyn/tasks/held_contacts.c``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Array = NDArray[np.float64]


def held_contacts(
    geom: ArrayLike,
    dist: ArrayLike,
    pos: ArrayLike,
    frame: ArrayLike,
    friction: ArrayLike,
    dim: ArrayLike,
    geom_bodyid: ArrayLike,
    xpos: ArrayLike,
    xmat: ArrayLike,
    hysteresis: float,
    held: Any,
) -> tuple[Any, ...]:
    """Contacts of a list whose geoms touch, with those that are held beyond them.

    Parameters
    ----------
    geom, dist, pos, frame, friction, dim, geom_bodyid, xpos, xmat, hysteresis
        The arguments of ``_core.held_contacts``.
    held
        The first result of the last call; empty in the first one.

    Returns
    -------
    tuple
        The results of ``_core.held_contacts``.
    """
    geoms, gaps, numbers = np.asarray(geom), np.asarray(dist), np.asarray(friction)
    kinds, bodies = np.asarray(dim), np.asarray(geom_bodyid)[np.maximum(geoms, 0)]
    positions, rotations = np.asarray(xpos), np.asarray(xmat).reshape(-1, 3, 3)
    touch = np.flatnonzero((gaps <= 0.0) & (geoms >= 0).all(axis=1))
    radii = numbers[:, [3, 4, 2]] * (kinds[:, None] >= [6, 6, 4])
    axes = np.roll(np.asarray(frame).reshape(-1, 3, 3), -1, axis=1)
    mu = np.where(kinds > 1, numbers[:, 0], 0.0)
    found = tuple(x[touch] for x in (geoms, bodies, np.asarray(pos), axes, mu, radii, gaps))
    last = held[0] if held else tuple(x[:0] for x in found)
    if not np.array_equal(last[0], found[0]):
        if held:
            last = _moved(last, held[1], held[2], positions, rotations)
        both = tuple(np.concatenate([x, y]) for x, y in zip(last, found, strict=True))
        chosen = _merge(both[0], both[2], both[6], len(last[0]), hysteresis)
        found = tuple(x[chosen] for x in both)
    kept = found, positions.copy(), rotations.copy()
    return kept, np.array_equal(found[0], last[0]), *found


def _moved(
    held: tuple[_Array, ...], xpos: _Array, xmat: _Array, xpos_now: _Array, xmat_now: _Array
) -> tuple[_Array, ...]:
    """The held contacts where their bodies are now: a point of each, the frame on the first."""
    geoms, bodies, positions, frames, mu, radii, gaps = held
    half = 0.5 * (gaps[:, None] * frames[:, 2])[:, None]
    ends = positions[:, None] + half * np.array([[-1.0], [1.0]])
    points = np.einsum("nbji,nbj->nbi", xmat[bodies], ends - xpos[bodies])
    ends = xpos_now[bodies] + np.einsum("nbij,nbj->nbi", xmat_now[bodies], points)
    axes = frames @ xmat[bodies[:, 0]] @ xmat_now[bodies[:, 0]].transpose(0, 2, 1)
    apart = np.einsum("ni,ni->n", axes[:, 2], ends[:, 1] - ends[:, 0])
    return geoms, bodies, ends.mean(axis=1), axes, mu, radii, apart


def _merge(
    geoms: _Array, positions: _Array, gaps: _Array, n_held: int, hysteresis: float
) -> list[int]:
    """Contacts in the plan: of each pair held ones, some replaced by listed ones, then these."""
    pairs: dict[tuple[int, ...], tuple[list[int], list[int]]] = {}
    for i, pair in enumerate(map(tuple, geoms.tolist())):
        pairs.setdefault(pair, ([], []))[i >= n_held].append(i)
    chosen = []
    for old, new in pairs.values():
        if len(new) < len(old):
            for one in new:
                apart = positions[old] - positions[one]
                old.pop(int(np.argmin((apart**2).sum(axis=1))))
            chosen += [i for i in old if gaps[i] <= hysteresis]
        chosen += new
    return chosen
