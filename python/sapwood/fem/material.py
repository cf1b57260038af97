"""Elastic materials."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from sapwood.base.checks import real
from sapwood.base.hints import warn_caller

#: names of the elastic energies, with the formulas in ``sapwood/fem.h``
MaterialModel = Literal[
    "linear", "linear_corotated", "corotated", "neo_hookean", "st_venant_kirchhoff"
]
MODELS: tuple[str, ...] = get_args(MaterialModel)

# linear tetrahedra are too stiff (lock) above this Poisson's ratio
_LOCKING = 0.49


@dataclass(frozen=True, kw_only=True)
class Material:
    """An elastic material.

    Parameters
    ----------
    young : float
        Young's modulus, Pa, > 0.
    poisson : float
        Poisson's ratio, in (-1, 0.5); above 0.49 linear tetrahedra lock, which is a warning.
    density : float
        Density, kg/m^3, > 0.
    model : str
        The elastic energy: "linear" (small strain, no rotation), "linear_corotated" (small strain
        in the rotated frame of each tetrahedron at the start of a step), "corotated", "neo_hookean"
        (stable), or "st_venant_kirchhoff" (that of MuJoCo's flexes).
    mass_damping, stiffness_damping : float
        Damping forces are -(mass_damping M + stiffness_damping K) v, in 1/s and s, >= 0.

    Raises
    ------
    TypeError, ValueError
        For a value outside its range; the text names it.
    """

    young: float
    poisson: float
    density: float
    model: MaterialModel = "linear_corotated"
    mass_damping: float = 0.0
    stiffness_damping: float = 0.0

    def __post_init__(self) -> None:
        for name in ("young", "poisson", "density", "mass_damping", "stiffness_damping"):
            object.__setattr__(self, name, real(getattr(self, name), name))
        for name in ("young", "density"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ValueError(f"{name} = {value}: must be finite and > 0")
        for name in ("mass_damping", "stiffness_damping"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} = {value}: must be finite and >= 0")
        if not -1 < self.poisson < 0.5:
            raise ValueError(f"poisson = {self.poisson}: must be > -1 and < 0.5")
        if self.model not in MODELS:
            raise ValueError(f"model = {self.model!r}: must be one of {', '.join(MODELS)}")
        if self.poisson > _LOCKING:
            warn_caller(f"poisson = {self.poisson}: linear tetrahedra lock above {_LOCKING}")

    @property
    def mu(self) -> float:
        """Shear modulus, Lame's second constant, Pa."""
        return self.young / (2 * (1 + self.poisson))

    @property
    def lam(self) -> float:
        """Lame's first constant, Pa."""
        return self.young * self.poisson / ((1 + self.poisson) * (1 - 2 * self.poisson))
