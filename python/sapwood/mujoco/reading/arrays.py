"""The arrays of a MuJoCo model and of its data, as the C core takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.laws.materials import ContactMaterial, Geoms, geom_materials
from sapwood.mujoco.reading.changes import ALL, DAMPING, SLOPES, Changes
from sapwood.mujoco.reading.engine_fields import fields_of
from sapwood.mujoco.reading.names import names_of
from sapwood.mujoco.reading.trees import bodies_of_flex, free_quaternions, turning_dofs

_Float = NDArray[np.float64]

STATE_NAMES = fields_of("mjData", "STATE")

#: Numbers of a model that MuJoCo's stages alone read. A place that is not finite moves nothing
#: near it, in silence: geoms there touch nothing.
PLACES = (
    "body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_inertia", "jnt_pos",
    "jnt_axis", "dof_armature", "geom_pos", "geom_quat", "geom_size", "site_pos", "site_quat",
    "qpos0",
)  # fmt: skip


def problem_arrays(core: _core.ModelStepper) -> dict[str, NDArray[Any]]:
    """The problem gathered last, by the names of :class:`sapwood.ContactProblem`."""
    arrays = core.problem()
    if not len(arrays["spin_contact"]):
        arrays = {name: array for name, array in arrays.items() if not name.startswith("spin_")}
    return arrays


def check_finite(name: str, values: NDArray[Any], remedy: str = "") -> None:
    """Raise ValueError for a number that is not finite, which names the field of the model."""
    for index in np.argwhere(~np.isfinite(values)):
        place = ", ".join(map(str, index))
        raise ValueError(f"{name}[{place}] = {values[tuple(index)]:g}: must be finite{remedy}")


def _damping(model: mujoco.MjModel) -> _Float:
    """Coefficients (nv, 3) of the damping forces -(c_0 + c_1 |v| + c_2 v^2) v of the dofs."""
    damping = np.zeros((model.nv, 3))
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_DAMPER:
        return damping
    damping[:, 0] = model.dof_damping
    if hasattr(model, "dof_dampingpoly"):
        damping[:, 1:] = model.dof_dampingpoly
    # an actuator that damps its joint acts through its gear on both sides
    for joint, actuator in enumerate(getattr(model, "jnt_actuatorid", ())):
        if actuator >= 0:
            gear = model.actuator_gear[actuator, 0]
            coefficients = model.actuator_damping[actuator], *model.actuator_dampingpoly[actuator]
            damping[model.jnt_dofadr[joint]] += gear**2 * np.array(coefficients)
    return damping


def custom_entries(model: mujoco.MjModel) -> dict[str, list[float]]:
    """The custom numbers of the model by name."""
    entries = {}
    for i in range(model.nnumeric):
        first = model.numeric_adr[i]
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_NUMERIC, i)
        entries[name or ""] = model.numeric_data[first : first + model.numeric_size[i]].tolist()
    return entries


def _geoms(model: mujoco.MjModel, n_flexes: int) -> Geoms:
    names = names_of(model, mujoco.mjtObj.mjOBJ_GEOM)
    groups, friction = model.geom_group, model.geom_friction[:, 0]
    if n_flexes:
        names = names + names_of(model, mujoco.mjtObj.mjOBJ_FLEX)
        groups = np.concatenate([groups, model.flex_group])
        friction = np.concatenate([friction, model.flex_friction[:, 0]])
    return Geoms(names, groups, friction, custom_entries(model))


def _bodies_of_surfaces(model: mujoco.MjModel, n_flexes: int) -> NDArray[np.int32]:
    """Bodies of the geoms, and of flexes after them: that of a vertex, one that moves if any."""
    found = [model.geom_bodyid]
    for flex in range(n_flexes):
        bodies = bodies_of_flex(model, flex)
        moves = model.body_treeid[model.body_weldid[bodies]] >= 0
        found.append(bodies[[int(np.argmax(moves))]])
    return np.concatenate(found).astype(np.int32)


def _widths(model: mujoco.MjModel, n_flexes: int) -> _Float:
    """Least width of each geom, and of flexes after them, m; infinite where it has none."""
    kind, size = model.geom_type, model.geom_size
    Geom = mujoco.mjtGeom
    half = np.full(model.ngeom, np.inf)
    for one, columns in (
        (Geom.mjGEOM_SPHERE, 1), (Geom.mjGEOM_CAPSULE, 1), (Geom.mjGEOM_CYLINDER, 2),
        (Geom.mjGEOM_ELLIPSOID, 3), (Geom.mjGEOM_BOX, 3),
    ):  # fmt: skip
        half[kind == int(one)] = size[kind == int(one), :columns].min(axis=1)
    boxed = (kind == int(Geom.mjGEOM_MESH)) | (kind == int(Geom.mjGEOM_SDF))
    half[boxed] = model.geom_aabb[boxed, 3:].min(axis=1)
    if n_flexes:
        half = np.concatenate([half, model.flex_radius])
    return np.where(half > 0.0, 2.0 * half, np.inf)


def _pair_keys(model: mujoco.MjModel, n_flexes: int) -> NDArray[np.int64]:
    """Explicit pairs by the key of the C core."""
    low = np.minimum(model.pair_geom1, model.pair_geom2).astype(np.int64)
    high = np.maximum(model.pair_geom1, model.pair_geom2).astype(np.int64)
    return np.unique(low * (model.ngeom + n_flexes) + high)


def _structure(
    model: mujoco.MjModel, joined: NDArray[np.int32], n_flexes: int
) -> dict[str, NDArray[Any]]:
    same_name = (
        "dof_parentid", "M_rownnz", "M_rowadr", "M_colind", "body_weldid", "body_rootid",
        "body_dofadr", "body_dofnum",
    )  # fmt: skip
    first = np.flatnonzero(np.diff(joined, prepend=-1))
    moves, tree = model.body_treeid >= 0, model.body_treeid.astype(np.int32)
    tree[moves] = joined[tree[moves]]
    bodies = _bodies_of_surfaces(model, n_flexes)
    driven = model.body_mocapid[model.body_rootid[bodies]] >= 0
    return {
        "tree_dofadr": model.tree_dofadr[first],
        "tree_dofnum": np.bincount(joined, model.tree_dofnum).astype(np.int32),
        **{name: getattr(model, name) for name in same_name},
        "body_treeid": tree,
        "geom_bodyid": bodies,
        "dof_quaternion": free_quaternions(model),
        "geom_driven": driven.view(np.int8),
    }


def _slopes(
    model: mujoco.MjModel, forest: Mapping[str, NDArray[Any]], implicit: bool, discrete: bool
) -> dict[str, NDArray[Any]]:
    """The pattern of the derivative of the smooth forces."""
    begin, count = forest["tree_dofadr"], forest["tree_dofnum"]
    springs = np.full(len(count), discrete, np.int8)
    if not discrete:
        return {
            "tree_springs": springs,
            "D_rownnz": model.D_rownnz,
            "D_rowadr": model.D_rowadr,
            "D_colind": model.D_colind if implicit else model.D_colind[:0],
        }
    row = np.repeat(count, count)
    pairs = [np.tile(np.arange(i, i + n), n) for i, n in zip(begin, count, strict=True)]
    return {
        "tree_springs": springs,
        "D_rownnz": row.astype(np.int32),
        "D_rowadr": (np.cumsum(row) - row).astype(np.int32),
        "D_colind": np.concatenate([*pairs, np.zeros(0)]).astype(np.int32),
    }


def forest_arrays(
    model: mujoco.MjModel,
    contact: ContactMaterial | None,
    materials: Mapping[str | int, ContactMaterial] | None,
    time_step: float,
    implicit: bool,
    faults: list[str],
    joined: NDArray[np.int32],
    n_flexes: int,
    last: Mapping[str, NDArray[Any]] | None = None,
    changes: Changes = ALL,
    discrete: bool = False,
) -> dict[str, NDArray[Any]]:
    """The constant arrays that the C core gathers from, by the names of its struct sap_forest.

    They include the pattern of the derivative of the smooth forces if these are `implicit`: that of
    MuJoCo, or all pairs of dofs of each tree where springs are implicit too (`discrete`).
    `joined` are the trees of the problem, and the surfaces of `n_flexes` flexes follow the geoms.
    `faults` collects faults of malformed custom numbers. Unchanged parts are taken from `last`.
    """
    forest = _structure(model, joined, n_flexes) if last is None else dict(last)
    if changes.are_all:
        forest |= geom_materials(
            _geoms(model, n_flexes), contact, materials, time_step, faults
        )._asdict()
    elif changes.any_of("geom_friction"):
        given = forest["friction_given"] != 0
        friction = _geoms(model, n_flexes).friction
        for name in ("friction", "static_friction"):
            forest[name] = np.where(given, forest[name], friction)
    if changes.any_of(*DAMPING):
        check_finite("dof_damping", model.dof_damping)
        forest["damping"] = _damping(model)
    if changes.any_of("tendon_armature"):
        forest["dof_turns"] = turning_dofs(model)
    if changes.any_of("body_invweight0"):
        remedy = "; mj_setConst finds it from masses, inertias and armatures"
        check_finite("body_invweight0", model.body_invweight0, remedy)
        forest["geom_inverse_mass"] = model.body_invweight0[forest["geom_bodyid"], 0]
    if changes.any_of("geom_size"):
        forest["geom_width"] = _widths(model, n_flexes)
    if changes.any_of("pair_geom1", "pair_geom2"):
        forest["pair_key"] = _pair_keys(model, n_flexes)
    if changes.any_of(*SLOPES):
        forest |= _slopes(model, forest, implicit, discrete)
    if changes.are_all:
        for name in PLACES:
            check_finite(name, getattr(model, name))
    return forest
