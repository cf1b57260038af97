"""Notebooks run from beginning to end, and are kept without their outputs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# beside what all need
NEEDS = {"friction_in_torch": "torch"}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_clean(path):
    """No outputs, no counts, no metadata of a machine; one way to write it."""
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert text == json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    assert notebook["metadata"] == {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    assert notebook["cells"][0]["cell_type"] == "markdown"
    assert "".join(notebook["cells"][0]["source"]).startswith("# ")
    ids = [cell["id"] for cell in notebook["cells"]]
    assert ids == [f"cell-{i}" for i in range(len(ids))]
    for cell in notebook["cells"]:
        assert cell["metadata"] == {}
        assert "".join(cell["source"]).strip()
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


# calls that take steps or solve, and those that draw by hand
STEPS = re.compile(r"\b(step|step2|run|solve|simulate|walk|loss|search)\(")
DRAWS = re.compile(r"\bplt\.")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_builds_steps_and_plots_in_three_cells(path):
    """A cell that builds the scene, a later one that steps it, and one that plots."""
    cells = [
        "".join(cell["source"])
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    steps = [i for i, code in enumerate(cells) if STEPS.search(code) and "make_figure" not in code]
    draws = [i for i, code in enumerate(cells) if DRAWS.search(code)]
    assert any(0 < step < draw for step in steps for draw in draws)


# warnings of Jupyter itself are ignored
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, quick_results):
    """In its quick form, as it is kept; it shows at least one picture.

    Points of figures that other tests have computed are found in ``results``.
    """
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for package in ("ipykernel", "matplotlib", "mujoco", *NEEDS.get(path.stem, "").split()):
        pytest.importorskip(package)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    folder = {"metadata": {"path": quick_results.parent}}
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources=folder
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    # a figure is seen, and not told as text
    told = [data for o in outputs if "image/png" not in (data := o.get("data", {}))]
    assert not [data for data in told if re.match("<?Figure", data.get("text/plain", ""))]
    errors = [output["text"] for output in outputs if output.get("name") == "stderr"]
    assert not errors
