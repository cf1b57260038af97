"""Steps of the theta-method: free motion, contact, positions (section IV)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.checks import integer
from sapwood.base.equality import compared_by_value
from sapwood.problem.arrays import Delassus
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import SapSettings
from sapwood.solution import Solution, Status
from sapwood.solver import SapSolver
from sapwood.stepping.contact_stage import contact_problem, needs_correction
from sapwood.stepping.free_motion import (
    FreeMotion,
    SteppingError,
    corrected_velocity,
    free_motion,
)
from sapwood.stepping.model import Contacts, Model
from sapwood.stepping.schemes import Scheme, scheme_of

_Float = NDArray[np.float64]

# ends of a solve that leave a velocity to go on with
_USABLE = (Status.converged, Status.stalled, Status.iteration_limit, Status.friction_limit)


@compared_by_value
class State(NamedTuple):
    """A state of a model at one time."""

    q: _Float
    """Generalized positions (nq,)."""
    v: _Float
    """Generalized velocities (nv,)."""
    time: float = 0.0
    """Simulated time, s."""


class ThetaStepper:
    """Steps one model by a scheme of the theta-method.

    1. Free motion: m(v*) = 0, Eq. (10), see :func:`free_motion`.
    2. Contact: A (v - v*) = J^T gamma, Eq. (14), with A of Eq. (11) and the contacts at q^θq(v*).
       With equality constraints the midpoint rule solves it once more, with v - A^-1 m(v) in place
       of v*.
    3. Positions: q = q_0 + dt N v^θvq, Eq. (8), on the manifold of q.

    Parameters
    ----------
    model : Model
        The system.
    dt : float
        Time step, s.
    scheme : str or Scheme
        One of the names of :data:`SCHEMES`, or thetas of your own.
    sigma, beta : float
        Tangential regularization and near-rigid parameter, Eqs. (22) and (21).
    delassus : {"block", "diagonal"}
        Estimate of the Delassus blocks.
    settings : SapSettings, optional
        Settings of the contact solver.
    tolerance, max_iterations : float, int
        Limits of Newton's method for the free motion.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it.

    Examples
    --------
    >>> from sapwood.stepping import SpringCylinder
    >>> model = SpringCylinder(mu=0.0)
    >>> stepper, state = ThetaStepper(model, 0.02, "midpoint"), model.start()
    >>> for _ in range(100):
    ...     state = stepper.step(state)
    >>> bool(np.isclose(model.energy(state.q, state.v), model.energy(*model.start()[:2])))
    True
    """

    def __init__(
        self,
        model: Model,
        dt: float,
        scheme: str | Scheme = "midpoint",
        *,
        sigma: float = 1e-3,
        beta: float = 1.0,
        delassus: Delassus = "block",
        settings: SapSettings | None = None,
        tolerance: float = 1e-12,
        max_iterations: int = 20,
    ) -> None:
        if not isinstance(model, Model):
            raise TypeError(
                f"model must have nq, tree_nv, dynamics, integrate and contacts, as "
                f"sapwood.stepping.Model says; {type(model).__name__} has not"
            )
        self._model = model
        self._tree_nv = _core.as_int32(model.tree_nv, "model.tree_nv")
        for t in np.flatnonzero(self._tree_nv < 1):
            raise ValueError(f"model.tree_nv[{t}] = {self._tree_nv[t]}: must be >= 1")
        self._nq, self._nv = integer(model.nq, "model.nq", least=1), int(self._tree_nv.sum())
        self._dt = float(_core.as_float64(dt, "dt", (), "positive"))
        self._scheme = scheme_of(scheme)
        self._sigma = float(_core.as_float64(sigma, "sigma", (), "positive"))
        self._beta = float(_core.as_float64(beta, "beta", (), "non-negative"))
        if delassus not in ("block", "diagonal"):
            raise ValueError(f"delassus = {delassus!r}: must be 'block' or 'diagonal'")
        self._delassus: Delassus = delassus
        self._tolerance = float(_core.as_float64(tolerance, "tolerance", (), "positive"))
        self._max_iterations = integer(max_iterations, "max_iterations", least=1)
        self._solver = SapSolver(settings)
        self._steps = 0
        self._free: FreeMotion | None = None
        self._problem: ContactProblem | None = None
        self._solution: Solution | None = None

    def step(self, state: State) -> State:
        """Take one step.

        Parameters
        ----------
        state : State
            State at the start of the step; not changed.

        Returns
        -------
        State
            State at its end.

        Raises
        ------
        FreeMotionError
            If Newton's method for the free motion does not converge.
        SteppingError
            If A is not positive definite, the contacts are wrong, or the contact solver leaves
            no velocity to go on with.
        TypeError, ValueError
            For a wrong state or, in the first step, wrong arrays of the model; the text names them.
        """
        q_0 = _core.as_float64(state.q, "state.q", (self._nq,), "finite")
        v_0 = _core.as_float64(state.v, "state.v", (self._nv,), "finite")
        time = float(_core.as_float64(state.time, "state.time", (), "finite"))
        if self._steps == 0:
            self._check_model(q_0, v_0)
        scheme, dt = self._scheme, self._dt
        self._problem = self._solution = None
        self._free = free = free_motion(
            self._model,
            scheme,
            dt,
            q_0,
            v_0,
            tolerance=self._tolerance,
            max_iterations=self._max_iterations,
            step=self._steps,
            time=time,
        )
        contacts = self._model.contacts(free.q_theta)
        v = free.v
        if np.size(contacts.phi) or np.size(contacts.tree_a) or contacts.constraints:
            v = self._solve(free, contacts, v_0, time)
            if needs_correction(scheme, contacts):
                v_star = corrected_velocity(self._model, scheme, dt, q_0, v_0, free.A, v)
                v = self._solve(free, contacts, v_0, time, v_star)
        q = self._model.integrate(q_0, scheme.position_velocity(v, v_0), dt)
        self._steps += 1
        return State(q, v, time + dt)

    def _solve(
        self,
        free: FreeMotion,
        contacts: Contacts,
        v_0: _Float,
        time: float,
        v_star: _Float | None = None,
    ) -> _Float:
        """The velocity of the contact problem, which and whose solution are kept."""
        try:
            self._problem = contact_problem(
                free,
                contacts,
                self._tree_nv,
                self._scheme,
                self._dt,
                v_0,
                sigma=self._sigma,
                beta=self._beta,
                delassus=self._delassus,
                source=f"{self._scheme.name}, time {time:.6g} s",
                v_star=v_star,
            )
        except ValueError as error:
            raise SteppingError(f"contact problem: {error}", self._steps, time) from error
        self._solution = self._solver.solve(self._problem)
        if self._solution.status not in _USABLE:
            raise SteppingError(
                f"the contact solver ended in {self._solution.status}", self._steps, time
            )
        return self._solution.v

    def _check_model(self, q: _Float, v: _Float) -> None:
        """Refuse arrays of the model that would fail later on without a name."""
        dynamics, n = self._model.dynamics(q, v), self._nv
        shapes = {"M": (n, n), "F1": (n,), "F2": (n,), "K": (n, n), "D": (n, n)}
        for name, shape in shapes.items():
            _core.as_float64(getattr(dynamics, name), f"model.dynamics().{name}", shape, "finite")
        for j in np.flatnonzero(dynamics.M.diagonal() <= 0.0):
            value = dynamics.M[j, j]
            raise ValueError(f"model.dynamics().M[{j}, {j}] = {value:g}: must be positive")
        moved = self._model.integrate(q, v, self._dt)
        _core.as_float64(moved, "model.integrate()", (self._nq,), "finite")

    # ---- results --------------------------------------------------------------------------------

    @property
    def scheme(self) -> Scheme:
        """The scheme."""
        return self._scheme

    @property
    def dt(self) -> float:
        """Time step, s."""
        return self._dt

    @property
    def steps(self) -> int:
        """Steps taken."""
        return self._steps

    @property
    def free_motion(self) -> FreeMotion | None:
        """Stage 1 of the last step; None before the first one."""
        return self._free

    @property
    def problem(self) -> ContactProblem | None:
        """Contact problem of the last step; None where there was no contact."""
        return self._problem

    @property
    def solution(self) -> Solution | None:
        """The solution of the contact solver in the last step; None without contact."""
        return self._solution

    def __repr__(self) -> str:
        return f"ThetaStepper({self._model!r}, dt={self._dt:g}, scheme={self._scheme.name!r})"
