"""Changes of a MuJoCo model since the last look."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.reading.engine import options_in_memory

# arrays without effect on the motion, or too long for a look in each step
_UNWATCHED = (
    "B_", "bvh_", "key_", "light_", "map", "mat_", "mesh_", "name", "oct_", "path", "skin_", "tex_",
    "text_", "tuple_",
)  # fmt: skip
_UNWATCHED_ENDS = ("_group", "_matid", "_rgba")

# every model has the same names
_EMPTY = mujoco.MjModel.from_xml_string("<mujoco/>")

# all options of a model, by whether they are numbers or arrays
_OPTIONS = {name: getattr(_EMPTY.opt, name) for name in dir(_EMPTY.opt) if name[0] != "_"}
OPTIONS = tuple(name for name, value in _OPTIONS.items() if isinstance(value, int | float))
VECTORS = tuple(name for name, value in _OPTIONS.items() if isinstance(value, np.ndarray))

#: Names of all arrays that motions depend on, except meshes.
MOTION = tuple(
    name
    for name in dir(_EMPTY)
    if not name.startswith(("_", *_UNWATCHED))
    and not name.endswith(_UNWATCHED_ENDS)
    and isinstance(getattr(_EMPTY, name), np.ndarray)
)


class ModelWatch:
    """Tells what of a model has changed since the last look that was accepted.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    names : collection of str
        Arrays to look at, as far as the model has them.
    options : collection of str
        Numbers and vectors of ``model.opt`` to look at; by default all.

    Attributes
    ----------
    bytes : _core.ByteWatch
        Tells in C whether anything has changed.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        names: Collection[str],
        options: Collection[str] = (*OPTIONS, *VECTORS),
    ) -> None:
        vectors = [name for name in options if name in VECTORS]
        numbers = options_in_memory(model.opt, [name for name in options if name not in vectors])
        fields = {name: getattr(model, name) for name in names if hasattr(model, name)}
        fields |= {f"opt.{name}": getattr(model.opt, name) for name in vectors}
        fields |= {f"opt.{name}": number for name, number in numbers.items()}
        places = sorted(
            (array.__array_interface__["data"][0], array.nbytes, name)
            for name, array in fields.items()
            if array.size
        )
        self._fields = [(name, fields[name]) for _, _, name in places]
        self._place = {name: place for place, (name, _) in enumerate(self._fields)}
        self.bytes = _core.ByteWatch(model, tuple((begin, size) for begin, size, _ in places))

    def changed(self) -> bool:
        """Whether anything has."""
        return self.bytes.changed()

    def changes(self) -> dict[str, NDArray[Any]]:
        """The changed arrays, with present values; options have names such as ``opt.gravity``."""
        return dict(self._fields[place] for place in self.bytes.changes())

    def before(self, name: str) -> NDArray[Any]:
        """The former value of an array, or of an option as an array of one number."""
        place = self._place[name]
        array = self._fields[place][1]
        return np.frombuffer(self.bytes.before(place), array.dtype).reshape(array.shape)

    def accept(self) -> None:
        """Take what there is now for unchanged."""
        self.bytes.accept()
