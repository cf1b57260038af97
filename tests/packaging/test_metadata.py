"""Metadata for a package index: README without links to files that do not lie beside it."""

import re
import subprocess
import sys
import tarfile
from email import message_from_string
from pathlib import Path

import pytest

from loading import load

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RELATIVE = re.compile(r"\]\((?!https?:)([^)]*)\)")
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def long_description():
    """The function that the build calls."""
    return load("packaging/long_description.py").long_description


def test_links_become_names_of_files(long_description):
    text = "![A box](box.png)\n[How](docs/how.md), [LICENSE](LICENSE), [paper](https://x.org)."
    assert long_description(text) == "\nHow (`docs/how.md`), `LICENSE`, [paper](https://x.org)."


def test_links_lead_to_an_address_where_there_is_one(long_description):
    text = "![A box](box.png) [How](docs/how.md)"
    expected = "![A box](https://x.org/raw/box.png) [How](https://x.org/docs/how.md)"
    assert long_description(text, "https://x.org/", "https://x.org/raw/") == expected


def test_programs_are_left_alone(long_description):
    assert len(BLOCK.findall(README)) >= 5
    assert BLOCK.findall(long_description(README)) == BLOCK.findall(README)
    assert long_description("```python\na[0](b)\n```\n") == "```python\na[0](b)\n```\n"


def test_numbers_of_the_front_page_are_those_of_stored_runs():
    pytest.importorskip("sphinx")
    runs = load("docs/_ext/runs.py")
    ours, theirs, small, small_theirs = (
        float(runs.number_of(f"engines; {scene} {engine}; 1")) / 1e3
        for scene in ("clutter-200", "clutter-40")
        for engine in ("sapwood", "mujoco")
    )
    text = " ".join(README.split())
    assert f"takes {ours:.3g} ms, {theirs:.3g} ms with MuJoCo" in text
    assert "40 bodies take as long as there" in text
    assert abs(small / small_theirs - 1.0) < 0.1
    ratio = runs.number_of("models; all zero; 2")
    assert f"is {ratio} times as fast as `mj_step` in the median" in text


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Metadata of the wheel and of the source archive, by the build's own functions."""
    pytest.importorskip("scikit_build_core")
    folder = tmp_path_factory.mktemp("metadata")
    code = (
        "import sys, scikit_build_core.build as build\n"
        "build.prepare_metadata_for_build_wheel(sys.argv[1])\nbuild.build_sdist(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", code, folder], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.dist-info/METADATA")
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        name = archive.name.removesuffix(".tar.gz")
        source = files.extractfile(f"{name}/PKG-INFO").read().decode()
    return {"wheel": wheel.read_text(encoding="utf-8"), "sdist": source}


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_a_package_index_finds_no_dead_link(built, kind):
    assert RELATIVE.search(README)
    metadata = message_from_string(built[kind])
    shown = metadata.get_payload()
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert shown.startswith("# sapwood")
    assert RELATIVE.findall(shown) == []
    assert BLOCK.findall(shown) == BLOCK.findall(README)
