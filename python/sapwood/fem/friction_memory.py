"""The memory of lagged friction of soft contacts: their normal forces in the step before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .contacts import SoftContacts
from .meetings import Meeting

_Float = NDArray[np.float64]

#: A face, or the vertices that a contact point moves with.
_Part = int | frozenset[int]


class FrictionMemory:
    """Normal forces f_n of the contacts in the step before, by who meets whom.

        b = dt mu f_n

    A contact inherits the force between its face, vertex or tetrahedron of the soft body and the
    same other body. Contacts of one face share its force in proportion to their stiffnesses. A
    contact without such a force has an unknown bound, NaN; without friction its bound is 0.

    The memory holds for one state: it forgets the forces if a step starts from another one than the
    last step left.
    """

    def __init__(self) -> None:
        self._forces: dict[tuple[int, ...], dict[_Part, float]] = {}
        self._state = b""

    def recall(self, state: Sequence[_Float], meetings: Sequence[Meeting], dt: float) -> _Float:
        """Find the bounds of friction at the start of a step.

        Parameters
        ----------
        state : sequence of ndarray
            The state at the start of the step.
        meetings : sequence of Meeting
            The contacts of the step.
        dt : float
            Time step, s.

        Returns
        -------
        ndarray (n,)
            Bounds of the friction of the contacts of all meetings, N s, or NaN.
        """
        if self._state != _bytes(state):
            self._forces = {}
        bounds = [dt * self._bounds(meeting) for meeting in meetings]
        return np.concatenate([np.empty(0), *bounds])

    def _bounds(self, meeting: Meeting) -> _Float:
        """Bounds mu f_n (n,) of the friction of the contacts of a meeting, N."""
        contacts = meeting.contacts
        if meeting.friction == 0:
            return np.zeros(len(contacts.k))
        before, parts = self._forces.get(meeting.pair, {}), _parts(contacts)
        # contacts of one pair have infinite stiffnesses all or none
        k = np.where(np.isinf(contacts.k), 1.0, contacts.k)
        total = _sums(parts, k)
        force = np.array([before.get(part, np.nan) for part in parts])
        share = k / np.array([total[part] for part in parts])
        bounds: _Float = meeting.friction * share * force
        return bounds

    def keep(self, state: Sequence[_Float], meetings: Sequence[Meeting], forces: _Float) -> None:
        """Remember a step.

        Parameters
        ----------
        state : sequence of ndarray
            The state that the step left.
        meetings : sequence of Meeting
            The contacts of the step.
        forces : ndarray (n,)
            Normal forces of the contacts of all meetings, N; NaN where they are not known.
        """
        self._forces, begin = {}, 0
        for meeting in meetings:
            end = begin + len(meeting.contacts.k)
            self._forces[meeting.pair] = _sums(_parts(meeting.contacts), forces[begin:end])
            begin = end
        self._state = _bytes(state)


def _parts(contacts: SoftContacts) -> list[_Part]:
    """The part of the soft body that each contact is on."""
    faces, vertices = contacts.faces.tolist(), contacts.vertices.tolist()
    return [
        face if face >= 0 else frozenset(corners)
        for face, corners in zip(faces, vertices, strict=True)
    ]


def _sums(parts: Sequence[_Part], values: _Float) -> dict[_Part, float]:
    """Sum of the values of each part."""
    found: dict[_Part, float] = {}
    for part, value in zip(parts, values.tolist(), strict=True):
        found[part] = found.get(part, 0.0) + value
    return found


def _bytes(state: Sequence[_Float]) -> bytes:
    return b"".join(each.tobytes() for each in state)
