"""Clarabel, an interior-point solver, on the primal conic form (15) of `conic_form`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import clarabel

from sapwood import ContactProblem
from sapwood.studies.peers.base import Answer, Peer, powers_of_ten
from sapwood.studies.peers.conic_form import ConicForm


def quiet_settings(tolerance: float) -> Any:
    """Settings of one thread that print nothing, with a tolerance on gap and feasibility."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    return settings


class ClarabelConic(Peer):
    """Tolerances on gap and feasibility are set alike; one thread; warm renews all numbers."""

    name = "clarabel"
    default_tolerance = 1e-8
    grid = powers_of_ten(2, 15)
    modes = ("cold", "warm")
    equilibrate = True

    def variants(self, problem: ContactProblem) -> Sequence[Peer]:  # noqa: ARG002
        """See Peer."""
        return (
            self.varied("equilibrated", equilibrate=True),
            self.varied("as given", equilibrate=False),
        )

    def describe(self) -> str:
        """See Peer."""
        return (
            f"Clarabel {version('clarabel')}: primal conic form; equilibrated or not; "
            "tol_gap_abs = tol_gap_rel = tol_feas swept; one thread; default settings otherwise"
        )

    def form(self, problem: ContactProblem) -> ConicForm:
        """See Peer."""
        return ConicForm.from_problem(problem)

    def solve(self, form: ConicForm, tolerance: float, mode: str) -> Callable[[], Any]:
        """See Peer."""
        settings = quiet_settings(tolerance)
        settings.time_limit = self.patience
        settings.equilibrate_enable = self.equilibrate
        # numbers can be renewed only in a problem that was not made smaller
        settings.presolve_enable = mode == "cold"
        cones = [clarabel.NonnegativeConeT(form.n_lines)] * (form.n_lines > 0)
        cones += [clarabel.SecondOrderConeT(3)] * form.n_cones

        def cold() -> Any:
            return clarabel.DefaultSolver(form.P, form.q, form.C, form.b, cones, settings).solve()

        if mode == "cold":
            return cold
        solver = clarabel.DefaultSolver(form.P, form.q, form.C, form.b, cones, settings)

        def warm() -> Any:
            solver.update(P=form.P, q=form.q, A=form.C, b=form.b)
            return solver.solve()

        return warm

    def answer(self, form: ConicForm, result: Any) -> Answer:
        """See Peer."""
        iterations = int(result.iterations)
        return form.answer(result.x, str(result.status), iterations)
