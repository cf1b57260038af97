"""The cores of a scene that may touch: rows of the tables, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sapwood.trajectory.meetings import BoxTable, PlaneTable, SegmentTable, Table
from sapwood.trajectory.shapes import Box, Shape, balls_of, segments_of

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


def pairs_of(n_bodies: int, n_planes: int, body_contacts: bool) -> _Index:
    """Every body with every half-space, then every two bodies.

    Parameters
    ----------
    n_bodies, n_planes : int
        Numbers of bodies and planes in the scene.
    body_contacts : bool
        Whether bodies meet each other.

    Returns
    -------
    ndarray of int (n_pairs, 2)
        First body, and second body or -1 - half-space.
    """
    pairs = [(a, -1 - plane) for a in range(n_bodies) for plane in range(n_planes)]
    if body_contacts:
        pairs += [(a, b) for a in range(n_bodies) for b in range(a + 1, n_bodies)]
    return np.array(pairs, np.int32).reshape(-1, 2)


def plane_table(
    shapes: Sequence[Shape], pairs: _Index, normals: _Float, heights: _Float
) -> PlaneTable:
    """All rows of bodies with half-spaces.

    Parameters
    ----------
    shapes : sequence of Shape
        The shape of each body.
    pairs : ndarray of int (n_pairs, 2)
        The result of :func:`pairs_of`.
    normals : ndarray (n_planes, 3)
        Unit normals of the half-spaces.
    heights : ndarray (n_planes,)
        Their heights n.x, m.

    Returns
    -------
    PlaneTable
        May be empty.
    """
    rows = np.flatnonzero(pairs[:, 1] < 0)
    balls = [balls_of(shapes[a]) for a in pairs[rows, 0]]
    counts = [len(points) for points in balls]
    pair = np.repeat(rows, counts).astype(np.int32)
    a, plane = pairs[pair, 0], -1 - pairs[pair, 1]
    radii = np.array([shape.radius for shape in shapes])
    return PlaneTable(
        a=a,
        b=np.full(len(a), -1, np.int32),
        pair=pair,
        r_a=radii[a],
        r_b=np.zeros(len(a)),
        points=np.concatenate([np.zeros((0, 3)), *balls]),
        plane=plane,
        normals=normals[plane],
        height=heights[plane],
    )


def body_tables(shapes: Sequence[Shape], pairs: _Index) -> list[Table]:
    """The rows of bodies with each other.

    Parameters
    ----------
    shapes : sequence of Shape
        The shape of each body.
    pairs : ndarray of int (n_pairs, 2)
        The result of :func:`pairs_of`.

    Returns
    -------
    list of Table
        The tables that are not empty. A box meets the balls of other bodies and the corners of
        boxes; all others meet by segments and points.
    """
    boxes: list[tuple[int, int, int]] = []
    segments: list[tuple[int, int, int]] = []
    for pair in np.flatnonzero(pairs[:, 1] >= 0).tolist():
        a, b = pairs[pair].tolist()
        if isinstance(shapes[b], Box):
            boxes.append((pair, a, b))
        if isinstance(shapes[a], Box):
            boxes.append((pair, b, a))
        if not (isinstance(shapes[a], Box) or isinstance(shapes[b], Box)):
            segments.append((pair, a, b))
    tables: list[Table] = []
    if segments:
        tables.append(_segment_table(shapes, segments))
    if boxes:
        tables.append(_box_table(shapes, boxes))
    return tables


def _columns(
    of: list[tuple[int, int, int]], counts: list[int], shapes: Sequence[Shape]
) -> tuple[_Index, _Index, _Index, _Float, _Float]:
    """Bodies a and b and pair of each row, and the radii about both: so many of (pair, a, b)."""
    pair, a, b = np.repeat(np.array(of, np.int32), counts, axis=0).T
    radii = np.array([shape.radius for shape in shapes])
    return a, b, pair, radii[a], radii[b]


def _segment_table(shapes: Sequence[Shape], of: list[tuple[int, int, int]]) -> SegmentTable:
    cores = [(segments_of(shapes[a]), segments_of(shapes[b])) for _, a, b in of]
    # each core of a with each core of b
    grids = [np.indices((len(a[0]), len(b[0]))).reshape(2, -1) for a, b in cores]

    def both(part: int) -> _Float:
        """Centres or halves of both sides."""
        pairs = list(zip(cores, grids, strict=True))
        sides = [[core[side][part][grid[side]] for core, grid in pairs] for side in (0, 1)]
        return np.stack([np.concatenate(side) for side in sides])

    counts = [grid.shape[1] for grid in grids]
    return SegmentTable(*_columns(of, counts, shapes), centres=both(0), halves=both(1))


def _box_table(shapes: Sequence[Shape], of: list[tuple[int, int, int]]) -> BoxTable:
    balls = [balls_of(shapes[a]) for _, a, _ in of]
    boxes = [shapes[b] for _, _, b in of]
    half_sizes = np.array([box.half_sizes for box in boxes if isinstance(box, Box)])
    counts = [len(points) for points in balls]
    return BoxTable(
        *_columns(of, counts, shapes),
        points=np.concatenate(balls),
        half_sizes=np.repeat(half_sizes, counts, axis=0),
    )
