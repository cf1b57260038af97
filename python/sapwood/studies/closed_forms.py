"""Scenes whose result is known: contacts that are pressed.

A rigid contact is near-rigid (section IX-A): under a force F it is at most

    d = (dt + tau_d) R_n F dt,    R_n = w/(4 pi^2)

deep, with the inverse mass w of its lighter side. Here a ball and a box are pressed on the floor by
up to 1e5 times their weight, light bodies lie under heavy ones, and grippers pinch light things.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import Any

import mujoco

from sapwood.laws.materials import ContactMaterial
from sapwood.mujoco import Stepper
from sapwood.reference.regularization import effective_inverse_mass

GRAVITY = 9.81


@dataclasses.dataclass(frozen=True)
class Row:
    """A scene, what came out of it, and the most that it may be.

    Attributes
    ----------
    scene : str
        What it is.
    measured, bound : float
        Depth over the least width of the body.
    """

    scene: str
    measured: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the bound does, to the digits that the solver promises."""
        return self.measured <= self.bound * (1.0 + 1e-3) + 1e-9


@dataclasses.dataclass(frozen=True)
class Units:
    """Units of a model: how many of them make a metre and a kilogram.

    Attributes
    ----------
    name : str
        Of the units.
    length, mass : float
        A metre and a kilogram in them.
    """

    name: str
    length: float
    mass: float


SI, CENTIMETRES, MILLIMETRES = (
    Units("m, kg", 1.0, 1.0),
    Units("cm, g", 1e2, 1e3),
    Units("mm, g", 1e3, 1e3),
)


def pressed_model(shape: str, time_step: float, units: Units = SI) -> mujoco.MjModel:
    """A ball or a box of 1 kg and 20 cm on a floor.

    Parameters
    ----------
    shape : {"sphere", "box"}
        Type of the geom.
    time_step : float
        Time step, s.
    units : Units
        Of the model.

    Returns
    -------
    mujoco.MjModel
        The body touches the floor.
    """
    r, L = 0.1 * units.length, units.length
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{time_step!r}" gravity="0 0 {-GRAVITY * L!r}"/><worldbody>
        <geom type="plane" size="{5 * L} {5 * L} {L}"/><body pos="0 0 {r!r}"><freejoint/>
        <geom type="{shape}" size="{r!r} {r!r} {r!r}" mass="{units.mass!r}"/></body></worldbody>
        </mujoco>"""
    )


def press(
    model: mujoco.MjModel, load: float, seconds: float = 0.3, **options: Any
) -> tuple[float, float]:
    """Press the first body down by `load` times its weight, beside its weight.

    Parameters
    ----------
    model : mujoco.MjModel
        As of :func:`pressed_model`.
    load : float
        In weights of the body.
    seconds : float
        How long.
    **options
        Of :class:`sapwood.mujoco.Stepper`.

    Returns
    -------
    depth, bound : float
        How deep it is at the end, and at most by the closed form; in widths of the body.
    """
    stepper, data = Stepper(model, **options), mujoco.MjData(model)
    half, mass, g = float(data.qpos[2]), model.body_mass[1], -model.opt.gravity[2]
    data.qpos[2] -= 1e-9 * half  # it touches, whatever the last digit
    problem = stepper.problem(data)
    R_n = effective_inverse_mass(problem).max() / (4.0 * math.pi**2)
    force = (load + 1.0) * mass * g / problem.n_contacts
    bound = 2.0 * model.opt.timestep * R_n * force * model.opt.timestep
    data.qfrc_applied[2] = -load * mass * g
    stepper.run(data, round(seconds / model.opt.timestep))
    return float(half - data.qpos[2]) / (2.0 * half), float(bound) / (2.0 * half)


def greatest_load(time_step: float) -> float:
    """The load, in weights, under which the closed form of 1 kg is a tenth of the body's 20 cm."""
    return 0.02 * 4.0 * math.pi**2 / (2.0 * time_step**2 * GRAVITY)


def loads_of(time_step: float, n: int = 6) -> list[float]:
    """Loads from one weight to the greatest one, in equal ratios."""
    most = max(greatest_load(time_step), 10.0)
    return [most ** (i / (n - 1)) for i in range(n)]


