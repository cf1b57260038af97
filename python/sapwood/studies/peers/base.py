"""The interface of a solver in a benchmark."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sapwood import ContactProblem


class PeerError(Exception):
    """A solver gave no velocity; the text says why."""


@dataclass(frozen=True)
class Answer:
    """The result of one solve."""

    v: NDArray[np.float64]
    """Velocities of all trees (nv,)."""
    status: str
    """The solver's own description of the outcome."""
    iterations: int | None
    """Iterations, in sequence (of the island that took most), None where it does not tell."""
    total_iterations: int | None
    """Iterations summed over islands."""
    gamma: NDArray[np.float64]
    """The solver's own impulses (n_contacts, 3), rows (t1, t2, n), N s."""


class Peer(ABC):
    """A solver under test.

    A problem is converted once to the form the solver takes (`form`, timed apart); a solve
    (`solve`) then holds all that follows from it, the solver's own set-up included.
    """

    name: ClassVar[str]
    modes: ClassVar[tuple[str, ...]] = ("cold",)
    """"cold" begins from nothing; "warm" may keep memory and symbolic work, never a solution."""
    variant: str = ""
    """Settings that tell this one from the other variants of the solver, in words."""
    default_tolerance: ClassVar[float]
    """The solver's own default."""
    grid: ClassVar[tuple[float, ...]]
    """Tolerances to measure, the loosest first, which ends where no solver gets closer."""
    patience: float = math.inf
    """Seconds after which a solve may give up; a solver that takes no such limit ignores it."""

    def variants(self, problem: ContactProblem) -> Sequence[Peer]:  # noqa: ARG002
        """Ways to run the solver on this problem; all are tried, and the fastest one counts."""
        return (self,)

    def varied(self, variant: str, **attributes: Any) -> Self:
        """A copy with other attributes."""
        other = copy.copy(self)
        vars(other).update(attributes, variant=variant)
        return other

    @abstractmethod
    def describe(self) -> str:
        """Version and settings, in one line."""

    def tolerances(self, target: float) -> tuple[float, ...]:  # noqa: ARG002
        """Settings to try, the loosest first, when e_m <= target is wanted.

        All there are, for a solver that stops by something else than e_m.
        """
        return self.grid

    @abstractmethod
    def form(self, problem: ContactProblem) -> Any:
        """Convert the problem to the form the solver takes."""

    @abstractmethod
    def solve(self, form: Any, tolerance: float, mode: str) -> Callable[[], Any]:
        """Make a function that solves once, from v_guess, each time it is called."""

    @abstractmethod
    def answer(self, form: Any, result: Any) -> Answer:
        """Read what such a function returned; a velocity may be NaN or infinite.

        Raises
        ------
        PeerError
            There is no velocity in it.
        """

    def split(self, form: Any, tolerance: float, mode: str) -> dict[str, float] | None:  # noqa: ARG002
        """Seconds of one more solve by part, None where the solver does not tell."""
        return None


def contacts_alone(problem: ContactProblem) -> None:
    """Refuse a problem that a solver of compliant contact cannot be given.

    Raises
    ------
    PeerError
        There are constraints of other kinds, or contacts with rigid cores or friction that resists
        turning.
    """
    if problem.constraints or problem.core is not None or problem.n_spins > 0:
        raise PeerError("this solver is given compliant contacts only, and there is more")


def tightening(target: float) -> tuple[float, ...]:
    """For solvers that stop by e_m itself: the target, then two decades more for round-off."""
    return (target, 0.1 * target, 0.01 * target)


def powers_of_ten(first: int, last: int) -> tuple[float, ...]:
    """For solvers that stop by something else: 10^-first, ..., 10^-last."""
    return tuple(10.0**-k for k in range(first, last + 1))
