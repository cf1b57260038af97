"""How a stepper keeps up with a model that is changed after it was made.

MuJoCo's stages read the private copy of the model in each step. What the C core has read of it is
read again where it has changed; the structure stays as it was. Changes of the model that the
stepper was made for are brought to the copy first.
"""

from __future__ import annotations

from collections.abc import Iterator

import mujoco

from sapwood import _core
from sapwood.mujoco.following.watch import OPTIONS, ModelWatch, motion_arrays
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


def _watch_all(model: mujoco.MjModel | None) -> ModelWatch | None:
    """Look at all that motions follow from, also by way of materials."""
    return None if model is None else ModelWatch(model, {*motion_arrays(model), *READ})


def _refuse(name: str) -> ValueError:
    return ValueError(
        f"model.{name} has changed since the stepper was made, and belongs to it: make a new one"
    )


class Following:
    """Finds out what has changed, and reads it again.

    Parameters
    ----------
    parameters : StepParameters
        Of the stepper, as they were read just now.
    given : mujoco.MjModel, optional
        The model that the stepper was made for; None where it follows its own copy alone.
    """

    def __init__(self, parameters: StepParameters, given: mujoco.MjModel | None) -> None:
        self._parameters, self._given = parameters, given
        self._of_given = _watch_all(given)
        self._structure = (*STRUCTURE, *(OF_FIELDS if parameters.fields else ()))
        self._read = (*READ, *CHECKED)
        self._fields = fields_in_numbers(parameters.model)
        self._of_own = ModelWatch(parameters.model, {*self._read, *self._structure}, _READ_OPTIONS)
        self._unread = False

    def is_behind(self) -> bool:
        """Whether anything has changed that has to be read."""
        given = self._of_given is not None and self._of_given.changed()
        return given or self._unread or self._of_own.changed()

    @property
    def bytes(self) -> tuple[_core.ByteWatch, ...] | None:
        """What tells in C whether :meth:`is_behind`; None where C cannot."""
        watches = [watch.bytes for watch in (self._of_own, self._of_given) if watch is not None]
        found = tuple(watch for watch in watches if watch is not None)
        return found if len(found) == len(watches) else None

    def read(self) -> StepParameters:
        """Bring the private copy up to date, and read it.

        Returns
        -------
        StepParameters
            With the same model, to be followed anew; the same object where only that has changed
            which MuJoCo's stages read.

        Raises
        ------
        NotSupported, ValueError
            Where something has changed that cannot; the text names it.
        """
        changed = set(self._changed())
        for name in sorted(changed.intersection(self._structure)):
            raise _refuse(name)
        if "numeric_data" in changed:
            self._check_fields()
        if self._of_given is not None:
            self._bring_over(self._of_given)
        self._parameters = self._parameters.adapt_again()
        # until it can be read
        self._unread |= not changed.isdisjoint(self._read) or self._of_own.changed()
        self._of_given = _watch_all(self._given)
        return self._parameters.read_again() if self._unread else self._parameters

    def _check_fields(self) -> None:
        """Raise ValueError where custom numbers have other pressure fields now."""
        for model in (self._given, self._parameters.model):
            if model is not None and fields_in_numbers(model) != self._fields:
                raise _refuse("numeric_data, of pressure fields,")

    def _changed(self) -> Iterator[str]:
        for watch in (self._of_given, self._of_own):
            if watch is not None:
                yield from (name for name, _, _ in watch.changes())

    def _bring_over(self, watch: ModelWatch) -> None:
        """Write to the private copy what has changed of the model given."""
        given, own, parameters = self._given, self._parameters.model, self._parameters
        assert given is not None
        changed = {name for name in OPTIONS if getattr(given.opt, name) != watch.options[name]}
        for name in changed.intersection(_FIXED_OPTIONS):
            raise _refuse(f"opt.{name}")
        if "timestep" in changed and parameters.reading.time_step is None:
            raise _refuse("opt.timestep")
        for name, array, where in watch.changes():
            holder, _, field = name.rpartition(".")
            if name == "pair_friction":
                # the copy has the mean of the first two
                where[:, :2] |= where[:, :2].any(axis=1, keepdims=True)
            getattr(own.opt if holder else own, field)[where] = array[where]
            if name in parameters.released:
                # the model says anew whether forces are bounded
                parameters.released[name][where] = False
        for name in changed.difference(_FIXED_OPTIONS, ("timestep", "disableflags", "enableflags")):
            setattr(own.opt, name, getattr(given.opt, name))
        for name, kept in (("disableflags", DISABLED), ("enableflags", 0)):
            flags = getattr(given.opt, name)
            bits = (flags ^ watch.options[name]) & ~kept
            setattr(own.opt, name, (getattr(own.opt, name) & ~bits) | (flags & bits))
