"""Numbers of a model, by which its steps have derivatives, and models where one is changed."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.reading.parameters import StepParameters

_Float = NDArray[np.float64]

RELATIVE_WIDTH = 1e-6
"""Change of a number, relative to it, in the one-sided difference that gives its derivative."""
LINEAR_WIDTH = 1e-5
"""The same where the step is linear in the number, so that the difference has next to no error by
its width. A mass or an armature is not among them: R of a near-rigid contact follows from it, and
1e-5 had an error of 5e-6 in columns of armatures."""
LEAST_FRICTION = 1e-5
"""MuJoCo's least coefficient of friction; a smaller one counts as it."""

# fields of each kind of element, and how many numbers of each joint, geom ... a field has
_OF_DOF = ("damping", "armature", "frictionloss")
_OF_MATERIAL = ("stiffness", "dissipation_time", "restitution")
MODEL_FIELDS = {
    "body": ("mass", "inertia"),
    "geom": ("friction", *_OF_MATERIAL),
    "joint": ("stiffness", *_OF_DOF),
    "tendon": ("stiffness", *_OF_DOF),
    "actuator": ("gear", "gainprm", "biasprm", "dynprm"),
}
_TYPES = {kind: getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}") for kind in MODEL_FIELDS}
# MuJoCo derives other numbers from these
_INERTIAL = ("body_mass", "body_inertia", "dof_armature", "tendon_armature")
_LINEAR = {
    "dof_damping", "dof_frictionloss", "actuator_gainprm", "actuator_biasprm",
}  # fmt: skip
_DERIVED = ("body_invweight0", "dof_invweight0", "tendon_invweight0", "body_subtreemass")
# numbers whose derivative C knows in closed form: the kinds of
# csrc/mujoco/engine/number_slopes.h, and the constants of a stepper that may change with them
_KINDS: dict[str, tuple[int, set[str]]] = {
    "body_mass": (1, {"geom_inverse_mass"}),
    "body_inertia": (2, {"geom_inverse_mass"}),
    "dof_armature": (3, {"geom_inverse_mass"}),
    "dof_damping": (4, {"damping"}),
    "geom_friction": (5, {"friction", "static_friction"}),
    "actuator_gainprm": (6, set()),
}
# constants of a stepper that it reads in each step; it may keep what follows from others
_OF_EACH_STEP = {"geom_inverse_mass", "friction", "static_friction"}

Parameter = Sequence[str | int]
"""Kind, name, field and, where the field has more numbers, index: ("geom", "floor", "friction",
0)."""


class ModelNumber(NamedTuple):
    """A number of a model."""

    label: str
    """For example ``geom/floor/friction/0``."""
    array: str
    """Name of the array of the model, or of the materials of the stepper."""
    place: tuple[int, ...]
    """Its place in the array."""
    of_material: bool
    """Whether the array is one of the stepper's materials."""
    value: float
    """Its value."""

    @property
    def width(self) -> float:
        """The change in a difference."""
        relative = LINEAR_WIDTH if self.array in _LINEAR else RELATIVE_WIDTH
        return relative * (abs(self.value) or 1.0)


