"""The live arrays of a batch: views of its states, and fields that each call copies out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import DTypeLike, NDArray

from sapwood import _core
from sapwood.mujoco.batches.fields import (
    KEPT_FIELDS,
    STATE_FIELDS,
    WHOLE_STATE,
    aligned,
    data_fields,
    field_of,
    not_bindable,
    read_only,
    warnings_of,
)
from sapwood.mujoco.batches.model_fields import fixed_fields, model_fields
from sapwood.mujoco.batches.workers import Worker, Workers, as_rows

_Array = NDArray[Any]

# where the array of a thread lies, the rows of the worlds, which way C copies, and whether lean
# steps leave it as full ones do
Field = tuple[Callable[[Worker], _Array], _Array, str, bool]

# fields of the records of the last steps, by the names of `bind`
RECORDED = {
    "momentum_error": "momentum_error",
    "coulomb_error": "coulomb_error",
    "solver_status": "status",
}


def _getter(name: str) -> Callable[[Worker], _Array]:
    return lambda worker: field_of(worker[2], name)


class Outputs:
    """The live arrays of a batch.

    Parameters
    ----------
    model : mujoco.MjModel
        The model of the batch.
    workers : Workers
        Its threads, all of them made.
    n_worlds : int
        Number of worlds.
    n_memory : int
        Number of values behind the state of MuJoCo.

    Attributes
    ----------
    state : ndarray (n_worlds, n_state)
        State of each world.
    engine_state : ndarray (n_worlds, n)
        View of the part that is a state of MuJoCo.
    records : ndarray (n_worlds,)
        Record of the last step of each world.
    warning : ndarray (n_worlds, mjNWARNING, 2)
        Counters of MuJoCo's warnings: last information, number.
    body_forces : ndarray (n_worlds, nbody, 3) or None
        Contact forces, N; None until they are bound.
    """

    def __init__(
        self, model: mujoco.MjModel, workers: Workers, n_worlds: int, n_memory: int
    ) -> None:
        self._model, self._workers, self._n = model, workers, n_worlds
        self.data = mujoco.MjData(model)
        size = mujoco.mj_stateSize(model, WHOLE_STATE)
        self.state = aligned((n_worlds, size + n_memory), np.float64)
        self.engine_state = self.state[:, :size]
        mujoco.mj_getState(model, self.data, self.engine_state[0], WHOLE_STATE)
        self.engine_state[1:] = self.engine_state[0]
        self.records = aligned((n_worlds,), _core.STEP_RECORD)
        self.body_forces: _Array | None = None
        self._bound: dict[tuple[str, str], _Array] = {}
        first = warnings_of(self.data)
        self.warning = aligned((n_worlds, *first.shape), first.dtype)
        rows = as_rows(self.warning, n_worlds)
        # a new tuple for each change; the C loop that has them bound, and which of them it has
        self._fields: tuple[Field, ...] = (
            (lambda worker: warnings_of(worker[2]), rows, "both", True),
        )
        self._loop: tuple[_core.WorldBatch | None, tuple[Field, ...]] = (None, ())

    def bind_to(self, loop: _core.WorldBatch) -> None:
        """Have a C loop copy all fields, if it does not yet; no call of it may be under way."""
        fields = self._fields
        if self._loop[0] is not loop or self._loop[1] is not fields:
            loop.bind(
                self._n,
                tuple(
                    (self._workers.arrays(get), rows, way, is_kept)
                    for get, rows, way, is_kept in fields
                ),
            )
            self._loop = loop, fields

    def add_input(self, get: Callable[[Worker], _Array], rows: _Array) -> None:
        """Have rows (n_worlds, n) copied to an array of each thread."""
        self._fields = (*self._fields, (get, rows, "in", True))

    def _add(self, name: str, rows: _Array) -> None:
        way = "float" if rows.dtype == np.float32 else "out"
        self._fields = (*self._fields, (_getter(name), rows, way, name in KEPT_FIELDS))

    def remove_inputs(self) -> None:
        """Unbind the rows that C loads."""
        self._fields = tuple(field for field in self._fields if field[2] != "in")

    # ---- states -----------------------------------------------------------------------------

    def whole_rows(self, states: _Array, n: int) -> _Array:
        """States for n worlds as rows of :attr:`state`, which remember nothing where states do not.

        Parameters
        ----------
        states : ndarray (n or 1, columns) or (columns,)
            States of MuJoCo, or rows of :attr:`state`.
        n : int
            Number of worlds.

        Returns
        -------
        ndarray (n or 1, n_state)
            The rows.

        Raises
        ------
        ValueError
            If the shape is wrong.
        """
        rows = np.atleast_2d(states)
        whole, size = self.state.shape[1], self.engine_state.shape[1]
        if rows.ndim != 2 or rows.shape[0] not in (1, n) or rows.shape[1] not in (size, whole):
            raise ValueError(f"state has shape {states.shape}, expected ({n}, {whole})")
        return np.pad(rows, ((0, 0), (0, whole - rows.shape[1])))

    def part_of_state(self, name: str) -> _Array:
        """The view of a field of the state, (n_worlds, ...)."""
        bit = STATE_FIELDS[name]
        size = mujoco.mj_stateSize(self._model, bit)
        # components lie in the order of their bits
        before = mujoco.mj_stateSize(self._model, WHOLE_STATE & (bit - 1))
        view = self.state[:, before : before + size]
        if name == "time":
            return view[:, 0]
        return view.reshape(self._n, *getattr(self.data, name).shape)

    # ---- other fields -----------------------------------------------------------------------

    def template(self, name: str) -> _Array:
        """The field of some data, for its shape and type; ValueError for a wrong name."""
        if name not in data_fields():
            raise not_bindable(name, model_fields() | fixed_fields())
        return np.asarray(self.data.time) if name == "time" else field_of(self.data, name)

    def places(self, name: str) -> tuple[_Array, ...]:
        """The field of the data of each thread."""
        return self._workers.arrays(_getter(name))

    def bind(self, name: str, dtype: DTypeLike | None) -> _Array:
        """The live array of a field; see :meth:`Batch.bind`."""
        kind = None if dtype is None else np.dtype(dtype)
        if name in STATE_FIELDS and kind in (None, np.dtype(np.float64)):
            return self.part_of_state(name)
        if name in RECORDED and kind is None:
            return read_only(self.records[RECORDED[name]])
        key = (name, "" if kind is None else kind.str)
        if key in self._bound:
            return self._bound[key]
        if name == "body_forces" and kind is None:
            self.body_forces = aligned((self._n, self._model.nbody, 3), np.float64)
            self._bound[key] = read_only(self.body_forces)
            return self._bound[key]
        template = self.template(name)
        rounds = kind not in (None, template.dtype)
        if rounds and (kind != np.float32 or template.dtype != np.float64 or name == "time"):
            raise ValueError(
                f"dtype = {kind}: {name} is {template.dtype}; float64 may become float32"
            )
        rows = aligned((self._n, *template.shape), np.float32 if rounds else template.dtype)
        if template.size:
            self._add(name, as_rows(rows, self._n))
        self._bound[key] = read_only(rows)
        return self._bound[key]

    def observe(self, names: Sequence[str], dtype: DTypeLike) -> _Array:
        """One live array of several fields side by side; see :meth:`Batch.observe`."""
        kind = np.dtype(dtype)
        if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"out = {kind}: must be float32 or float64")
        key = ("\0".join(names), kind.str)
        if key in self._bound:
            return self._bound[key]
        templates = [self.template(name) for name in names]
        for name, template in zip(names, templates, strict=True):
            if template.dtype != np.float64 or name == "time":
                raise ValueError(f"{name} is no array of float64, which alone can be observed")
        rows = aligned((self._n, sum(template.size for template in templates)), kind)
        begin = 0
        for name, template in zip(names, templates, strict=True):
            if template.size:
                self._add(name, rows[:, begin : begin + template.size])
            begin += template.size
        self._bound[key] = read_only(rows)
        return self._bound[key]
