"""The planes and rigid bodies that soft bodies touch."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import real
from sapwood.geometry import FieldShape, ShapeKind

from .body_checks import checked_pose, ranged

_Float = NDArray[np.float64]


class HalfSpace:
    """A rigid half space.

    Parameters
    ----------
    normal : array_like (3,), optional
        Direction out of it; its length is not used.
    offset : float, optional
        Distance of its surface from the origin along the normal, m.
    friction : float, optional
        Coefficient of friction, >= 0.
    dissipation_time : float, optional
        Dissipation time, s, >= 0.
    name : str, optional
        Name for results.

    Raises
    ------
    TypeError, ValueError
        For a value out of range.
    """

    def __init__(
        self,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        offset: float = 0.0,
        *,
        friction: float = 0.5,
        dissipation_time: float = 0.1,
        name: str = "plane",
    ) -> None:
        given = _core.as_float64(normal, "normal", (3,))
        length = float(np.linalg.norm(given))
        if not 0 < length < math.inf:
            raise ValueError("normal: must have a direction")
        self.normal: _Float = given / length
        self.offset, self.name = real(offset, "offset"), name
        self.friction = ranged(friction, "friction")
        self.dissipation_time = ranged(dissipation_time, "dissipation_time")


class RigidBody:
    """A rigid body with a pressure field, at rest or on a slide.

    Parameters
    ----------
    shape : FieldShape
        Its shape, with a pressure field.
    pose : array_like (4, 4), optional
        Its pose at zero position of the slide.
    friction, dissipation_time : float, optional
        As of :class:`HalfSpace`.
    mass : float, optional
        Mass, kg, > 0; without mass it does not move.
    axis : array_like (3,), optional
        Direction of the slide, of unit length; needed with a mass.
    damping : float, optional
        Damping of the slide, N s/m, >= 0.
    force : float, optional
        Force along the slide beside gravity, N.
    name : str, optional
        Name for results.

    Attributes
    ----------
    position, velocity : float
        State of the slide, m and m/s; may be written to between steps.
    force : float
        Force along the slide, N; may be written to between steps.

    Raises
    ------
    TypeError, ValueError
        For a value out of range, or a shape without a pressure field.
    """

    def __init__(
        self,
        shape: FieldShape,
        *,
        pose: ArrayLike | None = None,
        friction: float = 0.5,
        dissipation_time: float = 0.1,
        mass: float | None = None,
        axis: ArrayLike | None = None,
        damping: float = 0.0,
        force: float = 0.0,
        name: str = "rigid",
    ) -> None:
        if not isinstance(shape, FieldShape):
            raise TypeError(f"shape must be a FieldShape, not {type(shape).__name__}")
        if shape.kind is not ShapeKind.TETRAHEDRA:
            raise ValueError("shape: must have tetrahedra with pressures")
        if (mass is None) != (axis is None):
            raise ValueError("axis: must be given with a mass, and only then")
        self.shape, self.name, self.rest_pose = shape, name, checked_pose(pose)
        self.friction = ranged(friction, "friction")
        self.dissipation_time = ranged(dissipation_time, "dissipation_time")
        self.mass = None if mass is None else ranged(mass, "mass", positive=True)
        self.axis: _Float = np.zeros(3)
        if axis is not None:
            self.axis = _core.as_float64(axis, "axis", (3,)).copy()
            if abs(np.linalg.norm(self.axis) - 1) > 1e-9:
                raise ValueError("axis: must have unit length")
        self.damping, self.force = ranged(damping, "damping"), real(force, "force")
        self.position = self.velocity = 0.0

    @property
    def pose(self) -> _Float:
        """Present pose (4, 4)."""
        pose = self.rest_pose.copy()
        pose[:3, 3] += self.position * self.axis
        return pose
