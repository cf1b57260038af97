"""Tables of a quadruped that walks under inverse dynamics: as bars, and as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.controllers import controller_style
from sapwood.studies.plotting.style import draw_grid, save_figure
from sapwood.studies.plotting.tables import select
from sapwood.studies.plotting.walking_figures import GROUNDS, names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Rows = NDArray[np.void]
_Path = str | PathLike[str]
_Measure = Callable[[_Rows], float]

_FLAT = [place for place in GROUNDS if place[0] != "rough"]
# simulations by rigid models: model and friction
_MATCHED = {
    (model, friction): rf"simulated by the {model.upper()}, $\mu$ = {mu}"
    for model in ("lcp", "qp")
    for friction, mu in (("low", "0.1"), ("high", "1"))
}

#: Published, by columns of flat ground: errors of joints, rad; NaN where the robot fell.
PUBLISHED_ERROR = {
    "qp_coulomb_paper": (0.0310, 0.0486, 0.0217, 0.0342),
    "qp_noslip_paper": (0.0483, 0.0654, np.nan, 0.0446),
    "lcp_coulomb": (0.0239, 0.0259, 0.0219, 0.0226),
    "lcp_noslip": (np.nan, 0.0260, np.nan, np.nan),
    "pid": (0.0895, 0.0916, 0.0850, 0.0850),
    "sensed_1": (0.0325, 0.1317, 0.0265, 0.1270),
    "sensed_2": (0.0328, 0.1316, 0.0267, 0.1270),
}
#: Errors of velocities, rad/s.
PUBLISHED_VELOCITY_ERROR = {
    "qp_coulomb_paper": (1.9425, 2.2596, 2.0365, 2.9360),
    "qp_noslip_paper": (2.6295, 2.5737, np.nan, 3.9779),
    "lcp_coulomb": (1.8386, 1.8784, 2.0786, 2.1243),
    "lcp_noslip": (np.nan, 1.8950, np.nan, np.nan),
    "pid": (1.5569, 1.4653, 1.5845, 1.5845),
    "sensed_1": (1.7952, 2.5585, 1.8858, 4.4377),
    "sensed_2": (1.7830, 2.5608, 1.8742, 4.2061),
}
#: Errors of predicted forces, %.
PUBLISHED_FORCE_ERROR = {
    "qp_coulomb_paper": (12.5, 27.5, 17.1, 30.9),
    "qp_noslip_paper": (22.3, 25.3, np.nan, 30.7),
    "lcp_coulomb": (1.94, 1.55, 6.4, 24.0),
    "lcp_noslip": (np.nan, 1.16, np.nan, np.nan),
}
#: Errors of predicted forces, N.
PUBLISHED_FORCE_ERROR_NEWTONS = {
    "qp_coulomb_paper": (3.8009, 13.8457, 7.8260, 14.9225),
    "qp_noslip_paper": (8.4567, 12.4153, np.nan, 15.1897),
    "lcp_coulomb": (0.9371, 1.2768, 4.6385, 12.4896),
    "lcp_noslip": (np.nan, 0.3572, np.nan, np.nan),
}
#: Mean changes of torques, N m/s, and mean torques, N m, on no ground that is told.
PUBLISHED_TORQUE = {
    "qp_coulomb_paper": (52.6, 0.202),
    "qp_noslip_paper": (245.5, 0.424),
    "lcp_coulomb": (678.0, 0.835),
    "lcp_noslip": (351.0, 0.406),
    "pid": (100.0, 0.341),
    "sensed_1": (974.0, 0.992),
    "sensed_2": (17528.0, 2.74),
}


def position_error(run: _Rows) -> float:
    """Mean absolute error of the joints, rad; NaN of a robot that has fallen."""
    return _of_walk(run, "position_error")


def velocity_error(run: _Rows) -> float:
    """Mean absolute error of the joints' velocities, rad/s; NaN of a robot that has fallen."""
    return _of_walk(run, "velocity_error")


def force_error_newtons(run: _Rows) -> float:
    """Mean absolute error of the predicted sum of normal forces, N."""
    return _of_walk(run, "force_error")


def force_error(run: _Rows) -> float:
    """Mean absolute error of the predicted sum of normal forces over the mean sum, %."""
    return 100.0 * _of_walk(run, "force_error") / _of_walk(run, "measured")


def _of_walk(run: _Rows, column: str) -> float:
    if run["fallen"][-1]:
        return float(np.nan)
    return float(run[column].mean())


class _Column(NamedTuple):
    """Values by controller, ours and published."""

    title: str
    label: str
    ours: Mapping[str, float]
    published: Mapping[str, float]


