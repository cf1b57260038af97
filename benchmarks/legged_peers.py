"""The programs of task control by ProxQP, as TSID solves them: accelerations and forces."""

from __future__ import annotations

import importlib
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import legged

Array = NDArray[np.float64]

_FORCE, _ACCELERATION, _EDGES = 1e-2, 1e-5, 4


def program(arrays: tuple[Any, ...], actuated: NDArray[np.intp]) -> tuple[Array, ...]:
    """H, g, A, b, C, lower and upper sides of a program in a and f M_max."""
    M, h, T, t, w, J, mu, lower, upper = arrays[:9]
    m, n = len(h), len(mu)
    scale = np.diag(M).max()
    H = np.zeros((m + 3 * n,) * 2)
    H[:m, :m] = T.T @ (w[:, None] * T) + _ACCELERATION * np.eye(m)
    H[m:, m:] = _FORCE * np.eye(3 * n)
    motion = np.hstack([M, -scale * J.reshape(3 * n, m).T])
    base = np.setdiff1d(np.arange(m), actuated)
    angles = 2 * np.pi * (np.arange(_EDGES) + 0.5) / _EDGES
    cones = np.zeros((n, _EDGES, m + 3 * n))
    for i in range(n):
        at = m + 3 * i
        cones[i, :, at], cones[i, :, at + 1] = -np.cos(angles), -np.sin(angles)
        cones[i, :, at + 2] = mu[i] * np.cos(np.pi / _EDGES)
    C = np.vstack([cones.reshape(-1, m + 3 * n), motion[actuated]])
    least = np.concatenate([np.zeros(n * _EDGES), lower - h[actuated]])
    most = np.concatenate([np.full(n * _EDGES, np.inf), upper - h[actuated]])
    g = np.concatenate([-T.T @ (w * t), np.zeros(3 * n)])
    return H, g, motion[base], -h[base], C, np.maximum(least, -1e20), np.minimum(most, 1e20)


class Recorder:
    """The solver of a controller, whose problems are kept and timed."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self.problems: list[tuple[Any, ...]] = []
        self.seconds: list[float] = []
        self.accelerations: list[Array] = []

    def solve(self, *arrays: Any) -> Any:
        """Solve, and keep the problem."""
        begin = time.thread_time()
        result = self._core.solve(*arrays)
        self.seconds.append(time.thread_time() - begin)
        self.problems.append(arrays)
        self.accelerations.append(result[1])
        return result


def by_proxqp(problems: list[tuple[Array, ...]]) -> tuple[list[float], list[Array]]:
    """Times of update and solve with warm starts, and solutions."""
    proxqp = importlib.import_module("proxsuite").proxqp
    seconds, found = [], []
    solver: Any = None
    for H, g, A, b, C, least, most in problems:
        if solver is None or solver.model.n_in != len(C) or solver.model.dim != len(g):
            solver = proxqp.dense.QP(len(g), len(b), len(C))
            solver.settings.eps_abs, solver.settings.eps_rel = 1e-6, 0.0
            warm = proxqp.InitialGuess.WARM_START_WITH_PREVIOUS_RESULT
            solver.settings.initial_guess = warm
            solver.init(H, g, A, b, C, least, most)
            solver.solve()
        begin = time.thread_time()
        solver.update(H=H, g=g, A=A, b=b, C=C, l=least, u=most)
        solver.solve()
        seconds.append(time.thread_time() - begin)
        found.append(np.array(solver.results.x))
    return seconds, found


def record(loop: legged.Loop, seconds: float) -> Recorder:
    """The problems of a robot that squats."""
    recorder = Recorder(loop.control._core)
    loop.control._core = recorder
    start = loop.data.xpos[loop.body].copy()
    for _ in range(round(seconds / loop.model.opt.timestep)):
        loop.squat(start)
        loop.plan()
        loop.step()
    return recorder
