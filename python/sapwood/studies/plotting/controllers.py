"""How the controllers of inverse dynamics look in figures."""

from __future__ import annotations

from typing import Any

# name in the paper's notation, colour and line
_CONTROLLERS = {
    "qp_coulomb": (r"ID QP,$\mu$", "#1f5fa8", "-"),
    "qp_noslip": (r"ID QP,$\infty$", "#6fa8dc", "-."),
    "lcp_coulomb": (r"ID LCP,$\mu$", "#d1661c", "-"),
    "lcp_noslip": (r"ID LCP,$\infty$", "#e3a36b", "-."),
    "one_stage": (r"ID QP,$\mu$, one stage", "#3d8b4a", "--"),
    "qp_coulomb_paper": (r"ID QP,$\mu$, as printed", "#17a2a2", "-"),
    "qp_noslip_paper": (r"ID QP,$\infty$, as printed", "#6fc8c8", "-."),
    "one_stage_paper": (r"ID QP,$\mu$, one stage, as printed", "#3d8b4a", "--"),
    "sensed_1": (r"ID($t_{i-1}$)", "#8a4fa3", "-"),
    "sensed_2": (r"ID($t_{i-2}$)", "#b98fc9", "--"),
    "blind": ("ID without contact", "#b8860b", "--"),
    "pid": ("PID", "0.35", "-"),
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
        ``label``, ``color``, ``linestyle`` and ``linewidth``.

    Raises
    ------
    KeyError
        There is no such controller.
    """
    label, colour, line = _CONTROLLERS[controller]
    return {"label": label, "color": colour, "linestyle": line, "linewidth": 1.2}
