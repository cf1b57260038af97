"""Set-up of the test run."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

# two workers on two cores: threads of BLAS that wait for each other take ten times as long. Before
# NumPy is loaded, here and in every process that a test starts
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

SEED = os.environ.get("SAPWOOD_SEED")

# times vary on a busy machine, and a failure must be found again; with a seed Hypothesis repeats
# its inputs, too
settings.register_profile(
    "sapwood",
    deadline=None,
    print_blob=True,
    derandomize=bool(SEED),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("sapwood")

# a test run in the background inherits Ctrl-C ignored, and so would the processes that tests start
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# tests of what measures and draws, and not of the library
TOOLS = {"benchmarks", "studies"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the tools `slow`, and those of figures `nightly`."""
    for item in items:
        if item.path.parent.name in TOOLS:
            item.add_marker(pytest.mark.slow)
        if "quick_results" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.nightly)


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers; a failing test shows the seed, SAPWOOD_SEED sets it."""
    seed = int(SEED) if SEED else int(np.random.SeedSequence().entropy % 2**32)
    print(f"SAPWOOD_SEED={seed}")  # noqa: T201
    return np.random.default_rng(seed)


@pytest.fixture(autouse=True)
def no_warning_was_given() -> None:
    """Forget the warnings of steppers, which each process gives once."""
    notices = sys.modules.get("sapwood.mujoco.results.notices")
    if notices is not None:
        notices.TOLD.clear()


@pytest.fixture(scope="session")
def quick_results(tmp_path_factory) -> Path:
    """Folder for the files of quick figures, named results.

    What one test has computed there, others find finished. SAPWOOD_QUICK_RESULTS names a folder in
    which `sapwood figure all --quick` has left them already.
    """
    given = os.environ.get("SAPWOOD_QUICK_RESULTS")
    return Path(given) if given else tmp_path_factory.mktemp("quick") / "results"
