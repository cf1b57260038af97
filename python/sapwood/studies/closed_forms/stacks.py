"""Closed forms of bodies that bear each other: stacks, arches, chains."""

from __future__ import annotations

import mujoco
import numpy as np

from sapwood.studies.closed_forms.motion import (
    GRAVITY,
    REST,
    compiled,
    drift,
    simulated,
    threshold,
)
from sapwood.studies.closed_forms.record import closed_form
from sapwood.studies.engines import Engine

_COULOMB = "Coulomb, Theorie des machines simples (1785)"
_BOX, _MASS, _WALL_FRICTION = 0.02, 0.1, 0.2


@closed_form(
    quantity="error of the overhang at which four bricks fall",
    formula="l/2 (1 + 1/2 + 1/3 + 1/4) of the length l, to 1 %",
    source="Paterson and Zwick, American Mathematical Monthly 116, 19 (2009)",
    quick=True,
)
def overhang(engine: type[Engine]) -> tuple[float, float]:
    """Four bricks lean over the edge of a table as far as their weight allows."""
    half, thickness, count = 0.1, 0.02, 4

    def holds(ratio: float) -> bool:
        # the lowest brick is the first; each is over the one below, the first over the table
        over = [half * ratio / (count - k) for k in range(count)]
        bricks = "".join(
            f'<body pos="{x - half!r} 0 {thickness * (2 * k + 1)!r}"><freejoint/>'
            f'<geom type="box" size="{half} .05 {thickness}" mass="1"/></body>'
            for k, x in enumerate(np.cumsum(over).tolist())
        )
        table = '<geom type="box" pos="-.5 0 -.05" size=".5 .5 .05"/>'
        model = compiled(bricks, friction=0.5, floor=table)
        data = simulated(engine, model, 2.0)
        return bool(data.xmat[1:, 8].min() > np.cos(0.2) and data.xpos[1:, 2].min() > 0.0)

    return threshold(holds), 0.01


def _on_a_wall(count: int, ratio: float) -> tuple[mujoco.MjModel, list[float]]:
    """Boxes in a row that a force presses on a wall, by its ratio to the least one."""
    boxes = "".join(
        f'<body pos="{_BOX * (2 * k + 1)} 0 0"><freejoint/>'
        f'<geom type="box" size="{_BOX} {_BOX} {_BOX}" mass="{_MASS}"/></body>'
        for k in reversed(range(count))
    )
    wall = '<geom type="box" pos="-.1 0 0" size=".1 1 1"/>'
    model = compiled(boxes, friction=_WALL_FRICTION, floor=wall)
    force = -ratio * count * _MASS * GRAVITY / _WALL_FRICTION
    return model, [force, 0.0, 0.0]


@closed_form(
    quantity="error of the force that holds three boxes on a wall",
    formula="F = n m g/mu, to 1 %",
    source=_COULOMB,
)
def stack_on_a_wall(engine: type[Engine]) -> tuple[float, float]:
    """A force presses three boxes on a wall: the friction of the nearest bears all of them."""

    def holds(ratio: float) -> bool:
        model, force = _on_a_wall(3, 1.0 / ratio)
        # from rest 1 % of g falls 0.2 m in 2 s
        return bool(simulated(engine, model, 2.0, force=force).xpos[1:, 2].min() > -_BOX)

    return threshold(holds), 0.01


@closed_form(
    quantity="speed of three boxes on a wall, by 1.05 times the force that holds them",
    unit="m/s",
    formula="0, to 1 um/s",
    source=_COULOMB,
    quick=True,
)
def rest_on_a_wall(engine: type[Engine]) -> tuple[float, float]:
    """Boxes that a force presses on a wall do not sink."""
    model, force = _on_a_wall(3, 1.05)
    return drift(engine, model, 2.0, force), REST


@closed_form(
    quantity="speed of a capsule that two pads pinch",
    unit="m/s",
    formula="0, to 1 um/s",
    source="issue 3328 of MuJoCo: a capsule that should not slip through a grasp",
)
def pinch(engine: type[Engine]) -> tuple[float, float]:
    """A pad presses a capsule on a wall with 1.5 times the force that it needs."""
    mu, mass = 0.5, 0.05
    model = compiled(
        f"""<body pos=".05 0 0"><joint type="slide" axis="1 0 0"/>
        <geom type="box" size=".02 .05 .05" mass=".1"/></body>
        <body pos=".015 0 0" euler="90 0 0"><freejoint/>
        <geom type="capsule" size=".015 .03" mass="{mass}"/></body>""",
        friction=mu,
        floor='<geom type="box" pos="-.1 0 0" size=".1 1 1"/>',
    )
    return drift(engine, model, 2.0, (-1.5 * mass * GRAVITY / mu, 0.0, 0.0)), REST


def _rod(length: float, radius: float, lean: float, side: int) -> str:
    """Half of a card house: two parallel rods with round ends, which lean from +-x to x = 0."""
    foot = np.array([side * (radius + length * np.sin(lean)), 0.0, radius])
    top = np.array([side * radius, 0.0, radius + length * np.cos(lean)])
    middle = (foot + top) / 2.0
    rods = "".join(
        f'<geom type="capsule" size="{radius}" mass=".05" fromto="'
        + " ".join(repr(float(x)) for x in (*(foot - middle + y), *(top - middle + y)))
        + '"/>'
        for y in (np.array([0.0, -0.05, 0.0]), np.array([0.0, 0.05, 0.0]))
    )
    return f'<body pos="{middle[0]} 0 {middle[2]}"><freejoint/>{rods}</body>'


