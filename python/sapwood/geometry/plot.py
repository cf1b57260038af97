"""Pictures of contact surfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d.axes3d import Axes3D

    from .surface import ContactSurface


def plot_surface(surface: ContactSurface, ax: Axes3D | None = None) -> Axes3D:
    """Draw the faces of a surface, coloured by pressure.

    Parameters
    ----------
    surface : ContactSurface
        What to draw.
    ax : Axes3D, optional
        Where to; by default new axes.

    Returns
    -------
    Axes3D
        With equal scales, and a colour bar.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    if ax is None:
        ax = Figure(figsize=(6, 5), layout="constrained").add_subplot(projection="3d")
    low, high = min(surface.pressures, default=0.0), max(surface.pressures, default=1.0)
    colours = ScalarMappable(Normalize(min(low, 0.0), high), "viridis")
    ax.add_collection3d(
        Poly3DCollection(
            surface.polygons,
            facecolors=colours.to_rgba(surface.pressures),
            edgecolors="black",
            linewidths=0.3,
        )
    )
    if len(surface):
        middle = (surface.vertices.min(axis=0) + surface.vertices.max(axis=0)) / 2
        reach = float(np.ptp(surface.vertices, axis=0).max()) / 2
        ax.set(
            xlim=(middle[0] - reach, middle[0] + reach),
            ylim=(middle[1] - reach, middle[1] + reach),
            zlim=(middle[2] - reach, middle[2] + reach),
        )
    ax.set(xlabel="x (m)", ylabel="y (m)", zlabel="z (m)")
    ax.figure.colorbar(colours, ax=ax, label="pressure (Pa)", shrink=0.7, pad=0.12)
    return ax
