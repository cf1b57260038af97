"""Runs of pucks and their gradients within PyTorch and JAX, by steps as differentiable functions.

Pucks slide over a floor, pushed by controls. A gradient is that of the mean squared distance of the
ends from a target, by all controls. Times are the least of the samples, on the CPU clock of the
process: JAX calls back from threads of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from sapwood.mujoco import Stepper

PUCK = """
<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="3 3 .1" friction=".3"/>
  <body pos="0 0 .0999"><joint name="x" type="slide" axis="1 0 0"/>
    <joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
    <geom size=".1" mass="1"/></body></worldbody>
  <actuator><motor joint="x"/></actuator></mujoco>
"""
TARGET = 0.2
# worlds, and steps of a run
SIZES = ((16, 50), (256, 1))


def seconds(repeat: int, call: Callable[[], object]) -> float:
    """The least CPU time of a call."""
    call()
    taken = []
    for _ in range(repeat):
        begin = time.process_time()
        call()
        taken.append(time.process_time() - begin)
    return min(taken)


def by_torch(stepper: Stepper, controls: Any) -> Callable[[], Any]:
    """The gradient (steps, worlds, 1) by PyTorch."""
    import torch

    import sapwood.torch

    torch.set_num_threads(1)
    take_step = sapwood.torch.step(stepper)

    def gradient() -> Any:
        u = torch.tensor(controls, requires_grad=True)
        q = v = torch.zeros(controls.shape[1], 3, dtype=torch.float64)
        for at in u:
            q, v = take_step(q, v, at)
        torch.mean((q[:, 0] - TARGET) ** 2).backward()
        return u.grad.numpy()

    return gradient


def by_jax(stepper: Stepper, controls: Any) -> Callable[[], Any]:
    """The gradient (steps, worlds, 1) by JAX, compiled."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    import sapwood.jax

    take_step = sapwood.jax.step(stepper)

    def loss(u: Any) -> Any:
        start = jnp.zeros((u.shape[1], 3))
        (q, _), _ = jax.lax.scan(lambda s, at: (take_step(*s, at), None), (start, start), u)
        return jnp.mean((q[:, 0] - TARGET) ** 2)

    gradient = jax.jit(jax.grad(loss))
    return lambda: np.asarray(gradient(jnp.asarray(controls)))


def lines(repeat: int, sizes: tuple[tuple[int, int], ...] = SIZES) -> list[str]:
    """A line for each framework and size; one says so where a framework is not installed."""
    stepper, rng, found = (
        Stepper(mujoco.MjModel.from_xml_string(PUCK)),
        np.random.default_rng(0),
        [],
    )
    for name, make in (("PyTorch", by_torch), ("JAX", by_jax)):
        for worlds, steps in sizes:
            controls = 3.0 * rng.standard_normal((steps, worlds, 1))
            try:
                gradient = make(stepper, controls)
            except ImportError as error:
                found.append(f"{name}: {error}")
                break
            taken = f"{1e3 * seconds(repeat, gradient):.1f} ms"
            found.append(f"{worlds} pucks x {steps} steps and their gradient in {name}: {taken}")
    return found