@closed_form(
    quantity="error of the friction at which a card house falls",
    formula="mu = l/2 sin b/(r + l cos b) with rods of radius r that lean by b, to 1 %",
    source="moments about the feet; friction of the floor bears the thrust",
)
def card_house(engine: type[Engine]) -> tuple[float, float]:
    """Two cards of two rods lean on each other and slide apart where friction is too small."""
    length, radius, lean = 0.2, 0.005, 0.4
    exact = 0.5 * length * np.sin(lean) / (radius + length * np.cos(lean))

    def holds(ratio: float) -> bool:
        cards = _rod(length, radius, lean, -1) + _rod(length, radius, lean, 1)
        model = compiled(cards, friction=float(exact / ratio))
        return bool(simulated(engine, model, 2.0).xpos[1, 2] > 0.95 * model.qpos0[2])

    return threshold(holds), 0.01


@closed_form(
    quantity="error of the friction at which a pile of three logs falls",
    formula="mu = tan(15 deg) between logs, to 1 %",
    source="forces of three equal cylinders: the lower ones roll without slipping",
)
def logs(engine: type[Engine]) -> tuple[float, float]:
    """A log lies on two others that touch each other on the floor."""
    r, exact = 0.05, np.tan(np.pi / 12.0)

    def holds(ratio: float) -> bool:
        places = ((-r, r), (r, r), (0.0, r * (1.0 + np.sqrt(3.0))))
        pile = "".join(
            f'<body pos="{x!r} 0 {float(z)!r}" euler="90 0 0"><freejoint/>'
            f'<geom type="capsule" size="{r} .2" mass="1"/></body>'
            for x, z in places
        )
        model = compiled(pile, friction=float(exact / ratio))
        return bool(simulated(engine, model, 2.0).xpos[3, 2] > 0.95 * model.qpos0[16])

    return threshold(holds), 0.01


def _arch(thickness: float, stones: int = 15) -> mujoco.MjModel:
    """A semicircular arch of mean radius 1 m, of wedges that begin and end on the floor."""
    assets, bodies = "", ""
    for k in range(stones):
        ends = np.pi * np.array([k, k + 1]) / stones
        corners = [
            (radius * np.cos(angle), y, radius * np.sin(angle))
            for radius in (1.0 - thickness / 2.0, 1.0 + thickness / 2.0)
            for angle in ends
            for y in (-0.1, 0.1)
        ]
        vertices = " ".join(f"{x:.12g}" for corner in corners for x in corner)
        assets += f'<mesh name="m{k}" vertex="{vertices}"/>'
        bodies += f'<body><freejoint/><geom type="mesh" mesh="m{k}" density="1000"/></body>'
    return compiled(bodies, friction=0.7, more=f"<asset>{assets}</asset>")


@closed_form(
    quantity="sink of the crown of an arch of 0.14 of its radius, over the radius, and whether "
    "one of 0.08 falls",
    formula="an arch stands from a thickness of 0.1075 of its radius on, to 1 % of the radius",
    source="Milankovitch (1907); Alexakis and Makris, Archive of Applied Mechanics 85, 1573 (2015)",
)
def arch(engine: type[Engine]) -> tuple[float, float]:
    """A semicircular arch of 15 stones stands if it is thick enough, and falls if it is not."""
    sinks = []
    for thickness in (0.14, 0.08):
        model = _arch(thickness)
        crown = model.qpos0.reshape(-1, 7)[7, 2]
        sinks.append(crown - simulated(engine, model, 1.5).qpos.reshape(-1, 7)[7, 2])
    return abs(sinks[0]) if sinks[1] > 0.2 else 1.0, 0.01


@closed_form(
    quantity="largest distance of a hanging chain from its equilibrium, over its length",
    formula="slopes of links grow in equal steps, tan b = k m g/H, to g dt^2/l of a link",
    source="Leibniz, Acta Eruditorum (1691), for a chain of links",
)
def catenary(engine: type[Engine]) -> tuple[float, float]:
    """A chain of ten links between two points stays in its equilibrium."""
    links, length, mass, pull = 10, 0.1, 0.1, 4.0
    # link k hangs with the weight of the links from it to the middle
    slopes = np.arctan((np.arange(links) - (links - 1) / 2.0) * mass * GRAVITY / pull)
    text, turn = "", 0.0
    for k, angle in enumerate(slopes):
        place = "0 0 0" if k == 0 else f"{length} 0 0"
        text += (
            f'<body name="l{k}" pos="{place}" euler="0 {-np.degrees(angle - turn)} 0">'
            f'<joint type="hinge" axis="0 1 0" damping="1e-3"/><geom type="capsule" size=".005" '
            f'fromto="0 0 0 {length} 0 0" mass="{mass}" contype="0" conaffinity="0"/>'
        )
        turn = angle
    model = compiled(
        text + "</body>" * links,
        floor="",
        more=f'<equality><connect body1="l{links - 1}" anchor="{length} 0 0"/></equality>',
    )
    start = mujoco.MjData(model)
    mujoco.mj_kinematics(model, start)
    data = simulated(engine, model, 5.0)
    moved = np.linalg.norm(data.xpos - start.xpos, axis=1).max()
    step = GRAVITY * model.opt.timestep**2
    return float(moved) / (links * length), step / length
