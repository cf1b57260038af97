"""``sapwood figure`` and what it calls: files, messages, exit codes."""

from __future__ import annotations

import re

import pytest

from command_line import command, error_line
from sapwood import cli
from sapwood.studies.experiments import sweep
from sapwood.studies.experiments.figures import FIGURES, Entry
from sapwood.studies.experiments.running.points import call

pytest.importorskip("matplotlib")


@pytest.fixture
def mine(monkeypatch):
    """A figure of the tests' own, under the name 'mine'."""
    monkeypatch.setitem(FIGURES, "mine", Entry("sweep_functions:plan", "a title"))
    return ["figure", "mine"]


@pytest.mark.slow
def test_the_command_writes_the_files_and_goes_on_with_them(tmp_path):
    pytest.importorskip("mujoco")
    line = ("figure", "9", "--quick", "--workers", "2", "--out", tmp_path / "out")
    done = command(*line)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith(f"figure 9: {FIGURES['9'].title}\n")
    csv, png = (tmp_path / "out" / f"figure9_quick.{suffix}" for suffix in ("csv", "png"))
    assert done.stdout.splitlines()[-1] == f"written: {csv}, {png}"
    assert png.read_bytes().startswith(b"\x89PNG")
    table = csv.read_bytes()

    # again: nothing is computed, so the measured times are the same
    done = command(*line, "--quiet")
    assert (done.returncode, done.stdout) == (0, "")
    assert "4 of 4 points are finished" in error_line(done)
    assert csv.read_bytes() == table


def test_a_failing_point_is_named_and_the_rest_is_drawn(mine, tmp_path, capsys):
    assert cli.main([*mine, "--out", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert printed.err == (
        "sapwood: mine: failed at kind = raise, i = 1: ArithmeticError: one is not allowed\n"
    )
    assert (tmp_path / "mine.png").read_text() == "3 rows"
    assert cli.main([*mine, "--out", str(tmp_path), "--quick", "--quiet"]) == 1
    assert capsys.readouterr().out == ""
    assert (tmp_path / "mine_quick.png").read_text() == "1 rows"
    # the full version's files are its own
    assert (tmp_path / "mine.png").read_text() == "3 rows"
    names = {"mine.csv", "mine.jsonl", "mine_quick.csv", "mine_quick.jsonl", "mine_quick.png"}
    assert names < {path.name for path in tmp_path.iterdir()}


def test_ctrl_c_keeps_what_was_finished(mine, monkeypatch, tmp_path, capsys):
    def interrupted(function, points, **_):
        yield 1, call(function, points[1])
        raise KeyboardInterrupt

    # a picture of an earlier run does not show the files any more
    (tmp_path / "mine.png").write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(sweep, "map_points", interrupted)
        assert cli.main([*mine, "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err == (
        "sapwood: interrupted, 3 of 4 points of mine are missing; "
        "the same command goes on from here\n"
    )
    assert not (tmp_path / "mine.png").exists()
    assert len((tmp_path / "mine.csv").read_text().splitlines()) == 2
    assert cli.main([*mine, "--out", str(tmp_path)]) == 1
    assert "1 of 4 points are finished" in capsys.readouterr().err
    assert (tmp_path / "mine.png").read_text() == "3 rows"


def test_the_help_tells_the_time_of_every_figure():
    printed = command("figure", "--help").stdout
    times = re.findall(r"[\w-]+", printed.partition("in full")[2])
    assert set(FIGURES) <= set(times)
