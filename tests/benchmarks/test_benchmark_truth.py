"""Figures of contact that holds: two builds beside each other, the exit status, the page."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

pytest.importorskip("mujoco")

import sapwood
from benchmarks import command, pages, rows, truth, truth_scenes
from benchmarks.arguments import FAILURE, RESULTS, SUCCESS
from benchmarks.truth_questions import PAGE
from benchmarks.truth_scenes import Figure, Part

SITE = Path(sapwood.__file__).resolve().parents[1]


def written(**changes):
    row = truth.Row("piles", "a pile", "iterations", "", 1.0, 2.0, 0.5, True, "")
    return dataclasses.replace(row, **changes)


def test_counts_are_those_of_figures_within_their_bounds():
    measured = [written(), written(before=0.5), written(point="creep", after=3.0, holds=False)]
    assert truth.counts(measured, "old") == [
        ["point", "figures", "hold at old", "hold now"],
        ["piles", "2", "1", "2"],
        ["creep", "1", "0", "0"],
    ]
    lines = truth.table(measured, None)
    assert [line[-1] for line in lines[1:]] == ["ok", "ok", "missed"]
    assert all(len(line) == len(lines[0]) for line in lines)


def test_a_build_that_ends_with_an_error_has_no_figure():
    part = Part("impacts", "a ball", list)
    figure = Figure("error", 0.5, 1.0)._asdict().values()
    answers = {"A": {"error": "TypeError: no"}, "B": {"figures": [list(figure)]}}
    (row,) = truth.rows_of(part, answers)
    assert (row.after, row.holds, row.held, row.reason) == (0.5, True, False, "A: TypeError: no")
    for old in ({"figures": [list(figure)]}, {"error": "TypeError: no"}):
        (row,) = truth.rows_of(part, {"A": old, "B": {"error": "ValueError: lost"}})
        assert not row.holds


@pytest.mark.slow
def test_a_quick_run_of_the_same_build_holds_all_bounds(quick):
    out, _ = quick("truth", "--builds", SITE, SITE, pictures=0)
    measured = rows.read(out / "truth.csv", truth.Row)
    assert {row.point for row in measured} == {part.point for part in truth_scenes.parts(True)}
    for row in measured:
        if not row.figure.startswith("time"):
            assert row.before == row.after, row.part
            assert row.holds, row.part


def test_a_missed_bound_is_the_exit_status(tmp_path, monkeypatch):
    """By a pile alone, that should take less than no iterations."""
    only = [part for part in truth_scenes.parts(True) if part.point == "piles"]
    monkeypatch.setattr(truth_scenes, "parts", lambda _quick: only)
    rows_of = truth.rows_of

    def harder(part, answers):
        return [dataclasses.replace(row, bound=-1.0, holds=False) for row in rows_of(part, answers)]

    arguments = ["truth", "--quick", "--out", str(tmp_path)]
    assert command.main(arguments) == SUCCESS
    monkeypatch.setattr(truth, "rows_of", harder)
    assert command.main(arguments) == FAILURE
    assert "missed" in (tmp_path / "truth.txt").read_text(encoding="utf-8")


def test_the_page_is_that_of_the_stored_results():
    measured = rows.read(RESULTS / "truth.csv", truth.Row)
    assert {row.point for row in measured} == {part.point for part in truth_scenes.parts(False)}
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- truth: begin -->")
    shown = rest.partition("<!-- truth: end -->")[0].strip()
    before = json.loads((RESULTS / "truth.json").read_text(encoding="utf-8"))["settings"]["A"]
    assert shown == pages.markdown(truth.counts(measured, before))
    assert (RESULTS / "truth.txt").read_text(encoding="utf-8") == (
        truth.text(measured, before) + "\n"
    )
