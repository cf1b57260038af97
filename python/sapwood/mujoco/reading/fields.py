"""Pressure fields of the geoms of a MuJoCo model: their shapes, and the pairs that meet in patches.

A geom without a field meets one with a field as rigid geometry. Which pairs there are is MuJoCo's
own rule: contype and conaffinity, excluded bodies, bodies that are welded together or parent and
child, and explicit pairs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.base.hints import nearest
from sapwood.geometry import FieldShape, PressureField, ShapeKind
from sapwood.mujoco.reading.field_collisions import take_from_engine
from sapwood.mujoco.reading.field_numbers import fields_in_numbers
from sapwood.mujoco.reading.names import listed, name_of, named, names_of
from sapwood.mujoco.reading.support import geoms_that_meet

_Float = NDArray[np.float64]
_Int = NDArray[np.int32]
_GEOM, _OBJECT = mujoco.mjtGeom, mujoco.mjtObj

Field = PressureField | FieldShape

# cells of all shapes of a model together: some seconds' work
_MOST_CELLS = 1 << 19


@dataclasses.dataclass(frozen=True, eq=False)
class Fields:
    """Pairs of geoms that meet in patches, and their shapes.

    Attributes
    ----------
    geoms : ndarray of int (n, 2)
        The two geoms of each pair.
    condim : ndarray of int (n,)
        1 without friction, else 3.
    friction : ndarray (n, 2)
        Friction of the model along two tangents, for pairs whose materials have none.
    shapes : tuple of (FieldShape or None)
        The shape of each geom in its frame; None for geoms in no pair.
    """

    geoms: _Int
    condim: _Int
    friction: _Float
    shapes: tuple[FieldShape | None, ...]

    def for_core(self, n_geoms: int) -> tuple[_Int, _Int, _Float, tuple[object, ...]]:
        """The arrays for the C core, whose last geoms may be surfaces of flexes, without shapes."""
        shapes = [None if shape is None else shape._shape for shape in self.shapes]
        shapes += [None] * (n_geoms - len(shapes))
        return self.geoms.ravel(), self.condim, self.friction, tuple(shapes)

    def read_again(self, model: mujoco.MjModel) -> Fields:
        """The same arrays with the current friction of the model."""
        return dataclasses.replace(self, friction=_friction(model, self.geoms))


# ---- shapes --------------------------------------------------------------------------------------


def size_of(model: mujoco.MjModel, geom: int) -> float:
    """Least radius of a geom, m; infinite for a geom without curvature."""
    kind, size = model.geom_type[geom], model.geom_size[geom]
    if kind == _GEOM.mjGEOM_ELLIPSOID:
        return float(size.min())
    curved = (_GEOM.mjGEOM_SPHERE, _GEOM.mjGEOM_CAPSULE, _GEOM.mjGEOM_CYLINDER)
    return float(size[0]) if int(kind) in map(int, curved) else math.inf


def shape_of(model: mujoco.MjModel, geom: int, field: PressureField) -> FieldShape:
    """The shape of a geom with this field; ValueError for a geom that has none."""
    kind, (a, b, c) = model.geom_type[geom], model.geom_size[geom].tolist()
    if kind == _GEOM.mjGEOM_PLANE:
        return field.half_space()
    if kind == _GEOM.mjGEOM_SPHERE:
        return field.sphere(a)
    if kind == _GEOM.mjGEOM_CAPSULE:
        return field.capsule(a, 2 * b)
    if kind == _GEOM.mjGEOM_ELLIPSOID:
        return field.ellipsoid([a, b, c])
    if kind == _GEOM.mjGEOM_CYLINDER:
        return field.cylinder(a, 2 * b)
    if kind == _GEOM.mjGEOM_BOX:
        return field.box([2 * a, 2 * b, 2 * c])
    if kind == _GEOM.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        points = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
        return field.convex(points.astype(np.float64))
    name = _GEOM(int(kind)).name.removeprefix("mjGEOM_").lower()
    raise ValueError(
        f"a geom of type {name} has no shape for a pressure field; give it a FieldShape"
    )


class _Shapes:
    """Makes shapes of geoms; geoms of equal size share one."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._made: dict[object, FieldShape] = {}
        self._n_cells = 0

    def of(self, geom: int, field: Field) -> FieldShape:
        if isinstance(field, FieldShape):
            return field
        model = self._model
        alike = model.geom_type[geom], model.geom_dataid[geom], *model.geom_size[geom], field
        if alike not in self._made:
            try:
                made = self._made[alike] = shape_of(model, geom, field)
                self._n_cells += len(made.cells)
                if self._n_cells > _MOST_CELLS:
                    raise ValueError(
                        f"its shape makes {self._n_cells} cells with those of other geoms, more "
                        f"than {_MOST_CELLS}: a larger resolution makes fewer"
                    )
            except ValueError as error:
                raise ValueError(
                    f"fields: {name_of(model, _OBJECT.mjOBJ_GEOM, geom)}: {error}"
                ) from None
        return self._made[alike]


