"""Results of steps of a MuJoCo model: constraints, records of runs and rollouts, errors."""

from __future__ import annotations

import dataclasses
import operator

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.hints import counted
from sapwood.base.html import table
from sapwood.base.step_error import StepError as StepError
from sapwood.mujoco.results.contacts import StepContacts
from sapwood.mujoco.results.recording import Recording
from sapwood.solution import FALLBACKS, Status

_Float = NDArray[np.float64]
_Int = NDArray[np.int32]

# statuses after which the step is taken all the same
UNCONVERGED = (Status.stalled, Status.iteration_limit, Status.friction_limit)

# overlap from which on a stepper warns, in widths of the narrower geom
DEEP_OVERLAP = _core.DEEP_OVERLAP

# bits of a record's `fallbacks`: those of the islands, then those of enum sap_step_fallback
STEP_FALLBACKS = {name: 1 << k for k, name in enumerate(FALLBACKS)} | {
    "inactive_set": 1 << 8,
    "model_contacts": 1 << 9,
    "options": 1 << 10,
    "explicit_rotation": 1 << 11,
    "rebound": 1 << 12,
}

Counts = tuple[int, int, int, int]
"""Numbers of steps by status: converged, and then UNCONVERGED."""


def add_counts(one: Counts, other: Counts) -> Counts:
    """The sums of two numbers of steps."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3]


@dataclasses.dataclass(frozen=True, eq=False)
class StepConstraints:
    """The constraints of one kind in one step, other than contacts.

    Attributes
    ----------
    kind : {"bilateral", "dry_friction", "limit", "controller"}
        Equality constraints, friction loss, limits, and implicit actuators.
    names : tuple of str (n_rows,)
        The element of each row, such as ``joint 'knee' upper limit``.
    position : ndarray (n_rows,)
        Position at the start of the step, m or rad: the violation of an equality constraint, the
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
    """Records of the steps of a run, one entry per step, and the recorded arrays.

    Attributes
    ----------
    records : structured ndarray (steps,)
        The records as columns; also for ``numpy.save`` or a data frame.
    recording : Recording or None
        The arrays of ``record`` of :meth:`Stepper.run`, which are properties of the same names
        here. Names that were not recorded raise AttributeError.
    error_control : structured ndarray (steps,) or None
        With ``accuracy``, for each step: ``substeps`` taken, ``refused`` parts, parts of the least
        length whose tolerance was ``unmet``, ``smallest_step`` in s, the largest estimated
        ``error`` of a part that was taken, and the ``level`` of the part that would follow, which
        is the time step over 2^level.

    Examples
    --------
    A ball rests on the floor:

    >>> import mujoco, sapwood.mujoco
    >>> model = mujoco.MjModel.from_xml_string('''<mujoco><worldbody>
    ...   <geom name="floor" type="plane" size="1 1 1"/>
    ...   <body pos="0 0 .1"><freejoint/><geom name="ball" size=".1" mass="2"/></body>
    ... </worldbody></mujoco>''')
    >>> stepper, data = sapwood.mujoco.Stepper(model), mujoco.MjData(model)
    >>> result = stepper.run(data, 200, record=("qpos",))
    >>> result.steps, result.qpos.shape, int(result.contacts.max())
    (200, (200, 7), 1)
    >>> bool(result.momentum_error.max() < 1e-6)
    True
    """

    records: NDArray[np.void]
    recording: Recording | None = None
    error_control: NDArray[np.void] | None = None

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
        """Islands of each step: groups of trees that contacts connect."""
        return self.records["islands"]

    @property
    def iterations(self) -> _Int:
        """Newton iterations of the island that needed most."""
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
    def dense_islands(self) -> _Int:
        """Islands of each step that were solved in dense storage, see `Solution.algorithm`."""
        return self.records["dense_islands"]

    @property
    def fallbacks(self) -> dict[str, int]:
        """Steps that took each fallback: those of `IslandAlgorithm`, and of the step itself.

        ``inactive_set``: constraints that were left out had to act, and the step was solved again.
        ``model_contacts``: there was no room to list contacts ahead of time. ``options``: changed
        options of the model were checked before the step. ``explicit_rotation``: a body turned so
        fast that its gyroscopic torque was taken at the start of the step. ``rebound``: impacts
        with friction would have gained energy, and rebounded less.
        """
        bits = self.records["fallbacks"]
        return {name: int(np.count_nonzero(bits & bit)) for name, bit in STEP_FALLBACKS.items()}

    @property
    def momentum_error(self) -> _Float:
        """e_m, Eq. (24)."""
        return self.records["momentum_error"]

    @property
    def velocity_error_bound(self) -> _Float:
        """Proved bound on the error of the velocity in the norm of A, sqrt(J)."""
        return self.records["velocity_error_bound"]

    @property
    def coulomb_error(self) -> _Float:
        """e_c, the distance of the friction from Coulomb's law; NaN for convex friction."""
        return self.records["coulomb_error"]

    @property
    def overlap(self) -> _Float:
        """Largest overlap of rigid contacts after each step, in widths of the narrower geom.

        The width of a geom is its least diameter or edge; for a mesh, of its bounding box.
        """
        return self.records["overlap"]

    @property
    def overlapping_steps(self) -> int:
        """Steps that ended with a rigid contact deeper than a tenth of its narrower geom."""
        return int(np.count_nonzero(self.overlap > DEEP_OVERLAP))

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

    # ---- what was recorded ----------------------------------------------------------------------

    def _asked_for(self, name: str) -> Recording:
        """The recording; AttributeError if it lacks this array."""
        if self.recording is None or name not in self.recording:
            raise AttributeError(f"{name} was not recorded: run(..., record=[{name!r}]) does it")
        return self.recording

    def _array(self, name: str) -> _Float:
        return self._asked_for(name).array(name)[: self.steps]

    @property
    def qpos(self) -> _Float:
        """Positions after each step (steps, nq)."""
        return self._array("qpos")

    @property
    def qvel(self) -> _Float:
        """Velocities after each step (steps, nv)."""
        return self._array("qvel")

    @property
    def act(self) -> _Float:
        """Activations of actuators after each step (steps, na)."""
        return self._array("act")

    @property
    def qacc(self) -> _Float:
        """Mean acceleration over each step (steps, nv)."""
        return self._array("qacc")

    @property
    def ctrl(self) -> _Float:
        """Controls of each step (steps, nu)."""
        return self._array("ctrl")

    @property
    def actuator_force(self) -> _Float:
        """Forces of actuators in each step, in their own coordinates (steps, nu)."""
        return self._array("actuator_force")

    @property
    def qfrc_constraint(self) -> _Float:
        """Generalized forces of contacts and other constraints in each step (steps, nv)."""
        return self._array("qfrc_constraint")

    @property
    def sensordata(self) -> _Float:
        """Sensors after each step, as ``data.sensordata`` (steps, nsensordata)."""
        return self._array("sensordata")

    @property
    def state(self) -> _Float:
        """State after each step (steps, nstate), for ``mj_setState``: ``mjSTATE_FULLPHYSICS``."""
        return self._array("state")

    @property
    def force(self) -> _Float:
        """Sum of the contact forces on each body (steps, nbody, 3), N, in the world."""
        return self._array("force")

    @property
    def soft(self) -> _Float:
        """Positions of the vertices of all soft bodies after each step (steps, n, 3), m."""
        return self._array("soft")

    @property
    def contact_offsets(self) -> NDArray[np.int64]:
        """Index of the first contact of each step in `contacts`, and the end (steps + 1,)."""
        return np.concatenate([[0], np.cumsum(self.contacts, dtype=np.int64)])

    @property
    def all_contacts(self) -> StepContacts:
        """The contacts of all steps, one after the other."""
        last = int(self.contacts.sum(dtype=np.int64))
        return self._asked_for("contacts").contacts(0, last)

    def contacts_of(self, step: int) -> StepContacts:
        """The contacts of one step.

        Parameters
        ----------
        step : int
            Position in the run, from 0; negative ones count from its end.

        Returns
        -------
        StepContacts
            The same as ``stepper.contacts`` after that step.

        Raises
        ------
        IndexError
            If the run has no such step.
        """
        recording, i = self._asked_for("contacts"), operator.index(step)
        if not -self.steps <= i < self.steps:
            raise IndexError(f"step = {i}: the run has {counted(self.steps, 'step')}")
        first, last = self.contact_offsets[[i % self.steps, i % self.steps + 1]].tolist()
        return recording.contacts(first, last)

    # ---- as text --------------------------------------------------------------------------------

    def _ends(self) -> str:
        """A summary of the statuses of the steps."""
        counts = {status: int(np.sum(self.status == status)) for status in Status}
        return ", ".join(f"{count} {status.name}" for status, count in counts.items() if count)

    def __repr__(self) -> str:
        return f"RunResult({counted(self.steps, 'step')}{': ' if self.steps else ''}{self._ends()})"

    def _repr_html_(self) -> str:
        head, *lines = str(self).splitlines()
        return table(f"RunResult: {head}", [(line[:12].strip(), line[12:]) for line in lines])

    def __str__(self) -> str:
        if self.steps == 0:
            return "no steps"
        total = float(self.seconds.sum())
        share = float(self.solver_seconds.sum()) / total
        return (
            f"{counted(self.steps, 'step')} to time {self.time[-1]:.6g} s: {self._ends()}\n"
            f"contacts    {self.contacts.mean():.1f} on average, at most {self.contacts.max()}\n"
            f"iterations  {self.iterations.mean():.1f} on average, at most "
            f"{self.iterations.max()}\n"
            f"e_m         at most {self.momentum_error.max():.2g}\n"
            f"wall clock  {total:.3g} s, {share:.0%} of it in the contact solver"
            f"{self._parts()}"
        )

    def _parts(self) -> str:
        """A line on the parts of the steps, or nothing."""
        control = self.error_control
        if control is None:
            return ""
        return (
            f"\nparts       {control['substeps'].mean():.1f} a step on average, the smallest of "
            f"{control['smallest_step'].min():.3g} s; {control['refused'].sum()} refused, "
            f"{control['unmet'].sum()} above the tolerance"
        )


@dataclasses.dataclass(frozen=True, eq=False)
class RolloutResult:
    """The results of a rollout.

    Attributes
    ----------
    state : ndarray (nbatch, nstep, nstate)
        State after each step, ``mjSTATE_FULLPHYSICS``; NaN after a step that failed.
    sensordata : ndarray (nbatch, nstep, nsensordata)
        Sensors after each step, as ``data.sensordata``; NaN after a step that failed.
    steps : ndarray of int (nbatch,)
        Steps that each world took; fewer than nstep if one failed.
    failures : tuple of StepError
        One for each world that failed, in their order, with its ``world`` and ``step``.
    records : structured ndarray (nbatch, nstep)
        Records of the steps, with the columns of :class:`RunResult`; zero after a step that failed.
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
        failures = counted(len(self.failures), "failure")
        return f"RolloutResult({counted(worlds, 'world')}, {counted(steps, 'step')}, {failures})"
