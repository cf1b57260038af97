"""The benchmarks: what they measure is right, solvers agree, and nothing stops a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import helpers
import sapwood

ROOT = Path(__file__).resolve().parents[2]

from benchmarks import (
    solvers,
)
from benchmarks.solvers import REACHED
from sapwood.studies import peers
from sapwood.studies.peers.accuracy import Accuracy, touched_trees
from sapwood.studies.peers.base import Peer

pytestmark = pytest.mark.slow

FILES = helpers.small_paths()
small_files = helpers.small_files
TARGETS = (1e-3, 1e-6)


# ---- accuracy ----------------------------------------------------------------------------------


@small_files
def test_errors_are_those_of_independent_formulas(path, rng):
    """Contact by contact, with impulses of the law and with any others."""
    problem = sapwood.load_problem(path)
    A, J = problem.to_dense()
    R = np.stack([problem.R_t, problem.R_t, problem.R_n], axis=1)
    D = 1.0 / np.sqrt(np.diag(A))
    accuracy = Accuracy(problem)
    touched = np.zeros(problem.nv, dtype=bool)
    for tree in touched_trees(problem):
        touched[slice(*problem.tree_offsets[tree : tree + 2])] = True
    for own in (False, True):
        v = problem.v_star + 0.3 * touched * rng.standard_normal(problem.nv)
        v_c = (J @ v).reshape(-1, 3)
        bias = helpers.bias(problem)
        gamma = sapwood.project((bias - v_c) / R, problem.mu, problem.R_t, problem.R_n).gamma
        if own:
            gamma = gamma + rng.standard_normal(gamma.shape) * np.abs(gamma).max()
        gaps = [abs((v_c[i] - bias[i] + R[i] * gamma[i]) @ gamma[i]) for i in range(len(gamma))]
        change = v - problem.v_star
        cost = 0.5 * change @ A @ change + 0.5 * np.sum(R * gamma**2)
        j_c = J.T @ gamma.ravel()
        momentum = np.linalg.norm((D * (A @ change - j_c))[touched])
        scale = max(np.linalg.norm((D * (A @ v))[touched]), np.linalg.norm(D * j_c))

        errors = accuracy.errors(v, gamma if own else None)
        np.testing.assert_allclose(errors.momentum, momentum / scale, rtol=1e-9)
        np.testing.assert_allclose(
            errors.complementarity, np.mean(gaps) / cost, rtol=1e-9, atol=1e-15
        )
        if not own:
            assert errors.momentum == pytest.approx(accuracy.momentum_error(v), rel=1e-12)
            assert errors.complementarity <= 1e-14


@small_files
def test_velocity_error(path, rng):
    """|v - v_ref|_A / |v_ref|_A over the trees that take part."""
    problem = sapwood.load_problem(path)
    accuracy = Accuracy(problem)
    assert accuracy.velocity_error(problem.v_ref) == 0.0
    touched = helpers.touched_trees(problem)
    counts = np.repeat(touched, problem.tree_nv)
    v = problem.v_ref + rng.standard_normal(problem.nv)
    expected = helpers.norm_A(problem, counts * (v - problem.v_ref)) / helpers.norm_A(
        problem, counts * problem.v_ref
    )
    np.testing.assert_allclose(accuracy.velocity_error(v), expected, rtol=1e-10)


def test_sparse_form_is_the_problem(rng):
    pytest.importorskip("scipy")
    from sapwood.studies.peers.sparse import SparseProblem

    bias = rng.standard_normal((20, 2))
    problem = helpers.random_problem(rng, touched=[0, 2, 3, 4], v_hat_t=bias)
    form = SparseProblem.from_problem(problem)
    A, J = problem.to_dense()
    here = form.velocities
    assert np.array_equal(form.A.toarray(), A[np.ix_(here, here)])
    assert np.array_equal(form.J.toarray(), J[:, here])
    assert np.array_equal(form.v_hat, helpers.bias(problem))
    v = form.whole(np.zeros(len(here)))
    counts = np.repeat(helpers.touched_trees(problem), problem.tree_nv)
    assert np.array_equal(v, np.where(counts, 0.0, problem.v_star))


# ---- a run -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory):
    """Every solver on two files, as the command does it: (finished process, folder)."""
    out = tmp_path_factory.mktemp("benchmarks")
    line = ["-m", "benchmarks", "solvers", FILES[0].parent, "--files", "c*_block.npz"]
    line += ["--repeat", "3", "--budget", "0.2", "--out", out, "--tolerances", "1e-3,1e-6"]
    done = subprocess.run(
        [sys.executable, *map(str, line)], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    return done, out


def installed() -> list[Peer]:
    found = []
    for name in peers.NAMES:
        try:
            found.append(peers.load(name))
        except ImportError:
            continue
    return found


def test_run_has_every_row(quick_run):
    done, out = quick_run
    assert done.returncode == 0, done.stderr
    rows = solvers.read_rows(out / "solvers.csv")
    files = sorted(path.stem for path in FILES if path.match("c*_block.npz"))
    assert len(files) >= 2
    expected = {
        (file, peer.name, mode, target)
        for file in files
        for peer in installed()
        for mode in peer.modes
        for target in TARGETS
    }
    assert sorted((r.file, r.solver, r.mode, r.target) for r in rows) == sorted(expected)

    for row in rows:
        assert row.status == REACHED, (row.solver, row.file, row.detail)
        assert row.e_m <= row.target
        assert row.v_error <= 10.0 * row.target
        assert 0.0 < row.cpu_min <= row.cpu_median
        assert 0.0 < row.wall_min <= row.wall_median
        assert 1 <= row.samples <= 3
        if row.iterations:
            np.testing.assert_allclose(row.iteration * row.iterations, row.cpu_min)
        problem = sapwood.load_problem(FILES[0].parent / f"{row.file}.npz")
        sizes = (problem.n_trees, problem.nv, problem.n_contacts)
        assert (row.trees, row.nv, row.contacts) == sizes
        parts = [getattr(row, part) for part in solvers.PARTS]
        if row.solver.startswith("sapwood"):
            assert all(part >= 0.0 for part in parts)
            assert sum(parts) > 0.0
        else:
            assert parts == [None] * len(parts)