def is_rigid(field: Field) -> bool:
    """Whether a field is that of a rigid shape."""
    return field.rigid if isinstance(field, FieldShape) else math.isinf(field.modulus)


# ---- which geoms ---------------------------------------------------------------------------------


def given_fields(model: mujoco.MjModel, fields: Mapping[str | int, Field]) -> dict[int, Field]:
    """The field of each geom: the argument before the model, a name before a group."""
    names, groups = names_of(model, _OBJECT.mjOBJ_GEOM), model.geom_group
    for key, field in fields.items():
        if not isinstance(field, (PressureField, FieldShape)):
            raise TypeError(
                f"fields[{key!r}] must be a PressureField or a FieldShape, not "
                f"{type(field).__name__}"
            )
        if isinstance(key, bool) or not isinstance(key, (str, int)):
            raise TypeError(f"fields: {key!r} must be the name of a geom or the number of a group")
        if key not in (names if isinstance(key, str) else groups) or key == "":
            by_name = isinstance(key, str)
            what = "geom of this name" if by_name else "geom in this group"
            hint = nearest(str(key), names) if by_name else ""
            raise ValueError(f"fields: {key!r}: the model has no {what}{hint}")
    custom = fields_in_numbers(model)
    found = {}
    for geom, name in enumerate(names):
        keys = name, int(groups[geom])
        of_geom = [some[key] for some in (fields, custom) for key in keys if key in some]
        if of_geom:
            found[geom] = of_geom[0]
    return found


def _resolution(model: mujoco.MjModel, geom: int, others: Iterable[Field | None]) -> float | None:
    """Resolution of a rigid geom: of the finest field it meets, else a quarter of its radius."""
    finest = [f.resolution for f in others if isinstance(f, PressureField) and f.resolution]
    size = size_of(model, geom)
    return min(finest, default=None if math.isinf(size) else size / 4)


# ---- which pairs ---------------------------------------------------------------------------------


def _condim(model: mujoco.MjModel, one: int, two: int) -> int:
    """The condim of a pair, 1 or 3: by priority, else the larger one."""
    priority, condim = model.geom_priority, model.geom_condim
    if priority[one] != priority[two]:
        dim = condim[one if priority[one] > priority[two] else two]
    else:
        dim = max(condim[one], condim[two])
    return 1 if dim == 1 else 3


def _explicit_pairs(model: mujoco.MjModel) -> dict[tuple[int, int], int]:
    """The numbers of explicit pairs, by their geoms."""
    geoms = zip(model.pair_geom1.tolist(), model.pair_geom2.tolist(), strict=True)
    return {(min(pair), max(pair)): i for i, pair in enumerate(geoms)}


def _friction(model: mujoco.MjModel, pairs: _Int) -> _Float:
    """Friction of pairs (n, 2) by MuJoCo's rule: explicit pair, priority, else the larger."""
    mu, priority = model.geom_friction[pairs, 0], model.geom_priority[pairs]
    higher = priority == priority.max(axis=1, keepdims=True)
    friction = np.repeat(np.where(higher, mu, 0.0).max(axis=1, keepdims=True), 2, axis=1)
    explicit = _explicit_pairs(model)
    for i, (one, two) in enumerate(pairs.tolist()):
        if (one, two) in explicit:
            friction[i] = model.pair_friction[explicit[one, two], :2]
    return friction


