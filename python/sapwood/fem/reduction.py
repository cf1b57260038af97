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

from sapwood.base.blocks import offsets
from sapwood.problem.arrays import Delassus
from sapwood.problem.contact_problem import ContactProblem
from sapwood.problem.merged_trees import MergedTrees
from sapwood.solution import Solution
from sapwood.solver import SapSolver

from .contacts import FaceContacts
from .results import Reaction, Touch
from .soft_step import SoftStep
from .vectors import cross

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

#: Near-rigid parameter of soft surfaces: the inverse mass of a single face is large, since it
#: yields. With 1, the value for rigid bodies, surfaces would be softer than their stiffness.
YIELDING_BETA = 0.1


@dataclass(frozen=True)
class Meeting:
    """The contacts of a soft body with one other body, at the start of a step.

    Attributes
    ----------
    body : int
        Number of the soft body.
    other : str
        Name of the other body.
    contacts : FaceContacts
        The contacts.
    friction, dissipation_time : float
        Of the pair.
    tree : int
        Rigid tree of the other body, or -1.
    J : ndarray (n, 3, tree_nv) or None
        Velocities of the points of the other body by those of its tree, in the world.
    """

    body: int
    other: str
    contacts: FaceContacts
    friction: float
    dissipation_time: float
    tree: int = -1
    J: _Float | None = None


@dataclass(frozen=True)
class Hold:
    """Vertices of a soft body that move with a rigid tree: v = J v_tree + c.

    Attributes
    ----------
    body : int
        Number of the soft body.
    other : str
        Name of the body that holds them.
    vertices : ndarray of int (n,)
        The vertices.
    tree : int
        The rigid tree.
    J : ndarray (n, 3, tree_nv)
        Their velocities by those of the tree.
    c : ndarray (n, 3)
        Velocities that correct their places in this step, m/s.
    """

    body: int
    other: str
    vertices: _Index
    tree: int
    J: _Float
    c: _Float


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
    rigid: _Float
    solution: Solution
    residual: float = math.inf
    turned_over: int = 0
    loads: list[_Float] = dataclasses.field(default_factory=list)


def _frames(normals: _Float) -> _Float:
    """Rows t1, t2, n (c, 3, 3)."""
    axis = np.zeros_like(normals)
    axis[np.arange(len(normals)), np.argmin(np.abs(normals), axis=1)] = 1
    first = cross(axis, normals)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack([first, cross(normals, first), normals], axis=1)


class _Part:
    """The touched vertices of a soft body in the trees of the problem."""

    def __init__(self, step: SoftStep, holds: Sequence[Hold]) -> None:
        self.step, self.holds = step, holds
        last = step.last
        self.c = np.zeros((len(last), 3))
        moves = ~step.is_fixed[last]
        self.c[~moves] = step.start[last[~moves]]
        self.held = [np.searchsorted(last, hold.vertices) for hold in holds]
        for place, hold in zip(self.held, holds, strict=True):
            moves[place] = False
            self.c[place] = hold.c
        self.moves = np.repeat(moves, 3)
        self.moves_all = bool(moves.all())
        self.has_c = bool(np.any(self.c))
        self.size = int(self.moves.sum())
        self.tree = self.begin = -1
        self.T: _Float | None = None  # only a body attached to rigid trees has it

    def place(self, tree: int, begin: int, merged: MergedTrees) -> None:
        """Take velocities of a tree."""
        self.tree, self.begin = tree, begin
        if self.holds:
            n = len(self.step.last)
            T = np.zeros((n, 3, int(merged.tree_nv[tree])))
            T.reshape(3 * n, -1)[self.moves, begin + np.arange(self.size)] = 1
            for place, hold in zip(self.held, self.holds, strict=True):
                at = int(merged.begin[hold.tree])
                T[place, :, at : at + hold.J.shape[2]] = hold.J
            self.T = T.reshape(3 * n, -1)

    def columns(self, J_last: _Float) -> _Float:
        """Rows over the last vertices as rows over the tree."""
        if self.T is not None:
            return J_last @ self.T
        return J_last if self.moves_all else J_last[:, self.moves]

    def velocities(self, v: _Float) -> _Float:
        """Velocities of the last vertices, flat, from those of the tree."""
        if self.T is not None:
            return self.T @ v + self.c.ravel()
        found = self.c.ravel().copy()
        found[self.moves] = v
        return found


