"""Colours of figures: readers with a colour vision deficiency tell the families apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.colors import to_rgb

from sapwood.studies.plotting.style import COLOURS, PLACES

# linear RGB as it is seen: Machado, Oliveira and Fernandes (2009), severity 1
DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}
XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
)  # matrix of sRGB, D65


def lab(colour, deficiency):
    """CIE L*a*b* of a colour as a reader sees it."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(DEFICIENCIES[deficiency]) @ linear, 0.0, 1.0)
    ratios = XYZ @ seen / (XYZ @ np.ones(3))
    f = np.where(ratios > 216 / 24389, np.cbrt(ratios), (24389 / 27 * ratios + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("colours", [COLOURS, [colour for colour, _ in PLACES.values()]])
def test_colours_of_a_figure_differ_for_every_reader(colours, deficiency):
    for first, second in combinations(colours, 2):
        assert np.linalg.norm(lab(first, deficiency) - lab(second, deficiency)) > 15.0
