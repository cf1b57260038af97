"""``sapwood figure`` and what it calls: files, messages, exit codes."""

from __future__ import annotations

import dataclasses
import math

import pytest

import sweep_functions
from command_line import command, error_line
from sapwood import cli
from sapwood.studies.experiments import sweep
from sapwood.studies.experiments.figures import FIGURES, Entry, make_figure
from sapwood.studies.experiments.journal import Journal
from sapwood.studies.experiments.points import call

pytest.importorskip("matplotlib")


@pytest.fixture
def mine(monkeypatch):
    """A figure of the tests' own, under the name 'mine'."""
    monkeypatch.setitem(FIGURES, "mine", Entry("sweep_functions:plan", "a title"))
    return ["figure", "mine"]


@pytest.mark.parametrize("quick", [True, False])
def test_figures_share_files_only_where_they_share_the_sweep(quick):
    pytest.importorskip("mujoco")
    sweeps = {}
    for entry in FIGURES.values():
        for each in entry.plan(quick).sweeps:
            assert sweeps.setdefault(each.name, each) == each
    # nor does a drawing have the name of another one's files
    assert not {name for name in FIGURES if name in sweeps} - {"constraints", "sliding"}


def size(plan):
    """Bodies times simulated seconds or steps, summed over the points."""
    factors = ("bodies", "seconds", "duration", "steps", "repeat", "samples", "train", "starts")
    return sum(
        math.prod(point.get(name, 1) for name in factors)
        for each in plan.sweeps
        for point in each.points
    )


# figure 10 has one version
@pytest.mark.parametrize("name", [name for name in FIGURES if name != "10"])
def test_quick_versions_are_smaller(name):
    pytest.importorskip("mujoco")
    quick, full = (FIGURES[name].plan(quick) for quick in (True, False))
    assert size(quick) <= size(full) / 2


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


def test_the_format_of_the_figure(mine, tmp_path):
    cli.main([*mine, "--out", str(tmp_path), "--format", "svg"])
    assert (tmp_path / "mine.svg").read_text() == "3 rows"
    assert not list(tmp_path.glob("*.png"))


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


@pytest.mark.parametrize(
    ("name", "title", "image"),
    [
        ("0", "figure 0: a title", "figure0.png"),
        ("id-0", "id-0: a title", "id-0.png"),
        ("id-table-0", "id-table-0: a title", "id-table-0.png"),
    ],
)
def test_names_of_figures_and_tables(name, title, image, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(FIGURES, name, Entry("sweep_functions:plan", "a title"))
    assert cli.main(["figure", name, "--out", str(tmp_path)]) == 1  # a point of it fails
    assert capsys.readouterr().out.splitlines()[0] == title
    assert (tmp_path / image).read_text() == "3 rows"


def test_a_figure_without_a_single_point_is_an_error(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(FIGURES, "mine", Entry("sweep_functions:hopeless_plan", "a title"))
    assert cli.main(["figure", "mine", "--out", str(tmp_path)]) == 1
    assert "sapwood: error: figure mine: " in capsys.readouterr().err
    assert not (tmp_path / "mine.png").exists()


def test_ctrl_c_keeps_what_was_finished(mine, monkeypatch, tmp_path, capsys):
    def interrupted(function, points, **_):
        yield 1, call(function, points[1])
        raise KeyboardInterrupt

    # what an earlier run has drawn is not that of the files any more
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


def test_another_run_in_the_folder_is_code_2(mine, tmp_path, capsys):
    plan = FIGURES["mine"].plan()
    each = plan.sweeps[0]
    with Journal(tmp_path / "mine.jsonl", each.function, each.columns, resume=True):
        assert cli.main([*mine, "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"sapwood: error: cannot write to {tmp_path}: another run is writing mine.jsonl"
    ]


def test_measured_times_are_not_shared_with_other_processes(monkeypatch, tmp_path):
    asked = []

    def nothing(function, points, *, workers, **_):
        asked.append(workers)
        yield from ((i, call(function, point)) for i, point in enumerate(points))

    monkeypatch.setattr(sweep, "map_points", nothing)
    plan = dataclasses.replace(sweep_functions.plan(True), workers=1)
    monkeypatch.setattr(sweep_functions, "plan", lambda _quick: plan)
    monkeypatch.setitem(FIGURES, "mine", Entry("sweep_functions:plan", "a title"))
    make_figure("mine", tmp_path, progress=False)
    make_figure("mine", tmp_path, progress=False, workers=3, resume=False)
    make_figure("mine", tmp_path, progress=False, scheduler="nowhere", resume=False)
    assert asked == [1, 3, None]


def test_no_resume_forgets(mine, tmp_path, capsys):
    for options in ([], ["--no-resume"]):
        assert cli.main([*mine, *options, "--out", str(tmp_path)]) == 1
        assert "are finished" not in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_code_2(mine, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert cli.main([*mine, "--out", str(tmp_path / "file")]) == 2
    assert "cannot write to" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
def test_a_scheduler_that_is_not_there_is_code_2(mine, tmp_path, capsys):
    pytest.importorskip("distributed")
    assert cli.main([*mine, "--scheduler", "nowhere", "--out", str(tmp_path)]) == 2
    assert "sapwood: error: scheduler nowhere: " in capsys.readouterr().err


def test_a_missing_package_is_named_with_its_extra(mine, monkeypatch, tmp_path, capsys):
    entry = Entry("sweep_functions:plan", "a title", (("no_such_package", "some"),))
    monkeypatch.setitem(FIGURES, "mine", entry)
    assert cli.main([*mine, "--out", str(tmp_path / "out")]) == 2
    assert "figure mine needs no_such_package" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_unknown_figure_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no figure .1000."):
        make_figure(1000, tmp_path)
