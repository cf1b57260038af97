"""Contact surfaces of Drake v1.51, on Drake's meshes.

Bounds are twice the worst differences found. Where surfaces graze they are Drake's own round-off:
against extended precision ours is less (test_reference_surfaces).
"""

from __future__ import annotations

import numpy as np
import pytest

from pressure_fields import all_cases, surface_of

# tolerances over the largest area, pressure and so on, where surfaces graze each other
GRAZING = {"sphere_box_graze": 1e-9, "sphere_sphere_graze": 1e-9, "sphere_sphere_graze_1e-9": 4e-7}


def matched(case, surface):
    """Numbers of the faces that are of the same cells, in Drake's surface and in ours.

    Of tetrahedra whose pressure is 0 everywhere Drake has faces, and no contact, and we have none.
    """
    ours = {key: i for i, key in enumerate(zip(surface.cells_a, surface.cells_b, strict=True))}
    assert len(ours) == len(surface)
    theirs = list(zip(case["cell_A"], case["cell_B"], strict=True))
    missing = [i for i, key in enumerate(theirs) if key not in ours]
    assert not np.any(case["keep"][missing])
    assert np.all(np.abs(case["p0"][missing]) <= 1e-9)
    found = [i for i, key in enumerate(theirs) if key in ours]
    assert len(found) == len(surface)
    return np.array(found), np.array([ours[theirs[i]] for i in found])


def bound_of(path):
    return GRAZING.get(path.stem, 6e-11)


def steepness(g):
    """Largest finite one; what is rigid has none."""
    return np.max(np.abs(g[np.isfinite(g)]), initial=0.0)


@pytest.mark.parametrize("path", all_cases())
def test_faces(path):
    case = np.load(path)
    surface = surface_of(case)
    theirs, ours = matched(case, surface)
    bound = bound_of(path)
    length = np.sqrt(case["area"].max())
    for name, found, scale in (
        ("area", surface.areas, case["area"].max()),
        ("centroid", surface.centroids, length),
        ("p0", surface.pressures, np.abs(case["p0"]).max()),
        ("normal", surface.normals, 0.1),
        ("g_A", surface.g_a, steepness(case["g_A"])),
        ("g_B", surface.g_b, steepness(case["g_B"])),
    ):
        finite = np.isfinite(case[name][theirs])
        assert np.array_equal(np.isfinite(found[ours]), finite), name
        error = np.abs(found[ours][finite] - case[name][theirs][finite])
        assert np.all(error <= bound * scale), name
    starts = case["poly_off"]
    for i, j in zip(theirs, ours, strict=True):
        polygon = case["poly_v"][starts[i] : starts[i + 1]]
        # either may have one corner more, on an edge that round-off has cut in two
        for extreme in (np.min, np.max):
            off = extreme(polygon, axis=0) - extreme(surface.polygons[j], axis=0)
            assert np.all(np.abs(off) <= bound * length + 1e-15)


@pytest.mark.parametrize("path", all_cases())
def test_contacts(path):
    case = np.load(path)
    surface = surface_of(case)
    theirs, ours = matched(case, surface)
    kept = case["keep"][theirs]
    assert np.array_equal(surface.kept[ours], kept)
    k, phi0 = case["k"][theirs][kept], case["phi0"][theirs][kept]
    if kept.any():
        error = np.abs(surface.k[ours][kept] - k)
        assert np.all(error <= bound_of(path) * k.max())
        # k = 1e-8 N/m and phi0 = -500 m make a load as accurate as any
        load = -k * phi0
        error = np.abs(-surface.k * surface.phi0 - surface.loads)
        assert np.all(error[surface.kept] <= 1e-14 * np.abs(load).max())
        error = np.abs(surface.loads[ours][kept] - load)
        assert np.all(error <= bound_of(path) * np.abs(load).max())
        error = np.abs(surface.phi0[ours][kept] - phi0)
        assert np.all(error <= max(3e-6, bound_of(path)) * np.abs(phi0))
    assert np.all(surface.phi0[~surface.kept] == 0)


@pytest.mark.parametrize("path", all_cases())
def test_force_and_torque(path):
    case = np.load(path)
    surface = surface_of(case)
    force = np.linalg.norm(case["force_A"])
    arm = np.abs(case["centroid"]).max()
    bound = GRAZING.get(path.stem, 1e-12)
    assert np.linalg.norm(surface.force - case["force_A"]) <= bound * force
    assert np.linalg.norm(surface.torque - case["torque_A"]) <= bound * force * arm
    assert np.linalg.norm(surface.kept_force - case["force_A_kept"]) <= bound * force


@pytest.mark.parametrize("path", all_cases())
def test_triangles(path):
    case = np.load(path)
    surface, fans = surface_of(case), surface_of(case, faces="triangles")
    assert len(fans) == len(surface.vertices)
    assert np.all(np.diff(fans.face_starts) == 3)
    bound = max(1e-12, bound_of(path))
    for name in ("areas", "loads"):
        sums = np.add.reduceat(getattr(fans, name), surface.face_starts[:-1])
        expected = getattr(surface, name)
        assert np.all(np.abs(sums - expected) <= bound * np.abs(expected).max())
    if "tri_area" in case:
        for name, found in (("area", fans.areas), ("k", fans.k)):
            expected = np.nansum(case[f"tri_{name}"])
            assert abs(found.sum() - expected) <= 1e-10 * expected
        assert np.linalg.norm(fans.torque - case["tri_torque_A"]) <= 1e-9 * np.linalg.norm(
            case["tri_torque_A"]
        )


def test_special_cases():
    """Surfaces may be without contacts, or have contacts that p < 0 holds apart."""
    paths = [values.values[0] for values in all_cases()]
    if None in paths:
        pytest.skip("SAPWOOD_DATA names no folder with hydroelastic/*.npz")
    cases = {path.stem: path for path in paths}
    assert len(cases) == 34
    assert not surface_of(np.load(cases["sphere_sphere_graze_1e-9"])).kept.any()
    margin = surface_of(np.load(cases["margin_sphere_box"]))
    assert np.sum(margin.phi0 > 0) == 14
    assert np.all(margin.pressures[margin.phi0 > 0] < 0)
    tilted = surface_of(np.load(cases["box_plane_tilt1e-7"]))
    assert tilted.phi0.min() < -400
    assert tilted.loads.max() > 0
