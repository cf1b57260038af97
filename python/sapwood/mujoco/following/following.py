"""How a stepper keeps up with a model that is changed after it was made.

MuJoCo's stages read the private copy of the model in each step. What the C core has read of it is
read again where it has changed; the structure stays as it was. Changes of the model that the
stepper was made for are brought to the copy first.
"""

from __future__ import annotations

from typing import Any

import mujoco
from numpy.typing import NDArray

from sapwood.mujoco.following.watch import MOTION, OPTIONS, ModelWatch
from sapwood.mujoco.reading.changes import ADAPTED, Changes
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


def _refuse(name: str) -> ValueError:
    return ValueError(
        f"model.{name} has changed since the stepper was made, and belongs to it: make a new one"
    )


class Following:
    """Finds out what has changed, and reads it again.

    Names and places are looked up once. After a change its bytes are copied, and only what follows
    from them is read again.

    Parameters
    ----------
    parameters : StepParameters
        Of the stepper, as they were read just now.
    given : mujoco.MjModel, optional
        The model that the stepper was made for; None where it follows its own copy alone.
    """

    def __init__(self, parameters: StepParameters, given: mujoco.MjModel | None) -> None:
        self._parameters, self._given = parameters, given
        self._of_given = None if given is None else ModelWatch(given, {*MOTION, *READ})
        self._structure = frozenset((*STRUCTURE, *(OF_FIELDS if parameters.fields else ())))
        self._read = frozenset((*READ, *CHECKED))
        self._fields = fields_in_numbers(parameters.model)
        own = self._read | self._structure
        self._of_own = ModelWatch(parameters.model, own, _READ_OPTIONS)
        # what has changed and could not be read so far
        self._unread: set[str] = set()
        watches = [watch for watch in (self._of_own, self._of_given) if watch is not None]
        self.bytes = tuple(watch.bytes for watch in watches)
        """What tells in C whether anything has changed."""

    def is_behind(self) -> bool:
        """Whether anything has changed that has to be read."""
        return bool(self._unread) or any(watch.changed() for watch in self.bytes)

    def read(self) -> StepParameters:
        """Bring the private copy up to date, and read it; what was read is yet to be accepted.

        Returns
        -------
        StepParameters
            With the same model; the same object where only that has changed which MuJoCo's stages
            read.

        Raises
        ------
        NotSupported, ValueError
            Where something has changed that cannot; the text names it.
        """
        of_given = {} if self._of_given is None else self._of_given.changes()
        own = self._of_own.changes()
        for name in sorted(self._structure.intersection((*of_given, *own))):
            raise _refuse(name)
        if "numeric_data" in of_given or "numeric_data" in own:
            self._check_fields()
        if self._of_given is not None and of_given:
            self._bring_over(self._of_given, of_given)
            self._of_given.accept()
            self._unread |= self._read.intersection(of_given)
        self._unread.update(self._of_own.changes())
        if Changes(self._unread).any_of(*ADAPTED):
            # which may change the copy
            self._parameters = self._parameters.adapt_again()
            self._unread.update(self._of_own.changes())
        if self._unread:
            self._parameters = self._parameters.read_again(self._unread)
        return self._parameters

    def accept(self) -> None:
        """Steps are those of what was read last."""
        self._unread.clear()
        self._of_own.accept()

    def _check_fields(self) -> None:
        """Raise ValueError where custom numbers have other pressure fields now."""
        for model in (self._given, self._parameters.model):
            if model is not None and fields_in_numbers(model) != self._fields:
                raise _refuse("numeric_data, of pressure fields,")

    def _bring_over(self, watch: ModelWatch, changes: dict[str, NDArray[Any]]) -> None:
        """Write to the private copy what has changed of the model given."""
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
