"""Many worlds of one model, stepped together: live arrays, partial resets, failures per world."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import integer
from sapwood.base.hints import explained
from sapwood.base.processors import thread_count, usable_processors
from sapwood.mujoco.batches.errors import SimulationError
from sapwood.mujoco.batches.fields import WHOLE_STATE
from sapwood.mujoco.batches.ids import bounded, world_ids
from sapwood.mujoco.batches.outputs import Outputs
from sapwood.mujoco.batches.parameters import WorldParameters
from sapwood.mujoco.batches.queries import BatchQueries
from sapwood.mujoco.batches.rollout_arrays import RecordItem, control_plane, record_arrays
from sapwood.mujoco.batches.soft_acts import SoftOutputs
from sapwood.mujoco.batches.turns import Turn
from sapwood.mujoco.batches.workers import Workers, chunk_of
from sapwood.mujoco.reading.engine import engine
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.results.faults import Failure
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.stepper import Stepper
from sapwood.mujoco.stepping.forks import free_in_children
from sapwood.stepping.schemes import SYMPLECTIC_EULER

_Array = NDArray[Any]

_STAGES = {int(stage) for stage in mujoco.mjtStage.__members__.values()}
_NONE, _ACC = int(mujoco.mjtStage.mjSTAGE_NONE), int(mujoco.mjtStage.mjSTAGE_ACC)
_CONTROL = int(mujoco.mjtState.mjSTATE_CTRL)
_USER = int(mujoco.mjtState.mjSTATE_USER)


class Batch(BatchQueries):
    """Simulations of one model that step together on all cores, as ``mujoco.batch.Batch``.

    Each simulation, or world, is a row of :attr:`state`: a call loads the row, runs, copies the
    bound fields out and saves the row. The bits are those of :meth:`Stepper.step` for each world
    alone, for any number of threads, any selection of worlds, and any failures of others.

    :meth:`bind` returns live arrays (nsim, ...). Fields of the state (``qpos``, ``qvel``, ``ctrl``,
    ...) are views of the rows: a write is the input of the next call, and stays from call to call.
    Other fields (``xpos``, ``sensordata``, ...) are read-only and refreshed by each call; after
    :meth:`step` they describe the state before the last substep, as after ``mj_step``. They are
    zero until the first call. Fields are attributes too: ``batch.xpos`` binds, ``batch.ctrl = u``
    writes.

    A world that fails keeps its row and its outputs, and the other worlds go on.

    Parameters
    ----------
    model : mujoco.MjModel or Stepper
        The model, or a stepper with its parameters; later changes are not followed.
    nsim : int
        Number of worlds.
    nthread : int
        Threads, that of the caller among them; 0 is one per usable core, at most one per world.
    on_error : {"raise", "keep"}
        A call in which worlds failed raises :class:`SimulationError` at its end, or only sets
        :attr:`status`.
    remembered_contacts : int, optional
        Contacts that lagged friction may remember in :attr:`state`; None is 8 per geom, at least
        64, more with soft bodies. A world with more fails.
    **options
        Options of :class:`Stepper`, for a model.

    Attributes
    ----------
    model : mujoco.MjModel
        A copy of the model.
    state : ndarray (nsim, nstate)
        State of each world, as ``mj_getState`` has it with ``mjSTATE_INTEGRATION``, and memories of
        friction, soft bodies and flexes; zeros are the start.
    status : ndarray of uint8 (nsim,)
        0, or a number > 0 for worlds that failed in their last call. Read-only.
    records : ndarray (nsim,)
        Record of the last substep of each world, with the fields of :attr:`RunResult.records`.
        Read-only.
    warning : ndarray of int32 (nsim, mjNWARNING, 2)
        MuJoCo's counters of warnings: last information, number.

    Raises
    ------
    NotSupported
        As for :class:`Stepper`, and for schemes other than the default.
    TypeError, ValueError
        For wrong arguments; the text names the argument.

    Examples
    --------
    >>> import numpy as np, sapwood.mujoco
    >>> model = sapwood.studies.scenes.sphere_on_floor(1.0).compile()
    >>> batch = sapwood.mujoco.Batch(model, nsim=8, nthread=2)
    >>> batch.qvel[:, 0] = np.arange(8)
    >>> batch.step(nstep=10)
    >>> batch.qpos.shape, bool(batch.status.any())
    ((8, 7), False)
    """

    @explained(Stepper.__init__)
    def __init__(
        self,
        model: mujoco.MjModel | Stepper,
        nsim: int,
        nthread: int = 0,
        *,
        on_error: Literal["raise", "keep"] = "raise",
        remembered_contacts: int | None = None,
        **options: Any,
    ) -> None:
        if isinstance(model, Stepper) and options:
            raise TypeError(f"{next(iter(options))}: a stepper has its options already")
        if on_error not in ("raise", "keep"):
            raise ValueError(f"on_error = {on_error!r}: must be 'raise' or 'keep'")
        self._n = integer(nsim, "nsim", 1)
        wanted = integer(nthread, "nthread", 0) or None
        self._nthread = thread_count(wanted, "nthread", min(usable_processors(), self._n))
        self._on_error = on_error
        if remembered_contacts is not None:
            remembered_contacts = integer(remembered_contacts, "remembered_contacts", 1)
        # a copy of a stepper follows its own model only
        stepper = copy.deepcopy(model) if isinstance(model, Stepper) else Stepper(model, **options)
        given = stepper.model if isinstance(model, Stepper) else model
        self._start(copy.copy(given), stepper, remembered_contacts)

    def __getstate__(self) -> dict[str, Any]:
        self._refuse_while_async()
        return {
            "model": self.model,
            "stepper": self._stepper,
            "n": (self._n, self._nthread, self._on_error),
            "remembered": self._remembered or None,
            "state": self.state,
            "warning": self.warning,
            "failures": (self._status, self._errors),
            "worlds": self._worlds.snapshot(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._n, self._nthread, self._on_error = state["n"]
        self._start(state["model"], state["stepper"], state["remembered"])
        self.state[:], self.warning[:] = state["state"], state["warning"]
        status, errors = state["failures"]
        self._status[:], self._errors = status, dict(errors)
        self._worlds.restore(state["worlds"])

    def _start(self, model: mujoco.MjModel, stepper: Stepper, remembered: int | None) -> None:
        parameters = stepper.parameters
        if parameters.scheme != SYMPLECTIC_EULER:
            raise NotSupported("batches are by symplectic_euler, other schemes by Stepper.run")
        self.model, self._stepper = model, stepper
        self._workers = Workers(parameters, engine(), own_models=True)
        self._core = self._workers.loop(self._nthread)
        if parameters.settings.friction != "lagged" and remembered is not None:
            raise ValueError("remembered_contacts: only friction='lagged' remembers contacts")
        lags = parameters.settings.friction == "lagged"
        self._remembered = (remembered or _most_contacts(model, parameters)) if lags else 0
        n_memory = self._workers.memory_size(self._remembered)
        if lags:
            n_memory += self._core.memory_size(self._remembered)
        self._outputs = Outputs(model, self._workers, self._n, n_memory)
        self._worlds = WorldParameters(model, stepper, self._workers, self._outputs, self._n)
        self._status = np.zeros(self._n, np.uint8)
        self._errors: dict[int, str] = {}
        self._turn = Turn()
        self._lists = None
        self._behind: threading.Thread | None = None
        self._raised: list[BaseException] = []
        free_in_children(self, Batch._free)

    def _free(self) -> None:
        """Replace, in a child process, what a thread of the parent was using."""
        if self._turn.is_taken():
            self._turn = Turn()
            state, status = self.state.copy(), self._status.copy()
            self._workers.forget()
            self._core = self._workers.loop(self._nthread)
            self.state[:], self._status[:] = state, status

    # ---- calls ----------------------------------------------------------------------------------

    def step(self, ids: ArrayLike | None = None, nstep: int = 1, stage: int = _NONE) -> None:
        """Advance worlds by some substeps, then compute stages.

        Parameters
        ----------
        ids : array_like, optional
            Sorted indices of worlds, or a mask (nsim,); None is all.
        nstep : int
            Number of substeps, at least 0.
        stage : int
            Stage of ``mujoco.mjtStage`` to compute at the new state; see :meth:`forward`. With none
            derived fields describe the state before the last substep.

        Raises
        ------
        SimulationError
            If worlds failed, with ``on_error="raise"``.
        TypeError, ValueError
            For wrong arguments; no world has moved.
        """
        chosen = world_ids(ids, self._n)
        self._run(chosen, steps=integer(nstep, "nstep", 0), stage=_stage(stage))

    def step_async(self, ids: ArrayLike | None = None, nstep: int = 1, stage: int = _NONE) -> None:
        """Begin a :meth:`step` on the threads of the batch, and return; :meth:`wait` ends it.

        Until then the rows of these worlds must be left alone, and other calls wait.

        Parameters
        ----------
        ids, nstep, stage
            Arguments of :meth:`step`.

        Raises
        ------
        RuntimeError
            If another such step has not been waited for.
        TypeError, ValueError
            As for :meth:`step`.
        """
        self._refuse_while_async()
        chosen, steps = world_ids(ids, self._n), integer(nstep, "nstep", 0)
        last = _stage(stage)

        def work() -> None:
            try:
                self._run(chosen, steps=steps, stage=last)
            except BaseException as error:
                self._raised.append(error)

        self._behind = threading.Thread(target=work, name="sapwood batch")
        self._behind.start()

    def wait(self) -> None:
        """End the step that :meth:`step_async` began.

        Raises
        ------
        RuntimeError
            If there is none.
        SimulationError
            As for :meth:`step`.
        """
        if self._behind is None:
            raise RuntimeError("there is no step to wait for: step_async begins one")
        self._behind.join()
        self._behind = None
        if self._raised:
            raise self._raised.pop()

    def _refuse_while_async(self) -> None:
        if self._behind is not None:
            raise RuntimeError("a step of step_async is under way: wait() ends it")

    def forward(self, ids: ArrayLike | None = None, stage: int = _ACC) -> None:
        """Compute the stages of a step up to one, without integration; states stay.

        Parameters
        ----------
        ids : array_like, optional
            As for :meth:`step`.
        stage : int
            Stage of ``mujoco.mjtStage``: positions, velocities, or accelerations, with the contact
            forces that a step from this state has.

        Raises
        ------
        SimulationError, TypeError, ValueError
            As for :meth:`step`.
        """
        self._run(world_ids(ids, self._n), stage=_stage(stage))

    def reset(
        self,
        ids: ArrayLike | None = None,
        keyframe: ArrayLike = -1,
        stage: int = _ACC,
        *,
        state: ArrayLike | None = None,
    ) -> None:
        """Set worlds back, then compute stages.

        Parameters
        ----------
        ids : array_like, optional
            As for :meth:`step`.
        keyframe : int or array_like (n,)
            Keyframe for all worlds of the call, or for each; -1 is the start of the model.
        stage : int
            As for :meth:`forward`; none is cheapest, for states that are written next.
        state : array_like (n, nstate) or (nstate,), optional
            States for the n worlds of the call, or one for all, in place of a keyframe, in the
            layout of :attr:`state`, or without what it has behind the state of MuJoCo.

        Raises
        ------
        SimulationError, TypeError, ValueError
            As for :meth:`step`.
        """
        chosen = world_ids(ids, self._n)
        n = self._n if chosen is None else len(chosen)
        keys = bounded(keyframe, (n,), -1, self.model.nkey, "keyframe")
        if state is None:
            self._run(chosen, keys=keys, stage=_stage(stage))
            return
        if (keys >= 0).any():
            raise ValueError("keyframe and state: only one of them says where worlds start")
        rows = self._outputs.whole_rows(_core.as_float64(state, "state"), n)
        self._run(chosen, overlay=rows[:, None], overlay_spec=WHOLE_STATE, stage=_stage(stage))

    def rollout(
        self,
        nstep: int,
        control: ArrayLike | None = None,
        control_spec: int = _CONTROL,
        record: Sequence[RecordItem] = ("qpos",),
        ids: ArrayLike | None = None,
        out: Mapping[RecordItem, _Array] | None = None,
    ) -> dict[RecordItem, _Array]:
        """Advance worlds with a control for each substep, and record each substep.

        Parameters
        ----------
        nstep : int
            Number of substeps.
        control : array_like (n, nstep, ncontrol), optional
            Values set before each substep, of length 1 along an axis whose entries share them; None
            leaves the inputs as they are.
        control_spec : int
            Fields in ``control``: bits of ``mujoco.mjtState`` within ``mjSTATE_USER``.
        record : sequence of str or int
            Names of fields of MjData, or bits of ``mujoco.mjtState`` for states.
        ids : array_like, optional
            As for :meth:`step`.
        out : mapping, optional
            Arrays to record into, by items of ``record``.

        Returns
        -------
        dict
            For each item of ``record`` an array (n, nstep, ...); of a world that failed, substeps
            from there on are NaN, or 0 for integers.

        Raises
        ------
        SimulationError, TypeError, ValueError
            As for :meth:`step`.
        """
        chosen = world_ids(ids, self._n)
        n = self._n if chosen is None else len(chosen)
        steps, spec = integer(nstep, "nstep", 0), integer(control_spec, "control_spec", 0)
        if spec & ~_USER:
            raise ValueError(f"control_spec = {spec}: must be of bits in mjSTATE_USER")
        arrays, records = record_arrays(self.model, self._outputs, record, (n, steps), out or {})
        plane = None if control is None else control_plane(self.model, control, spec, (n, steps))
        taken = np.zeros(n, np.int64)
        try:
            self._run(
                chosen, steps=steps, control=plane, control_spec=spec, records=records, taken=taken
            )
        finally:
            for world in np.flatnonzero(taken < steps):
                for array in arrays.values():
                    array[world, taken[world] :] = np.nan if array.dtype.kind == "f" else 0
        return arrays

    def _run(self, ids: NDArray[np.int32] | None, *, steps: int = 0, **arguments: Any) -> None:
        """Run a call in C, and tell of worlds that failed."""
        n = self._n if ids is None else len(ids)
        failed: dict[int, str] = {}

        def tell(worker: int, position: int, step: int, failure: Failure | BaseException) -> None:
            world = position if ids is None else int(ids[position])
            if isinstance(failure, BaseException) and not isinstance(failure, StepError):
                failure.add_note(f"in simulation {world}, substep {step}")
                raise failure
            failed[world] = str(self._workers.error_of(worker, failure, step, None))

        parameters, outputs = self._worlds, self._outputs
        with self._turn:
            try:
                parameters.refresh()
                outputs.bind_to(self._core)
                self._core.run(
                    n_worlds=n,
                    state=outputs.state,
                    state_spec=WHOLE_STATE,
                    remembered=self._remembered,
                    ids=ids,
                    steps=steps,
                    status=self._status,
                    last_records=outputs.records,
                    body_forces=outputs.body_forces,
                    speeds=parameters.speeds,
                    contacts=None if self._lists is None else self._lists.logs,
                    chunk=chunk_of(n, self._nthread),
                    signals=threading.current_thread() is threading.main_thread(),
                    failed=tell,
                    **arguments,
                    **self._soft_arguments(ids, arguments),
                )
            finally:
                self._keep_errors(ids, failed)
        if failed and self._on_error == "raise":
            worlds = np.array(sorted(failed))
            raise SimulationError.of(worlds, failed[int(worlds[0])], n)

    def _soft_arguments(
        self, ids: NDArray[np.int32] | None, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Further arguments of a call for worlds with soft bodies or flexes; none without."""
        if self._stepper.parameters.soft is None:
            return {}
        outputs, starts = self._outputs, arguments.get("overlay")
        if starts is not None:
            starts = starts[:, 0]
        elif "keys" in arguments:
            starts = np.zeros((1, self.nstate))
        logs = None if self._lists is None else self._lists.logs
        given = SoftOutputs(self._worlds.speeds, logs, outputs.body_forces)
        return self._workers.soft_arguments(ids, outputs.state, starts, given, self._remembered)

    def __repr__(self) -> str:
        return f"Batch(nsim={self._n}, nthread={self._nthread}, nv={self.model.nv})"


def _most_contacts(model: mujoco.MjModel, parameters: StepParameters) -> int:
    """Contacts that lagged friction may remember where nothing else was asked for."""
    soft, n = parameters.soft, max(64, 8 * int(model.ngeom))
    if soft is None:
        return n
    faces = sum(len(body.mesh.faces) for body in soft.bodies)
    vertices: int = sum(flex.vertices.stop - flex.vertices.start for flex in soft.flexes)
    return n + faces + 2 * vertices


def _stage(stage: int) -> int:
    if type(stage) is int and stage in _STAGES:
        return stage
    number = integer(int(stage) if isinstance(stage, mujoco.mjtStage) else stage, "stage")
    if number not in _STAGES:
        raise ValueError(f"stage = {number}: must be of mujoco.mjtStage")
    return number
