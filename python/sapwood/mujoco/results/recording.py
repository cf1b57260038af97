"""Arrays that a run records of each step, beside the records of the solver."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.fem.bodies import SoftBody
from sapwood.mujoco.reading.names import GeomNames
from sapwood.mujoco.results.contacts import StepContacts

_Float = NDArray[np.float64]

STATE = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)

NAMES = (*_core.RECORDED, "state", "force", "contacts")


def check_names(record: Collection[str], soft: Sequence[SoftBody] = ()) -> tuple[str, ...]:
    """The names of the arrays to record.

    Parameters
    ----------
    record : collection of str
        Names out of `NAMES`, and "soft" where there are soft bodies.
    soft : sequence of SoftBody
        The soft bodies.

    Returns
    -------
    tuple of str
        Each name once.

    Raises
    ------
    TypeError, ValueError
        If it is no collection of such names; the message lists them.
    """
    if isinstance(record, str) or not isinstance(record, Collection):
        raise TypeError(f"record must be a collection of str, not {type(record).__name__}")
    known = (*NAMES, "soft") if soft else NAMES
    for name in record:
        if name not in known:
            raise ValueError(f"record: {name!r} must be one of {', '.join(known)}")
    return tuple(dict.fromkeys(record))


class Recording:
    """Arrays for the recording of a run, and the number of steps they hold so far.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    geom_names : GeomNames
        Names of its geoms and bodies.
    data : mujoco.MjData
        Data of the model.
    names : tuple of str
        The arrays to record, out of `NAMES`.
    steps : int
        Largest number of steps.
    soft : sequence of SoftBody
        Soft bodies of the steps.

    Attributes
    ----------
    taken : int
        Number of steps recorded.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        geom_names: GeomNames,
        data: mujoco.MjData,
        names: tuple[str, ...],
        steps: int,
        soft: Sequence[SoftBody] = (),
    ) -> None:
        self._model, self._geom_names = model, geom_names
        self._names = names
        self.taken = 0
        shapes: dict[str, tuple[int, ...]] = {
            name: getattr(data, name).shape for name in _core.RECORDED
        }
        shapes["state"] = (mujoco.mj_stateSize(model, STATE),)
        shapes["force"] = (model.nbody, 3)
        self._soft = soft
        shapes["soft"] = (sum(len(body.positions) for body in soft), 3)
        self._arrays = {name: np.empty((steps, *shapes[name])) for name in names if name in shapes}
        self._log = _core.ContactLog() if "contacts" in names else None
        self._contacts: NDArray[np.void] | None = None

    def __contains__(self, name: str) -> bool:
        return name in self._names

    # ---- to be filled ---------------------------------------------------------------------------

    def room(self, steps: int) -> dict[str, Any]:
        """The places where the C core writes the next steps, see ``_core.ModelStepper.run``.

        Parameters
        ----------
        steps : int
            Number of steps.

        Returns
        -------
        dict
            Views of the arrays; the caller adds the number of steps taken to `taken`.
        """
        found: dict[str, Any] = {
            name: array[self.taken : self.taken + steps].reshape(steps, array[0:1].size)
            for name, array in self._arrays.items()
        }
        found["state_spec"] = STATE
        if self._log is not None:
            found["contacts"] = self._log
        return found

    def keep(self, data: mujoco.MjData, contacts: NDArray[np.void], forces: _Float) -> None:
        """Record a step.

        Parameters
        ----------
        data : mujoco.MjData
            Data after the step.
        contacts : ndarray of CONTACT_RECORD
            The contacts of the step.
        forces : ndarray (nbody, 3)
            Sum of the contact forces on each body.
        """
        for name, array in self._arrays.items():
            row = array[self.taken]
            if name == "state":
                mujoco.mj_getState(self._model, data, row, STATE)
            elif name == "force":
                row[:] = forces
            elif name == "soft":
                row[:] = np.concatenate([body.positions for body in self._soft])
            else:
                row[:] = getattr(data, name)
        if self._log is not None:
            self._log.append(contacts)
        self.taken += 1

    def close(self) -> None:
        """Turn the recorded contacts into one array after the last step."""
        if self._log is not None:
            self._contacts = self._log.array()
            self._log = None

    # ---- to be read -----------------------------------------------------------------------------

    def array(self, name: str) -> _Float:
        """One array for all steps, steps that were not taken included.

        Parameters
        ----------
        name : str
            Name of the array.

        Returns
        -------
        ndarray (steps, ...)
            The array itself, no copy.
        """
        return self._arrays[name]

    def contacts(self, first: int, last: int) -> StepContacts:
        """Contacts of all steps, one after the other.

        Parameters
        ----------
        first, last : int
            Range of contacts.

        Returns
        -------
        StepContacts
            The contacts first <= i < last.
        """
        records = self._contacts if self._log is None else self._log.array()
        assert records is not None
        return StepContacts(records[first:last], self._geom_names)
