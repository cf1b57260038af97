"""Figures drawn from the files of an experiment, and pictures of scenes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from command_line import command, error_line

pytest.importorskip("matplotlib")
mujoco = pytest.importorskip("mujoco")

from sapwood.rendering import RenderingError, render_scene
from sapwood.studies.experiments import clutter
from sapwood.studies.plotting import read_steps, step_figure

RUN = ("clutter", "--bodies", "8", "--seconds", "0.2")


def test_the_figure_shows_the_columns_of_the_files(tmp_path):
    clutter.run(8, seconds=0.5, out=tmp_path, compare="mujoco", progress=False)
    files = {name: tmp_path / file for name, file in clutter.CSV_NAMES.items()}
    figure = step_figure(files, tmp_path / "figure.svg", title="a title")
    above, below = figure.axes
    assert [line.get_label() for line in above.lines] == list(files)
    for line, file in zip(above.lines, files.values(), strict=True):
        steps = read_steps(file)
        assert np.array_equal(line.get_xdata(), steps["time"])
        assert np.array_equal(line.get_ydata(), steps["iterations"])
        solver = next(
            other
            for other in below.lines
            if other.get_label().startswith(f"{line.get_label()}, solver")
        )
        shown = ~np.isnan(solver.get_ydata())
        assert np.array_equal(shown, steps["contacts"] > 0)
        assert np.allclose(solver.get_ydata()[shown], 1e3 * steps["solver_time"][shown])
    text = (tmp_path / "figure.svg").read_text()
    assert text.startswith("<?xml")


def test_the_picture_shows_the_final_scene(tmp_path):
    result = clutter.run(8, seconds=0.02, progress=False)
    path = tmp_path / "scene.png"
    try:
        backend = render_scene(result.model, result.qpos, path, width=320, height=240)
    except RenderingError as error:
        pytest.skip(str(error))
    assert backend
    from matplotlib.image import imread

    pixels = imread(path)
    assert pixels.shape[:2] == (240, 320)
    assert np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0).shape[0] > 50


def test_a_machine_that_cannot_draw_is_told_why_and_the_run_succeeds(tmp_path):
    environment = os.environ | {"MUJOCO_GL": "disable"}
    done = command(*RUN, "--out", tmp_path, env=environment)
    assert done.returncode == 0
    assert "no picture" in error_line(done)
    assert "libosmesa6" in done.stderr
    assert "disable" in done.stderr
    assert not (tmp_path / "scene.png").exists()
    assert "scene.png" not in done.stdout


def test_a_driver_that_crashes_or_hangs_does_not_take_the_caller_along(tmp_path, monkeypatch):
    result = clutter.run(4, seconds=0.01, progress=False)
    monkeypatch.setenv("MUJOCO_GL", "egl")

    def stand_in(script: str) -> str:
        path = tmp_path / "driver"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    for script, timeout, reason in (
        ("kill -SEGV $$", 60.0, "crashed .SIGSEGV"),
        ("sleep 60", 0.5, "within 0.5 s"),
    ):
        monkeypatch.setattr(sys, "executable", stand_in(script))
        with pytest.raises(RenderingError, match=reason):
            render_scene(result.model, result.qpos, Path(tmp_path, "x.png"), timeout=timeout)
