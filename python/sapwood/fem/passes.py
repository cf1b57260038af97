"""The passes of a step: linearize, solve, and look at the residual."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from .body_step import BodyStep
from .meetings import Hold, Meeting
from .reduction import Pass, Reduction
from .results import SoftStepResult

_Float = NDArray[np.float64]

# most passes of a step, unless one is exact; most steps take two or three, and large strains and
# hard impacts more: of random free bodies under large strain, 3 passes let the energy of some grow
_MOST_PASSES = 10
# a step ends with its best iterate after more passes in a row without a lower residual than this
_MOST_GROWTHS = 3


def default_passes(steps: Iterable[BodyStep]) -> int:
    """Most passes of a step: 1 if all bodies are quadratic within a step, else 10."""
    return 1 if all(step.is_quadratic for step in steps) else _MOST_PASSES


def order_steps(
    steps: Sequence[BodyStep], meetings: Iterable[Meeting], holds: Iterable[Hold], *, exact: bool
) -> None:
    """Choose the vertices of each body that are eliminated last.

    Parameters
    ----------
    steps : sequence of BodyStep
        The soft bodies.
    meetings, holds : iterable of Meeting, of Hold
        Their contacts and attachments.
    exact : bool
        Whether these are exactly the touched and held ones.
    """
    named: list[list[NDArray[np.int32]]] = [[] for _ in steps]
    for meeting in meetings:
        for _, body, vertices, _ in meeting.sides():
            named[body].append(vertices)
    for hold in holds:
        named[hold.body].append(hold.vertices)
    for step, touched in zip(steps, named, strict=True):
        step.order(touched, exact)


def take_passes(
    reduction: Reduction, iterates: list[_Float], most: int, tolerance: float
) -> tuple[Pass, int]:
    """Solve the equations of motion of a step by passes.

    Parameters
    ----------
    reduction : Reduction
        The convex problem.
    iterates : list of ndarray (n, 3)
        Velocities of each soft body to begin with.
    most : int
        Most passes.
    tolerance : float
        Residual below which no further pass is taken.

    Returns
    -------
    best : Pass
        The pass of the least residual.
    passes : int
        Passes taken.

    Raises
    ------
    ValueError
        If velocities or forces are not finite.
    """
    steps = reduction.steps
    for step, v in zip(steps, iterates, strict=True):
        step.evaluate(v)
        step.linearize(v)
    guesses = [step.guess for step in steps]
    best: Pass | None = None
    growths = passes = 0
    while passes < most:
        passes += 1
        try:
            tried = _try_pass(reduction, guesses)
            while again := _guesses_again(steps, tried.v, guesses):
                tried = _try_pass(reduction, again)
        except ValueError:  # an iterate far off has no finite A; the residual of the best one tells
            if best is None:
                raise
            break
        if best is None or tried.residual < best.residual:
            best, iterates, growths = tried, tried.v, 0
        else:
            # halve the change from the best iterate, again and again
            ends = iterates if growths else tried.v
            iterates = [(v + w) / 2 for v, w in zip(best.v, ends, strict=True)]
            growths += 1
        guesses = iterates
        if best.residual <= tolerance or growths > _MOST_GROWTHS or passes == most:
            break
        for step, v in zip(steps, iterates, strict=True):
            step.evaluate(v, again=True)
            step.linearize(v)
    assert best is not None
    if not math.isfinite(best.residual):
        _fail(reduction, best.v)
    return best, passes


def step_result(reduction: Reduction, best: Pass, passes: int, tolerance: float) -> SoftStepResult:
    """Tell of a step.

    Parameters
    ----------
    reduction : Reduction
        The convex problem.
    best : Pass
        The pass that the step ends with.
    passes : int
        Passes taken.
    tolerance : float
        Of the residual.

    Returns
    -------
    SoftStepResult
        The result.
    """
    return SoftStepResult(
        "converged" if best.residual <= tolerance else "nonlinear_limit",
        passes,
        best.residual,
        reduction.touches(best),
        reduction.reactions(best),
        best.turned_over,
        best.solution,
    )


def _guesses_again(
    steps: Sequence[BodyStep], ends: Sequence[_Float], guesses: Sequence[_Float]
) -> list[_Float]:
    """Velocities at which a pass begins again; none if the v* of all bodies are exact enough."""
    found = [step.guess_again(v, w) for step, v, w in zip(steps, ends, guesses, strict=True)]
    if all(again is None for again in found):
        return []
    return [v if again is None else again for again, v in zip(found, ends, strict=True)]


def _try_pass(reduction: Reduction, guesses: Sequence[_Float]) -> Pass:
    tried = reduction.solve_pass(guesses)
    _find_residual(reduction, tried)
    return tried


def _find_residual(reduction: Reduction, tried: Pass) -> None:
    """Find the residual of the equations of motion after a pass, and the loads of attachments."""
    dt, steps = reduction.options.dt, reduction.steps
    residuals = []
    for step, v, impulse in zip(steps, tried.v, tried.impulses, strict=True):
        residual = step.final_residual(v) - impulse
        if step.has_fixed:
            residual[step.is_fixed] = 0
        residuals.append(residual)
    tried.loads = [residuals[hold.body][hold.vertices] for hold in reduction.holds]
    for hold in reduction.holds:
        residuals[hold.body][hold.vertices] = 0.0
    tried.turned_over = sum(step.turned_over for step in steps)
    size = max(_norm(tried.impulses), dt * _norm([step.weight for step in steps]))
    size = size or _norm([step.momenta for step in steps]) or 1.0
    tried.residual = _norm(residuals) / size


def _norm(arrays: Sequence[_Float]) -> float:
    """Euclidean norm of all arrays."""
    return math.sqrt(sum(float(np.vdot(each, each)) for each in arrays))


def _fail(reduction: Reduction, iterates: list[_Float]) -> None:
    for step, v in zip(reduction.steps, iterates, strict=True):
        wrong = np.flatnonzero(~np.isfinite(v).all(axis=1))
        if wrong.size:
            raise ValueError(f"{step.name}: the velocity of vertex {wrong[0]} is not finite")
    raise ValueError("forces of soft bodies are not finite")
