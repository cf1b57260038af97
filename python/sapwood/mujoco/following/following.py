"""Following of a model that is changed after its stepper was made.

MuJoCo's stages read the private copy of the model in each step. The parts that the C core has read
are read again after a change; the structure stays. Changes of the user's model are first copied to
the private one.
"""

from __future__ import annotations

from typing import Any

import mujoco
from numpy.typing import NDArray

from sapwood.mujoco.following.watch import MOTION, OPTIONS, ModelWatch
from sapwood.mujoco.reading.arrays import PLACES, check_finite
from sapwood.mujoco.reading.changes import ADAPTED, Changes
from sapwood.mujoco.reading.engine_fields import fields_of
from sapwood.mujoco.reading.field_numbers import fields_in_numbers
from sapwood.mujoco.reading.options import DISABLED
from sapwood.mujoco.reading.parameters import StepParameters

#: Arrays of a model that the stepper reads, and reads again; not every version has all of them.
READ = fields_of("mjModel", "READ", "READ_OR_FIXED")

#: Arrays that tell whether the stepper takes a model, and how; they are read again too.
CHECKED = fields_of("mjModel", "CHECKED", "CHECKED_OR_FIXED")

#: Arrays by which trees, rows and transmissions are laid out; they cannot change.
STRUCTURE = fields_of("mjModel", "FIXED")

#: Arrays that shapes and pairs of pressure fields follow from; with these they cannot change.
OF_FIELDS = fields_of("mjModel", "FIXED_WITH_FIELDS", "READ_OR_FIXED", "CHECKED_OR_FIXED")

_FIXED_OPTIONS = fields_of("mjOption", "FIXED")
_READ_OPTIONS = fields_of("mjOption", "READ")


def _refuse(name: str) -> ValueError:
    return ValueError(
        f"model.{name} has changed since the stepper was made, and belongs to it: make a new one"
    )


class Following:
    """Finds changes of the model, and reads the changed parts again.

    Names and places are looked up once. After a change its bytes are copied, and only the parts
    that depend on them are read again.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of the stepper, just read.
    given : mujoco.MjModel, optional
        The model that the stepper was made for; None where it follows its own copy alone.
    """

    def __init__(self, parameters: StepParameters, given: mujoco.MjModel | None) -> None:
        self._parameters, self._given = parameters, given
        self._of_given = None if given is None else ModelWatch(given, {*MOTION, *READ})
        has_bodies = parameters.soft is not None and bool(parameters.soft.bodies)
        has_shapes = parameters.fields is not None or has_bodies
        self._structure = frozenset((*STRUCTURE, *(OF_FIELDS if has_shapes else ())))
        self._read = frozenset((*READ, *CHECKED))
        self._fields = fields_in_numbers(parameters.model)
        own = self._read | self._structure
        self._of_own = ModelWatch(parameters.model, own, _READ_OPTIONS)
        # changes that could not be read so far
        self._unread: set[str] = set()
        watches = [watch for watch in (self._of_own, self._of_given) if watch is not None]
        self.bytes = tuple(watch.bytes for watch in watches)
        """Watches by which C sees whether anything has changed."""

    def is_behind(self) -> bool:
        """Whether anything has changed that has to be read."""
        return bool(self._unread) or any(watch.changed() for watch in self.bytes)

    def read(self) -> StepParameters:
        """Bring the private copy up to date, and read it; :meth:`accept` then confirms the result.

        Returns
        -------
        StepParameters
            Parameters with the same model; the same object if only MuJoCo's stages read the
            changes.

        Raises
        ------
        NotSupported, ValueError
            If a change is not possible; the message names it.
        """
        of_given = {} if self._of_given is None else self._of_given.changes()
        own = self._of_own.changes()
        for name in sorted(self._structure.intersection((*of_given, *own))):
            raise _refuse(name)
        for name in PLACES:
            if name in of_given:
                check_finite(name, of_given[name])
        if "numeric_data" in of_given or "numeric_data" in own:
            self._check_fields()
        if self._of_given is not None and of_given:
            self._bring_over(self._of_given, of_given)
            self._of_given.accept()
            self._unread |= self._read.intersection(of_given)
        self._unread.update(self._of_own.changes())
        if Changes(self._unread).any_of(*ADAPTED):
            # adaptations may change the copy
            self._parameters = self._parameters.adapt_again()
            self._unread.update(self._of_own.changes())
        if self._unread:
            self._parameters = self._parameters.read_again(self._unread)
        return self._parameters

    def accept(self) -> None:
        """Confirm that steps use the parameters that were read last."""
        self._unread.clear()
        self._of_own.accept()

    def _check_fields(self) -> None:
        """Raise ValueError where custom numbers have other pressure fields now."""
        for model in (self._given, self._parameters.model):
            if model is not None and fields_in_numbers(model) != self._fields:
                raise _refuse("numeric_data, of pressure fields,")

    def _bring_over(self, watch: ModelWatch, changes: dict[str, NDArray[Any]]) -> None:
        """Copy the changes of the user's model to the private one."""
        own, parameters = self._parameters.model, self._parameters
        for name in _FIXED_OPTIONS:
            if f"opt.{name}" in changes:
                raise _refuse(f"opt.{name}")
        if "opt.timestep" in changes and parameters.reading.time_step is None:
            raise _refuse("opt.timestep")
        for name, array in changes.items():
            old = watch.before(name)
            holder, _, field = name.rpartition(".")
            if holder and field in OPTIONS:
                self._bring_option(field, old[0], array[0])
                continue
            where = array != old
            if name == "pair_friction":
                # the copy has the mean of the first two
                where[:, :2] |= where[:, :2].any(axis=1, keepdims=True)
            getattr(own.opt if holder else own, field)[where] = array[where]
            if name in parameters.released:
                # the model says anew whether forces are bounded
                parameters.released[name][where] = False

    def _bring_option(self, name: str, old: Any, now: Any) -> None:
        """Write a number of the options to the private copy; of flags the bits that changed."""
        opt = self._parameters.model.opt
        if name in ("disableflags", "enableflags"):
            kept = DISABLED if name == "disableflags" else 0
            bits = int(old ^ now) & ~kept
            setattr(opt, name, (getattr(opt, name) & ~bits) | (int(now) & bits))
        elif name != "timestep":
            setattr(opt, name, now.item())
