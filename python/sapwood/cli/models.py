"""Common parts of commands that simulate: the model, its start, and its controls."""

from __future__ import annotations

import argparse
import csv
import importlib.util
import inspect
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapwood.cli.command import CommandError, number, one_line, tolerance

if TYPE_CHECKING:
    import mujoco

    from sapwood.fem import SoftBody
    from sapwood.mujoco import Stepper

Drive = Callable[["mujoco.MjData"], object]
"""Sets the controls before a step."""


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the model, its start and its controls to the parser of a command."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="MJCF or URDF, .mjb, or .mjb.xz")
    parser.add_argument(
        "--keyframe",
        metavar="NAME",
        help="name or number of the keyframe to begin with; by default the first one, if any",
    )
    parser.add_argument(
        "--controls",
        type=Path,
        metavar="FILE",
        help="a CSV file with the column time and one for each actuator that it drives, by name; "
        "or a Python file with a function control(model, data) that sets data.ctrl",
    )
    parser.add_argument(
        "--friction",
        choices=("convex", "coulomb", "lagged"),
        help="law of friction; by default Coulomb's",
    )
    positive = number(float, "> 0", lambda x: x > 0)
    parser.add_argument(
        "--dt", type=positive, metavar="SECONDS", help="time step; by default the model's"
    )
    parser.add_argument(
        "--scheme",
        default="symplectic_euler",
        choices=("symplectic_euler", "midpoint", "implicit_euler"),
        help="how time is discretized",
    )
    parser.add_argument(
        "--stiffness",
        type=positive,
        metavar="N_PER_M",
        help="of each geom, N/m; by default contact is as rigid as the time step allows",
    )
    parser.add_argument(
        "--tolerance", type=tolerance(), help="relative error at which solves end; by default 1e-6"
    )


def load(
    arguments: argparse.Namespace, soft: Sequence[SoftBody] = ()
) -> tuple[Stepper, mujoco.MjData]:
    """Load what `add_model` has asked for, with soft bodies.

    Raises
    ------
    CommandError
        For a model that cannot be read or simulated; the text says why.
    """
    import mujoco

    from sapwood.mujoco import NotSupported, Stepper
    from sapwood.mujoco.report import load_model

    path: Path = arguments.model
    try:
        stepper = Stepper(
            load_model(path), friction=arguments.friction, soft=soft,
            time_step=arguments.dt, scheme=arguments.scheme, **_chosen(arguments),
        )  # fmt: skip
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
    except (NotSupported, ValueError) as error:
        raise CommandError(f"{path}: {one_line(error)}") from None
    data = mujoco.MjData(stepper.model)
    keyframe = _keyframe(stepper.model, arguments.keyframe)
    if keyframe is not None:
        mujoco.mj_resetDataKeyframe(stepper.model, data, keyframe)
    mujoco.mj_forward(stepper.model, data)
    return stepper, data


def _chosen(arguments: argparse.Namespace) -> dict[str, Any]:
    """Material and settings, where they are given."""
    from sapwood import ContactMaterial, SapSettings
    from sapwood.mujoco.reading.solver_settings import MOST_ITERATIONS

    chosen: dict[str, Any] = {}
    if arguments.stiffness is not None:
        chosen["contact"] = ContactMaterial(stiffness=arguments.stiffness)
    if arguments.tolerance is not None:
        chosen["settings"] = SapSettings(
            relative_tolerance=arguments.tolerance, max_iterations=MOST_ITERATIONS
        )
    return chosen


def _keyframe(model: mujoco.MjModel, name: str | None) -> int | None:
    """Number of a keyframe, or None to begin at the reference configuration."""
    if name is None:
        return 0 if model.nkey else None
    names = [model.key(i).name for i in range(model.nkey)]
    if name in names:
        return names.index(name)
    if name.isdecimal() and int(name) < model.nkey:
        return int(name)
    known = ", ".join(each or str(i) for i, each in enumerate(names)) or "none"
    raise CommandError(f"--keyframe {name}: the model has {known}")


# ---- controls ------------------------------------------------------------------------------------


def control(arguments: argparse.Namespace, model: mujoco.MjModel) -> Drive | None:
    """The function that sets the controls before each step; None without controls.

    Raises
    ------
    CommandError
        For a file that says nothing of use; the text names it, and the place in it.
    """
    path: Path | None = arguments.controls
    if path is None:
        return None
    try:
        if path.suffix == ".py":
            return _function(path, model)
        return _table(path, model)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None


def _function(path: Path, model: mujoco.MjModel) -> Drive:
    """The function ``control`` of a Python file."""
    path.open("rb").close()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CommandError(f"{path}: {type(error).__name__}: {one_line(error)}") from None
    function: Any = getattr(module, "control", None)
    if not callable(function):
        raise CommandError(f"{path}: has no function control(model, data)")
    try:
        inspect.signature(function).bind(None, None)
    except TypeError as error:
        raise CommandError(f"{path}: control(model, data): {one_line(error)}") from None
    return lambda data: function(model, data)


def _table(path: Path, model: mujoco.MjModel) -> Drive:
    """Rows of a CSV file, each held until the time of the next one."""
    import numpy as np

    with path.open(newline="", encoding="utf-8") as file:
        try:
            header, *lines = [row for row in csv.reader(file) if row]
        except (ValueError, UnicodeDecodeError, csv.Error):
            raise CommandError(f"{path}: is no CSV file with a header") from None
    names = [model.actuator(i).name for i in range(model.nu)]
    columns = [name.strip() for name in header]
    if "time" not in columns:
        raise CommandError(f"{path}: has no column time")
    for name in columns:
        if name != "time" and name not in names:
            known = ", ".join(filter(None, names)) or "none with a name"
            raise CommandError(f"{path}: {name} is no actuator of the model (it has {known})")
    rows = np.array([_numbers(path, i, row, len(columns)) for i, row in enumerate(lines, 2)])
    if not len(rows):
        raise CommandError(f"{path}: has no rows")
    times = rows[:, columns.index("time")]
    if np.any(np.diff(times) <= 0.0):
        late = int(np.flatnonzero(np.diff(times) <= 0.0)[0]) + 3
        raise CommandError(f"{path}: line {late}: times must increase")
    driven = [i for i, name in enumerate(columns) if name != "time"]
    actuators = [names.index(columns[i]) for i in driven]

    def held(data: mujoco.MjData) -> None:
        # times of steps are sums with round-off, times in the file are not
        row = int(np.searchsorted(times, data.time + 1e-9 * (1.0 + data.time), side="right")) - 1
        if row >= 0:
            data.ctrl[actuators] = rows[row, driven]

    return held


def _numbers(path: Path, line: int, row: list[str], columns: int) -> list[float]:
    if len(row) != columns:
        raise CommandError(f"{path}: line {line}: {len(row)} columns, not {columns}")
    try:
        numbers = [float(text) for text in row]
    except ValueError as error:
        raise CommandError(f"{path}: line {line}: {one_line(error)}") from None
    if not all(map(math.isfinite, numbers)):
        raise CommandError(f"{path}: line {line}: numbers must be finite")
    return numbers
