"""How stiff limits and equality constraints of a model are, and where that comes from."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.checks import stiffness
from sapwood.base.hints import explained, nearest
from sapwood.laws.custom_numbers import Entry, read_entries

_Float = NDArray[np.float64]

KINDS = ("joint", "tendon", "equality")


@explained()
@dataclasses.dataclass(frozen=True)
class ConstraintMaterial:
    """Stiffness of a limit or an equality constraint; immutable, checked when made.

    Parameters
    ----------
    stiffness : float
        k > 0 in N/m, or N m/rad where the constraint is one of angles; infinite for as rigid as the
        time step allows.
    dissipation_time : float, optional
        tau_d >= 0 in s. None is the time step.
    rotational_stiffness : float
        The same as ``stiffness`` for the rotation of a weld, N m/rad.

    Raises
    ------
    TypeError, ValueError
        If a value is not a number or out of range; the text names the field.

    Examples
    --------
    >>> ConstraintMaterial(stiffness=1e5, dissipation_time=0.02)
    ConstraintMaterial(stiffness=100000.0, dissipation_time=0.02, rotational_stiffness=inf)
    """

    stiffness: float = math.inf
    dissipation_time: float | None = None
    rotational_stiffness: float = math.inf

    def __post_init__(self) -> None:
        for name in ("stiffness", "rotational_stiffness"):
            object.__setattr__(self, name, stiffness(getattr(self, name), name))
        if self.dissipation_time is not None:
            _core.as_float64(self.dissipation_time, "dissipation_time", (), "non-negative")
            object.__setattr__(self, "dissipation_time", float(self.dissipation_time))


@dataclasses.dataclass(frozen=True)
class Stiffness:
    """Parameters of all elements of one kind.

    Attributes
    ----------
    k : ndarray (n, 2)
        Stiffness and rotational stiffness, N/m and N m/rad, infinite for rigid.
    tau_d : ndarray (n,)
        Dissipation time, s.
    """

    k: _Float
    tau_d: _Float


def _of_numbers(
    stiffness: float, dissipation_time: float | None = None, rotational_stiffness: float = 0.0
) -> ConstraintMaterial:
    return ConstraintMaterial(
        stiffness or math.inf, dissipation_time, rotational_stiffness or math.inf
    )


def custom_stiffness(
    names: Mapping[str, Sequence[str]],
    entries: Mapping[str, Sequence[float]],
    faults: list[str] | None = None,
) -> dict[str, ConstraintMaterial]:
    """Materials of constraints that a model carries in its own custom numbers.

    In MJCF::

        <custom>
          <numeric name="sapwood/constraint"     data="1e6 0.01"/>
          <numeric name="sapwood/joint/knee"     data="1e4 0.02"/>
          <numeric name="sapwood/equality/hold"  data="1e5 0.02 1e3"/>
        </custom>

    The numbers are stiffness (N/m or N m/rad, 0 for rigid), dissipation time (s) and the rotational
    stiffness of a weld (N m/rad, 0 for rigid); the last two may be left out. Prefixes of attached
    models are as in :func:`sapwood.laws.custom_materials`.

    Parameters
    ----------
    names : mapping
        Names of the elements of each kind.
    entries : mapping
        The model's custom numbers.
    faults : list of str, optional
        Takes the texts of all that is malformed in custom numbers, in the place of ValueError.

    Returns
    -------
    dict
        Materials by keys such as ``joint/knee``, and the default by the empty string.

    Raises
    ------
    ValueError
        For a name of no element, or values out of range.

    Examples
    --------
    >>> custom_stiffness({"joint": ["knee"]}, {"sapwood/joint/knee": [1e4]})["joint/knee"].stiffness
    10000.0
    """
    numbers = ("stiffness", "dissipation time", "rotational stiffness")

    def read(entry: Entry) -> tuple[str, ConstraintMaterial] | None:
        _, before, kind, name, _ = entry
        if kind == "constraint":
            if before or name:
                raise ValueError(f"numeric '{entry.text}': must be sapwood/constraint")
            return "", entry.read(_of_numbers, numbers)
        if kind not in KINDS:
            return None
        if not name or before + name not in names[kind]:
            hint = nearest(before + name, names[kind])
            raise ValueError(f"numeric '{entry.text}': there is no {kind} '{before + name}'{hint}")
        return f"{kind}/{before}{name}", entry.read(_of_numbers, numbers)

    return read_entries(entries, read, faults)


def element_stiffness(
    names: Mapping[str, Sequence[str]],
    entries: Mapping[str, Sequence[float]],
    default: ConstraintMaterial | None,
    overrides: Mapping[str, ConstraintMaterial] | None,
    time_step: float,
    faults: list[str] | None = None,
) -> dict[str, Stiffness]:
    """Stiffness and dissipation time of every joint limit, tendon limit and equality constraint.

    The first of these that speaks of an element decides: ``overrides``, the model's custom numbers
    by name, ``default``, the model's custom default, and last a rigid material.

    Parameters
    ----------
    names : mapping
        Names of the elements of each kind in `KINDS`, empty for none.
    entries : mapping
        The model's custom numbers.
    default : ConstraintMaterial or None
        Material of elements that nothing more special speaks of.
    overrides : mapping or None
        Materials by keys such as ``joint/knee``, ``tendon/cord`` and ``equality/hold``.
    time_step : float
        Dissipation time of materials without one, s.
    faults : list of str, optional
        Takes the texts of all that is malformed in custom numbers, in the place of ValueError.

    Returns
    -------
    dict
        By kind.

    Raises
    ------
    TypeError, ValueError
        For a key that is none of an element, or a value that is no ConstraintMaterial.
    """
    if overrides is None:
        overrides = {}
    elif not isinstance(overrides, Mapping):
        raise TypeError(f"constraints must be a mapping, not {type(overrides).__name__}")
    for key, material in overrides.items():
        kind, _, name = str(key).partition("/")
        if kind not in KINDS or not name:
            raise ValueError(
                f"constraints[{key!r}]: keys must be joint/NAME, tendon/NAME or equality/NAME"
            )
        if name not in names[kind]:
            hint = nearest(name, names[kind])
            raise ValueError(f"constraints[{key!r}]: the model has no {kind} of this name{hint}")
        if not isinstance(material, ConstraintMaterial):
            raise TypeError(
                f"constraints[{key!r}] must be a ConstraintMaterial, not {type(material).__name__}"
            )
    if default is not None and not isinstance(default, ConstraintMaterial):
        raise TypeError(
            f"constraint must be a ConstraintMaterial, not {type(default).__name__}: write "
            "constraint=sapwood.ConstraintMaterial(stiffness=...)"
        )
    custom = custom_stiffness(names, entries, faults)
    last = default if default is not None else custom.get("", ConstraintMaterial())

    def of_kind(kind: str) -> Stiffness:
        keys = [f"{kind}/{name}" for name in names[kind]]
        found = [overrides.get(key) or custom.get(key) or last for key in keys]
        k = [(m.stiffness, m.rotational_stiffness) for m in found]
        tau_d = [time_step if m.dissipation_time is None else m.dissipation_time for m in found]
        return Stiffness(np.array(k, dtype=float).reshape(-1, 2), np.array(tau_d, dtype=float))

    return {kind: of_kind(kind) for kind in KINDS}
