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

# columns of a force in a row: pair (3), face or -1, vertices of a part without one or -1 (4), force
_COLUMNS, _FACE, _FORCE = 9, 3, 8


class FrictionMemory:
    """Normal forces f_n of the contacts in the step before, by who meets whom.

        b = dt mu f_n

    A contact inherits the force between its face, vertex or tetrahedron of the soft body and the
    same other body. Contacts of one face share its force in proportion to their stiffnesses. A
    contact without such a force has an unknown bound, NaN; without friction its bound is 0.

    The memory holds for one state: a step that starts from another one than the last step left
    knows no forces. As a row of numbers it is

        (n, state (n_state), (pair (3), face, vertices (4), force) x n, zeros)

    where n is 0 if nothing is remembered. A part without a face has -1 in its place, and one with a
    face or fewer vertices has -1 in theirs.
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
        known = self._forces if self._state == _bytes(state) else {}
        bounds = [dt * _bounds(meeting, known.get(meeting.pair, {})) for meeting in meetings]
        return np.concatenate([np.empty(0), *bounds])

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

    # ---- rows of numbers ----

    @staticmethod
    def row_size(n_state: int, n: int) -> int:
        """Length of a row.

        Parameters
        ----------
        n_state : int
            Numbers of the state.
        n : int
            Forces that it has room for.

        Returns
        -------
        int
            The length.
        """
        return 1 + n_state + _COLUMNS * n

    @property
    def n_forces(self) -> int:
        """Number of remembered forces."""
        return sum(map(len, self._forces.values()))

    def forget(self) -> None:
        """Remember nothing."""
        self._forces, self._state = {}, b""

    def save(self, row: _Float, n_state: int) -> None:
        """Write the memory to a row with room for it."""
        n = self.n_forces
        row[:] = 0.0
        if n == 0:
            return
        row[0], row[1 : 1 + n_state] = n, np.frombuffer(self._state)
        table = row[1 + n_state :].reshape(-1, _COLUMNS)
        entries = (
            (pair, part, force)
            for pair, parts in self._forces.items()
            for part, force in parts.items()
        )
        for line, (pair, part, force) in zip(table, entries, strict=False):
            line[:_FACE], line[_FACE:_FORCE], line[_FORCE] = pair, -1, force
            if isinstance(part, int):
                line[_FACE] = part
            else:
                line[_FACE + 1 : _FACE + 1 + len(part)] = sorted(part)

    def load(self, row: _Float, n_state: int) -> None:
        """Remember what a row has.

        Parameters
        ----------
        row : ndarray
            The row.
        n_state : int
            Numbers of the state.

        Raises
        ------
        ValueError
            If a number of the row is impossible; then nothing is remembered.
        """
        self.forget()
        table = row[1 + n_state :].reshape(-1, _COLUMNS)
        if not (0 <= row[0] <= len(table) and row[0] == int(row[0])):
            raise ValueError("row[0] is no number of forces that fit into it")
        table = table[: int(row[0])]
        names = table[:, :_FORCE]
        if not np.all((names >= -1) & (names == np.rint(names)) & np.isfinite(names)):
            raise ValueError("row has a force of no part of a soft body")
        if np.isinf(table[:, _FORCE]).any():
            raise ValueError("row has a force that is infinite")
        for line, force in zip(
            names.astype(np.int64).tolist(), table[:, _FORCE].tolist(), strict=True
        ):
            face, corners = line[_FACE], frozenset(line[_FACE + 1 :]) - {-1}
            part = face if face >= 0 else corners
            self._forces.setdefault((line[0], line[1], line[2]), {})[part] = force
        if len(table):
            self._state = row[1 : 1 + n_state].tobytes()


def _bounds(meeting: Meeting, before: dict[_Part, float]) -> _Float:
    """Bounds mu f_n (n,) of the friction of contacts, from the forces before by part, N."""
    contacts = meeting.contacts
    if meeting.friction == 0:
        return np.zeros(len(contacts.k))
    parts = _parts(contacts)
    # contacts of one pair have infinite stiffnesses all or none
    k = np.where(np.isinf(contacts.k), 1.0, contacts.k)
    total = _sums(parts, k)
    force = np.array([before.get(part, np.nan) for part in parts])
    share = k / np.array([total[part] for part in parts])
    bounds: _Float = meeting.friction * share * force
    return bounds


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
