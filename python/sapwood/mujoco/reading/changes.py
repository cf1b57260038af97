"""The parts of a model to read: all of it, or the parts that depend on some arrays."""

from __future__ import annotations

from collections.abc import Collection

from sapwood.mujoco.reading.engine_fields import fields_before

# implicit controllers follow from these
GAINS = fields_before("GAINS")
DAMPING = fields_before("DAMPING")
# whether smooth forces are implicit follows from these
SLOPES = (*GAINS, *DAMPING, *fields_before("SLOPES"))

LOSSES = fields_before("LOSSES")
JOINT_LIMITS = fields_before("JOINT_LIMITS")
TENDON_LIMITS = fields_before("TENDON_LIMITS")

# arrays that adaptations depend on
ADAPTED = ("pair_dim", "pair_friction", "tendon_frictionloss", "tendon_limited")

_APART = frozenset((
    *SLOPES, *LOSSES, *JOINT_LIMITS, *TENDON_LIMITS, *fields_before("ITSELF"),
    *fields_before("NOTHING"),
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
