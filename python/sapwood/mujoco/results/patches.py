"""The patches of a step: surfaces where geoms with pressure fields meet, and their forces."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.base.hints import counted
from sapwood.geometry import ContactSurface
from sapwood.mujoco.results.contacts import StepContacts

_Float = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class StepPatch:
    """The surface where two geoms meet in one step, and the contacts of its faces.

    The surface is taken at the start of the step; forces are means over the step.

    Attributes
    ----------
    surface : ContactSurface
        All faces, as polygons with pressures; geom A is the first one.
    contacts : StepContacts
        The contacts of the kept faces, with forces and slip speeds.
    faces : ndarray of int (n_contacts,)
        The index of the face of each contact.
    geoms : tuple of int
        Numbers of both geoms.
    names : tuple of str
        Their names, such as ``geom 3`` for one without a name.
    """

    surface: ContactSurface
    contacts: StepContacts
    faces: NDArray[np.intp]
    geoms: tuple[int, int]
    names: tuple[str, str]

    def __len__(self) -> int:
        return len(self.surface)

    @property
    def area(self) -> float:
        """Area of all faces, m^2."""
        return float(self.surface.areas.sum())

    @property
    def force(self) -> _Float:
        """Force that the first geom exerts on the second (3,), N, in the world."""
        force: _Float = self.contacts.world_force.sum(axis=0)
        return force

    @property
    def centre(self) -> _Float:
        """Centre of pressure (3,), m, by normal forces; NaN without a force."""
        weights = self.contacts.force[:, 2]
        with np.errstate(invalid="ignore"):
            centre: _Float = weights @ self.contacts.position / weights.sum()
        return centre

    @property
    def torque(self) -> _Float:
        """Torque of these forces on the second geom, about the centre of pressure (3,), N m."""
        return self.torque_about(self.centre)

    def torque_about(self, point: _Float) -> _Float:
        """Torque of the forces on the second geom about a point.

        Parameters
        ----------
        point : ndarray (3,)
            The point in the world, m.

        Returns
        -------
        ndarray (3,)
            The torque in the world, N m.
        """
        arms = self.contacts.position - point
        torque: _Float = np.cross(arms, self.contacts.world_force).sum(axis=0)
        return torque

    @property
    def slip_speed(self) -> _Float:
        """Tangential speed at each face at the end of the step (n,), m/s; NaN without a contact."""
        speed = np.full(len(self.surface), np.nan)
        speed[self.faces] = self.contacts.slip_speed
        return speed

    def __repr__(self) -> str:
        a, b = self.names
        contacts = counted(len(self.contacts), "contact")
        return f"StepPatch({a} - {b}, {counted(len(self), 'face')}, {contacts})"


# the arrays of geo_surfaces by their names in ContactSurface
_COLUMNS = (
    "cell_a", "cell_b", "area", "centroid", "normal", "p0", "g_a", "g_b", "steepness", "k", "phi0",
    "load",
)  # fmt: skip


def step_patches(
    arrays: dict[str, NDArray[Any]], contacts: StepContacts, pair_geoms: NDArray[np.int32]
) -> tuple[StepPatch, ...]:
    """The patches that have faces.

    Parameters
    ----------
    arrays : dict
        The surfaces that the C core reports.
    contacts : StepContacts
        All contacts of the step.
    pair_geoms : ndarray of int (n_pairs, 2)
        The geoms of each pair of fields.

    Returns
    -------
    tuple of StepPatch
        One entry per pair with faces, in the order of the pairs.
    """
    found = []
    face = contacts.records["face"]
    for i, pair in enumerate(arrays["pair"].tolist()):
        first, end = arrays["pair_start"][i : i + 2].tolist()
        if first == end:
            continue
        starts = arrays["face_start"][first : end + 1]
        corners = slice(starts[0], starts[-1])
        own = (starts - starts[0], arrays["vertices"][corners], arrays["vertex_pressure"][corners])
        of_faces = (arrays[name][first:end] for name in _COLUMNS)
        totals = (arrays[name][i] for name in ("force", "torque"))
        surface = ContactSurface(*own, *of_faces, *totals)
        mine = np.flatnonzero((face >= first) & (face < end))
        a, b = pair_geoms[pair].tolist()
        names = contacts.geom_names
        found.append(
            StepPatch(
                surface,
                StepContacts(contacts.records[mine], names),
                np.asarray(face[mine] - first, dtype=np.intp),
                (a, b),
                (names.label("geom", a), names.label("geom", b)),
            )
        )
    return tuple(found)
