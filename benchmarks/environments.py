"""Returns of environments whose steps `sapwood.mujoco.patch` takes, beside those of `mj_step`."""

from __future__ import annotations

import dataclasses
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco import patch

#: What is measured: those of Gymnasium and Gymnasium-Robotics by their names, tasks of dm_control
#: with a space between domain and task.
NAMES = (
    "Ant-v5", "HalfCheetah-v5", "Humanoid-v5", "Hopper-v5", "FetchReach-v4",
    "cheetah run", "walker walk",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Row:
    """One environment, simulated twice under the same random actions."""

    name: str
    mujoco: str
    """version"""
    steps: int
    """actions; episodes that end begin anew"""
    reward: float
    """sum of the rewards, patched"""
    reward_mj: float
    """the same with `mj_step`"""
    deviation: float
    """standard deviation of single rewards of `mj_step`'s run"""


def measure(name: str, steps: int, seed: int) -> Row:
    """Simulate one environment without and with the patch.

    Raises
    ------
    Exception
        Of many kinds, where its package is missing, or does not go with this MuJoCo.
    """
    run = _gymnasium(name) if " " not in name else _suite(*name.split())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = (np.fromiter(run(steps, seed, patched), float) for patched in (False, True))
    return Row(
        name=name,
        mujoco=mujoco.__version__,
        steps=steps,
        reward=_three_digits(ours.sum()),
        reward_mj=_three_digits(theirs.sum()),
        deviation=_three_digits(theirs.std()),
    )


Run = Callable[[int, int, bool], Iterator[float]]


def _gymnasium(name: str) -> Run:
    import gymnasium

    options: dict[str, Any] = {}
    if name.startswith("Fetch"):
        _repair()
        import gymnasium_robotics

        gymnasium.register_envs(gymnasium_robotics)
        options["reward_type"] = "dense"

    def rewards(steps: int, seed: int, patched: bool) -> Iterator[float]:
        env = gymnasium.make(name, **options)
        if patched:
            patch(env)
        env.action_space.seed(seed)
        env.reset(seed=seed)
        for i in range(steps):
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            yield float(reward)
            if terminated or truncated:
                env.reset(seed=seed + i)

    return rewards


def _repair() -> None:
    """Let gymnasium_robotics 1.4.2 compare entries of arrays with enums of this MuJoCo."""
    from gymnasium_robotics.utils import mujoco_utils

    numbers = types.ModuleType("mujoco")
    numbers.__dict__.update(vars(mujoco))
    for enum in ("mjtJoint", "mjtEq"):
        members = getattr(mujoco, enum).__members__.items()
        setattr(numbers, enum, types.SimpleNamespace(**{key: int(kind) for key, kind in members}))
    mujoco_utils.mujoco = numbers


def _suite(domain: str, task: str) -> Run:
    from dm_control import suite

    def rewards(steps: int, seed: int, patched: bool) -> Iterator[float]:
        env = suite.load(domain, task, task_kwargs={"random": seed})
        if patched:
            patch(env)
        generator, spec = np.random.default_rng(seed), env.action_spec()
        env.reset()
        for _ in range(steps):
            action: NDArray[np.float64] = generator.uniform(spec.minimum, spec.maximum)
            yield float(env.step(action).reward or 0.0)

    return rewards


def merged(before: list[Row], measured: list[Row]) -> list[Row]:
    """Rows of both in the order of `NAMES`, those that were measured in place of those before."""
    rows = {row.name: row for row in (*before, *measured)}
    return [rows[name] for name in NAMES if name in rows]


def table(rows: list[Row]) -> list[list[str]]:
    """The table, its head first."""
    head = ["environment", "`mj_step`", "patched", "deviation of one reward", "MuJoCo"]
    return [
        head,
        *(
            [row.name, *(f"{x:g}" for x in (row.reward_mj, row.reward, row.deviation)), row.mujoco]
            for row in rows
        ),
    ]


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")
