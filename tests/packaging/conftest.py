"""The wheel that several tests install."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """Wheel built from the source tree as `pip install .` does it."""
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("scikit-build-core is not installed")
    folder, build = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("wheel-build")
    command = [
        sys.executable, "-m", "pip", "wheel", ROOT, "--wheel-dir", folder,
        "--no-deps", "--no-build-isolation", "-C", f"build-dir={build}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("sapwood-*.whl")
    return wheel
