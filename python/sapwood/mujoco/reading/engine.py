"""The C interface of the MuJoCo library that Python has loaded, for loops over steps in C.

Nothing is linked: functions are called by their addresses in the library behind the ``mujoco``
package, and fields of its structs are read at offsets computed from the description of these
structs that comes with the package (``mujoco.introspect``). Both are tried on a small model before
they are used, so a version that does not fit is found out, not believed.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from sapwood import _core

_FUNCTIONS = (
    "mj_fwdActuation", "mj_fwdAcceleration", "mj_sensorAcc", "mj_Euler", "mj_isSparse",
    "mj_stateSize", "mj_getState", "mj_setState", "mju_error", "_mjPRIVATE_setTlsLogHandler",
    "_mjPRIVATE_getGlobalLogHandler", "mj_fwdKinematics", "mj_makeM", "mj_factorM", "mj_collision",
    "mj_makeConstraint", "mj_transmission", "mj_sensorPos", "mj_energyPos", "mj_fwdVelocity",
    "mj_sensorVel", "mj_energyVel", "mj_markStack", "mj_freeStack", "mj_stackAllocByte",
    "mjd_smooth_vel", "mj_geomDistance",
)  # fmt: skip
_CALLBACKS = (
    "mjcb_passive", "mjcb_control", "mjcb_contactfilter", "mjcb_sensor", "mjcb_act_dyn",
    "mjcb_act_gain", "mjcb_act_bias",
)  # fmt: skip

# fields by their type in C
_MODEL_SIZES = (
    "nq", "nv", "nu", "na", "nbody", "ngeom", "ntree", "njnt", "nC", "nD", "nmocap",
    "nsensordata", "neq", "ntendon", "npair", "nexclude", "nflex", "nactuator", "nout",
    "nplugin", "nhistory",
)  # fmt: skip
# what the search of contacts and of rows reads
_MODEL_ARRAYS = {
    **dict.fromkeys(("jnt_range", "jnt_margin", "dof_frictionloss", "tendon_frictionloss",
                     "body_margin", "geom_rbound", "geom_margin", "geom_gap", "geom_solmix",
                     "geom_solref", "geom_solimp", "geom_friction", "geom_size", "geom_aabb",
                     "bvh_aabb", "pair_margin", "pair_gap", "pair_solref", "pair_solreffriction",
                     "pair_solimp", "pair_friction"), "mjtNum *"),
    **dict.fromkeys(("jnt_type", "jnt_qposadr", "actuator_trntype", "body_parentid",
                     "body_bvhadr", "body_contype", "body_conaffinity", "geom_type", "geom_dataid",
                     "geom_contype", "geom_conaffinity", "geom_condim", "geom_priority",
                     "pair_geom1", "pair_geom2", "pair_dim", "exclude_signature", "mesh_vertadr",
                     "mesh_vertnum"), "int *"),
    "mesh_vert": "float *",
    "jnt_limited": "mjtBool *",
}  # fmt: skip
_OPTIONS = {"timestep": "mjtNum", "integrator": "int", "cone": "int", "disableflags": "int",
            "enableflags": "int", "disableactuator": "int"}  # fmt: skip
_DATA_NUMBERS = {"time": "mjtNum", "narena": "mjtSize", "pstack": "size_t", "pbase": "size_t",
                 "parena": "size_t", "ncon": "int",
                 "nefc": "int", "ne": "int", "nf": "int", "nl": "int",
                 "flg_energypos": "mjtBool", "flg_energyvel": "mjtBool",
                 "flg_rnepost": "mjtBool"}  # fmt: skip
_DATA_ARRAYS = (
    "qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat", "M", "cdof", "subtree_com",
    "xipos", "ximat", "geom_xpos", "geom_xmat", "qfrc_smooth", "qacc_smooth", "qDeriv", "qacc",
    "qfrc_constraint", "efc_force", "efc_KBIP", "sensordata",
)  # fmt: skip
# what constrained elements are gathered from; qfrc_smooth among them
_ELEMENT_ARRAYS = {
    name: "int *" if name.endswith(("type", "id", "nnz", "adr", "colind")) else "mjtNum *"
    for name in _core.ELEMENT_ARRAYS
}
_CONTACT = {"dist": "mjtNum", "pos": "mjtNum [3]", "frame": "mjtNum [9]", "friction": "mjtNum [5]",
            "dim": "int", "geom": "int [2]", "exclude": "int", "efc_address": "int"}  # fmt: skip
_CONTACT_SINCE_4 = {"surfacevel": "mjtNum [3]"}
_MODEL_SINCE_4 = {"geom_adhesion": "mjtNum *", "pair_adhesion": "mjtNum *"}
_PAIR_ARRAYS = {name for name in (*_MODEL_ARRAYS, *_MODEL_SINCE_4) if name.startswith("pair_")}

_SCALARS = {
    "mjtNum": ctypes.c_double,
    "mjtSize": ctypes.c_int64,
    "mjtBool": ctypes.c_uint8,
    "int": ctypes.c_int,
    "float": ctypes.c_float,
    "size_t": ctypes.c_size_t,
    "uintptr_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64,
}

# a model with all that is read, in different numbers, and with what lies beside it
_TRIAL = """
<mujoco>
  <size nuserdata="3"/>
  <asset><mesh name="wedge" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <geom type="mesh" mesh="wedge" pos="0 3 0"/>
    <body mocap="true" pos="0 0 2"><geom size=".1"/></body>
    <body name="ball" pos="0 0 .09"><freejoint/><geom size=".1"/>
      <geom name="mast" size=".02" pos="0 0 .2"/></body>
    <body name="arm" pos="1 0 1"><joint name="hinge"/><geom size=".1" pos=".2 0 0"/>
      <body pos=".3 0 0"><joint name="ball" type="ball"/><geom size=".05" pos=".2 0 0"/></body>
    </body>
  </worldbody>
  <contact><pair geom1="floor" geom2="mast"/><exclude body1="ball" body2="arm"/></contact>
  <equality><joint joint1="hinge"/></equality>
  <tendon><fixed><joint joint="hinge" coef="2"/></fixed></tendon>
  <actuator>
    <general joint="hinge" dyntype="integrator"/>
    <motor joint="hinge"/><motor joint="hinge"/>
  </actuator>
  <sensor><jointpos joint="hinge"/><ballquat joint="ball"/></sensor>
