"""QOCO, an interior-point solver, on the primal conic form (15) of `conic_form`.

Its compiled module is called directly: `qoco.QOCO.setup` converts the matrices anew each time,
which takes longer than a small solve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import qoco

from sapwood import ContactProblem
from sapwood.studies.peers.base import Answer, Peer, powers_of_ten
from sapwood.studies.peers.conic_form import ConicForm


@dataclass(frozen=True)
class QocoForm:
    """The arguments of the compiled solver, in its order but for the settings."""

    module: Any
    arguments: tuple[Any, ...]
    conic: ConicForm


class QocoConic(Peer):
    """Absolute and relative tolerance are set alike; warm renews all numbers."""

    name = "qoco"
    default_tolerance = 1e-7
    grid = powers_of_ten(2, 15)
    modes = ("cold", "warm")
    ruiz_iters = 0

    def variants(self, problem: ContactProblem) -> Sequence[Peer]:  # noqa: ARG002
        """See Peer."""
        return tuple(self.varied(f"ruiz_iters={k}", ruiz_iters=k) for k in (0, 2, 5))

    def describe(self) -> str:
        """See Peer."""
        return (
            f"QOCO {version('qoco')}: primal conic form; ruiz_iters 0, 2 or 5; "
            "abstol = reltol swept; default settings otherwise"
        )

    def form(self, problem: ContactProblem) -> QocoForm:
        """See Peer."""
        conic = ConicForm.from_problem(problem)
        module = qoco.QOCO().ext
        none = module.CSC(None)
        arguments = (
            len(conic.q), len(conic.b), 0,
            module.CSC(conic.P), conic.q, none, np.zeros(0), module.CSC(conic.C), conic.b,
            conic.n_lines, conic.n_cones, np.full(conic.n_cones, 3, dtype=np.int32),
        )  # fmt: skip
        return QocoForm(module, arguments, conic)

    def solve(self, form: QocoForm, tolerance: float, mode: str) -> Callable[[], Any]:
        """See Peer."""
        settings = form.module.QOCOSettings()
        form.module.set_default_settings(settings)
        settings.verbose = 0
        settings.ruiz_iters = self.ruiz_iters
        settings.abstol = settings.reltol = tolerance

        def cold() -> Any:
            solver = form.module.QOCOSolver(*form.arguments, settings)
            solver.solve()
            return solver

        if mode == "cold":
            return cold
        solver = form.module.QOCOSolver(*form.arguments, settings)
        conic = form.conic

        def warm() -> Any:
            solver.update_vector_data(conic.q, None, conic.b)
            solver.update_matrix_data(conic.P.data, None, conic.C.data)
            solver.solve()
            return solver

        return warm

    def answer(self, form: QocoForm, result: Any) -> Answer:
        """See Peer."""
        solution = result.solution
        status = qoco.QOCO().solvecodes[solution.status]
        return form.conic.answer(solution.x, status, int(solution.iters))
