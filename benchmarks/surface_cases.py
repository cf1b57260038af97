"""Pairs of shapes whose contact surfaces are timed: of the reference data, and growing ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.geometry import FieldShape, PressureField

_BALL = 0.05  # m


@dataclasses.dataclass(frozen=True)
class Body:
    """A shape with its pose, and what Drake makes the same of."""

    kind: str
    params: tuple[float, ...]
    """Radius; edges; radius and length; semi-axes. m."""
    resolution: float
    modulus: float
    """Pa; infinite where rigid."""
    margin: float
    slab: float
    """Thickness of a compliant half space, m."""
    pose: NDArray[np.float64]
    shape: FieldShape


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two bodies."""

    name: str
    a: Body
    b: Body

    @property
    def cells(self) -> int:
        """Tetrahedra and triangles of both."""
        return len(self.a.shape.cells) + len(self.b.shape.cells)


def read(path: Path) -> Pair:
    """The pair of a file of the reference data, with the meshes in it.

    Raises
    ------
    KeyError
        The file holds something else.
    """
    with np.load(path) as case:
        return Pair(path.stem, _body(case, "A"), _body(case, "B"))


def _body(case: Mapping[str, Any], side: str) -> Body:
    kind, rigid = str(case[f"{side}_kind"]), bool(case[f"{side}_rigid"])
    modulus, slab = float(case[f"{side}_modulus"]), float(case[f"{side}_slab"])
    margin = float(case[f"{side}_margin"])
    if kind == "half_space":
        slope = None if rigid else modulus / slab
        shape = FieldShape.half_space(slope, 0.0 if rigid else margin)
    elif rigid:
        shape = FieldShape.triangles(case[f"{side}_v"], case[f"{side}_tri"])
    else:
        shape = FieldShape.tetrahedra(case[f"{side}_v"], case[f"{side}_tet"], case[f"{side}_p"])
    return Body(
        kind,
        tuple(np.atleast_1d(case[f"{side}_params"]).astype(float)),
        float(case[f"{side}_rez"]),
        modulus,
        margin,
        slab,
        np.array(case[f"X_W{side}"], dtype=float),
        shape,
    )


def growing(levels: Sequence[int]) -> Iterator[Pair]:
    """Two compliant balls that overlap by a tenth, their triangles split so many times."""
    for level in levels:
        resolution = 2 * _BALL * 0.7 / 2.0**level
        ball = PressureField(1e5, resolution).sphere(_BALL)
        apart = np.eye(4)
        # no edge of one mesh along an edge of the other
        c, s = np.cos(0.3), np.sin(0.3)
        apart[:3, :3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        apart[:3, 3] = 1.9 * _BALL * np.array([0.6, 0.1, 0.79])
        bodies = [
            Body("sphere", (_BALL,), resolution, 1e5, 0.0, float("nan"), pose, ball)
            for pose in (np.eye(4), apart)
        ]
        yield Pair(f"balls, {len(ball.cells)} tetrahedra each", *bodies)
