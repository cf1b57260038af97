"""A quadruped that walks and stands under inverse dynamics: what is drawn over time and place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.controllers import controller_style
from sapwood.studies.plotting.style import draw_grid, save_figure
from sapwood.studies.plotting.tables import select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Rows = NDArray[np.void]
_Path = str | PathLike[str]

#: Places where the robot walks, as titles, by ground and friction.
GROUNDS = {
    ("rigid", "low"): r"rigid, $\mu$ = 0.1",
    ("rigid", "high"): r"rigid, $\mu$ = 1",
    ("compliant", "low"): r"compliant, $\mu$ = 0.1",
    ("compliant", "high"): r"compliant, $\mu$ = 1",
    ("rough", "random"): r"rough, $\mu$ from 0.1 to 1.5",
}
#: The waypoints, m, in the order of the walk.
_WAYPOINTS = np.array([[0.0, 0.0], [0.25, 0.0], [0.0, 0.25], [0.0, -0.25], [-0.25, 0.0]])
# errors of a robot that falls are of no interest
_LARGEST_ERROR = 0.1
# errors of a robot that slips and does not fall
_SLIPPING_ERROR = 0.2
# rows over which an error is averaged, about a cycle of the gait
_WINDOW = 6


def names(rows: _Rows) -> list[str]:
    """Controllers of a file, in its order."""
    return list(dict.fromkeys(rows["controller"].tolist()))


def _require(rows: _Rows, what: str) -> _Rows:
    if rows.size == 0:
        raise ValueError(f"nothing to draw: no rows of {what}")
    return rows


def _figure(
    rows: int, columns: int, size: tuple[float, float]
) -> tuple[Figure, NDArray[np.object_]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, np.asarray(figure.subplots(rows, columns, squeeze=False))


def _legend(figure: Figure, axes: Axes, columns: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def _draw_places(
    grid: NDArray[np.object_],
    rows: _Rows,
    places: Sequence[tuple[str, str]],
    largest: float = _LARGEST_ERROR,
) -> None:
    """Errors of the joints in axes of their own for each ground and friction."""
    for axes, (ground, friction) in zip(grid.ravel(), places, strict=True):
        title = GROUNDS[ground, friction]
        chosen = select(rows, ground=ground, friction=friction)
        _draw_errors(axes, _require(chosen, title), largest)
        axes.set_title(title, fontsize="medium")


def _draw_errors(axes: Axes, rows: _Rows, largest: float = _LARGEST_ERROR) -> None:
    """Errors of the joints under every controller; a cross where the robot has fallen."""
    for name in names(rows):
        run, style = select(rows, controller=name), controller_style(name)
        # a row is a mean over 50 ms; short runs are drawn as they are
        count = max(1, min(_WINDOW, run.size // 10))
        mean = np.convolve(run["position_error"], np.full(count, 1.0 / count), mode="valid")
        axes.plot(run["time"][count - 1 :], mean, **style)
        if run["fallen"][-1]:
            axes.plot(
                run["time"][-1], min(mean[-1], largest), "x", color=style["color"],
                clip_on=False, zorder=3,
            )  # fmt: skip
    axes.set_ylim(0.0, min(1.05 * axes.get_ylim()[1], largest))
    axes.set_xlim(left=0.0)
    axes.set_xlabel("time [s]")
    draw_grid(axes)


def joint_error_figure(files: Mapping[str, _Rows], path: _Path) -> Figure:
    """Error of the joints over time on flat ground, as Fig. 14.

    Rows of ``walking``: ``controller``, ``ground``, ``friction``, ``time`` (s), ``position_error``
    (rad) and ``fallen``. Raises ValueError if there are no rows of one of the grounds.
    """
    figure, grid = _figure(2, 2, (10.0, 7.5))
    places = [place for place in GROUNDS if place[0] != "rough"]
    _draw_places(grid, files["walking"], places)
    for axes in grid[:, 0]:
        axes.set_ylabel("mean error of the joints [rad]")
    _legend(figure, grid[0, 0], 5)
    figure.suptitle("A trotting quadruped; crosses: it has fallen", fontsize="medium")
    save_figure(figure, path)
    return figure


def rough_figure(files: Mapping[str, _Rows], path: _Path) -> Figure:
    """Error of the joints over time on rough ground of random friction, as Fig. 16.

    Rows as for `joint_error_figure`. Raises ValueError if there are none of rough ground.
    """
    figure, grid = _figure(1, 1, (7.5, 5.0))
    axes, title = grid[0, 0], GROUNDS["rough", "random"]
    _draw_errors(axes, _require(select(files["walking"], ground="rough"), title))
    axes.set_ylabel("mean error of the joints [rad]")
    axes.set_title(f"Trot on ground that is {title}; crosses: it has fallen", fontsize="medium")
    _legend(figure, axes, 3)
    save_figure(figure, path)
    return figure


def two_feet_figure(files: Mapping[str, _Rows], path: _Path) -> Figure:
    """Error of the joints over time with two feet on the ground at most.

    Rows of ``walking_two_feet``, as for `joint_error_figure`. Raises ValueError if there are no
    rows of one of the frictions.
    """
    figure, grid = _figure(1, 2, (10.0, 4.5))
    places = [("rigid", "high"), ("rigid", "low")]
    _draw_places(grid, files["walking_two_feet"], places, _SLIPPING_ERROR)
    grid[0, 0].set_ylabel("mean error of the joints [rad]")
    _legend(figure, grid[0, 0], 4)
    figure.suptitle(
        "A trot with two feet on the ground at most; crosses: it has fallen", fontsize="medium"
    )
    save_figure(figure, path)
    return figure


def path_figure(files: Mapping[str, _Rows], path: _Path) -> Figure:
    """Path of the base between the waypoints on rigid ground, as Fig. 17.

    Rows of ``walking``, with ``x`` and ``y`` (m). Raises ValueError if there are no rows of one of
    the frictions.
    """
    figure, grid = _figure(1, 2, (11.0, 6.6))
    # axes keep their shape, and what is below them its distance
    figure.set_layout_engine("compressed", h_pad=0.12)
    for axes, friction in zip(grid[0], ("high", "low"), strict=True):
        title = GROUNDS["rigid", friction]
        rows = _require(select(files["walking"], ground="rigid", friction=friction), title)
        axes.plot(*_WAYPOINTS.T, "s", color="0.6", markersize=9, label="waypoints")
        for name in names(rows):
            run, style = select(rows, controller=name), controller_style(name)
            axes.plot(run["x"], run["y"], **style)
            if run["fallen"][-1]:
                axes.plot(run["x"][-1], run["y"][-1], "x", color=style["color"])
        axes.set_xlim(-0.45, 0.45)
        axes.set_ylim(-0.45, 0.45)
        axes.set_aspect("equal")
        axes.set_xlabel("x [m]")
        axes.set_title(title, fontsize="medium")
        draw_grid(axes)
    grid[0, 0].set_ylabel("y [m]")
    _legend(figure, grid[0, 0], 5)
    figure.suptitle("Path of the base; crosses: it has fallen", fontsize="medium")
    save_figure(figure, path)
    return figure


def tilt_figure(files: Mapping[str, _Rows], path: _Path) -> Figure:
    """Tilt of the base of a robot that is pushed, with balance and without.

    Rows of ``balance``: ``controller``, ``balanced`` (0 or 1), ``time`` (s), ``tilt`` (rad). Raises
    ValueError if there are no rows.
    """
    figure, grid = _figure(1, 1, (7.5, 4.5))
    axes, rows = grid[0, 0], _require(files["balance"], "a robot that is pushed")
    for name in names(rows):
        for balanced, words, line in ((0, "alone", ":"), (1, "balanced", "-")):
            run, style = select(rows, controller=name, balanced=balanced), controller_style(name)
            style |= {"linestyle": line, "label": f"{style['label']}, {words}"}
            axes.plot(run["time"], np.degrees(run["tilt"]), **style)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("tilt of the base [degrees]")
    axes.set_xlim(left=0.0)
    axes.set_ylim(bottom=0.0)
    axes.set_title("A push to the side of a standing quadruped, at 0.2 s", fontsize="medium")
    draw_grid(axes)
    _legend(figure, axes, 2)
    save_figure(figure, path)
    return figure


def _draw_standing(
    files: Mapping[str, _Rows], path: _Path, column: str, label: str, *, logarithmic: bool
) -> Figure:
    figure, grid = _figure(1, 1, (7.5, 4.5))
    axes = grid[0, 0]
    rows = _require(files["standing"], "a robot that stands")
    for name in ("lcp_coulomb", "one_stage_paper", "qp_coulomb_paper"):
        run = _require(select(rows, controller=name), name)
        style = controller_style(name) | {"linewidth": 0.9}
        if name == "qp_coulomb_paper":
            style["label"] += ", both stages"
        axes.plot(run["time"][1:], run[column][1:], **style)
    if logarithmic:
        axes.set_yscale("log")
    axes.set_xlabel("time [s]")
    axes.set_ylabel(label)
    axes.set_xlim(left=0.0)
    axes.set_title(r"The quadruped stands on four feet, $\mu$ = 0.1", fontsize="medium")
    draw_grid(axes)
    _legend(figure, axes, 3)
    save_figure(figure, path)
    return figure


def standing_torque_figure(files: Mapping[str, _Rows], path: _Path) -> Figure:
    """Torque of a knee of a robot that stands, by one stage and by two, as Fig. 6.

    Rows of ``standing``: ``controller``, ``time`` (s), ``knee_torque`` (N m) and ``torque_change``
    (N m/s). Raises ValueError if there are no rows of one of the controllers.
    """
    return _draw_standing(
        files, path, "knee_torque", "torque of the left front knee [N m]", logarithmic=False
    )


def torque_change_figure(files: Mapping[str, _Rows], path: _Path) -> Figure:
    """Change of the torques of a robot that stands, by one stage and by two, as Fig. 15.

    Rows as for `standing_torque_figure`.
    """
    label = r"mean $|\Delta \tau|/\delta t$ of the joints [N m/s]"
    return _draw_standing(files, path, "torque_change", label, logarithmic=True)
