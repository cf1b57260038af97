"""Meshes with or without a pressure field, and half spaces, as the core takes them."""

from __future__ import annotations

from enum import Enum
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import real

_Scalar = TypeVar("_Scalar", bound=np.generic)


class ShapeKind(Enum):
    """The kind of cells of a shape.

    ``TETRAHEDRA`` (a pressure field), ``TRIANGLES`` (rigid), ``HALF_SPACE`` (rigid),
    ``COMPLIANT_HALF_SPACE``.
    """

    #: compliant: a pressure field, linear in each tetrahedron
    TETRAHEDRA = "tetrahedra"
    #: rigid
    TRIANGLES = "triangles"
    #: rigid: z <= 0
    HALF_SPACE = "half_space"
    #: p = -slope z where z <= margin
    COMPLIANT_HALF_SPACE = "compliant_half_space"


class FieldShape:
    """A shape for contact surfaces: checked, with its tree of boxes; it never changes.

    Made by the methods of :class:`PressureField`, or from arrays of your own by `tetrahedra`,
    `triangles` and `half_space`.

    Attributes
    ----------
    kind : ShapeKind
        The kind of its cells.
    vertices : ndarray (n, 3)
        Vertices in the frame of the shape, m; none for a half space.
    cells : ndarray of int32 (m, 4) or (m, 3)
        Tetrahedra of positive volume, or triangles, outward by the right hand.
    pressure : ndarray (n,)
        At the vertices, Pa; empty where rigid.
    slope : float
        Slope of the pressure of a compliant half space, Pa/m; else 0.
    margin : float
        Thickening of a compliant half space, m; else 0.
    """

    kind: ShapeKind
    vertices: NDArray[np.float64]
    cells: NDArray[np.int32]
    pressure: NDArray[np.float64]
    slope: float
    margin: float
    _shape: object  # the shape in the core

    __slots__ = ("_shape", "cells", "kind", "margin", "pressure", "slope", "vertices")

    def __init__(
        self,
        kind: ShapeKind,
        vertices: ArrayLike = (),
        cells: ArrayLike = (),
        pressure: ArrayLike = (),
        slope: float = 0.0,
        margin: float = 0.0,
    ) -> None:
        corners = 4 if kind is ShapeKind.TETRAHEDRA else 3
        name = "tetrahedra" if corners == 4 else "triangles"
        values = {
            "kind": ShapeKind(kind),
            "vertices": _frozen(_core.as_float64(_rows(vertices, 3), "vertices", (-1, 3))),
            "cells": _frozen(_as_cells(cells, name, corners)),
            "pressure": _frozen(_core.as_float64(pressure, "pressure", (-1,))),
            "slope": real(slope, "slope"),
            "margin": real(margin, "margin"),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        shape = _core.field_shape(
            self.kind.value,
            self.vertices,
            self.cells.ravel(),
            self.pressure,
            self.slope,
            self.margin,
        )
        object.__setattr__(self, "_shape", shape)

    @classmethod
    def tetrahedra(cls, vertices: ArrayLike, tetrahedra: ArrayLike, pressure: ArrayLike) -> Self:
        """Make a compliant shape.

        Parameters
        ----------
        vertices : array_like (n, 3)
            Vertices in the frame of the shape, m.
        tetrahedra : array_like of int (m, 4)
            Vertices of each, with (v1 - v0) x (v2 - v0) . (v3 - v0) > 0.
        pressure : array_like (n,)
            At the vertices, Pa.

        Returns
        -------
        FieldShape
            The shape.

        Raises
        ------
        TypeError, ValueError
            For a wrong array; of a tetrahedron that is inverted, flat, there twice, or has vertices
            that are not there, the text has the number.
        """
        return cls(ShapeKind.TETRAHEDRA, vertices, tetrahedra, pressure)

    @classmethod
    def triangles(cls, vertices: ArrayLike, triangles: ArrayLike) -> Self:
        """Make a rigid shape.

        Parameters
        ----------
        vertices : array_like (n, 3)
            Vertices in the frame of the shape, m.
        triangles : array_like of int (m, 3)
            Vertices of each, counter-clockwise as seen from outside.

        Returns
        -------
        FieldShape
            The shape.

        Raises
        ------
        TypeError, ValueError
            For a wrong array; of a triangle that is flat, there twice, or has vertices that are not
            there, the text has the number.
        """
        return cls(ShapeKind.TRIANGLES, vertices, triangles)

    @classmethod
    def half_space(cls, slope: float | None = None, margin: float = 0.0) -> Self:
        """Make the half space z <= 0.

        Parameters
        ----------
        slope : float, optional
            Pressure per depth, Pa/m; by default it is rigid.
        margin : float, optional
            Thickening of a compliant half space, m.

        Returns
        -------
        FieldShape
            The half space.

        Raises
        ------
        ValueError
            For a slope that is not positive, or a negative margin.
        """
        if slope is None:
            return cls(ShapeKind.HALF_SPACE)
        return cls(ShapeKind.COMPLIANT_HALF_SPACE, slope=slope, margin=margin)

    @property
    def rigid(self) -> bool:
        """Whether it carries no pressure."""
        return self.kind in (ShapeKind.TRIANGLES, ShapeKind.HALF_SPACE)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name}: a FieldShape does not change")

    def __repr__(self) -> str:
        if self.kind in (ShapeKind.HALF_SPACE, ShapeKind.COMPLIANT_HALF_SPACE):
            return f"FieldShape({self.kind.value}, slope={self.slope}, margin={self.margin})"
        return f"FieldShape({len(self.vertices)} vertices, {len(self.cells)} {self.kind.value})"

    def __reduce__(self) -> tuple[object, ...]:
        values = (self.kind, self.vertices, self.cells, self.pressure, self.slope, self.margin)
        return (type(self), values)


def _rows(values: ArrayLike, width: int) -> ArrayLike:
    """An empty list as an array without rows."""
    return np.empty((0, width)) if np.size(values) == 0 and np.ndim(values) < 2 else values


def _as_cells(cells: ArrayLike, name: str, corners: int) -> NDArray[np.int32]:
    array = np.asarray(_rows(cells, corners))
    if array.ndim != 2 or array.shape[1] != corners:
        raise ValueError(f"{name} has shape {array.shape}, expected (any, {corners})")
    return _core.as_int32(array.ravel(), name).reshape(-1, corners)


def _frozen(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    copy = array.copy()
    copy.setflags(write=False)
    return copy
