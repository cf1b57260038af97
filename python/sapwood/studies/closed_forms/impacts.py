"""Closed forms of impacts, without rebound and with one."""

from __future__ import annotations

import numpy as np

from sapwood.studies.closed_forms.motion import (
    GRAVITY,
    TIME_STEP,
    compiled,
    simulated,
    started,
    steps_of,
    threshold,
)
from sapwood.studies.closed_forms.record import closed_form
from sapwood.studies.engines import CannotSimulate, Engine, load

_HOUSNER = "Housner, Bulletin of the Seismological Society of America 53, 403 (1963)"


@closed_form(
    quantity="speed of rebound of a ball and of a box that fall from 0.5 m",
    unit="m/s",
    formula="0, to g dt",
    source="Newton's law of impact with a coefficient of restitution of 0",
    quick=True,
)
def plastic_drop(engine: type[Engine]) -> tuple[float, float]:
    """A ball and a box fall flat on the floor and stay there."""
    bodies = "".join(
        f'<body pos="{x} 0 .6"><freejoint/><geom type="{kind}" size=".1 .1 .1" mass="1"/></body>'
        for x, kind in enumerate(("sphere", "box"))
    )
    model = compiled(bodies)
    fastest = 0.0
    with started(engine, model) as advance:
        for _ in range(steps_of(model, 0.6)):
            fastest = max(fastest, *advance(1).qvel[2::6])
    return fastest, GRAVITY * TIME_STEP


@closed_form(
    quantity="error of the angular velocity that a rocking block keeps, over that before",
    formula="1 - 3/2 sin(a)^2 with tan(a) = b/h, to 1 %",
    source=_HOUSNER,
    quick=True,
)
def rocking_block(engine: type[Engine]) -> tuple[float, float]:
    """A block that rocks on one edge lands on its base and goes on about the other edge."""
    b, h, tilt, time_step = 0.05, 0.2, 0.05, 2e-4
    half_diagonal, slender = np.hypot(b, h), np.arctan2(b, h)
    # about the edge at x = b, which is below the origin of the world; the block leans to +x
    place = half_diagonal * np.array([np.sin(tilt - slender), np.cos(tilt - slender)])
    block = (
        f'<body pos="{place[0]} 0 {place[1]}" euler="0 {np.degrees(tilt)} 0"><freejoint/>'
        f'<geom type="box" size="{b} .05 {h}" mass="1"/></body>'
    )
    model = compiled(block, friction=1.0, time_step=time_step)
    spins = []
    with started(engine, model) as advance:
        for _ in range(steps_of(model, 0.5)):
            data = advance(1)
            spins.append(float(data.qvel[4]))
            if data.xmat[1, 2] < -0.5 * tilt:
                break
    # the fall ends with the greatest speed; beyond the impact it turns the same way, slower
    impact = int(np.argmin(spins))
    after = spins[min(impact + 10, len(spins) - 1)]
    exact = 1.0 - 1.5 * np.sin(slender) ** 2
    landing = abs(spins[impact])
    # gravity brakes it in the ten steps after the impact, by m g b about the edge
    braked = 10 * time_step * 0.75 * GRAVITY / half_diagonal * np.sin(slender) / landing
    return abs(after / spins[impact] + braked - exact), 0.01


@closed_form(
    quantity="error of the speed at which a domino topples",
    formula="I w^2/2 = m g (sqrt(b^2 + h^2) - h) about its edge, to 1 %",
    source="conservation of energy about the edge",
)
def domino(engine: type[Engine]) -> tuple[float, float]:
    """A domino that is turned about its edge with enough speed topples."""
    b, h, mass, time_step = 0.01, 0.05, 1.0, 2e-4
    diagonal = np.hypot(b, h)
    inertia = 4.0 / 3.0 * mass * diagonal**2
    exact = np.sqrt(2.0 * mass * GRAVITY * (diagonal - h) / inertia)
    model = compiled(
        f"""<body pos="0 0 {h}"><freejoint/>
        <geom type="box" size="{b} .03 {h}" mass="{mass}"/></body>""",
        friction=1.0,
        time_step=time_step,
    )

    def stands(ratio: float) -> bool:
        w = ratio * exact
        # about the edge at x = b: the centre is at (-b, h) from it
        data = simulated(engine, model, 2.0, [w * h, 0.0, w * b, 0.0, w, 0.0])
        return bool(data.xmat[1, 8] > 0.9)

    return threshold(stands), 0.01


@closed_form(
    quantity="error of the angular velocity of a rod that jams, relative",
    formula="w = 3 v sin(a)/(2 l) at once where mu > (1 + 3 cos(a)^2)/(3 sin(a) cos(a)), to 1 %",
    source="Painleve (1895); Genot and Brogliato, European Journal of Mechanics A 18, 653 (1999)",
    quick=True,
)
def painleve(engine: type[Engine]) -> tuple[float, float]:
    """A rod that is pushed ahead of its tip over rough ground jams in no time."""
    length, angle, speed, time_step = 1.0, 1.0, 5.0, 1e-4
    radius = 1e-4
    mu = 1.5 * (1.0 + 3.0 * np.cos(angle) ** 2) / (3.0 * np.sin(angle) * np.cos(angle))
    rod = np.array([np.cos(angle), -np.sin(angle)]) * length / 2.0
    inertia = length**2 / 12.0
    model = compiled(
        f"""<body pos="{-rod[0]} 0 {-rod[1] + radius}"><freejoint/>
        <inertial pos="0 0 0" mass="1" diaginertia="{inertia} {inertia} {inertia}"/>
        <geom type="sphere" size="{radius}" pos="{rod[0]} 0 {rod[1]}"/></body>""",
        friction=float(mu),
        time_step=time_step,
    )
    with started(engine, model, [speed, 0.0, 0.0, 0.0, 0.0, 0.0]) as advance:
        spin = advance(5).qvel[4]
    return abs(spin / (1.5 * speed * np.sin(angle) / length) - 1.0), 0.01


@closed_form(
    quantity="largest error of the heights of three rebounds of a ball, relative",
    formula="e^(2 k) h after the k-th impact with a coefficient of restitution e, to 1 %",
    source="Newton, Principia (1687), scholium to the laws of motion",
    quick=True,
)
def bouncing_ball(engine: type[Engine]) -> tuple[float, float]:
    """A ball that falls from 1 m on a floor rebounds by the square of its restitution."""
    if not issubclass(engine, load("sapwood")):
        raise CannotSimulate("no coefficient of restitution of a geom in MJCF")
    e, height, radius, time_step = 0.8, 1.0, 0.05, 5e-4
    entries = "".join(
        f'<numeric name="sapwood/geom/{name}" data="0 -1 -1 {e}"/>' for name in ("floor", "ball")
    )
    model = compiled(
        f'''<body pos="0 0 {height + radius}"><freejoint/>
        <geom name="ball" size="{radius}"/></body>''',
        time_step=time_step,
        floor='<geom name="floor" type="plane" size="0 0 1"/>',
        more=f"<custom>{entries}</custom>",
    )
    speeds, heights = [0.0], [height]
    with started(engine, model) as advance:
        for _ in range(steps_of(model, 2.2)):
            data = advance(1)
            speeds.append(float(data.qvel[2]))
            heights.append(float(data.qpos[2]) - radius)
    tops = [h for h, v, after in zip(heights, speeds, speeds[1:], strict=False) if v > 0.0 >= after]
    exact = height * e ** (2.0 * np.arange(1, 4))
    if len(tops) < len(exact):
        return 1.0, 0.01
    return float(np.abs(np.array(tops[:3]) / exact - 1.0).max()), 0.01
