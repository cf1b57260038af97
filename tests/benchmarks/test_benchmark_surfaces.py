"""The benchmark of contact surfaces, quickly."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import surface_cases, surface_questions
from pressure_fields import small_cases, surface_of
from sapwood.geometry import contact_surface


def test_pairs_are_those_of_the_files():
    for path in small_cases():
        pair = surface_cases.read(path)
        surface = contact_surface(pair.a.shape, pair.a.pose, pair.b.shape, pair.b.pose)
        expected = surface_of(np.load(path))
        assert len(surface) == len(expected) > 0
        assert np.array_equal(surface.force, expected.force)


def test_growing_meshes_grow():
    pairs = list(surface_cases.growing(range(3)))
    cells = [pair.cells for pair in pairs]
    assert cells[1:] == [4 * n for n in cells[:-1]]
    for pair in pairs:
        assert len(contact_surface(pair.a.shape, None, pair.b.shape, pair.b.pose)) > 0


def test_quick_run(quick, monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.setitem(sys.modules, "benchmarks.slip_drake", None)
    monkeypatch.setattr(surface_questions, "_drake", lambda _folder: None)
    out, printed = quick("surfaces", small_cases()[0].parent, pictures=0)
    assert "time grows as cells^" in printed.out
    assert (out / "surfaces.csv").exists()
    assert (out / "surfaces_slip.csv").exists()


def test_drake_moves_the_spatula_as_we_do():
    pytest.importorskip("pydrake")
    pytest.importorskip("mujoco")
    from benchmarks.slip_drake import slip_seconds
    from sapwood.studies.slip_control.run import simulate
    from sapwood.studies.slip_control.scene import TILT

    seconds, roll = slip_seconds(0.2)
    assert seconds > 0
    assert abs(math.degrees(roll + TILT) - simulate(0.2)["pitch"][-1]) < 1e-3


def test_the_spatula_moves_as_in_the_recorded_run(quick):
    pytest.importorskip("mujoco")
    folder = os.environ.get("SAPWOOD_DATA")
    if folder is None:
        pytest.skip("SAPWOOD_DATA names no folder with hydroelastic/slip_control_state.npz")
    _out, printed = quick("slip", Path(folder) / "hydroelastic", pictures=0)
    rows = {line[:40].strip(): line[40:].split() for line in printed.out.splitlines()}
    assert rows["steps with as many contacts, %"][:2] == ["100.0", "100.0"]
    assert float(rows["positions, farthest from Drake's, um"][1]) < 0.1
    assert float(rows["pitch, farthest from Drake's, degrees"][1]) < 1e-3


def test_drake_finds_as_many_faces():
    pytest.importorskip("pydrake")
    from benchmarks.surface_drake import surface_call

    for path in small_cases():
        pair = surface_cases.read(path)
        (surface,) = surface_call(pair, path.parent)()
        ours = contact_surface(pair.a.shape, pair.a.pose, pair.b.shape, pair.b.pose)
        assert surface.num_faces() == len(ours)
        assert math.isclose(surface.total_area(), ours.areas.sum(), rel_tol=1e-9)
