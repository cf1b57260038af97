"""Gradients within PyTorch and JAX: of runs of worlds by their controls, and of a batch of solves.

Pucks slide over a floor, pushed by controls. A gradient is that of the mean squared distance of the
ends from a target, by all controls. A batch of solves has as many masses in contact; its gradient
is that of the sum of their velocities by the velocities before, and by the friction. Times are the
least of the samples, on the CPU clock of the process: JAX calls back from threads of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from benchmarks.batch import least
from sapwood.mujoco import Stepper

PUCK = """
<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="3 3 .1" friction=".3"/>
  <body pos="0 0 .0999"><joint name="x" type="slide" axis="1 0 0"/>
    <joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
    <geom size=".1" mass="1"/></body></worldbody>
  <actuator><motor joint="x"/></actuator></mujoco>
"""
TARGET = 0.2
WORLDS, STEPS, BATCH = 16, 50, 256
SOLVE = {
    "tree_nv": [3], "A": np.eye(3).ravel(), "tree_a": [0], "tree_b": [-1], "J": np.eye(3).ravel(),
    "dt": 0.01, "phi0": [0.0], "k": [1e5], "tau_d": [0.0],
}  # fmt: skip


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


def solves_by_torch(v_star: Any) -> Callable[[], Any]:
    """The gradient (batch, 3) of a batch of solves by PyTorch."""
    import torch

    import sapwood.torch

    torch.set_num_threads(1)

    def gradient() -> Any:
        v = torch.tensor(v_star, requires_grad=True)
        mu = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
        sapwood.torch.solve(v_star=v, mu=mu, **SOLVE).v.sum().backward()
        return v.grad.numpy()

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


def solves_by_jax(v_star: Any) -> Callable[[], Any]:
    """The gradient (batch, 3) of a batch of solves by JAX, compiled."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    import sapwood.jax

    def speeds(v: Any, mu: Any) -> Any:
        return jnp.sum(sapwood.jax.solve(v_star=v, mu=mu, **SOLVE).v)

    def loss(v: Any, mu: Any) -> Any:
        return jnp.sum(jax.vmap(speeds, in_axes=(0, None))(v, mu))

    gradient = jax.jit(jax.grad(loss, argnums=(0, 1)))
    return lambda: np.asarray(gradient(jnp.asarray(v_star), jnp.array([0.5]))[0])


def lines(repeat: int, worlds: int = WORLDS, steps: int = STEPS, batch: int = BATCH) -> list[str]:
    """Lines of each framework; one says so where a framework is not installed."""
    stepper, rng = Stepper(mujoco.MjModel.from_xml_string(PUCK)), np.random.default_rng(0)
    controls = 3.0 * rng.standard_normal((steps, worlds, 1))
    v_star = [1.0, 0.0, -1.0] + 0.1 * rng.standard_normal((batch, 3))
    found = []
    for name, runs, solves in (
        ("PyTorch", by_torch, solves_by_torch),
        ("JAX", by_jax, solves_by_jax),
    ):
        try:
            run, solve = runs(stepper, controls), solves(v_star)
        except ImportError as error:
            found.append(f"{name}: {error}")
            continue
        run(), solve()  # the first calls compile
        runs_take, solves_take = (1e3 * least(call, repeat) for call in (run, solve))
        found += [
            f"{worlds} worlds x {steps} steps with gradient in {name}: {runs_take:.1f} ms",
            f"{batch} solves with gradient in {name}: {solves_take:.1f} ms",
        ]
    return found
