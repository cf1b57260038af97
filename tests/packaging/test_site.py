"""The site: every figure and every stored picture stands in the gallery once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from sapwood.studies.experiments.figures import FIGURES

ROOT = Path(__file__).resolve().parents[2]
CARDS = re.findall(
    r"^```\{gallery\}\n(.*?)^```$", (ROOT / "docs/reference/gallery.md").read_text(), re.M | re.S
)


def shown(*, stored):
    """Lines of the cards of one kind."""
    blocks = [block for block in CARDS if block.startswith(":stored:") == stored]
    return [line for block in blocks for line in block.splitlines() if line != ":stored:"]


def test_every_figure_stands_in_the_gallery_once():
    assert Counter(line.split()[0] for line in shown(stored=False)) == Counter(list(FIGURES))


def test_every_picture_of_the_benchmarks_stands_in_the_gallery_once():
    pictures = [path.stem for path in (ROOT / "benchmarks/results").glob("*.png")]
    assert Counter(line.split(" | ")[0] for line in shown(stored=True)) == Counter(pictures)
