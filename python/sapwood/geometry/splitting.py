"""Prisms and pyramids as tetrahedra.

A quadrilateral is always split by the diagonal through its vertex of smallest number (Dompierre et
al. 1999), so that neighbours agree on it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.int64]

# a prism (0 1 2 below 3 4 5) turned so that the vertex of this number comes first
_PRISM_TURNS = np.array(
    [
        [0, 1, 2, 3, 4, 5],
        [1, 2, 0, 4, 5, 3],
        [2, 0, 1, 5, 3, 4],
        [3, 5, 4, 0, 2, 1],
        [4, 3, 5, 1, 0, 2],
        [5, 4, 3, 2, 1, 0],
    ]
)


def split_pyramids(pyramids: Cells) -> Cells:
    """Split pyramids into two tetrahedra each.

    Parameters
    ----------
    pyramids : ndarray of int (n, 5)
        The base in order, then the apex.

    Returns
    -------
    ndarray of int (2 n, 4)
        Tetrahedra, of either orientation.
    """
    first = np.argmin(pyramids[:, :4], axis=1)
    turned = (first[:, None] + np.arange(4)) % 4
    base = np.take_along_axis(pyramids, turned, axis=1)
    corners = np.column_stack([base, pyramids[:, 4]])
    return np.concatenate([corners[:, [0, 1, 2, 4]], corners[:, [0, 2, 3, 4]]])


def split_prisms(prisms: Cells) -> Cells:
    """Split prisms into three tetrahedra each.

    Parameters
    ----------
    prisms : ndarray of int (n, 6)
        One triangle, then the other in the same order.

    Returns
    -------
    ndarray of int (3 n, 4)
        Tetrahedra, of either orientation.
    """
    turns = _PRISM_TURNS[np.argmin(prisms, axis=1)]
    p = np.take_along_axis(prisms, turns, axis=1)
    # the diagonal of the one quadrilateral without vertex 0: 1-5 or 2-4
    by_1_5 = np.minimum(p[:, 1], p[:, 5]) < np.minimum(p[:, 2], p[:, 4])
    q, r = p[by_1_5], p[~by_1_5]
    return np.concatenate(
        [
            p[:, [0, 4, 5, 3]],
            q[:, [0, 1, 2, 5]],
            q[:, [0, 1, 5, 4]],
            r[:, [0, 1, 2, 4]],
            r[:, [0, 4, 2, 5]],
        ]
    )


def oriented(vertices: NDArray[np.float64], tetrahedra: Cells) -> Cells:
    """Turn tetrahedra to positive volume.

    Parameters
    ----------
    vertices : ndarray (n, 3)
        Vertices of the prisms.
    tetrahedra : ndarray of int (m, 4)
        Tetrahedra of either orientation.

    Returns
    -------
    ndarray of int (m, 4)
        The same with (v1 - v0) x (v2 - v0) . (v3 - v0) > 0.
    """
    inverted = volumes(vertices, tetrahedra) < 0
    result = tetrahedra.copy()
    result[inverted] = tetrahedra[inverted][:, [0, 1, 3, 2]]
    return result


def volumes(vertices: NDArray[np.float64], tetrahedra: Cells) -> NDArray[np.float64]:
    """Signed volumes of tetrahedra.

    Parameters
    ----------
    vertices : ndarray (n, 3)
        Vertices of the mesh.
    tetrahedra : ndarray of int (m, 4)
        Vertices of each.

    Returns
    -------
    ndarray (m,)
        Volumes.
    """
    v = vertices[tetrahedra]
    edges = v[:, 1:] - v[:, :1]
    signed: NDArray[np.float64] = np.linalg.det(edges) / 6
    return signed


def boundary(tetrahedra: Cells) -> Cells:
    """Faces of tetrahedra that no two of them share.

    Parameters
    ----------
    tetrahedra : ndarray of int (m, 4)
        Tetrahedra of positive volume.

    Returns
    -------
    ndarray of int (k, 3)
        Triangles, counter-clockwise as seen from outside.
    """
    faces: Cells = tetrahedra[:, [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]].reshape(-1, 3)
    _, first, counts = np.unique(
        np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True
    )
    boundary = np.sort(first[counts == 1])
    return np.take(faces, boundary, axis=0)
