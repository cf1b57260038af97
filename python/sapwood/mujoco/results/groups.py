"""Groups of constraints as the C core gathered them from a MuJoCo model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.constraints.group import ConstraintGroup
from sapwood.constraints.kinds import KINDS
from sapwood.mujoco.reading.names import name_of
from sapwood.mujoco.reading.trees import is_of_flex
from sapwood.mujoco.results.results import StepConstraints

_Float = NDArray[np.float64]

# the physical parameters of each kind, and enum sap_kind
_PARAMETERS = _core.constraint_kinds()
_NAMES = tuple(_PARAMETERS)
_SHAPE = ("size", "tree_a", "tree_b", "dof")
_GIVEN = ("R", "v_hat", "lower", "upper")

# kinds in the order of their groups
_ORDER = ("bilateral", "dry_friction", "limit", "controller")

# the element that a row belongs to, enum sap_element of the C core
_EQUALITY, _DOF, _JOINT, _TENDON, _OUTPUT = range(5)
_AXES = ("x", "y", "z", "rotation x", "rotation y", "rotation z")
_SPATIAL = {int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)}
_SEVERAL_DOFS = {int(mujoco.mjtJoint.mjJNT_BALL), int(mujoco.mjtJoint.mjJNT_FREE)}
_SIDES = ("lower limit", "upper limit")


def _split(arrays: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, slice, slice, slice]]:
    """Kind, constraints, rows and entries of J of each group."""
    constraints = entries = rows = 0
    for kind, n, nJ, end in zip(
        arrays["kind"], arrays["n"], arrays["nJ"], arrays["n_rows"], strict=True
    ):
        last, end_J = constraints + int(n), entries + int(nJ)
        name = _NAMES[kind]
        yield name, slice(constraints, last), slice(rows, int(end)), slice(entries, end_J)
        constraints, entries, rows = last, end_J, int(end)


def _is_given(shape: Mapping[str, NDArray[Any]], tree_nv: NDArray[Any]) -> NDArray[np.bool_]:
    """The stored entries of whole blocks: all, or one for a constraint of one velocity."""
    is_single = shape["dof"] >= 0
    length = shape["size"] * _width(shape, tree_nv)
    first = np.cumsum(length) - length
    given = np.repeat(~is_single, length)
    given[(first + shape["dof"])[is_single]] = True
    return given


def rows_of(arrays: Mapping[str, NDArray[Any]], chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows (n_rows,) of chosen constraints.

    Parameters
    ----------
    arrays : mapping
        The result of ``_core.ModelStepper.groups``.
    chosen : ndarray of bool (n,)
        The constraints.

    Returns
    -------
    ndarray of bool (n_rows,)
        Their rows.
    """
    return np.repeat(chosen, arrays["size"])


def select(
    arrays: Mapping[str, NDArray[Any]], chosen: NDArray[np.bool_]
) -> dict[str, NDArray[Any]]:
    """Some constraints of the groups.

    Parameters
    ----------
    arrays : mapping
        The result of ``_core.ModelStepper.groups``.
    chosen : ndarray of bool (n,)
        The constraints.

    Returns
    -------
    dict
        The arrays that :func:`constraint_groups` reads.
    """
    group = np.repeat(np.arange(len(arrays["n"])), arrays["n"])
    length = arrays["size"].astype(np.int64)
    whole = arrays["dof"] < 0
    length[whole] *= _width(arrays, arrays["tree_nv"])[whole]
    per_row = [name for name in arrays if name in _GIVEN or name.startswith("value_")]
    rows = rows_of(arrays, chosen)
    n, n_rows, nJ = (
        np.bincount(group[chosen], weights[chosen], len(arrays["n"])).astype(np.int64)
        for weights in (np.ones(len(group)), arrays["size"], length)
    )
    left = n > 0
    return {
        "tree_nv": arrays["tree_nv"],
        "kind": arrays["kind"][left],
        "n": n[left],
        "n_rows": np.cumsum(n_rows[left]),
        "nJ": nJ[left],
        "J": arrays["J"][np.repeat(chosen, length)],
        **{name: arrays[name][chosen] for name in _SHAPE},
        **{name: arrays[name][rows] for name in per_row},
    }


def _width(shape: Mapping[str, NDArray[Any]], tree_nv: NDArray[Any]) -> NDArray[Any]:
    """Velocities of the trees of each constraint."""
    second = np.where(shape["tree_b"] < 0, 0, tree_nv[shape["tree_b"]])
    found: NDArray[Any] = tree_nv[shape["tree_a"]] + second
    return found


