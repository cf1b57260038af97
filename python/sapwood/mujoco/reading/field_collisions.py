"""Collisions that MuJoCo still finds for geoms with patches: contacts with flexes."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from sapwood.mujoco.reading.names import listed, name_of, named

# a margin below any distance, m
_FAR = 1e9

# bits of contype and conaffinity, without the sign
_BITS = 31


def _touched(model: mujoco.MjModel, geoms: Sequence[int]) -> dict[tuple[int, ...], list[int]]:
    """Flexes that may touch some of these geoms, keyed by the geoms they touch."""
    may = model.geom_contype[geoms] & model.flex_conaffinity[:, None]
    may |= model.geom_conaffinity[geoms] & model.flex_contype[:, None]
    found: dict[tuple[int, ...], list[int]] = {}
    for flex in range(model.nflex):
        touched = tuple(geom for geom, bits in zip(geoms, may[flex], strict=True) if bits)
        if touched:
            found.setdefault(touched, []).append(flex)
    return found


def take_from_engine(model: mujoco.MjModel, geoms: Sequence[int]) -> None:
    """Restrict MuJoCo's contacts of these geoms to contacts with flexes.

    Flexes that touch the same geoms share a bit of contype that is free, and the geoms get its
    conaffinity.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper, which is changed.
    geoms : sequence of int
        The compliant geoms.

    Raises
    ------
    ValueError
        If no bit is free; the message names a flex and its geoms.
    """
    filters = ("geom_contype", "geom_conaffinity", "flex_contype", "flex_conaffinity")
    used = int(np.bitwise_or.reduce(np.concatenate([getattr(model, name) for name in filters])))
    free = [1 << bit for bit in range(_BITS) if not used >> bit & 1]
    touched = _touched(model, geoms)
    model.geom_contype[geoms] = model.geom_conaffinity[geoms] = 0
    for these, flexes in touched.items():
        if not free:
            names = listed(named(model, mujoco.mjtObj.mjOBJ_GEOM, these))
            flex = name_of(model, mujoco.mjtObj.mjOBJ_FLEX, flexes[0])
            raise ValueError(
                f"fields: {flex} touches {names}: that needs a bit that no contype and no "
                f"conaffinity of the model has, and all {_BITS} are in use"
            )
        bit = free.pop()
        model.flex_contype[flexes] |= bit
        for name, which in (("geom", list(these)), ("body", model.geom_bodyid[list(these)])):
            getattr(model, f"{name}_conaffinity")[which] |= bit
    pairs = np.isin(model.pair_geom1, geoms) | np.isin(model.pair_geom2, geoms)
    model.pair_margin[pairs] = -_FAR
    model.pair_gap[pairs] = 0.0
