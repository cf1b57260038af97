"""Rigid cores: which barrier stiffens a contact where its layer of compliance ends."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base import checks

DEFAULT_LAMBDA = 5.0

LOG_START = 1.0 - 2.0**-20
"""A contact with a larger s at rest starts too deep for a log barrier: it gets a larger delta."""

EXPONENT_MOST = 20.0
"""Largest lambda s under the exp barrier: the stiffness has grown by 1e11 there."""

EXPONENT_START = 10.0
"""A contact that starts deeper than that gets the delta that makes lambda s this at rest."""


class CoreKind(enum.IntEnum):
    """Barrier around the compliant law of a contact.

    ``none`` 0: the compliant law as it is. ``log`` 1 keeps the penetration below delta, ``exp`` 2
    stiffens without excluding any, ``table`` 3 is a barrier of one's own.
    """

    none = 0
    """The compliant law as it is."""
    log = 1
    """Grows without bound at delta: the penetration stays below it."""
    exp = 2
    """Stiffens by exp(lambda s), a soft bound: no penetration is excluded."""
    table = 3
    """The barrier of ``core_table``, see :func:`sapwood.tabulate_barrier`."""

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
        If a value is of a wrong type or out of range; the text names the field.

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
        Shape of the result; by default the shape of `core`.

    Returns
    -------
    ndarray of int8
        A new array of the given shape.

    Raises
    ------
    TypeError, ValueError
        If an entry is no kind (the message names its index), or for a wrong shape.
    """
    given = checks.array(core, "core")
    if given.dtype.kind in "UO":
        codes = np.empty(given.shape, np.int8)
        for index, value in np.ndenumerate(given):
            if isinstance(value, str) and value in _CODES:
                codes[index] = _CODES[value]
            elif isinstance(value, CoreKind):
                codes[index] = value
            else:
                shown = repr(str(value)) if isinstance(value, str) else repr(value)
                raise ValueError(
                    f"core{_at(index)} = {shown}: must be 'none', 'log', 'exp' or 'table'"
                )
    elif given.dtype.kind in "iu":
        for index in np.argwhere((given < 0) | (given > CoreKind.table))[:1]:
            value = given[tuple(index)]
            raise ValueError(f"core{_at(tuple(index))} = {value}: must be 0, 1, 2 or 3")
        codes = given.astype(np.int8)
    else:
        raise TypeError(f"core must be names or integers, not {given.dtype}")
    if shape is None or codes.shape == shape:
        return codes
    if codes.ndim:
        raise ValueError(f"core has shape {codes.shape}, expected {shape}")
    return np.full(shape, codes, np.int8)


def core_arrays(
    core: ArrayLike,
    delta: ArrayLike | None,
    kappa: ArrayLike | None,
    core_lambda: ArrayLike,
    core_table: ArrayLike | None,
    shape: tuple[int, ...],
) -> dict[str, NDArray[Any]]:
    """Arguments of a problem, one entry per contact; none where no contact has a core.

    Parameters
    ----------
    core, delta, kappa, core_lambda, core_table
        The same as for :class:`sapwood.ContactProblem`.
    shape : tuple of int
        (n_contacts,).

    Returns
    -------
    dict
        core (int8), core_lambda, and delta and kappa where they are given, each of that shape;
        core_table where it is given.

    Raises
    ------
    TypeError, ValueError
        For a wrong type, shape or kind; the text names the argument and the index.
    """
    if isinstance(core, str) and core == CoreKind.none.name:
        return {}
    arrays: dict[str, NDArray[Any]] = {"core": core_kinds(core, shape)}
    if not arrays["core"].any():
        return {}
    for name, value in (("delta", delta), ("kappa", kappa), ("core_lambda", core_lambda)):
        if value is not None:
            array = _core.as_float64(value, name)
            arrays[name] = np.full(shape, array) if array.ndim == 0 else array
    if core_table is not None:
        arrays["core_table"] = _core.as_float64(core_table, "core_table")
    return arrays


def deep_contacts(
    core: NDArray[np.int8] | None,
    kappa: NDArray[np.float64] | None,
    core_lambda: NDArray[np.float64] | None,
    v_hat_n: NDArray[np.float64],
    R_n: NDArray[np.float64],
) -> NDArray[np.intp]:
    """Contacts (n,) outside of their barrier's domain when they rest; see ContactProblem."""
    if core is None or kappa is None or core_lambda is None:
        return np.zeros(0, dtype=np.intp)
    rest = np.maximum(v_hat_n, 0.0) / np.sqrt(R_n * kappa)
    most = np.select(
        [core == CoreKind.log, core == CoreKind.exp],
        [LOG_START, 0.999 * EXPONENT_MOST / core_lambda],
        np.inf,
    )
    return np.flatnonzero((core != CoreKind.none) & (rest > most))


def _at(index: tuple[int, ...]) -> str:
    return f"[{', '.join(str(i) for i in index)}]" if index else ""