class Reduction:
    """The reduced convex problem of a step.

    Parameters
    ----------
    steps : sequence of SoftStep
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
    """

    def __init__(
        self,
        steps: Sequence[SoftStep],
        meetings: Sequence[Meeting],
        holds: Sequence[Hold],
        rigid: ContactProblem,
        options: PassOptions,
        solver: SapSolver,
    ) -> None:
        self.steps, self.meetings, self.holds = steps, meetings, holds
        self.rigid, self.options, self._solver = rigid, options, solver
        reduced = sorted({m.body for m in meetings} | {h.body for h in holds})
        self.parts = {b: _Part(steps[b], [h for h in holds if h.body == b]) for b in reduced}
        self._lay_out()
        self.n_rigid = len(rigid.mu)
        self._has_rigid_constraints = bool(self.n_rigid or rigid.constraints)
        if meetings:
            self._place_contacts()
        if self._has_rigid_constraints:
            self._place_rigid_constraints()

    # ---- trees ----

    def _lay_out(self) -> None:
        """Merge rigid trees that a soft body joins, and give each soft body its tree."""
        group = np.arange(len(self.rigid.tree_nv))
        for part in self.parts.values():
            if part.holds:
                joined = np.isin(group, group[[hold.tree for hold in part.holds]])
                group[joined] = group[joined].min()
        if self.holds:
            _, group = np.unique(group, return_inverse=True)
        n_merged = int(group.max(initial=-1)) + 1
        sizes: list[int] = [0] * n_merged
        placed = []
        for part in self.parts.values():
            if part.holds:
                tree = int(group[part.holds[0].tree])
                placed.append((part, tree, sizes[tree]))
                sizes[tree] += part.size
            elif part.size:
                placed.append((part, len(sizes), 0))
                sizes.append(part.size)
        self.more = np.array(sizes, np.int32)
        self.merged = MergedTrees(self.rigid.tree_nv, group, self.more)
        self.is_merged = bool(np.any(self.merged.begin)) or bool(np.any(self.more[:n_merged]))
        for part, tree, at in placed:
            part.place(tree, int(self.merged.tree_nv[tree] - self.more[tree]) + at, self.merged)
        self.tree_nv: _Index = self.merged.tree_nv
        self.starts = offsets(self.tree_nv)
        self._rigid_starts = offsets(self.rigid.tree_nv)
        self._A_starts = offsets(self.rigid.tree_nv.astype(np.int64) ** 2)

    # ---- contacts ----

    def _place_contacts(self) -> None:
        trees_a, trees_b, blocks, frames, biases, slips = [], [], [], [], [], []
        self.is_acting = np.zeros(sum(len(m.contacts.faces) for m in self.meetings), np.bool_)
        begin = 0
        for meeting in self.meetings:
            part, contacts = self.parts[meeting.body], meeting.contacts
            n, last = len(contacts.faces), part.step.last
            axes = _frames(contacts.normals)
            corners = part.step.body.mesh.faces[contacts.faces]
            placed = np.zeros((n, 3, len(last), 3))
            placed[np.arange(n)[:, None], :, np.searchsorted(last, corners)] = (
                contacts.weights[:, :, None, None] * axes[:, None]
            )
            J_last = placed.reshape(3 * n, -1)
            bias = J_last @ part.c.ravel() if part.has_c else np.zeros(3 * n)
            slip = np.einsum("ij,ijk->ik", contacts.weights, part.step.start[corners])
            sides: dict[int, _Float] = {}
            if part.tree >= 0:
                sides[part.tree] = part.columns(J_last).reshape(n, 3, -1)
            if meeting.tree >= 0 and meeting.J is not None:
                tree, at = int(self.merged.group[meeting.tree]), self.merged.begin[meeting.tree]
                width = meeting.J.shape[2]
                side = sides.setdefault(tree, np.zeros((n, 3, int(self.tree_nv[tree]))))
                side[:, :, at : at + width] -= axes @ meeting.J
                slip -= meeting.J @ self._rigid_guess(meeting.tree)
            if sides:
                first, *second = sides
                trees_a += [first] * n
                trees_b += [second[0] if second else -1] * n
                flat = [side.reshape(n, -1) for side in sides.values()]
                blocks.append(np.concatenate(flat, axis=1).ravel())
                self.is_acting[begin : begin + n] = True
            begin += n
            frames.append(axes)
            biases.append(bias.reshape(n, 3))
            slips.append(np.linalg.norm(np.einsum("nij,nj->ni", axes[:, :2], slip), axis=1))
        self.frames = np.concatenate(frames)
        pairs = [(m, len(m.contacts.faces)) for m in self.meetings]
        tau_d = np.concatenate([np.full(n, m.dissipation_time) for m, n in pairs])
        bias = np.concatenate(biases)
        phi0 = np.concatenate([m.contacts.phi0 for m in self.meetings])
        acting = self.is_acting
        self._soft: dict[str, Any] = {
            "tree_a": np.array(trees_a, np.int32),
            "tree_b": np.array(trees_b, np.int32),
            "J": np.concatenate([np.zeros(0), *blocks]),
            "mu": np.concatenate([np.full(n, m.friction) for m, n in pairs])[acting],
            # a bias of the normal velocity acts as a distance does
            "phi0": (phi0 + (self.options.dt + tau_d) * bias[:, 2])[acting],
            "k": np.concatenate([m.contacts.k for m in self.meetings])[acting],
            "tau_d": tau_d[acting],
            "v_hat_t": -bias[acting, :2],
        }
        if self.options.slip_speed > 0:
            self._soft["slip_ratio"] = (np.concatenate(slips) / self.options.slip_speed)[acting]

    def _rigid_guess(self, tree: int) -> _Float:
        guess = self.rigid.v_guess
        v: _Float = self.rigid.v_star if guess is None else guess
        return v[self._rigid_starts[tree] : self._rigid_starts[tree + 1]]

    def _place_rigid_constraints(self) -> None:
        """Contacts and constraints of the rigid problem, regularized, in the merged trees."""
        rigid, n = self.rigid, self.n_rigid
        arrays: dict[str, Any] = {
            name: getattr(rigid, name)
            for name in ("tree_a", "tree_b", "J", "mu", "R_t", "R_n", "v_hat_n", "v_hat_t")
        }
        if arrays["v_hat_t"] is None:
            arrays["v_hat_t"] = np.zeros((n, 2))
        spin_J, groups = rigid.spin_J, list(rigid.constraints)
        if self.is_merged:
            if rigid.spin_contact is not None and spin_J is not None:
                spin_J = self.merged.spins(rigid.spin_contact, spin_J, rigid.tree_a, rigid.tree_b)
            threes = np.full(n, 3, np.int32)
            arrays["tree_a"], arrays["tree_b"], arrays["J"] = self.merged.blocks(
                rigid.J, threes, rigid.tree_a, rigid.tree_b
            )
            groups = [self.merged.constraints(group) for group in groups]
        self._rigid_arrays = arrays
        self._rigid_others: dict[str, Any] = {"constraints": groups}
        if rigid.spin_contact is not None:
            self._rigid_others |= {
                "spin_contact": rigid.spin_contact,
                "spin_J": spin_J,
                "spin_mu": rigid.spin_mu,
            }

    # ---- a pass ----

    def problem(
        self, iterates: Sequence[_Float]
    ) -> tuple[ContactProblem, list[_Float], dict[int, _Float]]:
        """Linearize at the iterates of the last evaluation.

        Parameters
        ----------
        iterates : sequence of ndarray (n, 3)
            Velocities of each soft body.

        Returns
        -------
        problem : ContactProblem
            The convex problem.
        free : list of ndarray (n, 3)
            Velocities of each soft body without contact and attachments.
        schur : dict of int to ndarray
            S of each reduced body.
        """
        free = []
        for step, w in zip(self.steps, iterates, strict=True):
            step.factor()
            free.append(w - step.solve(step.momentum_residual(w)))
        schur = {b: part.step.schur() for b, part in self.parts.items()}
        A, v_star = self._trees(free, schur)
        guess = np.zeros(int(self.starts[-1]))
        for t in range(len(self.rigid.tree_nv)):
            guess[self._rigid_place(t)] = self._rigid_guess(t)
        for b, part in self.parts.items():
            if part.tree >= 0:
                begin = self.starts[part.tree] + part.begin
                guess[begin : begin + part.size] = iterates[b][part.step.last].ravel()[part.moves]
        options = self.options
        common: dict[str, Any] = {
            "tree_nv": self.tree_nv,
            "A": np.concatenate([np.zeros(0), *(block.ravel() for block in A)]),
            "v_star": np.concatenate([np.zeros(0), *v_star]),
            "dt": options.dt,
            "v_guess": guess,
        }
        numbers: dict[str, Any] = {
            "sigma": options.sigma,
            "beta": options.beta,
            "delassus": options.delassus,
        }
        if not self.meetings:
            return self._with_rigid(common, None), free, schur
        soft = ContactProblem(**common, **numbers, **self._soft)
        return self._with_rigid(common, soft), free, schur

    def _rigid_place(self, t: int) -> slice:
        begin = int(self.starts[self.merged.group[t]] + self.merged.begin[t])
        return slice(begin, begin + int(self.rigid.tree_nv[t]))

    def _trees(
        self, free: list[_Float], schur: dict[int, _Float]
    ) -> tuple[list[_Float], list[_Float]]:
        """A and v* of each tree."""
        A: list[_Float] = [np.zeros((n, n)) for n in self.tree_nv]
        v_star: list[_Float] = [np.zeros(n) for n in self.tree_nv]
        for t, n in enumerate(self.rigid.tree_nv):
            tree, at = self.merged.group[t], int(self.merged.begin[t])
            place = slice(at, at + int(n))
            block = self.rigid.A[self._A_starts[t] : self._A_starts[t + 1]].reshape(n, n)
            A[tree][place, place] = block
            v_star[tree][place] = self.rigid.v_star[
                self._rigid_starts[t] : self._rigid_starts[t + 1]
            ]
        momenta: dict[int, _Float] = {}
        for b, part in self.parts.items():
            S, v_last = schur[b], free[b][part.step.last].ravel()
            if part.T is not None:
                momentum = momenta.setdefault(part.tree, A[part.tree] @ v_star[part.tree])
                momentum += part.T.T @ (S @ (v_last - part.c.ravel()))
            elif part.tree >= 0:
                A[part.tree] = S if part.moves_all else S[np.ix_(part.moves, part.moves)]
                v_star[part.tree] = v_last[part.moves]
        for b, part in self.parts.items():
            if part.T is not None:
                A[part.tree] += part.T.T @ schur[b] @ part.T
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

    def solve_pass(self, iterates: Sequence[_Float]) -> Pass:
        """Linearize at the iterates of the last evaluation, and solve the convex problem.

        Parameters
        ----------
        iterates : sequence of ndarray (n, 3)
            Velocities of each soft body.

        Returns
        -------
        Pass
            What was found, without its residual.
        """
        problem, v, schur = self.problem(iterates)
        impulses = [np.zeros_like(each) for each in v]
        rigid = np.zeros(int(self._rigid_starts[-1]))
        solution = self._solver.solve(problem)
        for t in range(len(self.rigid.tree_nv)):
            begin, end = self._rigid_starts[t : t + 2]
            rigid[begin:end] = solution.v[self._rigid_place(t)]
        for b, part in self.parts.items():
            step, own = part.step, np.zeros(0)
            if part.T is not None:
                own = solution.v[self.starts[part.tree] : self.starts[part.tree + 1]]
            elif part.tree >= 0:
                begin = int(self.starts[part.tree])
                own = solution.v[begin : begin + part.size]
            change = part.velocities(own) - v[b][step.last].ravel()
            push = np.zeros_like(v[b])
            push[step.last] = (schur[b] @ change).reshape(-1, 3)
            v[b] = v[b] + step.solve(push)
        begin = 0
        gamma = self.soft_impulses(solution)
        for meeting in self.meetings:
            contacts = meeting.contacts
            n, corners = len(contacts.faces), self.steps[meeting.body].body.mesh.faces
            of_pair = contacts.weights[:, :, None] * gamma[begin : begin + n, None]
            np.add.at(impulses[meeting.body], corners[contacts.faces], of_pair)
            begin += n
        return Pass(v, impulses, rigid, solution)

    def soft_impulses(self, solution: Solution) -> _Float:
        """Impulses (n, 3) on the soft bodies, of their contacts, in the world.

        Parameters
        ----------
        solution : Solution
            The solution of this problem.

        Returns
        -------
        ndarray (n, 3)
            N s; zero for contacts between bodies that cannot move.
        """
        if not self.meetings:
            return np.zeros((0, 3))
        gamma = np.zeros((len(self.is_acting), 3))
        gamma[self.is_acting] = solution.gamma[self.n_rigid :]
        found: _Float = np.einsum("cij,ci->cj", self.frames, gamma)
        return found

    # ---- results ----

    def touches(self, solution: Solution) -> tuple[Touch, ...]:
        """Contacts with their forces.

        Parameters
        ----------
        solution : Solution
            The solution of this problem.

        Returns
        -------
        tuple of Touch
            One for each meeting.
        """
        forces = self.soft_impulses(solution) / self.options.dt
        begin, touches = 0, []
        for meeting in self.meetings:
            end = begin + len(meeting.contacts.faces)
            name = self.steps[meeting.body].body.name
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
                self.steps[hold.body].body.name,
                hold.other,
                hold.vertices,
                load / self.options.dt,
                self.steps[hold.body].q0[hold.vertices],
            )
            for hold, load in zip(self.holds, found.loads, strict=True)
        )
