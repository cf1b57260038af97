"""The looks of the controllers of inverse dynamics in figures."""

from __future__ import annotations

from typing import Any

# name in the paper's notation, colour of Okabe and Ito, line, marker; printed variants are hollow
_CONTROLLERS = {
    "qp_coulomb": (r"ID QP,$\mu$", "#0072b2", "-", "o"),
    "qp_noslip": (r"ID QP,$\infty$", "#56b4e9", "-.", "o"),
    "lcp_coulomb": (r"ID LCP,$\mu$", "#d55e00", "-", "^"),
    "lcp_nearest": (r"ID LCP,$\mu$, nearest", "#cc79a7", ":", "*"),
    "lcp_noslip": (r"ID LCP,$\infty$", "#e69f00", "-.", "^"),
    "one_stage": (r"ID QP,$\mu$, one stage", "#009e73", "--", "s"),
    "qp_coulomb_paper": (r"ID QP,$\mu$, as printed", "#0072b2", "-", "o"),
    "qp_noslip_paper": (r"ID QP,$\infty$, as printed", "#56b4e9", "-.", "o"),
    "one_stage_paper": (r"ID QP,$\mu$, one stage, as printed", "#009e73", "--", "s"),
    "sensed_1": (r"ID($t_{i-1}$)", "#cc79a7", "-", "D"),
    "sensed_2": (r"ID($t_{i-2}$)", "#cc79a7", "--", "D"),
    "blind": ("ID without contact", "#e69f00", "--", "v"),
    "pid": ("PID", "0.35", "-", "x"),
}


def controller_style(controller: str) -> dict[str, Any]:
    """Label, colour and line of a controller, as arguments of matplotlib's ``plot``.

    Parameters
    ----------
    controller
        Name of one of `sapwood.invdyn.InverseDynamics`, with ``_paper`` for the printed Stage I;
        ``"sensed_1"`` and ``"sensed_2"`` use forces that are one and two steps old, ``"blind"``
        knows of no contact, ``"pid"`` is feedback alone.

    Returns
    -------
    dict
        ``label``, ``color``, ``linestyle``, ``linewidth``, and some ten markers on a line.

    Raises
    ------
    KeyError
        There is no such controller.
    """
    label, colour, line, marker = _CONTROLLERS[controller]
    return {
        "label": label, "color": colour, "linestyle": line, "linewidth": 1.2, "marker": marker,
        "markersize": 4.0, "markevery": 0.12,
        "markerfacecolor": "white" if controller.endswith("_paper") else colour,
    }  # fmt: skip
