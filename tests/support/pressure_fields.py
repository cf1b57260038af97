"""Surfaces that Drake computed, and random shapes."""

import math
import os
from pathlib import Path

import numpy as np
import pytest

from sapwood.geometry import FieldShape, PressureField, contact_surface

DATA = Path(__file__).resolve().parents[1] / "data" / "pressure_fields"


def small_cases() -> list[Path]:
    """Surfaces kept beside the tests."""
    return sorted(DATA.glob("*.npz"))


def all_cases() -> list:
    """Parameters: the small surfaces, then those in the folder named by SAPWOOD_DATA."""
    parameters = [pytest.param(path, id=path.stem) for path in small_cases()]
    folder = os.environ.get("SAPWOOD_DATA")
    if folder is None:
        skip = pytest.mark.skip(reason="SAPWOOD_DATA names no folder with hydroelastic/*.npz")
        return [*parameters, pytest.param(None, id="whole-set", marks=skip)]
    found = sorted((Path(folder) / "hydroelastic").glob("*.npz"))
    if not found:
        raise FileNotFoundError(f"SAPWOOD_DATA={folder} holds no hydroelastic/*.npz")
    # whole SAP problems and a run are left out
    return parameters + [
        pytest.param(path, id=path.stem)
        for path in found
        if "slip_problem" not in path.stem and "state" not in path.stem
    ]


def shape_of(case, side: str) -> FieldShape:
    """Body A or B of a case, with the mesh that Drake made."""
    if str(case[f"{side}_kind"]) == "half_space":
        if case[f"{side}_rigid"]:
            return FieldShape.half_space()
        slope = float(case[f"{side}_modulus"] / case[f"{side}_slab"])
        return FieldShape.half_space(slope, float(case[f"{side}_margin"]))
    if case[f"{side}_rigid"]:
        return FieldShape.triangles(case[f"{side}_v"], case[f"{side}_tri"])
    return FieldShape.tetrahedra(case[f"{side}_v"], case[f"{side}_tet"], case[f"{side}_p"])


def surface_of(case, **options):
    """The results of a case."""
    return contact_surface(
        shape_of(case, "A"), case["X_WA"], shape_of(case, "B"), case["X_WB"], **options
    )


# ---- random ones ---------------------------------------------------------------------------------


def random_pose(rng, reach: float = 0.0) -> np.ndarray:
    """A rotation, and a translation of at most `reach` along each axis."""
    q = rng.normal(size=4)
    w, x, y, z = q / np.linalg.norm(q)
    X = np.eye(4)
    X[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    X[:3, 3] = rng.uniform(-reach, reach, 3)
    return X


def random_shape(rng, modulus: float | None = None) -> FieldShape:
    """A small mesh of a primitive, some 0.1 m large."""
    field = PressureField(
        10 ** rng.uniform(4, 7) if modulus is None else modulus,
        resolution=rng.uniform(0.04, 0.2),
        margin=0.0 if modulus == math.inf else float(rng.choice([0.0, 0.002])),
    )
    size = rng.uniform(0.03, 0.12, 3)
    return [
        lambda: field.sphere(size[0] / 2),
        lambda: field.ellipsoid(size / 2),
        lambda: field.box(size),
        lambda: field.box(size[[0, 0, 1]]),
        lambda: field.cylinder(size[0] / 2, size[1]),
        lambda: field.capsule(size[0] / 2, size[1]),
    ][rng.integers(6)]()
