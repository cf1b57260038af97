"""Closed forms of Coulomb friction: slides, inclines, belts."""

from __future__ import annotations

import numpy as np

from sapwood.studies.closed_forms.motion import (
    EXACT,
    GRAVITY,
    REST,
    TIME_STEP,
    compiled,
    drift,
    simulated,
    slope,
    started,
    steps_of,
    threshold,
)
from sapwood.studies.closed_forms.record import closed_form
from sapwood.studies.engines import Engine

_COULOMB = "Coulomb, Theorie des machines simples (1785)"
_PLATE = '<body pos="0 0 .02"><freejoint/><geom type="box" size=".05 .05 .02" mass="1"/></body>'


@closed_form(
    quantity="spread of the stopping points of 16 directions over the distance",
    formula="equal distances along the initial velocities",
    source=_COULOMB,
    quick=True,
)
def isotropy(engine: type[Engine]) -> tuple[float, float]:
    """Boxes that slide off in 16 directions stop at equal distances."""
    angles = 2.0 * np.pi * np.arange(16) / 16
    way = np.stack([np.cos(angles), np.sin(angles), np.zeros(16)], axis=1)
    bodies = "".join(_PLATE.replace("0 0 .02", f"{2 * i} 0 .02", 1) for i in range(16))
    model = compiled(bodies, friction=0.5)
    qvel = np.zeros((16, 6))
    qvel[:, :3] = way
    moved = simulated(engine, model, 0.5, qvel.ravel()).qpos.reshape(16, 7)[:, :2]
    moved = moved - model.qpos0.reshape(16, 7)[:, :2]
    distance = np.sum(moved * way[:, :2], axis=1).mean()
    return np.linalg.norm(moved - distance * way[:, :2], axis=1).max() / distance, EXACT


@closed_form(
    quantity="largest rise of a sliding cube",
    unit="m",
    formula="0, to the free fall g dt^2 of a step",
    source="Coulomb friction with unilateral contact: what slides does not lift",
    quick=True,
)
def launched_cube(engine: type[Engine]) -> tuple[float, float]:
    """A cube that is launched along the floor at 3 m/s stays on it."""
    cube = '<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>'
    model = compiled(cube, friction=0.9)
    highest = 0.0
    with started(engine, model, [3.0, 0.0, 0.0, 0.0, 0.0, 0.0]) as advance:
        for _ in range(steps_of(model, 0.4)):
            highest = max(highest, advance(1).qpos[2])
    return max(0.0, highest - 0.1), GRAVITY * TIME_STEP**2


@closed_form(
    quantity="error of the stopping distance",
    unit="m",
    formula="v^2/(2 mu g), to v dt",
    source=_COULOMB,
    quick=True,
)
def braking(engine: type[Engine]) -> tuple[float, float]:
    """A box of 2 m/s slides until friction has stopped it."""
    speed, mu = 2.0, 0.4
    model = compiled(_PLATE, friction=mu)
    data = simulated(engine, model, 1.0, [speed, 0.0, 0.0, 0.0, 0.0, 0.0])
    return abs(data.qpos[0] - speed**2 / (2.0 * mu * GRAVITY)), speed * TIME_STEP


@closed_form(
    quantity="error of the slope at which a box begins to slide",
    formula="tan a = mu, to 1 %",
    source=_COULOMB,
)
def incline(engine: type[Engine]) -> tuple[float, float]:
    """A box rests on an incline below the angle of friction, and slides above."""

    def holds(ratio: float) -> bool:
        model = compiled(_PLATE, friction=0.5, gravity=slope(0.5 * ratio))
        return bool(abs(simulated(engine, model, 2.0).qpos[0]) < 0.05)

    return threshold(holds), 0.01


