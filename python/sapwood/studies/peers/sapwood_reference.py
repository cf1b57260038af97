"""The NumPy mirror of sapwood: what the compiled core gains over readable Python."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import sapwood
from sapwood import ContactProblem, SapSettings, Solution, reference
from sapwood.studies.peers.base import Answer, Peer, powers_of_ten, tightening


class SapwoodReference(Peer):
    """Default settings but the tolerance."""

    name = "reference"
    default_tolerance = SapSettings().relative_tolerance
    grid = powers_of_ten(1, 10)

    def describe(self) -> str:
        """See Peer."""
        return (
            f"sapwood.reference {sapwood.__version__} on NumPy {version('numpy')}: default "
            "settings; relative_tolerance = e_m that is asked for"
        )

    def tolerances(self, target: float) -> tuple[float, ...]:
        """See Peer."""
        return tightening(target)

    def form(self, problem: ContactProblem) -> ContactProblem:
        """See Peer."""
        return problem

    def solve(self, form: ContactProblem, tolerance: float, mode: str) -> Callable[[], Solution]:  # noqa: ARG002
        """See Peer."""
        settings = SapSettings(relative_tolerance=tolerance)
        return lambda: reference.solve(form, settings=settings)

    def answer(self, form: ContactProblem, result: Solution) -> Answer:  # noqa: ARG002
        """See Peer."""
        return Answer(
            result.v,
            str(result.status),
            result.iterations,
            result.total_iterations,
            result.gamma,
        )
