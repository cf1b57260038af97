"""Numbers of soft bodies and half spaces by which steps have derivatives."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..bodies import SoftBody
from ..body_step import BodyStep
from ..elements import mass_matrix
from ..rigid_bodies import HalfSpace
from ..soft_step import SoftStep
from ..vectors import cross

_Float = NDArray[np.float64]
_Places = NDArray[np.int64]

# a soft body has these arrays, on which m depends linearly
_LOADS = ("loads", "pressures")
# numbers on which m depends linearly too, and contacts do not
_LINEAR = ("young", "density", "mass_damping", "stiffness_damping")
BODY_NUMBERS = (
    *_LINEAR, "poisson", "friction", "dissipation_time", "contact_stiffness", *_LOADS,
)  # fmt: skip
"""Numbers of a soft body by which steps have derivatives."""
PLANE_NUMBERS = ("friction", "dissipation_time")
"""The same of a half space."""

#: a number or an array: ("body", name, "young"), ("body", name, "loads"), ("plane", name,
#: "friction")
SoftParameter = tuple[str, str, str]


class BodiesOfStep(Protocol):
    """The bodies and half spaces at the start of a step, which may be changed."""

    bodies: tuple[SoftBody, ...]
    planes: tuple[HalfSpace, ...]
    time_step: float

    @property
    def _steps(self) -> Sequence[BodyStep]:
        """Steps of the bodies, then of flexes."""


class SoftNumber(NamedTuple):
    """A number, or an array, of a soft body or a half space."""

    label: str
    """For example ``body/soft/young``."""
    kind: str
    """"body" or "plane"."""
    i: int
    """Number of the body or the half space."""
    field: str
    """Name of the field."""
    value: _Float
    """Its value, of no dimensions for a number."""

    @property
    def is_load(self) -> bool:
        """Whether it is an array of loads."""
        return self.field in _LOADS

    @property
    def is_linear(self) -> bool:
        """Whether it is a number on which m depends linearly, and contacts do not."""
        return self.field in _LINEAR

    def set(self, start: BodiesOfStep, value: float) -> None:
        """Change a number that is not a load."""
        if self.kind == "plane":
            setattr(start.planes[self.i], self.field, value)
            return
        body = start.bodies[self.i]
        if not hasattr(body.material, self.field):
            setattr(body, self.field, value)
            return
        changed: dict[str, Any] = {self.field: value}
        body.material = dataclasses.replace(body.material, **changed)
        body.vertex_mass, body.pair_mass = mass_matrix(body.mesh, body.material.density, body.mass)
        step = start._steps[self.i]
        assert isinstance(step, SoftStep)
        step.read_masses()

    def load_slopes(self, start: BodiesOfStep) -> tuple[_Places, _Places, _Float]:
        """Derivatives of m of the body by its loads: rows, columns and values of a sparse matrix.

        See :meth:`SoftBody.external_loads`.
        """
        body, dt = start.bodies[self.i], start.time_step
        if self.field == "loads":
            places = np.arange(body.loads.size)
            return places, places, np.full(places.size, -dt)
        a, b, c = np.swapaxes(body.positions[body.mesh.faces], 0, 1)
        third = dt / 6 * cross(b - a, c - a)
        rows = 3 * body.mesh.faces.astype(np.int64)[:, :, None] + np.arange(3)
        values = np.broadcast_to(third[:, None], rows.shape)
        return rows.ravel(), np.repeat(np.arange(len(third)), 9), values.ravel()


def find_number(
    bodies: Sequence[SoftBody], planes: Sequence[HalfSpace], parameter: SoftParameter, i: int
) -> SoftNumber:
    """Find a number of a soft body or a half space.

    Parameters
    ----------
    bodies, planes : sequence of SoftBody, of HalfSpace
        The bodies and half spaces.
    parameter : tuple (str, str, str)
        The parameter, as of :func:`sapwood.fem.linearize`.
    i : int
        Its position in the argument, for errors.

    Returns
    -------
    SoftNumber
        The number.

    Raises
    ------
    ValueError
        If there is no such number.
    """
    known: dict[str, tuple[Sequence[SoftBody | HalfSpace], tuple[str, ...]]] = {
        "body": (bodies, BODY_NUMBERS),
        "plane": (planes, PLANE_NUMBERS),
    }
    given: Any = parameter
    if not isinstance(given, tuple | list) or len(given) != 3:
        raise ValueError(f"parameters[{i}] = {parameter!r}: must be (kind, name, field)")
    kind, name, field = parameter
    if kind not in known:
        raise ValueError(f"parameters[{i}] = {parameter!r}: its kind must be 'body' or 'plane'")
    listed, fields = known[kind]
    if field not in fields:
        text = f"its field must be one of {', '.join(fields)}"
        raise ValueError(f"parameters[{i}] = {parameter!r}: {text}")
    found = [k for k, each in enumerate(listed) if each.name == name]
    if len(found) != 1:
        raise ValueError(f"parameters[{i}] = {parameter!r}: {len(found)} have this name")
    holder: Any = listed[found[0]]
    if isinstance(holder, SoftBody) and hasattr(holder.material, field):
        holder = holder.material
    return SoftNumber("/".join(given), kind, found[0], field, np.array(getattr(holder, field)))
