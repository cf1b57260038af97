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
