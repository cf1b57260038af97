"""Numbers of soft bodies and of a model by which steps with soft bodies have derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.fem.derivatives.soft_numbers import SoftNumber, find_number
from sapwood.mujoco.gradients.model_numbers import (
    MODEL_FIELDS,
    ModelNumber,
    Parameter,
    check_constants,
    model_number,
    with_change,
)
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.soft_start import NumberSides, SoftStart, own_steps


def step_numbers(
    parameters: StepParameters, given: Sequence[Parameter]
) -> list[SoftNumber | ModelNumber]:
    """Find numbers of soft bodies and of the model.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of a stepper with soft bodies.
    given : sequence of tuple
        The numbers, as of :class:`SoftStepLinearization`.

    Returns
    -------
    list of SoftNumber or ModelNumber
        The numbers.

    Raises
    ------
    TypeError, ValueError
        If there is no such number.
    """
    assert parameters.soft is not None
    found: list[SoftNumber | ModelNumber] = []
    if not isinstance(given, Sequence):
        raise TypeError(f"parameters must be a sequence of tuples, not {given!r}")
    for i, one in enumerate(given):
        is_soft = len(one) == 3 and one[0] == "body" and one[2] not in MODEL_FIELDS["body"]
        if is_soft:
            kind, name, field = map(str, one)
            found.append(find_number(parameters.soft.bodies, (), (kind, name, field), i))
        else:
            found.append(model_number(parameters, one, i))
    check_constants(parameters, [x for x in found if isinstance(x, ModelNumber)])
    return found


def unit_changes(value: NDArray[np.float64] | float) -> Iterator[NDArray[np.float64]]:
    """Changes of a number or an array by 1 in each of its entries.

    Parameters
    ----------
    value : ndarray or float
        The number or the array.

    Yields
    ------
    ndarray
        The change, in the shape of the value.
    """
    for change in np.eye(np.size(value)):
        yield change.reshape(np.shape(value))


def number_sides(
    parameters: StepParameters, data: mujoco.MjData, numbers: Sequence[SoftNumber | ModelNumber]
) -> Iterator[NumberSides]:
    """Make starts of a step with changed numbers of the model.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of the stepper.
    data : mujoco.MjData
        The state of the model, which all starts share.
    numbers : sequence of SoftNumber or ModelNumber
        The numbers; those of soft bodies are left out.

    Yields
    ------
    NumberSides
        The starts of each number of the model.
    """
    for number in numbers:
        if isinstance(number, SoftNumber):
            continue
        h = number.width
        above = SoftStart(own_steps(with_change(parameters, number, h)), data)
        if number.value == 0.0:
            yield above, None, 2 * h
            continue
        yield above, SoftStart(own_steps(with_change(parameters, number, -h)), data), 2 * h
