"""Tables and plots of the iterations of a solve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MISSING = "the solution has no history: solve with SapSettings(record_history=True)"


def history_table(history: NDArray[np.void] | None) -> str:
    """Iterations as lines of text.

    Parameters
    ----------
    history : structured ndarray or None
        The history of a :class:`sapwood.Solution`.

    Returns
    -------
    str
        A line of names and one per record, without a line break at the end.

    Raises
    ------
    ValueError
        If there is no history.
    """
    records = _recorded(history)
    lines = ["island  iteration  trials      step          cost (J)  decrease (J)  momentum error"]
    lines += [
        f"{r['island']:6d}  {r['iteration']:9d}  {r['trials']:6d}  {r['step']:8.3g}  "
        f"{r['cost']:16.9g}  {r['decrease']:12.3g}  {r['momentum_error']:14.3g}"
        for r in records
    ]
    return "\n".join(lines)


def plot_history(history: NDArray[np.void] | None, ax: Axes | None = None) -> Axes:
    """Draw a history; see :meth:`sapwood.Solution.plot_history`."""
    records = _recorded(history)
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(6.0, 4.0), layout="constrained")[1]
    islands: Any = np.unique(records["island"])
    for island in islands:
        of = records[records["island"] == island]
        label = f"island {island}" if len(islands) <= 8 else None
        ax.semilogy(np.arange(len(of)), of["momentum_error"], marker=".", label=label)
    if 1 < len(islands) <= 8:
        ax.legend()
    ax.set_xlabel("iteration")
    ax.set_ylabel("momentum error $e_m$")
    ax.locator_params(axis="x", integer=True)
    ax.grid(alpha=0.3)
    return ax


def _recorded(history: NDArray[np.void] | None) -> NDArray[np.void]:
    if history is None:
        raise ValueError(_MISSING)
    return history
