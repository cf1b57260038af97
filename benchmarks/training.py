"""A policy that learns to walk, over batches of both engines: learning curves and judgements.

The runs are those of ``examples/train_walker.py``. A run that lies in the folder already is kept.
"""

from __future__ import annotations

import csv
import dataclasses
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "train_walker.py"
ENGINES = {"sapwood": "`Batch`", "mujoco": "`mujoco.batch`"}


@dataclasses.dataclass(frozen=True)
class Row:
    """One training."""

    engine: str
    seed: int
    steps: int
    """control steps of all worlds until 9 of 10 judges walked, or in all"""
    cpu: float
    """CPU time until then, s, learning included"""
    judges: int
    """worlds that judge the policy"""
    walk: int
    """judges that walk, by the engine that trained the policy"""
    walk_elsewhere: int
    """judges that walk, by the other engine"""


def _run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, str(EXAMPLE), "--no-video", "--threads", "1", *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {run.stderr.strip().splitlines()[-1]}")
    return run.stdout


def _stem(engine: str, seed: int) -> str:
    return f"{engine}_{seed}"


def _judge(folder: Path, policy: Path, engine: str, seed: int) -> tuple[int, int]:
    """How many of how many worlds walk."""
    text = _run(folder, "--load", str(policy), "--engine", engine, "--seed", str(seed))
    found = re.search(r"^(\d+) of (\d+) worlds walk", text, re.MULTILINE)
    if not found:
        raise RuntimeError(f"{EXAMPLE.name} printed no judgement: {text!r}")
    return int(found[1]), int(found[2])


def curve(folder: Path, engine: str, seed: int) -> Mapping[str, NDArray[np.float64]]:
    """Return the columns of a learning curve."""
    with (folder / f"{_stem(engine, seed)}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def measure(folder: Path, engine: str, seed: int, options: Sequence[str] = ()) -> Row:
    """Train with one seed over one engine, and let both judge.

    Raises
    ------
    RuntimeError
        If a run fails.
    """
    policy = (folder / _stem(engine, seed)).with_suffix(".npz").resolve()
    if not policy.exists():
        _run(
            folder, "--engine", engine, "--seed", str(seed), "--out", _stem(engine, seed), *options
        )
    learned = curve(folder, engine, seed)
    (other,) = set(ENGINES) - {engine}
    walk, judges = _judge(folder, policy, engine, seed)
    return Row(
        engine=engine,
        seed=seed,
        steps=int(learned["steps"][-1]),
        cpu=float(learned["cpu"][-1]),
        judges=judges,
        walk=walk,
        walk_elsewhere=_judge(folder, policy, other, seed)[0],
    )


def table(rows: Sequence[Row]) -> list[list[str]]:
    """The table, its head first."""
    lines = [
        ["trained over", "seed", "million control steps", "CPU time", "steps per CPU second",
         "walk there", "walk in the other"],
    ]  # fmt: skip
    for row in rows:
        lines.append(
            [
                ENGINES[row.engine],
                str(row.seed),
                f"{1e-6 * row.steps:.2f}",
                f"{row.cpu:.0f} s",
                f"{round(row.steps / row.cpu, -2):,.0f}",
                f"{row.walk} of {row.judges}",
                f"{row.walk_elsewhere} of {row.judges}",
            ]
        )
    return lines


def figure(rows: Sequence[Row], folder: Path, picture: Path) -> None:
    """Draw the reward of all runs over control steps and over CPU time."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    drawing, panels = plt.subplots(1, 2, figsize=(9.0, 3.4), sharey=True, layout="constrained")
    looks = {"sapwood": ("#0072b2", "-"), "mujoco": ("#d55e00", "--")}
    seeds = [row.seed for row in rows]
    for engine, (color, line) in looks.items():
        label = f"{ENGINES[engine].strip('`')}, seeds {min(seeds)} to {max(seeds)}"
        panels[0].plot([], [], line, color=color, linewidth=1.2, label=label)
    for row in rows:
        learned = curve(folder, row.engine, row.seed)
        color, line = looks[row.engine]
        for panel, x in zip(panels, (1e-6 * learned["steps"], learned["cpu"]), strict=True):
            panel.plot(x, learned["reward"], line, color=color, linewidth=1.2)
            panel.plot(x[-1], learned["reward"][-1], "o", color=color, markersize=4)
    panels[0].legend(loc="lower right")
    panels[0].set(xlabel="control steps of all worlds, million", ylabel="reward of a control step")
    panels[1].set(xlabel="CPU time with learning, s")
    drawing.savefig(picture, dpi=110)
    plt.close(drawing)
