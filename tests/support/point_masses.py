"""Two point masses for the tests: a valid problem of known numbers, easy to make wrong."""

from __future__ import annotations

import re

import numpy as np

import sapwood

EYE = np.eye(3).ravel()

# a free point mass on the ground and one beside it, touching
POINTS = {
    "tree_nv": [3, 3],
    "A": [*EYE, *(2.0 * EYE)],
    "v_star": [0.0, 0.0, -1.0, 0.0, 0.0, -1.0],
    "tree_a": [0, 0],
    "tree_b": [-1, 1],
    "J": [*EYE, *EYE, *(-EYE)],
    "mu": [0.5, 0.7],
    "dt": 0.01,
    "phi0": [0.0, -1e-3],
    "k": [1e5, 1e4],
    "tau_d": [0.01, 0.0],
}
GIVEN = {"R_t": [1e-3, 2e-3], "R_n": [1e-2, 2e-2], "v_hat_n": [0.0, 0.1]}
# the contact between them resists turning
SPIN = {
    "spin_contact": [1],
    "spin_J": np.linspace(-1.0, 1.0, 18),
    "spin_mu": np.array([[1e-2, 0.0, 1e-3]]),
}
ALL = {
    **POINTS,
    **GIVEN,
    "v_hat_t": np.zeros((2, 2)),
    "v_guess": np.zeros(6),
    "v_ref": np.zeros(6),
    "gamma_ref": np.zeros((2, 3)),
    "friction_bound": np.array([np.nan, 0.1]),
    **SPIN,
}
REMOVED = object()


def points(**changes):
    """The point masses with some arguments changed or removed."""
    arguments = {**POINTS, **changes}
    return sapwood.ContactProblem(**{k: v for k, v in arguments.items() if v is not REMOVED})


def changed(name, index, value):
    """One array of the point masses with one entry changed."""
    array = np.array({**POINTS, **GIVEN}[name])
    array[index] = value
    return {name: array}


def with_given(**changes):
    """Arguments with R_t, R_n and v_hat_n given."""
    return {**GIVEN, **changes}


def exactly(text):
    """Pattern that only the whole text matches."""
    return f"^{re.escape(text)}$"