def pressed_contacts(quick: bool = False) -> Iterator[Row]:
    """Bodies pressed on the floor, by all laws of friction and two schemes.

    Parameters
    ----------
    quick : bool
        Fewer time steps.

    Yields
    ------
    Row
        One scene after the other.
    """
    laws: list[dict[str, Any]] = [{"friction": law} for law in ("convex", "lagged", "coulomb")]
    time_steps = (0.01,) if quick else (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
    systems = (SI, CENTIMETRES, MILLIMETRES)
    for time_step, shape, units in itertools.product(time_steps, ("sphere", "box"), systems):
        model = pressed_model(shape, time_step, units)
        ways = [*laws, {"scheme": "midpoint"}] if units is SI else laws[2:]
        for options, load in itertools.product(ways, loads_of(time_step)):
            depth, bound = press(model, load, **options)
            way = next(iter(options.values()))
            scene = f"{shape} under {load:.3g} weights, {1e3 * time_step:g} ms, {way}, {units.name}"
            yield Row(scene, depth, bound)


def overloaded_contacts() -> Iterator[Row]:
    """Loads beyond those, on a pair with a stiffness k by which they are F/k = 1 cm deep.

    Yields
    ------
    Row
        One scene after the other.
    """
    for time_step in (0.002, 0.01):
        for load in (1e4, 1e5):
            force = (load + 1.0) * GRAVITY
            material = ContactMaterial(stiffness=2.0 * force / 0.01, dissipation_time=time_step)
            depth, _ = press(pressed_model("sphere", time_step), load, contact=material)
            yield Row(
                f"sphere under {load:g} weights, {1e3 * time_step:g} ms, with a stiffness",
                depth,
                0.05,
            )


def stacked(heavy: float, light: float, time_step: float) -> float:
    """Overlap of a heavy box on a light one, in widths of the 20 cm of both.

    Parameters
    ----------
    heavy, light : float
        Masses, kg.
    time_step : float
        Time step, s.

    Returns
    -------
    float
        That of both contacts of the light one together.
    """
    bodies = "".join(
        f'<body pos="0 0 {z}"><freejoint/><geom type="box" size=".1 .1 .1" mass="{m!r}"/></body>'
        for z, m in ((0.1, light), (0.3, heavy))
    )
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{time_step!r}"/><worldbody>
        <geom type="plane" size="5 5 1"/>{bodies}</worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    Stepper(model).run(data, round(1.0 / time_step))
    return float(0.3 - data.qpos[9]) / 0.2


def pinched(shape: str, mass: float, force: float, time_step: float, servo: bool = False) -> float:
    """Overlap of a body of 2 cm between two pads of 0.2 kg, in its widths.

    Parameters
    ----------
    shape : {"sphere", "box"}
        Of the body.
    mass : float
        Of the body, kg.
    force : float
        Of each pad, N.
    time_step : float
        Time step, s.
    servo : bool
        Whether servos press the pads, in place of motors.

    Returns
    -------
    float
        That of both of its contacts together.
    """
    kind = 'position kp="2000" dampratio="1"' if servo else "motor"
    pads = "".join(
        f'<body pos="{x} 0 0"><joint name="{name}" type="slide" axis="{-x!r} 0 0"/>'
        '<geom type="box" size=".02 .02 .02" mass=".2"/></body>'
        for name, x in (("a", -0.03), ("b", 0.03))
    )
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{time_step!r}"/><worldbody>{pads}<body><freejoint/>
        <geom type="{shape}" size=".01 .01 .01" mass="{mass!r}"/></body></worldbody>
        <actuator><{kind} joint="a"/><{kind} joint="b"/></actuator></mujoco>"""
    )
    data = mujoco.MjData(model)
    data.ctrl[:] = force / 2000.0 if servo else force
    Stepper(model).run(data, round(1.0 / time_step))
    return float(data.qpos[0] + data.qpos[1]) / 0.02


def light_bodies() -> Iterator[Row]:
    """What is much lighter than what presses it, at 2 ms.

    Yields
    ------
    Row
        One scene after the other.
    """
    for heavy, light in ((100.0, 1.0), (100.0, 0.1), (100.0, 0.01), (3000.0, 1.0)):
        measured = stacked(heavy, light, 0.002)
        yield Row(f"box of {heavy:g} kg on one of {light:g} kg, 2 ms", measured, 0.05)
    for shape, mass, force in (("sphere", 0.002, 60.0), ("box", 0.005, 70.0)):
        for servo in (False, True):
            measured = pinched(shape, mass, force, 0.002, servo)
            by = "servos" if servo else "motors"
            yield Row(f"{shape} of {1e3 * mass:g} g, {force:g} N of {by}, 2 ms", measured, 0.05)


def rows(quick: bool = False) -> Iterator[Row]:
    """All scenes.

    Parameters
    ----------
    quick : bool
        Fewer time steps.

    Yields
    ------
    Row
        One scene after the other.
    """
    yield from pressed_contacts(quick)
    yield from overloaded_contacts()
    yield from light_bodies()
