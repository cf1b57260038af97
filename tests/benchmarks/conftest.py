"""Fixtures for tests of several benchmarks."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import command, native


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The compiled part, built anew."""
    tools = [Path(sys.executable).parent / "cmake", shutil.which("cmake")]
    if not any(tool and Path(tool).exists() for tool in tools):
        pytest.skip("there is no CMake")
    return native.Native(tmp_path_factory.mktemp("native"))


@pytest.fixture
def quick(tmp_path, capsys):
    """A function that runs a question quickly; returns the folder of its files and what it printed.

    Its report is printed too, and it draws its pictures where matplotlib is.
    """

    def run(name, *arguments, pictures=1):
        out = tmp_path / "out"
        assert command.main([name, *map(str, arguments), "--quick", "--out", str(out)]) == 0
        printed, drawn = capsys.readouterr(), list(out.glob("*.png"))
        reports = [path.read_text(encoding="utf-8") for path in out.glob(f"{name}*.txt")]
        assert any(report in printed.out for report in reports)
        assert all(picture.stat().st_size > 1000 for picture in drawn)
        assert len(drawn) >= pictures or not sys.modules.get("matplotlib")
        return out, printed

    return run
