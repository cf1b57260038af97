"""Scenes that stand still under a load: whatever moves in them creeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from sapwood.mujoco import Stepper

_FLOOR = '<geom type="plane" size="5 5 .1"/>'


def scene(bodies: str, options: str = 'timestep="0.005"', more: str = "") -> mujoco.MjModel:
    """A model of bodies, with the options of MJCF and further elements beside the world body."""
    text = f"<mujoco><option {options}/><worldbody>{bodies}</worldbody>{more}</mujoco>"
    return mujoco.MjModel.from_xml_string(text)


def _box(position: str) -> str:
    return (
        f'<body pos="{position}"><freejoint/><geom type="box" size=".05 .05 .05" mass="1"/></body>'
    )


def incline() -> mujoco.MjModel:
    """A box on an incline."""
    return scene(_FLOOR + _box("0 0 .05"), 'timestep="0.005" gravity="4 0 -8"')


def stack_on_a_wall() -> mujoco.MjModel:
    """Three boxes that a force presses against a wall, one on the other."""
    wall = '<geom type="box" size=".1 1 1" pos="-.1 0 1"/>'
    boxes = _box(".05 0 1") + _box(".15 0 1") + _box(".25 0 1")
    return scene(wall + boxes, 'timestep="0.005" gravity="-50 0 -9.81"')


def pinch() -> mujoco.MjModel:
    """Two pads, pressed by actuators, hold a capsule."""
    pads = "".join(
        f'<body pos="{x} 0 0"><joint name="{name}" type="slide" axis="1 0 0"/>'
        '<geom type="box" size=".01 .05 .05" mass=".2"/></body>'
        for name, x in (("left", -0.03), ("right", 0.03))
    )
    capsule = (
        '<body><freejoint/><geom type="capsule" size=".02 .03" euler="90 0 0" mass=".2"/></body>'
    )
    motors = (
        '<actuator><motor joint="left" gear="20" ctrlrange="-1 1"/>'
        '<motor joint="right" gear="20" ctrlrange="-1 1"/></actuator>'
    )
    return scene(pads + capsule, more=motors)


def standing() -> mujoco.MjModel:
    """A trunk on four legs with servos, splayed: their feet press apart."""
    legs = "".join(
        f'<body pos="{x} {y} 0"><joint name="h{i}" axis="0 1 0"/>'
        f'<geom type="capsule" fromto="0 0 0 {0.6 * x} 0 -.25" size=".02" mass=".4"/>'
        f'<body pos="{0.6 * x} 0 -.25"><joint name="k{i}" axis="0 1 0" frictionloss=".1"/>'
        f'<geom type="capsule" fromto="0 0 0 {-0.2 * x} 0 -.25" size=".02" mass=".3"/>'
        "</body></body>"
        for i, (x, y) in enumerate([(0.3, 0.1), (0.3, -0.1), (-0.3, 0.1), (-0.3, -0.1)])
    )
    servos = "".join(
        f'<position joint="{name}{i}" kp="300" kv="10"/>' for i in range(4) for name in "hk"
    )
    trunk = (
        '<body pos="0 0 .521"><freejoint/>'
        f'<geom type="box" size=".35 .1 .05" mass="8"/>{legs}</body>'
    )
    return scene(_FLOOR + trunk, 'timestep="0.002"', f"<actuator>{servos}</actuator>")


def joint() -> mujoco.MjModel:
    """A lever that its dry friction holds, and a tendon's friction on a slide."""
    return scene(
        '<body><joint axis="0 1 0" frictionloss="5"/>'
        '<geom type="capsule" fromto="0 0 0 .2 0 0" size=".02" mass="1"/></body>'
        '<body pos="0 1 0"><joint name="a" type="slide" axis="0 0 1"/>'
        '<geom size=".05" mass="1"/></body>',
        more='<tendon><fixed frictionloss="20"><joint joint="a" coef="1"/></fixed></tendon>',
    )


SCENES: dict[str, Callable[[], mujoco.MjModel]] = {
    f.__name__: f for f in (incline, stack_on_a_wall, pinch, standing, joint)
}
"""All scenes by name."""


def settled(
    model: mujoco.MjModel, seconds: float = 2.0, **options: Any
) -> tuple[Stepper, mujoco.MjData]:
    """A stepper with further arguments, and the state after some time; the pinch is pressed."""
    stepper, data = Stepper(model, **options), mujoco.MjData(model)
    data.ctrl[:] = [1.0, -1.0] if model.nu == 2 else 0.0
    stepper.run(data, round(seconds / stepper.time_step))
    return stepper, data


def creep(model: mujoco.MjModel, **options: Any) -> float:
    """Largest velocity of a scene that has settled, m/s or rad/s."""
    return float(np.abs(settled(model, **options)[1].qvel).max())
