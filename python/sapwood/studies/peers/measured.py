"""A solver on one problem after the other: iterations, momentum error and time of each."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sapwood import ContactProblem
from sapwood.studies.peers.accuracy import Accuracy
from sapwood.studies.peers.base import Peer, PeerError


class Measured(NamedTuple):
    """One solve.

    Attributes
    ----------
    iterations : float
        NaN where the solver does not tell, or gave nothing.
    e_m : float
        Momentum error (24) with the impulses of the contact law; NaN where there is no velocity.
    seconds : float
        Least CPU time of the repeated solves, NaN likewise.
    detail : str
        What went wrong, empty where nothing did.
    """

    iterations: float
    e_m: float
    seconds: float
    detail: str


def solve_each(
    peer: Peer, problems: Iterable[ContactProblem], tolerance: float, repeats: int
) -> Iterator[Measured]:
    """Solve every problem from its v_guess.

    Parameters
    ----------
    peer
        The solver.
    problems
        Problems; the conversion to the solver's form is not timed.
    tolerance
        The solver's own tolerance.
    repeats
        Solves of each problem, which all do the same.

    Yields
    ------
    Measured
        One for each problem.
    """
    for problem in problems:
        form = peer.form(problem)
        solve = peer.solve(form, tolerance, "cold")
        spent = []
        try:
            for _ in range(repeats):
                start = time.thread_time()
                result = solve()
                spent.append(time.thread_time() - start)
            answer = peer.answer(form, result)
        except (PeerError, ArithmeticError, RuntimeError) as error:
            yield Measured(math.nan, math.nan, math.nan, " ".join(str(error).split())[:120])
            continue
        e_m = Accuracy(problem).momentum_error(answer.v)
        if not math.isfinite(e_m):
            yield Measured(math.nan, math.nan, math.nan, answer.status[:120])
            continue
        iterations = math.nan if answer.iterations is None else float(answer.iterations)
        yield Measured(iterations, e_m, min(spent), "")
