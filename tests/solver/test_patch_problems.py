"""Steps of Drake's slip-control run as problems: up to 161 contacts between two trees."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import sapwood

FOLDER = os.environ.get("SAPWOOD_DATA")
FILES = sorted(Path(FOLDER, "hydroelastic").glob("slip_problem_*.npz")) if FOLDER else []

pytestmark = pytest.mark.skipif(
    not FILES, reason="SAPWOOD_DATA names no folder with hydroelastic/slip_problem_*.npz"
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_drakes_next_velocity_is_found(file):
    """To the accuracy of Drake's own, whose momentum residual is up to 4e-7."""
    problem = sapwood.load_problem(file)
    settings = sapwood.SapSettings(relative_tolerance=1e-10)
    solution = sapwood.solve(problem, settings=settings)
    assert solution.status in (sapwood.Status.converged, sapwood.Status.stalled)
    A, J = problem.to_dense()
    error = solution.v - problem.v_ref
    assert np.sqrt(error @ A @ error) < 1e-6 * np.sqrt(problem.v_ref @ A @ problem.v_ref)
    assert np.abs(J @ solution.v - J @ problem.v_ref).max() < 1e-7
    # a patch is one edge of the graph
    assert solution.n_islands == 1


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_regularization_is_drakes(file):
    problem = sapwood.load_problem(file)
    arguments = {
        name: getattr(problem, name)
        for name in "tree_nv A v_star tree_a tree_b J mu dt phi0 k tau_d sigma beta".split()
    }
    ours = sapwood.ContactProblem(**arguments, delassus="diagonal")
    for name in ("R_t", "R_n", "v_hat_n"):
        np.testing.assert_allclose(getattr(ours, name), getattr(problem, name), rtol=1e-9)
