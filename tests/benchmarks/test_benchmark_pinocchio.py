"""The benchmark of rigid contact beside Pinocchio: problems, table, a run of the command."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import command, pinocchio, pinocchio_problems, rows

try:
    pinocchio_problems.make("solo12 stands")
except FileNotFoundError as error:
    pytest.skip(str(error), allow_module_level=True)


@pytest.mark.parametrize("name", ["solo12 stands", "talos slides", "pile 1"])
def test_the_delassus_operator_is_that_of_pinocchio(name):
    posed = pinocchio_problems.make(name)
    datas = pin.StdVec_ConstraintData()
    for constraint in posed.constraints:
        data = constraint.createData()
        constraint.calc(posed.model, posed.data, data)
        datas.append(data)
    cholesky = pin.ConstraintCholeskyDecomposition(
        posed.model, posed.data, posed.constraints, datas
    )
    cholesky.compute(posed.model, posed.data, posed.constraints, datas, 1e-9)
    theirs = cholesky.getDelassusOperatorCholeskyExpression().matrix()
    np.testing.assert_allclose(theirs, posed.W, rtol=1e-9, atol=1e-8 * np.abs(posed.W).max())
    assert np.linalg.matrix_rank(posed.J) < len(posed.J)


def test_every_robot_is_solved_by_us_whatever_R_is():
    plan = pinocchio.Plan(repeat=1)
    for name in pinocchio_problems.names():
        posed = pinocchio_problems.make(name)
        for share in (*plan.shares, 0.0):
            row = pinocchio.measure(posed, share, pinocchio.OURS, plan)
            assert row.solved, (name, share, row.residual)


def test_quick_run(tmp_path):
    assert command.main(["pinocchio", "--quick", "--out", str(tmp_path)]) == 0
    measured = rows.read(tmp_path / "pinocchio.csv", pinocchio.Row)
    assert {row.solver for row in measured} == set(pinocchio.SOLVERS)
    assert all(row.solved == (row.residual <= 1e-9) for row in measured)
    assert "over ours" in (tmp_path / "pinocchio.txt").read_text()