@closed_form(
    quantity="speed of a box at rest, at 0.99 of the slope that it holds on",
    unit="m/s",
    formula="0, to 1 um/s",
    source=_COULOMB,
    quick=True,
)
def rest_on_an_incline(engine: type[Engine]) -> tuple[float, float]:
    """A box on an incline below the angle of friction does not creep."""
    model = compiled(_PLATE, friction=0.5, gravity=slope(0.99 * 0.5))
    return drift(engine, model, 2.0), REST


@closed_form(
    quantity="error of the speed over g t, at 1.01 of the slope that it holds on",
    formula="v = g (sin a - mu cos a) t",
    source="Galilei, Discorsi (1638), with " + _COULOMB,
    quick=True,
)
def slide_down_an_incline(engine: type[Engine]) -> tuple[float, float]:
    """A box on an incline just above the angle of friction gains the speed that remains."""
    mu, seconds = 0.5, 1.0
    gravity = slope(1.01 * mu)
    model = compiled(_PLATE, friction=mu, gravity=gravity)
    exact = (gravity[0] + mu * gravity[2]) * seconds
    data = simulated(engine, model, seconds)
    return abs(data.qvel[0] - exact) / (GRAVITY * seconds), EXACT


@closed_form(
    quantity="error of the slope at which a block tips",
    formula="tan a = b/h, to 1 %",
    source="Varignon, Nouvelle mecanique (1725): the weight within the base",
)
def tipping(engine: type[Engine]) -> tuple[float, float]:
    """A block twice as high as wide tips where its weight leaves its base."""
    block = '<body pos="0 0 .1"><freejoint/><geom type="box" size=".05 .05 .1" mass="1"/></body>'

    def holds(ratio: float) -> bool:
        model = compiled(block, friction=1.0, gravity=slope(0.5 * ratio))
        return bool(simulated(engine, model, 2.0).xmat[1, 8] > 0.98)

    return threshold(holds), 0.01


@closed_form(
    quantity="error of the way that a box lags behind a belt",
    unit="m",
    formula="u^2/(2 mu g), to u dt",
    source=_COULOMB,
    quick=True,
)
def belt(engine: type[Engine]) -> tuple[float, float]:
    """A box that is laid on a belt slips until it has the speed of the belt."""
    u, mu, seconds = 1.0, 0.5, 0.5
    floor = f'<geom type="plane" size="0 0 1" surfacevel="{u} 0 0 0 0 0"/>'
    model = compiled(_PLATE, friction=mu, floor=floor)
    lag = u * seconds - simulated(engine, model, seconds).qpos[0]
    return abs(lag - u**2 / (2.0 * mu * GRAVITY)), u * TIME_STEP


@closed_form(
    quantity="relative error of the amplitude of a block on a spring and a belt",
    formula="x = mu m g/k + u/w sin(w t) after it first slips, to w dt",
    source="Den Hartog, Mechanical Vibrations (1940), with equal static and dynamic friction",
    quick=True,
)
def stick_slip(engine: type[Engine]) -> tuple[float, float]:
    """A block on a spring rides a belt until the spring tears it off, and swings ever after."""
    u, mu, stiffness, mass = 0.1, 0.3, 100.0, 1.0
    frequency = np.sqrt(stiffness / mass)
    model = compiled(
        f"""<body pos="0 0 .02"><joint type="slide" axis="1 0 0" stiffness="{stiffness}"/>
        <joint type="slide" axis="0 0 1"/>
        <geom type="box" size=".05 .05 .02" mass="{mass}"/></body>""",
        friction=mu,
        floor=f'<geom type="plane" size="0 0 1" surfacevel="{u} 0 0 0 0 0"/>',
    )
    place = []
    with started(engine, model) as advance:
        place = [advance(1).qpos[0] for _ in range(steps_of(model, 3.0))]
    late = np.array(place[steps_of(model, 1.5) :])
    centre = mu * mass * GRAVITY / stiffness
    amplitude = late.max() - centre
    return abs(amplitude * frequency / u - 1.0), frequency * TIME_STEP
