"""Motions of scenes by any engine, and what is read of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.studies.engines import Engine, Setup

GRAVITY = 9.81
TIME_STEP = 0.002
#: Relative accuracy that counts as exact: the default tolerance of the solvers.
EXACT = 1e-6
#: Speed that counts as rest, m/s: an hour for 4 mm.
REST = 1e-6
#: Relative distances from a threshold at which a scene must hold on one side and not on the other.
DISTANCES = (0.01, 0.03, 0.1, 0.3)


def compiled(
    bodies: str,
    *,
    friction: float = 1.0,
    time_step: float = TIME_STEP,
    gravity: ArrayLike = (0.0, 0.0, -GRAVITY),
    floor: str = '<geom type="plane" size="0 0 1"/>',
    more: str = "",
) -> mujoco.MjModel:
    """A model of bodies on a floor.

    Parameters
    ----------
    bodies : str
        MJCF of the world body.
    friction : float
        Coefficient of all pairs.
    time_step : float
        Time step, s.
    gravity : array_like (3,)
        Acceleration of gravity, m/s^2.
    floor : str
        MJCF of the floor, empty for none.
    more : str
        MJCF beside the world body.

    Returns
    -------
    mujoco.MjModel
        The compiled model; friction has no torsional or rolling part.
    """
    g = " ".join(repr(float(x)) for x in np.asarray(gravity))
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{time_step!r}" gravity="{g}"/>
        <default><geom friction="{friction!r} 0 0"/></default>{more}
        <worldbody>{floor}{bodies}</worldbody></mujoco>"""
    )


def slope(tangent: float) -> NDArray[np.float64]:
    """Gravity (3,) on an incline that falls along x, by the tangent of its angle, m/s^2."""
    direction = np.array([tangent, 0.0, -1.0]) / np.hypot(1.0, tangent)
    return np.asarray(GRAVITY * direction, dtype=np.float64)


def steps_of(model: mujoco.MjModel, seconds: float) -> int:
    """Number of steps of a time."""
    return round(seconds / float(model.opt.timestep))


@contextlib.contextmanager
def started(
    engine: type[Engine],
    model: mujoco.MjModel,
    qvel: ArrayLike | None = None,
    force: ArrayLike = (0.0, 0.0, 0.0),
    ctrl: ArrayLike = (),
) -> Iterator[Callable[[int], mujoco.MjData]]:
    """Start a scene in an engine.

    Parameters
    ----------
    engine : type of Engine
        The engine.
    model : mujoco.MjModel
        The model, with qpos0 for its start.
    qvel : array_like (nv,), optional
        Velocity at the start; none by default.
    force : array_like (3,)
        Force on the first body, N.
    ctrl : array_like (nu,)
        Controls of the actuators.

    Yields
    ------
    callable
        Takes some steps, and returns data with the state after them and the poses of bodies.
    """
    velocity = np.zeros(model.nv) if qvel is None else np.array(qvel, dtype=np.float64)
    force, ctrl = np.array(force, dtype=np.float64), np.array(ctrl, dtype=np.float64)
    simulation = engine(Setup(model, velocity, force, ctrl))
    data = mujoco.MjData(model)

    def advance(steps: int) -> mujoco.MjData:
        simulation.advance(steps)
        simulation.read(data)
        if not (np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()):
            raise FloatingPointError("the state is not finite")
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        return data

    try:
        yield advance
    finally:
        simulation.close()


def simulated(
    engine: type[Engine],
    model: mujoco.MjModel,
    seconds: float,
    qvel: ArrayLike | None = None,
    force: ArrayLike = (0.0, 0.0, 0.0),
    ctrl: ArrayLike = (),
) -> mujoco.MjData:
    """The state after some time; arguments as of :func:`started`."""
    with started(engine, model, qvel, force, ctrl) as advance:
        return advance(steps_of(model, seconds))


def drift(
    engine: type[Engine],
    model: mujoco.MjModel,
    seconds: float,
    force: ArrayLike = (0.0, 0.0, 0.0),
) -> float:
    """Largest mean speed of a body at rest, over the second half of some time, m/s."""
    with started(engine, model, force=force) as advance:
        half = steps_of(model, seconds) // 2
        before = advance(half).xipos.copy()
        after = advance(half).xipos
    moved = np.linalg.norm(after - before, axis=1)
    return float(moved.max() / (half * model.opt.timestep))


def threshold(holds: Callable[[float], bool]) -> float:
    """Relative error of the value at which a scene gives way, to one of :data:`DISTANCES`.

    Parameters
    ----------
    holds : callable
        Whether the scene holds at a multiple of the exact value.

    Returns
    -------
    float
        The least distance d for which it holds at 1 - d and not at 1 + d; 1 if there is none.
    """
    for distance in DISTANCES:
        if holds(1.0 - distance) and not holds(1.0 + distance):
            return distance
    return 1.0
