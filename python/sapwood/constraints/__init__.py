"""Constraints other than contacts: limits, welds and loops, controllers, dry friction."""

from sapwood.constraints.kinds import Bilaterals, Controllers, DryFrictions, JointLimits
from sapwood.constraints.materials import ConstraintMaterial, custom_stiffness

__all__ = [
    "Bilaterals",
    "ConstraintMaterial",
    "Controllers",
    "DryFrictions",
    "JointLimits",
    "custom_stiffness",
]
