"""What tests of several benchmarks need."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import native


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The compiled part, built anew."""
    tools = [Path(sys.executable).parent / "cmake", shutil.which("cmake")]
    if not any(tool and Path(tool).exists() for tool in tools):
        pytest.skip("there is no CMake")
    return native.Native(tmp_path_factory.mktemp("native"))
