"""Closed forms of contacts under load: presses, light bodies under heavy ones, grasps.

A rigid contact is near-rigid (section IX-A): under a force F it is at most

    d = (dt + tau_d) R_n F dt,    R_n = w/(4 pi^2)

deep, with the inverse mass w of its lighter side, so that a time step resolves it. Engines with
softer contacts are held to the same depth.
"""

from __future__ import annotations

import dataclasses
import math

import mujoco
import numpy as np

from sapwood.mujoco import Stepper
from sapwood.reference.problem.regularization import effective_inverse_mass
from sapwood.studies.closed_forms.motion import EXACT, GRAVITY, compiled, simulated
from sapwood.studies.closed_forms.record import closed_form
from sapwood.studies.engines import Engine

_DEPTH = "depth of a contact over (dt + tau_d) R_n F dt, the largest of six loads"
_NEAR_RIGID = "(dt + tau_d) w/(4 pi^2) F dt: stiff with a period of the time step"
_CASTRO = "Castro, Permenter and Han, arXiv 2110.10107, section IX-A"
#: What a closed form of depth leaves out, the digits that a solver promises.
_DIGITS = 1e-3


@dataclasses.dataclass(frozen=True)
class Units:
    """Units of a model: how many of them make a metre and a kilogram.

    Attributes
    ----------
    name : str
        Name of the units.
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
        Units of the model.

    Returns
    -------
    mujoco.MjModel
        The body overlaps the floor by a part of 1e-9, so that it touches whatever the last digit.
    """
    r, L = 0.1 * units.length, units.length
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{time_step!r}" gravity="0 0 {-GRAVITY * L!r}"/><worldbody>
        <geom type="plane" size="{5 * L} {5 * L} {L}"/><body pos="0 0 {r * (1.0 - 1e-9)!r}">
        <freejoint/><geom type="{shape}" size="{r!r} {r!r} {r!r}" mass="{units.mass!r}"/></body>
        </worldbody></mujoco>"""
    )


def press(
    engine: type[Engine], model: mujoco.MjModel, load: float, seconds: float = 0.3
) -> tuple[float, float]:
    """Press the body down by `load` times its weight, beside its weight.

    Parameters
    ----------
    engine : type of Engine
        The engine.
    model : mujoco.MjModel
        A model of :func:`pressed_model`.
    load : float
        Load, in weights of the body.
    seconds : float
        Time, s.

    Returns
    -------
    depth, bound : float
        The depth at the end, and the largest one by the closed form; in widths of the body.
    """
    half, mass, g = float(model.geom_size[1, 0]), model.body_mass[1], -model.opt.gravity[2]
    problem = Stepper(model).problem(mujoco.MjData(model))
    R_n = effective_inverse_mass(problem).max() / (4.0 * math.pi**2)
    force = (load + 1.0) * mass * g / problem.n_contacts
    bound = 2.0 * model.opt.timestep * R_n * force * model.opt.timestep
    data = simulated(engine, model, seconds, force=(0.0, 0.0, -load * mass * g))
    return float(half - data.qpos[2]) / (2.0 * half), float(bound) / (2.0 * half)


def greatest_load(time_step: float) -> float:
    """The load, in weights, under which the closed form of 1 kg is a tenth of the body's 20 cm."""
    return 0.02 * 4.0 * math.pi**2 / (2.0 * time_step**2 * GRAVITY)


def loads_of(time_step: float, n: int = 6) -> list[float]:
    """Loads from one weight to the greatest one, in equal ratios."""
    most = max(greatest_load(time_step), 10.0)
    return [most ** (i / (n - 1)) for i in range(n)]


def deepest(
    engine: type[Engine], shape: str, time_step: float, units: Units = SI
) -> tuple[float, float]:
    """Largest depth over the closed form, of loads up to the greatest one, and its bound."""
    model = pressed_model(shape, time_step, units)
    pressed = [press(engine, model, load) for load in loads_of(time_step)]
    return max(depth / bound for depth, bound in pressed), 1.0 + _DIGITS


@closed_form(quantity=_DEPTH, formula=_NEAR_RIGID, source=_CASTRO, quick=True)
def pressed_ball(engine: type[Engine]) -> tuple[float, float]:
    """A ball under up to 800 weights, at 10 ms."""
    return deepest(engine, "sphere", 0.01)


