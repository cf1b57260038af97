"""Pressure fields that a model carries in its own custom numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import mujoco

from sapwood.geometry import PressureField
from sapwood.laws.materials import PREFIX
from sapwood.mujoco.arrays import custom_entries
from sapwood.mujoco.names import names_of

_KIND = "field/"


def _custom_field(entry: str, values: Sequence[float]) -> PressureField:
    if not 1 <= len(values) <= 4:
        raise ValueError(
            f"numeric '{entry}' has {len(values)} values, expected modulus, resolution, margin and "
            "thickness, or the first of them"
        )
    modulus, resolution, margin, thickness = (*values, 0.0, 0.0, 0.0)[:4]
    try:
        return PressureField(modulus or math.inf, resolution or None, margin, thickness or None)
    except ValueError as error:
        raise ValueError(f"numeric '{entry}': {error}") from None


def fields_in_numbers(model: mujoco.MjModel) -> dict[str | int, PressureField]:
    """Pressure fields that a model carries in its own custom numbers.

    In MJCF::

        <custom>
          <numeric name="sapwood/field/geom/pad"   data="1e5 0.01"/>
          <numeric name="sapwood/field/geom/soil"  data="1e6 0 0 0.2"/>
          <numeric name="sapwood/field/group/3"    data="1e5 0.02 0.001"/>
        </custom>

    The numbers are those of :class:`sapwood.PressureField`: modulus (Pa, 0 for rigid), resolution
    (m, 0 for none), margin (m) and thickness (m, 0 for none); the last three may be left out.
    Prefixes of attached models are as in :func:`sapwood.laws.custom_materials`.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.

    Returns
    -------
    dict
        By geom name and by group number.

    Raises
    ------
    ValueError
        For a name that fits none of these forms, a geom or group that is not there, or values out
        of range.
    """
    names = set(names_of(model, mujoco.mjtObj.mjOBJ_GEOM))
    groups = set(model.geom_group.tolist())
    fields: dict[str | int, PressureField] = {}
    entries: Mapping[str, Sequence[float]] = custom_entries(model)
    for entry, values in entries.items():
        before, found, rest = entry.partition(PREFIX + _KIND)
        kind, _, name = rest.partition("/")
        if not found:
            continue
        if kind == "geom" and name:
            if before + name not in names:
                raise ValueError(f"numeric '{entry}': there is no geom '{before + name}'")
            fields[before + name] = _custom_field(entry, values)
        elif not before and kind == "group" and name.isdecimal():
            if int(name) not in groups:
                raise ValueError(f"numeric '{entry}': there is no geom in group {name}")
            fields[int(name)] = _custom_field(entry, values)
        else:
            raise ValueError(
                f"numeric '{entry}': must be sapwood/field/geom/NAME or "
                "sapwood/field/group/NUMBER, the latter without a prefix"
            )
    return fields
