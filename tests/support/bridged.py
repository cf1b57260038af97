"""Problems whose numbers are arrays of a package that differentiates, for tests of the bridges."""

from __future__ import annotations

import numpy as np

import differentials
from differentials import NAMES
from sapwood import _core


def opened(case, convert):
    """Arguments of a bridge's solve for a case, with every number that has derivatives converted.

    Returns them, and the converted numbers in the order of the form: (group or -1, name, array).
    """
    numbers = []

    def turned(group, name, x):
        found = convert(np.array(x, dtype=float))
        numbers.append((group, name, found))
        return found

    arguments = {
        name: turned(-1, name, x) if name in NAMES else x for name, x in case.arguments.items()
    }
    groups = [
        (kind, {n: x if n in ("tree_a", "tree_b", "size", "beta") else turned(k, n, x)
                for n, x in own.items()})
        for k, (kind, own) in enumerate(case.groups)
    ]  # fmt: skip
    settings = differentials.settings_of(case.friction, soft_norm=case.soft_norm)
    return {**arguments, "constraints": groups, "settings": settings}, numbers


def number_of(gradient, group, name):
    """dL/d of one number."""
    if group < 0:
        return getattr(gradient, name)
    part = gradient.constraints[group]
    return part.parameters[name] if name in part.parameters else getattr(part, name)


# two masses on the ground and one on the other: one contact sticks, one slides, one is soft
SMALL = {
    "tree_nv": [3, 3],
    "tree_a": [0, 1, 0],
    "tree_b": [-1, -1, 1],
    "dt": 0.01,
}
SMALL_NUMBERS = {
    "A": np.concatenate([np.diag([1.0, 1.0, 1.2]).ravel(), 2.0 * np.eye(3).ravel()]),
    "v_star": np.array([0.05, 0.1, -1.0, 2.0, -1.0, -0.8]),
    "J": np.concatenate([np.eye(3).ravel(), np.eye(3).ravel(),
                         np.eye(3)[[1, 2, 0]].ravel(), -np.eye(3)[[1, 2, 0]].ravel()]),
    "mu": np.array([0.5, 0.3, 0.7]),
    "phi0": np.array([-0.001, 0.002, -0.02]),
    "k": np.array([1e4, 1e3, 1e2]),
    "tau_d": np.array([0.01, 0.02, 0.005]),
}  # fmt: skip


def linearizations_counted(monkeypatch):
    """A list that gets the number of linearized problems of each reverse pass."""
    calls, pull = [], _core.vjp_varied

    def counted(problem, numbers, n, *arguments):
        calls.append(n)
        return pull(problem, numbers, n, *arguments)

    monkeypatch.setattr(_core, "vjp_varied", counted)
    return calls


def small_solve(solve, settings, *numbers):
    """v and gamma of the small problem by a bridge, of these numbers in the order above."""
    named = dict(zip(SMALL_NUMBERS, numbers, strict=True))
    found = solve(**SMALL, **named, settings=settings)
    return found.v, found.gamma
