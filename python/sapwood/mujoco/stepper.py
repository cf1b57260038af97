"""Steps of a MuJoCo model: MuJoCo's stages around the contact solver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.checks import integer
from sapwood.base.hints import explained
from sapwood.constraints.materials import ConstraintMaterial
from sapwood.laws.materials import ContactMaterial
from sapwood.mujoco.following.following import Following
from sapwood.mujoco.last_step import LastStep
from sapwood.mujoco.reading.arrays import Bound
from sapwood.mujoco.reading.fields import Field
from sapwood.mujoco.reading.names import model_name
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.reading.support import check_version
from sapwood.mujoco.results.faults import error_of
from sapwood.mujoco.results.notices import Notices
from sapwood.mujoco.results.recording import Recording, check_names
from sapwood.mujoco.results.results import DEEP_OVERLAP, UNCONVERGED, RunResult, StepError
from sapwood.mujoco.stepping.ways import steps_of
from sapwood.problem.arrays import Delassus
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import Friction, SapSettings
from sapwood.stepping.schemes import Scheme

check_version(mujoco.__version__)


class Stepper(LastStep):
    """Steps one model with the contact solver of this package, by symplectic Euler or `scheme`.

    The contact law is that of the paper with physical parameters: stiffness, dissipation time and
    friction of each pair of geoms, see :mod:`sapwood.laws`. MuJoCo's own contact parameters
    (solref, solimp, solmix, impratio) are not used, but for: margin and gap, which decide what is a
    contact; condim, 1 (frictionless), 3, 4 (with torsional friction) or 6 (with rolling friction);
    the friction that MuJoCo finds for a contact (the larger one of both geoms, that of the higher
    priority, or that of an explicit ``<pair>``): its torsional and rolling coefficients, lengths in
    m, and the sliding one where no material of the two geoms has a friction, or the pair is
    explicit; and ``surfacevel``. Joint
    damping, also by actuators and of higher order, is implicit: A = M + dt D with the slopes D of
    the damping forces at the start of the step, as MuJoCo does it; other velocity-dependent forces
    are explicit.

    That is the integrator Euler. With ``implicitfast`` and ``implicit`` all smooth forces are
    implicit but gyroscopic ones: A = M - dt (D + D^T)/2 with MuJoCo's derivative D of drag,
    muscles, damped tendons and actuators; without constraints that is MuJoCo's ``implicitfast``,
    but for gyroscopic forces of free bodies. What couples two trees or two branches of a tree is
    explicit. Where A would not be positive definite, by a force that drives motion on, that tree
    steps as with Euler. Models with another integrator (``RK4``, ``discrete``) step like
    ``implicitfast``, with a warning.

    Limits of joints and tendons, equality constraints (connect, weld, joint, tendon), friction loss
    of joints and tendons, and actuators with a spring or a damper are constraints too, of the kinds
    of :mod:`sapwood.constraints`; MuJoCo's constraint parameters are not used for them either.
    Limits and equality constraints are near-rigid unless a :class:`ConstraintMaterial` says
    otherwise. A joint stops in the step that would pass a limit: sides that are far from closing
    are left out of what is solved, and called in where the velocity found would pass them, so that
    the step is that with all of them; ``stepper.constraints`` has them with a force of 0,
    ``stepper.solution`` does not. Friction loss and the residuals of equality constraints are taken
    from MuJoCo in each step, so that ``data.eq_active`` and mocap bodies work.

    Actuators act implicitly where their force is Kp (q_d - q) - Kd v with constant gains
    (``position``, ``velocity``, ``intvelocity``, ``pid``, and ``general`` with an affine bias), on
    a hinge, a slide or a tendon: gains may be of any size. They give their range of forces exactly
    and not more; where a joint bounds its total actuator force, its other actuators come first.
    All other actuators, and those of the same kinds on a site or a ball joint, with a range of
    forces without 0, or several of them on a joint that bounds its total, are explicit forces as in
    ``mj_step``.

    The stepper works on a private copy of the model, ``stepper.model``, which differs in
    opt.timestep, in the flags eulerdamp, island and, with ``ignore``, limit, equality and
    frictionloss (all disabled), in the flags by which MuJoCo would bound the forces of implicit
    actuators (cleared), and in what a warning tells of. Either model may be changed, the one given
    or the copy, while no other thread steps it: gravity, masses, sizes, friction, damping, ranges,
    gains, heights of the ground, options and all else but meshes and what is for the eye alone.
    Every change is seen at the start of the next call, whichever that is, and after each callback
    of :meth:`run`; steps are then those of a new stepper, and what that refuses is refused. What
    lays out the problem (trees, joints, transmissions, kinds of equality constraints, integrator,
    cone, time step) is refused by name; with ``fields`` also what shapes and pairs of geoms follow
    from.

    MuJoCo lists a contact while the geoms overlap, so that a body that hits something is thrown
    back by as much as it happened to pass into it. With ``speculative`` the margin of each geom
    holds in every step what its surface can travel, and a contact that is open acts where its gap
    would close: with the dissipation time of a damper that is not there yet, dt/4 at most. Contacts
    that would not close have no force, but are in ``data.contact``, as a contact sensor sees them;
    most of them are not in ``contacts`` and ``solution``, as the solver was not asked about them.
    Margins and gaps of the model are the least. Contacts that come by an acceleration other than
    gravity's are found a step later. Without ``speculative`` a contact within the model's own
    margin acts with its whole dissipation time.

    After a step ``data`` is as after ``mj_step``: time, state, warm start, qacc, qfrc_constraint,
    efc_force and sensors. efc_force has the force (n, t1, t2) of each contact, and for condim 4 and
    6 its torque about n or all three, where the model's cone is elliptic, and edge forces that give
    the same force and torque where it is pyramidal, so that ``mj_contactForce`` and viewers show
    them. qacc is (v - v_0)/dt: with damping, M qacc =
    qfrc_smooth + qfrc_constraint - dt D qacc. Forces of implicit actuators are in actuator_force,
    qfrc_actuator and qfrc_smooth, as they were in the step; qfrc_constraint has all other
    constraints, and efc_force those that MuJoCo lists, which limits are only once they are passed.
    qacc_smooth and the efc_* arrays of MuJoCo's own contact model (efc_aref, efc_R, ...) are there
    and not used.

    One stepper may serve several data of the same model, in turn or from several threads; results
    are then those of the last step of any of them. Pickling or copying keeps model, parameters and
    counters; a copy follows its own ``model`` alone.

    Parameters
    ----------
    model : mujoco.MjModel
        Any model with free bodies and articulated trees.
    time_step : float, optional
        Time step in s; None is ``model.opt.timestep``.
    contact : ContactMaterial, optional
        Material of all geoms that nothing more special speaks of. None is the model's own default,
        or else a rigid material with the time step as dissipation time.
    materials : mapping, optional
        Materials by geom name (str) or geom group (int); they come before those in the model's
        custom numbers, see :func:`sapwood.laws.custom_materials`.
    sigma, beta : float
        Tangential regularization and near-rigid parameter, Eqs. (21) and (22).
    delassus : {"block", "diagonal"}
        Estimate of the Delassus blocks.
    settings : SapSettings, optional
        Settings of the solver; its law of friction is that of ``friction``. None: the defaults, but
        for at most 100 iterations, so that no step takes long.
    friction : {"convex", "lagged", "coulomb"}, optional
        The law of friction, whatever ``settings.friction`` says. None is "coulomb", but "convex"
        where the model has rigid cores, which know no other. With "convex" and "coulomb" the same
        state gives the same next state. "lagged", of the default scheme alone, remembers the normal
        forces of the step before, of each data by itself: while time, qpos, qvel and act are what
        the last step by this stepper left. ``mj_setState``, ``mj_resetData`` and copies, of the
        data or of the stepper, forget them, as none of MuJoCo's states carries them.
    ignore : collection of str
        Constraints to leave out, with a warning that names them: any of "limit" (of joints and
        tendons), "equality", "frictionloss", "flex" (contacts of flexes).
    constraint : ConstraintMaterial, optional
        Material of all limits and equality constraints that nothing more special speaks of. None is
        the model's own default, or else as rigid as the time step allows.
    constraints : mapping, optional
        Materials by ``joint/NAME``, ``tendon/NAME`` and ``equality/NAME``; they come before those
        in the model's custom numbers, see :func:`sapwood.constraints.custom_stiffness`.
    implicit_actuators : bool
        False: all actuators are explicit forces.
    scheme : str or sapwood.stepping.Scheme
        Scheme of the theta-method. All but "symplectic_euler" run in stages from Python and take
        springs, dampers and actuators as implicit as they are; see :mod:`sapwood.stepping`.
    speculative : bool, optional
        Whether contacts that would close within a step are found before it; None: with Coulomb's
        friction and the default scheme. The other laws may give an open contact a force: by the
        convex one, with which bodies glide, and by lagged friction, whose new contacts start from
        it, a body that slides past another at a small distance is lifted and braked. True is
        refused by other schemes, and where this version of MuJoCo cannot be driven from C both True
        and None are: False says that contacts may be found late. While a filter of contacts is
        registered with MuJoCo they are.
    release_speed : float, optional
        Rigid contacts, limits and equality constraints (those that nobody gave a stiffness) that
        are violated by more than their motion has left since the step before are corrected with
        this speed at most, in m/s and rad/s, or as fast as MuJoCo would by their ``solref``; what
        they carry is not bounded. Rigid contacts under a load are stiffer, so that they yield with
        half of it at most. Mocap bodies pull with a force in proportion to it. None follows the
        scale of the model: 0.1 sqrt(g s) m/s and 0.01 sqrt(g/s) rad/s with its gravity g and the
        size s of its bodies, ``model.stat.meansize``. ``math.inf``: in a step or two, whatever the
        speed, and no stiffer for a load; other schemes than the default have nothing else.
    fields : mapping, optional
        Pressure fields by geom name (str) or geom group (int): :class:`sapwood.PressureField`, or a
        :class:`sapwood.geometry.FieldShape` in the frame of the geom. Compliant geoms meet all
        others in patches, see ``patches``; by the default scheme alone. They come before those in
        the model's custom numbers, ``sapwood/field/geom/NAME`` and ``sapwood/field/group/NUMBER``:
        modulus, resolution, margin and thickness.

    Raises
    ------
    NotSupported
        Where the model needs what this package does not do: for all reasons at once, with the names
        of the elements and with what lets it run without each, see its ``reasons``.
    TypeError, ValueError
        For wrong arguments; the text names the argument.
    """

    @explained()
    def __init__(
        self,
        model: mujoco.MjModel,
        *,
        time_step: float | None = None,
        contact: ContactMaterial | None = None,
        materials: Mapping[str | int, ContactMaterial] | None = None,
        sigma: float = 1e-3,
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
        )
        self._earlier = (0, 0, 0, 0)
        self._given: mujoco.MjModel | None = model
        self._start()

    def _start(self) -> None:
        """What a copy makes anew."""
        self._steps = steps_of(self._parameters)
        self._following = Following(self._parameters, self._given)
        self._behind = threading.Lock()
        self._notices = Notices(self.settings.relative_tolerance, self._earlier)
        self._bound: Bound | None = None
        self._prepared: _core.PreparedStep | None = None
        self._forget()
        self._last_run: RunResult | None = None

    def __getstate__(self) -> dict[str, Any]:
        self.follow()
        return {"_parameters": self._parameters, "_earlier": self._counts(), "_given": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def follow(self) -> None:
        """See what has changed of the model; all that steps do so by themselves.

        Raises
        ------
        NotSupported, ValueError
            Where something has changed that cannot; the text names it.
        """
        if not self._following.is_behind():
            return
        self._prepared = None
        with self._behind:
            parameters = self._following.read()
            if parameters is not self._parameters:
                steps = steps_of(parameters)
                # what was asked for of the last step stays until the next one
                _ = self.solution, self.contacts, self.constraints, self.patches
                self._earlier, self._steps = self._counts(), steps
                self._parameters = parameters
            self._following = Following(parameters, self._given)

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
            The first time that the solver stalls at round-off, meets its iteration limit, or finds
            no forces that obey Coulomb's law; every time is counted. The first time that a step
            ends with a rigid contact deeper than a tenth of its narrower geom, too.
        """
        if surplus is not None:
            raise TypeError("write stepper.step(data): a stepper has its model")
        prepared = self._prepared
        ended = prepared.take() if prepared is not None and prepared.data is data else None
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
        if prepared is None or ended is None:
            bound, start = self._bind(data), data.time
            following, steps = self._following, self._steps
            _, notable, failure = steps.run(bound, 1, None, signals=False)
            watches = following.bytes if failure is None else None
            self._prepared = None if watches is None else steps.prepare(bound, watches)
        else:
            start, (_, notable, failure) = prepared.start, ended
            failure = error_of(failure, self.model, data)
        self._forget()
        if failure is not None:
            raise failure
        if notable:
            self._tell_of_last_step(start)

    def run(
        self,
        data: mujoco.MjData,
        steps: int,
        callback: Callable[[mujoco.MjData], object] | None = None,
        every: int = 1,
        record: Collection[str] = (),
    ) -> RunResult:
        """Take many steps, with the loop in C: the same bits as that many calls of :meth:`step`.

        A step then costs what MuJoCo's stages and the contact solve cost. The GIL is released
        between calls of ``callback``, so that other threads go on; callbacks that are registered
        with MuJoCo (``mujoco.set_mjcb_control`` and others) are called as ever. Ctrl-C ends the
        run after the step it is in or the next one, or a solve that lasts, whose step is then not
        taken. What nobody sees of the steps between, such as values of sensors, is not computed:
        the last step, and each that ``callback`` sees, leaves all of it in ``data``. Whatever
        ends a run early, the steps before it are taken, and :attr:`last_run` tells of them. Where
        this version of MuJoCo cannot be driven from C, and by schemes other than the default, the
        loop is Python's.

        Parameters
        ----------
        data : mujoco.MjData
            State and controls of the model; advanced in place.
        steps : int
            How many steps to take.
        callback : callable, optional
            Called with ``data`` after each ``every`` steps. It may read and change ``data``
            (controls, applied forces) and use this stepper; it ends the run by returning True.
        every : int
            Steps from one call of ``callback`` to the next.
        record : collection of str
            What to keep of each step, in arrays of the result with the same names: "qpos", "qvel",
            "act", "qacc", "ctrl", "actuator_force", "qfrc_constraint" and "sensordata" as they are
            in ``data`` after the step; "state", that of ``mj_getState`` with
            ``mjSTATE_FULLPHYSICS``; "force", the sum of the contact forces on each body; and
            "contacts", all that :attr:`contacts` tells, one by one, see
            :meth:`RunResult.contacts_of`.

        Returns
        -------
        RunResult
            How the steps went, one entry per step.

        Raises
        ------
        StepError
            As :meth:`step` does; its ``step`` is the position in the run.
        NotSupported, ValueError
            As :meth:`step` does.
        TypeError, ValueError
            For wrong arguments; the text names the argument.

        Warns
        -----
        RuntimeWarning
            As :meth:`step` does.

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
        names = check_names(record)
        records = np.empty(steps, dtype=_core.STEP_RECORD)
        bound = self._bind(data)
        if not names:
            return self._run(bound, records, None, callback, every)
        recording = Recording(self.model, self._parameters.geom_names, data, names, steps)
        try:
            return self._run(bound, records, recording, callback, every)
        finally:
            recording.close()

    def _run(
        self,
        bound: Bound,
        records: NDArray[np.void],
        recording: Recording | None,
        callback: Callable[[mujoco.MjData], object] | None,
        every: int,
    ) -> RunResult:
        """Take as many steps as there are records."""
        signals = threading.current_thread() is threading.main_thread()
        data, steps = bound.data, len(records)
        taken, at_once = 0, steps if callback is None else every
        result = self._last_run = RunResult(records[:0], recording)
        while taken < steps:
            start = data.time
            rest = records[taken : taken + at_once]
            done, notable, failure = self._steps.run(
                bound, len(rest), rest, signals=signals, recording=recording
            )
            self._forget()
            taken += done
            result = self._last_run = RunResult(records[:taken], recording)
            if notable:
                self._notices.of_run(rest[:done], start)
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
                finally:
                    # a run within the callback is not the last one
                    self._last_run = result
        return result

    def step1(self, data: mujoco.MjData) -> None:
        """First half of a step, up to the velocity-dependent quantities, as ``mj_step1``.

        Controls and applied forces may be set from what it has computed, before :meth:`step2`.

        Parameters
        ----------
        data : mujoco.MjData
            State of the model.

        Raises
        ------
        StepError, NotSupported, ValueError
            As :meth:`step` does.
        """
        bound = self._bind(data)
        self._parameters.check_options()
        self._steps.start(bound)

    def step2(self, data: mujoco.MjData) -> None:
        """Second half of a step: forces, contact, sensors and integration, as ``mj_step2``.

        Parameters
        ----------
        data : mujoco.MjData
            As :meth:`step1` left it, with controls and applied forces; advanced in place.

        Raises
        ------
        StepError
            As :meth:`step` does.

        Warns
        -----
        RuntimeWarning
            As :meth:`step` does.
        """
        bound, time = self._bind(data), data.time
        try:
            status = self._steps.finish(bound)
        finally:
            self._forget()
        if status in UNCONVERGED or self._steps.overlap() > DEEP_OVERLAP:
            self._tell_of_last_step(time)

    def _tell_of_last_step(self, start: float) -> None:
        overlap = self._steps.overlap()
        self._notices.of_last_step(self._counts(), self.solution, overlap, start)

    def problem(self, data: mujoco.MjData, as_solved: bool = False) -> ContactProblem:
        """The contact problem of a state, for study; neither ``data`` nor any result changes.

        Parameters
        ----------
        data : mujoco.MjData
            State and controls of the model.
        as_solved : bool
            With the contacts and limits of the last solve of the step alone, which leaves out those
            that are far from closing, and its start as ``v_guess``: :func:`sapwood.solve` with the
            settings of the stepper gives the velocity of the step. By default all that are listed
            take part.

        Returns
        -------
        ContactProblem
            With copies of all arrays and the velocity before the step as ``v_guess``; the stiffness
            of a rigid pair is the largest finite number.

        Raises
        ------
        StepError, NotSupported, ValueError
            As :meth:`step` does; ValueError for ``as_solved`` with lagged friction, whose bounds
            are those of the step before.
        """
        self._bind(data)
        self._parameters.check_options()
        return self._steps.problem(data, as_solved)

    def _bind(self, data: mujoco.MjData) -> Bound:
        self.follow()
        bound = self._bound
        if bound is None or bound.data is not data:
            bound = Bound.of(self.model, data)
            self._bound = bound
        return bound

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
