"""Pictures of contact surfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d.axes3d import Axes3D

_Float = NDArray[np.float64]


def plot_faces(
    polygons: list[_Float],
    pressures: _Float,
    ax: Axes3D | None = None,
    label: str = "pressure (Pa)",
) -> Axes3D:
    """Draw faces, coloured by pressure or another stress.

    Parameters
    ----------
    polygons : list of ndarray (3 or more, 3)
        The vertices of each face, m.
    pressures : ndarray (n,)
        The pressure at the centroid of each face, Pa.
    ax : Axes3D, optional
        The axes to draw on; by default new ones.
    label : str, optional
        Text beside the colour bar.

    Returns
    -------
    Axes3D
        The axes, with equal scales and a colour bar.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    if ax is None:
        ax = Figure(figsize=(6, 5), layout="constrained").add_subplot(projection="3d")
    low, high = min(pressures, default=0.0), max(pressures, default=1.0)
    colours = ScalarMappable(Normalize(min(low, 0.0), high), "viridis")
    ax.add_collection3d(
        Poly3DCollection(
            polygons,
            facecolors=colours.to_rgba(pressures),
            edgecolors="black",
            linewidths=0.3,
        )
    )
    if polygons:
        vertices = np.concatenate(polygons)
        middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
        reach = float(np.ptp(vertices, axis=0).max()) / 2
        ax.set(
            xlim=(middle[0] - reach, middle[0] + reach),
            ylim=(middle[1] - reach, middle[1] + reach),
            zlim=(middle[2] - reach, middle[2] + reach),
        )
    ax.set(xlabel="x (m)", ylabel="y (m)", zlabel="z (m)")
    ax.locator_params(nbins=5)
    ax.figure.colorbar(colours, ax=ax, label=label, shrink=0.7, pad=0.12)
    return ax
