"""Rigid cores: which barrier stiffens a contact where its layer of compliance ends."""

from __future__ import annotations

import dataclasses
import enum
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core

CoreName = Literal["none", "log", "exp"]

DEFAULT_LAMBDA = 5.0


class CoreKind(enum.IntEnum):
    """Barrier around the compliant law of a contact."""

    none = 0
    """The compliant law as it is."""
    log = 1
    """Grows without bound at delta: the penetration stays below it."""
    exp = 2
    """Stiffens by exp(lambda s), a soft bound: no penetration is excluded."""

    def __str__(self) -> str:
        return self.name


_CODES = {kind.name: kind.value for kind in CoreKind}


@dataclasses.dataclass(frozen=True)
class RigidCore:
    """A rigid core below a compliant layer; immutable, checked when made.

    Parameters
    ----------
    delta : float
        Thickness of the layer, m, > 0.
    kind : {"log", "exp"}
        Barrier: "log" lets no contact without slip be deeper than delta at rest, "exp" multiplies
        the force there by exp(strength) (1 + strength/2).
    strength : float
        lambda > 0 of "exp", dimensionless; "log" has no use for it.

    Raises
    ------
    TypeError, ValueError
        Where a value is of a wrong type or out of range; the text names the field.

    Examples
    --------
    >>> RigidCore(delta=1e-3)
    RigidCore(delta=0.001, kind='log', strength=5.0)
    """

    delta: float
    kind: Literal["log", "exp"] = "log"
    strength: float = DEFAULT_LAMBDA

    def __post_init__(self) -> None:
        for name in ("delta", "strength"):
            _core.as_float64(getattr(self, name), name, (), "positive")
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.kind not in ("log", "exp"):
            raise ValueError(f"kind = {self.kind!r}: must be 'log' or 'exp'")


def core_kinds(core: ArrayLike, shape: tuple[int, ...] | None = None) -> NDArray[np.int8]:
    """Numbers of :class:`CoreKind` from names, members or numbers.

    Parameters
    ----------
    core : str, CoreKind, int or array_like of them (...)
        One kind for all, or one of each.
    shape : tuple of int, optional
        Shape of the result; by default that of `core`.

    Returns
    -------
    ndarray of int8
        A new array of the given shape.

    Raises
    ------
    TypeError, ValueError
        For what is no kind, with its index, or for a wrong shape.
    """
    given = np.asarray(core)
    if given.dtype.kind in "UO":
        codes = np.empty(given.shape, np.int8)
        for index, value in np.ndenumerate(given):
            if isinstance(value, str) and value in _CODES:
                codes[index] = _CODES[value]
            elif isinstance(value, CoreKind):
                codes[index] = value
            else:
                shown = repr(str(value)) if isinstance(value, str) else repr(value)
                raise ValueError(f"core{_at(index)} = {shown}: must be 'none', 'log' or 'exp'")
    elif given.dtype.kind in "iu":
        for index in np.argwhere((given < 0) | (given > CoreKind.exp))[:1]:
            value = given[tuple(index)]
            raise ValueError(f"core{_at(tuple(index))} = {value}: must be 0, 1 or 2")
        codes = given.astype(np.int8)
    else:
        raise TypeError(f"core must be names or integers, not {given.dtype}")
    if shape is None or codes.shape == shape:
        return codes
    if codes.ndim:
        raise ValueError(f"core has shape {codes.shape}, expected {shape}")
    return np.full(shape, codes, np.int8)


def _at(index: tuple[int, ...]) -> str:
    return f"[{', '.join(str(i) for i in index)}]" if index else ""
