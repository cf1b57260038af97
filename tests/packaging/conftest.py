"""The wheel that several tests install, and the site that several tests read."""

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


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Build the site without notebooks, from a copy of its sources."""
    pytest.importorskip("furo")
    pytest.importorskip("myst_nb")
    folder = tmp_path_factory.mktemp("site")
    options = ["-q", "-b", "html", "-d", folder / "trees", "-D", "nb_execution_mode=off"]
    command = [sys.executable, "-m", "sphinx", *options, ROOT / "docs", folder / "html"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"
