"""sapwood as by default, and with the settings of the paper's plain algorithm."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import sapwood
from sapwood import ContactProblem, SapSettings, SapSolver, Solution
from sapwood.studies.peers.base import Answer, Peer, powers_of_ten, tightening


class Sapwood(Peer):
    """Default settings but the tolerance; warm keeps the solver object, hence its symbolic work."""

    name = "sapwood"
    default_tolerance = SapSettings().relative_tolerance
    grid = powers_of_ten(1, 10)
    modes: ClassVar[tuple[str, ...]] = ("cold", "warm")
    settings: ClassVar[SapSettings] = SapSettings()

    def describe(self) -> str:
        """See Peer."""
        default = SapSettings()
        changed = [
            f"{field.name}={getattr(self.settings, field.name)!r}"
            for field in dataclasses.fields(default)
            if getattr(self.settings, field.name) != getattr(default, field.name)
        ]
        return (
            f"sapwood {sapwood.__version__}: {', '.join(changed) or 'default settings'}; "
            "relative_tolerance = e_m that is asked for"
        )

    def tolerances(self, target: float) -> tuple[float, ...]:
        """See Peer."""
        return tightening(target)

    def form(self, problem: ContactProblem) -> ContactProblem:
        """See Peer."""
        return problem

    def solve(self, form: ContactProblem, tolerance: float, mode: str) -> Callable[[], Solution]:
        """See Peer."""
        return self._solve(form, self._settings(tolerance), mode)

    def answer(self, form: ContactProblem, result: Solution) -> Answer:  # noqa: ARG002
        """See Peer."""
        return Answer(
            result.v,
            str(result.status),
            result.iterations,
            result.total_iterations,
            result.gamma,
        )

    def split(self, form: ContactProblem, tolerance: float, mode: str) -> dict[str, float]:
        """See Peer; in a solve of its own, since reading the clock inside takes time."""
        settings = dataclasses.replace(self._settings(tolerance), record_history=True)
        timing = self._solve(form, settings, mode)().timing
        parts = {part: seconds for part, seconds in timing.items() if part != "seconds"}
        return {**parts, "rest": timing["seconds"] - sum(parts.values())}

    def _settings(self, tolerance: float) -> SapSettings:
        return dataclasses.replace(self.settings, relative_tolerance=tolerance)

    @staticmethod
    def _solve(form: ContactProblem, settings: SapSettings, mode: str) -> Callable[[], Solution]:
        if mode == "cold":
            return lambda: SapSolver(settings).solve(form)
        solver = SapSolver(settings)
        solver.solve(form)
        return lambda: solver.solve(form)


class SapwoodPlain(Sapwood):
    """Algorithm 1 as printed: the whole problem at once, Newton directions alone."""

    name = "sapwood-plain"
    modes = ("cold",)
    settings = SapSettings(islands=False, start="newton", turning=False, mixed_precision=False)
