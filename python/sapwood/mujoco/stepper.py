"""Steps of a MuJoCo model: MuJoCo's stages around the contact solver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.checks import integer
from sapwood.base.hints import explained
from sapwood.constraints.materials import ConstraintMaterial
from sapwood.fem.bodies import SoftBody
from sapwood.laws.materials import ContactMaterial
from sapwood.mujoco.followed_steps import FollowedSteps
from sapwood.mujoco.following.following import Following
from sapwood.mujoco.reading.fields import Field
from sapwood.mujoco.reading.names import model_name
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.reading.versions import check_version
from sapwood.mujoco.results.faults import error_of
from sapwood.mujoco.results.notices import Notices
from sapwood.mujoco.results.recording import Recording, check_names
from sapwood.mujoco.results.results import RunResult, StepError, add_counts
from sapwood.mujoco.stepping.accurate_steps import AccurateSteps
from sapwood.mujoco.stepping.steps import Steps
from sapwood.mujoco.stepping.ways import steps_of
from sapwood.problem.arrays import Delassus
from sapwood.settings import Friction, SapSettings
from sapwood.stepping.schemes import SYMPLECTIC_EULER, Scheme

check_version(mujoco.__version__)


class Stepper(FollowedSteps):
    """Steps of one model by the contact solver of this package, in the place of ``mj_step``.

    MuJoCo computes kinematics, collisions, smooth forces and sensors; the stepper computes contact
    forces and the next velocity, and integrates by symplectic Euler or `scheme`. It works on a
    private copy of the model, ``stepper.model``, and follows changes of either. After a step
    ``data`` holds what ``mj_step`` leaves; ``contacts``, ``constraints`` and ``solution`` tell of
    the step. ``docs/reference/stepper.md`` says what counts of a model.

    Parameters
    ----------
    model : mujoco.MjModel
        Any model.
    time_step : float, optional
        s; None is ``model.opt.timestep``.
    contact : ContactMaterial, optional
        Material of geoms without one of their own. None is the model's default, or else a rigid
        material with the time step as dissipation time.
    materials : mapping, optional
        Materials by geom name (str) or group (int).
    sigma, beta : float, optional
        Tangential regularization, None: 1e-3, less where slip is slow; near-rigid parameter.
    delassus : {"block", "diagonal"}
        Estimate of the Delassus blocks.
    settings : SapSettings, optional
        Settings of the solver. None: the defaults with at most 200 iterations.
    friction : {"convex", "lagged", "coulomb"}, optional
        None is "coulomb", or "convex" for a model with rigid cores.
    ignore : collection of str
        Constraints to leave out, with a warning: any of "limit", "equality", "frictionloss",
        "flex".
    constraint : ConstraintMaterial, optional
        Material of limits and equality constraints without one of their own.
    constraints : mapping, optional
        Materials by ``joint/NAME``, ``tendon/NAME`` and ``equality/NAME``.
    implicit_actuators : bool
        False: actuators are explicit forces.
    scheme : str or sapwood.stepping.Scheme
        Scheme of the theta-method.
    speculative : bool, optional
        Find contacts that would close within a step before it; None: with Coulomb's friction.
    release_speed : float, optional
        Largest speed, m/s and rad/s, at which violations of rigid constraints are corrected.
        None follows the model's scale.
    fields : mapping, optional
        :class:`sapwood.PressureField` or :class:`sapwood.geometry.FieldShape` by geom name or
        group.
    soft : iterable of sapwood.fem.SoftBody
        Soft bodies in the same problem.
    threads : int
        Threads of a step with soft bodies, flexes or another scheme; no bit depends on them.

    Raises
    ------
    NotSupported
        If the model needs an element that is not simulated; ``reasons`` lists all, with remedies.
    TypeError, ValueError
        For wrong arguments; the text names the argument.

    Examples
    --------
    >>> model = mujoco.MjModel.from_xml_string(
    ...     "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .1'>"
    ...     "<freejoint/><geom type='box' size='.1 .1 .1' mass='2'/></body></worldbody></mujoco>")
    >>> data = mujoco.MjData(model)
    >>> stepper = Stepper(model)
    >>> stepper.run(data, 100).steps
    100
    >>> stepper.contacts.force_on_body(1).round(2).tolist()[2]
    19.62
    """

    @explained()
    def __init__(
        self,
        model: mujoco.MjModel,
        *,
        time_step: float | None = None,
        contact: ContactMaterial | None = None,
        materials: Mapping[str | int, ContactMaterial] | None = None,
        sigma: float | None = None,
        beta: float = 1.0,
        delassus: Delassus = "block",
        settings: SapSettings | None = None,
        friction: Friction | None = None,
        ignore: Collection[str] = (),
        constraint: ConstraintMaterial | None = None,
        constraints: Mapping[str, ConstraintMaterial] | None = None,
        implicit_actuators: bool = True,
        scheme: str | Scheme = "symplectic_euler",
        speculative: bool | None = None,
        release_speed: float | None = None,
        fields: Mapping[str | int, Field] | None = None,
        soft: Iterable[SoftBody] = (),
        threads: int = 1,
    ) -> None:
        self._parameters = StepParameters.of(
            model,
            time_step=time_step,
            contact=contact,
            materials=materials,
            sigma=sigma,
            beta=beta,
            delassus=delassus,
            settings=settings,
            friction=friction,
            ignore=ignore,
            constraint=constraint,
            constraints=constraints,
            implicit_actuators=implicit_actuators,
            scheme=scheme,
            speculative=speculative,
            release_speed=release_speed,
            fields=fields,
            soft=soft,
            threads=threads,
        )
        self._earlier = (0, 0, 0, 0)
        self._given: mujoco.MjModel | None = model
        self._start()

    def _start(self) -> None:
        """Set the fields that a copy makes anew."""
        self._steps = steps_of(self._parameters)
        self._accurate: AccurateSteps | None = None
        self._following = Following(self._parameters, self._given)
        self._behind = threading.Lock()
        self._notices = Notices(self.settings.relative_tolerance)
        # keyed by the identity of their data, while these live
        self._prepared: dict[int, _core.PreparedStep] = {}
        self._checked: Callable[[], mujoco.MjData | None] = lambda: None
        self._forget()
        self._last_run: RunResult | None = None

    def __getstate__(self) -> dict[str, Any]:
        self.follow()
        return {"_parameters": self._parameters, "_earlier": self._counts(), "_given": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    # ---- the step -------------------------------------------------------------------------------

    def step(self, data: mujoco.MjData, surplus: None = None) -> None:
        """Advance ``data`` by one time step.

        Parameters
        ----------
        data : mujoco.MjData
            State and controls of the model; advanced in place.
        surplus : None
            Nothing: ``mj_step(model, data)`` is ``stepper.step(data)``, which an error says.

        Raises
        ------
        StepError
            When the state or the forces are not finite, MuJoCo runs out of memory, a contact is of
            a kind that is not supported, or the solver breaks down. The state is then that before
            the step.
        NotSupported, ValueError
            When flags or options of ``stepper.model`` were set that it refuses or stands on.

        Warns
        -----
        RuntimeWarning
            The first time in a process that the solver stalls at round-off, meets its iteration
            limit, or finds no forces that obey Coulomb's law; every time is counted. The first time
            that a step ends with a rigid contact deeper than a tenth of its narrower geom, too.
        """
        if surplus is not None:
            raise TypeError("write stepper.step(data): a stepper has its model")
        prepared = self._prepared.get(id(data))
        ended = None if prepared is None else prepared.take(data)
        if ended is True:
            self._forget()
        else:
            self._end_step(data, prepared, ended)

    def _end_step(
        self,
        data: mujoco.MjData,
        prepared: _core.PreparedStep | None,
        ended: tuple[int, int, Any] | None,
    ) -> None:
        """Tell how a step ended, and take it first where none was prepared or something changed."""
        if ended is None:
            self._bind(data)
            prepared = self._prepared.get(id(data))
            again = None if prepared is None else prepared.take(data)
            if again is True:
                self._forget()
                return
            ended = again
        if prepared is None or ended is None:
            start, steps, record = data.time, self._steps, np.zeros(1, _core.STEP_RECORD)
            _, notable, failure = steps.run(data, 1, record, signals=False)
            if failure is None:
                self._prepare(data, steps)
        else:
            start, record, (_, notable, reason) = prepared.start, prepared.record, ended
            failure = error_of(reason, self.model, data)
        self._forget()
        if failure is not None:
            raise failure
        if notable:
            self._notices.tell(record, start)

    def _prepare(self, data: mujoco.MjData, steps: Steps) -> None:
        """Prepare the next step of these data, unless steps are taken in another way meanwhile."""
        table, key = self._prepared, id(data)
        step = steps.prepare(data, self._following.bytes, lambda _: table.pop(key, None))
        if step is not None and steps is self._steps:
            table[key] = step

    def run(
        self,
        data: mujoco.MjData,
        steps: int,
        callback: Callable[[mujoco.MjData], object] | None = None,
        every: int = 1,
        record: Collection[str] = (),
        *,
        accuracy: float | None = None,
        halvings: int | None = None,
    ) -> RunResult:
        """Take many steps, with the loop in C: the same bits as that many calls of :meth:`step`.

        A step then costs as much as MuJoCo's stages and the contact solve. The GIL is released
        between calls of ``callback``, so that other threads go on; callbacks registered with MuJoCo
        (``mujoco.set_mjcb_control`` and others) are called as usual. Ctrl-C ends the run after this
        step or the next one, or within a long solve, whose step is then not taken. Quantities of
        steps between that nobody sees, such as sensor values, are not computed: the last step, and
        each step before a ``callback``, leaves all of them in ``data``. If a run ends early, its
        steps so far are taken, and :attr:`last_run` has their records. For schemes other than the
        default the loop is Python's.

        Parameters
        ----------
        data : mujoco.MjData
            State and controls of the model; advanced in place.
        steps : int
            Number of steps.
        callback : callable, optional
            Called with ``data`` after each ``every`` steps. It may read and change ``data``
            (controls, applied forces) and use this stepper; it ends the run by returning True.
        every : int
            Steps from one call of ``callback`` to the next.
        record : collection of str
            Arrays to record, by name: "qpos", "qvel", "act", "qacc", "ctrl", "actuator_force",
            "qfrc_constraint" and "sensordata" as in ``data`` after each step; "state", as of
            ``mj_getState`` with ``mjSTATE_FULLPHYSICS``; "force", the sum of the contact forces on
            each body; "contacts", all contacts of each step, see :meth:`RunResult.contacts_of`; and
            "soft", the positions of the vertices of soft bodies. The result has arrays of the same
            names.
        accuracy : float, optional
            Takes each step in parts with an estimated error of at most this: of translations in
            ``model.stat.extent``, of rotations in rad, of velocities times the time step. Controls
            are held over a step. Contacts converge where stiffness and dissipation time are
            finite: the stiffness of a near-rigid contact depends on the length of its part.
        halvings : int, optional
            With ``accuracy``, the smallest part is the time step over 2^halvings, 2^14 by default;
            it is taken even if its error is larger, and counted in ``error_control`` of the result.

        Returns
        -------
        RunResult
            Records of the steps, one entry per step.

        Raises
        ------
        StepError
            The same as for :meth:`step`; its ``step`` is the position in the run.
        NotSupported, ValueError
            The same as for :meth:`step`.
        TypeError, ValueError
            For wrong arguments; the text names the argument.

        Warns
        -----
        RuntimeWarning
            The same as for :meth:`step`.

        Examples
        --------
        >>> import mujoco, sapwood.mujoco
        >>> model = sapwood.studies.scenes.clutter(4).compile()
        >>> stepper, data = sapwood.mujoco.Stepper(model), mujoco.MjData(model)
        >>> result = stepper.run(data, 100)
        >>> result.steps, result.converged
        (100, True)
        >>> heights = []
        >>> result = stepper.run(data, 100, lambda data: heights.append(data.qpos[2]), every=10)
        >>> len(heights)
        10
        >>> result = stepper.run(data, 50, record=("qpos", "contacts"))
        >>> result.qpos.shape, len(result.contacts_of(-1)) == int(result.contacts[-1])
        ((50, 28), True)
        """
        self._last_run = None
        if isinstance(data, mujoco.MjModel):
            raise TypeError("write stepper.run(data, steps): a stepper has its model")
        steps, every = integer(steps, "steps", 0), integer(every, "every", 1)
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be callable, not {type(callback).__name__}")
        names = check_names(record, self.soft)
        records = np.empty(steps, dtype=_core.STEP_RECORD)
        self._bind(data)
        if accuracy is None and halvings is not None:
            raise ValueError(f"halvings = {halvings}: goes with accuracy")
        accurate = None
        if accuracy is not None:
            most = 14 if halvings is None else halvings
            accurate = self._accurate_steps(accuracy, most, steps)
        recording = None
        if names:
            geom_names = self._parameters.geom_names
            recording = Recording(self.model, geom_names, data, names, steps, self.soft)
        try:
            return self._run(data, records, recording, callback, every, accurate)
        finally:
            self._accurate = accurate or self._accurate
            if recording is not None:
                recording.close()

    def _accurate_steps(self, accuracy: float, halvings: int, steps: int) -> AccurateSteps:
        """Steps in parts, after a check of the arguments."""
        tolerance = float(_core.as_float64(accuracy, "accuracy", (), "positive"))
        most = integer(halvings, "halvings", 1)
        if most > 30:
            raise ValueError(f"halvings = {most} must be at most 30")
        if self._parameters.soft is not None:
            raise NotSupported("accuracy: soft bodies and elastic or large flexes take whole steps")
        if self.scheme != SYMPLECTIC_EULER:
            raise NotSupported(f"accuracy: scheme {self.scheme.name} takes whole steps")
        if self.settings.friction == "lagged":
            raise NotSupported(
                "accuracy: friction = 'lagged' remembers the last step; 'coulomb' and 'convex' "
                "do not"
            )
        # nothing else may use them while a run does
        found, self._accurate = self._accurate, None
        found = found or AccurateSteps(self._parameters)
        found.follow(self._parameters)
        found.begin(tolerance, most, steps)
        return found

    def _run(
        self,
        data: mujoco.MjData,
        records: NDArray[np.void],
        recording: Recording | None,
        callback: Callable[[mujoco.MjData], object] | None,
        every: int,
        accurate: AccurateSteps | None,
    ) -> RunResult:
        """Take as many steps as there are records."""
        signals = threading.current_thread() is threading.main_thread()
        steps = len(records)
        taken, at_once = 0, steps if callback is None else every
        control = None if accurate is None else accurate.records
        result = self._last_run = RunResult(
            records[:0], recording, None if control is None else control[:0]
        )
        while taken < steps:
            start = data.time
            rest = records[taken : taken + at_once]
            done, notable, failure = (self._steps if accurate is None else accurate).run(
                data, len(rest), rest, signals=signals, recording=recording
            )
            self._forget()
            if accurate is not None:
                self._left = accurate, self._parameters
                self._earlier = add_counts(self._earlier, accurate.new_counts())
            taken += done
            result = self._last_run = RunResult(
                records[:taken], recording, None if control is None else control[:taken]
            )
            if notable:
                self._notices.tell(rest[:done], start)
            if failure is not None:
                if isinstance(failure, StepError):
                    failure.step = taken
                raise failure
            if callback is not None and taken % every == 0:
                try:
                    answer = callback(data)
                    if isinstance(answer, bool | np.bool_) and answer:
                        break
                    self.follow()
                    if accurate is not None:
                        accurate.follow(self._parameters)
                finally:
                    # a run within the callback is not the last one
                    self._last_run = result
        return result

    # ---- results --------------------------------------------------------------------------------

    @property
    def last_run(self) -> RunResult | None:
        """The steps that the last :meth:`run` took, also of one that an error ended."""
        return self._last_run

    def __repr__(self) -> str:
        return (
            f"Stepper({model_name(self.model)!r}, nv={self.model.nv}, "
            f"time_step={self.time_step:g}, friction={self.settings.friction!r}, "
            f"scheme={self.scheme.name!r}, steps={self.steps})"
        )