def _whole_rows(J: _Float, shape: Mapping[str, NDArray[Any]], tree_nv: NDArray[Any]) -> _Float:
    """J with the zeros of constraints of one velocity filled in."""
    given = _is_given(shape, tree_nv)
    whole = np.zeros(len(given))
    whole[given] = J
    return whole


def constraint_groups(
    arrays: Mapping[str, NDArray[Any]], *, regularized: bool = True
) -> tuple[ConstraintGroup, ...]:
    """The groups of a problem.

    Parameters
    ----------
    arrays : mapping
        The result of ``_core.ModelStepper.groups``.
    regularized : bool
        Whether the groups hold R, v_hat, lower and upper too; else a problem derives them.

    Returns
    -------
    tuple of ConstraintGroup
        Groups with physical parameters, and with the derived numbers if ``regularized``.
    """
    classes: dict[str, Callable[..., ConstraintGroup]] = {group.kind: group for group in KINDS}
    groups = []
    for kind, constraints, rows, entries in _split(arrays):
        names = _GIVEN if regularized else ()
        given: dict[str, Any] = {name: arrays[name][rows] for name in names}
        given |= {name: arrays[f"value_{i}"][rows] for i, name in enumerate(_PARAMETERS[kind])}
        shape = {name: arrays[name][constraints] for name in _SHAPE}
        size = {"size": shape["size"]} if kind == "bilateral" else {}
        J = _whole_rows(arrays["J"][entries], shape, arrays["tree_nv"])
        groups.append(classes[kind](J, shape["tree_a"], shape["tree_b"], **size, **given))
    return tuple(groups)


def _row_name(model: mujoco.MjModel, kind: str, label: NDArray[np.int32]) -> str:
    element, index, part = (int(value) for value in label[:3])
    objects = mujoco.mjtObj
    if element == _EQUALITY:
        name = name_of(model, objects.mjOBJ_EQUALITY, index)
        if int(model.eq_type[index]) in _SPATIAL:
            return f"{name} {_AXES[part]}"
        return f"{name} row {part}" if is_of_flex(model, index) else name
    if element == _DOF:
        joint = int(model.dof_jntid[index])
        name = f"{name_of(model, objects.mjOBJ_JOINT, joint)} friction"
        several = int(model.jnt_type[joint]) in _SEVERAL_DOFS
        return f"{name} {index - int(model.jnt_dofadr[joint])}" if several else name
    if element == _OUTPUT:
        actuator = int(np.searchsorted(model.actuator_outadr, index))
        return name_of(model, objects.mjOBJ_ACTUATOR, actuator)
    name = name_of(model, objects.mjOBJ_JOINT if element == _JOINT else objects.mjOBJ_TENDON, index)
    return f"{name} friction" if kind == "dry_friction" else f"{name} {_SIDES[part]}"


def step_constraints(
    model: mujoco.MjModel, arrays: Mapping[str, NDArray[Any]]
) -> tuple[StepConstraints, ...]:
    """The constraints of a step, with their velocities and forces.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    arrays : mapping
        The result of ``_core.ModelStepper.groups`` after a solve.

    Returns
    -------
    tuple of StepConstraints
        One entry for each kind; inactive limits are included.
    """
    place = {"limit": 0, "bilateral": 0, "controller": 2}
    slices = {kind: rows for kind, _, rows, _ in _split(arrays)}
    opened = len(arrays["open_label"])
    if opened:
        slices.setdefault("limit", slice(0, 0))
    found = []
    for kind in sorted(slices, key=_ORDER.index):
        rows = slices[kind]
        gamma, velocity, labels = (arrays[name][rows] for name in ("gamma", "v_c", "label"))
        position = arrays[f"value_{place[kind]}"][rows] if kind in place else np.zeros(len(gamma))
        if kind == "limit" and opened:
            labels = np.concatenate([labels, arrays["open_label"]])
            order = np.lexsort(labels.T[2::-1])
            labels = labels[order]
            gamma = np.concatenate([gamma, np.zeros(opened)])[order]
            velocity = np.concatenate([velocity, arrays["open_velocity"]])[order]
            position = np.concatenate([position, arrays["open_position"]])[order]
        names = tuple(_row_name(model, kind, label) for label in labels)
        found.append(StepConstraints(kind, names, position, velocity, gamma / arrays["dt"]))
    return tuple(found)
