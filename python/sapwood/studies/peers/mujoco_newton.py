"""MuJoCo's Newton solver on the same convex program, posed by `mujoco_program`.

What is timed is `mj_fwdConstraint` alone: M, its factors, the Jacobian, the islands and all memory
are there before, so that `cold` stands for what other solvers call warm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import mujoco
import numpy as np

from sapwood import ContactProblem
from sapwood.studies.peers.base import Answer, Peer, powers_of_ten
from sapwood.studies.peers.mujoco_program import Program
from sapwood.studies.peers.tree_order import minimum_degree

# a dense Jacobian pays for a robot or two, and can be had for problems up to this many velocities
DENSE_UP_TO = 200
ITERATIONS = 300


class MujocoNewton(Peer):
    """Trees in the order of the file, which is the order that MuJoCo factors in, last one first."""

    name = "mujoco"
    default_tolerance = 1e-8
    grid = powers_of_ten(2, 20)
    islands = True
    warm_start = True
    dense = False

    def variants(self, problem: ContactProblem) -> Sequence[Peer]:
        """See Peer."""
        return tuple(
            self.varied(
                f"{'islands' if islands else 'whole'}, "
                f"from {'v_guess or v*' if warm_start else 'v*'}, "
                f"{'dense' if dense else 'sparse'} Jacobian",
                islands=islands, warm_start=warm_start, dense=dense,
            )
            for islands in (True, False)
            for warm_start in (True, False)
            for dense in ((False, True) if problem.nv <= DENSE_UP_TO else (False,))
        )  # fmt: skip

    def describe(self) -> str:
        """See Peer."""
        return (
            f"MuJoCo {mujoco.__version__}: Newton, elliptic cone, mj_fwdConstraint; {self._order()}"
            "; islands on or off, warm start on (the better of v_guess and v*) or off, sparse "
            f"Jacobian or (nv <= {DENSE_UP_TO}) dense; tolerance swept; at most {ITERATIONS} "
            "iterations; default settings otherwise"
        )

    def form(self, problem: ContactProblem) -> Program:
        """See Peer.

        Raises
        ------
        PeerError
            MuJoCo does not take the problem.
        """
        program = Program.pose(problem, self._trees(problem), self.dense)
        disable = mujoco.mjtDisableBit
        program.model.opt.iterations = ITERATIONS
        if not self.islands:
            program.model.opt.disableflags |= disable.mjDSBL_ISLAND
        if not self.warm_start:
            program.model.opt.disableflags |= disable.mjDSBL_WARMSTART
        if self.islands:
            mujoco.mj_island(program.model, program.data)
        return program

    def solve(self, form: Program, tolerance: float, mode: str) -> Callable[[], Program]:  # noqa: ARG002
        """See Peer."""
        model, data, start = form.model, form.data, form.data.qacc_warmstart

        def run() -> Program:
            model.opt.tolerance = tolerance
            start[:] = 0.0
            mujoco.mj_fwdConstraint(model, data)
            return form

        return run

    def answer(self, form: Program, result: Program) -> Answer:  # noqa: ARG002
        """See Peer; MuJoCo counts the iterations of the first islands only."""
        data = form.data
        count = data.nisland if self.islands else 1
        told = count <= len(data.solver_niter)
        iterations = data.solver_niter[:count] if told else np.zeros(0, dtype=int)
        return Answer(
            form.velocity(),
            "stopped",
            int(iterations.max(initial=0)) if told else None,
            int(iterations.sum()) if told else None,
            form.impulses(),
        )

    def _trees(self, problem: ContactProblem) -> Iterable[int]:
        """Trees in the order in which the model lists them."""
        return range(problem.n_trees)

    def _order(self) -> str:
        return "trees in file order"


class MujocoNewtonMinimumDegree(MujocoNewton):
    """Trees listed so that MuJoCo's factorization fills in least."""

    name = "mujoco-mindeg"

    def _trees(self, problem: ContactProblem) -> Iterable[int]:
        return reversed(minimum_degree(problem))

    def _order(self) -> str:
        return "trees in minimum-degree order"
