"""The convex problem of a step: rigid trees, and the touched vertices of soft bodies.

A soft body is one tree of its touched vertices, with the Schur complement S as its mass. Vertices
that move as told, or with a rigid tree, follow from the velocities v of the trees:

    v_last = T v + c

A body that is attached to rigid trees is one tree with them, of mass blockdiag(M) + T^T S T.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.blocks import offsets
from sapwood.problem.arrays import Delassus
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import Solution
from sapwood.solver import SapSolver

from .body_step import BodyStep
from .meetings import Hold, Meeting
from .reduced_trees import ReducedBody, ReducedTrees
from .results import Reaction, Touch

_Float = NDArray[np.float64]

#: Near-rigid parameter of soft surfaces: the inverse mass of a single face is large, since it
#: yields. With 1, the value for rigid bodies, surfaces would be softer than their stiffness.
YIELDING_BETA = 0.1


@dataclass(frozen=True)
class PassOptions:
    """Numbers of a step.

    Attributes
    ----------
    dt : float
        Time step, s.
    sigma, beta, delassus
        Regularization of the contacts of soft bodies.
    slip_speed : float
        Contacts that slip more slowly have a smaller sigma, m/s; 0 for none.
    """

    dt: float
    sigma: float
    beta: float
    delassus: Delassus
    slip_speed: float = 0.0


@dataclass
class Pass:
    """The result of a pass.

    Attributes
    ----------
    v, impulses : list of ndarray (n, 3)
        Velocities and contact impulses of each soft body.
    rigid : ndarray
        Velocities of the rigid trees.
    solution : Solution
        The solution; contacts of the rigid problem come first.
    residual : float
        Residual of the equations of motion.
    turned_over : int
        Tetrahedra that are turned over.
    loads : list of ndarray (n, 3)
        Impulses on held vertices, one array for each hold.
    """

    v: list[_Float]
    impulses: list[_Float]
    gamma: _Float
    rigid: _Float
    solution: Solution
    residual: float = math.inf
    turned_over: int = 0
    loads: list[_Float] = dataclasses.field(default_factory=list)


def _joined(arrays: Sequence[_Float], axis: int = 0) -> _Float:
    """Arrays one behind the other; a single one is not copied."""
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays, axis=axis) if arrays else np.zeros(0)


class Reduction:
    """The reduced convex problem of a step.

    Parameters
    ----------
    steps : sequence of BodyStep
        The soft bodies, with `last` chosen: touched and held vertices are in it.
    meetings : sequence of Meeting
        Contacts of soft bodies.
    holds : sequence of Hold
        Attachments to rigid trees.
    rigid : ContactProblem
        The rigid trees with their own contacts and constraints.
    options : PassOptions
        Numbers of the step.
    solver : SapSolver
        Solves the problem.
    friction_bound : ndarray (n,), optional
        Bounds of lagged friction of the contacts of all meetings, N s, or NaN.
    """

    def __init__(
        self,
        steps: Sequence[BodyStep],
        meetings: Sequence[Meeting],
        holds: Sequence[Hold],
        rigid: ContactProblem,
        options: PassOptions,
        solver: SapSolver,
        friction_bound: _Float | None = None,
    ) -> None:
        self._friction_bound = friction_bound
        self.steps, self.meetings, self.holds = steps, meetings, holds
        self.rigid, self.options, self._solver = rigid, options, solver
        reduced = {body for meeting in meetings for _, body, _, _ in meeting.sides()}
        reduced |= {hold.body for hold in holds}
        self.bodies = {
            b: ReducedBody(steps[b], [hold for hold in holds if hold.body == b])
            for b in sorted(reduced)
        }
        self.trees = ReducedTrees(rigid.tree_nv, list(self.bodies.values()))
        self._rigid_starts = offsets(rigid.tree_nv)
        self.n_rigid = len(rigid.mu)
        self._has_rigid_constraints = bool(self.n_rigid or rigid.constraints)
        if meetings:
            self._place_contacts()
        if self._has_rigid_constraints:
            self._place_rigid_constraints()

    # ---- contacts ----

    def _place_contacts(self) -> None:
        numbers = [len(meeting.contacts.k) for meeting in self.meetings]
        places = {b: i for i, b in enumerate(self.bodies)}
        self.frames, bias, slip, tree_a, tree_b, J = _core.fem_rows(
            self.trees.tree_nv,
            tuple(body.part() for body in self.bodies.values()),
            tuple(self._bodies_of(meeting, places) for meeting in self.meetings),
        )
        # contacts that cannot move are left out
        self.is_acting = tree_a >= 0
        acting = slice(None) if self.is_acting.all() else self.is_acting
        friction = np.repeat([meeting.friction for meeting in self.meetings], numbers)
        tau_d = np.empty(len(friction))
        for meeting, end, n in zip(self.meetings, np.cumsum(numbers), numbers, strict=True):
            tau_d[end - n : end] = meeting.dissipation_time
        phi0 = _joined([meeting.contacts.phi0 for meeting in self.meetings])
        # a bias of the normal velocity acts as a distance does
        phi0 = phi0 + (self.options.dt + tau_d) * bias[:, 2]
        self._soft: dict[str, Any] = {
            "tree_a": tree_a[acting],
            "tree_b": tree_b[acting],
            "J": J,
            "mu": friction[acting],
            "phi0": phi0[acting],
            "k": _joined([meeting.contacts.k for meeting in self.meetings])[acting],
            "tau_d": tau_d[acting],
            "v_hat_t": -bias[acting, :2],
        }
        if self._friction_bound is not None:
            self._soft["friction_bound"] = self._friction_bound[acting]
        if self.options.slip_speed > 0:
            self._soft["slip_ratio"] = slip[acting] / self.options.slip_speed

    def _bodies_of(self, meeting: Meeting, places: dict[int, int]) -> tuple[Any, ...]:
        """Normals and bodies of a meeting, for the core."""
        sides: list[Any] = [
            (places[b], vertices, weights) for _, b, vertices, weights in meeting.sides()
        ]
        rigid = None
        if meeting.tree >= 0 and meeting.J is not None:
            merged = self.trees.merged
            tree, begin = int(merged.group[meeting.tree]), int(merged.begin[meeting.tree])
            rigid = tree, begin, meeting.J, self._rigid_guess(meeting.tree)
        return meeting.contacts.normals, sides[0], sides[1] if len(sides) > 1 else None, rigid

    def _rigid_guess(self, tree: int) -> _Float:
        guess = self.rigid.v_guess
        v: _Float = self.rigid.v_star if guess is None else guess
        return v[self._rigid_starts[tree] : self._rigid_starts[tree + 1]]

    def _place_rigid_constraints(self) -> None:
        """Contacts and constraints of the rigid problem, regularized, in the merged trees."""
        rigid, n, merged = self.rigid, self.n_rigid, self.trees.merged
        arrays: dict[str, Any] = {
            name: getattr(rigid, name)
            for name in ("tree_a", "tree_b", "J", "mu", "R_t", "R_n", "v_hat_n", "v_hat_t")
        }
        if arrays["v_hat_t"] is None:
            arrays["v_hat_t"] = np.zeros((n, 2))
        if self._friction_bound is not None:
            known = rigid.friction_bound
            arrays["friction_bound"] = np.full(n, np.nan) if known is None else known
        spin_J, groups = rigid.spin_J, list(rigid.constraints)
        if self.trees.is_merged:
            if rigid.spin_contact is not None and spin_J is not None:
                spin_J = merged.spins(rigid.spin_contact, spin_J, rigid.tree_a, rigid.tree_b)
            threes = np.full(n, 3, np.int32)
            arrays["tree_a"], arrays["tree_b"], arrays["J"] = merged.blocks(
                rigid.J, threes, rigid.tree_a, rigid.tree_b
            )
            groups = [merged.constraints(group) for group in groups]
        self._rigid_arrays = arrays
        self._rigid_others: dict[str, Any] = {"constraints": groups}
        if rigid.spin_contact is not None:
            self._rigid_others |= {
                "spin_contact": rigid.spin_contact,
                "spin_J": spin_J,
                "spin_mu": rigid.spin_mu,
            }

    # ---- a pass ----

    def problem(self, guesses: Sequence[_Float]) -> tuple[ContactProblem, list[_Float]]:
        """Reduce the linearizations of the soft bodies.

        Parameters
        ----------
        guesses : sequence of ndarray (n, 3)
            Velocities of each soft body at which the search begins.

        Returns
        -------
        problem : ContactProblem
            The convex problem.
        free : list of ndarray (n, 3)
            Velocities of each soft body without contact and attachments.
        """
        free = [step.free_velocity(guess) for step, guess in zip(self.steps, guesses, strict=True)]
        A, v_star = self._masses(free)
        guess = np.zeros(int(self.trees.starts[-1]))
        for t in range(len(self.rigid.tree_nv)):
            guess[self.trees.of_rigid(t)] = self._rigid_guess(t)
        for b, body in self.bodies.items():
            if body.tree >= 0:
                guess[self.trees.of_body(body)] = body.own(guesses[b][body.step.last])
        options = self.options
        whole = _joined([block.reshape(-1) for block in A])
        # problems and solves keep the factors of an A that cannot change
        whole.setflags(write=False)
        steps = [body.step for body in self.bodies.values()]
        common: dict[str, Any] = {
            "tree_nv": self.trees.tree_nv,
            "A": whole,
            "v_star": _joined(v_star),
            "dt": options.dt,
            "v_guess": guess,
            "factors_of": steps[0].problem if steps else None,
        }
        soft: ContactProblem | None = None
        if self.meetings:
            soft = ContactProblem(
                **common,
                **self._soft,
                sigma=options.sigma,
                beta=options.beta,
                delassus=options.delassus,
            )
            common["factors_of"] = soft
        problem = self._with_rigid(common, soft)
        for step in steps:
            step.problem = problem
        return problem, free

    def _masses(self, free: list[_Float]) -> tuple[list[_Float], list[_Float]]:
        """A and v* of each tree."""
        trees = self.trees
        # a soft body that is a tree of its own brings its S
        A: list[_Float] = [np.zeros((n, n)) for n in trees.tree_nv[: trees.n_merged]]
        A += [np.empty(0)] * (len(trees.tree_nv) - trees.n_merged)
        v_star: list[_Float] = [np.zeros(n) for n in trees.tree_nv]
        begin = 0
        for t, n in enumerate(self.rigid.tree_nv):
            tree, at = trees.merged.group[t], int(trees.merged.begin[t])
            place = slice(at, at + int(n))
            A[tree][place, place] = self.rigid.A[begin : begin + n * n].reshape(n, n)
            first = self._rigid_starts[t]
            v_star[tree][place] = self.rigid.v_star[first : first + n]
            begin += int(n) * int(n)
        momenta: dict[int, _Float] = {}
        for b, body in self.bodies.items():
            S, v_last = body.step.schur(), free[b][body.step.last]
            if body.T is not None:
                # S acts on T v + c - v_last
                if body.tree not in momenta:
                    momenta[body.tree] = A[body.tree] @ v_star[body.tree]
                relative = v_last if body.c is None else v_last - body.c
                momenta[body.tree] += body.T.T @ (S @ relative.ravel())
                A[body.tree] += body.T.T @ S @ body.T
            elif body.tree >= 0:
                A[body.tree] = S if body.moves is None else S[np.ix_(body.moves, body.moves)]
                v_star[body.tree] = body.own(v_last)
        for tree, momentum in momenta.items():
            A[tree] = (A[tree] + A[tree].T) / 2
            v_star[tree][:] = np.linalg.solve(A[tree], momentum)
        return A, v_star

    def _with_rigid(self, common: dict[str, Any], soft: ContactProblem | None) -> ContactProblem:
        """The problem of the soft contacts with the constraints of the rigid trees."""
        if not self._has_rigid_constraints:
            return ContactProblem(**common) if soft is None else soft
        arrays = self._rigid_arrays
        if soft is not None:
            arrays = {name: np.concatenate([a, getattr(soft, name)]) for name, a in arrays.items()}
        return ContactProblem(**common, **arrays, **self._rigid_others)

    def solve_pass(self, guesses: Sequence[_Float]) -> Pass:
        """Solve the convex problem of the linearizations.

        Parameters
        ----------
        guesses : sequence of ndarray (n, 3)
            As of `problem`.

        Returns
        -------
        Pass
            What was found, without its residual.
        """
        problem, v = self.problem(guesses)
        solution = self._solver.solve(problem)
        rigid = np.zeros(int(self._rigid_starts[-1]))
        for t in range(len(self.rigid.tree_nv)):
            begin, end = self._rigid_starts[t : t + 2]
            rigid[begin:end] = solution.v[self.trees.of_rigid(t)]
        for b, body in self.bodies.items():
            own = np.zeros(0)
            if body.T is not None:
                own = solution.v[self.trees.starts[body.tree] : self.trees.starts[body.tree + 1]]
            elif body.tree >= 0:
                own = solution.v[self.trees.of_body(body)]
            change = body.velocities(own) - v[b][body.step.last]
            v[b] = v[b] + body.step.extend(change)
        gamma = self.impulses_in_world(solution.gamma[self.n_rigid :])
        return Pass(v, self.loads_of(gamma), gamma, rigid, solution)

    def loads_of(self, gamma: _Float) -> list[_Float]:
        """Impulses (n, 3) on the vertices of each soft body, from those of contacts, N s."""
        impulses, begin = [np.zeros_like(step.start) for step in self.steps], 0
        for meeting in self.meetings:
            end = begin + len(meeting.contacts.k)
            for sign, b, vertices, weights in meeting.sides():
                _core.fem_add_loads(impulses[b], vertices, weights, gamma[begin:end], sign)
            begin = end
        return impulses

    def impulses_in_world(self, along: _Float) -> _Float:
        """Impulses (n, 3) of all contacts of soft bodies in the world, from those along frames.

        Parameters
        ----------
        along : ndarray (n_acting, 3)
            Impulses of the contacts of the problem, N s.

        Returns
        -------
        ndarray (n, 3)
            The impulses; 0 of contacts that cannot move.
        """
        if not self.meetings:
            return np.zeros((0, 3))
        gamma = np.zeros((len(self.is_acting), 3, 1))
        gamma[self.is_acting, :, 0] = along
        found: _Float = (np.swapaxes(self.frames, 1, 2) @ gamma)[:, :, 0]
        return found

    # ---- results ----

    def normal_forces(self, found: Pass) -> _Float:
        """Normal forces of the contacts of all meetings.

        Parameters
        ----------
        found : Pass
            The last pass.

        Returns
        -------
        ndarray (n,)
            Forces, N; NaN of contacts that cannot move.
        """
        if not self.meetings:
            return np.zeros(0)
        forces = np.full(len(self.is_acting), np.nan)
        forces[self.is_acting] = found.solution.gamma[self.n_rigid :, 2] / self.options.dt
        return forces

    def touches(self, found: Pass) -> tuple[Touch, ...]:
        """Contacts with their forces.

        Parameters
        ----------
        found : Pass
            The last pass.

        Returns
        -------
        tuple of Touch
            One for each meeting.
        """
        forces = found.gamma / self.options.dt
        begin, touches = 0, []
        for meeting in self.meetings:
            end = begin + len(meeting.contacts.k)
            name = self.steps[meeting.body].name
            touches.append(Touch(name, meeting.other, meeting.contacts, forces[begin:end]))
            begin = end
        return tuple(touches)

    def reactions(self, found: Pass) -> tuple[Reaction, ...]:
        """Loads of the attachments.

        Parameters
        ----------
        found : Pass
            The last pass.

        Returns
        -------
        tuple of Reaction
            One for each hold.
        """
        return tuple(
            Reaction(
                self.steps[hold.body].name,
                hold.other,
                hold.vertices,
                load / self.options.dt,
                self.steps[hold.body].q0[hold.vertices],
            )
            for hold, load in zip(self.holds, found.loads, strict=True)
        )
