"""The benchmark of derivatives, quickly."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import helpers
from benchmarks import derivatives


def test_rows_are_of_files_with_many_contacts(tmp_path):
    files = helpers.small_paths()
    rows = derivatives.run(files, 2, tmp_path / "derivatives.csv", lambda _: None)
    assert rows
    for row in rows:
        assert row.contacts > derivatives.CONTACTS
        assert min(row.iteration, row.gradient, row.linearization) > 0.0
    assert len(derivatives.table(rows).splitlines()) == len(rows) + 2


def test_differences_are_counted_by_decades():
    """Away from changes of regions both modes are what differences go to."""
    text = derivatives.histogram(helpers.small_paths(), 2, lambda _: None)
    head, _, *lines = text.splitlines()
    kept = int(head.split()[2])
    assert kept > 0
    counts = [[int(x) for x in line.split()[1:3]] for line in lines]
    assert [sum(column) for column in zip(*counts, strict=True)] == [kept, kept]
    assert sum(max(row) for row in counts[:-2]) > 0.8 * kept
