"""The benchmark of derivatives, quickly."""

from __future__ import annotations

import numpy as np
import pytest

import helpers
import sapwood
from benchmarks import derivatives, derivatives_report, differences


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("differences") / "differences.csv"
    return differences.run(helpers.small_paths(), 2, path, lambda _: None)


@pytest.mark.slow
def test_rows_are_of_files_with_many_contacts(library, tmp_path):
    files = helpers.small_paths()
    rows = derivatives.run(files, library, 2, tmp_path / "derivatives.csv", lambda _: None)
    assert rows
    for row in rows:
        assert row.contacts > derivatives.CONTACTS
        times = row.iteration, row.phases, row.gradient, row.batch, row.single, row.linearization
        assert min(times) > 0.0
    assert derivatives_report.table(rows).splitlines()[0].startswith(f"{len(rows)} files")
    problem = sapwood.load_problem(files[0])
    with pytest.raises(ValueError, match="cannot be timed"):
        library.gradient(problem, np.full(problem.nv, np.nan), np.zeros(problem.nv), 1)


def test_differences_are_counted_by_decades(found):
    """Away from changes of regions both modes are what differences go to."""
    best = [row for row in differences.best_of(found) if row is not None]
    assert len(best) > 0.8 * len(differences.best_of(found))
    assert max(row.off for row in best) < 1e-5
    lines = derivatives_report.histogram(found).splitlines()[3:]
    counts = [[int(x) for x in line.split()[1:3]] for line in lines]
    assert [sum(column) for column in zip(*counts, strict=True)] == [len(best)] * 2
