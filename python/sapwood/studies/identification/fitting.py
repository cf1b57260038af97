"""Three ways to fit numbers of a MuJoCo model to measured sensors.

``mujoco.sysid`` with MuJoCo's own steps, the same with the steps of this package, and least squares
of SciPy with the derivatives of :func:`sapwood.mujoco.sensitivities`.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco import Stepper, sensitivities, sysid_rollout
from sapwood.mujoco.gradients.model_numbers import Parameter

_Float = NDArray[np.float64]

WAYS = ("sysid with mj_step", "sysid with sapwood", "sensitivities")


class Run(NamedTuple):
    """A measured run."""

    q: _Float
    """Positions (nq,) at its start."""
    v: _Float
    """Velocities (nv,) at its start."""
    controls: _Float
    """Controls (n_steps, nu)."""
    sensors: _Float
    """Measured sensors (n_steps, n_sensors)."""


@dataclass(frozen=True)
class Task:
    """The numbers to identify, and the measurements for it.

    Attributes
    ----------
    names
        Of the numbers.
    xml
        The model, with other numbers.
    apply
        Sets one number, by its place, in a model.
    parameters
        Of each number those of the model that are equal to it.
    bounds
        Least and greatest values (2, n).
    noise
        Standard deviation of each sensor value (n_sensors,).
    runs
        The measurements.
    """

    names: tuple[str, ...]
    xml: str
    apply: Callable[[mujoco.MjSpec, int, float], None]
    parameters: Sequence[Sequence[Parameter]]
    bounds: _Float
    noise: _Float
    runs: Sequence[Run]

    def spec_of(self, values: _Float) -> mujoco.MjSpec:
        """The model with the numbers ``values`` (n,)."""
        spec = mujoco.MjSpec.from_string(self.xml)
        for k, value in enumerate(values):
            self.apply(spec, k, float(value))
        return spec


class Fit(NamedTuple):
    """The outcome of a fit."""

    values: _Float
    """The numbers (n,)."""
    cost: float
    """Mean square of the residuals over the noise: 1 for a perfect model."""
    seconds: float
    """Processor time."""


def fit(way: str, task: Task, start: _Float) -> Fit:
    """Find the numbers of a task.

    Parameters
    ----------
    way : str
        One of `WAYS`.
    task : Task
        Model and measurements.
    start : ndarray (n,)
        Where the search begins.

    Returns
    -------
    Fit
        The outcome.
    """
    begin = time.process_time()
    if way == "sensitivities":
        values = _by_sensitivities(task, start)
    else:
        values = _by_sysid(task, start, sysid_rollout(nthread=1) if "sapwood" in way else None)
    seconds = time.process_time() - begin
    return Fit(values, cost_of(task, values, "mj_step" in way), seconds)


def simulate(model: mujoco.MjModel, run: Run, by_mujoco: bool) -> _Float:
    """The sensors of a run.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    run : Run
        Its start and controls.
    by_mujoco : bool
        Whether MuJoCo takes the steps.

    Returns
    -------
    ndarray (n_steps, n_sensors)
        Sensors of each step.
    """
    data = mujoco.MjData(model)
    stepper = None if by_mujoco else Stepper(model)
    data.qpos[:], data.qvel[:] = run.q, run.v
    found = np.empty((len(run.controls), model.nsensordata))
    for k, controls in enumerate(run.controls):
        data.ctrl[:] = controls
        if stepper is None:
            mujoco.mj_step(model, data)
        else:
            stepper.step(data)
        found[k] = data.sensordata
    return found


def cost_of(task: Task, values: _Float, by_mujoco: bool) -> float:
    """The mean square of the residuals over the noise.

    Parameters
    ----------
    task : Task
        Model and measurements.
    values : ndarray (n,)
        The numbers.
    by_mujoco : bool
        Whether MuJoCo takes the steps.

    Returns
    -------
    float
        1 for a perfect model.
    """
    model = task.spec_of(values).compile()
    off = [(simulate(model, run, by_mujoco) - run.sensors) / task.noise for run in task.runs]
    return float(np.mean(np.square(np.concatenate(off))))


def _by_sensitivities(task: Task, start: _Float) -> _Float:
    """Trust-region least squares, whose Jacobian comes with the runs."""
    from scipy.optimize import least_squares

    numbers = [number for group in task.parameters for number in group]
    # the derivative by a number sums those by all that are equal to it
    sums = np.repeat(np.eye(len(task.names)), [len(group) for group in task.parameters], axis=0)
    last: dict[bytes, tuple[_Float, _Float]] = {}

    def residuals(values: _Float) -> tuple[_Float, _Float]:
        key = values.tobytes()
        if key not in last:
            model = task.spec_of(values).compile()
            stepper, data = Stepper(model), mujoco.MjData(model)
            off, slopes = [], []
            for run in task.runs:
                data.qpos[:], data.qvel[:] = run.q, run.v
                found = sensitivities(stepper, data, run.controls, parameters=numbers)
                off.append(((found.y - run.sensors) / task.noise).ravel())
                slopes.append((found.J / task.noise[:, None]).reshape(-1, len(numbers)))
            last.clear()
            last[key] = np.concatenate(off), np.concatenate(slopes) @ sums
        return last[key]

    found = least_squares(
        lambda values: residuals(values)[0],
        start,
        lambda values: residuals(values)[1],
        bounds=tuple(task.bounds),
        x_scale=np.abs(start),
    )
    return np.array(found.x)


def _by_sysid(task: Task, start: _Float, custom_rollout: Any) -> _Float:
    """The optimizer of MuJoCo's toolbox, with differences."""
    sysid: Any = importlib.import_module("mujoco.sysid")
    spec = task.spec_of(start)
    model = spec.compile()
    dt = model.opt.timestep
    parameters = sysid.ParameterDict()

    def modifier(k: int) -> Any:
        return lambda spec, parameter: task.apply(spec, k, float(parameter.value[0]))

    for k, name in enumerate(task.names):
        low, high = task.bounds[:, k]
        parameters.add(
            sysid.Parameter(
                name, nominal=start[k], min_value=low, max_value=high, modifier=modifier(k)
            )
        )
    sequences = [
        sysid.ModelSequences(
            f"run_{k}", spec, f"run_{k}",
            sysid.create_initial_state(model, run.q, run.v, np.zeros(model.na)),
            # a run of n controls has n - 1 steps
            sysid.TimeSeries(
                dt * np.arange(len(run.controls) + 1), np.vstack([run.controls, run.controls[-1:]])
            ),
            sysid.TimeSeries.from_names(
                dt * np.arange(1, len(run.controls) + 1), run.sensors, model
            ),
        )
        for k, run in enumerate(task.runs)
    ]  # fmt: skip

    def over_noise(_: Any, predicted: Any, measured: Any, *__: Any, **___: Any) -> Any:
        return (predicted.data - measured.data) / task.noise, measured, measured

    residual = sysid.build_residual_fn(
        models_sequences=sequences, custom_rollout=custom_rollout, n_threads=1,
        modify_residual=over_noise,
    )  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()):  # iterations, whatever `verbose` says
        found, _ = sysid.optimize(parameters, residual, optimizer="mujoco", verbose=False)
    return np.array([found[name].value[0] for name in task.names])
