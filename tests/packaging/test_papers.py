"""The table of the papers: every item has a row, and what a row points to exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loading import load

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("sphinx")

papers, runs = load("docs/_ext/papers.py"), load("docs/_ext/runs.py")
DOCUMENTS = {document["key"]: document for document in papers.documents()}
ROWS = [(key, row) for key, document in DOCUMENTS.items() for row in document["rows"]]
# figures of the library that no paper has
OWN = {
    "constraints", "rigid-core", "sliding", "analytic-gradients", "cube-toss", "mindiff",
    "identification", "slip-solvers", "line-search", "step-solvers", "balance",
    "theory",
}  # fmt: skip


def covered(document, kind):
    """Numbers of the items of a kind, in the order of the rows."""
    rows = [row["item"] for row in document["rows"] if row["item"].split()[0].rstrip("s") == kind]
    return [number for item in rows for number in papers.numbers_of(item)]


@pytest.mark.parametrize("key", DOCUMENTS)
def test_nothing_lacks_a_row(key):
    document = DOCUMENTS[key]
    for kind, count in (("Figure", "figures"), ("Table", "tables"), ("Equation", "equations")):
        assert covered(document, kind) == list(range(1, document[count] + 1)), kind
    items = [row["item"] for row in document["rows"]]
    assert len(items) == len(set(items))
    assert set(document["results"]) <= set(items)


@pytest.mark.parametrize("row", [row for _, row in ROWS], ids=lambda row: row["what"][:40])
def test_rows_point_to_what_exists(row):
    assert row["state"] in papers.STATES
    assert (ROOT / row["where"]).exists(), row["where"]
    assert ("note" in row) or row["state"] not in ("partly", "missing")
    assert (row["state"] != "made") or "command" in row
    if row["state"] == "drawn":
        assert re.search(r"^```\{drawn\}", (ROOT / row["where"]).read_text(), re.MULTILINE)


def test_commands_are_those_of_the_figures():
    from sapwood.studies.experiments.figures import FIGURES

    named = set()
    for key, row in ROWS:
        if "command" in row:
            name = row["command"].removeprefix("sapwood figure ")
            assert name in FIGURES, row
            assert name in OWN or name in papers.names_of(key, {"item": row["item"]}), row
            named.add(name)
    assert set(FIGURES) - OWN <= named


NUMBER = re.compile(r"(?<![\w.^])(?:\d[\d,]*\.?\d*|\.\d+)(?:e-?\d+)?")
# the paper's number is a bound, and ours may be well within it
BOUND = ("below", "significantly smaller")


def numbers_in(cell):
    """Numbers of a cell, in its order."""
    return [float(word.replace(",", "")) for word in NUMBER.findall(cell)]


def compared_rows():
    """Rows of the tables of compared numbers, with the numbers of stored runs."""
    return list(
        papers.compared(runs.with_numbers((ROOT / "docs/reference/paper_numbers.md").read_text()))
    )


def pairs_of(row):
    """The published cells of a row, each with ours."""
    if "paper" in row:
        return [
            (row["paper"], row.get("here") or row.get("here, own meshes") or row["Drake's run"])
        ]
    names = [name.removesuffix(", paper") for name in row if name.endswith(", paper")]
    return [(row[f"{name}, paper"], row[f"{name}, here"]) for name in names]


def test_differences_of_more_than_a_tenth_have_a_reason():
    rows = compared_rows()
    assert len(rows) > 160
    for row in rows:
        assert row["N"], row
        assert pairs_of(row), row
        for paper, ours in pairs_of(row):
            assert ours, row
            theirs, found = numbers_in(paper), numbers_in(ours)
            if row["reason"] or paper.startswith(BOUND):
                continue
            assert ("fell" in paper) == ("fell" in ours) or not paper, row
            if theirs and found:
                assert any(number == pytest.approx(theirs[0], rel=0.1) for number in found), row


def test_compared_numbers_belong_to_an_item():
    """A number of the text of a paper stands at a figure, a table or an equation that has a row."""
    known = OWN.union(*(papers.names_of(key, row) for key, row in ROWS))
    named = set().union(*(names for names, _ in papers.counts_of_numbers()))
    assert named <= known


PLACES = {
    place
    for page in [*ROOT.glob("docs/**/*.md"), ROOT / "docs/reference/papers.toml"]
    if page.parent.name != "api"
    for place in runs.ROLE.findall(page.read_text())
}


@pytest.mark.parametrize("place", sorted(PLACES))
def test_numbers_are_those_of_stored_runs(place):
    assert re.fullmatch(r"-?\d[\d,]*(\.\d+)?(e-?\d+)?( %)?", runs.number_of(place))


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("6; midpoint, 1 contact point; 9", "no number 9"),
        ("6; midpoint, 7 contact points; 1", "no line that begins with 'midpoint, 7"),
        ("6; midpoint, 1 con; 1", "no line"),
        ("12; late settings > mujoco; 1", "no line that begins with 'mujoco'"),
        ("none; midpoint; 1", "no run 'none'"),
    ],
)
def test_a_number_that_is_not_there_is_an_error(place, error):
    with pytest.raises(runs.ExtensionError, match=error):
        runs.number_of(place)


def test_a_row_may_be_named_by_the_title_above_it():
    assert runs.number_of("12; time over sapwood, e_m = 1e-05 > qoco; 1") == "19.2"


@pytest.mark.parametrize(
    ("word", "written"),
    [("1.4e+02", "140"), ("2.8e-01", "0.28"), ("9.9e-22", "9.9e-22"), ("3%", "3 %")],
)
def test_numbers_are_written_with_few_powers_of_ten(word, written):
    assert runs.written(word) == written


def test_the_stored_operations_are_counted_again(tmp_path):
    """The one stored run that takes no time."""
    from sapwood.studies.experiments.figures import make_figure

    made = make_figure("id-table-2", tmp_path, quick=True, workers=1, progress=False)
    for name in ("id-table-1", "id-table-2"):
        assert made.report == (ROOT / f"docs/_static/full/{name}.txt").read_text().rstrip("\n")
