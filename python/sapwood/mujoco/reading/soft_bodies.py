"""Soft bodies beside a MuJoCo model: geoms that they may touch, bodies that hold them; flexes.

A soft body meets geoms as one of contype and conaffinity 1, except those of bodies that hold it.
Planes are half spaces. Other geoms have the depth below their surface, or the pressure field that
the stepper gives them.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Iterable, Mapping

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.base.hints import nearest
from sapwood.fem.bodies import SoftBody, check_distinct
from sapwood.fem.body_contacts import check_depths
from sapwood.fem.vertex_contacts import hull_planes
from sapwood.geometry import FieldShape, PressureField, ShapeKind
from sapwood.mujoco.reading.fields import Field, given_fields, is_rigid, shape_of, size_of
from sapwood.mujoco.reading.flexes import ElasticFlex, read_flexes
from sapwood.mujoco.reading.names import name_of, names_of
from sapwood.mujoco.reading.support import NotSupported
from sapwood.stepping.schemes import SYMPLECTIC_EULER, Scheme

_GEOM, _OBJECT = mujoco.mjtGeom, mujoco.mjtObj

# edges of the surface of a geom that tells depths, over its least radius
_FINENESS = 0.125


@dataclasses.dataclass(frozen=True, eq=False)
class GeomShape:
    """A geom as soft bodies meet it.

    Attributes
    ----------
    geom, body : int
        Its numbers in the model.
    name : str
        Its name.
    shape : FieldShape or None
        Tetrahedra with depths or pressures; None for a plane.
    is_depth : bool
        Whether the shape tells depths in place of pressures.
    reach : float
        Radius of a sphere about its origin that has all of it, m; infinite for a plane.
    planes : tuple of ndarray (m, 3) and ndarray (m,)
        Outward normals of its boundary and their offsets, m, in its frame, for contacts of
        vertices; empty if it has a pressure field.
    """

    geom: int
    body: int
    name: str
    shape: FieldShape | None
    is_depth: bool
    reach: float
    planes: tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclasses.dataclass(eq=False)
class SoftModel:
    """Soft bodies and what they meet in a model, and elastic flexes of the model.

    Attributes
    ----------
    bodies : tuple of SoftBody
        The soft bodies, with their state.
    geoms : tuple of tuple of GeomShape
        Geoms that each of them may touch.
    holders : tuple of tuple of int
        Body of the model for each attachment of each soft body.
    flexes : tuple of ElasticFlex
        Flexes whose elasticity is part of the contact problem.
    time : float
        Simulated time of the state of the bodies, s; NaN before the first step.
    """

    bodies: tuple[SoftBody, ...]
    geoms: tuple[tuple[GeomShape, ...], ...]
    holders: tuple[tuple[int, ...], ...]
    flexes: tuple[ElasticFlex, ...]
    time: float = math.nan

    def copy(self) -> SoftModel:
        """The same bodies with a state of their own, at the start of which no time has passed."""
        bodies = tuple(copy.copy(body) for body in self.bodies)
        return dataclasses.replace(self, bodies=bodies, time=math.nan)


def soft_model(
    model: mujoco.MjModel,
    soft: Iterable[SoftBody],
    fields: Mapping[str | int, Field] | None,
    scheme: Scheme,
) -> SoftModel | None:
    """Read what soft bodies meet in a model.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper, before its pressure fields are taken from MuJoCo.
    soft : iterable of SoftBody
        The soft bodies.
    fields : mapping or None
        Pressure fields of geoms, as :class:`Stepper` has them.
    scheme : Scheme
        Scheme of the steps.

    Returns
    -------
    SoftModel or None
        None without soft bodies and elastic flexes.

    Raises
    ------
    TypeError, ValueError
        If a body is no SoftBody, is listed twice, or is attached to a body that is not there.
    NotSupported
        If the model has elements that do not go with soft bodies; the text names them.
    """
    bodies = tuple(soft)
    for i, body in enumerate(bodies):
        if not isinstance(body, SoftBody):
            raise TypeError(f"soft[{i}] must be a SoftBody, not {type(body).__name__}")
    check_distinct(bodies, "soft")
    check_depths(bodies, "soft")
    flexes = read_flexes(model) if scheme == SYMPLECTIC_EULER else ()
    if not bodies and not flexes:
        return None
    if scheme != SYMPLECTIC_EULER:
        raise NotSupported(f"soft: scheme {scheme.name}: soft bodies go with symplectic_euler")
    holders = tuple(_holders(model, i, body) for i, body in enumerate(bodies))
    vertices = [tree for flex in flexes for tree in flex.trees]
    for i, of_body in enumerate(holders):
        if np.isin(model.body_treeid[list(of_body)], vertices).any():
            raise NotSupported(f"soft[{i}]: is attached to a vertex of a flex")
    shapes = _Shapes(model, given_fields(model, fields or {}))
    off = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    geoms = tuple(
        ()
        if body.contact == "none" or model.opt.disableflags & off
        else tuple(shapes.of(geom) for geom in _touchable(model, of_body))
        for body, of_body in zip(bodies, holders, strict=True)
    )
    for i, (body, touchable) in enumerate(zip(bodies, geoms, strict=True)):
        fields_met = [each.name for each in touchable if not each.is_depth]
        if body.contact == "vertices" and fields_met:
            raise NotSupported(
                f"soft[{i}]: contact = 'vertices' meets no geom with a pressure field, such as "
                f"{fields_met[0]}; use 'faces'"
            )
    return SoftModel(bodies, geoms, holders, flexes)


def _holders(model: mujoco.MjModel, i: int, body: SoftBody) -> tuple[int, ...]:
    names, found = names_of(model, _OBJECT.mjOBJ_BODY), []
    for attachment in body.attachments:
        if attachment.body not in names:
            hint = nearest(attachment.body, names)
            raise ValueError(
                f"soft[{i}]: is attached to {attachment.body!r}, which no body of the model is "
                f"called{hint}"
            )
        found.append(names.index(attachment.body))
    return tuple(found)


def _touchable(model: mujoco.MjModel, holders: tuple[int, ...]) -> list[int]:
    """Geoms that a soft body may touch."""
    meets = ((model.geom_contype | model.geom_conaffinity) & 1) != 0
    held = np.unique(model.body_weldid[list(holders)]) if holders else np.zeros(0, np.int32)
    meets &= ~np.isin(model.body_weldid[model.geom_bodyid], held)
    found: list[int] = np.flatnonzero(meets).tolist()
    return found


class _Shapes:
    """Makes shapes of geoms, each once."""

    def __init__(self, model: mujoco.MjModel, given: Mapping[int, Field]) -> None:
        self._model, self._given = model, given
        self._made: dict[int, GeomShape] = {}

    def of(self, geom: int) -> GeomShape:
        if geom not in self._made:
            self._made[geom] = self._make(geom)
        return self._made[geom]

    def _make(self, geom: int) -> GeomShape:
        model, field = self._model, self._given.get(geom)
        label = name_of(model, _OBJECT.mjOBJ_GEOM, geom)
        name = mujoco.mj_id2name(model, _OBJECT.mjOBJ_GEOM, geom) or f"geom {geom}"
        body = int(model.geom_bodyid[geom])
        is_compliant = field is not None and not is_rigid(field)
        if model.geom_type[geom] == _GEOM.mjGEOM_PLANE:
            if is_compliant:
                raise NotSupported(f"soft: {label} is a plane with a field; a plane has none")
            planes = np.array([[0.0, 0.0, 1.0]]), np.zeros(1)
            return GeomShape(geom, body, name, None, True, math.inf, planes)
        if field is None or is_rigid(field):
            if isinstance(field, FieldShape):
                raise NotSupported(
                    f"soft: {label} has a shape of triangles, which tells no depths; use one of "
                    "tetrahedra"
                )
            size = size_of(model, geom)
            field = PressureField(1.0, None if math.isinf(size) else _FINENESS * size)
        elif isinstance(field, PressureField) and field.resolution is None:
            size = size_of(model, geom)
            if not math.isinf(size):
                field = dataclasses.replace(field, resolution=_FINENESS * size)
        try:
            shape = field if isinstance(field, FieldShape) else shape_of(model, geom, field)
        except ValueError as error:
            raise NotSupported(f"soft: {label}: {error}") from None
        if shape.kind is not ShapeKind.TETRAHEDRA:
            raise NotSupported(f"soft: {label}: must have tetrahedra with pressures")
        reach = float(np.max(np.linalg.norm(shape.vertices, axis=1)))
        planes = (np.zeros((0, 3)), np.zeros(0)) if is_compliant else hull_planes(shape)
        return GeomShape(geom, body, name, shape, not is_compliant, reach, planes)
