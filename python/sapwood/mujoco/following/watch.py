"""What of a MuJoCo model has changed since it was looked at."""

from __future__ import annotations

import bisect
import ctypes
import operator
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.reading.engine import options_in_memory

# of a model, what says nothing of its motion, or is too long to be looked at in each step
_UNWATCHED = (
    "B_", "bvh_", "key_", "light_", "map", "mat_", "mesh_", "name", "oct_", "path", "skin_", "tex_",
    "text_", "tuple_",
)  # fmt: skip
_UNWATCHED_ENDS = ("_group", "_matid", "_rgba")

# all options of a model, by whether they are numbers or arrays
_OPT = mujoco.MjModel.from_xml_string("<mujoco/>").opt
_OPTIONS = {name: getattr(_OPT, name) for name in dir(_OPT) if not name.startswith("_")}
OPTIONS = tuple(name for name, value in _OPTIONS.items() if isinstance(value, int | float))
VECTORS = tuple(name for name, value in _OPTIONS.items() if isinstance(value, np.ndarray))

# arrays of a model lie in one block; between two of them there may be this much padding, bytes
_PADDING = 64
_Span = NDArray[np.uint8]


def motion_arrays(model: mujoco.MjModel) -> list[str]:
    """Names of all arrays that motions follow from, but for meshes."""
    return [
        name
        for name in dir(model)
        if not name.startswith(("_", *_UNWATCHED))
        and not name.endswith(_UNWATCHED_ENDS)
        and isinstance(getattr(model, name), np.ndarray)
    ]


def _place(array: NDArray[Any]) -> tuple[int, int]:
    return array.ctypes.data, array.ctypes.data + array.nbytes


def _place_of_number(number: Any) -> tuple[int, int]:
    begin = ctypes.addressof(number)
    return begin, begin + ctypes.sizeof(number)


def _spans(places: Iterable[tuple[int, int]]) -> list[_Span]:
    """The memory between all beginnings and ends, places side by side as one."""
    ends: list[list[int]] = []
    for begin, end in sorted(places):
        if ends and begin - ends[-1][1] <= _PADDING:
            ends[-1][1] = max(end, ends[-1][1])
        else:
            ends.append([begin, end])
    return [
        np.ctypeslib.as_array((ctypes.c_uint8 * (end - begin)).from_address(begin))
        for begin, end in ends
    ]


class _Bytes:
    """The memory of some places as it was."""

    def __init__(self, places: Iterable[tuple[int, int]]) -> None:
        self.now = _spans(places)
        self.before = [span.copy() for span in self.now]
        self._begins = [span.ctypes.data for span in self.now]

    def of(self, array: NDArray[Any]) -> NDArray[Any]:
        """What an array held that lies in one of the places."""
        at = bisect.bisect_right(self._begins, array.ctypes.data) - 1
        first = array.ctypes.data - self._begins[at]
        old = self.before[at][first : first + array.nbytes]
        return old.view(array.dtype).reshape(array.shape)


class ModelWatch:
    """Tells what of a model has changed since this watch was made.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    names : collection of str, optional
        Arrays to look at, those that the model has; None for all that motions follow from.
    options : collection of str
        Numbers, at least two, and vectors of ``model.opt`` to look at; by default all.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        names: Collection[str] | None = None,
        options: Collection[str] = (*OPTIONS, *VECTORS),
    ) -> None:
        found = motion_arrays(model) if names is None else [n for n in names if hasattr(model, n)]
        arrays = {name: getattr(model, name) for name in found}
        vectors = [name for name in options if name in VECTORS]
        arrays |= {f"opt.{name}": getattr(model.opt, name) for name in vectors}
        self._arrays = {name: array for name, array in arrays.items() if array.size}
        self._names = [name for name in options if name not in vectors]
        self._numbers_of = operator.attrgetter(*self._names)
        self._opt = model.opt
        self._numbers = self._numbers_of(self._opt)
        # bytes take a tenth of the time that attributes take
        in_memory = options_in_memory(self._opt, self._names)
        self._asks = not in_memory
        places = [*map(_place, self._arrays.values()), *map(_place_of_number, in_memory.values())]
        self._memory = _Bytes(places)
        self._bytes = _core.ByteWatch(tuple(self._memory.now), tuple(self._memory.before))

    def changed(self) -> bool:
        """Whether anything has."""
        return self._bytes.changed() or (
            self._asks and self._numbers_of(self._opt) != self._numbers
        )

    @property
    def bytes(self) -> _core.ByteWatch | None:
        """What tells so from C; None where attributes have to be looked at."""
        return None if self._asks else self._bytes

    @property
    def options(self) -> dict[str, Any]:
        """The numbers of ``model.opt`` as they were."""
        return dict(zip(self._names, self._numbers, strict=True))

    def changes(self) -> Iterator[tuple[str, NDArray[Any], NDArray[np.bool_]]]:
        """The arrays that have changed: their names, what they are now, and where they changed."""
        for name, array in self._arrays.items():
            old = self._memory.of(array)
            if old.tobytes() != array.tobytes():
                yield name, array, old != array
