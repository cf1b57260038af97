"""``sapwood view``: a page while it runs, or a file."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request

import pytest

from command_line import command, error_line
from sapwood import fem

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("viser", reason="sapwood.viewer needs viser")

XML = """
<mujoco>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body pos="0 0 .3">
      <joint name="lift" type="slide" axis="0 0 1"/><geom name="box" type="box" size=".1 .1 .1"/>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="lift"/></actuator>
  <keyframe><key name="low" qpos="-.2"/><key name="high" qpos=".5"/></keyframe>
</mujoco>
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "lift.xml"
    path.write_text(XML)
    return path


def test_a_recording_is_written(model, tmp_path):
    page = tmp_path / "lift.html"
    done = command("view", model, "--html", page, "--seconds", "0.1", "--keyframe", "high")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"written: {page}\n"
    assert "<title>lift</title>" in page.read_text()


def test_a_soft_body_is_in_the_recording(model, tmp_path):
    fem.write_mesh(tmp_path / "cube.vtk", fem.box([0.1] * 3, 1))
    page = tmp_path / "soft.html"
    options = ("--soft", tmp_path / "cube.vtk", "--soft-at", "0.5", "0", "0.06")
    done = command("view", model, *options, "--html", page, "--seconds", "0.1")
    assert (done.returncode, done.stderr) == (0, "")
    without = tmp_path / "rigid.html"
    command("view", model, "--html", without, "--seconds", "0.1")
    assert page.stat().st_size > without.stat().st_size
    done = command("view", model, "--soft", tmp_path / "none.vtk", "--html", page)
    assert (done.returncode, "none.vtk" in error_line(done)) == (2, True)


def test_the_page_is_served_until_ctrl_c(model):
    line = [sys.executable, "-m", "sapwood", "view", model, "--port", "0", "--no-browser"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        url, _, how = run.stdout.readline().partition("  ")
        assert how == "(Ctrl-C ends)\n"
        assert b"<html" in urllib.request.urlopen(url, timeout=30).read()
        run.send_signal(signal.SIGINT)
        rest, errors = run.communicate(timeout=60)
        assert (run.returncode, rest, errors) == (0, "", "")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--keyframe", "middle"), "--keyframe middle: the model has low, high"),
        (("--keyframe", "2"), "--keyframe 2: the model has low, high"),
        (("--host", "192.0.2.1"), "cannot serve at 192.0.2.1"),
        (("--controls", "none.csv"), "none.csv: No such file or directory"),
        (("--html", "missing/lift.html", "--seconds", "0.01"), "cannot write missing/lift.html"),
    ],
)
def test_what_cannot_be_done_is_told(model, options, text):
    done = command("view", model, "--no-browser", *options)
    assert done.returncode == 2
    assert text in error_line(done)