@closed_form(quantity=_DEPTH, formula=_NEAR_RIGID, source=_CASTRO)
def pressed_box(engine: type[Engine]) -> tuple[float, float]:
    """A box under up to 20,000 weights, at 2 ms."""
    return deepest(engine, "box", 0.002)


def stacked(engine: type[Engine], heavy: float, light: float, time_step: float) -> float:
    """Overlap of a heavy box on a light one, in widths of the 20 cm of both.

    Parameters
    ----------
    engine : type of Engine
        The engine.
    heavy, light : float
        Masses, kg.
    time_step : float
        Time step, s.

    Returns
    -------
    float
        Overlap of both contacts of the light one together.
    """
    bodies = "".join(
        f'<body pos="0 0 {z}"><freejoint/><geom type="box" size=".1 .1 .1" mass="{m!r}"/></body>'
        for z, m in ((0.1, light), (0.3, heavy))
    )
    data = simulated(engine, compiled(bodies, time_step=time_step), 1.0)
    return float(0.3 - data.qpos[9]) / 0.2


def pinched(
    engine: type[Engine],
    shape: str,
    mass: float,
    force: float,
    time_step: float,
    servo: bool = False,
) -> float:
    """Overlap of a body of 2 cm between two pads of 0.2 kg, in its widths.

    Parameters
    ----------
    engine : type of Engine
        The engine.
    shape : {"sphere", "box"}
        Shape of the body.
    mass : float
        Mass of the body, kg.
    force : float
        Force of each pad, N.
    time_step : float
        Time step, s.
    servo : bool
        Whether servos press the pads, in place of motors.

    Returns
    -------
    float
        Overlap of both of its contacts together.
    """
    kind = 'position kp="2000" dampratio="1"' if servo else "motor"
    pads = "".join(
        f'<body pos="{x} 0 0"><joint name="{name}" type="slide" axis="{-x!r} 0 0"/>'
        '<geom type="box" size=".02 .02 .02" mass=".2"/></body>'
        for name, x in (("a", -0.03), ("b", 0.03))
    )
    model = compiled(
        f"""{pads}<body><freejoint/><geom type="{shape}" size=".01 .01 .01" mass="{mass!r}"/>
        </body>""",
        time_step=time_step,
        floor="",
        more=f'<actuator><{kind} joint="a"/><{kind} joint="b"/></actuator>',
    )
    ctrl = np.full(2, force / 2000.0 if servo else force)
    data = simulated(engine, model, 1.0, ctrl=ctrl)
    return float(data.qpos[0] + data.qpos[1]) / 0.02


_TWENTIETH = "0 between rigid bodies, to a twentieth of the width"


@closed_form(
    quantity="largest overlap of a box of 1, 0.1 and 0.01 kg under one of 100 kg, in widths",
    formula=_TWENTIETH,
    source="rigid bodies do not overlap",
    quick=True,
)
def mass_ratios(engine: type[Engine]) -> tuple[float, float]:
    """A light box bears a box of up to 10,000 times its mass, at 2 ms."""
    return max(stacked(engine, 100.0, light, 0.002) for light in (1.0, 0.1, 0.01)), 0.05


@closed_form(
    quantity="largest overlap of a light ball and a light box with two pads, in widths",
    formula=_TWENTIETH,
    source="rigid bodies do not overlap",
)
def grasp_of_light_bodies(engine: type[Engine]) -> tuple[float, float]:
    """Pads press a ball of 2 g by 60 N and a box of 5 g by 70 N, at 2 ms."""
    ball = pinched(engine, "sphere", 0.002, 60.0, 0.002)
    return max(ball, pinched(engine, "box", 0.005, 70.0, 0.002)), 0.05


@closed_form(
    quantity="largest difference of the depths in units of m, kg and of mm, g, relative",
    formula="equal: the laws of mechanics have no unit",
    source="Fourier, Theorie analytique de la chaleur (1822): homogeneity of dimensions",
    quick=True,
)
def units(engine: type[Engine]) -> tuple[float, float]:
    """A pressed ball and a pressed box sink by the same part of their width in all units."""
    worst = 0.0
    for shape in ("sphere", "box"):
        depths = [
            press(engine, pressed_model(shape, 0.005, system), 10.0)[0]
            for system in (SI, CENTIMETRES, MILLIMETRES)
        ]
        worst = max(worst, (max(depths) - min(depths)) / abs(depths[0]))
    return worst, EXACT
