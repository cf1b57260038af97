"""A model on viser's stage: geoms below the frames of their bodies, deformable bodies, tendons."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import viser
from numpy.typing import NDArray

from sapwood.mujoco.results.drawing import SHOWN_GROUPS, needs_collision_shapes
from sapwood.viewer.arrows import ContactArrows
from sapwood.viewer.frames import Frame
from sapwood.viewer.looks import Look, geom_look, look
from sapwood.viewer.pressures import Pressures
from sapwood.viewer.surfaces import Surface, geom_surface

_Float = NDArray[np.floating[Any]]

# opacity of bodies that one looks into, of their own
_SEEN_THROUGH = 0.35

# planes without an end reach this many times the size of the scene
_FAR = 8.0


class Scene:
    """The model and how it touches, drawn frame by frame.

    Parameters
    ----------
    server : viser.ViserServer
        The server; other objects of its scene stay.
    model : mujoco.MjModel
        The model, as it is now.

    Attributes
    ----------
    arrows : ContactArrows
        Contacts and their forces.
    pressures : Pressures
        Contact surfaces of pressure fields.
    stresses : Pressures
        Boundary faces of soft bodies, coloured by von Mises' stress.
    collision_shapes : bool
        Whether geoms of groups 3 and above are shown.
    """

    def __init__(self, server: viser.ViserServer, model: mujoco.MjModel) -> None:
        self._server, self._model = server, model
        self._extent = float(model.stat.extent)
        self._shown: Frame | None = None
        self._groups: dict[int, list[Any]] = {}
        self._bodies = [self._add_body(body) for body in range(model.nbody)]
        self._geoms = {
            geom: handle
            for geom in range(model.ngeom)
            if (handle := self._add_geom(geom)) is not None
        }
        self._flexes = _Flexes(server.scene, model)
        self._tendons = _Tendons(server.scene, model)
        self.arrows = ContactArrows(server.scene, model)
        self.pressures = Pressures(server.scene, "/contacts/pressures")
        self.stresses = Pressures(server.scene, "/model/soft bodies")
        self.set_collision_shapes(needs_collision_shapes(model))
        self._set_stage()

    # ---- what stays -----------------------------------------------------------------------------

    def _add_body(self, body: int) -> Any:
        return self._server.scene.add_frame(self._path(body), show_axes=False)

    def _path(self, body: int) -> str:
        name = self._model.body(body).name.replace("/", " ") or "body"
        return f"/model/{body} {name}"

    def _add_geom(self, geom: int) -> Any:
        model, scene = self._model, self._server.scene
        seen = geom_look(model, geom)
        if seen.rgba[3] <= 0.0:
            return None
        surface = geom_surface(model, geom, _FAR * self._extent)
        if surface is None:
            return None
        name = f"{self._path(int(model.geom_bodyid[geom]))}/geom {geom}"
        place = {"position": model.geom_pos[geom], "wxyz": model.geom_quat[geom]}
        handle: Any
        if seen.texture is not None and surface.uv is not None:
            handle = scene.add_mesh_trimesh(name, _textured(surface, seen), **place)
        else:
            plane = model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE
            handle = scene.add_mesh_simple(
                name, surface.vertices, surface.faces,
                cast_shadow=not plane and seen.rgba[3] >= 1.0, **_paint(seen), **place,
            )  # fmt: skip
            if plane:
                self._add_lines(name, surface)
        group = int(model.geom_group[geom])
        self._groups.setdefault(group, []).append(handle)
        return handle

    def _add_lines(self, name: str, surface: Surface) -> None:
        """Lines on a plane of one colour, to see depth by."""
        size = 2.0 * np.abs(surface.vertices[0, :2])
        # 1, 2 or 5 times a power of ten, some ten of them across the scene
        rough = self._extent / 5.0
        power = 10.0 ** math.floor(math.log10(rough))
        cell = max(step * power for step in (1.0, 2.0, 5.0) if step * power <= rough)
        self._server.scene.add_grid(
            f"{name}/lines", *size, cell_size=cell, section_size=5.0 * cell,
            cell_color=(148, 156, 166), section_color=(118, 126, 138), shadow_opacity=0.0,
            fade_distance=_FAR * self._extent, position=(0.0, 0.0, 2e-4 * self._extent),
        )  # fmt: skip

    def _set_stage(self) -> None:
        """Light, and the view that MuJoCo begins with."""
        scene, camera = self._server.scene, self._server.initial_camera
        scene.set_up_direction("+z")
        # viser's own lights are so bright that colours are lost
        scene.configure_default_lights(enabled=False)
        scene.configure_environment_map(None)
        scene.add_light_hemisphere(
            "/light/sky", sky_color=(255, 255, 255), ground_color=(175, 168, 160), intensity=2.2
        )
        lamp = self._model.stat.center + self._extent * np.array([0.9, -1.3, 2.6])
        scene.add_light_point(
            "/light/lamp", position=tuple(lamp), intensity=2.3, decay=0.0, cast_shadow=True
        )
        model, visual = self._model, self._model.vis.global_
        azimuth, elevation = math.radians(visual.azimuth), math.radians(visual.elevation)
        forward = np.array(
            [
                math.cos(elevation) * math.cos(azimuth),
                math.cos(elevation) * math.sin(azimuth),
                math.sin(elevation),
            ]
        )
        camera.look_at = model.stat.center
        camera.position = model.stat.center - 1.5 * self._extent * forward
        camera.up = (0.0, 0.0, 1.0)
        camera.fov = math.radians(visual.fovy)
        camera.near, camera.far = 0.005 * self._extent, 100.0 * self._extent

    def set_collision_shapes(self, shown: bool) -> None:
        """Show or hide the geoms of groups 3 and above.

        Parameters
        ----------
        shown : bool
            Whether they are shown.
        """
        self.collision_shapes = shown
        for group, handles in self._groups.items():
            for handle in handles:
                handle.visible = shown or group < SHOWN_GROUPS

    def set_transparent(self, transparent: bool) -> None:
        """Look into the bodies that move, where forces act; textured ones stay as they are.

        Parameters
        ----------
        transparent : bool
            Whether to, or to show all as they are.
        """
        for geom, handle in self._geoms.items():
            moves = self._model.body_weldid[self._model.geom_bodyid[geom]] > 0
            if moves and isinstance(handle, viser.MeshHandle):
                opacity = float(geom_look(self._model, geom).rgba[3])
                if transparent:
                    handle.opacity = _SEEN_THROUGH * opacity
                else:
                    handle.opacity = opacity if opacity < 1.0 else None

    # ---- what moves -----------------------------------------------------------------------------

    def on_drag(self, body_dragged: Callable[[int, Any], Any]) -> None:
        """Tell of bodies that are dragged by the mouse with Ctrl held.

        Parameters
        ----------
        body_dragged : coroutine function
            Called with the number of the body and viser's event.
        """
        for geom, handle in self._geoms.items():
            body = int(self._model.geom_bodyid[geom])
            if self._model.body_weldid[body] > 0:

                async def dragged(event: Any, body: int = body) -> None:
                    body_dragged(body, event)

                handle.on_drag("left", modifier="cmd/ctrl")(dragged)

    def draw(self, frame: Frame) -> None:
        """Show a frame; only changes are sent.

        Parameters
        ----------
        frame : Frame
            The frame to show.
        """
        before = self._shown
        with self._server.atomic():
            for body, handle in enumerate(self._bodies):
                position, wxyz = frame.positions[body], frame.quaternions[body]
                if before is None or np.any(position != before.positions[body]):
                    handle.position = position
                if before is None or np.any(wxyz != before.quaternions[body]):
                    handle.wxyz = wxyz
            self._flexes.draw(frame)
            self._tendons.draw(frame)
            self.arrows.draw(frame)
            self.pressures.draw(*frame.patches)
            self.stresses.draw(*frame.soft_faces)
        self._shown = frame

    def redraw(self) -> None:
        """Show the last frame again, as arrows and surfaces are set now."""
        if self._shown is not None:
            self.draw(self._shown)


def _paint(seen: Look) -> dict[str, Any]:
    """Colour and opacity as viser takes them."""
    opacity = float(seen.rgba[3])
    return {
        "color": tuple(np.round(255.0 * np.clip(seen.rgba[:3], 0.0, 1.0)).astype(int).tolist()),
        "opacity": opacity if opacity < 1.0 else None,
        "side": "double",
    }


def _textured(surface: Surface, seen: Look) -> Any:
    """A mesh with a picture on it."""
    import trimesh
    from PIL import Image

    assert surface.uv is not None
    assert seen.texture is not None
    size = np.ptp(surface.vertices[:, :2], axis=0) if seen.per_metre else np.ones(2)
    material = trimesh.visual.material.PBRMaterial(
        baseColorTexture=Image.fromarray(seen.texture),
        baseColorFactor=np.round(255.0 * seen.rgba).astype(np.uint8),
        alphaMode="OPAQUE" if seen.rgba[3] >= 1.0 else "BLEND",
        metallicFactor=0.0,
        roughnessFactor=0.8,
        doubleSided=True,
    )
    visual = trimesh.visual.TextureVisuals(uv=surface.uv * seen.repeat * size, material=material)
    return trimesh.Trimesh(surface.vertices, surface.faces, visual=visual, process=False)


class _Flexes:
    """Deformable bodies: the surfaces of 2D and 3D ones, the lines of cables."""

    def __init__(self, scene: viser.SceneApi, model: mujoco.MjModel) -> None:
        self._surfaces: list[tuple[slice, Any]] = []
        self._cables: list[tuple[NDArray[np.int32], Any]] = []
        self._last: _Float | None = None
        for flex in range(model.nflex):
            start = int(model.flex_vertadr[flex])
            points = slice(start, start + int(model.flex_vertnum[flex]))
            paint = _paint(look(model, int(model.flex_matid[flex]), model.flex_rgba[flex]))
            name = f"/model/flex {flex}"
            corners = int(model.flex_dim[flex]) + 1
            first = int(model.flex_elemdataadr[flex])
            if corners == 2:
                edges = model.flex_elem[first : first + 2 * int(model.flex_elemnum[flex])]
                radius = float(model.flex_radius[flex])
                segments = np.zeros((len(edges) // 2, 2, 3))
                handle = scene.add_line_segments(
                    name, segments, paint["color"], thickness=2.0 * max(radius, 1e-4)
                )
                self._cables.append((edges.reshape(-1, 2) + start, handle))
                continue
            if corners == 3:
                faces = model.flex_elem[first : first + 3 * int(model.flex_elemnum[flex])]
            else:
                first = int(model.flex_shelldataadr[flex])
                faces = model.flex_shell[first : first + 3 * int(model.flex_shellnum[flex])]
            vertices = np.zeros((int(model.flex_vertnum[flex]), 3))
            mesh = scene.add_mesh_simple(name, vertices, faces.reshape(-1, 3), **paint)
            self._surfaces.append((points, mesh))

    def draw(self, frame: Frame) -> None:
        if self._last is not None and np.array_equal(self._last, frame.flex_vertices):
            return
        for points, mesh in self._surfaces:
            mesh.vertices = frame.flex_vertices[points]
        for edges, lines in self._cables:
            lines.points = frame.flex_vertices[edges]
        self._last = frame.flex_vertices


class _Tendons:
    """Paths of tendons, as lines."""

    def __init__(self, scene: viser.SceneApi, model: mujoco.MjModel) -> None:
        self._lines = scene.add_line_segments(
            "/model/tendons", np.zeros((1, 2, 3)), (178, 58, 60),
            thickness=4e-3 * float(model.stat.extent), visible=False,
        )  # fmt: skip
        self._last: _Float | None = None

    def draw(self, frame: Frame) -> None:
        if self._last is not None and np.array_equal(self._last, frame.tendons):
            return
        if len(frame.tendons):
            self._lines.points = frame.tendons
        self._lines.visible = len(frame.tendons) > 0
        self._last = frame.tendons
