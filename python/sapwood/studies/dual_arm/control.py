"""Both arms under the plan: what is called between two steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import mujoco

from sapwood.studies.dual_arm.arms import Arm
from sapwood.studies.dual_arm.robot import SIDES
from sapwood.studies.dual_arm.task import Phase, Push, jar_task

#: Sum of the normal forces, N, in the last step between two of what `Push` names.
Feel = Callable[[str, str], float]


class Control:
    """The plan and both arms.

    Parameters
    ----------
    data
        The scene at its start; the robots are put where they begin.
    dt
        Time step, s.
    feel
        Force sensor.
    task
        Makes the phases from the state.
    """

    def __init__(
        self,
        data: mujoco.MjData,
        dt: float,
        feel: Feel,
        task: Callable[[mujoco.MjData], Iterator[Phase]] = jar_task,
    ) -> None:
        self._data, self._dt, self._feel = data, dt, feel
        self._arms = {side: Arm(side, dt) for side in SIDES}
        for arm in self._arms.values():
            arm.place(data)
        self._phases = task(data)
        self._phase: Phase | None = None
        self._left = 0

    @property
    def phase(self) -> str:
        """Name of what happens now; empty before the beginning and after the end."""
        return "" if self._phase is None else self._phase.name

    def act(self) -> bool:
        """Set the motors for the next step; False where the plan has come to its end."""
        phase = self._phase
        if phase is None or self._left == 0 or self._pushed(phase.until):
            phase = self._phase = next(self._phases, None)
            if phase is None:
                return False
            self._begin(phase)
        self._left -= 1
        for arm in self._arms.values():
            arm.act(self._data)
        return True

    def _begin(self, phase: Phase) -> None:
        self._left = max(1, round(phase.seconds / self._dt))
        self._arms["right"].begin(phase.right, phase.right_hand, phase.seconds)
        self._arms["left"].begin(phase.left, phase.left_hand, phase.seconds)

    def _pushed(self, push: Push | None) -> bool:
        return push is not None and self._feel(push.first, push.second) >= push.newtons
