"""Task control of MuJoCo models: weighted tasks, hard limits, contacts that are held."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import weakref
from collections.abc import Sequence
from itertools import repeat
from typing import Any, Literal

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import instance, instances, integer
from sapwood.base.model_data import check_data

from .held_contacts import Contacts, HeldContacts
from .motors import Motors
from .options import choice
from .robot import actuated_dofs, loads_of, mechanism_of, state_of
from .tasks import Task

Array = NDArray[np.float64]
ContactMode = Literal["hold", "coulomb"]

# weights beside tasks of weight 1: accelerations of held contacts, all accelerations, and forces
# over the largest entry of the mass matrix
_HOLD, _ACCELERATION, _FORCE = 1e4, 1e-5, 1e-2


class TaskStatus(enum.IntEnum):
    """The outcome of task control.

    ``solved``: the nearest accelerations within all limits. ``iteration_limit``: the search for
    active limits did not end, all is zero. ``inaccurate``: the equations of motion or a limit miss
    by more than round-off. ``non_finite``: a number overflowed, all is zero.
    """

    solved = 0
    iteration_limit = 1
    inaccurate = 2
    non_finite = 3

    def __str__(self) -> str:
        return self.name


_STATUS = tuple(TaskStatus)


@dataclasses.dataclass(frozen=True, eq=False)
class TaskResult:
    """Torques of task control, and the motion and contact forces that they are to give.

    Attributes
    ----------
    status : TaskStatus
        The outcome. No number here is ever NaN.
    tau : ndarray (n_q,)
        Torques of the motors, N m (N for sliders), within their limits.
    accelerations : ndarray (nv,)
        Accelerations.
    forces : ndarray (n, 3)
        Contact forces on the second geom, N: along both tangents, then the normal.
    contacts : Contacts
        Where they act; ``frames`` turns them to the world.
    changes : int
        Limits that became active or inactive since the last call.
    residual : float
        Largest error of the equations of motion, N or N m.
    """

    status: TaskStatus
    tau: Array
    accelerations: Array
    forces: Array
    contacts: Contacts
    changes: int
    residual: float
    _motors: Motors = dataclasses.field(repr=False)

    @property
    def world_forces(self) -> Array:
        """Contact forces (n, 3) along the axes of the world, N."""
        forces: Array = np.einsum("ni,nij->nj", self.forces, self.contacts.frames)
        return forces

    def apply(self, model: mujoco.MjModel, data: mujoco.MjData) -> Array:
        """Write the controls that give the torques, by gain, bias and gear of each actuator.

        Parameters
        ----------
        model : mujoco.MjModel
        data : mujoco.MjData
            Data at the same instant; its ``ctrl`` is written.

        Returns
        -------
        ndarray (n_q,)
            Torques that the actuators give: ``tau``, cut at the model's limits.
        """
        check_data(instance(model, mujoco.MjModel, "model"), data)
        return self._motors.write(model, data, self.tau)


class TaskController:
    """Whole-body control: torques that come nearest to weighted tasks within hard limits.

    Torques stay within their limits and contact forces within friction cones, always. What the
    tasks ask for beyond that is traded by their weights. Contacts are those of the data, and stay
    in the plan while their geoms are near: a foot that rises by a micrometre still carries. Each
    call starts from the limits that were active in the last one.

    Dry friction of joints, and torsional and rolling friction of contacts, count as forces against
    the motion that was planned last. Joint limits and tendons' friction are not part of the plan.

    A copy has a model and tasks of its own, and so has what a pickle gives. It starts as after
    :meth:`reset`.

    Parameters
    ----------
    model : mujoco.MjModel
        Each hinge and slider with an actuator has one, with a fixed gain.
    tasks : sequence of JointTask, FrameTask, ComTask or BaseTask
        What to do; none: the least accelerations. Targets may be changed between calls.
    weights : array_like (n_tasks,), optional
        Weights of the squares of accelerations that tasks miss; 1 by default.
    contacts : str
        ``"hold"``: contacts stay where they are. ``"coulomb"``: one that slides has its friction
        force opposite to its sliding; all others stay.
    hold_time : float
        Time in which the velocity of a held contact is to vanish, s. Longer is smoother; some
        five time steps are enough.
    hysteresis : float
        Gap at which a contact is given up, m.
    torque_limit : str or array_like (n_q,), optional
        ``"model"``: what joints and actuators allow. Or largest torques, N m. None for none.
    edges : int
        Corners of the polygon in each friction circle, even and at least 4.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong; the message names it.

    Examples
    --------
    A slider holds a weight of 2 kg at rest:

    >>> from sapwood.invdyn import JointTask
    >>> model = mujoco.MjModel.from_xml_string('''<mujoco><worldbody><body>
    ...   <joint name="lift" type="slide" axis="0 0 1"/><geom size=".1" mass="2"/>
    ...   </body></worldbody><actuator><motor joint="lift" gear="10"/></actuator></mujoco>''')
    >>> data = mujoco.MjData(model)
    >>> mujoco.mj_forward(model, data)
    >>> result = TaskController(model, tasks=[JointTask()]).solve(data)
    >>> result.apply(model, data).round(3).tolist(), data.ctrl.round(3).tolist()
    ([19.62], [1.962])
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        tasks: Sequence[Task],
        weights: ArrayLike | None = None,
        *,
        contacts: ContactMode = "hold",
        hold_time: float = 10e-3,
        hysteresis: float = 2e-3,
        torque_limit: str | ArrayLike | None = "model",
        edges: int = 4,
    ) -> None:
        instance(model, mujoco.MjModel, "model")
        choice(contacts, "contacts", ContactMode)
        if model.neq and model.eq_active0.any():
            raise ValueError("model: equality constraints are not supported by task control")
        self._model = model
        self._coulomb = contacts == "coulomb"
        self._hold_time = float(_core.as_float64(hold_time, "hold_time", (), "positive"))
        gap = float(_core.as_float64(hysteresis, "hysteresis", (), "non-negative"))
        self._tasks = instances(tasks, Task, "tasks")  # type: ignore[type-abstract]
        for task in self._tasks:
            task.bind(model)
        n = len(self._tasks)
        self._weights = _core.as_float64(
            np.ones(n) if weights is None else weights, "weights", (n,), "non-negative"
        ).tolist()
        self._motors = Motors(model, actuated_dofs(model))
        n_q = len(self._motors.actuated)
        self._limit: Array | None = None
        self._by_model = False
        if isinstance(torque_limit, str):
            if torque_limit != "model":
                raise ValueError(
                    f"torque_limit = {torque_limit!r}: must be 'model', an array or None"
                )
            self._by_model = True
        elif torque_limit is not None:
            self._limit = _core.as_float64(torque_limit, "torque_limit", (n_q,))
            if not (self._limit > 0.0).all():
                raise ValueError("torque_limit: must be > 0")
        self._edges = integer(edges, "edges", 4)
        self._core = _core.TaskSolver(self._motors.actuated, self._edges, _FORCE, _ACCELERATION)
        self._hysteresis = gap
        self._held = HeldContacts(model, gap)
        self._mechanism = mechanism_of(model)
        self._active: NDArray[np.int8] | None = None
        self._geoms: NDArray[np.int32] | None = None
        # velocities at the last plan, its accelerations and forces
        self._planned: tuple[Array, Array, Array] | None = None
        self._data: weakref.ref[mujoco.MjData] | None = None  # the data checked last

    def __reduce__(self) -> tuple[Any, ...]:
        limit = "model" if self._by_model else self._limit
        options: dict[str, Any] = {
            "contacts": "coulomb" if self._coulomb else "hold", "hold_time": self._hold_time,
            "hysteresis": self._hysteresis, "torque_limit": limit, "edges": self._edges,
        }  # fmt: skip
        make = functools.partial(type(self), **options)
        return make, (self._model, self._tasks, self._weights)

    def __copy__(self) -> TaskController:
        return copy.deepcopy(self)

    @property
    def actuated(self) -> NDArray[np.intp]:
        """Velocities with a motor, in the order of torques."""
        return self._motors.actuated

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, whose targets may be changed."""
        return self._tasks

    def torque_limits(self, data: mujoco.MjData) -> tuple[Array, Array]:
        """Least and largest torques (n_q,) at the state of `data`, N m; infinite for none.

        Those of a model depend on the state where a bounded control is a position or a velocity.

        Parameters
        ----------
        data : mujoco.MjData
            Data with positions and velocities.
        """
        if self._by_model:
            return self._motors.limits(self._model, data)[1:]
        n_q = len(self._motors.actuated)
        most = np.full(n_q, np.inf) if self._limit is None else self._limit
        return -most, most

    def reset(self) -> None:
        """Forget held contacts and active limits, for a state that does not follow the last."""
        self._held.reset()
        self._active = self._planned = None

    def solve(self, data: mujoco.MjData) -> TaskResult:
        """Torques of one instant.

        Parameters
        ----------
        data : mujoco.MjData
            Data after ``mujoco.mj_forward`` or ``mj_step1``: positions, velocities, contacts. They
            are not changed. ``xfrc_applied``, and ``qfrc_applied`` of velocities without a motor,
            act on the system; ``ctrl`` has no effect.

        Returns
        -------
        TaskResult
            Never NaN, and never silent: its status says where something is amiss.
        """
        if self._data is None or self._data() is not data:
            check_data(self._model, data)
            self._data = weakref.ref(data)
        motors, contacts = self._motors, self._held.update(data)
        M, h, T, t, w, J, mu, slide = self._program(data, contacts)
        lower, upper = self.torque_limits(data)
        try:
            outcome, a, tau, forces, active, changes, residual = self._core.solve(
                M, h, T, t, w, J, mu, lower, upper, self._expected(contacts)
            )
        except ValueError:
            self._refuse_non_finite(data)
            raise
        self._active, self._geoms = active, contacts.geoms
        self._planned = data.qvel.copy(), a.copy(), forces.copy()
        if self._coulomb:
            forces[:, :2] += slide * forces[:, 2:]
        status = _STATUS[outcome]
        return TaskResult(status, tau, a, forces, contacts, changes, residual, motors)

    def _refuse_non_finite(self, data: mujoco.MjData) -> None:
        """Raise ValueError for a number of the data or of a task that is not finite."""
        of_data = ("qpos", "qvel", "qfrc_applied", "xfrc_applied")
        numbers = {f"data.{name}": getattr(data, name) for name in of_data}
        for i, task in enumerate(self._tasks):
            for name in ("position", "rotation", "velocity", "acceleration"):
                numbers[f"tasks[{i}].{name}"] = getattr(task, name)
        for name, value in numbers.items():
            if value is not None:
                _core.as_float64(value, name, np.shape(value), "finite")

    def _program(self, data: mujoco.MjData, contacts: Contacts) -> tuple[Array, ...]:
        """Arrays of the program without limits; tangential forces over normal ones (n, 2)."""
        plan = None
        if self._planned is not None:
            velocity, acceleration, forces = self._planned
            same = self._geoms is contacts.geoms
            loss = self._model.dof_frictionloss
            plan = loss, velocity, acceleration, forces if same else None
        return self._mechanism.task_program(
            state_of(data), data.M, loads_of(data, self._motors.dofs),
            (contacts.bodies, contacts.positions, contacts.frames, contacts.mu, contacts.radii,
             contacts.gaps),
            (_HOLD, self._hold_time, self._coulomb), plan,
            tuple(map(Task.describe, self._tasks, repeat(data), self._weights)),
        )  # fmt: skip

    def _expected(self, contacts: Contacts) -> NDArray[np.int8] | None:
        """The limits that were active, in the order of the present contacts."""
        if self._active is None or self._geoms is None:
            return None
        if self._geoms is contacts.geoms:
            return self._active
        n, n_q = len(self._geoms), len(self._motors.actuated)
        sides = self._active[: n * self._edges].reshape(n, self._edges)
        kept = np.zeros((len(contacts.geoms), self._edges), dtype=np.int8)
        return np.concatenate([kept.ravel(), self._active[sides.size : sides.size + 2 * n_q]])
