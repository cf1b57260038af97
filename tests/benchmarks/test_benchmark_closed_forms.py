"""The closed forms in every engine: the table, and the page that is made from what is stored."""

from __future__ import annotations

import pytest

pytest.importorskip("mujoco")

from benchmarks import command, pages, rows
from benchmarks.arguments import RESULTS
from benchmarks.closed_form_questions import PAGE, table
from sapwood.studies.closed_forms import FORMS, HOLDS, Row


def test_the_page_is_that_of_the_stored_results():
    """All scenes at once, and sapwood holds all bounds."""
    measured = rows.read(RESULTS / "closed_forms.csv", Row)
    page = PAGE.read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- closed forms: begin -->")
    assert rest.partition("<!-- closed forms: end -->")[0].strip() == pages.markdown(
        table(measured)
    )
    assert {row.scene for row in measured} == set(FORMS)
    assert all(row.status == HOLDS for row in measured if row.engine == "sapwood")


def test_the_question_writes_its_files(tmp_path, monkeypatch):
    quick = {name: FORMS[name] for name in ("braking", "tumbling box")}
    monkeypatch.setattr("sapwood.studies.closed_forms.FORMS", quick)
    assert command.main(["closed-forms", "--engines", "sapwood", "--out", str(tmp_path)]) == 0
    assert len(rows.read(tmp_path / "closed_forms.csv", Row)) == 2
    assert "scenes that hold" in (tmp_path / "closed_forms.txt").read_text(encoding="utf-8")
    assert command.main(["closed-forms", "--engines", "none", "--out", str(tmp_path)]) == 2
