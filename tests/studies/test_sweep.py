"""Sweeps: files, resuming, failing points, worker processes, the cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import sweep_functions as functions
from sapwood.studies.experiments.running.journal import Journal
from sapwood.studies.experiments.sweep import Sweep, run_sweep
from sapwood.studies.plotting import read_steps

POINTS = [{"base": base, "n": n} for base in (2.0, 0.1) for n in (1, 3)]
POWERS = Sweep("powers", functions.powers, POINTS, functions.ROWS)


def counted(folder, indices):
    points = [{"folder": str(folder), "i": i} for i in indices]
    return Sweep("counted", functions.counted, points, functions.ROWS)


def calls(folder):
    return sorted(path.name for path in folder.iterdir())


def untimed(path):
    """Lines of a CSV file without their last column, the time."""
    return [line.rpartition(",")[0] for line in path.read_text().splitlines()]


# ---- files -------------------------------------------------------------------------------------


def test_the_csv_holds_points_and_rows_in_the_order_of_the_sweep(tmp_path):
    result = run_sweep(POWERS, tmp_path / "new" / "folder", progress=False)
    assert result.csv == tmp_path / "new" / "folder" / "powers.csv"
    assert (result.kept, result.missing, result.failures) == (0, 0, ())
    rows = read_steps(result.csv)
    assert rows.dtype.names == ("base", "n", *functions.ROWS.names)
    expected = [(p["base"], p["n"], k) for p in POINTS for k in range(p["n"])]
    assert rows[["base", "n", "k"]].tolist() == expected
    # numbers come through to the last bit
    assert np.array_equal(rows["value"], rows["base"] ** rows["k"] / 3)
    assert rows["odd"].tolist() == [k % 2 for _, _, k in expected]
    assert set(rows["word"]) == {"zero", "one", "a, b"}


def test_the_bytes_do_not_depend_on_the_number_of_workers(tmp_path):
    files = [
        run_sweep(POWERS, tmp_path / str(workers), workers=workers, progress=False).csv
        for workers in (1, 2, 4)
    ]
    assert untimed(files[0]) == untimed(files[1]) == untimed(files[2])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"points": []}, "points: there are none"),
        ({"points": [{"base": 1.0, "n": 1}, {"n": 1, "base": 1.0}]}, r"points\[1\] has"),
        ({"points": [{"base": 1.0, "n": 1}] * 2}, r"points\[1\] = \(1.0, 1\): is there twice"),
        ({"points": [{"base": float("nan"), "n": 1}]}, r"points\[0\]\['base'\] = nan"),
        ({"points": [{"base": np.float64(1), "n": 1}]}, "of Python's own types"),
        ({"points": [{"base": 1.0, "n": None}]}, r"points\[0\]\['n'\] = None"),
        ({"points": [{"k": 1}]}, "columns: k names values of the points too"),
        ({"function": lambda: None}, "workers cannot import it"),
    ],
)
def test_a_wrong_sweep_is_refused(change, text):
    given = {"name": "s", "function": functions.powers, "points": POINTS, **change}
    with pytest.raises(ValueError, match=text):
        Sweep(**given, columns=functions.ROWS)


# ---- resuming ----------------------------------------------------------------------------------


def test_finished_points_are_kept_and_new_ones_added(tmp_path):
    folder = tmp_path / "calls"
    folder.mkdir()
    said = []
    run_sweep(counted(folder, [0, 1]), tmp_path, progress=False)
    result = run_sweep(counted(folder, [1, 2, 0]), tmp_path, progress=False, say=said.append)
    assert calls(folder) == ["0.0", "1.0", "2.0"]
    assert result.kept == 2
    assert said == [f"{tmp_path / 'counted.jsonl'}: 2 of 3 points are finished"]
    assert read_steps(result.csv)["i"].tolist() == [1, 1, 2, 2, 0, 0]

    # nothing left to do, then everything again
    run_sweep(counted(folder, [0, 1]), tmp_path, progress=False, say=said.append)
    assert calls(folder) == ["0.0", "1.0", "2.0"]
    assert said[-1].endswith("2 of 2 points are finished (--no-resume computes them again)")
    run_sweep(counted(folder, [0, 1]), tmp_path, progress=False, resume=False)
    assert calls(folder) == ["0.0", "0.1", "1.0", "1.1", "2.0"]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (
            lambda text: text.replace('"version": "', '"version": "9.'),
            "computed: version",
        ),
        (
            lambda text: text.replace('"code": "', '"code": "f'),
            "computed: code",
        ),
        (
            lambda text: text.replace('["value", "<f8"]', '["values", "<f8"]'),
            "computed: columns",
        ),
        (lambda text: text.replace('{"point"', '"point"', 1), "it cannot be read"),
        (lambda text: text.replace('"rows": [[', '"rows": [[[', 1), "it cannot be read"),
        (lambda text: "[]\n" + text, "it cannot be read"),
    ],
)
def test_a_journal_of_something_else_is_put_aside(tmp_path, damage, reason):
    run_sweep(POWERS, tmp_path, progress=False)
    journal = tmp_path / "powers.jsonl"
    old = damage(journal.read_text())
    journal.write_text(old)
    said = []
    result = run_sweep(POWERS, tmp_path, progress=False, say=said.append)
    assert result.kept == 0
    assert reason in result.started_over
    assert f"{reason}: starting over" in said[0]
    assert (tmp_path / "powers.jsonl.old").read_text() == old
    assert run_sweep(POWERS, tmp_path, progress=False).kept == len(POINTS)


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
import sweep_functions as f
from sapwood.studies.experiments.sweep import Sweep, run_sweep
points = [dict(folder={folder!r}, i=i) for i in range(5)]
result = run_sweep(Sweep("slow", f.slow, points, f.ROWS), {out!r}, workers=2)
print(result.missing, result.interrupted)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent otherwise elsewhere")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_stopped_keeps_what_was_finished(tmp_path, number):
    """Without a guard of the main module, too; and its workers end with it."""
    folder = tmp_path / "begun"
    folder.mkdir()
    script = tmp_path / "script.py"
    script.write_text(
        SCRIPT.format(
            tests=str(Path(__file__).parents[1] / "support"), folder=str(folder), out=str(tmp_path)
        )
    )
    journal = tmp_path / "slow.jsonl"
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        # two points are finished, two never end, one waits
        while len(calls(folder)) < 4 or journal.read_text().count("\n") < 3:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        printed = process.communicate(timeout=60)[0]
    if number == signal.SIGINT:
        assert printed == "3 True\n"
        assert read_steps(tmp_path / "slow.csv")["i"].tolist() == [0, 1]
    for path in folder.iterdir():
        while os.path.exists(f"/proc/{path.read_text()}"):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    points = [{"folder": str(folder), "i": i} for i in range(2)]
    finished = Sweep("slow", functions.slow, points, functions.ROWS)
    assert run_sweep(finished, tmp_path, progress=False).kept == 2


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked there")
@pytest.mark.parametrize("resume", [True, False])
def test_two_runs_do_not_write_one_journal(tmp_path, resume):
    run_sweep(POWERS, tmp_path, progress=False)
    path, table = tmp_path / "powers.jsonl", tmp_path / "powers.csv"
    before = path.read_bytes(), table.read_bytes()
    with (
        Journal(path, functions.powers, functions.ROWS, resume=True),
        pytest.raises(OSError, match=r"^another run is writing powers\.jsonl$"),
    ):
        run_sweep(POWERS, tmp_path, progress=False, resume=resume)
    assert (path.read_bytes(), table.read_bytes()) == before
    # the lock has ended with the other run
    assert run_sweep(POWERS, tmp_path, progress=False).kept == len(POINTS)


# ---- failing points ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("raise", "ArithmeticError: one is not allowed"),
        ("exit", "the worker process ended with exit code 3"),
        ("kill", "the worker process was ended by signal 9"),
        ("type", "returned shape (3,), float64 in place of rows of"),
        ("unpicklable", "pickle"),
        ("unreadable", "ValueError: invalid literal for int()"),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_failing_point_is_reported_and_the_others_are_kept(tmp_path, kind, error, workers):
    points = [{"kind": kind, "i": i} for i in range(4)]
    sweep = Sweep("fragile", functions.fragile, points, functions.ROWS)
    said = []
    result = run_sweep(sweep, tmp_path, workers=workers, progress=False, say=said.append)
    assert not result.interrupted
    ((point, outcome),) = result.failures
    assert point == points[1]
    assert error in outcome.error
    assert f"failed at kind = {kind}, i = 1: {outcome.error}" in said[0]
    assert ("ArithmeticError" in outcome.traceback) == (kind == "raise")
    assert bool(outcome.traceback) == (kind in ("raise", "unpicklable", "unreadable"))
    assert read_steps(result.csv)["i"].tolist() == [0, 2, 3]
    # the next run tries the failed one again
    assert run_sweep(sweep, tmp_path, progress=False).kept == 3
