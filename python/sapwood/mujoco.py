"""Simulation of MuJoCo models: :class:`Stepper` takes the place of ``mujoco.mj_step``.

MuJoCo does the kinematics, the mass matrix, the smooth forces, collision detection, sensors and the
integration; the contact forces and the next velocity are those of this package::

    model = mujoco.MjModel.from_xml_path("robot.xml")
    data = mujoco.MjData(model)
    stepper = sapwood.mujoco.Stepper(model, contact=sapwood.ContactMaterial(stiffness=1e6))
    while data.time < 1.0:
        stepper.step(data)
    print(stepper.solution)
"""

from __future__ import annotations

import copy
import dataclasses
import math
import threading
import warnings
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.materials import ContactMaterial
from sapwood.mujoco_arrays import STATE_NAMES, Bound, contact_arrays, forest_arrays, model_name
from sapwood.mujoco_support import (
    MORE_MEMORY,
    NotSupported,
    bad_value_text,
    check_flags,
    check_model,
    check_version,
    fault_text,
)
from sapwood.problem import ContactProblem, Delassus
from sapwood.settings import SapSettings
from sapwood.solution import Solution, Status

__all__ = ["ContactMaterial", "NotSupported", "StepContacts", "StepError", "Stepper"]

_Float = NDArray[np.float64]

# set on the private copy of the model: mj_Euler then takes qacc as it is, and no islands are built
_DISABLED = mujoco.mjtDisableBit.mjDSBL_EULERDAMP | mujoco.mjtDisableBit.mjDSBL_ISLAND

check_version(mujoco.__version__)


class StepError(RuntimeError):
    """A step could not be taken; the state of the data is the one before the step.

    Attributes
    ----------
    time : float
        Simulated time at the start of the step, s.
    """

    def __init__(self, message: str, time: float) -> None:
        super().__init__(message, time)
        self.time = time

    def __str__(self) -> str:
        return f"step at time {self.time:.6g} s: {self.args[0]}"


@dataclasses.dataclass(frozen=True, eq=False)
class StepContacts:
    """The contacts of one step.

    Attributes
    ----------
    index : ndarray of int (n,)
        Position of each contact in ``data.contact``.
    distance : ndarray (n,)
        Signed distance at the start of the step, m.
    slip_speed : ndarray (n,)
        Tangential speed of the surfaces against each other at the end of the step, m/s.
    force : ndarray (n, 3)
        Mean force (t1, t2, n) over the step that the first geom exerts on the second, N.
    """

    index: NDArray[np.int32]
    distance: _Float
    slip_speed: _Float
    force: _Float

    @property
    def penetration(self) -> _Float:
        """Depth of the overlap at the start of the step, m."""
        return np.maximum(-self.distance, 0.0)