def _bars(lines: Sequence[Sequence[_Column]], path: _Path, title: str) -> Figure:
    """Bars of ours and crosses of theirs by controller, in an axes for each column."""
    from matplotlib.figure import Figure

    controllers = [len(line[0].ours) for line in lines]
    size = (2.0 + 2.4 * len(lines[0]), 1.2 + 0.35 * sum(controllers) + 0.6 * len(lines))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(
        len(lines), len(lines[0]), sharey="row", squeeze=False, height_ratios=controllers
    )
    for line, places in zip(lines, grid, strict=True):
        for column, axes in zip(line, places, strict=True):
            _draw_bars(axes, column)
            axes.set_xlabel(column.label)
            same = [other for other in line if other.label == column.label]
            values = [value for other in same for value in _values(other)]
            # on a logarithmic axis bars have to begin somewhere
            axes.set_xlim(0.5 * min(values, default=0.1), 2.0 * max(values, default=1.0))
        ours = line[0].ours
        places[0].set_yticks(range(len(ours)), [controller_style(name)["label"] for name in ours])
        places[0].invert_yaxis()
    figure.suptitle(title, fontsize="medium")
    save_figure(figure, path)
    return figure


def _values(column: _Column) -> list[float]:
    """All of a column that can be drawn."""
    both = [*column.ours.values(), *column.published.values()]
    return [value for value in both if np.isfinite(value) and value > 0.0]


def _draw_bars(axes: Axes, column: _Column) -> None:
    for i, (controller, value) in enumerate(column.ours.items()):
        colour = controller_style(controller)["color"]
        if np.isfinite(value):
            axes.barh(i, value, color=colour)
        else:
            axes.annotate(
                " fell", (0.0, i), xycoords=("axes fraction", "data"), va="center",
                fontsize="small", color=colour,
            )  # fmt: skip
        published = column.published.get(controller, np.nan)
        if np.isfinite(published):
            axes.plot(published, i, "x", color="0.15", markersize=6, zorder=3)
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter("")
    axes.set_title(column.title, fontsize="medium")
    draw_grid(axes)


def _column(rows: _Rows, measure: _Measure, among: Sequence[str], **place: str) -> dict[str, float]:
    chosen, values = select(rows, **place), {}
    for name in among:
        run = select(chosen, controller=name)
        if run.size == 0:
            raise ValueError(f"nothing to draw: no rows of {name} on {' '.join(place.values())}")
        values[name] = measure(run)
    return values


def _published(table: Mapping[str, Sequence[float]], column: int) -> dict[str, float]:
    return {name: values[column] for name, values in table.items()}


def tracking_table(files: Mapping[str, _Rows], path: _Path) -> Figure:
    """Errors of the joints on flat ground beside the published ones, as Table 3.

    Rows of ``walking``: ``controller``, ``ground``, ``friction``, ``position_error`` (rad),
    ``velocity_error`` (rad/s) and ``fallen``.
    """
    rows = files["walking"]
    lines = [
        _on_flat_ground(rows, measure, label, names(rows), published)
        for measure, label, published in (
            (position_error, "error of positions [rad]", PUBLISHED_ERROR),
            (velocity_error, "error of velocities [rad/s]", PUBLISHED_VELOCITY_ERROR),
        )
    ]
    return _bars(lines, path, "Mean error of the joints; crosses: published")


def _on_flat_ground(
    rows: _Rows,
    measure: _Measure,
    label: str,
    among: Sequence[str],
    published: Mapping[str, Sequence[float]],
) -> list[_Column]:
    """A column for each flat ground."""
    return [
        _Column(
            GROUNDS[ground, friction],
            label,
            _column(rows, measure, among, ground=ground, friction=friction),
            _published(published, i),
        )
        for i, (ground, friction) in enumerate(_FLAT)
    ]


def torque_table(files: Mapping[str, _Rows], path: _Path) -> Figure:
    """Torques and their changes on rigid ground of low friction beside the published, as Table 4.

    Rows of ``walking``, with ``torque`` (N m) and ``torque_change`` (N m/s).
    """
    rows = select(files["walking"], ground="rigid", friction="low")
    changes, torques = (
        _column(rows, lambda run, name=name: _of_walk(run, name), names(rows))  # type: ignore[misc]
        for name in ("torque_change", "torque")
    )
    columns = [
        _Column(
            r"mean $|\Delta\tau|/\delta t$", "[N m/s]", changes, _published(PUBLISHED_TORQUE, 0)
        ),
        _Column(r"mean $|\tau|$", "[N m]", torques, _published(PUBLISHED_TORQUE, 1)),
    ]
    title = r"Torques of the joints, rigid ground, $\mu$ = 0.1; crosses: published"
    return _bars([columns], path, title)


