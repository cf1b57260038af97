"""Where and with what a benchmark ran."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("sapwood", "numpy", "scipy", "clarabel", "mujoco", "drake", "pybullet", "matplotlib")

# cores that this process was given, before it pins itself
_GIVEN = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def pin(core: int | None) -> int | None:
    """Keep this process on one core and return it, None where the system has no such call.

    Parameters
    ----------
    core
        Its number; None takes the last one allowed, since the first serves most interrupts.

    Raises
    ------
    ValueError
        The process may not run on that core.
    """
    if not hasattr(os, "sched_setaffinity"):
        return None
    allowed = os.sched_getaffinity(0)
    if core is None:
        core = max(allowed)
    if core not in allowed:
        raise ValueError(f"core {core} is not one of {sorted(allowed)}")
    os.sched_setaffinity(0, {core})
    return core


@contextmanager
def all_cores() -> Iterator[int]:
    """Let the process run on all cores that it was given, and say how many; then pin it again."""
    if not _GIVEN:
        yield os.cpu_count() or 1
        return
    pinned = os.sched_getaffinity(0)
    os.sched_setaffinity(0, _GIVEN)
    try:
        yield len(_GIVEN)
    finally:
        os.sched_setaffinity(0, pinned)


def describe(core: int | None) -> dict[str, str]:
    """Processor, system, and versions of all packages that are compared."""
    facts = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "caches": _caches(),
        "pinned to core": "none" if core is None else str(core),
        "load average": " ".join(f"{x:.2f}" for x in os.getloadavg()),
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "BLAS threads": os.environ.get("OPENBLAS_NUM_THREADS", "not set"),
    }
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    commit = _commit()
    if commit:
        facts["commit"] = commit
    return facts


def build_environment() -> dict[str, str]:
    """Environment for builds: CMake and Ninja may come from that of this interpreter."""
    path = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    return dict(os.environ) | {"PATH": os.pathsep.join(path)}


def _processor() -> str:
    """Model name of the processor, as precise as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = dict((word.strip() for word in line.split(":", 1)) for line in lines if ":" in line)
    name = facts.get("model name", platform.machine())
    model = ", ".join(f"{key} {facts[key]}" for key in ("cpu family", "model") if key in facts)
    return f"{name} ({model})" if model else name


def _caches() -> str:
    """Level and size of the data caches of the first core; empty where the system does not tell."""
    caches = []
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = (
                (folder / name).read_text(encoding="utf-8").strip()
                for name in ("level", "type", "size")
            )
        except OSError:
            continue
        if kind != "Instruction":
            caches.append(f"L{level} {size}")
    return ", ".join(caches)


def _commit() -> str:
    """Commit of the sources, with a plus sign where they were changed since; empty without git."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
