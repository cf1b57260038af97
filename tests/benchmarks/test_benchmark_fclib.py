"""The benchmark of rigid contact: our solver, Siconos where it is installed, and its files."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("h5py")
sparse = pytest.importorskip("scipy.sparse")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import arguments, command, fclib, fclib_report, rows
from sapwood.studies.fclib import LocalProblem, pose, relative_residual, solve
from sapwood.studies.fclib.siconos_process import SOLVERS, Siconos, SiconosError


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
    assert answer.residual <= 1e-9 < answer.residuals[0]
    assert len(answer.residuals) >= 2
    assert answer.total_iterations >= answer.iterations >= len(answer.residuals) - 1
    once = solve(posed, 1e-9, most=1)
    assert once.residuals == answer.residuals[:1]


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


def test_siconos_that_is_missing_or_fails_says_so(tmp_path):
    with pytest.raises(ImportError, match="not installed for /no/python"):
        Siconos("/no/python")
    broken = tmp_path / "python"
    broken.write_text('#!/bin/sh\n[ "$1" = "-c" ] && exit 0\necho no luck >&2\nexit 3\n')
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(SiconosError, match="exit code 3: no luck"):
        Siconos(str(broken)).solve(floor(), "NSGS", 1e-4)
    row = fclib.theirs("floor", floor(), Siconos(str(broken)), "NSGS", 1e-4, fclib.Plan(repeat=1))
    assert row.status == fclib.FAILED
    assert "failed" in fclib_report.table([_ours(), row])


def _ours():
    return fclib.ours("floor", pose(floor()), 1e-4, fclib.Plan(repeat=2))


def test_rows_and_table():
    row = _ours()
    assert row.status == fclib.REACHED
    assert row.residual <= 1e-4
    assert row.samples == 2
    assert 0.0 < row.cpu_min <= row.cpu_median
    lines = fclib_report.table([row]).splitlines()
    assert lines[0].split()[-2:] == ["over", "ours"]
    assert lines[1].split()[-1] == "1.00"


def test_impulses_that_miss_are_said_to():
    problem = floor()
    row = fclib._row("floor", problem, "none", 1e-4, np.zeros(12), np.ones(1))
    assert row.status == fclib.MISSED
    table = fclib_report.table([_ours(), row])
    assert table.splitlines()[-1].split()[-1] == "-"


def test_quick_run(tmp_path, capsys, folder):
    line = ["fclib", str(folder), "--quick", "--out", str(tmp_path), "--siconos", "/no/python"]
    assert command.main(line) == 0
    (row,) = rows.read(tmp_path / "fclib.csv", fclib.Row)
    assert (row.solver, row.status) == ("sapwood", "reached")
    captured = capsys.readouterr()
    assert "skipped: Siconos is not installed for /no/python" in captured.err
    assert (tmp_path / "fclib.txt").read_text(encoding="utf-8") in captured.out
    if sys.modules.get("matplotlib"):
        assert (tmp_path / "fclib.png").stat().st_size > 1000


def test_folder_without_problems(tmp_path, capsys):
    assert command.main(["fclib", str(tmp_path), "--out", str(tmp_path)]) == arguments.USAGE
    assert "holds no *.hdf5" in capsys.readouterr().err
    (tmp_path / "bad.hdf5").write_bytes(b"no problem")
    assert command.main(["fclib", str(tmp_path), "--out", str(tmp_path)]) == arguments.USAGE
    assert "benchmarks: error:" in capsys.readouterr().err
