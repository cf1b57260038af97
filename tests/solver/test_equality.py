"""When two results are equal."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from helpers import implementations
from sapwood.base.equality import equal_arrays, equal_values

nan = np.nan


def problem():
    return sapwood.ContactProblem.from_dense(
        np.eye(3), [0.0, 0.0, -1.0], np.eye(3), [0.0], [1e5], [0.01], [0.5], 0.01
    )


@implementations
@pytest.mark.parametrize("name", ["cost", "decrease", "momentum_error"])
def test_a_solution_is_equal_to_its_like_whatever_its_history_met(solver, name):
    """Where a cost overflows, the decrease to the next one is NaN."""
    settings = sapwood.SapSettings(record_history=True)

    def solve(value):
        solution = solver.solve(problem(), settings=settings)
        solution.history[name][-1] = value
        return solution

    assert solve(nan) == solve(nan)
    assert solve(nan) != solve(0.0)
    assert solve(1.0) != solve(0.0)


RECORD = np.dtype([("i", np.int32), ("x", np.float64)])


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ([1.0, nan], [1.0, nan], True),
        ([1.0, nan], [nan, 1.0], False),
        ([1.0, nan], [1.0, 2.0], False),
        ([1.0], [1.0, 1.0], False),
        ([1, 2], [1, 2], True),
        (nan, nan, True),
        (None, None, True),
        (None, [1.0], False),
        (np.array([(1, nan)], RECORD), np.array([(1, nan)], RECORD), True),
        (np.array([(1, nan)], RECORD), np.array([(2, nan)], RECORD), False),
        (np.array([(1, nan)], RECORD), np.array([(1, 0.0)], RECORD), False),
        (np.array([(1, nan)], RECORD), np.array([(1, nan)] * 2, RECORD), False),
        (np.array([(1, nan)], RECORD), np.array([1.0]), False),
        (np.array([1.0]), np.array([(1, nan)], RECORD), False),
        (np.zeros(0, RECORD), np.zeros(0), False),
    ],
)
def test_values(one, other, equal):
    assert equal_values(one, other) is equal
    assert equal_arrays((0.0, one), (0.0, other)) is equal


def test_tuples():
    assert equal_arrays((), ())
    assert not equal_arrays((1.0,), (1.0, 1.0))
    assert not equal_arrays((1.0,), [1.0])
    line = sapwood.SapSolver().along_line(problem(), np.zeros(3), np.ones(3), [0.5, 1.0])
    assert line == line._replace(slope=line.slope.copy())
    assert line != line._replace(slope=line.slope + 1.0)
