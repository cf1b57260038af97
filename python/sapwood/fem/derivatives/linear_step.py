"""The equations of a step of soft bodies and rigid trees, linearized at its end.

At the end of a step m(v) = J^T gamma(J v) holds for the soft bodies, and the same with the momenta
of the rigid trees. For a change of the start

    H dv = (J^T gamma)' - m',    H = dm/dv + J^T G J

where the primes are changes at fixed v. The factor of A = M + dt^2 K + dt D reduces H to the
touched vertices and the rigid trees, whose convex problem is differentiated by
:class:`sapwood.Sensitivity`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.derivatives.differential import Differential
from sapwood.derivatives.sensitivity import Sensitivity
from sapwood.settings import SapSettings
from sapwood.solver import SapSolver

from ..body_step import BodyStep
from ..reduction import Pass, Reduction
from .slopes import Slopes
from .soft_equations import CONTACT_ARRAYS

_Float = NDArray[np.float64]
_Fields = tuple[_Float, ...]

# A factor of a stiffness that is not the exact one takes corrections. They end when a solution
# changes by less than the tolerance, or by no more than round-off and not less than before.
_CORRECTIONS = 200
_TOLERANCE, _ROUND_OFF = 1e-11, 1e-8


class Adjoint(NamedTuple):
    """The gradient of a loss by the equations of a step."""

    soft: _Fields
    """-dL/d of m of each body (n, 3)."""
    rigid: _Float
    """-dL/d of the residual of the momenta of the rigid trees (nv,)."""
    contacts: _Float
    """dL/d of the numbers of the contacts of soft bodies."""
    told: _Fields
    """dL/d of the velocities of each body (n, 3), for vertices that move as told or are held."""


class Response(NamedTuple):
    """The change of the end of a step."""

    soft: _Fields
    """Changes of the velocities of each body (n, 3), m/s."""
    rigid: _Float
    """The same of the rigid trees (nv,)."""
    gamma: _Float
    """Changes of the impulses (n, 3) of the contacts of soft bodies along their frames, N s."""


class LinearStep:
    """The linearized equations of a solved step.

    Parameters
    ----------
    steps : sequence of BodyStep
        The soft bodies; they are evaluated at the end of the step.
    reduction : Reduction
        The convex problem of the step.
    found : Pass
        The pass that the step ended with.
    settings : SapSettings
        Settings of the solver.

    Attributes
    ----------
    problem : ContactProblem
        The convex problem at the end of the step.
    solution : Solution
        Its solution.
    sensitivity : Sensitivity or None
        Its linearization; None if it has no velocities.
    inexact : list of int
        Bodies for which dm/dv is not A.
    slopes : list of Slopes or None
        dm/dv of these bodies, which the user sets.
    """

    def __init__(
        self,
        steps: Sequence[BodyStep],
        reduction: Reduction,
        found: Pass,
        settings: SapSettings,
    ) -> None:
        self._steps, self._reduction = steps, reduction
        self.inexact = [b for b, v in enumerate(found.v) if not self._is_exact(steps[b], v)]
        self.slopes: list[Slopes | None] = [None] * len(steps)
        self.problem, _ = reduction.problem(found.v)
        self._bodies = {b: body for b, body in reduction.bodies.items() if body.tree >= 0}
        starts, self._A, begin = reduction.trees.starts, [], 0
        self._places = list(map(slice, starts[:-1].tolist(), starts[1:].tolist()))
        for n in self.problem.tree_nv.tolist():
            self._A.append(self.problem.A[begin : begin + n * n].reshape(n, n))
            begin += n * n
        self._rigid = np.concatenate(
            [np.zeros(0, np.int64)]
            + [np.r_[reduction.trees.of_rigid(t)] for t in range(len(reduction.rigid.tree_nv))]
        )
        self.sensitivity: Sensitivity | None = None
        if self.problem.nv:
            # sticking contacts have other impulses at v with the weights of the present A
            self.solution = SapSolver(settings).solve(self.problem)
            self.sensitivity = Sensitivity(self.problem, self.solution, settings)
        self.acts = np.any(found.solution.gamma != 0, axis=1)

    @staticmethod
    def _is_exact(step: BodyStep, v: _Float) -> bool:
        """Evaluate a body at the end of the step, and tell whether dm/dv is A there."""
        is_exact = step.has_exact_stiffness
        step.evaluate(v, exact=is_exact)
        try:
            step.drop_factor()
            step.linearize(v)
            step.free_velocity(v)
        except ValueError:  # the exact stiffness is not positive definite
            step.evaluate(v)
            step.linearize(v)
            return False
        return is_exact

    @property
    def gamma(self) -> _Float:
        """Impulses (n, 3) of the contacts of soft bodies along their frames, N s."""
        if self.sensitivity is None:
            return np.zeros((0, 3))
        found: _Float = self.solution.gamma[self._reduction.n_rigid :]
        return found

    @property
    def distance(self) -> float:
        """Least change of velocity, m/s or rad/s, to another region of a contact or row."""
        if self.sensitivity is None:
            return math.inf
        ways = np.concatenate([self.sensitivity.distance, self.sensitivity.row_distance])
        return float(ways.min(initial=math.inf))

    def rigid_way(self) -> float:
        """Least change of a position, m or rad, that brings a rigid constraint to a kink.

        The gap of a contact moves with a position; its tangents turn, by the speed of the trees.
        """
        if self.sensitivity is None:
            return math.inf
        n, problem, found = self._reduction.n_rigid, self.problem, self.solution
        distance, dt = self.sensitivity.distance[:n], problem.dt
        hat_t = 0.0 if problem.v_hat_t is None else problem.v_hat_t[:n]
        y_n = problem.v_hat_n[:n] - found.v_c[:n, 2]
        y_t = np.linalg.norm(hat_t - found.v_c[:n, :2], axis=1) * problem.R_n[:n] / problem.R_t[:n]
        mu = problem.mu[:n]
        has_cone = (y_n > 0) & (mu > 0)
        slope = np.divide(y_t, mu, out=np.full(n, np.inf), where=has_cone)
        gaps = dt * np.minimum(np.abs(y_n), np.abs(y_n - slope))
        turns = distance / max(float(np.max(np.abs(found.v), initial=0.0)), 1e-300)
        rows = dt * self.sensitivity.row_distance
        return float(np.concatenate([gaps, turns, rows]).min(initial=math.inf))

    # ---- reverse mode ----

    def solve_transposed(
        self,
        soft: _Fields,
        rigid: _Float,
        gamma: _Float | None = None,
        m: _Fields | None = None,
    ) -> Adjoint:
        """Solve with the transpose of H.

        Parameters
        ----------
        soft : tuple of ndarray (n, 3)
            dL/d of the velocities of each body at the end of the step.
        rigid : ndarray (nv,)
            The same of the rigid trees.
        gamma : ndarray (n, 3), optional
            The same of the impulses of the contacts of soft bodies along their frames.
        m : tuple of ndarray (n, 3), optional
            dL/d of m of each body, where the loss has it too.

        Returns
        -------
        Adjoint
            dL/d of the equations.
        """
        of_rigid = of_contacts = np.zeros(0)
        impulses: _Float | None = None
        if gamma is not None and self.sensitivity is not None:
            impulses = np.zeros((self.problem.n_contacts, 3))
            impulses[self._reduction.n_rigid :] = gamma
        if m is not None:
            # m follows from the velocities too
            soft = tuple(
                bar + self._multiply(b, of_m, Slopes.pull) if np.any(of_m) else bar
                for b, (bar, of_m) in enumerate(zip(soft, m, strict=True))
            )

        def solve(bar: _Fields) -> _Fields:
            nonlocal of_rigid, of_contacts
            z = [step.solve(x) for step, x in zip(self._steps, bar, strict=True)]
            if self.sensitivity is None:
                return tuple(z)
            cotangent = np.zeros(self.problem.nv)
            cotangent[self._rigid] = rigid
            for b, body in self._bodies.items():
                loads = body.step.schur() @ z[b][body.step.last].ravel()
                cotangent[self._places[body.tree]] += body.onto_tree(loads)
            gradient = self.sensitivity.vjp(cotangent, impulses, frozen_regularization=True)
            x = np.array(gradient.v_star)
            for A, place in zip(self._A, self._places, strict=True):
                x[place] = np.linalg.solve(A, x[place])
            for b, body in self._bodies.items():
                change = body.changes(x[self._places[body.tree]]) - z[b][body.step.last]
                z[b] = z[b] + body.step.extend(change)
            of_rigid, of_contacts = x[self._rigid], self._of_soft_contacts(gradient)
            return tuple(z)

        found = self._corrected(soft, solve, -1, Slopes.pull)
        told = [
            bar - self._multiply(b, x, Slopes.pull)
            for b, (bar, x) in enumerate(zip(soft, found, strict=True))
        ]
        if m is not None:
            found = tuple(x - of_m for x, of_m in zip(found, m, strict=True))
        return Adjoint(found, of_rigid, of_contacts, tuple(told))

    # ---- forward mode ----

    def solve_forward(self, m: _Fields, contacts: _Float, rigid: _Float, told: _Fields) -> Response:
        """Solve with H.

        Parameters
        ----------
        m : tuple of ndarray (n, 3)
            Changes of m of each body.
        contacts : ndarray
            Changes of the numbers of the contacts of soft bodies.
        rigid : ndarray (nv,)
            Change of the residual of the momenta of the rigid trees.
        told : tuple of ndarray (n, 3)
            Changes of the velocities of vertices that move as told or are held.

        Returns
        -------
        Response
            The change of the end of the step.
        """
        of_rigid, gamma = np.zeros(0), np.zeros((0, 3))

        def solve(of_m: _Fields) -> _Fields:
            nonlocal of_rigid, gamma
            y = [-step.solve(x) for step, x in zip(self._steps, of_m, strict=True)]
            if self.sensitivity is None:
                return tuple(y)
            v_star = np.zeros(self.problem.nv)
            v_star[self._rigid] = -rigid
            for b, body in self._bodies.items():
                loads = body.step.schur() @ y[b][body.step.last].ravel()
                v_star[self._places[body.tree]] += body.onto_tree(loads)
            for A, place in zip(self._A, self._places, strict=True):
                v_star[place] = np.linalg.solve(A, v_star[place])
            change = dataclasses.replace(self._contact_change(contacts), v_star=v_star)
            end = self.sensitivity.jvp(change, frozen_regularization=True)
            found, gamma = end.v, end.gamma[self._reduction.n_rigid :]
            for b, body in self._bodies.items():
                more = body.changes(found[self._places[body.tree]]) - y[b][body.step.last]
                y[b] = y[b] + body.step.extend(more)
            of_rigid = found[self._rigid]
            return tuple(y)

        right = tuple(
            of_m + self._multiply(b, x, Slopes.push) if np.any(x) else of_m
            for b, (of_m, x) in enumerate(zip(m, told, strict=True))
        )
        found = self._corrected(right, solve, 1, Slopes.push)
        soft = tuple(x + more for x, more in zip(found, told, strict=True))
        return Response(soft, of_rigid, gamma)

    def _contact_change(self, contacts: _Float) -> Differential:
        """The change of the convex problem with one of the numbers of the soft contacts."""
        if not self._reduction.meetings:
            return Differential()
        arrays: dict[str, Any] = {}
        begin = 0
        for name, size in self._soft_sizes().items():
            given = np.asarray(getattr(self.problem, name))
            change = np.zeros(given.size)
            change[given.size - size :] = contacts[begin : begin + size]
            arrays[name] = change.reshape(given.shape)
            begin += size
        # from changes of 1/R_n and v_hat_n/R_n
        R, v_hat = self.problem.R_n, self.problem.v_hat_n
        arrays["R_n"] = -R * R * arrays["R_n"]
        arrays["v_hat_n"] = R * arrays["v_hat_n"] + v_hat / R * arrays["R_n"]
        return Differential(**arrays)

    # ---- both ----

    def _of_soft_contacts(self, gradient: Any) -> _Float:
        """DL/d of the numbers of contacts of soft bodies, which are the last of all contacts."""
        if not self._reduction.meetings:
            return np.zeros(0)
        by = {name: np.ravel(getattr(gradient, name)) for name in CONTACT_ARRAYS}
        # by 1/R_n and v_hat_n/R_n
        R, v_hat = self.problem.R_n, self.problem.v_hat_n
        by["R_n"] = -R * (R * by["R_n"] + v_hat * by["v_hat_n"])
        by["v_hat_n"] = R * by["v_hat_n"]
        sizes = self._soft_sizes().values()
        return np.concatenate([x[len(x) - k :] for x, k in zip(by.values(), sizes, strict=True)])

    def _soft_sizes(self) -> dict[str, int]:
        """Entries of contacts of soft bodies in each array."""
        n, n_J = (len(self._reduction._soft[name]) for name in ("mu", "J"))
        return {name: count * n if count else n_J for name, count in CONTACT_ARRAYS.items()}

    def _multiply(self, b: int, x: _Float, multiply: Callable[[Slopes, _Float], _Float]) -> _Float:
        """Multiply changes of the velocities of a body by dm/dv or its transpose."""
        slopes = self.slopes[b]
        if slopes is None:
            return self._steps[b].multiply(x)
        return multiply(slopes, x.ravel()).reshape(-1, 3)

    def _corrected(
        self,
        right: _Fields,
        solve: Callable[[_Fields], _Fields],
        sign: int,
        multiply: Callable[[Slopes, _Float], _Float],
    ) -> _Fields:
        """Solve with dm/dv in place of A: (dm/dv - A) x goes to the right-hand side."""
        found = solve(right)
        if not any(self.slopes):
            return found
        before = math.inf
        for _ in range(_CORRECTIONS):
            sides = list(right)
            for b in self.inexact:
                more = self._multiply(b, found[b], multiply) - self._steps[b].multiply(found[b])
                sides[b] = sides[b] + sign * more
            former, found = found, solve(tuple(sides))
            change = _norm([new - old for new, old in zip(found, former, strict=True)])
            part = change / max(_norm(found), 1e-300)
            if part <= _TOLERANCE or before / 2.0 < part <= _ROUND_OFF:
                return found
            before = part
        raise np.linalg.LinAlgError("dm/dv + J^T G J is singular, or far from its factor")


def _norm(arrays: Sequence[_Float]) -> float:
    return math.sqrt(sum(float(np.vdot(x, x)) for x in arrays))
