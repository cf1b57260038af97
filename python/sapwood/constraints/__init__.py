"""Constraints other than contacts: limits, welds and loops, controllers, dry friction."""

from sapwood.constraints.kinds import Bilaterals, Controllers, DryFrictions, JointLimits
from sapwood.constraints.materials import ConstraintMaterial

__all__ = ["Bilaterals", "ConstraintMaterial", "Controllers", "DryFrictions", "JointLimits"]
