"""One process that times steps of one model with the sapwood it is given, when it is asked to.

Reads the model, the states at which windows begin and the number of steps of a window from the
first line of the standard input, and answers with what the windows are like. Each further line asks
for times. It uses nothing of sapwood that could differ between the versions compared, and nothing
of the other benchmarks: run as a file, with the folder of one build first on PYTHONPATH.
"""

from __future__ import annotations

import gc
import hashlib
import json
import sys
import time
import warnings
from typing import Any

import mujoco
import numpy as np

import sapwood
from sapwood.mujoco import Stepper

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


class Window:
    """Some steps from one state, taken again and again."""

    def __init__(self, stepper: Stepper, state: list[float], steps: int) -> None:
        self._stepper, self._state, self._steps = stepper, np.array(state), steps
        self._data = mujoco.MjData(stepper.model)

    def describe(self) -> dict[str, Any]:
        """Take the steps once: iterations, steps without a solution, bits of the state after it."""
        self._begin()
        records = self._stepper.run(self._data, self._steps).records
        end = hashlib.sha1(self._data.qpos.tobytes() + self._data.qvel.tobytes()).hexdigest()
        return {
            "iterations": float(records["total_iterations"].mean()),
            "unconverged": int(np.count_nonzero(records["status"] != sapwood.Status.converged)),
            "contacts": float(records["contacts"].mean()),
            "end": end[:12],
        }

    def time(self, way: str, seconds: float) -> float:
        """Least CPU seconds of a step, of samples that take some seconds in all.

        The first call only fills the caches, unless it takes longer than that by itself.
        """
        call = {"run": self._run, "calls": self._calls}[way]
        first = self._seconds_of(call)
        if first > seconds:
            return first / self._steps
        samples: list[float] = []
        while sum(samples) < seconds:
            samples.append(self._seconds_of(call))
        return min(samples) / self._steps

    def _seconds_of(self, call: Any) -> float:
        self._begin()
        start = time.thread_time()
        call()
        return time.thread_time() - start

    def _begin(self) -> None:
        mujoco.mj_setState(self._stepper.model, self._data, self._state, _STATE)

    def _run(self) -> None:
        self._stepper.run(self._data, self._steps)

    def _calls(self) -> None:
        step, data = self._stepper.step, self._data
        for _ in range(self._steps):
            step(data)


def answer(value: Any) -> None:
    """Write one line."""
    print(json.dumps(value), flush=True)


def main() -> None:
    """Read the order, answer, and time until the input ends."""
    order = json.loads(sys.stdin.readline())
    warnings.simplefilter("ignore")
    gc.disable()
    try:
        model = mujoco.MjModel.from_binary_path(order["model"])
        stepper = Stepper(model, **order["options"])
        windows = [Window(stepper, state, order["steps"]) for state in order["states"]]
        answer([window.describe() for window in windows])
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {' '.join(str(error).split())}"})
        return
    for line in sys.stdin:
        asked = json.loads(line)
        answer([window.time(asked["way"], asked["seconds"]) for window in windows])


if __name__ == "__main__":
    main()
