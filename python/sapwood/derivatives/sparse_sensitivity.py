"""Derivatives of the solution of a sparse problem, by those of its reduced problem.

With t the velocities of the reduced problem, u the others, P x = x_t - A_tu A_uu^-1 x_u and
w = v - v*, a change of A changes S by P dA P^T, and v_u by -A_uu^-1 (dA w)_u beside what follows
from v_t.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.problem.contact_problem import ContactProblem
from sapwood.problem.sparse_matrix import SparseMatrix
from sapwood.problem.sparse_problem import SparseProblem

from .differential import Differential, Gradient, Matrices, SolutionDifferential
from .sensitivity import Sensitivity

_Float = NDArray[np.float64]


class SparseSensitivity:
    """A sparse problem linearized at its solution.

    Gradients and changes have ``A``, ``J`` and ``spin_J`` by the entries of the problem's sparse
    matrices; their groups of constraints are those of the reduced problem.

    Parameters
    ----------
    problem : SparseProblem
        The solved problem.
    reduced : Sensitivity
        The linearization of its reduced problem.
    v : ndarray (nv,)
        The solution.

    Attributes
    ----------
    problem : SparseProblem
        The solved problem.
    reduced : Sensitivity
        The linearization of its reduced problem.
    """

    __slots__ = ("_w", "problem", "reduced")

    def __init__(
        self, problem: SparseProblem[ContactProblem], reduced: Sensitivity, v: _Float
    ) -> None:
        self.problem, self.reduced = problem, reduced
        self._w = v - problem.v_star

    def __reduce__(self) -> tuple[Any, ...]:
        return _dropped, ()

    def vjp(
        self,
        v_bar: ArrayLike | None = None,
        gamma_bar: ArrayLike | None = None,
        *,
        constraint_gamma_bars: Sequence[ArrayLike | None] | None = None,
        spin_gamma_bar: ArrayLike | None = None,
        frozen_regularization: bool = False,
    ) -> Gradient:
        """Reverse mode, as :meth:`sapwood.Solution.vjp` has it."""
        problem, nv = self.problem, self.problem.nv
        bar = _given(np.zeros(nv) if v_bar is None else v_bar, "v_bar", nv)
        of_v_t, rest = _each(problem.condense, bar)
        found = self.reduced.vjp(
            of_v_t, gamma_bar, constraint_gamma_bars=constraint_gamma_bars,
            spin_gamma_bar=spin_gamma_bar, frozen_regularization=frozen_regularization,
        )  # fmt: skip
        of_v_star_t = np.asarray(found.v_star)
        v_star = np.array(np.broadcast_to(bar, (*of_v_star_t.shape[:-1], nv)))
        v_star[..., problem.touched] += of_v_star_t - of_v_t

        def form() -> Matrices:
            J = np.asarray(found.J)[..., self._entries(problem.J, spins=False)]
            return {"A": self._of_mass(np.asarray(found.A), rest), "J": J}

        changed: dict[str, Any] = {"v_star": v_star, "A": form, "J": form}
        if problem.spin_J is not None:
            places = self._entries(problem.spin_J, spins=True)
            changed["spin_J"] = np.asarray(found.spin_J)[..., places]
        others = {
            field.name: getattr(found, field.name)
            for field in dataclasses.fields(found)
            if field.name not in changed
        }
        return Gradient(**others, **changed)

    def jvp(
        self, problem_dot: Differential, *, frozen_regularization: bool = False
    ) -> SolutionDifferential:
        """Forward mode, as :meth:`sapwood.Solution.jvp` has it."""
        if not isinstance(problem_dot, Differential):
            raise TypeError(f"problem_dot must be a Differential, not {type(problem_dot).__name__}")
        problem = self.problem
        v_star = _change(problem_dot.v_star, "v_star", problem.nv)
        A = _change(problem_dot.A, "A", len(problem.A.data))
        changed: dict[str, Any] = {
            "v_star": v_star[..., problem.touched],
            "A": _each(self._change_of_S, A)[0],
        }
        for name, flat in (("J", problem.reduced.J), ("spin_J", problem.reduced.spin_J)):
            matrix, dot = getattr(problem, name), getattr(problem_dot, name)
            if matrix is not None and flat is not None:
                dot = _change(dot, name, len(matrix.data))
                changed[name] = np.zeros((*dot.shape[:-1], len(flat)))
                changed[name][..., self._entries(matrix, spins=name == "spin_J")] = dot
        found = self.reduced.jvp(
            dataclasses.replace(problem_dot, **changed), frozen_regularization=frozen_regularization
        )
        (moved,) = _each(lambda x: (problem.extend(x),), found.v - v_star[..., problem.touched])
        (rest,) = _each(lambda x: (problem.condense(self._multiply(x, self._w))[1],), A)
        return dataclasses.replace(found, v=v_star + moved - rest)

    # ---- A and J -----------------------------------------------------------------------------

    def _trees(self) -> list[tuple[slice, slice, int]]:
        """Velocities of each tree, its block in S, and its size."""
        found, begin = [], 0
        reduced = self.problem.reduced
        for first, n in zip(reduced.tree_offsets.tolist(), reduced.tree_nv.tolist(), strict=False):
            found.append((slice(first, first + n), slice(begin, begin + n * n), n))
            begin += n * n
        return found

    def _follow(self, own: slice, x: _Float) -> _Float:
        """How all velocities follow those of one tree."""
        whole = np.zeros(len(self.problem.touched))
        whole[own] = x
        return self.problem.extend(whole)

    def _of_mass(self, of_S: _Float, rest: _Float) -> _Float:
        """dL/dA at the entries of A, from dL/dS and A_uu^-1 v_bar_u."""
        rows, columns, w = self.problem.A.rows, self.problem.A.indices, self._w
        found = -(rest[..., rows] * w[columns] + rest[..., columns] * w[rows]) / 2.0
        found = np.array(np.broadcast_to(found, (*of_S.shape[:-1], len(rows))))
        flat, samples = found.reshape(-1, len(rows)), of_S.reshape(-1, of_S.shape[-1])
        for own, block, n in self._trees():
            for k, unit in enumerate(np.eye(n)):
                followers = self._follow(own, unit)[columns]
                for sum_, sample in zip(flat, samples, strict=True):
                    column = sample[block].reshape(n, n)[:, k]
                    sum_ += self._follow(own, column)[rows] * followers
        return flat.reshape(found.shape)

    def _change_of_S(self, A: _Float) -> tuple[_Float]:
        """P dA P^T for a change at the entries of A, flat by trees."""
        found = np.empty(len(self.problem.reduced.A))
        for own, block, n in self._trees():
            columns = [
                self.problem.condense(self._multiply(A, self._follow(own, unit)))[0][own]
                for unit in np.eye(n)
            ]
            S = np.array(columns)
            found[block] = ((S + S.T) / 2.0).ravel()
        return (found,)

    def _multiply(self, A: _Float, x: _Float) -> _Float:
        """Multiply by the symmetric part of a change at the entries of A."""
        rows, columns, n = self.problem.A.rows, self.problem.A.indices, len(x)
        sums = np.bincount(rows, A * x[columns], n) + np.bincount(columns, A * x[rows], n)
        return sums / 2.0

    def _entries(self, matrix: SparseMatrix, spins: bool) -> NDArray[np.int64]:
        """Places of the entries of a Jacobian in the flat blocks of the reduced problem."""
        reduced, velocity = self.problem.reduced, self.problem._columns(matrix)
        tree = np.searchsorted(reduced.tree_offsets, velocity, side="right") - 1
        constraint, row = np.divmod(matrix.rows, 3)
        of: Literal["spins", "contacts"] = "spins" if spins else "contacts"
        first = reduced._trees_of(of)[0][constraint]
        # the block of the second tree follows that of the first
        block = np.where(tree == first, 0, 3 * reduced.tree_nv[first])
        begin = reduced._first_entries(of)[constraint] + block
        n = reduced.tree_nv[tree].astype(np.int64)
        found: NDArray[np.int64] = begin + row * n + (velocity - reduced.tree_offsets[tree])
        return found


def _dropped() -> None:
    """The substitute for a pickled sensitivity: None."""


def _given(value: ArrayLike, name: str, n: int) -> _Float:
    """An array (..., n)."""
    array = _core.as_float64(value, name, rule="finite")
    if array.shape[-1:] != (n,):
        raise ValueError(f"{name} has shape {array.shape}, expected (..., {n})")
    return array


def _change(value: ArrayLike | None, name: str, n: int) -> _Float:
    """A change (..., n); None is 0."""
    return _given(np.zeros(n) if value is None else value, f"problem_dot.{name}", n)


def _each(function: Callable[[_Float], tuple[_Float, ...]], x: _Float) -> tuple[_Float, ...]:
    """Results (..., m) of a function of vectors, for the vectors of x (..., n)."""
    rows = [function(row) for row in x.reshape(-1, x.shape[-1])]
    return tuple(np.array(part).reshape(*x.shape[:-1], -1) for part in zip(*rows, strict=True))
