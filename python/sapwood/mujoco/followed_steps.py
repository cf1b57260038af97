"""A stepper that follows its model: halves of a step, and the problem of a state."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

import mujoco
import numpy as np

from sapwood import _core
from sapwood.base.model_data import check_data
from sapwood.mujoco.following.following import Following
from sapwood.mujoco.last_step import LastStep
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.results.notices import Notices
from sapwood.mujoco.stepping.ways import steps_of
from sapwood.problem.contact_problem import ContactProblem


class FollowedSteps(LastStep):
    """Parts of a step by the present parameters of a model, for :class:`Stepper`."""

    _following: Following
    _behind: threading.Lock
    _notices: Notices
    _prepared: dict[int, _core.PreparedStep]
    _checked: Callable[[], mujoco.MjData | None]

    def follow(self) -> None:
        """Follow changes of the model; steps do so by themselves.

        Raises
        ------
        NotSupported, ValueError
            If a change is not possible; the message names it.
        """
        if not self._following.is_behind():
            return
        with self._behind:
            try:
                self._take_over(self._following.read())
            except BaseException:
                self._prepared.clear()
                raise
            self._following.accept()

    def _take_over(self, parameters: StepParameters) -> None:
        """Step by parameters that may be other ones."""
        if parameters is not self._parameters and not self._steps.take_over(parameters):
            steps = steps_of(parameters)
            # results of the last step stay until the next one
            self._left = self._of_last_step()
            self._prepared.clear()
            self._earlier, self._steps = self._counts(), steps
        self._parameters = parameters

    # ---- parts of a step -----------------------------------------------------------------------

    def step1(self, data: mujoco.MjData) -> None:
        """First half of a step, up to the velocity-dependent quantities, as ``mj_step1``.

        Controls and applied forces may then be set from its results, before :meth:`step2`.

        Parameters
        ----------
        data : mujoco.MjData
            State of the model.

        Raises
        ------
        StepError, NotSupported, ValueError
            The same as for :meth:`step`.
        """
        self._bind(data)
        self._parameters.check_options()
        self._steps.start(data)

    def step2(self, data: mujoco.MjData) -> None:
        """Second half of a step: forces, contact, sensors and integration, as ``mj_step2``.

        Parameters
        ----------
        data : mujoco.MjData
            Data after :meth:`step1`, with controls and applied forces; advanced in place.

        Raises
        ------
        StepError
            The same as for :meth:`step`.

        Warns
        -----
        RuntimeWarning
            The same as for :meth:`step`.
        """
        self._bind(data)
        time, record = data.time, np.zeros(1, _core.STEP_RECORD)
        try:
            notable = self._steps.finish(data, record)
        finally:
            self._forget()
        if notable:
            self._notices.tell(record, time)

    def problem(self, data: mujoco.MjData, as_solved: bool = False) -> ContactProblem:
        """The contact problem of a state, for study; neither ``data`` nor any result changes.

        Parameters
        ----------
        data : mujoco.MjData
            State and controls of the model.
        as_solved : bool
            Whether the problem is the last solve of the step: without limits, and contacts of one
            tree, that are far from closing, and with its start as ``v_guess``.
            :func:`sapwood.solve` with the settings of the stepper then gives the velocity of the
            step. By default all listed constraints are in.

        Returns
        -------
        ContactProblem
            The problem, with copies of all arrays and the velocity before the step as ``v_guess``;
            the stiffness of a rigid pair is the largest finite number.

        Raises
        ------
        StepError, NotSupported, ValueError
            The same as for :meth:`step`; ValueError for ``as_solved`` with lagged friction, whose
            bounds are from the last step.
        """
        self._bind(data)
        self._parameters.check_options()
        return self._steps.problem(data, as_solved)

    def _bind(self, data: mujoco.MjData) -> None:
        """Follow changes of the model, and refuse data of another one."""
        self.follow()
        if data is None or self._checked() is not data:
            check_data(self.model, data)
            self._checked = weakref.ref(data)
