"""What steps of a MuJoCo model leave: constraints, records of a run, and errors."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from sapwood.solution import Status

_Float = NDArray[np.float64]
_Int = NDArray[np.int32]

# ends of a solve after which the step is taken all the same
UNCONVERGED = (Status.stalled, Status.iteration_limit, Status.friction_limit)

Counts = tuple[int, int, int, int]
"""Steps that were taken, by the status of their solve: converged, and then UNCONVERGED."""


class StepError(RuntimeError):
    """A step could not be taken; the state of the data is the one before the step.

    Attributes
    ----------
    time : float
        Simulated time at the start of the step, s.
    step : int or None
        Position of the step in its run or rollout, from 0.
    world : int or None
        Position of the world in its rollout.
    """

    def __init__(
        self, message: str, time: float, step: int | None = None, world: int | None = None
    ) -> None:
        super().__init__(message, time, step, world)
        self.time = time
        self.step = step
        self.world = world

    def __str__(self) -> str:
        world = "" if self.world is None else f"world {self.world}, "
        step = "step" if self.step is None else f"step {self.step}"
        return f"{world}{step} at time {self.time:.6g} s: {self.args[0]}"


@dataclasses.dataclass(frozen=True, eq=False)
class StepConstraints:
    """The constraints of one kind in one step, other than contacts.

    Attributes
    ----------
    kind : {"bilateral", "dry_friction", "limit", "controller"}
        Equality constraints, friction loss, limits, and implicit actuators.
    names : tuple of str (n_rows,)
        What each row belongs to, such as ``joint 'knee' upper limit``.
    position : ndarray (n_rows,)
        At the start of the step, m or rad: how far an equality constraint is from holding, the
        distance to a limit (negative beyond it), the length of an actuator; 0 for friction.
    velocity : ndarray (n_rows,)
        Constraint velocity at the end of the step, m/s or rad/s.
    force : ndarray (n_rows,)
        Mean force over the step, N or N m.
    """

    kind: str
    names: tuple[str, ...]
    position: _Float
    velocity: _Float
    force: _Float

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"StepConstraints({self.kind}, {len(self)} rows)"

    def __str__(self) -> str:
        width = max(len(self.kind), *map(len, self.names))
        lines = [f"{self.kind:{width}}    position    velocity       force"]
        columns = zip(self.names, self.position, self.velocity, self.force, strict=True)
        lines += [f"{name:{width}}  {x:10.4g}  {v:10.4g}  {f:10.4g}" for name, x, v, f in columns]
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True, eq=False)
class RunResult:
    """How the steps of a run went, one entry per step.

    Attributes
    ----------
    records : structured ndarray (steps,)
        All of the columns below; also for ``numpy.save`` or a data frame.
    """

    records: NDArray[np.void]

    @property
    def steps(self) -> int:
        """Steps taken."""
        return len(self.records)

    @property
    def time(self) -> _Float:
        """Simulated time at the end of each step, s."""
        return self.records["time"]

    @property
    def contacts(self) -> _Int:
        """Contacts of each step."""
        return self.records["contacts"]

    @property
    def islands(self) -> _Int:
        """Groups of trees that contacts connect."""
        return self.records["islands"]

    @property
    def iterations(self) -> _Int:
        """Newton iterations of the island that took most."""
        return self.records["iterations"]

    @property
    def total_iterations(self) -> _Int:
        """Newton iterations, summed over the islands."""
        return self.records["total_iterations"]

    @property
    def line_search_trials(self) -> _Int:
        """Evaluations of the line searches, summed over the islands."""
        return self.records["line_search_trials"]

    @property
    def status(self) -> _Int:
        """Outcome of the solver, values of :class:`sapwood.Status`."""
        return self.records["status"]

    @property
    def deep_contacts(self) -> _Int:
        """Contacts of each step that started deeper than their rigid core."""
        return self.records["deep_contacts"]

    @property
    def momentum_error(self) -> _Float:
        """e_m, Eq. (24)."""
        return self.records["momentum_error"]

    @property
    def velocity_error_bound(self) -> _Float:
        """Proved bound of the error of the velocity in the norm of A, sqrt(J)."""
        return self.records["velocity_error_bound"]

    @property
    def coulomb_error(self) -> _Float:
        """e_c: how far the friction is from Coulomb's law; NaN for convex friction."""
        return self.records["coulomb_error"]

    @property
    def solver_seconds(self) -> _Float:
        """Wall-clock time of the contact solver, s."""
        return self.records["solver_seconds"]

    @property
    def seconds(self) -> _Float:
        """Wall-clock time of the whole step, s."""
        return self.records["seconds"]

    @property
    def converged(self) -> bool:
        """Whether every step met the tolerance of the solver."""
        return bool(np.all(self.status == Status.converged))

    def _ends(self) -> str:
        """How many steps ended in which way."""
        counts = {status: int(np.sum(self.status == status)) for status in Status}
        return ", ".join(f"{count} {status.name}" for status, count in counts.items() if count)

    def __repr__(self) -> str:
        return f"RunResult({self.steps} steps{': ' if self.steps else ''}{self._ends()})"

    def __str__(self) -> str:
        if self.steps == 0:
            return "no steps"
        total = float(self.seconds.sum())
        share = float(self.solver_seconds.sum()) / total
        return (
            f"{self.steps} steps to time {self.time[-1]:.6g} s: {self._ends()}\n"
            f"contacts    {self.contacts.mean():.1f} on average, at most {self.contacts.max()}\n"
            f"iterations  {self.iterations.mean():.1f} on average, at most "
            f"{self.iterations.max()}\n"
            f"e_m         at most {self.momentum_error.max():.2g}\n"
            f"wall clock  {total:.3g} s, {share:.0%} of it in the contact solver"
        )


@dataclasses.dataclass(frozen=True, eq=False)
class RolloutResult:
    """What a rollout leaves.

    Attributes
    ----------
    state : ndarray (nbatch, nstep, nstate)
        State after each step, ``mjSTATE_FULLPHYSICS``; NaN after a step that failed.
    sensordata : ndarray (nbatch, nstep, nsensordata)
        Sensors, as ``data.sensordata`` after each step; NaN after a step that failed.
    steps : ndarray of int (nbatch,)
        Steps that each world took; less than nstep where one failed.
    failures : tuple of StepError
        One for each world that failed, in their order, with its ``world`` and ``step``.
    records : structured ndarray (nbatch, nstep)
        How the steps went, with the columns of :class:`RunResult`; zero after a
        step that failed.
    """

    state: _Float
    sensordata: _Float
    steps: NDArray[np.int64]
    failures: tuple[StepError, ...]
    records: NDArray[np.void]

    @property
    def converged(self) -> bool:
        """Whether all worlds took all steps, and each met the tolerance of the solver."""
        return not self.failures and bool(np.all(self.records["status"] == Status.converged))

    def __repr__(self) -> str:
        worlds, steps = self.records.shape
        return f"RolloutResult({worlds} worlds, {steps} steps, {len(self.failures)} failures)"
