"""Settings of the solver."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import Any, Literal

from sapwood import _core
from sapwood.base.hints import explained

LineSearch = Literal["exact", "backtracking"]
Start = Literal["newton", "sticking"]
Friction = Literal["convex", "lagged", "coulomb"]


@explained()
@dataclasses.dataclass(frozen=True, kw_only=True)
class SapSettings:
    """Settings of the Newton solver; immutable, checked when made.

    Parameters
    ----------
    relative_tolerance, absolute_tolerance : float
        eps_r, in [0, 1), and eps_a, in sqrt(J), of the stopping criterion, Eq. (20).
    natural_tolerance : float
        ``solution.natural_residual`` at which proximal solves end, in [0, 1). They solve problems
        with R below 1e-5 of the effective inverse mass (rows that press both ways: 1e-7), or 0.
    max_iterations : int
        Newton iterations per island; 0 only evaluates the guess. Where the limit is met, the
        iterate with the least error is returned, with a status.
    line_search : {"exact", "backtracking"}
        Minimise along the line (default), or accept by Armijo's rule.
    line_search_tolerance : float
        The exact line search stops short of the minimum at a slope of this times the slope at 0,
        beyond it at 1e-8 times.
    line_search_max_trials : int
        Evaluations per line search, at most 1000000; more only until one of them lowers the cost.
    max_step : float
        Largest step length alpha_max.
    armijo_rho, armijo_c : float
        Factor between trials and sufficient decrease of the backtracking line search.
    start : {"newton", "sticking"}
        First direction of an island: from the regions at the guess (Algorithm 1), or, where the
        guess is poor, as if every contact with v_hat_n > 0 stuck.
    start_threshold : float
        A guess is poor where its momentum error e_m, Eq. (24), exceeds this; with Coulomb's
        friction, where e_c exceeds this and 0.3.
    turning : bool
        Primal-dual friction: the direction of friction is an unknown of its own, and so is the side
        of a row with two finite bounds. It prevents slips that reverse between iterates.
    mixed_precision : bool
        Find the directions of large islands in single precision where there are no rigid cores. The
        solution has the accuracy of double precision.
    friction : {"convex", "lagged", "coulomb"}
        The law of friction. "convex" is the paper's, where a sliding contact also separates,
        v_n > 0. "lagged" bounds friction by mu gamma_n of the last step
        (``problem.friction_bound``), "coulomb" by that of this step.
    soft_norm : float
        eps_s in N s: |y_t| is replaced by sqrt(|y_t|^2 + eps_s^2). 0 is the exact law.
    islands : bool
        Solve and stop each island by itself.
    record_history : bool
        Keep one record per iteration in ``solution.history``.

    Raises
    ------
    TypeError, ValueError
        If a field has the wrong type or value; the text names the field.

    Examples
    --------
    >>> settings = SapSettings(relative_tolerance=1e-10)
    >>> dataclasses.replace(settings, line_search="backtracking")
    SapSettings(relative_tolerance=1e-10, line_search='backtracking')
    """

    relative_tolerance: float = 1e-6
    absolute_tolerance: float = 1e-16
    natural_tolerance: float = 1e-9
    max_iterations: int = 1000
    line_search: LineSearch = "exact"
    line_search_tolerance: float = 0.01
    line_search_max_trials: int = 50
    max_step: float = 1.5
    armijo_rho: float = 0.8
    armijo_c: float = 1e-4
    start: Start = "sticking"
    start_threshold: float = 0.05
    turning: bool = True
    mixed_precision: bool = True
    friction: Friction = "convex"
    soft_norm: float = 0.0
    islands: bool = True
    record_history: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.friction, (int, float)):
            raise TypeError(
                f"friction must be a law, 'convex', 'lagged' or 'coulomb', not {self.friction!r}: "
                "coefficients are contact=ContactMaterial(friction=...) of a Stepper and mu= of a "
                "ContactProblem"
            )
        _core.check_settings(self)
        # NumPy scalars become plain numbers, so that equal settings print and hash alike
        plain: dict[str, Callable[[Any], object]] = {
            "float": float,
            "int": operator.index,
            "bool": bool,
        }
        for field in dataclasses.fields(self):
            convert = plain.get(str(field.type))
            if convert is not None:
                object.__setattr__(self, field.name, convert(getattr(self, field.name)))

    def __repr__(self) -> str:
        changed = (
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        )
        return f"SapSettings({', '.join(changed)})"


DEFAULT_SETTINGS = SapSettings()
"""The settings for ``settings=None``."""

_core.set_default_settings(DEFAULT_SETTINGS)


def with_friction(settings: SapSettings | None, friction: Friction) -> SapSettings:
    """Settings with this law of friction.

    Parameters
    ----------
    settings : SapSettings or None
        Settings of the solver; None for the defaults.
    friction : {"convex", "lagged", "coulomb"}
        The law.

    Returns
    -------
    SapSettings
        ``settings`` itself where there is nothing to change.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it.
    """
    settings = DEFAULT_SETTINGS if settings is None else settings
    if not isinstance(settings, SapSettings):
        raise TypeError(f"settings must be a SapSettings, not {type(settings).__name__}")
    if friction == settings.friction:
        return settings
    return dataclasses.replace(settings, friction=friction)
