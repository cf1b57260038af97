"""Steps of a MuJoCo model: MuJoCo's stages around the contact solver."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.checks import integer
from sapwood.constraints.materials import ConstraintMaterial
from sapwood.laws.materials import ContactMaterial
from sapwood.mujoco import stages
from sapwood.mujoco.arrays import Bound, contact_arrays, forest_arrays, model_name
from sapwood.mujoco.elements import controllers, element_arrays, release_controllers
from sapwood.mujoco.engine import EngineError, engine_or_reason
from sapwood.mujoco.last_step import LastStep
from sapwood.mujoco.results import UNCONVERGED, Notices, RunResult, StepError
from sapwood.mujoco.schemes import SchemeSteps, check_scheme_model
from sapwood.mujoco.support import (
    Failure,
    NotSupported,
    check_model,
    check_version,
    failure_text,
    outcome_text,
)
from sapwood.problem.arrays import Delassus
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import DEFAULT_SETTINGS, SapSettings
from sapwood.solution import Status
from sapwood.stepping.schemes import SCHEMES, Scheme, scheme_of

_Float = NDArray[np.float64]

check_version(mujoco.__version__)


class Stepper(LastStep):
    """Steps one model with the contact solver of this package, by symplectic Euler or `scheme`.

    The contact law is that of the paper with physical parameters: stiffness, dissipation time and
    friction of each pair of geoms, see :mod:`sapwood.materials`. MuJoCo's own contact parameters
    (solref, solimp, solmix, priority, impratio) are not used, but for: margin and gap, which decide
    what is a contact; condim, 1 (frictionless) or 3; the sliding friction of geoms, where the
    material gives none; the friction of an explicit ``<pair>``, which then takes the place of the
    geoms'; and ``surfacevel``. Joint damping, also by actuators and of higher order, is implicit: A
    = M + dt D with the slopes D of the damping forces at the start of the step, as MuJoCo does it;
    other velocity-dependent forces are explicit.

    Limits of joints and tendons, equality constraints (connect, weld, joint, tendon), friction loss
    of joints and tendons, and actuators with a spring or a damper are constraints too, of the kinds
    of :mod:`sapwood.constraints`; MuJoCo's constraint parameters are not used for them either.
    Limits and equality constraints are near-rigid unless a :class:`ConstraintMaterial` says
    otherwise. Of limits both sides are there in every step: a joint stops in the step that would
    pass one. Friction loss and the residuals of equality constraints are taken from MuJoCo in each
    step, so that ``data.eq_active`` and mocap bodies work; ranges and gains are read once.

    Actuators act implicitly where their force is Kp (q_d - q) - Kd v with constant gains
    (``position``, ``velocity``, ``intvelocity``, ``pid``, and ``general`` with an affine bias), on
    a hinge, a slide or a tendon: gains may be of any size. They give their range of forces exactly
    and not more; where a joint bounds its total actuator force, its other actuators come first.
    All other actuators, and those of the same kinds on a site or a ball joint, with a range of
    forces without 0, or several of them on a joint that bounds its total, are explicit forces as in
    ``mj_step``.

    The stepper works on a private copy of the model, ``stepper.model``, which differs in
    opt.timestep, in the flags eulerdamp, island and, with ``ignore``, limit, equality and
    frictionloss (all disabled), and in the flags by which MuJoCo would bound the forces of implicit
    actuators (cleared). Change physical values there, not on the model given; what belongs to the
    stepper itself (materials, damping, limits, gains of implicit actuators, topology, time step) is
    read once, when it is made.

    MuJoCo lists a contact while the geoms overlap. Where contacts near their friction limit or
    without much load shall stay, give the geoms a ``margin`` of about what opens in a step: a
    contact within it acts if the gap would close.

    After a step ``data`` is as after ``mj_step``: time, state, warm start, qacc, qfrc_constraint,
    efc_force and sensors. efc_force has the rows (n, t1, t2) of each contact where the model's cone
    is elliptic, and edge forces that give the same contact force where it is pyramidal, so that
    ``mj_contactForce`` and viewers show the force. qacc is (v - v_0)/dt: with damping, M qacc =
    qfrc_smooth + qfrc_constraint - dt D qacc. Forces of implicit actuators are in actuator_force,
    qfrc_actuator and qfrc_smooth, as they were in the step; qfrc_constraint has all other
    constraints, and efc_force those that MuJoCo lists, which limits are only once they are passed.
    qacc_smooth and the efc_* arrays of MuJoCo's own contact model (efc_aref, efc_R, ...) are there
    and not used.

    One stepper may serve several data of the same model, in turn or from several threads; results
    are then those of the last step of any of them. Pickling or copying keeps model, parameters and
    counters.

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
        custom numbers, see :func:`sapwood.materials.custom_materials`.
    sigma, beta : float
        Tangential regularization and near-rigid parameter, Eqs. (21) and (22).
    delassus : {"block", "diagonal"}
        Estimate of the Delassus blocks.
    settings : SapSettings, optional
        Settings of the solver.
    ignore : collection of str
        Constraints to leave out, with a warning that names them, instead of refusing the model:
        any of "limit" (of joints and tendons), "equality", "frictionloss".
    constraint : ConstraintMaterial, optional
        Material of all limits and equality constraints that nothing more special speaks of. None is
        the model's own default, or else as rigid as the time step allows.
    constraints : mapping, optional
        Materials by ``joint/NAME``, ``tendon/NAME`` and ``equality/NAME``; they come before those
        in the model's custom numbers, see :func:`sapwood.constraint_materials.custom_stiffness`.
    implicit_actuators : bool
        False: all actuators are explicit forces.
    scheme : str or sapwood.stepping.Scheme
        Scheme of the theta-method. All but "symplectic_euler" run in stages from Python and take
        springs, dampers and actuators as implicit as they are; see :mod:`sapwood.mujoco.schemes`.

    Raises
    ------
    NotSupported
        Where the model needs what this package does not do; the text names the element.
    TypeError, ValueError
        For wrong arguments; the text names the argument.
    """

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
        ignore: Collection[str] = (),
        constraint: ConstraintMaterial | None = None,
        constraints: Mapping[str, ConstraintMaterial] | None = None,
        implicit_actuators: bool = True,
        scheme: str | Scheme = "symplectic_euler",
    ) -> None:
        if not isinstance(model, mujoco.MjModel):
            raise TypeError(f"model must be a mujoco.MjModel, not {type(model).__name__}")
        if settings is not None and not isinstance(settings, SapSettings):
            raise TypeError(f"settings must be a SapSettings, not {type(settings).__name__}")
        if time_step is None:
            time_step = float(model.opt.timestep)
        time_step = float(_core.as_float64(time_step, "time_step", (), "positive"))
        left_out = check_model(model, ignore)

        self._model = copy.copy(model)
        self._model.opt.timestep = time_step
        self._model.opt.disableflags |= stages.DISABLED | left_out
        self._settings = DEFAULT_SETTINGS if settings is None else settings
        self._sigma, self._beta, self._delassus = sigma, beta, delassus
        self._scheme = scheme_of(scheme)
        symplectic = self._scheme == SCHEMES["symplectic_euler"]
        if not symplectic:
            check_scheme_model(self._model, self._scheme)
        self._forest = forest_arrays(self._model, contact, materials, time_step)
        implicit = controllers(self._model) if implicit_actuators and symplectic else []
        self._elements = element_arrays(self._model, constraint, constraints, time_step, implicit)
        release_controllers(self._model, implicit)
        self._earlier = (0, 0, 0)
        self._start()

    def _start(self) -> None:
        """What a copy makes anew."""
        self._core = self._with_scheme(self._make_core())
        self._engine = engine_or_reason()
        self._options = stages.options_of(self._model)
        self._notices = Notices(self._settings.relative_tolerance, self._earlier)
        self._bound: Bound | None = None
        self._forget()
        self._last_run: RunResult | None = None

    def __getstate__(self) -> dict[str, Any]:
        kept = "_model _settings _sigma _beta _delassus _scheme _forest _elements".split()
        return {name: getattr(self, name) for name in kept} | {"_earlier": self._counts()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def _make_core(self) -> _core.ModelStepper:
        pyramidal = self._model.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL
        return _core.ModelStepper(
            self._forest,
            self.time_step,
            self._sigma,
            self._beta,
            self._delassus,
            "pyramidal" if pyramidal else "elliptic",
            mujoco.mjMAXVAL,
            self._settings,
            self._elements,
        )

    def _with_scheme(self, core: _core.ModelStepper) -> _core.ModelStepper | SchemeSteps:
        """The core itself for its own scheme, else steps in Python that gather with it."""
        if self._scheme == SCHEMES["symplectic_euler"]:
            return core
        return SchemeSteps(
            core,
            self._model,
            self._scheme,
            self._forest["damping"],
            self._elements is not None,
            self._sigma,
            self._beta,
            self._delassus,
            self._settings,
        )

    # ---- the step -------------------------------------------------------------------------------

    def step(self, data: mujoco.MjData) -> None:
        """Advance ``data`` by one time step.

        Parameters
        ----------
        data : mujoco.MjData
            State and controls of the model; advanced in place.

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
            The first time that the solver stalls at round-off, and the first time that it meets its
            iteration limit; every time is counted.
        """
        if isinstance(self._engine, EngineError):
            self.step1(data)
            self._finish_step(data)
            return
        self._bind(data)
        time = data.time
        _, unconverged, failure = self._advance(data, 1, None, signals=False)
        if failure is not None:
            raise self._error(failure, data)
        if unconverged:
            self._notices.of_last_step(self._counts(), self.solution, time, stacklevel=2)

    def run(
        self,
        data: mujoco.MjData,
        steps: int,
        callback: Callable[[mujoco.MjData], object] | None = None,
        every: int = 1,
    ) -> RunResult:
        """Take many steps, with the loop in C: the same bits as that many calls of :meth:`step`.

        A step then costs what MuJoCo's stages and the contact solve cost. The GIL is released
        between calls of ``callback``, so that other threads go on; callbacks that are registered
        with MuJoCo (``mujoco.set_mjcb_control`` and others) are called as ever. Ctrl-C ends the
        run after the step it is in. Whatever ends a run early, the steps before it are taken, and
        :attr:`last_run` tells of them.

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

        Returns
        -------
        RunResult
            How the steps went, one entry per step.

        Raises
        ------
        StepError
            As :meth:`step` does; its ``step`` is the position in the run.
        NotSupported, ValueError, TypeError
            As :meth:`step` does, and NotSupported where this version of MuJoCo cannot be driven
            from C.

        Warns
        -----
        RuntimeWarning
            As :meth:`step` does.

        Examples
        --------
        >>> import mujoco, sapwood.mujoco
        >>> model = sapwood.scenes.clutter(4).compile()
        >>> stepper, data = sapwood.mujoco.Stepper(model), mujoco.MjData(model)
        >>> result = stepper.run(data, 100)
        >>> result.steps, result.converged
        (100, True)
        >>> heights = []
        >>> result = stepper.run(data, 100, lambda data: heights.append(data.qpos[2]), every=10)
        >>> len(heights)
        10
        """
        self._last_run = None
        if isinstance(self._engine, EngineError):
            raise NotSupported(f"MuJoCo {mujoco.__version__}: {self._engine}; use Stepper.step")
        steps, every = integer(steps, "steps", 0), integer(every, "every", 1)
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be callable, not {type(callback).__name__}")
        signals = threading.current_thread() is threading.main_thread()
        records = np.empty(steps, dtype=_core.STEP_RECORD)
        taken, at_once = 0, steps if callback is None else every
        self._last_run = RunResult(records[:0])
        self._bind(data)
        while taken < steps:
            start = data.time
            rest = records[taken : taken + at_once]
            done, unconverged, failure = self._advance(data, len(rest), rest, signals=signals)
            self._last_run = RunResult(records[: taken + done])
            if unconverged:
                self._notices.of_run(rest[:done], start, stacklevel=2)
            taken += done
            if failure is not None:
                raise self._error(failure, data, taken)
            if callback is not None and taken % every == 0 and callback(data) is True:
                break
        return self._last_run

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
        stages.check_options(self._model, self._options)
        stages.start_step(self._model, self._bind(data))

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
        self._finish_step(data)

    def _finish_step(self, data: mujoco.MjData) -> None:
        model, bound = self._model, self._bind(data)
        if isinstance(self._core, SchemeSteps):
            self._forget()
            if self._core.finish(bound) in UNCONVERGED:
                self._notices.of_last_step(self._counts(), self.solution, data.time, stacklevel=3)
            return
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        try:
            elements = None if self._elements is None else bound.elements(model)
            code = self._core.solve(bound.inputs, contact_arrays(data), bound.outputs(), elements)
        except ValueError as error:
            raise StepError(str(error), data.time) from None
        finally:
            self._forget()
        if code < 0:
            stages.raise_fault(self._core, model, data)
        if code in UNCONVERGED:
            # past _finish_step, and step or step2
            self._notices.of_last_step(self._counts(), self.solution, data.time, stacklevel=3)
        elif code != Status.converged:
            tree = -1 if self.solution is None else self.solution.tree
            raise StepError(outcome_text(Status(code), tree), data.time)
        data.flg_rnepost = 0
        mujoco.mj_sensorAcc(model, data)
        mujoco.mj_Euler(model, data)

    def _advance(
        self, data: mujoco.MjData, steps: int, records: NDArray[np.void] | None, *, signals: bool
    ) -> tuple[int, int, Failure | BaseException | None]:
        """Steps taken in C, how many of them did not converge, and what stopped them."""
        taken = unconverged = 0
        while True:
            rest = None if records is None else records[taken:]
            n, n_unconverged, failure = self._core.run(
                self._engine, self._model, data, steps - taken, rest, signals
            )
            taken += n
            unconverged += n_unconverged
            if not isinstance(failure, tuple) or failure[0] != "options":
                break
            # the first step, or options were changed since the last one
            try:
                stages.check_options(self._model, self._options)
            except ValueError as error:
                failure = error
                break
            if not isinstance(self._core, SchemeSteps):
                self._core.accept_options(self._engine, self._model)
        self._forget()
        return taken, unconverged, failure

    def _error(
        self, failure: Failure | BaseException, data: mujoco.MjData, step: int | None = None
    ) -> BaseException:
        """What to raise for a step that was not taken."""
        if isinstance(failure, StepError):
            failure.step = step
        if isinstance(failure, BaseException):
            return failure
        return StepError(failure_text(failure, self._model, data), data.time, step)

    def problem(self, data: mujoco.MjData) -> ContactProblem:
        """The contact problem of a state, for study; neither ``data`` nor any result changes.

        Parameters
        ----------
        data : mujoco.MjData
            State and controls of the model.

        Returns
        -------
        ContactProblem
            With copies of all arrays and the velocity before the step as ``v_guess``; the stiffness
            of a rigid pair is the largest finite number.

        Raises
        ------
        StepError, NotSupported, ValueError
            As :meth:`step` does.
        """
        stages.check_options(self._model, self._options)
        self._bind(data)
        if isinstance(self._core, SchemeSteps):
            return self._core.problem(data)
        return stages.gather_problem(
            self._make_core(),
            self._model,
            data,
            self._elements is not None,
            sigma=self._sigma,
            beta=self._beta,
            delassus=self._delassus,
        )

    def _bind(self, data: mujoco.MjData) -> Bound:
        bound = self._bound
        if bound is None or bound.data is not data:
            bound = Bound.of(self._model, data)
            self._bound = bound
        return bound

    # ---- results --------------------------------------------------------------------------------

    @property
    def last_run(self) -> RunResult | None:
        """The steps that the last :meth:`run` took, also of one that an error ended."""
        return self._last_run

    def __repr__(self) -> str:
        return (
            f"Stepper(model='{model_name(self._model)}', time_step={self.time_step:g}, "
            f"steps={self.steps})"
        )