def force_table(files: Mapping[str, _Rows], path: _Path) -> Figure:
    """Errors of predicted normal forces beside the published ones, as Table 5.

    Rows of ``walking`` and ``walking_matched``, with ``force_error`` and ``measured`` (N). Its last
    columns are simulations by the rigid models that the controllers invert.
    """
    rows, matched = files["walking"], files["walking_matched"]
    predicting = [name for name in names(rows) if name.startswith(("qp", "lcp", "one"))]
    flat = [
        _on_flat_ground(rows, measure, label, predicting, published)
        for measure, label, published in (
            (force_error, "error [%]", PUBLISHED_FORCE_ERROR),
            (force_error_newtons, "error [N]", PUBLISHED_FORCE_ERROR_NEWTONS),
        )
    ]
    own = [
        _Column(
            title,
            "error [%]",
            _column(matched, force_error, names(matched), ground=model, friction=friction),
            {},
        )
        for (model, friction), title in _MATCHED.items()
    ]
    title = "Error of the predicted sum of normal forces; crosses: published"
    return _bars([*flat, own], path, title)


# ---- lines of text ------------------------------------------------------------------------------


def _lines(
    rows: _Rows, places: Iterable[tuple[str, str]], measures: Mapping[str, _Measure]
) -> list[str]:
    """A line for each controller on each ground; when it fell, where it did."""
    lines = ["ground      friction  controller     " + "".join(f"{name:>22}" for name in measures)]
    for ground, friction in places:
        chosen = select(rows, ground=ground, friction=friction)
        for name in names(chosen):
            run = select(chosen, controller=name)
            values = [measure(run) for measure in measures.values()]
            words = "".join(f"{value:22.3g}" for value in values)
            fell = f"  fell at {run['time'][-1]:.2f} s" if run["fallen"][-1] else ""
            lines.append(f"{ground:12}{friction:10}{name:15}{words}{fell}")
    return lines


def _mean(column: str) -> _Measure:
    return lambda run: float(run[column].mean())


_TRACKING: dict[str, _Measure] = {
    "position error, rad": _mean("position_error"),
    "velocity error, rad/s": _mean("velocity_error"),
}


def tracking_report(files: Mapping[str, _Rows]) -> str:
    """Errors of the joints on flat ground, also of robots that fell."""
    return "\n".join(_lines(files["walking"], _FLAT, _TRACKING))


def two_feet_report(files: Mapping[str, _Rows]) -> str:
    """Errors of the joints and changes of torques, with two feet on the ground at most."""
    places = [("rigid", "high"), ("rigid", "low")]
    measures = {**_TRACKING, "torque change, N m/s": _mean("torque_change")}
    return "\n".join(_lines(files["walking_two_feet"], places, measures))


def rough_report(files: Mapping[str, _Rows]) -> str:
    """Errors of the joints on rough ground."""
    return "\n".join(_lines(files["walking"], [("rough", "random")], _TRACKING))


def torque_report(files: Mapping[str, _Rows]) -> str:
    """Torques and their changes on all grounds."""
    measures = {"torque change, N m/s": _mean("torque_change"), "torque, N m": _mean("torque")}
    return "\n".join(_lines(files["walking"], GROUNDS, measures))


def force_report(files: Mapping[str, _Rows]) -> str:
    """Errors of predicted normal forces, with the mean sum of measured ones."""
    measures = {
        "force error, %": force_error,
        "force error, N": force_error_newtons,
        "normal force, N": _mean("measured"),
    }
    walking = files["walking"]
    predicted = walking[np.isfinite(walking["force_error"])]
    lines = _lines(predicted, GROUNDS, measures)
    return "\n".join([*lines, *_lines(files["walking_matched"], _MATCHED, measures)[1:]])


def path_report(files: Mapping[str, _Rows]) -> str:
    """Way of the base on rigid ground, and where it is in the end."""
    measures: dict[str, _Measure] = {
        "way, m": lambda run: float(np.hypot(np.diff(run["x"]), np.diff(run["y"])).sum()),
        "x at the end, m": lambda run: float(run["x"][-1]),
        "y at the end, m": lambda run: float(run["y"][-1]),
    }
    return "\n".join(_lines(files["walking"], _FLAT[:2], measures))


# after the robot has come to rest, s
_SETTLED = 0.1


def chatter(rows: _Rows, controller: str) -> tuple[float, float]:
    """Mean and largest change of the torques of a robot that stands, N m/s, once it has settled.

    Parameters
    ----------
    rows
        Rows of ``standing``.
    controller
        Whose.
    """
    run = select(rows, controller=controller)
    change = run["torque_change"][run["time"] > _SETTLED]
    return float(change.mean()), float(change.max())


def chatter_report(files: Mapping[str, _Rows]) -> str:
    """Change of the torques by every controller, and what the second stage takes away."""
    rows = files["standing"]
    lines = []
    for name in names(rows):
        mean, largest = chatter(rows, name)
        lines.append(
            f"{name:12} change of the torques: mean {mean:.3g}, largest {largest:.3g} N m/s"
        )
    ratios = np.divide(chatter(rows, "one_stage_paper"), chatter(rows, "qp_coulomb_paper"))
    lines.append(
        f"the second stage divides the mean by {ratios[0]:.2g} and the largest by {ratios[1]:.2g}"
    )
    return "\n".join(lines)