</mujoco>
"""


class EngineError(RuntimeError):
    """The loaded version of MuJoCo cannot be driven from C; the text says why."""


# ---- layout -------------------------------------------------------------------------------------


def _description() -> dict[str, Any]:
    """MuJoCo's description of its structs, by name."""
    try:
        from mujoco.introspect import structs
    except ImportError as error:
        raise EngineError(f"mujoco.introspect is missing: {error}") from None
    described: dict[str, Any] = structs.STRUCTS
    return described


@dataclasses.dataclass(frozen=True)
class _Struct:
    """Offsets and declared types of the fields of a struct, and its size."""

    offsets: dict[str, int]
    types: dict[str, str]
    size: int


def _type_of(kind: Any) -> type[Any]:
    """The ctypes type of a described type."""
    if hasattr(kind, "extents"):
        array: type[Any] = _type_of(kind.inner_type) * int(np.prod(kind.extents))
        return array
    if hasattr(kind, "inner_type"):
        return ctypes.c_void_p
    name = getattr(kind, "name", "")
    if name in _SCALARS:
        return _SCALARS[name]
    # an unnamed struct has its fields at hand
    fields = _description()[name].fields if name else kind.fields
    members = [(field.name, _type_of(field.type)) for field in fields]
    return type(name, (ctypes.Structure,), {"_fields_": members})


def _read_struct(name: str) -> _Struct:
    """Lay out a struct as a C compiler does."""
    fields = _description()[name].fields
    members = [(field.name, _type_of(field.type)) for field in fields]
    laid_out = type(name, (ctypes.Structure,), {"_fields_": members})
    offsets = {member: getattr(laid_out, member).offset for member, _ in members}
    types = {field.name: str(field.type) for field in fields}
    return _Struct(offsets, types, ctypes.sizeof(laid_out))


def _take(struct: _Struct, fields: dict[str, str]) -> dict[str, int]:
    """Offsets of fields that must have the given types."""
    for name, kind in fields.items():
        if struct.types.get(name) != kind:
            raise EngineError(f"field {name} is {struct.types.get(name)}, expected {kind}")
    return {name: struct.offsets[name] for name in fields}