def _pairs(model: mujoco.MjModel, compliant: list[int]) -> dict[tuple[int, int], int]:
    """Condim of each pair with a compliant geom and a body that can move."""
    flags = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    if model.opt.disableflags & flags:
        return {}
    found: dict[tuple[int, int], int] = {}
    for geom in compliant:
        for other in geoms_that_meet(model, geom).tolist():
            pair = min(geom, other), max(geom, other)
            found[pair] = _condim(model, geom, other)
    for (one, two), i in _explicit_pairs(model).items():
        if one in compliant or two in compliant:
            found[one, two] = 1 if model.pair_dim[i] == 1 else 3
    moving = model.body_treeid[model.body_weldid[model.geom_bodyid]] >= 0
    plane = model.geom_type == _GEOM.mjGEOM_PLANE
    return {
        (one, two): dim
        for (one, two), dim in sorted(found.items())
        if (moving[one] or moving[two]) and not (plane[one] and plane[two])
    }


def _check_pair(
    model: mujoco.MjModel, pair: tuple[int, int], shapes: Sequence[FieldShape | None]
) -> None:
    """Raise ValueError if two geoms have no common surface."""
    kinds = [shape.kind for geom in pair if (shape := shapes[geom]) is not None]
    if ShapeKind.COMPLIANT_HALF_SPACE in kinds and ShapeKind.TRIANGLES not in kinds:
        names = listed(named(model, _OBJECT.mjOBJ_GEOM, pair))
        raise ValueError(
            f"fields: {names}: a compliant half space meets rigid meshes alone; leave out the "
            "field of one of the two"
        )


def _check_geoms(model: mujoco.MjModel, geoms: Iterable[int]) -> None:
    """Raise ValueError if a geom needs an option of contacts that patches lack."""
    refused = {
        "geom_surfacevel": "a surface that moves",
        "geom_adhesion": "adhesion",
    }
    for field, what in refused.items():
        for geom in geoms:
            if np.any(getattr(model, field, np.zeros(model.ngeom))[geom]):
                name = name_of(model, _OBJECT.mjOBJ_GEOM, geom)
                raise ValueError(f"fields: {name} has {what}, which patches have not")


def fields_of(model: mujoco.MjModel, fields: Mapping[str | int, Field] | None) -> Fields | None:
    """Read the fields of a model, and take their pairs from MuJoCo.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper, which is changed: MuJoCo finds no contacts of compliant
        geoms, except with flexes.
    fields : mapping or None
        Fields by geom name or group number; they precede the model's custom numbers.

    Returns
    -------
    Fields or None
        None without a compliant geom.

    Raises
    ------
    TypeError, ValueError
        If a field is wrong (the message names the key), if a geom can have none, or if two geoms
        have no common surface (the message names them).
    """
    if not isinstance(fields, Mapping | None):
        raise TypeError(f"fields must be a mapping, not {type(fields).__name__}")
    given = given_fields(model, fields or {})
    compliant = [geom for geom, field in given.items() if not is_rigid(field)]
    pairs = _pairs(model, compliant)
    made = _Shapes(model)
    shapes: list[FieldShape | None] = [None] * model.ngeom
    partners: dict[int, list[Field | None]] = {}
    for one, two in pairs:
        partners.setdefault(one, []).append(given.get(two))
        partners.setdefault(two, []).append(given.get(one))
    _check_geoms(model, partners)
    for geom, others in partners.items():
        field = given.get(geom)
        if field is None or (isinstance(field, PressureField) and field.resolution is None):
            field = dataclasses.replace(
                field or PressureField(math.inf), resolution=_resolution(model, geom, others)
            )
        shapes[geom] = made.of(geom, field)
    for pair in pairs:
        _check_pair(model, pair, shapes)
    take_from_engine(model, compliant)
    if not pairs:
        return None
    geoms = np.array(list(pairs), dtype=np.int32)
    condim = np.array(list(pairs.values()), dtype=np.int32)
    return Fields(geoms, condim, _friction(model, geoms), tuple(shapes))
