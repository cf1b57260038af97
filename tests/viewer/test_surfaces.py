"""Triangle meshes of geoms: closed, outward, as large as MuJoCo says."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("viser", reason="sapwood.viewer needs viser")

from sapwood.mujoco.results.drawing import needs_collision_shapes
from sapwood.viewer.arrows import upright
from sapwood.viewer.looks import geom_look
from sapwood.viewer.pressures import right_triangles
from sapwood.viewer.surfaces import geom_surface
from surfaces import area, volume

SOLIDS = {
    "sphere": "size='.3'",
    "ellipsoid": "size='.1 .2 .3'",
    "capsule": "size='.1 .2'",
    "cylinder": "size='.1 .2'",
    "box": "size='.1 .2 .3'",
}


def compiled(geom, assets=""):
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><asset>{assets}</asset><worldbody><body>{geom}</body></worldbody></mujoco>"
    )


@pytest.mark.parametrize("kind", SOLIDS)
def test_solids_have_their_volume(kind):
    model = compiled(f"<geom type='{kind}' {SOLIDS[kind]} density='1'/>")
    surface = geom_surface(model, 0, 1.0)
    exact = model.body_mass[1]
    found = volume(surface.vertices, surface.faces)
    # corners lie on the surface, so that the mesh is a little smaller
    assert 0.98 * exact < found < exact * (1 + 1e-12)
    assert surface.uv.shape == (len(surface.vertices), 2)


def test_a_mesh_keeps_its_volume_and_its_edges():
    vertices = "0 0 0  1 0 0  0 1 0  0 0 1"
    faces = "0 2 1  0 1 3  0 3 2  1 2 3"
    mesh = f"<mesh name='m' vertex='{vertices}' face='{faces}' smoothnormal='false'/>"
    model = compiled("<geom type='mesh' mesh='m'/>", mesh)
    surface = geom_surface(model, 0, 1.0)
    assert volume(surface.vertices, surface.faces) == pytest.approx(1 / 6, rel=1e-5)
    assert surface.uv is None


def test_a_mesh_has_the_picture_the_right_way_up():
    """The upper left of a picture is (0, 0) for MuJoCo and (0, 1) for the page."""
    mesh = (
        "<mesh name='m' vertex='0 0 0  1 0 0  0 1 0  0 0 1' face='0 2 1  0 1 3  0 3 2  1 2 3' "
        "texcoord='0 0  1 0  0 1  .5 .5'/>"
    )
    model = compiled("<geom type='mesh' mesh='m'/>", mesh)
    surface = geom_surface(model, 0, 1.0)
    stored = model.mesh_texcoord.reshape(-1, 2)[model.mesh_facetexcoord.reshape(-1)]
    np.testing.assert_allclose(surface.uv[surface.faces.reshape(-1), 0], stored[:, 0])
    np.testing.assert_allclose(surface.uv[surface.faces.reshape(-1), 1], 1.0 - stored[:, 1])


def test_a_plane_without_an_end_reaches_far():
    model = compiled("<geom type='sphere' size='.1'/>")
    model.geom_type[0] = mujoco.mjtGeom.mjGEOM_PLANE
    model.geom_size[0] = (0.0, 2.0, 0.1)
    surface = geom_surface(model, 0, 50.0)
    assert area(surface.vertices, surface.faces) == pytest.approx(100.0 * 4.0)
    a, b, c = surface.vertices[surface.faces[0]]
    assert np.cross(b - a, c - a)[2] > 0.0


def test_heights_are_where_the_ray_meets_them(rng):
    field = "<hfield name='h' nrow='7' ncol='5' size='1 2 .5 .1'/>"
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><asset>{field}</asset><worldbody>"
        "<geom type='hfield' hfield='h'/></worldbody></mujoco>"
    )
    model.hfield_data[:] = rng.uniform(size=35)
    surface = geom_surface(model, 0, 1.0)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for x, y, z in surface.vertices[rng.choice(35, 10)]:
        # rays along the rim may miss
        above = np.array([0.999 * x, 0.999 * y, 5.0])
        down = mujoco.mj_ray(
            model, data, above, np.array([0.0, 0.0, -1.0]), None, 1, -1, np.zeros(1, np.int32)
        )
        assert 5.0 - down == pytest.approx(z, abs=5e-3)


# ---- looks ---------------------------------------------------------------------------------------


def test_geoms_look_as_mujoco_shows_them():
    assets = (
        "<texture name='t' type='2d' builtin='flat' rgb1='1 0 0' width='4' height='4'/>"
        "<texture name='c' type='cube' builtin='flat' rgb1='0 1 0' rgb2='0 1 0' width='4'/>"
        "<material name='t' texture='t' texrepeat='2 3' texuniform='true'/>"
        "<material name='c' texture='c' rgba='.5 .5 .5 .25'/>"
        "<material name='plain' rgba='.1 .2 .3 1'/>"
    )
    geoms = "".join(
        f"<geom size='.1' {look}/>"
        for look in ("material='t'", "material='c'", "material='plain'", "rgba='.4 .3 .2 .1'")
    )
    model = compiled(geoms, assets)
    picture, cube, plain, own = (geom_look(model, i) for i in range(4))
    assert picture.texture.shape == (4, 4, 3)
    assert (picture.texture == (255, 0, 0)).all()
    assert picture.per_metre
    np.testing.assert_array_equal(picture.repeat, (2, 3))
    # a cube's mean, times the material's colour
    assert cube.texture is None
    np.testing.assert_allclose(cube.rgba, (0, 0.5, 0, 0.25), atol=1e-6)
    np.testing.assert_allclose(plain.rgba, (0.1, 0.2, 0.3, 1), atol=1e-6)
    np.testing.assert_allclose(own.rgba, (0.4, 0.3, 0.2, 0.1), atol=1e-6)


# ---- places of copies ----------------------------------------------------------------------------


def rotated(wxyz, vector):
    turned = np.zeros((len(wxyz), 3))
    for i, q in enumerate(wxyz):
        mujoco.mju_rotVecQuat(turned[i], vector[i], q)
    return turned


def test_arrows_point_along_their_forces(rng):
    directions = rng.normal(size=(50, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions[:3] = (0, 0, -1), (0, 0, 1), (1, 0, 0)
    up = np.tile([0.0, 0.0, 1.0], (50, 1))
    np.testing.assert_allclose(rotated(upright(directions), up), directions, atol=1e-9)


def test_right_triangles_cover_the_triangle(rng):
    """The same area, and the right angles, the long ends and the apex are where they belong."""
    corners = rng.normal(size=(40, 3, 3))
    position, wxyz, scale = right_triangles(corners)
    areas = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    ) / 2  # fmt: skip
    halves = (scale[:, 0] * scale[:, 1] / 2).reshape(2, 40)
    assert (halves >= 0).all()
    np.testing.assert_allclose(halves.sum(axis=0), areas, rtol=1e-9)
    ends = position + rotated(wxyz, np.eye(3)[[0] * 80] * scale)
    tips = position + rotated(wxyz, np.eye(3)[[1] * 80] * scale)
    for points in (ends, tips):
        gaps = np.linalg.norm(points[:, None] - np.tile(corners, (2, 1, 1)), axis=2).min(axis=1)
        np.testing.assert_allclose(gaps, 0.0, atol=1e-9)


@pytest.mark.parametrize(("visuals", "needed"), [(0, True), (1, True), (2, False), (3, False)])
def test_collision_shapes_are_drawn_where_little_else_is_seen(visuals, needed):
    bodies = "".join(
        f"<body><freejoint/><geom size='.1' group='{0 if i < visuals else 3}'/></body>"
        for i in range(3)
    )
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><geom type='plane' size='1 1 1'/>{bodies}</worldbody></mujoco>"
    )
    assert needs_collision_shapes(model) == needed
