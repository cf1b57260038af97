"""The benchmark of rigid contact: our solver, Siconos where it is installed, and its files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("h5py")
sparse = pytest.importorskip("scipy.sparse")

from benchmarks import fclib, rows
from sapwood.studies.fclib import LocalProblem, pose, relative_residual, solve
from sapwood.studies.fclib.siconos_process import SOLVERS, Siconos


def floor(count=4):
    """Point masses on the floor that slide, stick, or leave it, with mu = 0.5."""
    q = np.array([[-1.0, 3.0, 4.0], [-1.0, 0.3, 0.0], [1.0, 3.0, 4.0], [-2.0, 0.0, 0.5]])[:count]
    mass = np.array([1.0, 2.0, 3.0, 4.0])[:count]
    W = sparse.csr_array(sparse.diags(np.repeat(1.0 / mass, 3)))
    return LocalProblem(W, q.ravel(), np.full(count, 0.5), "floor")


def installed():
    try:
        return Siconos()
    except ImportError as error:
        pytest.skip(str(error))


@pytest.fixture
def folder():
    name = os.environ.get("SAPWOOD_DATA")
    if name is None:
        pytest.skip("SAPWOOD_DATA names no folder with fclib/*.hdf5")
    return Path(name) / "fclib"


# ---- ours ----------------------------------------------------------------------------------------


def test_impulses_of_point_masses_by_hand():
    r = solve(pose(floor()), 1e-9).r.reshape(-1, 3)
    expected = [[1.0, -0.3, -0.4], [2.0, -0.6, 0.0], [0.0, 0.0, 0.0], [8.0, 0.0, -2.0]]
    np.testing.assert_allclose(r, expected, atol=1e-7)


def test_answer_tells_of_every_solve():
    posed = pose(floor())
    answer = solve(posed, 1e-9)
    assert answer.residual == min(answer.residuals) == relative_residual(posed.local, answer.r)
    assert answer.residual <= 1e-9
    assert answer.proximal_solves > len(answer.residuals) >= 1
    assert answer.total_iterations >= answer.iterations > 0


def test_what_W_has_beside_J_takes_solves_of_its_own():
    """W that is not symmetric: without that part the first solve is off by it."""
    local = floor()
    n = local.W.shape[0]
    upper = sparse.csr_array(np.triu(np.full((n, n), 1e-3 * local.W.max()), 1))
    skewed = LocalProblem(sparse.csr_array(local.W + upper - upper.T), local.q, local.mu)
    answer = solve(pose(skewed), 1e-9)
    assert answer.residuals[0] > 1e-9 >= answer.residual
    assert solve(pose(skewed), 1e-9, most=1).residuals == answer.residuals[:1]


def test_files_of_the_collection_are_solved(folder):
    """Two of them to what double precision gives; every target is met by an independent measure."""
    for path in sorted(folder.glob("*.hdf5")):
        posed = pose(fclib.load(path))
        for target in (1e-4, 1e-8):
            answer = solve(posed, target)
            assert answer.residual <= target, path.stem
            assert relative_residual(posed.local, answer.r) == answer.residual


# ---- Siconos -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_of_siconos_agree(solver):
    siconos = installed()
    answer = siconos.solve(floor(), solver, 1e-9, samples=2)
    assert answer.converged
    assert answer.iterations >= 1
    assert len(answer.seconds) == 2
    assert relative_residual(floor(), answer.r) <= 1e-8


def test_quick_run(quick, folder):
    out, printed = quick("fclib", folder, "--siconos", "/no/python")
    (row,) = rows.read(out / "fclib.csv", fclib.Row)
    assert (row.solver, row.status) == ("sapwood", "reached")
    assert "skipped: Siconos is not installed for /no/python" in printed.err
