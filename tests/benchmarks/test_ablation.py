"""benchmarks ablation: every piece can be switched off, and its table says what stays."""

from __future__ import annotations

import dataclasses
import shutil

import pytest

from benchmarks import revisions

pytest.importorskip("mujoco")
from benchmarks import ablation
from benchmarks.models import against

PIECES = ablation.pieces()


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.slug)
def test_a_piece_can_be_switched_off(piece, tmp_path):
    for path in {edit.path for edit in piece.edits}:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(revisions.ROOT / path, tmp_path / path)
    ablation.apply(piece, tmp_path)
    assert all((revisions.ROOT / path).is_file() for path in piece.files)
    with pytest.raises(ValueError, match=piece.name):
        ablation.apply(piece, tmp_path)


def test_what_brings_much_stays():
    ratios = {
        "reduced trees": [1.04] * 9,
        "inactive contacts": [1.0] * 9,
        "lean step": [1.0] * 9 + [1.2] * 6,
    }
    empty = against._empty(revisions.ROOT / "a.xml", "zero", "ran", "")
    rows = {
        name: [dataclasses.replace(empty, ratio=ratio) for ratio in values]
        for name, values in ratios.items()
    }
    table = ablation.tables(PIECES, rows)
    verdict = {line.rsplit(None, 7)[0].strip(): line.split()[-1] for line in table.splitlines()[3:]}
    assert verdict == {"reduced trees": "yes", "inactive contacts": "no", "lean step": "yes"}
