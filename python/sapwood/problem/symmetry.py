"""Mass matrices of files, which other programs wrote with the symmetry of single precision.

A matrix in single precision differs from its transpose by a few 2^-24 of its largest entry. Readers
of files take its symmetric part and warn; a larger asymmetry is an error. Arrays from a program
must be symmetric to round-off of double precision.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]

#: Largest |A - A^T| of single precision, relative to the largest entry of A.
SINGLE = 4 * 2.0**-24
#: |A_ij - A_ji|, relative to sqrt(A_ii A_jj), that the core takes for round-off.
ROUND_OFF = 64 * np.finfo(float).eps


def must_be_symmetric(asymmetry: float) -> str:
    """The error message for a matrix that is less symmetric than single precision.

    Parameters
    ----------
    asymmetry : float
        Its largest |A - A^T|, relative to the largest entry.

    Returns
    -------
    str
        The text after the name of the matrix.
    """
    return (
        f"must be symmetric: entries differ by {asymmetry:.2g} of the largest, more than single "
        f"precision's {SINGLE:.2g}"
    )


def symmetric_part_taken(asymmetry: float) -> str:
    """The warning for a matrix that is symmetric to single precision.

    Parameters
    ----------
    asymmetry : float
        Its largest |A - A^T|, relative to the largest entry.

    Returns
    -------
    str
        The text after the name of the matrix.
    """
    return (
        f"is symmetric to single precision alone, entries differ by {asymmetry:.2g} of the "
        "largest: its symmetric part is taken"
    )


def symmetric_blocks(A: _Float, tree_nv: NDArray[np.integer]) -> tuple[_Float, float]:
    """Replace blocks that are symmetric to single precision by their symmetric part.

    Parameters
    ----------
    A : ndarray (sum(tree_nv**2),)
        Row-major blocks, tree after tree.
    tree_nv : ndarray of int (n_trees,)
        Velocities of each tree.

    Returns
    -------
    A : ndarray (sum(tree_nv**2),)
        A itself if all blocks are symmetric up to round-off, or not finite.
    asymmetry : float
        Largest |A - A^T| of the replaced blocks, relative to the largest entry of the block; 0
        where none was replaced.

    Raises
    ------
    ValueError
        If a block is less symmetric; the text names its tree, and says by how much.
    """
    sizes = np.asarray(tree_nv, dtype=np.int64)
    first = np.cumsum(sizes**2) - sizes**2
    result, most = A, 0.0
    for n in np.unique(sizes):
        trees = np.flatnonzero(sizes == n)
        places = first[trees][:, None] + np.arange(n * n)
        blocks = A[places].reshape(-1, n, n)
        with np.errstate(invalid="ignore", over="ignore"):
            difference = np.abs(blocks - blocks.transpose(0, 2, 1))
            root = np.sqrt(np.abs(np.diagonal(blocks, axis1=1, axis2=2)))
            fine = difference <= ROUND_OFF * root[:, :, None] * root[:, None, :]
        wrong = np.isfinite(blocks).all(axis=(1, 2)) & ~fine.all(axis=(1, 2))
        if not wrong.any():
            continue
        part = difference[wrong].max(axis=(1, 2)) / np.abs(blocks[wrong]).max(axis=(1, 2))
        for k in np.flatnonzero(part > SINGLE):
            raise ValueError(f"A: the block of tree {trees[wrong][k]} {must_be_symmetric(part[k])}")
        if result is A:
            result = A.copy()
        mean = (blocks[wrong] + blocks[wrong].transpose(0, 2, 1)) / 2
        result[places[wrong]] = mean.reshape(len(mean), -1)
        most = max(most, float(part.max()))
    return result, most
