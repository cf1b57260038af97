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
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.reading.engine_fields import FIELDS
from sapwood.mujoco.reading.versions import warn_if_untested

# the fields that the C core reads
_FIELDS = tuple(field for field in FIELDS if field.readers != "PYTHON")
_PAIR_ARRAYS = {field.name for field in _FIELDS if field.key.startswith("model.pair_")}

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
      <geom name="mast" size=".02" pos="0 0 .2"/><site name="tip"/></body>
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
  <sensor><jointpos joint="hinge"/><ballquat joint="ball"/><touch site="tip"/></sensor>
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


def _offset(struct: _Struct, name: str, declared: str) -> int:
    """Offset of a field that must have the given type."""
    if struct.types.get(name) != declared:
        raise EngineError(f"field {name} is {struct.types.get(name)}, expected {declared}")
    return struct.offsets[name]


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
        If a field is missing or of another type.
    """
    try:
        structs = {name: _read_struct(name) for name in {field.structure for field in _FIELDS}}
    except (KeyError, AttributeError, TypeError) as error:
        raise EngineError(f"the description of MuJoCo's structs is not as known: {error}") from None
    model, data, warning = structs["mjModel"], structs["mjData"], structs["mjWarningStat"]
    number = _offset(warning, "number", "int")
    begins = {"mjOption": _offset(model, "opt", "mjOption")}
    layout = {
        "model.size": model.size,
        "model.contact_sensor": int(mujoco.mjtSensor.mjSENS_CONTACT),
        "contact.size": structs["mjContact"].size,
    }
    for field in _FIELDS:
        struct = structs[field.structure]
        if struct is warning:
            kind = int(getattr(mujoco.mjtWarning, field.change))
            layout[field.key] = data.offsets["warning"] + kind * warning.size + number
        elif field.name not in struct.types and field.versions != "ALL":
            layout[field.key] = -1
        else:
            at = _offset(struct, field.name, field.declared)
            layout[field.key] = begins.get(field.structure, 0) + at
    # lists of explicit pairs are made only where all that belongs to a pair is known
    of_pairs = {name for name in model.types if name.startswith("pair_")}
    if of_pairs - _PAIR_ARRAYS - {"pair_signature"}:
        layout["model.pair_dim"] = -1
    return layout


@functools.cache
def _option_struct() -> _Struct:
    return _read_struct("mjOption")


def options_in_memory(opt: mujoco.MjOption, names: Collection[str]) -> dict[str, NDArray[Any]]:
    """The numbers of ``model.opt`` where they lie in memory, as arrays of one entry.

    Parameters
    ----------
    opt : mujoco.MjOption
        The options of a model, which must outlive the result.
    names : collection of str
        Its fields that are numbers.

    Returns
    -------
    dict
        Arrays by name.

    Raises
    ------
    EngineError
        If a field does not lie where MuJoCo's own description puts it.
    """
    struct = _option_struct()
    begin = opt.gravity.ctypes.data - struct.offsets["gravity"]
    return _numbers_at(opt, begin, struct, names, "opt")


def _numbers_at(
    owner: Any, begin: int, struct: _Struct, names: Collection[str], label: str
) -> dict[str, NDArray[Any]]:
    """Numbers of a struct of MuJoCo that begins at an address."""
    found = {}
    for name in names:
        described, value = struct.types.get(name), getattr(owner, name)
        if described not in _SCALARS:
            raise EngineError(f"{label}.{name} is {described}, which is not known")
        kind: Any = _SCALARS[described]
        place = (kind * 1).from_address(begin + struct.offsets[name])
        number = np.ctypeslib.as_array(place)
        if number[0] != value == value:
            raise EngineError(f"{label}.{name} does not lie where MuJoCo's own description puts it")
        found[name] = number
    return found


@functools.cache
def _data_struct() -> _Struct:
    return _read_struct("mjData")


def numbers_in_data(data: mujoco.MjData, names: Collection[str]) -> dict[str, NDArray[Any]]:
    """Numbers of the data where they lie in memory, as arrays of one entry.

    Parameters
    ----------
    data : mujoco.MjData
        The data, which must outlive the result.
    names : collection of str
        Its fields that are numbers.

    Returns
    -------
    dict
        Arrays by name.

    Raises
    ------
    EngineError
        If a field does not lie where MuJoCo's own description puts it.
    """
    return _numbers_at(data, data._address, _data_struct(), names, "data")


# ---- trial --------------------------------------------------------------------------------------


def _try_layout(layout: dict[str, int]) -> None:
    """Compare the values at the offsets with the package's, on a live model."""
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

    holders = {"mjModel": model, "mjOption": model.opt, "mjData": data}
    for field in _FIELDS:
        if field.structure not in holders or layout[field.key] < 0 or field.type == "CONTACTS":
            continue
        value = getattr(holders[field.structure], field.name)
        if field.is_array:
            fits = at(field.key, ctypes.c_size_t) == value.ctypes.data
        elif field.type == "NUM_ROW":
            fits = at(field.key, ctypes.c_double) == value[0]
        else:
            fits = at(field.key, _SCALARS[field.declared]) == value
        if not fits:
            raise EngineError(f"{field.key} does not lie where MuJoCo's own description puts it")
    for name, value in (("data.contacts_full", 17), ("data.rows_full", 19)):
        if at(name, ctypes.c_int) != value:
            raise EngineError(f"{name} does not lie where MuJoCo's own description puts it")
    # the last field
    ends = model._address + layout["model.size"] - ctypes.sizeof(ctypes.c_uint64)
    if ctypes.c_uint64.from_address(ends).value != model.signature:
        raise EngineError("mjModel is not as long as MuJoCo's own description has it")
    first = at("data.contact", ctypes.c_size_t)
    if data.ncon == 0 or data.contact.dist.strides != (layout["contact.size"],):
        raise EngineError("contacts are not as MuJoCo's own description has them")
    for field in _FIELDS:
        if field.structure != "mjContact" or layout[field.key] < 0:
            continue
        if getattr(data.contact, field.name).ctypes.data != first + layout[field.key]:
            raise EngineError(f"{field.key} does not lie where MuJoCo's own description puts it")


def read_addresses() -> dict[str, int]:
    """Addresses of the functions and callbacks that the C core calls, in the loaded library.

    Returns
    -------
    dict
        Addresses by name.

    Raises
    ------
    EngineError
        If a function is missing.
    """
    # the symbols of an extension module include those of the library that it was linked with, but
    # for Windows
    module = Path(mujoco._functions.__file__)
    library = ctypes.CDLL(str(module.with_name("mujoco.dll") if os.name == "nt" else module))
    try:
        return {
            name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
            for name in _core.MUJOCO_FUNCTIONS
        } | {
            name: ctypes.addressof(ctypes.c_void_p.in_dll(library, name))
            for name in _core.MUJOCO_CALLBACKS
        }
    except (AttributeError, ValueError) as error:
        raise EngineError(f"a function is missing: {error}") from None


@functools.cache
def engine() -> object:
    """The loaded MuJoCo, as :class:`_core.ModelStepper` calls it from C.

    Returns
    -------
    object
        The same object for the whole process.

    Raises
    ------
    EngineError
        If this version of MuJoCo does not fit.
    """
    if np.dtype(mujoco.MJTNUM_DTYPE) != np.float64:
        raise EngineError("MuJoCo was built for single precision")
    warn_if_untested()
    addresses, layout = read_addresses(), read_layout()
    _try_layout(layout)
    try:
        return _core.mujoco_api(addresses, layout, mujoco.MjModel, mujoco.MjData)
    except RuntimeError as error:
        raise EngineError(str(error)) from None
