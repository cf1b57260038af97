"""Figure 10: cost against iteration."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.style import METHODS, draw_grid, save_figure
from sapwood.studies.plotting.tables import rows_of, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Above this, relative to the start, convergence is linear; above that, no round-off is seen.
_LINEAR, _ROUND_OFF = 1e-4, 1e-25


def convergence_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Cost minus minimum against iteration, with linear and quadratic references: Fig. 10.

    The references belong to Algorithm 1. The quadratic one goes through the last two iterates above
    round-off, g_k+1 = C g_k^2, and one iteration further by the same C; the linear one through the
    start and the last iterate above 1e-4.

    File with the columns ``step``, ``method``, ``iteration``, ``relative_gap`` and ``converged`` (0
    or 1).
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    steps = np.unique(rows["step"])
    figure = Figure(figsize=(5.0 * len(steps), 4.5), layout="constrained")
    for axes, step in zip(
        figure.subplots(1, len(steps), sharey=True, squeeze=False)[0], steps, strict=True
    ):
        for method, (colour, name) in METHODS.items():
            run = select(rows, step=step, method=method)
            # the last distance is 0, others may be less by round-off
            run = run[run["relative_gap"] > 0]
            axes.plot(run["iteration"], run["relative_gap"], ".-", color=colour, label=name)
            met = select(run, converged=1)[:1]
            axes.plot(met["iteration"], met["relative_gap"], "o", color=colour, fillstyle="none")
        printed = select(rows, step=step, method="algorithm_1")
        _draw_references(axes, printed["relative_gap"])
        axes.set_yscale("log")
        axes.set_title(f"step {step}")
        axes.set_xlabel("Newton iteration (circle: converged, Eq. (20))")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_ylim(1e-32, 10)
        draw_grid(axes)
        axes.legend(frameon=False, fontsize="small")
    figure.axes[0].set_ylabel(r"$(\ell - \ell_*) / (\ell^0 - \ell_*)$")
    save_figure(figure, path)
    return figure


def _draw_references(axes: Axes, gap: NDArray[np.float64]) -> None:
    """Linear and quadratic references of one run, see above."""
    last = int(np.count_nonzero(gap > _ROUND_OFF)) - 1
    linear = int(np.count_nonzero(gap > _LINEAR)) - 1
    if last > 0:
        C = gap[last] / gap[last - 1] ** 2
        quadratic = [gap[last - 1], gap[last], C * gap[last] ** 2]
        k = np.arange(last - 1, last + 2)
        axes.plot(k, quadratic, "--", color="0.2", lw=1.2, label="quadratic", zorder=3)
    if linear > 0:
        k = np.arange(last + 2)
        rate = (gap[linear] / gap[0]) ** (1 / linear)
        axes.plot(k, gap[0] * rate**k, ":", color="0.2", lw=1.2, label="linear", zorder=3)