class Stepper:
    """Steps one model with the contact solver of this package, by symplectic Euler.

    The contact law is that of the paper with physical parameters: stiffness, dissipation time and
    friction of each pair of geoms, see :mod:`sapwood.materials`. MuJoCo's own contact parameters
    (solref, solimp, solmix, priority, impratio) are not used, but for: margin and gap, which decide
    what is a contact; condim, 1 (frictionless) or 3; the sliding friction of geoms, where the
    material gives none; the friction of an explicit ``<pair>``, which then takes the place of the
    geoms'; and ``surfacevel``. Joint damping, also by actuators and of higher order, is implicit: A
    = M + dt D with the slopes D of the damping forces at the start of the step, as MuJoCo does it;
    other velocity-dependent forces are explicit.

    The stepper works on a private copy of the model, ``stepper.model``, which differs in
    opt.timestep and in the flags eulerdamp, island and, with ``ignore``, limit, equality and
    frictionloss (all disabled). Change physical values there, not on the model given; what belongs
    to the stepper itself (materials, damping, topology, time step) is read once, when it is made.

    MuJoCo lists a contact while the geoms overlap. Where contacts near their friction limit or
    without much load shall stay, give the geoms a ``margin`` of about what opens in a step: a
    contact within it acts if the gap would close.

    After a step ``data`` is as after ``mj_step``: time, state, warm start, qacc, qfrc_constraint,
    efc_force and sensors. efc_force has the rows (n, t1, t2) of each contact where the model's cone
    is elliptic, and edge forces that give the same contact force where it is pyramidal, so that
    ``mj_contactForce`` and viewers show the force. qacc is (v - v_0)/dt: with damping, M qacc =
    qfrc_smooth + qfrc_constraint - dt D qacc. The efc_* arrays of MuJoCo's own contact model
    (efc_aref, efc_R, ...) are there and not used.

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
        self._model.opt.disableflags |= int(_DISABLED) | left_out
        self._settings = SapSettings() if settings is None else settings
        self._sigma, self._beta, self._delassus = sigma, beta, delassus
        self._forest = forest_arrays(self._model, contact, materials, time_step)
        self._counts = {Status.converged: 0, Status.stalled: 0, Status.iteration_limit: 0}
        self._start()

    def _start(self) -> None:
        """What a copy makes anew."""
        self._core = self._make_core()
        self._options = _options(self._model)
        self._lock = threading.Lock()
        self._bound: Bound | None = None
        self._contacts: StepContacts | None = None
        self._solution: Solution | None = None

    def __getstate__(self) -> dict[str, Any]:
        kept = ("_model", "_settings", "_sigma", "_beta", "_delassus", "_forest")
        return {name: getattr(self, name) for name in kept} | {"_counts": dict(self._counts)}

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
        self.step1(data)
        self._finish_step(data)

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
        self._check_options()
        _start_step(self._model, self._bind(data))

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
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        try:
            code = self._core.solve(bound.inputs, contact_arrays(data), bound.outputs())
        except ValueError as error:
            raise StepError(str(error), data.time) from None
        finally:
            self._contacts = self._solution = None
        if code == 0:
            with self._lock:
                self._counts[Status.converged] += 1
        else:
            self._report(code, data)
        data.flg_rnepost = 0
        mujoco.mj_sensorAcc(model, data)
        mujoco.mj_Euler(model, data)

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
        self._check_options()
        self._bind(data)
        scratch = mujoco.MjData(self._model)
        mujoco.mj_copyData(scratch, self._model, data)
        bound = Bound.of(self._model, scratch)
        core = self._make_core()
        _start_step(self._model, bound)
        mujoco.mj_fwdActuation(self._model, scratch)
        mujoco.mj_fwdAcceleration(self._model, scratch)
        try:
            code = core.gather(bound.inputs, contact_arrays(scratch), bound.outputs())
        except ValueError as error:
            raise StepError(str(error), data.time) from None
        if code < 0:
            _raise_fault(core, self._model, scratch)
        arrays = core.problem()
        # a rigid pair, in a finite number
        np.minimum(arrays["k"], np.finfo(np.float64).max, out=arrays["k"])
        return ContactProblem(
            **arrays,
            dt=self.time_step,
            sigma=self._sigma,
            beta=self._beta,
            delassus=self._delassus,
            source=f"MuJoCo model '{model_name(self._model)}', time {data.time:.6g} s",
        )

    def _check_options(self) -> None:
        """Refuse to go on where the C core and MuJoCo would no longer do the same step."""
        check_flags(self._model)
        if _options(self._model) != self._options:
            raise ValueError(
                "stepper.model.opt: timestep, integrator, cone and the flags eulerdamp and island "
                "belong to the stepper; make a new one to change them"
            )

    def _bind(self, data: mujoco.MjData) -> Bound:
        bound = self._bound
        if bound is None or bound.data is not data:
            bound = Bound.of(self._model, data)
            self._bound = bound
        return bound

    # ---- results --------------------------------------------------------------------------------

    @property
    def model(self) -> mujoco.MjModel:
        """The private copy of the model that is simulated."""
        return self._model

    @property
    def time_step(self) -> float:
        """Time step, s."""
        return float(self._model.opt.timestep)

    @property
    def settings(self) -> SapSettings:
        """Settings of the solver."""
        return self._settings

    @property
    def solution(self) -> Solution | None:
        """What the solver found in the last step; None before the first one."""
        if self._solution is None:
            fields = self._core.result()
            self._solution = None if fields is None else Solution.from_core(fields)
        return self._solution

    @property
    def contacts(self) -> StepContacts:
        """The contacts of the last step; none before the first one."""
        if self._contacts is None:
            arrays = self._core.contacts()
            slip = arrays["v_c"][:, :2] - arrays["v_hat_t"][: len(arrays["v_c"])]
            self._contacts = StepContacts(
                index=arrays["index"],
                distance=arrays["phi0"],
                slip_speed=np.hypot(slip[:, 0], slip[:, 1]),
                force=arrays["gamma"] / self.time_step,
            )
        return self._contacts

    @property
    def n_contacts(self) -> int:
        """Contacts of the last step."""
        return len(self.contacts.index)

    @property
    def slip_speed(self) -> _Float:
        """Tangential speed of each contact at the end of the last step, m/s."""
        return self.contacts.slip_speed

    @property
    def penetration(self) -> _Float:
        """Depth of the overlap of each contact at the start of the last step, m."""
        return self.contacts.penetration

    @property
    def steps(self) -> int:
        """Steps taken."""
        return sum(self._counts.values())

    @property
    def stalled_steps(self) -> int:
        """Steps in which the solver stopped at round-off before its tolerance was met."""
        return self._counts[Status.stalled]

    @property
    def iteration_limit_steps(self) -> int:
        """Steps in which the solver met its iteration limit."""
        return self._counts[Status.iteration_limit]

    def __repr__(self) -> str:
        return (
            f"Stepper(model='{model_name(self._model)}', time_step={self.time_step:g}, "
            f"steps={self.steps})"
        )

    # ---- what went wrong ------------------------------------------------------------------------

    def _report(self, code: int, data: mujoco.MjData) -> None:
        """Count a solve that did not converge, or raise where it left no velocity to go on with."""
        if code < 0:
            _raise_fault(self._core, self._model, data)
        status = Status(code)
        solution = self.solution
        if status not in self._counts:
            at = "" if solution is None or solution.tree < 0 else f" at tree {solution.tree}"
            raise StepError(
                f"the contact solver ended in {status}{at}; velocities or masses are out of "
                "proportion (a smaller time step or a larger sigma may help)",
                data.time,
            )
        with self._lock:
            self._counts[status] += 1
            first = self._counts[status] == 1
        if first:
            reached = math.nan if solution is None else solution.momentum_error
            warnings.warn(
                f"step at time {data.time:.6g} s: the contact solver ended in {status} at a "
                f"momentum error of {reached:.2g} (tolerance "
                f"{self._settings.relative_tolerance:.2g}); the step was taken; further ones are "
                "counted in stalled_steps and iteration_limit_steps",
                RuntimeWarning,
                stacklevel=4,  # past this, _finish_step, and step or step2
            )


# ---- stages of a step ---------------------------------------------------------------------------


def _options(model: mujoco.MjModel) -> tuple[float, int, int, int]:
    """The options of a model that its stepper stands on."""
    opt = model.opt
    return opt.timestep, opt.integrator, opt.cone, opt.disableflags & int(_DISABLED)


def _start_step(model: mujoco.MjModel, bound: Bound) -> None:
    """Check the state and run MuJoCo's stages up to the velocity-dependent ones."""
    data = bound.data
    bad = _core.first_bad(bound.state, mujoco.mjMAXVAL)
    if bad is not None:
        array, index = bad
        raise StepError(bad_value_text(STATE_NAMES[array], bound.state[array], index), data.time)
    full = bound.contacts_full.number, bound.rows_full.number
    try:
        mujoco.mj_step1(model, data)
    except mujoco.FatalError as error:
        raise StepError(f"{MORE_MEMORY} (MuJoCo: {error})", data.time) from None
    if (bound.contacts_full.number, bound.rows_full.number) != full:
        raise StepError(MORE_MEMORY, data.time)


def _raise_fault(core: _core.ModelStepper, model: mujoco.MjModel, data: mujoco.MjData) -> NoReturn:
    code, index = core.fault()
    raise StepError(fault_text(_core.FAULTS[code], index, model, data), data.time)
