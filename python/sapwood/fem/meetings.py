"""Meetings of soft bodies in a step: contacts with other bodies, and holds of vertices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bodies import SoftBody
from .body_contacts import contacts_between, contacts_within
from .contacts import SoftContacts, pair_friction
from .rigid_bodies import HalfSpace, RigidBody

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
    friction : float
        Of the pair.
    dissipation_time : float or ndarray (n,)
        Of the pair, or of each contact, s.
    tree : int
        Rigid tree of the other body, or -1.
    J : ndarray (n, 3, tree_nv) or None
        Velocities of the points of the other body by those of its tree, in the world.
    other_body : int
        Number of the other body if it is soft, the same one too, or -1.
    surface : int
        Number of the other body among the rigid surfaces of its world or model, or -1.
    """

    body: int
    other: str
    contacts: SoftContacts
    friction: float
    dissipation_time: float | _Float
    tree: int = -1
    J: _Float | None = None
    other_body: int = -1
    surface: int = -1

    @property
    def pair(self) -> tuple[int, int, int]:
        """The two bodies, the same from step to step."""
        return self.body, self.other_body, self.surface

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


def pair_numbers(body: SoftBody, other: SoftBody | HalfSpace | RigidBody) -> tuple[float, float]:
    """Find friction and dissipation time of a pair.

    Parameters
    ----------
    body, other : SoftBody, HalfSpace or RigidBody
        The bodies.

    Returns
    -------
    friction : float
        Coefficient of friction.
    dissipation_time : float
        s.
    """
    time = body.dissipation_time + other.dissipation_time
    return pair_friction(body.friction, other.friction), time


def meetings_between(bodies: Sequence[SoftBody]) -> list[Meeting]:
    """Find the contacts of soft bodies with each other, and with themselves.

    Parameters
    ----------
    bodies : sequence of SoftBody
        The bodies.

    Returns
    -------
    list of Meeting
        One for each pair that touches, and for each body that touches itself.
    """
    touching = [b for b, body in enumerate(bodies) if body.contact != "none"]
    pairs = list(itertools.combinations(touching, 2))
    pairs += [(b, b) for b in touching if bodies[b].self_contact]
    found = []
    for a, b in pairs:
        one, other = bodies[a], bodies[b]
        contacts = contacts_within(one) if a == b else contacts_between(one, other)
        if len(contacts.k):
            numbers = pair_numbers(one, other)
            found.append(Meeting(a, other.name, contacts, *numbers, other_body=b))
    return found
