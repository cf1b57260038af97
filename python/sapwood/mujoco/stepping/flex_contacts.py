"""Contacts of flexes: MuJoCo's points, normals and weights of vertices, as contacts of soft bodies.

The weights are those of MuJoCo's rows: the normal row of a contact has w n at a vertex of weight w.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.fem.contacts import SoftContacts
from sapwood.fem.meetings import Meeting
from sapwood.mujoco.reading.names import name_of
from sapwood.mujoco.stepping.flex_step import FlexStep

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

# upper limit of the dissipation time of an open contact, in time steps, as in csrc/step/gather.h
_OPEN_TIME = 0.25


@dataclass(frozen=True)
class Surface:
    """The numbers of a model that contacts of flexes need.

    Attributes
    ----------
    stiffness, dissipation_time : ndarray (ngeom,)
        Of the geoms, N/m and s.
    release_speed : float
        Speed up to which overlaps of rigid contacts are corrected, m/s.
    jacobian : callable
        Tree and velocities (n, 3, tree_nv) of points (n, 3) of a body, or -1 and None.
    """

    stiffness: _Float
    dissipation_time: _Float
    release_speed: float
    jacobian: Callable[[int, _Float], tuple[int, _Float | None]]


@dataclass(frozen=True)
class FlexMeeting:
    """Contacts of a flex with a geom, or with a flex.

    Attributes
    ----------
    meeting : Meeting
        The contacts.
    numbers : ndarray of int (n,)
        Their numbers in MuJoCo's list.
    sign : int
        1 if MuJoCo's normal points into the flex of the meeting, else -1.
    body : int
        Body of the geom, or -1.
    """

    meeting: Meeting
    numbers: NDArray[np.intp]
    sign: int
    body: int


def flex_meetings(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    steps: Sequence[FlexStep],
    first: int,
    surface: Surface,
) -> list[FlexMeeting]:
    """List the contacts of flexes.

    Parameters
    ----------
    model, data
        The model, and data with contacts and rows.
    steps : sequence of FlexStep
        The flexes that may have contacts.
    first : int
        Number of the first of them among the soft bodies of the problem.
    surface : Surface
        Numbers of the geoms.

    Returns
    -------
    list of FlexMeeting
        One for each pair of a flex with a geom or a flex.
    """
    contact = data.contact
    flexes, acting = contact.flex, contact.exclude == 0
    listed = np.flatnonzero((flexes >= 0).any(axis=1) & acting)
    if not listed.size:
        return []
    place = {step.flex.flex: b for b, step in enumerate(steps)}
    weights = _weights(model, data, steps, listed)
    pairs = np.column_stack([contact.geom[listed], flexes[listed]])
    found = []
    for pair in np.unique(pairs, axis=0):
        chosen = np.flatnonzero((pairs == pair).all(axis=1))
        geoms, of_flex = pair[:2].tolist(), pair[2:].tolist()
        side = 1 if of_flex[1] >= 0 else 0  # the meeting is about the flex on this side
        sign, other = 2 * side - 1, of_flex[1 - side]
        numbers = listed[chosen]
        own = place[of_flex[side]]
        vertices, shares = _corners(weights[own], chosen, sign)
        tree, J, body = -1, None, -1
        against: tuple[_Index, _Float] | tuple[None, None] = (None, None)
        if other >= 0:
            against = _corners(weights[place[other]], chosen, -sign)
            name = steps[place[other]].name
        else:
            geom = geoms[1 - side]
            body, name = (
                int(model.geom_bodyid[geom]),
                name_of(model, mujoco.mjtObj.mjOBJ_GEOM, geom),
            )
            tree, J = surface.jacobian(body, contact.pos[numbers])
        phi0 = contact.dist[numbers].copy()
        k, tau_d = _material(surface, geoms[1 - side], phi0, float(model.opt.timestep))
        contacts = SoftContacts(
            np.full(len(chosen), -1, np.int32),
            vertices,
            shares,
            contact.pos[numbers].copy(),
            sign * contact.frame[numbers, :3],
            np.full(len(chosen), k),
            phi0,
            *against,
        )
        friction = _friction(contact, int(numbers[0]))
        meeting = Meeting(
            first + own, name, contacts, friction, tau_d, tree, J,
            first + place[other] if other >= 0 else -1, geoms[1 - side],
        )  # fmt: skip
        found.append(FlexMeeting(meeting, numbers, sign, body))
    return found


def _friction(contact: mujoco.MjContact, number: int) -> float:
    """Coefficient of sliding friction of a contact: the circle of the area of MuJoCo's ellipse."""
    if contact.dim[number] == 1:
        return 0.0
    return float(np.sqrt(contact.friction[number, 0] * contact.friction[number, 1]))


def _material(surface: Surface, geom: int, phi0: _Float, dt: float) -> tuple[float, _Float]:
    """Stiffness of the contacts of a pair, and their dissipation times."""
    k, time = np.inf, dt
    if geom >= 0:
        k, time = float(surface.stiffness[geom]), float(surface.dissipation_time[geom])
    tau_d = np.where(phi0 > 0, min(time, _OPEN_TIME * dt), time)
    if np.isinf(k):
        tau_d = np.maximum(tau_d, -phi0 / surface.release_speed - dt)
    return k, tau_d


