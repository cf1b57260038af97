"""The cost of a run with its derivatives by six numbers of the model, beside that of the run.

Each scene is stepped 300 times with constant controls, by :meth:`sapwood.mujoco.Stepper.run` and by
:func:`sapwood.mujoco.sensitivities` without sensors. Then A and B of a batch of hoppers are found
by :func:`sapwood.mujoco.linearize_batch` on one thread. Times are the least of the samples, in
turns, on the CPU clock of the thread.
"""

from __future__ import annotations

import copy
from pathlib import Path

import mujoco
import numpy as np

from benchmarks import legged
from benchmarks.linearize import least_seconds
from benchmarks.models import files
from benchmarks.rows import aligned
from sapwood.mujoco import Sensitivities, Stepper, linearize_batch, sensitivities
from sapwood.mujoco.gradients.model_numbers import Parameter

ROBOTS = ("Spot", "Go1", "G1")
HOPPER = "gymnasium__assets_hopper"
PUSHED = """
<mujoco><option timestep="0.002"/><worldbody>
  <geom name="floor" type="plane" size="5 5 .1" friction=".2"/>
  <body name="block" pos="0 0 .0999"><joint name="x" type="slide" axis="1 0 0" damping="3"
      frictionloss=".1"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
    <inertial pos="0 0 0" mass="2" diaginertia=".013 .013 .013"/>
    <geom name="block" type="box" size=".1 .1 .1" friction=".35"/></body></worldbody>
  <actuator><motor name="push" joint="x"/></actuator></mujoco>
"""


def scenes(folder: Path) -> dict[str, tuple[mujoco.MjModel, mujoco.MjData]]:
    """A pushed block, and legged robots of the data folder that stand."""
    block = mujoco.MjModel.from_xml_string(PUSHED)
    data = mujoco.MjData(block)
    data.ctrl[:] = 9.0
    found = {"pushed block": (block, data)}
    for name in ROBOTS:
        model, data = legged.load(folder, name)
        rng = np.random.default_rng(0)
        data.ctrl += 0.05 * rng.normal(size=model.nu)
        found[name] = model, data
    return found


def numbers(model: mujoco.MjModel) -> list[Parameter]:
    """Two masses, damping, armature, a gain, and the friction of a geom that collides."""
    kinds = mujoco.mjtObj

    def named(kind: mujoco.mjtObj, n: int) -> list[tuple[int, str]]:
        names = ((i, mujoco.mj_id2name(model, kind, i)) for i in range(n))
        return [(i, name) for i, name in names if name]

    bodies = [name for i, name in named(kinds.mjOBJ_BODY, model.nbody) if model.body_mass[i] > 0.0]
    hinges = [name for i, name in named(kinds.mjOBJ_JOINT, model.njnt) if model.jnt_type[i] >= 2]
    geoms = [name for i, name in named(kinds.mjOBJ_GEOM, model.ngeom) if model.geom_contype[i]]
    friction: Parameter = ("geom", geoms[0], "friction", 0) if geoms else (
        "joint", hinges[1], "frictionloss"
    )  # fmt: skip
    return [
        ("body", bodies[0], "mass"), ("joint", hinges[0], "damping"),
        ("joint", hinges[0], "armature"), ("actuator", model.actuator(0).name, "gainprm", 0),
        ("body", bodies[-1], "mass") if len(bodies) > 1 else ("joint", hinges[0], "frictionloss"),
        friction,
    ]  # fmt: skip


def measure(
    model: mujoco.MjModel, start: mujoco.MjData, steps: int, repeat: int
) -> tuple[float, float, int]:
    """Seconds of a run and of one with its gradient, and the number of its steps near a kink."""
    stepper, by = Stepper(model), numbers(model)

    def gradient() -> Sensitivities:
        return sensitivities(stepper, start, n_steps=steps, parameters=by, sensors=False)

    near_kink = int(gradient().near_kink.sum())
    run, with_gradient = least_seconds(
        repeat, lambda: stepper.run(copy.copy(start), steps), gradient
    )
    return run, with_gradient, near_kink


def runs(folder: Path, steps: int, repeat: int) -> list[str]:
    """Lines: a run and its gradient."""
    lines = [["ms a step", "velocities", "run", "with gradient", "ratio", "near a kink"]]
    for name, (model, start) in scenes(folder).items():
        run, gradient, near_kink = measure(model, start, steps, repeat)
        lines.append([
            name, str(model.nv), f"{1e3 * run / steps:.4f}", f"{1e3 * gradient / steps:.4f}",
            f"{gradient / run:.1f}", str(near_kink),
        ])  # fmt: skip
    return aligned(lines).splitlines()


def hoppers(folder: Path, n: int, repeat: int) -> str:
    """A line: A and B of hoppers at states of a run with random controls."""
    model = files.load(folder / "models" / f"{HOPPER}.mjb.xz")
    stepper, data = Stepper(model), files.start(model)
    rng = np.random.default_rng(0)
    states = []
    for _ in range(n):
        data.ctrl[:] = rng.uniform(-1.0, 1.0, model.nu)
        stepper.run(data, 5)
        states.append((data.qpos.copy(), data.qvel.copy(), data.ctrl.copy()))
    q, v, u = map(np.array, zip(*states, strict=True))
    (taken,) = least_seconds(repeat, lambda: linearize_batch(stepper, q, v, u))
    return f"A and B of {n} hoppers: {1e3 * taken:.2f} ms"
