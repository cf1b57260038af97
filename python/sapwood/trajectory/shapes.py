"""Shapes of free bodies: all points within a radius of a core of points, a segment, or a box."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core

_Float = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Sphere:
    """A ball about the centre of mass.

    Attributes
    ----------
    radius : float
        m, > 0.

    Raises
    ------
    TypeError, ValueError
        For a wrong radius.
    """

    radius: float

    def __post_init__(self) -> None:
        _check(self, "radius", "positive")


@dataclasses.dataclass(frozen=True)
class Capsule:
    """All within a radius of a segment along z, about the centre of mass.

    Attributes
    ----------
    half_length : float
        Half length of the segment, m, > 0.
    radius : float
        m, > 0.

    Raises
    ------
    TypeError, ValueError
        For a wrong length.
    """

    half_length: float
    radius: float

    def __post_init__(self) -> None:
        _check(self, "half_length", "positive")
        _check(self, "radius", "positive")


@dataclasses.dataclass(frozen=True)
class Box:
    """All within a radius of a box with the axes of the body, about the centre of mass.

    Attributes
    ----------
    half_sizes : tuple of 3 floats
        Half sizes of the box, m, > 0.
    radius : float
        m, >= 0; 0 for sharp corners.

    Raises
    ------
    TypeError, ValueError
        For wrong sizes.
    """

    half_sizes: tuple[float, float, float]
    radius: float = 0.0

    def __post_init__(self) -> None:
        sizes = _core.as_float64(self.half_sizes, "half_sizes", (3,), "positive")
        object.__setattr__(self, "half_sizes", tuple(sizes.tolist()))
        _check(self, "radius", "non-negative")


@dataclasses.dataclass(frozen=True, eq=False)
class Points:
    """All within a radius of given points: the corners of a polytope, the feet of a table.

    Attributes
    ----------
    points : ndarray (n, 3)
        Relative to the centre of mass, along the axes of the body, m.
    radius : float
        m, >= 0.

    Raises
    ------
    TypeError, ValueError
        For wrong points or a wrong radius.
    """

    points: ArrayLike
    radius: float = 0.0

    def __post_init__(self) -> None:
        points = np.array(_core.as_float64(self.points, "points", (-1, 3), "finite"))
        if len(points) == 0:
            raise ValueError("points has length 0: a shape needs at least one")
        points.flags.writeable = False
        object.__setattr__(self, "points", points)
        _check(self, "radius", "non-negative")


Shape = Sphere | Capsule | Box | Points


def balls_of(shape: Shape) -> _Float:
    """Centres of the balls, of the shape's radius, that a half-space meets first.

    Parameters
    ----------
    shape : Shape
        The shape.

    Returns
    -------
    ndarray (n, 3)
        In the frame of the body, m.
    """
    if isinstance(shape, Box):
        signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3, indexing="ij")).reshape(3, 8).T
        corners: _Float = signs * np.array(shape.half_sizes)
        return corners
    if isinstance(shape, Capsule):
        return np.array([[0.0, 0.0, shape.half_length], [0.0, 0.0, -shape.half_length]])
    return np.asarray(shape.points) if isinstance(shape, Points) else np.zeros((1, 3))


def segments_of(shape: Shape) -> tuple[_Float, _Float]:
    """The core of a shape that is no box, as segments.

    Parameters
    ----------
    shape : Shape
        The shape.

    Returns
    -------
    ndarray (n, 3), ndarray (n, 3)
        Centres, and from there to one end, 0 of a point, in the frame of the body, m.
    """
    if isinstance(shape, Capsule):
        return np.zeros((1, 3)), np.array([[0.0, 0.0, shape.half_length]])
    centres = balls_of(shape)
    return centres, np.zeros_like(centres)


def _check(shape: Shape, name: str, rule: _core._Rule) -> None:
    value = _core.as_float64(getattr(shape, name), name, (), rule)
    object.__setattr__(shape, name, float(value))
