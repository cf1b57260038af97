"""Closed forms of bodies that roll, spin and tumble."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.studies.closed_forms.motion import (
    GRAVITY,
    REST,
    TIME_STEP,
    compiled,
    simulated,
    slope,
    started,
    steps_of,
)
from sapwood.studies.closed_forms.record import closed_form
from sapwood.studies.engines import Engine

_ROUTH = "Routh, Dynamics of a System of Rigid Bodies (1905)"
_RADIUS = 0.1
#: Part of the radius that a ball may sink in, which shortens the lever of friction: g dt^2/r.
_LEVER = GRAVITY * TIME_STEP**2 / _RADIUS
_BALL = f"""<body pos="0 0 {_RADIUS}"><freejoint/>
    <geom type="sphere" size="{_RADIUS}" mass="1"/></body>"""


def _rolling_speed(speed: float, spin: float) -> float:
    """Speed at which a ball rolls, from its speed and its spin forwards at the start, m/s."""
    return (5.0 * speed + 2.0 * _RADIUS * spin) / 7.0


@closed_form(
    quantity="error of the speed at which a ball rolls, over its speed",
    formula="v = 5/7 v0, to g dt^2/r",
    source="Coriolis, Theorie mathematique des effets du jeu de billard (1835)",
    quick=True,
)
def slide_to_roll(engine: type[Engine]) -> tuple[float, float]:
    """A ball that slides without spin rolls in the end."""
    model = compiled(_BALL, friction=0.3)
    data = simulated(engine, model, 1.0, [2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    return abs(data.qvel[0] / _rolling_speed(2.0, 0.0) - 1.0), _LEVER


@closed_form(
    quantity="error of the speed at which a ball comes back, over its speed",
    formula="v = (5 v0 - 2 r w0)/7, to g dt^2/r",
    source="Coriolis, Theorie mathematique des effets du jeu de billard (1835)",
    quick=True,
)
def backspin(engine: type[Engine]) -> tuple[float, float]:
    """A ball with backspin comes back."""
    model = compiled(_BALL, friction=0.3)
    data = simulated(engine, model, 1.5, [1.0, 0.0, 0.0, 0.0, -60.0, 0.0])
    return abs(data.qvel[0] / _rolling_speed(1.0, -60.0) - 1.0), _LEVER


@closed_form(
    quantity="error of the speed of a ball over g t",
    formula="v = 5/7 g sin(a) t, to g dt^2/r",
    source=_ROUTH,
    quick=True,
)
def roll_down_an_incline(engine: type[Engine]) -> tuple[float, float]:
    """A ball rolls down an incline without slipping."""
    gravity = slope(0.2)
    model = compiled(_BALL, friction=0.5, gravity=gravity)
    data = simulated(engine, model, 1.0)
    return abs(data.qvel[0] - gravity[0] * 5.0 / 7.0) / GRAVITY, _LEVER


@closed_form(
    quantity="drift of a ball at rest on a level floor",
    unit="m/s",
    formula="0, to 1 um/s",
    source="Newton's first law",
)
def ball_at_rest(engine: type[Engine]) -> tuple[float, float]:
    """A ball that was laid down stays where it is."""
    model = compiled(_BALL, friction=0.5)
    data = simulated(engine, model, 5.0)
    return float(np.hypot(*data.qpos[:2])) / 5.0, REST


@closed_form(
    quantity="error of the angle at which a spinning plate stops",
    unit="rad",
    formula="I w^2/(2 mu m g d) with the distance d of its four corners, to w dt",
    source="Coulomb, Theorie des machines simples (1785)",
    quick=True,
)
def spinning_plate(engine: type[Engine]) -> tuple[float, float]:
    """A square plate that spins on its four corners is stopped by their friction."""
    a, mu, spin = 0.05, 0.4, 10.0
    plate = f'<body pos="0 0 .01"><freejoint/><geom type="box" size="{a} {a} .01" mass="1"/></body>'
    model = compiled(plate, friction=mu)
    torque, inertia = mu * GRAVITY * np.sqrt(2.0) * a, model.body_inertia[1, 2]
    angle = _angle(engine, model, spin, 0.5)
    return abs(angle - inertia * spin**2 / (2.0 * torque)), spin * TIME_STEP


@closed_form(
    quantity="error of the angle at which a spinning ball stops",
    unit="rad",
    formula="I w^2/(2 e m g) with the coefficient e of torsional friction, to w dt",
    source="Contensou, Couplage entre frottement de glissement et de pivotement (1963)",
    quick=True,
)
def spinning_ball(engine: type[Engine]) -> tuple[float, float]:
    """A ball that spins on the spot is stopped by torsional friction."""
    torsional, spin = 0.005, 10.0
    ball = _BALL.replace("<geom", f'<geom condim="4" friction=".5 {torsional} 0"')
    model = compiled(ball, floor=f'<geom type="plane" size="0 0 1" friction=".5 {torsional} 0"/>')
    inertia = model.body_inertia[1, 2]
    angle = _angle(engine, model, spin, 1.2)
    return abs(angle - inertia * spin**2 / (2.0 * torsional * GRAVITY)), spin * TIME_STEP


def _angle(engine: type[Engine], model: mujoco.MjModel, spin: float, seconds: float) -> float:
    """Angle by which the first body has turned about z, with all its turns, rad."""
    heading = [0.0]
    with started(engine, model, [0.0, 0.0, 0.0, 0.0, 0.0, spin]) as advance:
        for _ in range(steps_of(model, seconds)):
            turn = advance(1).xmat[1]
            heading.append(float(np.arctan2(turn[3], turn[0])))
    return float(np.unwrap(heading)[-1])


@closed_form(
    quantity="error of the place of a ball on a turntable after one round, over the radius",
    formula="circles with the angular velocity w = 2/7 W, to 2 pi w dt",
    source="Weltner, American Journal of Physics 47, 984 (1979)",
)
def turntable(engine: type[Engine]) -> tuple[float, float]:
    """A ball that rolls on a turntable goes in circles that know nothing of its axis."""
    turning, radius, r = 7.0, 0.2, 0.05
    w = 2.0 * turning / 7.0
    model = compiled(
        f"""<body pos="0 0 -.05"><joint type="hinge" axis="0 0 1" armature="1e6"/>
        <geom type="cylinder" size="2 .05" mass="1"/></body>
        <body pos=".5 0 {r}"><freejoint/><geom type="sphere" size="{r}" mass="1"/></body>""",
        friction=1.0,
        floor="",
    )
    speed = w * radius
    qvel = [turning, 0.0, speed, 0.0, (turning * 0.5 - speed) / r, 0.0, 0.0]
    data = simulated(engine, model, 2.0 * np.pi / w, qvel)
    error = float(np.hypot(data.qpos[1] - 0.5, data.qpos[2]))
    return error / radius, 2.0 * np.pi * w * TIME_STEP


@closed_form(
    quantity="error of the precession of a disk that rolls on its edge, relative",
    formula="W^2 = 4 g/(a sin(b)) at a centre that rests, to W dt + h/a",
    source="Moffatt, Nature 404, 833 (2000), with a disk of half thickness h",
)
def eulers_disk(engine: type[Engine]) -> tuple[float, float]:
    """A thin disk that is tilted by b rolls about a centre that rests."""
    a, h, tilt, time_step = 0.05, 0.0005, 0.3, 2e-4
    height = a * np.sin(tilt) + h * np.cos(tilt)
    model = compiled(
        f"""<body pos="0 0 {height}" euler="{np.degrees(tilt)} 0 0"><freejoint/>
        <geom type="cylinder" size="{a} {h}" mass=".1"/></body>""",
        time_step=time_step,
    )
    rate = 2.0 * np.sqrt(GRAVITY / (a * np.sin(tilt)))
    # it turns about the diameter through the point of contact, at the rate times sin(tilt)
    qvel = [0.0, 0.0, 0.0, 0.0, rate * np.sin(tilt), 0.0]
    heading = []
    with started(engine, model, qvel) as advance:
        for _ in range(steps_of(model, 0.5)):
            axis = advance(1).xmat[1].reshape(3, 3)[:, 2]
            heading.append(np.arctan2(axis[1], axis[0]))
    turned = abs(np.unwrap(heading)[-1] - heading[0]) / (len(heading) - 1) / time_step
    return abs(turned / rate - 1.0), rate * time_step + h / a


@closed_form(
    quantity="largest relative change of energy or angular momentum of a tumbling box",
    formula="both are constant, to round-off",
    source="Euler, Theoria motus corporum solidorum (1765)",
    quick=True,
)
def tumbling_box(engine: type[Engine]) -> tuple[float, float]:
    """A free box that turns about its middle axis tumbles, and loses and gains nothing."""
    model = compiled(
        '<body><freejoint/><geom type="box" size=".1 .05 .02" mass="1"/></body>',
        gravity=(0.0, 0.0, 0.0),
        floor="",
    )
    inertia = model.body_inertia[1]
    spin = np.array([0.1, 20.0, 0.1])  # boxes of this size have their middle axis along y

    def invariants(w: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([w @ (inertia * w), np.linalg.norm(inertia * w)])

    worst = 0.0
    with started(engine, model, [0.0, 0.0, 0.0, *spin]) as advance:
        for _ in range(40):
            now = invariants(advance(25).qvel[3:])
            worst = max(worst, np.abs(now / invariants(spin) - 1.0).max())
    return worst, 1e-9


@closed_form(
    quantity="largest change of the energy of a heavy top in 3 s, over m g l, at 0.2 ms",
    formula="0, to 1 %",
    source="Lagrange, Mecanique analytique (1788)",
)
def heavy_top(engine: type[Engine]) -> tuple[float, float]:
    """A top of 200 rad/s on a ball joint, let go without precession, nods and precesses."""
    mass, arm, tilt, spin, time_step = 0.5, 0.05, 0.5, 200.0, 2e-4
    along, across = 8e-4, 5e-4
    model = compiled(
        f"""<body euler="{np.degrees(tilt)} 0 0"><joint type="ball"/>
        <inertial pos="0 0 {arm}" mass="{mass}" diaginertia="{across} {across} {along}"/></body>""",
        time_step=time_step,
        floor="",
    )
    about = np.array([across + mass * arm**2, across + mass * arm**2, along])
    weight = mass * GRAVITY * arm
    energies = [0.5 * along * spin**2 + weight * np.cos(tilt)]
    with started(engine, model, [0.0, 0.0, spin]) as advance:
        for _ in range(300):
            data = advance(50)
            kinetic = 0.5 * np.sum(about * data.qvel**2)
            energies.append(float(kinetic + weight * data.xmat[1, 8]))
    return np.abs(np.array(energies) - energies[0]).max() / weight, 0.01