def _sizes(model: _Struct) -> list[str]:
    """The sizes that there are: a number of actuators beside that of controls is newer."""
    return [name for name in _MODEL_SIZES if name != "nactuator" or name in model.types]


def read_layout() -> dict[str, int]:
    """Offsets in bytes of the fields that the C core reads, by names such as ``data.time``.

    Returns
    -------
    dict
        Offsets; -1 for a field that this version does not have, and for ``model.pair_dim`` where it
        has more arrays of explicit pairs than are known.

    Raises
    ------
    EngineError
        Where a field is missing or of another type.
    """
    try:
        model, data = _read_struct("mjModel"), _read_struct("mjData")
        option, contact = _read_struct("mjOption"), _read_struct("mjContact")
        warning = _read_struct("mjWarningStat")
    except (KeyError, AttributeError, TypeError) as error:
        raise EngineError(f"the description of MuJoCo's structs is not as known: {error}") from None
    found = {
        "model": _take(model, dict.fromkeys(_sizes(model), "mjtSize") | _MODEL_ARRAYS)
        | {"size": model.size},
        "data": _take(
            data, _DATA_NUMBERS | dict.fromkeys(_DATA_ARRAYS, "mjtNum *") | _ELEMENT_ARRAYS
        )
        | _take(data, {"energy": "mjtNum [2]"}),
        "contact": _take(contact, _CONTACT) | {"size": contact.size},
    }
    found["model"].setdefault("nactuator", found["model"]["nu"])
    opt = _take(model, {"opt": "mjOption"})["opt"]
    options = _OPTIONS | {"gravity": "mjtNum [3]"}
    found["model"] |= {name: opt + at for name, at in _take(option, options).items()}
    found["data"] |= _take(data, {"contact": "mjContact *"})
    number = _take(warning, {"number": "int"})["number"]
    for name, kind in (
        ("contacts_full", mujoco.mjtWarning.mjWARN_CONTACTFULL),
        ("rows_full", mujoco.mjtWarning.mjWARN_CNSTRFULL),
    ):
        found["data"][name] = data.offsets["warning"] + int(kind) * warning.size + number
    for owner, struct, later in (
        ("contact", contact, _CONTACT_SINCE_4),
        ("model", model, _MODEL_SINCE_4),
    ):
        for name, kind in later.items():
            known = name in struct.types
            found[owner][name] = _take(struct, {name: kind})[name] if known else -1
    # lists of explicit pairs are made only where all that belongs to a pair is known
    of_pairs = {name for name in model.types if name.startswith("pair_")}
    if of_pairs - _PAIR_ARRAYS - {"pair_signature"}:
        found["model"]["pair_dim"] = -1
    return {
        f"{struct}.{name}": at for struct, fields in found.items() for name, at in fields.items()
    }


@functools.cache
def _option_struct() -> _Struct | None:
    try:
        return _read_struct("mjOption")
    except (EngineError, KeyError, AttributeError, TypeError):
        return None


def options_in_memory(opt: mujoco.MjOption, names: Collection[str]) -> dict[str, Any]:
    """The numbers of ``model.opt`` where they lie in memory, as ctypes objects.

    Parameters
    ----------
    opt : mujoco.MjOption
        That of a model, which must outlive the result.
    names : collection of str
        Its fields that are numbers.

    Returns
    -------
    dict
        By name; empty where this version of MuJoCo does not say where they lie.
    """
    struct = _option_struct()
    if struct is None or any(struct.types.get(name) not in _SCALARS for name in names):
        return {}
    begin = opt.gravity.ctypes.data - struct.offsets["gravity"]
    found: dict[str, Any] = {
        name: _SCALARS[struct.types[name]].from_address(begin + struct.offsets[name])
        for name in names
    }
    return found if all(found[name].value == getattr(opt, name) for name in names) else {}


# ---- trial --------------------------------------------------------------------------------------


