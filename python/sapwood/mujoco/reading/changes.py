"""The parts of a model to read: all of it, or the parts that depend on some arrays."""

from __future__ import annotations

from collections.abc import Collection

# implicit controllers follow from these
GAINS = (
    "actuator_biasprm", "actuator_biastype", "actuator_forcelimited", "actuator_forcerange",
    "actuator_gainprm", "actuator_gaintype", "jnt_actfrclimited", "jnt_actfrcrange",
    "tendon_actfrclimited", "tendon_actfrcrange",
)  # fmt: skip

DAMPING = (
    "dof_damping", "dof_dampingpoly", "actuator_damping", "actuator_dampingpoly", "actuator_gear",
)  # fmt: skip

# whether smooth forces are implicit follows from these
SLOPES = (
    *GAINS, *DAMPING, "tendon_damping", "tendon_dampingpoly", "opt.density", "opt.viscosity",
)  # fmt: skip

LOSSES = ("dof_frictionloss", "tendon_frictionloss")
JOINT_LIMITS = ("jnt_limited", "jnt_range")
TENDON_LIMITS = ("tendon_limited", "tendon_range")

# arrays that adaptations depend on
ADAPTED = ("pair_dim", "pair_friction", "tendon_frictionloss", "tendon_limited")

# no array of the stepper follows from these
_IDLE = (
    "jnt_stiffness", "jnt_stiffnesspoly", "exclude_signature", "geom_adhesion", "geom_conaffinity",
    "geom_condim", "geom_contype", "geom_priority", "geom_surfacevel", "pair_adhesion", "pair_dim",
    "pair_friction",
)  # fmt: skip

_APART = frozenset((
    *SLOPES, *LOSSES, *JOINT_LIMITS, *TENDON_LIMITS, *_IDLE, "actuator_group", "body_invweight0",
    "eq_data", "geom_friction", "geom_size", "pair_geom1", "pair_geom2", "opt.gravity",
))  # fmt: skip


class Changes:
    """Names of the arrays and options that have changed since a model was read.

    Parameters
    ----------
    names : collection of str, optional
        Names of the changed arrays; None, or a name with unknown effects, stands for all.
    """

    def __init__(self, names: Collection[str] | None = None) -> None:
        self._names = None if names is None or not _APART.issuperset(names) else set(names)

    @property
    def are_all(self) -> bool:
        """Whether all has to be read."""
        return self._names is None

    def any_of(self, *names: str) -> bool:
        """Whether one of these has changed."""
        return self._names is None or not self._names.isdisjoint(names)


ALL = Changes()
