"""The default number of threads, also where the system does not tell what a process may use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sapwood.base.processors import usable_processors


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinities")
def test_affinity_counts():
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    code += "from sapwood.base.processors import usable_processors; print(usable_processors())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_without_affinities_the_machine_counts(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert usable_processors() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_processors() == 1


def test_all_that_uses_threads_works_without_affinities():
    pytest.importorskip("mujoco")
    code = """
import os
vars(os).pop("sched_getaffinity", None)
import sapwood
from sapwood.studies import scenes
assert sapwood.solve_batch([]) == []
assert sapwood.mujoco.Rollout(scenes.sphere_on_floor(1.0).compile()).nthread >= 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)
