"""Versions of MuJoCo: accepted and tested ones."""

from __future__ import annotations

import mujoco

from sapwood import _core
from sapwood.base.hints import warn_caller

# the range whose arrays and stages the stepper knows, the same as in the extra `mujoco`
OLDEST, TOO_NEW = (3, 12), (5, 0)


def check_version(version: str) -> None:
    """Raise ImportError if a version of MuJoCo is older or newer than the accepted ones."""
    major, minor = (int(part) for part in version.split(".")[:2])
    if not OLDEST <= (major, minor) < TOO_NEW:
        oldest, too_new = (".".join(map(str, bound)) for bound in (OLDEST, TOO_NEW))
        raise ImportError(
            f"sapwood.mujoco works with mujoco from {oldest} to before {too_new}, found {version}: "
            f"pip install 'mujoco>={oldest},<{too_new}'"
        )


def tested_versions() -> list[str]:
    """The versions of MuJoCo with which all tests ran, for example ``4.0.1``."""
    return [
        f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"
        for number in _core.MUJOCO_TESTED
    ]


def warn_if_untested() -> None:
    """Warn where the tests ran with no version of the series of the loaded MuJoCo."""
    if not _core.mujoco_is_tested(mujoco.mj_version()):
        warn_caller(
            f"sapwood was tested with MuJoCo {', '.join(tested_versions())}, found "
            f"{mujoco.__version__}: its structs are as expected, its stages may not be",
            RuntimeWarning,
        )
