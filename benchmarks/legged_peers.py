"""The programs of task control by ProxQP, as TSID solves them: accelerations and forces."""

from __future__ import annotations

import importlib
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import legged
from sapwood import _core

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
    """The solver of a controller, whose problems are kept and timed, with limits and without."""

    def __init__(self, core: Any, actuated: NDArray[np.intp]) -> None:
        self._core = core
        self._free = _core.TaskSolver(actuated, _EDGES, _FORCE, _ACCELERATION)
        self._active: tuple[Any, Any] = None, None
        self.problems: list[tuple[Any, ...]] = []
        self.seconds: list[float] = []
        self.free_seconds: list[float] = []
        self.accelerations: list[Array] = []

    def solve(self, *arrays: Any) -> Any:
        """Solve, with limits and without in turns, and keep the problem."""
        # active rows of the last problem hold for the same contacts alone
        active, free_active = self._active
        same = active is not None and arrays[9] is active
        free = *arrays[:7], None, None, free_active if same else None
        runs = [(self._core, arrays, self.seconds), (self._free, free, self.free_seconds)]
        results = {}
        for core, given, seconds in runs[:: 1 if len(self.seconds) % 2 else -1]:
            begin = time.thread_time()
            results[core] = core.solve(*given)
            seconds.append(time.thread_time() - begin)
        result = results[self._core]
        self._active = result[4], results[self._free][4]
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
    recorder = Recorder(loop.control._core, loop.control.actuated)
    loop.control._core = recorder
    start = loop.data.xpos[loop.body].copy()
    for _ in range(round(seconds / loop.model.opt.timestep)):
        loop.squat(start)
        loop.plan()
        loop.step()
    return recorder
