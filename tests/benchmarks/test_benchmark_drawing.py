"""Pictures of the benchmarks come from the CSV files that were kept."""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("mujoco")
pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks/results"


@pytest.fixture
def draw(monkeypatch):
    """The command."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.command import main

    return lambda *arguments: main(["draw", *map(str, arguments)])


def test_pictures_are_drawn_from_the_files_of_a_folder(draw, tmp_path, capsys):
    results, out = tmp_path / "results", tmp_path / "out"
    results.mkdir()
    shutil.copy(RESULTS / "scaling_threads.csv", results)
    assert draw("--results", results, "--out", out) == 0
    (picture,) = out.iterdir()
    assert capsys.readouterr().out == f"{picture}\n"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_kept_pictures_can_be_drawn_again(draw, tmp_path, monkeypatch):
    """But for the two whose numbers are too many to keep."""
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)
    assert draw("--out", tmp_path) == 0
    drawn = {path.name for path in tmp_path.iterdir()}
    kept = {path.name for path in RESULTS.glob("*.png")}
    assert drawn == kept - {"solvers.png", "derivatives.png"}
    assert sum(path.stat().st_size for path in RESULTS.iterdir()) < 3_000_000


def test_what_cannot_be_drawn_is_said(draw, tmp_path, capsys):
    assert draw("lcp") == 2
    assert "'lcp' is none of solvers, steps" in capsys.readouterr().err
    assert draw("steps", "--results", tmp_path) == 2
    assert "steps.csv" in capsys.readouterr().err
    (tmp_path / "steps.csv").write_text("x,y\n1,2\n")
    assert draw("steps", "--results", tmp_path) == 2
    assert "header" in capsys.readouterr().err
