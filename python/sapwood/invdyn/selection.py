"""Which velocities have a motor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def selected(actuated: ArrayLike) -> NDArray[np.intp]:
    """Indices of the actuated velocities.

    Parameters
    ----------
    actuated : array_like
        Indices; or a mask of bools; or a selection matrix S (n_q, m) with a single 1 in each row.

    Raises
    ------
    ValueError
        If it is none of them, or selects a velocity twice.
    """
    given = np.asarray(actuated)
    if given.ndim == 2:
        given = _of_matrix(given)
    elif given.dtype == bool:
        given = np.flatnonzero(given)
    elif given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise ValueError("actuated must hold indices, bools, or a selection matrix")
    indices = given.astype(np.intp)
    if len(np.unique(indices)) != len(indices):
        raise ValueError("actuated: selects a velocity twice")
    if indices.size and indices.min() < 0:
        raise ValueError(f"actuated[{int(np.argmin(indices))}] = {indices.min()}: must be >= 0")
    return indices


def _of_matrix(S: NDArray[Any]) -> NDArray[Any]:
    if not (np.isin(S, (0, 1)).all() and (np.sum(S, axis=1) == 1).all()):
        raise ValueError("actuated: each row of a selection matrix has a single 1, the rest is 0")
    return np.argmax(S, axis=1) if len(S) else np.zeros(0, dtype=np.intp)
