"""What soft bodies meet in a step: contacts with other bodies, and bodies that hold vertices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .contacts import SoftContacts

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


@dataclass(frozen=True)
class Meeting:
    """The contacts of a soft body with one other body, at the start of a step.

    Attributes
    ----------
    body : int
        Number of the soft body.
    other : str
        Name of the other body.
    contacts : SoftContacts
        The contacts.
    friction, dissipation_time : float
        Of the pair.
    tree : int
        Rigid tree of the other body, or -1.
    J : ndarray (n, 3, tree_nv) or None
        Velocities of the points of the other body by those of its tree, in the world.
    other_body : int
        Number of the other body if it is soft, or -1.
    """

    body: int
    other: str
    contacts: SoftContacts
    friction: float
    dissipation_time: float
    tree: int = -1
    J: _Float | None = None
    other_body: int = -1

    def sides(self) -> Iterator[tuple[int, int, _Index, _Float]]:
        """Sign, number, vertices and weights of each soft body in the contacts."""
        yield 1, self.body, self.contacts.vertices, self.contacts.weights
        if self.other_body >= 0:
            assert self.contacts.other_vertices is not None
            assert self.contacts.other_weights is not None
            yield -1, self.other_body, self.contacts.other_vertices, self.contacts.other_weights


@dataclass(frozen=True)
class Hold:
    """Vertices of a soft body that move with a rigid tree: v = J v_tree + c.

    Attributes
    ----------
    body : int
        Number of the soft body.
    other : str
        Name of the body that holds them.
    vertices : ndarray of int (n,)
        The vertices.
    tree : int
        The rigid tree.
    J : ndarray (n, 3, tree_nv)
        Their velocities by those of the tree.
    c : ndarray (n, 3)
        Velocities that correct their places in this step, m/s.
    """

    body: int
    other: str
    vertices: _Index
    tree: int
    J: _Float
    c: _Float
