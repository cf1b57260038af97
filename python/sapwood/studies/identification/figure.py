"""Friction of a pushed block and of a tossed cube, by three ways from several starts.

The measurements of the block are made by MuJoCo and by this package; the tosses are real. Friction
is exact here: the optimizer of ``mujoco.sysid`` ends at the same numbers from each start. With
MuJoCo's friction, which creeps, it ends at several.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.identification import pushed_block, tossed_cube
from sapwood.studies.identification.fitting import WAYS, fit
from sapwood.studies.plotting.identification import identification_figure
from sapwood.studies.plotting.tables import read_steps, select
from sapwood.studies.tossing import INERTIA, measured

#: Where searches begin: friction, and the other numbers of each scene.
STARTS = (0.1, 0.2, 0.4, 0.6, 0.8)
MASS, DAMPING, TOSSED_INERTIA = 3.0, 1.0, 1.3 * INERTIA
NUMBERS = ("mass", "friction", "damping", "inertia")
SCENES = {"block by mujoco": 0.35, "block by sapwood": 0.35, "tosses": 0.18}
"""Friction coefficient of each scene: the true one, and the published one of the cube."""
ROWS = np.dtype([*((name, np.float64) for name in (*NUMBERS, "cost", "seconds"))])


def find(scene: str, way: str, start: float, size: int) -> NDArray[np.void]:
    """Fit a scene by one way.

    Parameters
    ----------
    scene
        One of `SCENES`.
    way
        One of `WAYS`.
    start
        Friction with which the search begins.
    size
        Number of measurements of the block, or of tosses.

    Returns
    -------
    ndarray of `ROWS`, shape (1,)
        The numbers (NaN for one that the scene does not have), the mean square of the residuals
        over the noise, and processor time.
    """
    if scene == "tosses":
        task = tossed_cube.task(measured()[:size])
        found = fit(way, task, np.array([start, TOSSED_INERTIA]))
    else:
        task = pushed_block.task(scene.removeprefix("block by "), size, seed=1)
        found = fit(way, task, np.array([MASS, start, DAMPING]))
    values = dict(zip(task.names, found.values.tolist(), strict=True))
    numbers = [values.get(name, np.nan) for name in NUMBERS]
    return np.array([(*numbers, found.cost, found.seconds)], ROWS)


def figure(quick: bool = False) -> Plan:
    """The numbers that each way finds from each start.

    ``quick``: the block alone, from three starts.
    """
    starts = STARTS[1::2] + STARTS[-1:] if quick else STARTS
    sizes = {"block by mujoco": 400, "block by sapwood": 400}
    if not quick:
        sizes["tosses"] = 20
    points: list[Point] = [
        {"scene": scene, "way": way, "start": start, "size": size}
        for scene, size in sizes.items()
        for way in WAYS
        for start in starts
    ]
    return Plan(
        sweeps=[Sweep("identification", find, points, ROWS, ("scipy", "mujoco"))],
        draw=lambda files, image: identification_figure(files["identification"], SCENES, image),
        report=_report,
    )


def _report(files: Files) -> str:
    """A line per fit."""
    rows = read_steps(files["identification"])
    lines = []
    for scene in dict.fromkeys(rows["scene"].tolist()):
        for way in WAYS:
            for row in select(rows, scene=scene, way=way):
                numbers = ", ".join(
                    f"{name} {row[name]:.4g}" for name in NUMBERS if np.isfinite(row[name])
                )
                lines.append(
                    f"{scene}, {way}, from friction {row['start']:g}: {numbers}; "
                    f"cost {row['cost']:.3g}, {row['seconds']:.1f} s"
                )
    return "\n".join(lines)
