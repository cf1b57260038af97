"""Steps of a MuJoCo model: MuJoCo's stages around the contact solver."""

from __future__ import annotations

import threading
import weakref
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
from sapwood.mujoco.reading.arrays import check_data
from sapwood.mujoco.reading.fields import Field
from sapwood.mujoco.reading.names import model_name
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.reading.versions import check_version
from sapwood.mujoco.results.faults import error_of
from sapwood.mujoco.results.notices import Notices
from sapwood.mujoco.results.recording import Recording, check_names
from sapwood.mujoco.results.results import RunResult, StepError
from sapwood.mujoco.stepping.steps import Steps
from sapwood.mujoco.stepping.ways import steps_of
from sapwood.problem.arrays import Delassus
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import Friction, SapSettings
from sapwood.stepping.schemes import Scheme

check_version(mujoco.__version__)


class Stepper(LastStep):
    """Steps one model with the contact solver of this package, by symplectic Euler or `scheme`.

    **Contact.** The contact law is the paper's, with physical parameters: stiffness, dissipation
    time and friction of each pair of geoms, see :mod:`sapwood.laws`. Of MuJoCo's own contact
    parameters the stepper uses:

    - margin and gap, which decide what is a contact;
    - condim: 1 (frictionless), 3, 4 (with torsional friction) or 6 (with rolling friction);
    - friction, as MuJoCo combines it for a contact: the torsional and rolling coefficients, lengths
      in m, and the sliding one if no material of the two geoms has a friction or the pair is
      explicit;
    - ``surfacevel``.

    It ignores solref, solimp, solmix and impratio.

    **Integrators.** With the integrator Euler, joint damping, also by actuators and of higher
    order, is implicit as in MuJoCo: A = M + dt D with the slopes D of the damping forces at the
    start of the step. Other velocity-dependent forces are explicit. With ``implicitfast`` and
    ``implicit`` all smooth forces except gyroscopic ones are implicit: A = M - dt (D + D^T)/2 with
    MuJoCo's derivative D of drag, muscles, damped tendons and actuators. Without constraints that
    is MuJoCo's ``implicitfast``, up to gyroscopic forces of free bodies. Forces that couple two
    trees or two branches of a tree are explicit. If a force that accelerates motion would make A
    indefinite, its tree steps as with Euler. Models with another integrator (``RK4``,
    ``discrete``) step like ``implicitfast``, with a warning.

    **Other constraints.** Limits of joints and tendons, equality constraints (connect, weld, joint,
    tendon), friction loss of joints and tendons, and actuators with a spring or a damper are
    constraints of the kinds of :mod:`sapwood.constraints`, without MuJoCo's constraint parameters.
    Limits and equality constraints are near-rigid unless a :class:`ConstraintMaterial` says
    otherwise. A joint stops in the step that would pass a limit. Limits far from closing are left
    out of the solve, and added if the velocity would pass them: the step is the same as with all of
    them. ``stepper.constraints`` lists them with a force of 0, ``stepper.solution`` does not.
    Friction loss and the residuals of equality constraints are read from MuJoCo in each step, so
    that ``data.eq_active`` and mocap bodies work.

    **Actuators** are implicit if their force is Kp (q_d - q) - Kd v with constant gains
    (``position``, ``velocity``, ``intvelocity``, ``pid``, and ``general`` with an affine bias), on
    a hinge, a slide or a tendon: gains may have any size. They respect their range of forces
    exactly. If a joint bounds its total actuator force, its other actuators come first. All other
    actuators are explicit forces as in ``mj_step``; so are those on a site or a ball joint, those
    with a range of forces without 0, and several on a joint that bounds its total.

    **Changes of the model.** The stepper works on a private copy of the model, ``stepper.model``.
    It differs in opt.timestep, in the flags eulerdamp, island and, with ``ignore``, limit, equality
    and frictionloss (all disabled), in the flags by which MuJoCo would bound the forces of implicit
    actuators (cleared), and as warnings say. Either model may be changed while no other thread
    steps it: gravity, masses, sizes, friction, damping, ranges, gains, heights of the ground,
    options, all except meshes and visual fields. The next call, and the next step after a callback
    of :meth:`run`, sees every change; steps are then the same as those of a new stepper, which may
    also refuse the model. Changes of the layout of the problem (trees, joints, transmissions, kinds
    of equality constraints, integrator, cone, time step) are refused by name; with ``fields`` also
    changes of shapes and of the pairs of geoms.

    **Speculative contacts.** MuJoCo lists a contact while the geoms overlap, so that the rebound of
    an impact depends on the overlap by chance. With ``speculative`` the margin of each geom covers
    the travel of its surface in a step, and an open contact acts when its gap would close, with the
    dissipation time of a damper that is not there yet, dt/4 at most. Contacts that would not close
    have no force; ``data.contact`` has them, as a contact sensor sees them, and most are absent
    from ``contacts`` and ``solution``, since the solver did not need them. Margins and gaps of the
    model are lower limits. Contacts due to an acceleration other than gravity are found a step
    later. Without ``speculative`` a contact within the model's own margin acts with its whole
    dissipation time.

    **Data after a step** are as after ``mj_step``: time, state, warm start, qacc, qfrc_constraint,
    efc_force and sensors. For an elliptic cone, efc_force has the force (n, t1, t2) of each
    contact, with its torque about n for condim 4 and about all axes for condim 6. For a pyramidal
    cone it has edge forces with the same sum, so that ``mj_contactForce`` and viewers show the
    force. qacc is (v - v_0)/dt: with damping, M qacc = qfrc_smooth + qfrc_constraint - dt D qacc.
    Forces of implicit actuators are in actuator_force, qfrc_actuator and qfrc_smooth;
    qfrc_constraint has all other constraints. efc_force has the constraints that MuJoCo lists, and
    limits only once they are passed. qacc_smooth and the efc_* arrays of MuJoCo's own contact model
    (efc_aref, efc_R, ...) exist and are not used.

    **Several data.** One stepper may serve several data of the same model, in turn or from several
    threads; its results are from the last step of any of them. Pickling or copying keeps model,
    parameters and counters; a copy follows its own ``model`` only.

    Parameters
    ----------
    model : mujoco.MjModel
        Any model with free bodies and articulated trees.
    time_step : float, optional
        Time step in s; None is ``model.opt.timestep``.
    contact : ContactMaterial, optional
        Material of all geoms without a material of their own. None is the model's own default, or
        else a rigid material with the time step as dissipation time.
    materials : mapping, optional
        Materials by geom name (str) or geom group (int); they come before those in the model's
        custom numbers, see :func:`sapwood.laws.custom_materials`.
    sigma : float, optional
        Tangential regularization, Eq. (22), > 0, dimensionless. None is 1e-3 for what slips at V_s
        or more, and less in proportion to the slip speed below, down to 1e-6, so that nothing at
        rest creeps: V_s is 0.01 sqrt(g s) m/s and 0.001 sqrt(g/s) rad/s, see `release_speed`. The
        slip is that of the state. A number holds at any slip. Dry friction has the same rule.
    beta : float
        Near-rigid parameter, Eq. (21).
    delassus : {"block", "diagonal"}
        Estimate of the Delassus blocks.
    settings : SapSettings, optional
        Settings of the solver; ``friction`` replaces their law of friction. None: the defaults with
        at most 100 iterations, so that no step takes long.
    friction : {"convex", "lagged", "coulomb"}, optional
        The law of friction, in place of ``settings.friction``. None is "coulomb", or "convex" for a
        model with rigid cores, which have no other. With "convex" and "coulomb" the next state
        depends on the state only. "lagged", for the default scheme only, remembers the normal
        forces of the last step of each data, while time, qpos, qvel and act stay as this stepper
        left them. ``mj_setState``, ``mj_resetData`` and copies of the data or of the stepper forget
        these forces, which are in none of MuJoCo's states.
    ignore : collection of str
        Constraints to leave out, with a warning that names them: any of "limit" (of joints and
        tendons), "equality", "frictionloss", "flex" (contacts of flexes).
    constraint : ConstraintMaterial, optional
        Material of all limits and equality constraints without a material of their own. None is
        the model's own default, or else as rigid as the time step allows.
    constraints : mapping, optional
        Materials by ``joint/NAME``, ``tendon/NAME`` and ``equality/NAME``; they come before those
        in the model's custom numbers, see :func:`sapwood.constraints.custom_stiffness`.
    implicit_actuators : bool
        False: all actuators are explicit forces.
    scheme : str or sapwood.stepping.Scheme
        Scheme of the theta-method. All but "symplectic_euler" are put together in Python and take
        springs, dampers and actuators as implicit as they are; see :mod:`sapwood.stepping`.
    speculative : bool, optional
        Whether contacts that would close within a step are found before it; None: with Coulomb's
        friction and the default scheme. The other laws may give an open contact a force: by the
        convex one, with which bodies glide, and by lagged friction, whose new contacts start from
        it, a body that slides past another at a small distance is lifted and braked. True is
        refused by other schemes. False says that contacts may be found late; while a filter of
        contacts is registered with MuJoCo they are.
    release_speed : float, optional
        Largest speed, in m/s and rad/s, at which violations of rigid constraints are corrected, or
        MuJoCo's speed by their ``solref`` if that is higher. It holds for contacts, limits and
        equality constraints without a given stiffness, and for violations beyond their motion in
        the last step; the force is not bounded. Rigid contacts under a load are stiffer, so that
        they yield with half of this speed at most. The force of mocap bodies is proportional to it.
        None follows the scale of the model: 0.1 sqrt(g s) m/s and 0.01 sqrt(g/s) rad/s with its
        gravity g and the size s of its bodies, ``model.stat.meansize``. With ``math.inf``, the only
        value for schemes other than the default, violations are corrected within a step or two, and
        contacts are no stiffer under a load.
    fields : mapping, optional
        Pressure fields by geom name (str) or geom group (int): :class:`sapwood.PressureField`, or a
        :class:`sapwood.geometry.FieldShape` in the frame of the geom. Compliant geoms meet all
        others in patches, see ``patches``; for the default scheme only. They precede the fields in
        the model's custom numbers, ``sapwood/field/geom/NAME`` and ``sapwood/field/group/NUMBER``:
        modulus, resolution, margin and thickness.

    Raises
    ------
    NotSupported
        If the model needs an element that this package does not simulate. The message gives all
        reasons, with the names of the elements and a way to run without each; see ``reasons``. Also
        if this version of MuJoCo cannot be driven from C.
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
        """Set the fields that a copy makes anew."""
        self._steps = steps_of(self._parameters)
        self._following = Following(self._parameters, self._given)
        self._behind = threading.Lock()
        self._notices = Notices(self.settings.relative_tolerance, self._earlier)
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
            start, steps = data.time, self._steps
            _, notable, failure = steps.run(data, 1, None, signals=False)
            if failure is None:
                self._prepare(data, steps)
        else:
            start, (_, notable, reason) = prepared.start, ended
            failure = error_of(reason, self.model, data)
        self._forget()
        if failure is not None:
            raise failure
        if notable:
            self._tell_of_last_step(start)

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
            each body; and "contacts", all contacts of each step, see :meth:`RunResult.contacts_of`.
            The result has arrays of the same names.

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
        names = check_names(record)
        records = np.empty(steps, dtype=_core.STEP_RECORD)
        self._bind(data)
        if not names:
            return self._run(data, records, None, callback, every)
        recording = Recording(self.model, self._parameters.geom_names, data, names, steps)
        try:
            return self._run(data, records, recording, callback, every)
        finally:
            recording.close()

    def _run(
        self,
        data: mujoco.MjData,
        records: NDArray[np.void],
        recording: Recording | None,
        callback: Callable[[mujoco.MjData], object] | None,
        every: int,
    ) -> RunResult:
        """Take as many steps as there are records."""
        signals = threading.current_thread() is threading.main_thread()
        steps = len(records)
        taken, at_once = 0, steps if callback is None else every
        result = self._last_run = RunResult(records[:0], recording)
        while taken < steps:
            start = data.time
            rest = records[taken : taken + at_once]
            done, notable, failure = self._steps.run(
                data, len(rest), rest, signals=signals, recording=recording
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
        time = data.time
        try:
            notable = self._steps.finish(data)
        finally:
            self._forget()
        if notable:
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
            Whether the problem is the last solve of the step: without contacts and limits that are
            far from closing, and with its start as ``v_guess``. :func:`sapwood.solve` with the
            settings of the stepper then gives the velocity of the step. By default all listed
            constraints are in.

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
