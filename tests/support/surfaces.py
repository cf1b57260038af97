"""Volumes and areas of triangle meshes."""

from __future__ import annotations

import numpy as np


def volume(vertices, faces):
    """Volume within a closed surface whose faces are counter-clockwise from outside."""
    a, b, c = np.moveaxis(np.asarray(vertices, dtype=float)[faces], 1, 0)
    return float(np.sum(np.cross(a, b) * c) / 6.0)


def area(vertices, faces):
    """Sum of the areas of the faces."""
    a, b, c = np.moveaxis(np.asarray(vertices, dtype=float)[faces], 1, 0)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2.0)