def _try_layout(layout: dict[str, int]) -> None:
    """Compare what lies at the offsets with what the package says, on a live model."""
    model = mujoco.MjModel.from_xml_string(_TRIAL)
    model.opt.timestep, model.opt.cone = 0.0123, mujoco.mjtCone.mjCONE_ELLIPTIC
    model.opt.disableactuator, model.opt.jacobian = 5, mujoco.mjtJacobian.mjJAC_SPARSE
    model.opt.disableflags, model.opt.enableflags = 1 << 9, 1 << 1
    model.opt.gravity[0] = 0.321
    data = mujoco.MjData(model)
    data.time = 0.789
    mujoco.mj_step1(model, data)
    data.warning[mujoco.mjtWarning.mjWARN_CONTACTFULL].number = 17
    data.warning[mujoco.mjtWarning.mjWARN_CNSTRFULL].number = 19
    data.flg_rnepost = 1
    data.flg_energypos, data.flg_energyvel, data.energy[0] = 0, 1, 0.654

    def at(name: str, kind: Any) -> Any:
        owner = model if name.startswith("model.") else data
        return kind.from_address(owner._address + layout[name]).value

    expected: dict[str, tuple[Any, Any]] = {
        **{f"model.{name}": (ctypes.c_int64, getattr(model, name, model.nu))
           for name in _MODEL_SIZES},
        **{f"model.{name}": (_SCALARS[kind], getattr(model.opt, name))
           for name, kind in _OPTIONS.items()},
        **{f"model.{name}": (ctypes.c_size_t, getattr(model, name).ctypes.data)
           for name in (*_MODEL_ARRAYS, *_MODEL_SINCE_4) if layout[f"model.{name}"] >= 0},
        "model.gravity": (ctypes.c_double, 0.321),
        "data.energy": (ctypes.c_double, 0.654),
        **{f"data.{name}": (_SCALARS[kind], getattr(data, name))
           for name, kind in _DATA_NUMBERS.items()},
        **{f"data.{name}": (ctypes.c_size_t, getattr(data, name).ctypes.data)
           for name in (*_DATA_ARRAYS, *_ELEMENT_ARRAYS)},
        "data.contacts_full": (ctypes.c_int, 17),
        "data.rows_full": (ctypes.c_int, 19),
    }  # fmt: skip
    for name, (kind, value) in expected.items():
        if at(name, kind) != value:
            raise EngineError(f"{name} does not lie where MuJoCo's own description puts it")
    # the last field
    ends = model._address + layout["model.size"] - ctypes.sizeof(ctypes.c_uint64)
    if ctypes.c_uint64.from_address(ends).value != model.signature:
        raise EngineError("mjModel is not as long as MuJoCo's own description has it")
    first = at("data.contact", ctypes.c_size_t)
    if data.ncon == 0 or data.contact.dist.strides != (layout["contact.size"],):
        raise EngineError("contacts are not as MuJoCo's own description has them")
    for name in [*_CONTACT, *(name for name in _CONTACT_SINCE_4 if layout[f"contact.{name}"] >= 0)]:
        if getattr(data.contact, name).ctypes.data != first + layout[f"contact.{name}"]:
            raise EngineError(f"contact.{name} does not lie where MuJoCo's own description puts it")


def read_addresses() -> dict[str, int]:
    """Addresses of the functions and callbacks that the C core calls, in the loaded library.

    Returns
    -------
    dict
        Addresses by name.

    Raises
    ------
    EngineError
        Where a function is missing.
    """
    # the symbols of an extension module include those of the library that it was linked with, but
    # for Windows
    module = Path(mujoco._functions.__file__)
    library = ctypes.CDLL(str(module.with_name("mujoco.dll") if os.name == "nt" else module))
    try:
        functions = [ctypes.cast(getattr(library, name), ctypes.c_void_p) for name in _FUNCTIONS]
        callbacks = {
            name: ctypes.addressof(ctypes.c_void_p.in_dll(library, name)) for name in _CALLBACKS
        }
    except (AttributeError, ValueError) as error:
        raise EngineError(f"a function is missing: {error}") from None
    return callbacks | {name: f.value or 0 for name, f in zip(_FUNCTIONS, functions, strict=True)}


@functools.cache
def engine() -> object:
    """The loaded MuJoCo, as :class:`_core.ModelStepper` calls it from C.

    Returns
    -------
    object
        The same one for the whole process.

    Raises
    ------
    EngineError
        Where this version of MuJoCo does not fit.
    """
    if np.dtype(mujoco.MJTNUM_DTYPE) != np.float64:
        raise EngineError("MuJoCo was built for single precision")
    addresses, layout = read_addresses(), read_layout()
    _try_layout(layout)
    try:
        return _core.mujoco_api(addresses, layout, mujoco.MjModel, mujoco.MjData)
    except RuntimeError as error:
        raise EngineError(str(error)) from None
