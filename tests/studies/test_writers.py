"""A full disk costs the experiments and the benchmarks no file that they had."""

from __future__ import annotations

import dataclasses

import pytest

import sweep_functions as functions
from benchmarks.rows import Table
from full_disk import contents, full_disk
from sapwood.studies.experiments.running.journal import Journal
from sapwood.studies.experiments.sweep import Sweep, run_sweep

POINTS = [{"base": 2.0, "n": n} for n in (1, 2, 3)]
POWERS = Sweep("powers", functions.powers, POINTS, functions.ROWS)


@dataclasses.dataclass
class Row:
    """A row of a benchmark."""

    name: str
    value: float


def write_table(folder):
    with Table(folder / "rows.csv", Row) as table:
        table.add(Row("one", 1.0))
        table.add(Row("two", 2.0))


def write_figure(folder):
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(2.0, 1.0))
    figure.subplots().plot([0.0, 1.0])
    from sapwood.studies.plotting.style import save_figure

    save_figure(figure, folder / "figure.png")


def write_clutter(folder):
    pytest.importorskip("mujoco")
    from sapwood.studies.experiments import clutter

    clutter.run(bodies=1, seconds=0.03, out=folder, progress=False)


def write_sweep(folder):
    # the journal has all points: it is not written to again
    run_sweep(POWERS, folder, workers=1, progress=False)


@pytest.mark.parametrize("write", [write_table, write_figure, write_clutter, write_sweep])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_full_disk_leaves_what_was_there(write, share, tmp_path):
    write(tmp_path)
    before = contents(tmp_path)
    room = min(len(content) for name, content in before.items() if not name.endswith(".jsonl"))
    with full_disk(int(share * room)), pytest.raises(OSError, match="too large") as caught:
        write(tmp_path)
    assert caught.value.filename in [str(tmp_path / name) for name in before]
    assert contents(tmp_path) == before


# ---- journals ----------------------------------------------------------------------------------


@pytest.fixture
def journal(tmp_path):
    """Path of a journal with all points, and its content."""
    run_sweep(POWERS, tmp_path, workers=1, progress=False)
    path = tmp_path / "powers.jsonl"
    return path, path.read_bytes()


def begin(path, columns=functions.ROWS, resume=True):
    with Journal(path, functions.powers, columns, resume):
        pass


@pytest.mark.parametrize("room", [0, 10, 100])
@pytest.mark.parametrize("changes", [{"columns": functions.ROWS[["k"]]}, {"resume": False}])
def test_points_are_put_aside_before_a_journal_begins_anew(journal, room, changes):
    path, before = journal
    with full_disk(room), pytest.raises(OSError, match="too large"):
        begin(path, **changes)
    assert path.read_bytes() == before
    begin(path, **changes)
    assert path.with_name("powers.jsonl.old").read_bytes() == before
    assert path.read_bytes().count(b"\n") == 1
