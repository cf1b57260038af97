"""SCS, a splitting solver, on the primal conic form (15) of `conic_form`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import scs

from sapwood import ContactProblem
from sapwood.studies.peers.base import Answer, Peer, PeerError, powers_of_ten
from sapwood.studies.peers.conic_form import ConicForm


class ScsConic(Peer):
    """Absolute and relative tolerance are set alike.

    SCS can renew the vectors of a problem, not its matrices, which differ from step to step: there
    is no warm mode.
    """

    name = "scs"
    default_tolerance = 1e-4
    grid = powers_of_ten(2, 14)
    scale = 0.1

    def variants(self, problem: ContactProblem) -> Sequence[Peer]:  # noqa: ARG002
        """See Peer."""
        return tuple(self.varied(f"scale={scale:g}", scale=scale) for scale in (0.1, 1.0, 10.0))

    def describe(self) -> str:
        """See Peer."""
        return (
            f"SCS {version('scs')}: primal conic form, QDLDL; scale 0.1, 1 or 10; "
            "eps_abs = eps_rel swept; default settings otherwise"
        )

    def form(self, problem: ContactProblem) -> ConicForm:
        """See Peer."""
        return ConicForm.from_problem(problem)

    def solve(self, form: ConicForm, tolerance: float, mode: str) -> Callable[[], Any]:  # noqa: ARG002
        """See Peer."""
        data = {"P": form.P, "A": form.C, "b": form.b, "c": form.q}
        cone = {"l": form.n_lines, "q": [3] * form.n_cones}
        # SCS understands 0 as no limit at all
        seconds = self.patience if self.patience < 1e6 else 0.0

        def run() -> Any:
            solver = scs.SCS(
                data,
                cone,
                linear_solver=scs.LinearSolver.QDLDL,
                scale=self.scale,
                eps_abs=tolerance,
                eps_rel=tolerance,
                time_limit_secs=seconds,
                verbose=False,
            )
            return solver.solve(warm_start=False)

        return run

    def answer(self, form: ConicForm, result: Any) -> Answer:
        """See Peer."""
        if result["x"] is None:
            raise PeerError(result["info"]["status"])
        return form.answer(result["x"], result["info"]["status"], int(result["info"]["iter"]))
