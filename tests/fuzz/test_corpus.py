"""The inputs that a fuzzer has kept for files: what was found once stays found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import fuzz_files

CORPUS = sorted((Path(__file__).parent / "corpus" / "files").iterdir())


def test_there_is_a_corpus():
    assert len(CORPUS) > 20


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name[:8])
def test_an_input_of_the_corpus(path, tmp_path):
    fuzz_files.check(path.read_bytes(), tmp_path)
