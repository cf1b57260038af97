"""Patches in MuJoCo's scenes: their triangles lie where the faces are, coloured by pressure."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from sapwood.mujoco import Stepper, add_patches

XML = """
<mujoco>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body pos="0 0 .09"><freejoint/><geom name="ball" type="sphere" size=".1"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def patches():
    model = mujoco.MjModel.from_xml_string(XML)
    field = sapwood.PressureField(modulus=1e6, resolution=0.05)
    stepper = Stepper(model, fields={"ball": field})
    stepper.step(mujoco.MjData(model))
    return stepper.patches


def scene(room):
    return mujoco.MjvScene(mujoco.MjModel.from_xml_string(XML), room)


def corners_of(geom):
    """Where the triangle (0, 0, 0), (1, 0, 0), (0, 1, 0) goes."""
    u, w, _ = np.asarray(geom.mat).T
    return np.array([geom.pos, geom.pos + u, geom.pos + w])


def area_of(corners):
    return np.linalg.norm(np.cross(corners[1] - corners[0], corners[2] - corners[0])) / 2


def test_triangles_cover_the_faces_from_both_sides(patches):
    (patch,) = patches
    drawn = scene(1000)
    n = add_patches(drawn, patches)
    geoms = drawn.geoms[:n]
    assert drawn.ngeom == n
    assert all(geom.type == mujoco.mjtGeom.mjGEOM_TRIANGLE for geom in geoms)
    areas = [area_of(corners_of(geom)) for geom in geoms]
    assert sum(areas) == pytest.approx(2 * patch.area, rel=1e-4)
    # a little off the plane, as many on either side
    heights = np.array([corners_of(geom)[:, 2] for geom in geoms])
    size = np.sqrt(patch.area)
    np.testing.assert_allclose(np.abs(heights), 0.01 * size, rtol=1e-3)
    assert (heights > 0).sum() == (heights < 0).sum()


def test_colours_rise_with_the_pressure(patches):
    drawn = scene(1000)
    n = add_patches(drawn, patches, opacity=0.5)
    colours = np.array([geom.rgba for geom in drawn.geoms[:n]])
    middle = [np.linalg.norm(corners_of(geom).mean(axis=0)[:2]) for geom in drawn.geoms[:n]]
    # viridis brightens in green; a ball presses most in the middle
    assert colours[np.argmin(middle), 1] > colours[np.argmax(middle), 1]
    np.testing.assert_array_equal(colours[:, 3], 0.5)
    dark = scene(1000)
    add_patches(dark, patches, highest=1e9)
    assert np.array([geom.rgba[1] for geom in dark.geoms[:n]]).max() < 0.1


def test_a_full_scene_takes_no_more(patches):
    drawn = scene(5)
    assert add_patches(drawn, patches) == 5
    assert drawn.ngeom == 5
    assert add_patches(drawn, patches) == 0
    assert add_patches(scene(5), ()) == 0
