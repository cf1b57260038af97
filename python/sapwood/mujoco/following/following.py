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
from sapwood.mujoco.reading.field_numbers import fields_in_numbers
from sapwood.mujoco.reading.options import DISABLED
from sapwood.mujoco.reading.parameters import StepParameters

#: Arrays of a model that the stepper reads, and reads again; not every version has all of them.
READ = (
    "actuator_biasprm", "actuator_biastype", "actuator_damping", "actuator_dampingpoly",
    "actuator_forcelimited", "actuator_forcerange", "actuator_gainprm", "actuator_gaintype",
    "actuator_gear", "actuator_group", "body_invweight0", "dof_damping", "dof_dampingpoly",
    "dof_frictionloss", "eq_data", "flex_conaffinity", "flex_contype", "flex_internal",
    "flex_selfcollide", "geom_friction", "geom_group", "geom_size",
    "jnt_actfrclimited", "jnt_actfrcrange", "jnt_limited", "jnt_range", "jnt_stiffness",
    "jnt_stiffnesspoly", "numeric_data", "pair_geom1", "pair_geom2", "tendon_actfrclimited",
    "tendon_actfrcrange", "tendon_frictionloss", "tendon_damping", "tendon_dampingpoly",
    "tendon_limited", "tendon_range",
)  # fmt: skip

#: Arrays that what is refused, or adapted, follows from; they are read again too.
CHECKED = (
    "exclude_signature", "geom_adhesion", "geom_conaffinity", "geom_condim", "geom_contype",
    "geom_priority", "geom_surfacevel", "pair_adhesion", "pair_dim", "pair_friction",
)  # fmt: skip

#: Arrays by which trees, rows and transmissions are laid out; they cannot change.
STRUCTURE = (
    "D_colind", "D_rowadr", "D_rownnz", "M_colind", "M_rowadr", "M_rownnz", "actuator_outadr",
    "actuator_outnum", "actuator_plugin", "actuator_trnid", "actuator_trntype", "body_dofadr",
    "body_dofnum", "body_mocapid", "body_rootid", "body_treeid", "body_weldid", "dof_jntid",
    "dof_parentid", "dof_treeid", "eq_obj1id", "eq_obj2id", "eq_objtype", "eq_type", "geom_bodyid",
    "jnt_actuatorid", "jnt_dofadr", "jnt_qposadr", "jnt_type", "numeric_adr", "numeric_size",
    "site_bodyid", "ten_J_colind", "ten_J_rowadr", "ten_J_rownnz", "tendon_actuatorid",
    "tendon_treeid", "tendon_treenum", "tree_dofadr", "tree_dofnum",
)  # fmt: skip

#: With pressure fields: what shapes and pairs follow from, and what patches have not.
OF_FIELDS = (
    "body_parentid", "exclude_signature", "geom_adhesion", "geom_conaffinity", "geom_condim",
    "geom_contype", "geom_dataid", "geom_priority", "geom_size", "geom_surfacevel", "geom_type",
    "flex_conaffinity", "flex_contype", "pair_dim", "pair_geom1", "pair_geom2", "pair_margin",
)  # fmt: skip

_FIXED_OPTIONS = ("integrator", "cone")
_READ_OPTIONS = ("density", "viscosity", "gravity", "disableflags", "enableflags")


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
