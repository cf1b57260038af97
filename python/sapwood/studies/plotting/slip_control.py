"""The spatula between soft pads: its pitch under the grip force, and the patches."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.style import COLOURS, draw_grid, save_figure
from sapwood.studies.plotting.tables import rows_of, select

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def pitch_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw grip force, pitch and the number of contacts against time, as Fig. 17.

    Rows of `sapwood.studies.slip_control.run.simulate`.
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    figure = Figure(figsize=(8.0, 5.6), layout="constrained")
    panels = figure.subplot_mosaic(
        [["force", "pitch"], ["contacts", "contacts"]], height_ratios=(3, 2)
    )
    panels["force"].plot(
        rows["time"], rows["force"], drawstyle="steps-pre", color=COLOURS[1], linewidth=1.0
    )
    panels["force"].set_ylabel("grip force [N]")
    panels["force"].set_ylim(bottom=0.0)
    panels["pitch"].plot(rows["time"], rows["pitch"], color=COLOURS[0])
    panels["pitch"].set_ylabel("pitch [degrees]")
    bottom = panels["contacts"]
    for side, colour in (("left", COLOURS[2]), ("right", COLOURS[3])):
        bottom.plot(
            rows["time"], rows[f"{side}_contacts"], color=colour, linewidth=0.8,
            label=f"{side} pad",
        )  # fmt: skip
    both = rows["left_contacts"] + rows["right_contacts"]
    bottom.plot(rows["time"], both, color="0.2", linewidth=1.0, label="both")
    bottom.set_ylabel("contacts")
    bottom.set_ylim(bottom=0)
    bottom.legend(frameon=False, fontsize="small", ncols=3, loc="lower right")
    for axes in panels.values():
        axes.set_xlabel("time [s]")
        draw_grid(axes)
    save_figure(figure, path)
    return figure


def draw_patches(figure: Figure, rows: NDArray[np.void], grid: Sequence[Axes]) -> None:
    """Draw the patch of the left pad at each instant, coloured by pressure.

    Parameters
    ----------
    figure
        Where a bar of colours is added.
    rows
        Of `sapwood.studies.slip_control.run.patches`.
    grid
        Axes of the instants: from the side, faces in one scale of length, each with the mean of the
        pressures at its corners, in one scale of pressure.
    """
    from matplotlib.collections import PolyCollection

    for axes, seconds in zip(grid, np.unique(rows["seconds"]), strict=True):
        patch = select(rows, seconds=seconds, side="left")
        numbers, starts = np.unique(patch["face"], return_index=True)
        corners = 1e3 * np.column_stack([patch["x"], patch["z"]])
        faces = PolyCollection(
            np.split(corners, starts[1:]), edgecolors="0.3", linewidths=0.4, cmap="viridis"
        )
        pressure = np.add.reduceat(patch["pressure"], starts)
        faces.set_array(pressure / np.diff([*starts, len(patch)]) / 1e3)
        faces.set_clim(0.0, rows["pressure"].max() / 1e3)
        axes.add_collection(faces)
        axes.set_title(
            f"{patch['force'][0]:g} N, {len(numbers)} faces, pitch {patch['pitch'][0]:.1f} degrees",
            fontsize="medium",
        )
        axes.set_xlabel("x [mm]")
        axes.set_aspect("equal")
        axes.autoscale_view()
        draw_grid(axes)
    grid[0].set_ylabel("z [mm]")
    figure.colorbar(faces, ax=list(grid), label="pressure [kPa]", shrink=0.85)
