"""The arrays of a MuJoCo model and of its data, as the C core takes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.laws.materials import ContactMaterial, Geoms, geom_materials
from sapwood.mujoco.reading.names import names_of

_Float = NDArray[np.float64]

STATE_NAMES = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat")


@dataclasses.dataclass(frozen=True)
class Bound:
    """Arrays of one MjData that stay where they are, as views that keep it alive.

    Attributes
    ----------
    data : mujoco.MjData
        The data.
    state : tuple of ndarray
        The arrays of `STATE_NAMES`: what a user sets and MuJoCo computes positions and forces from.
    inputs : tuple of ndarray
        What the C core reads beside the contacts, in its order.
    qacc, qfrc_constraint : ndarray (nv,)
        What the C core writes beside efc_force.
    contacts_full, rows_full : object
        Their ``number`` counts how often MuJoCo ran out of room.
    """

    data: mujoco.MjData
    state: tuple[_Float, ...]
    inputs: tuple[_Float, ...]
    qacc: _Float
    qfrc_constraint: _Float
    contacts_full: Any
    rows_full: Any

    def elements(self, model: mujoco.MjModel) -> tuple[Any, ...]:
        """What constraints other than contacts are gathered from, in the order of the C core."""
        data, sparse = self.data, mujoco.mj_isSparse(model)
        arrays = [
            getattr(data, name) if sparse or not name.startswith("efc_J_") else None
            for name in _core.ELEMENT_ARRAYS
        ]
        off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_ACTUATION
        disabled = -1 if off else int(model.opt.disableactuator) & 0x7FFFFFFF
        return *arrays, disabled

    def outputs(self) -> tuple[_Float, _Float, _Float]:
        """Where the C core writes; efc_force moves with every step."""
        return self.qacc, self.qfrc_constraint, self.data.efc_force

    @classmethod
    def of(cls, model: mujoco.MjModel, data: mujoco.MjData) -> Bound:
        """Take the views, of data that must belong to the model."""
        check_data(model, data)
        return cls(
            data,
            tuple(getattr(data, name) for name in STATE_NAMES),
            (
                data.qvel,
                data.M,
                data.cdof,
                data.subtree_com,
                data.qfrc_smooth,
                data.qacc_smooth,
                data.qDeriv,
                data.geom_xpos,
                data.geom_xmat,
            ),
            data.qacc,
            data.qfrc_constraint,
            data.warning[mujoco.mjtWarning.mjWARN_CONTACTFULL],
            data.warning[mujoco.mjtWarning.mjWARN_CNSTRFULL],
        )


def check_data(model: mujoco.MjModel, data: object) -> None:
    """Raise TypeError or ValueError where `data` is no MjData of this model."""
    if not isinstance(data, mujoco.MjData):
        hint = ": a stepper has its model" if isinstance(data, mujoco.MjModel) else ""
        raise TypeError(f"data must be a mujoco.MjData, not {type(data).__name__}{hint}")
    sizes = data.qpos.size, data.qvel.size, len(data.xpos), len(data.geom_xpos)
    signatures = {data.signature, model.signature} - {0}  # 0 once a model was pickled
    if sizes != (model.nq, model.nv, model.nbody, model.ngeom) or len(signatures) > 1:
        raise ValueError("data belongs to another model than the one this stepper was made for")


def contact_arrays(data: mujoco.MjData) -> tuple[NDArray[Any] | None, ...]:
    """Views of the contacts of a step, and constants of all rows, in the order of the C core."""
    contact = data.contact
    return (
        contact.dist,
        contact.pos,
        contact.frame,
        contact.friction,
        # from MuJoCo 4.0 on
        getattr(contact, "surfacevel", None),
        contact.dim,
        contact.geom,
        contact.exclude,
        contact.efc_address,
        data.efc_KBIP,
    )


def problem_arrays(core: _core.ModelStepper) -> dict[str, NDArray[Any]]:
    """The problem gathered last, by the names of :class:`sapwood.ContactProblem`."""
    arrays = core.problem()
    if not len(arrays["spin_contact"]):
        arrays = {name: array for name, array in arrays.items() if not name.startswith("spin_")}
    return arrays


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


def _geoms(model: mujoco.MjModel) -> Geoms:
    names = names_of(model, mujoco.mjtObj.mjOBJ_GEOM)
    return Geoms(names, model.geom_group, model.geom_friction[:, 0], custom_entries(model))


def _widths(model: mujoco.MjModel) -> _Float:
    """Least width (ngeom) of each geom, m; infinite where it has none."""
    kind, size = model.geom_type, model.geom_size
    Geom = mujoco.mjtGeom
    half = np.full(model.ngeom, np.inf)
    for one, columns in (
        (Geom.mjGEOM_SPHERE, 1), (Geom.mjGEOM_CAPSULE, 1), (Geom.mjGEOM_CYLINDER, 2),
        (Geom.mjGEOM_ELLIPSOID, 3), (Geom.mjGEOM_BOX, 3),
    ):  # fmt: skip
        half[kind == one] = size[kind == one, :columns].min(axis=1)
    boxed = np.isin(kind, (Geom.mjGEOM_MESH, Geom.mjGEOM_SDF))
    half[boxed] = model.geom_aabb[boxed, 3:].min(axis=1)
    return np.where(half > 0.0, 2.0 * half, np.inf)


def forest_arrays(
    model: mujoco.MjModel,
    contact: ContactMaterial | None,
    materials: Mapping[str | int, ContactMaterial] | None,
    time_step: float,
    implicit: bool,
    faults: list[str],
) -> dict[str, NDArray[Any]]:
    """The constant arrays that the C core gathers from, by the names of its struct sap_forest.

    With the pattern of the derivative of the smooth forces where these are `implicit`; `faults`
    takes the texts of malformed custom numbers.
    """
    geoms = geom_materials(_geoms(model), contact, materials, time_step, faults)
    # explicit pairs by the key of the C core
    low = np.minimum(model.pair_geom1, model.pair_geom2).astype(np.int64)
    high = np.maximum(model.pair_geom1, model.pair_geom2).astype(np.int64)
    pair_key = np.unique(low * model.ngeom + high)
    same_name = (
        "tree_dofadr", "tree_dofnum", "dof_parentid", "M_rownnz", "M_rowadr", "M_colind",
        "body_weldid", "body_rootid", "body_dofadr", "body_dofnum", "body_treeid", "geom_bodyid",
    )  # fmt: skip
    return {
        **{name: getattr(model, name) for name in same_name},
        "damping": _damping(model),
        **geoms._asdict(),
        "geom_driven": (model.body_mocapid[model.body_rootid[model.geom_bodyid]] >= 0).view(
            np.int8
        ),
        "geom_inverse_mass": model.body_invweight0[model.geom_bodyid, 0],
        "geom_width": _widths(model),
        "pair_key": pair_key,
        "D_rownnz": model.D_rownnz,
        "D_rowadr": model.D_rowadr,
        "D_colind": model.D_colind if implicit else model.D_colind[:0],
    }
