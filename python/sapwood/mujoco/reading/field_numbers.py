"""Pressure fields that a model carries in its own custom numbers."""

from __future__ import annotations

import math

import mujoco

from sapwood.base.hints import nearest
from sapwood.geometry import PressureField
from sapwood.laws.custom_numbers import PREFIX, Entry, read_entries
from sapwood.mujoco.reading.arrays import custom_entries
from sapwood.mujoco.reading.names import names_of

_NUMBERS = ("modulus", "resolution", "margin", "thickness")


def _of_numbers(
    modulus: float, resolution: float = 0.0, margin: float = 0.0, thickness: float = 0.0
) -> PressureField:
    return PressureField(modulus or math.inf, resolution or None, margin, thickness or None)


def fields_in_numbers(
    model: mujoco.MjModel, faults: list[str] | None = None
) -> dict[str | int, PressureField]:
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
    faults : list of str, optional
        Collects the faults of malformed custom numbers; without it they raise ValueError.

    Returns
    -------
    dict
        Fields by geom name and by group number.

    Raises
    ------
    ValueError
        If a name fits none of these forms, a geom or group does not exist, or a value is out of
        range.
    """
    names = names_of(model, mujoco.mjtObj.mjOBJ_GEOM)
    groups = set(model.geom_group.tolist())

    def read(entry: Entry) -> tuple[str | int, PressureField]:
        text, before, kind, name, _ = entry
        if kind == "geom" and name:
            if before + name not in names:
                hint = nearest(before + name, names)
                raise ValueError(f"numeric '{text}': there is no geom '{before + name}'{hint}")
            return before + name, entry.read(_of_numbers, _NUMBERS)
        if not before and kind == "group" and name.isdecimal():
            if int(name) not in groups:
                raise ValueError(f"numeric '{text}': there is no geom in group {name}")
            return int(name), entry.read(_of_numbers, _NUMBERS)
        raise ValueError(
            f"numeric '{text}': must be sapwood/field/geom/NAME or "
            "sapwood/field/group/NUMBER, the latter without a prefix"
        )

    return read_entries(custom_entries(model), read, faults, PREFIX + "field/")
