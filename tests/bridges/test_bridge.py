"""The foundation of the bridges, without the packages that they lead to."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import sapwood
from bridged import SMALL, SMALL_NUMBERS, number_of, opened
from differentials import CASES, settings_of
from sapwood.bridge import form_of


class Open(np.ndarray):
    """An array that is left open."""


def bridged(rng, name):
    """The form of a case, its numbers as a batch of two, and the case changed as the second is."""
    case = CASES[name](rng)
    arguments, _ = opened(case, lambda x: x.view(Open))
    groups, settings = arguments.pop("constraints"), arguments.pop("settings")
    is_open = lambda x: isinstance(x, Open)  # noqa: E731
    form, numbers = form_of(arguments, groups, is_open, settings, None, False)
    return case, form, [np.stack([x, x]) for x in numbers]


@pytest.mark.parametrize("name", CASES)
def test_both_modes_are_those_of_a_solution(name, rng):
    case, form, numbers = bridged(rng, name)
    point = form.solve(*numbers)
    solution = case.solve(sensitivity=True)
    np.testing.assert_array_equal(point[0], [solution.v, solution.v])

    # two losses of each of two problems
    bars = [rng.standard_normal((3, 2, *shape)) for shape in form.shapes[:4]]
    kept = [x[None] for x in (*numbers, point[0], point[4])]
    found = form.vjp(*kept, *bars)
    v_bar, gamma_bar, rows, spin = (bar[2, 1] for bar in bars)
    expected = solution.vjp(
        v_bar,
        gamma_bar,
        constraint_gamma_bars=np.split(rows, np.cumsum(form.rows[:-1])) if form.rows else None,
        spin_gamma_bar=spin if len(spin) else None,
    )
    for ours, field in zip(found, form.names, strict=True):
        theirs = number_of(expected, *field)
        theirs = np.zeros(ours[2, 1].shape) if theirs is None else theirs
        size = np.abs(theirs).max(initial=0.0)
        np.testing.assert_allclose(ours[2, 1], theirs, rtol=1e-9, atol=1e-12 * size)

    # its transpose
    dots = [rng.standard_normal(x.shape) for x in found]
    changes = form.jvp(*kept, *dots)
    left = [a * b for a, b in zip(bars, changes, strict=True)]
    right = [a * b for a, b in zip(found, dots, strict=True)]
    sizes = sum(np.abs(x).sum() for x in (*left, *right))
    assert abs(sum(x.sum() for x in left) - sum(x.sum() for x in right)) <= 1e-9 * sizes


def test_what_a_batch_shares_is_broadcast(rng):
    arguments = {**SMALL, **SMALL_NUMBERS}
    open_names = ("v_star", "dt")
    is_open = lambda x: isinstance(x, Open)  # noqa: E731
    for name in open_names:
        arguments[name] = np.asarray(arguments[name]).view(Open)
    form, _ = form_of(arguments, (), is_open, settings_of(), "coulomb", False)
    v_star = SMALL_NUMBERS["v_star"] + rng.standard_normal((2, 1, 6))
    dt = np.array([0.01, 0.02, 0.005])
    v, *_, status = form.solve(*(dict(zip(("v_star", "dt"), (v_star, dt), strict=True))[n.field]
                                    for n in form.names))  # fmt: skip
    assert v.shape == (2, 3, 6)
    assert status.dtype == np.int8
    for i, j in np.ndindex(2, 3):
        problem = sapwood.ContactProblem(
            **{**SMALL, **SMALL_NUMBERS, "v_star": v_star[i, 0], "dt": float(dt[j])}
        )
        alone = sapwood.solve(problem, settings=settings_of(), friction="coulomb")
        np.testing.assert_array_equal(v[i, j], alone.v)


def test_wrong_groups_are_named():
    with pytest.raises(TypeError, match=r"constraints\[0\] must be a class of constraints"):
        form_of(SMALL, [sapwood.JointLimits([[1.0]], phi0=0.1)], bool, None, None, False)
    with pytest.raises(TypeError, match=r"constraints\[0\] needs tree_a"):
        form_of({}, [(sapwood.JointLimits, {"J": [1.0]})], bool, None, None, False)
    with pytest.raises(TypeError, match=r"constraints\[0\]\['beta'\] has no derivatives"):
        form_of({}, [(sapwood.JointLimits, {"tree_a": 0, "beta": 0.5})], bool, None, None, False)


def test_packages_are_imported_when_they_are_used():
    code = (
        "import sys, sapwood; sapwood.bridge; print('torch' in sys.modules, 'jax' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]


def test_a_core_that_starts_too_deep_stays_deeper():
    mass = {"tree_nv": [3], "A": np.eye(3).ravel(), "tree_a": [0], "tree_b": [-1], "dt": 0.01}
    numbers = {"J": np.eye(3).ravel(), "mu": [0.5], "k": [1e3], "tau_d": [0.01]}
    numbers |= {"v_star": [0.0, 0.0, -1.0], "phi0": [-0.2], "delta": [0.05]}
    settings = settings_of()
    problem = sapwood.ContactProblem(**mass, **numbers, core="log")
    solution = sapwood.solve(problem, settings=settings, sensitivity=True)
    assert len(solution.deepened) == 1
    arguments = {**mass, **numbers, "core": "log"}
    arguments["k"] = np.array(numbers["k"]).view(Open)
    form, values = form_of(arguments, (), lambda x: isinstance(x, Open), settings, None, False)
    v, gamma, rows, spin, status = form.solve(*values)
    (found,) = form.vjp(*values, v, status, np.ones(3), 0 * gamma, rows, spin)
    np.testing.assert_array_equal(found, solution.vjp(np.ones(3)).k)
