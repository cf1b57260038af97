"""The live arrays of a batch as its user sees them: fields, attributes, and views by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import DTypeLike, NDArray

from sapwood import _core
from sapwood.base.checks import integer
from sapwood.mujoco.batches.fields import STATE_FIELDS, data_fields, hint_of, read_only
from sapwood.mujoco.batches.model_fields import fixed_fields, model_fields
from sapwood.mujoco.batches.outputs import Outputs
from sapwood.mujoco.batches.parameters import WorldParameters
from sapwood.mujoco.batches.turns import Turn
from sapwood.mujoco.batches.workers import Workers

_Array = NDArray[Any]


class BatchArrays:
    """The arrays of a :class:`Batch`, whose constructor sets all attributes."""

    model: mujoco.MjModel
    _n: int
    _nthread: int
    _core: _core.WorldBatch
    _workers: Workers
    _outputs: Outputs
    _worlds: WorldParameters
    _status: NDArray[np.uint8]
    _errors: dict[int, str]
    _turn: Turn

    # ---- arrays ---------------------------------------------------------------------------------

    @property
    def nsim(self) -> int:
        """Number of worlds."""
        return self._n

    @property
    def nthread(self) -> int:
        """Number of threads."""
        return self._nthread

    @property
    def nstate(self) -> int:
        """Number of values in the state of a world."""
        return int(self.state.shape[1])

    @property
    def state(self) -> NDArray[np.float64]:
        """State of each world (nsim, nstate)."""
        return self._outputs.state

    @property
    def warning(self) -> NDArray[np.int32]:
        """MuJoCo's counters of warnings (nsim, mjNWARNING, 2): last information, number."""
        return self._outputs.warning

    @property
    def records(self) -> NDArray[np.void]:
        """Record of the last substep of each world (nsim,), read-only."""
        return read_only(self._outputs.records)

    @property
    def status(self) -> NDArray[np.uint8]:
        """0, or a number > 0 for each world that failed in its last call (nsim,), read-only."""
        return read_only(self._status)

    def error(self, sim: int) -> str:
        """Tell why a world failed in its last call.

        Parameters
        ----------
        sim : int
            The world.

        Returns
        -------
        str
            The text of its error; empty if it did not fail.
        """
        return self._errors.get(self._world(sim), "")

    def _world(self, sim: int) -> int:
        index = integer(sim, "sim")
        if not 0 <= index < self._n:
            raise IndexError(f"sim must be in [0, {self._n}), got {index}")
        return index

    def bind(self, name: str, dtype: DTypeLike | None = None) -> _Array:
        """Return the live array of a field of MjData.

        Parameters
        ----------
        name : str
            Name of a field of MjData, outside of the arena; or "body_forces", the sum of the
            contact forces on each body (nbody, 3) in N; or "momentum_error", "coulomb_error" or
            "solver_status" of the last substep.
        dtype : dtype, optional
            float32 for a rounded copy that each call writes; by default the type of MjData, but for
            fields of the state, whose rows are float64.

        Returns
        -------
        ndarray (nsim, ...)
            A view of :attr:`state` for fields of the state; otherwise a read-only array.

        Raises
        ------
        ValueError
            For a wrong name or type; the text names it.
        """
        return self._outputs.bind(name, dtype)

    def observe(self, names: Sequence[str], out: DTypeLike = np.float64) -> _Array:
        """Return one live array with several fields side by side, packed by the threads.

        Parameters
        ----------
        names : sequence of str
            Fields of MjData with numbers of float64, also of the state.
        out : dtype
            float64 or float32.

        Returns
        -------
        ndarray (nsim, n)
            A read-only contiguous array that each call writes.

        Raises
        ------
        ValueError
            For a wrong name or type; the text names it.
        """
        if isinstance(names, str):
            raise TypeError("names must be a sequence of names, not a string")
        return self._outputs.observe(names, out)

    def __getattr__(self, name: str) -> _Array:
        # fields of MjData, where the batch has no attribute of that name
        if not name.startswith("_") and name in data_fields():
            return self.bind(name)
        raise _no_attribute(name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in data_fields():
            if name not in STATE_FIELDS:
                raise output_error(name)
            rows = self.bind(name)
            try:
                rows[...] = value
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        elif name.startswith("_") or name == "model" or hasattr(type(self), name):
            object.__setattr__(self, name, value)
        else:
            raise _no_attribute(name)


def _no_attribute(name: str) -> AttributeError:
    """The error for a name that a batch does not have, with what was meant."""
    hint = ""
    if name in model_fields():
        hint = f"; {name} is a field of the model: use expand({name!r})"
    elif not name.startswith("_"):
        hint = hint_of(name, data_fields(), model_fields() | fixed_fields())
    return AttributeError(f"'Batch' object has no attribute {name!r}{hint}")


def output_error(name: str) -> ValueError:
    """The error for a write to a field that every call computes."""
    return ValueError(
        f"{name} is computed by every call and cannot be written; write fields of the state (qpos, "
        "ctrl, ...) or expand fields of the model"
    )