def read_parameters(given: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Read the argument `parameters`: tuples of a kind, a name, a field and perhaps an index.

    Parameters
    ----------
    given : sequence of sequence
        The argument.

    Returns
    -------
    tuple of tuple
        The same, hashable.

    Raises
    ------
    TypeError
        For other types; the message names the place.
    """
    every: object = given
    if isinstance(every, str | bytes) or not isinstance(every, Iterable):
        raise TypeError(f"parameters must be a sequence of tuples, not {type(every).__name__}")
    return tuple(_read_parameter(one, i) for i, one in enumerate(every))


def _read_parameter(given: object, i: int) -> Parameter:
    one = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else ()
    if not 3 <= len(one) <= 4 or not all(isinstance(word, str) for word in one[:3]):
        raise TypeError(
            f"parameters[{i}] must be (kind, name, field) or (kind, name, field, index)"
        )
    if len(one) == 3:
        return one
    if not isinstance(one[3], int | np.integer):
        raise TypeError(f"parameters[{i}] = {one}: the index must be an integer")
    return *one[:3], int(one[3])


def model_number(parameters: StepParameters, given: Parameter, i: int) -> ModelNumber:
    """Find a number of the model of a stepper.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of the stepper.
    given : sequence
        Kind, name, field and index.
    i : int
        Its place in the argument `parameters`, for errors.

    Returns
    -------
    ModelNumber
        The number.

    Raises
    ------
    TypeError, ValueError
        If there is none; the message names what is known.
    """
    where = f"parameters[{i}]"
    kind, name, field = map(str, given[:3])
    if kind not in MODEL_FIELDS:
        raise ValueError(
            f"{where} = {tuple(given)}: the kind must be one of {', '.join(MODEL_FIELDS)}"
        )
    if field not in MODEL_FIELDS[kind]:
        known = ", ".join(MODEL_FIELDS[kind])
        raise ValueError(f"{where} = {tuple(given)}: the field of a {kind} must be one of {known}")
    model = parameters.model
    row = mujoco.mj_name2id(model, _TYPES[kind], name)
    if row < 0:
        raise ValueError(f"{where} = {tuple(given)}: the model has no {kind} of this name")
    of_material = field in _OF_MATERIAL and kind == "geom"
    if of_material or (array_name(kind, field) == "geom_friction" and _has_own_friction(
        parameters, row, given
    )):  # fmt: skip
        array, values, of_material = field, parameters.forest[field][row], True
        place: tuple[int, ...] = (row,)
    else:
        array = array_name(kind, field)
        if array.startswith("dof_"):
            row = int(model.jnt_dofadr[row])
        values, place = getattr(model, array)[row], (row,)
    sized = np.atleast_1d(values)
    index = given[3] if len(given) == 4 else 0
    if not isinstance(index, int) or not 0 <= index < len(sized):
        raise ValueError(f"{where} = {tuple(given)}: the index must be from 0 to {len(sized) - 1}")
    if len(given) == 3 and len(sized) > 1:
        raise ValueError(f"{where} = {tuple(given)}: needs an index from 0 to {len(sized) - 1}")
    value = float(sized[index])
    if not np.isfinite(value):
        raise ValueError(f"{where} = {tuple(given)}: is {value}, and has no derivatives")
    label = "/".join(map(str, given))
    return ModelNumber(label, array, (*place, index) if np.ndim(values) else place, of_material,
                       value)  # fmt: skip


def array_name(kind: str, field: str) -> str:
    """Name of the array of ``mjModel`` with a field.

    Parameters
    ----------
    kind, field : str
        Kind of element and field.

    Returns
    -------
    str
        The name.
    """
    if kind == "joint":
        return f"dof_{field}" if field in _OF_DOF else f"jnt_{field}"
    return f"{kind}_{field}"


def _has_own_friction(parameters: StepParameters, geom: int, given: Parameter) -> bool:
    """Whether the sliding friction of a geom is that of a material."""
    sliding = len(given) == 4 and given[3] == 0
    return sliding and bool(parameters.forest["friction_given"][geom])


def with_change(parameters: StepParameters, number: ModelNumber, width: float) -> StepParameters:
    """Parameters of a stepper whose model has another number.

    Parameters
    ----------
    parameters : StepParameters
        The parameters of the stepper.
    number : ModelNumber
        The number.
    width : float
        What is added to it.

    Returns
    -------
    StepParameters
        Those of a copy of the model.
    """
    own = copy.copy(parameters.model)
    if not number.of_material:
        getattr(own, number.array)[number.place] += width
    if number.array in _INERTIAL:
        mujoco.mj_setConst(own, mujoco.MjData(own))
    changed = parameters.with_model(own)
    if number.of_material:
        array = np.array(changed.forest[number.array])
        array[number.place] += width
        changed.forest[number.array] = array
    return changed


def check_constants(parameters: StepParameters, numbers: Sequence[ModelNumber]) -> None:
    """Refuse a model whose derived numbers do not follow from its inertias.

    Parameters
    ----------
    parameters : StepParameters
        The parameters of the stepper.
    numbers : sequence of ModelNumber
        The numbers to differentiate by.

    Raises
    ------
    ValueError
        If an inertia is among them, and the model was changed without ``mj_setConst``.
    """
    if not any(number.array in _INERTIAL for number in numbers):
        return
    own = copy.copy(parameters.model)
    mujoco.mj_setConst(own, mujoco.MjData(own))
    for name in _DERIVED:
        if not np.allclose(getattr(own, name), getattr(parameters.model, name), 1e-12, 1e-15):
            raise ValueError(
                f"parameters: {name} of the model does not follow from its inertias: call "
                "mujoco.mj_setConst(model, data) after a change of masses, inertias or armatures"
            )


_Row = tuple[_core.ModelStepper, mujoco.MjModel, NDArray[np.uintp], _Float, float]


def _differences(
    arrays: Mapping[str, NDArray[Any]], others: Mapping[str, NDArray[Any]]
) -> tuple[NDArray[np.uintp], _Float]:
    """Addresses of the numbers that differ from those of other arrays, and the latter."""
    places, values = [np.zeros(0, np.uintp)], [np.zeros(0)]
    for name, array in arrays.items():
        changed = others[name].ravel()
        differ = np.flatnonzero(array.ravel() != changed)
        places.append(array.ctypes.data + array.itemsize * differ.astype(np.uintp))
        values.append(changed[differ])
    return np.concatenate(places), np.concatenate(values)


def _doubles(model: mujoco.MjModel) -> dict[str, NDArray[Any]]:
    """All arrays of doubles of a model."""
    arrays = ((name, getattr(model, name)) for name in dir(model))
    return {
        name: array
        for name, array in arrays
        if isinstance(array, np.ndarray) and array.dtype == np.float64
    }


def _changed_constants(parameters: StepParameters, own: StepParameters) -> set[str]:
    """Names of the constants in which two steppers differ."""
    one, other = ({**x.forest, **(x.elements or {})} for x in (parameters, own))
    changed = one.keys() ^ other.keys()
    changed |= {name for name in one.keys() & other.keys()
                if not np.array_equal(one[name], other[name])}  # fmt: skip
    return changed


def _is_closed(parameters: StepParameters, number: ModelNumber) -> bool:
    """Whether no other force or coefficient than those of C's closed form follows from a number."""
    model, row = parameters.model, number.place[0]
    muscles = model.actuator_gaintype == mujoco.mjtGain.mjGAIN_MUSCLE
    muscles |= model.actuator_biastype == mujoco.mjtBias.mjBIAS_MUSCLE
    if number.array in _INERTIAL and muscles.any():
        return False  # their strengths follow from the inertias that they move
    if number.array in {"body_mass", "body_inertia"}:
        return not (model.opt.density or model.opt.viscosity or model.body_gravcomp[row])
    if number.array == "geom_friction":
        others = parameters.forest["friction_given"].any() or parameters.fields is not None
        return number.place[1] == 0 and number.value > LEAST_FRICTION and not others
    if number.array == "actuator_gainprm":
        outputs = (parameters.elements or {}).get("controller_output", ())
        return (
            number.place[1] == 0
            and number.value != 0.0
            and model.actuator_gaintype[row] == mujoco.mjtGain.mjGAIN_FIXED
            and model.actuator_biastype[row] == mujoco.mjtBias.mjBIAS_AFFINE
            and getattr(model, "actuator_outadr", range(row + 1))[row] in outputs
        )
    return True


def _linear_number(parameters: StepParameters, number: ModelNumber) -> tuple[int, int, int]:
    """Kind, element and axis of a number whose derivative has a closed form, else kind 0."""
    kind, follow = _KINDS.get("" if number.of_material else number.array, (0, set()))
    element, axis = (*number.place, 0)[:2]
    if kind == 0 or not _is_closed(parameters, number):
        return 0, element, axis
    changed = _changed_constants(parameters, with_change(parameters, number, number.width))
    # a damping that changes no constant is disabled
    closed = changed == follow if number.array == "dof_damping" else changed <= follow
    return (kind if closed else 0), element, axis


class ChangedModels:
    """Steppers in C of a model of which one number is larger.

    All share one copy of the model, in which the numbers are changed while a step needs them, and
    most share one stepper. These stay in the caches, where as many models and steppers would not.

    Parameters
    ----------
    parameters : StepParameters
        The parameters of the stepper.
    given : sequence
        The numbers, as :func:`model_number` takes them.

    Attributes
    ----------
    numbers : list of ModelNumber
        The numbers.
    rows : tuple
        Argument of ``ModelStepper.tangents``: stepper, model, changes of the model and width of
        each number.
    linear : ndarray (n, 3)
        Its argument `numbers`: kind, element and axis of each number, 0 where the step is not
        linear in it.
    """

    def __init__(self, parameters: StepParameters, given: Sequence[Parameter]) -> None:
        self.numbers = [model_number(parameters, one, i) for i, one in enumerate(given)]
        check_constants(parameters, self.numbers)
        self._model, self._core = copy.copy(parameters.model), parameters.make_core()
        changed: list[_Row] = []
        self.linear = np.zeros((len(self.numbers), 3), np.int32)
        for i, number in enumerate(self.numbers):
            self.linear[i] = _linear_number(parameters, number)
            changed.append(self._row(parameters, number, number.width))
        self.rows = tuple(changed)

    def _row(self, parameters: StepParameters, number: ModelNumber, width: float) -> _Row:
        own = with_change(parameters, number, width)
        changed = _changed_constants(parameters, own)
        constants = {**own.forest, **(own.elements or {})}
        core, known = self._core, self._core.constants()
        if not changed <= _OF_EACH_STEP:
            core, changed = own.make_core(), set()
        places, values = zip(
            _differences(_doubles(self._model), _doubles(own.model)),
            _differences({name: known[name] for name in sorted(changed)}, constants),
            strict=True,
        )
        return core, self._model, np.concatenate(places), np.concatenate(values), width
