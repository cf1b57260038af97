"""Figures 12 and 13: solvers on the clutter, at equal accuracy and at their usual tolerances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.experiments.algorithms.equal_accuracy import (
    BEST_CONIC,
    TARGET,
    geometric_mean,
    ratios,
    times_at,
)
from sapwood.studies.experiments.algorithms.solver_comparison import ROWS, SOLVED, SOLVERS, compare
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import read_steps, solver_error_figure, speedup_figure

#: Accuracies at which the report of figure 12 compares.
TARGETS = (1e-3, TARGET, 1e-7)

# step 60 is in the impact and step 520 at rest, as in the paper's figure 10
_QUICK = {"bodies": (4, 8, 20, 40), "step": (20, 60, 520)}
_FULL = {"bodies": (4, 8, 12, 20, 40, 80, 120, 200), "step": (20, 60, 200, 520)}


def solvers(quick: bool) -> Sweep:
    """The comparison that both figures show.

    Parameters
    ----------
    quick
        The small version.

    Returns
    -------
    Sweep
        ``solvers``: 4 numbers of bodies at 3 steps, or 8 at 4, with and without walls.
    """
    sizes, repeat, limit = (_QUICK, 2, 5.0) if quick else (_FULL, 5, 20.0)
    points = [
        {
            "walls": walls,
            "bodies": bodies,
            "step": step,
            "seed": 0,
            "repeat": repeat,
            "limit": limit,
        }
        for bodies in sizes["bodies"]
        for walls in (True, False)
        for step in sizes["step"]
    ]
    return Sweep("solvers", compare, points, ROWS)


def figure_12(quick: bool) -> Plan:
    """Times of other solvers over ours at equal e_m.

    One sweep, ``solvers``, the same as that of figure 13.
    """
    return Plan(
        sweeps=(solvers(quick),),
        draw=lambda files, path: speedup_figure(files["solvers"], path),
        report=_report_12,
    )


def figure_13(quick: bool) -> Plan:
    """Mean e_m and e_mu of every solver at its usual tolerance.

    One sweep, ``solvers``, the same as that of figure 12.
    """
    return Plan(
        sweeps=(solvers(quick),),
        draw=lambda files, path: solver_error_figure(files["solvers"], path),
        report=_report_13,
    )


def _report_12(files: Files) -> str:
    """Times over ours: geometric mean, least, most, and how many problems are reached."""
    rows = read_steps(files["solvers"])
    lines = []
    for target in TARGETS:
        times = times_at(rows, target)
        lines.append(
            f"{f'time over sapwood, e_m = {target:.0e}':<32}"
            f"{'mean':>9}{'least':>9}{'most':>9}{'reached':>12}"
        )
        for solver in (*SOLVERS, BEST_CONIC):
            over = ratios(times, solver)
            if over.size:
                lines.append(f"  {solver:<30}{_spread(over)}")
        lines.append(f"  {'geodesic / scipy':<30}{_spread(ratios(times, 'geodesic', 'scipy'))}")
    lines += _parts(times_at(rows, TARGET))
    failures = rows[rows["status"] != SOLVED]
    for status in np.unique(failures["status"]):
        who = failures[failures["status"] == status]["solver"]
        counts = [f"{name} {np.sum(who == name)}" for name in dict.fromkeys(who.tolist())]
        lines.append(f"{status} settings: {', '.join(counts)}")
    return "\n".join(lines)


def _parts(times: dict[tuple[int, int, int, str], float]) -> list[str]:
    """Speed-ups on the parts of the problems of which the paper gives numbers."""
    lines = [
        f"{f'speed-up, e_m = {TARGET:.0e}':<54}{'mean':>9}{'least':>9}{'most':>9}{'reached':>12}"
    ]
    for walls, name in ((1, "walls"), (0, "no walls")):
        for part, least, most in (("under 40", 0, 39), ("over 80", 81, 1000)):
            here = {at: t for at, t in times.items() if at[0] == walls and least <= at[1] <= most}
            for solver, reference in (
                (BEST_CONIC, "sapwood"), ("clarabel", "sapwood"), (BEST_CONIC, "sapwood-plain"),
            ):  # fmt: skip
                label = f"{solver} over {reference}, {name}, {part} bodies"
                lines.append(f"  {label:<52}{_spread(ratios(here, solver, reference))}")
    for part, least, most in (("8 or fewer", 0, 8), ("12 or more", 12, 1000)):
        here = {at: t for at, t in times.items() if least <= at[1] <= most}
        for step in ("all", *sorted({at[2] for at in here})):
            some = {at: t for at, t in here.items() if step in ("all", at[2])}
            label = f"geodesic over scipy, {part} bodies, {step} step"
            lines.append(f"  {label:<52}{_spread(ratios(some, 'geodesic', 'scipy'))}")
    return lines


def _spread(over: NDArray[np.float64]) -> str:
    known = over[np.isfinite(over)]
    if not known.size:
        return f"{'-':>9}{'-':>9}{'-':>9}{f'0/{over.size}':>12}"
    return (
        f"{geometric_mean(known):>9.3g}{known.min():>9.3g}{known.max():>9.3g}"
        f"{f'{known.size}/{over.size}':>12}"
    )


def _report_13(files: Files) -> str:
    """Mean errors over all problems at the usual tolerances."""
    rows = read_steps(files["solvers"])
    usual = rows[(rows["usual"] == 1) & (rows["status"] == SOLVED)]
    names = ("tolerance", "e_m", "own e_m", "e_mu")
    lines = [f"{'mean over all problems':<24}" + "".join(f"{name:>12}" for name in names)]
    for solver in SOLVERS:
        own = usual[usual["solver"] == solver]
        if own.size:
            means = [own[name].mean() for name in ("tolerance", "e_m", "e_m_own", "e_mu")]
            lines.append(f"  {solver:<22}" + "".join(f"{mean:>12.1e}" for mean in means))
    return "\n".join(lines)