# ---- weights -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Weights:
    """Weights of vertices in contacts, one entry for each vertex that a contact moves.

    Attributes
    ----------
    contact, vertex : ndarray of int (n,)
        Place of the contact in the list, and the vertex; ascending.
    weight : ndarray (n,)
        Positive on the second side of a contact, and negative on the first.
    """

    contact: NDArray[np.intp]
    vertex: NDArray[np.intp]
    weight: _Float


def _weights(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    steps: Sequence[FlexStep],
    listed: NDArray[np.intp],
) -> list[_Weights]:
    """Weights of the vertices of each flex in these contacts."""
    normals = data.contact.frame[listed, :3]
    contact, dof, value = _normal_rows(model, data, listed)
    slide = np.empty(model.nv, np.intp)
    found = []
    for step in steps:
        slide[:] = -1
        slide[step.flex.dofs] = np.arange(step.flex.dofs.size).reshape(-1, 3)
        own = slide[dof] >= 0
        free, axis = np.divmod(slide[dof[own]], 3)
        # the part of the row at a vertex is w n, along its slides
        along = np.einsum("ei,ei->e", step.axes[free, axis], normals[contact[own]])
        keys = contact[own] * len(step.place) + step.flex.free[free]
        used, place = np.unique(keys, return_inverse=True)
        weight = np.bincount(place, value[own] * along, len(used)).astype(float)
        rows, vertices = np.divmod(used, len(step.place))
        found.append(_Weights(rows, vertices, weight))
    return found


def _normal_rows(
    model: mujoco.MjModel, data: mujoco.MjData, listed: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], _Float]:
    """Entries of the rows of the normals of contacts: places of the contacts, dofs, values."""
    first = data.contact.efc_address[listed]
    is_edge = (model.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL) & (data.contact.dim[listed] > 1)
    # the first two edges of a pyramid are n + mu t, n - mu t
    rows = np.concatenate([first, first + is_edge])
    row, dof, value = _entries(model, data, rows)
    return row % len(listed), dof, value / 2


def _entries(
    model: mujoco.MjModel, data: mujoco.MjData, rows: NDArray[np.integer]
) -> tuple[NDArray[np.intp], NDArray[np.intp], _Float]:
    """Entries of rows of MuJoCo's Jacobian: places in `rows`, dofs, values."""
    if not mujoco.mj_isSparse(model):
        dense: _Float = data.efc_J.reshape(-1, model.nv)[rows]
        row, dof = np.nonzero(dense)
        return row, dof, dense[row, dof]
    n = data.efc_J_rownnz[rows]
    row = np.repeat(np.arange(len(rows)), n)
    at = np.arange(len(row)) + np.repeat(data.efc_J_rowadr[rows] - (np.cumsum(n) - n), n)
    return row, data.efc_J_colind[at].astype(np.intp), data.efc_J.ravel()[at]


def _corners(weights: _Weights, chosen: NDArray[np.intp], sign: int) -> tuple[_Index, _Float]:
    """Vertices (n, m) with weights of this sign, and their weights (n, m); missing ones have 0."""
    place = np.full(int(max(weights.contact.max(initial=0), chosen.max())) + 1, -1)
    place[chosen] = np.arange(len(chosen))
    kept = (place[weights.contact] >= 0) & (sign * weights.weight > 0)
    row, weight = place[weights.contact[kept]], np.abs(weights.weight[kept])
    order = np.lexsort((-weight, row))
    n = np.bincount(row, minlength=len(chosen))
    column = np.arange(len(row)) - np.repeat(np.cumsum(n) - n, n)
    shares = np.zeros((len(chosen), max(1, int(n.max()))))
    vertices = np.zeros(shares.shape, np.int32)
    shares[row[order], column] = weight[order]
    vertices[row[order], column] = weights.vertex[kept][order]
    # a vertex without a weight is not touched
    return np.where(shares > 0, vertices, vertices[:, :1]), shares


# ---- forces --------------------------------------------------------------------------------------


def contact_forces(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    meetings: Sequence[FlexMeeting],
    forces: Sequence[_Float],
) -> _Float:
    """Forces of MuJoCo's rows (nefc,) of contacts of flexes.

    Parameters
    ----------
    model, data
        The model, and data with contacts.
    meetings : sequence of FlexMeeting
        The contacts.
    forces : sequence of ndarray (n, 3)
        Their forces on the flex of each meeting, in the world, N.

    Returns
    -------
    ndarray (nefc,)
        0 in all other rows.
    """
    rows, contact = np.zeros(data.nefc), data.contact
    if not meetings:
        return rows
    is_pyramidal = model.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL
    numbers = np.concatenate([met.numbers for met in meetings])
    on_second = np.concatenate([met.sign * f for met, f in zip(meetings, forces, strict=True)])
    along = np.einsum("nij,nj->ni", contact.frame[numbers].reshape(-1, 3, 3), on_second)
    first, dim = contact.efc_address[numbers], contact.dim[numbers]
    alone = dim == 1
    rows[first[alone]] = along[alone, 0]
    first, dim, along = first[~alone, None], dim[~alone], along[~alone]
    if not is_pyramidal:
        rows[first + np.arange(3)] = along
        return rows
    slopes = along[:, 1:] / contact.friction[numbers[~alone], :2]
    edges = 2 * (dim - 1)
    share = (along[:, 0] - np.abs(slopes).sum(axis=1)) / edges
    for edge in range(int(edges.max(initial=0))):
        has = edge < edges
        rows[first[has, 0] + edge] = share[has]
    rows[first + [0, 2]] += np.maximum(slopes, 0)
    rows[first + [1, 3]] += np.maximum(-slopes, 0)
    return rows
