"""Views of one named object in all worlds: ``batch.joint("hinge").qpos``, ``batch.body(3).mass``.

MuJoCo's own views of a model and its data say which numbers belong to an object: an attribute is a
slice of an array of MjModel or MjData, found by its place in memory.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.base.hints import nearest
from sapwood.mujoco.batches.fields import STATE_FIELDS, data_fields
from sapwood.mujoco.batches.model_fields import fixed_fields, model_fields

_Array = NDArray[Any]

#: Kinds of objects, by whether MjData has views of them.
KINDS = {
    "actuator": True, "body": True, "camera": True, "equality": False, "geom": True, "joint": True,
    "keyframe": False, "light": True, "material": False, "numeric": False, "pair": False,
    "sensor": True, "site": True, "tendon": True,
}  # fmt: skip

# attributes that MuJoCo computes from several arrays
_COMPUTED = {("actuator", "moment")}


def _holder(owner: Any, names: Iterable[str], part: _Array) -> tuple[str, int] | None:
    """The field whose memory has this slice, and at which entry it begins."""
    for name in names:
        whole = getattr(owner, name, None)
        if not isinstance(whole, np.ndarray) or whole.dtype != part.dtype or not whole.size:
            continue
        begin = part.ctypes.data - whole.ctypes.data
        if begin >= 0 and begin + part.nbytes <= whole.nbytes:
            return name, begin // whole.itemsize
    return None


class Worlds(Protocol):
    """A batch, as a view of one object uses it."""

    model: mujoco.MjModel

    @property
    def nsim(self) -> int:
        """Number of worlds."""

    @property
    def models(self) -> object:
        """The caller's models, or None."""

    def bind(self, name: str) -> _Array:
        """The live array of a field of the data."""

    def expand(self, name: str) -> _Array:
        """The live values of a field of the model."""

    def expanded(self, name: str) -> _Array | None:
        """The values of a field of the model, or None if all worlds share it."""

    def is_expanded(self, name: str) -> bool:
        """Whether the user expanded a field."""


class NamedView:
    """One object of the model in all worlds; attributes have the shape (nsim, ...).

    Attributes of the data are slices of :meth:`Batch.bind`. Attributes of the model are the values
    per world where they are expanded, and else read-only copies of the shared value; assignment
    expands.

    Parameters
    ----------
    batch : Batch
        The batch.
    kind : str
        One of ``KINDS``.
    key : int or str
        Index or name of the object.
    data : mujoco.MjData
        Data of the model, for the shapes of the arrays.

    Attributes
    ----------
    id : int
        Index of the object.
    name : str
        Its name.
    """

    id: int
    name: str
    _batch: Worlds
    _kind: str
    _of_data: Any
    _of_model: Any
    _data: mujoco.MjData

    def __init__(self, batch: Worlds, kind: str, key: int | str, data: mujoco.MjData) -> None:
        of_model = getattr(batch.model, kind)(key)
        own = {
            "_batch": batch,
            "_kind": kind,
            "_of_model": of_model,
            "_of_data": getattr(data, kind)(key) if KINDS[kind] else None,
            "_data": data,
            "id": of_model.id,
            "name": of_model.name,
        }
        self.__dict__.update(own)

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.methodcaller(self._kind, self.id), (self._batch,)

    def __getattr__(self, attribute: str) -> _Array:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        found = self._slice_of_data(attribute)
        return self._slice_of_model(attribute, write=False) if found is None else found[0]

    def __setattr__(self, attribute: str, value: object) -> None:
        if attribute in ("id", "name") or attribute.startswith("_"):
            raise AttributeError(f"{attribute} of a {self._kind} is read-only")
        found = self._slice_of_data(attribute)
        if found is None:
            self._slice_of_model(attribute, write=True)[...] = value
            return
        rows, field = found
        if field not in STATE_FIELDS and rows.size:
            raise ValueError(
                f"{self._kind} {attribute} is computed by every call and cannot be written"
            )
        rows[...] = value

    def _part(self, view: Any, attribute: str) -> _Array | None:
        if view is None or (self._kind, attribute) in _COMPUTED:
            return None
        part = getattr(view, attribute, None)
        return part if isinstance(part, np.ndarray) else None

    def _slice_of_data(self, attribute: str) -> tuple[_Array, str] | None:
        part = self._part(self._of_data, attribute)
        if part is None:
            return None
        if not part.size:
            return _nothing(self._batch.nsim, part), ""
        found = _holder(self._data, data_fields(), part)
        if found is None:
            return None
        name, begin = found
        return _cut(self._batch.bind(name), begin, part), name

    def _slice_of_model(self, attribute: str, *, write: bool) -> _Array:
        batch, part = self._batch, self._part(self._of_model, attribute)
        if part is None:
            raise self._unknown(attribute)
        if not part.size:
            return _nothing(batch.nsim, part)
        found = _holder(batch.model, (*model_fields(), *fixed_fields()), part)
        if found is None:
            raise self._unknown(attribute)
        name, begin = found
        if name in fixed_fields():
            if write:
                raise ValueError(f"{name} is structural: it cannot differ between simulations")
            return np.broadcast_to(part, (batch.nsim, *part.shape))
        if write and batch.models is not None:
            raise ValueError(
                f"{name} comes from the caller's models: edit them and call set_models again"
            )
        rows = batch.expand(name) if write or batch.is_expanded(name) else batch.expanded(name)
        if rows is None:
            return np.broadcast_to(part, (batch.nsim, *part.shape))
        return _cut(rows, begin, part)

    def _unknown(self, attribute: str) -> AttributeError:
        for view in (self._of_model, self._of_data):
            if view is not None and hasattr(view, attribute):
                return AttributeError(
                    f"{self._kind} {attribute} is not a slice of a field that the batch binds or "
                    "expands"
                )
        known = [*dir(self._of_model), *(dir(self._of_data) if self._of_data is not None else ())]
        return AttributeError(
            f"{attribute} is not a field of a {self._kind}{nearest(attribute, known)}"
        )

    def __repr__(self) -> str:
        return f"<{self._kind} {self.id} {self.name!r} of {self._batch!r}>"


def _nothing(n_worlds: int, part: _Array) -> _Array:
    empty = np.empty((n_worlds, *part.shape), part.dtype)
    empty.flags.writeable = False
    return empty


def _cut(rows: _Array, begin: int, part: _Array) -> _Array:
    flat = rows.reshape(len(rows), -1)
    return flat[:, begin : begin + part.size].reshape(len(rows), *part.shape)
