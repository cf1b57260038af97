"""Pictures and videos of a model, drawn without a screen.

:func:`render_scene` draws one configuration into a PNG file, :func:`render_video` the motion of a
run into a video::

    result = stepper.run(data, 500, record=("qpos",))
    sapwood.rendering.render_video(model, result.time, result.qpos, "run.mp4")

MuJoCo draws off screen through EGL or OSMesa, native libraries that may be missing, and whose
drivers may crash. Each attempt therefore runs in a process of its own (``python -m
sapwood.rendering``): whatever happens there, the caller gets a picture or a
:class:`RenderingError` with the reason.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.base.files import write_file

if TYPE_CHECKING:
    import mujoco

__all__ = ["RenderingError", "render_scene", "render_video"]

_HINT = (
    "on Debian, install libegl1 libopengl0 libgl1-mesa-dri (EGL), or libosmesa6 (OSMesa, software)"
)


_BACKDROP = np.array([0.93, 0.95, 0.97, 1.0], dtype=np.float32)


class RenderingError(RuntimeError):
    """No backend could draw the scene; the text says why and what to install."""


def render_scene(
    model: mujoco.MjModel,
    qpos: ArrayLike,
    path: str | PathLike[str],
    *,
    width: int = 960,
    height: int = 720,
    timeout: float = 120.0,
) -> str:
    """Draw a model at a configuration into a PNG file.

    The view is the model's first camera, or MuJoCo's default free camera where it has none. The
    backend is the one that the environment variable ``MUJOCO_GL`` names, else EGL, else OSMesa.

    Parameters
    ----------
    model
        What to draw.
    qpos
        Configuration, shape (nq,).
    path
        PNG file to write.
    width, height
        Size in pixels.
    timeout
        Time that one backend may take, s.

    Returns
    -------
    str
        The backend that drew the picture.

    Raises
    ------
    RenderingError
        No backend works on this machine.
    OSError
        The file cannot be written.
    """
    return _draw_aside(model, qpos, path, width, height, timeout)


def render_video(
    model: mujoco.MjModel,
    times: ArrayLike,
    qpos: ArrayLike,
    path: str | PathLike[str],
    *,
    width: int = 960,
    height: int = 720,
    rate: float = 30.0,
    timeout: float = 1800.0,
) -> str:
    """Write the motion of a model as a video, in real time.

    Parameters
    ----------
    model
        What to draw; the view is that of :func:`render_scene`.
    times
        Increasing times of the configurations, s, shape (n,).
    qpos
        Configurations, shape (n, nq).
    path
        File to write; its suffix sets the format: .mp4, or .gif.
    width, height
        Size in pixels, multiples of 16 for .mp4.
    rate
        Pictures per second.
    timeout
        Time that one backend may take, s.

    Returns
    -------
    str
        The backend that drew the pictures.

    Raises
    ------
    RenderingError
        No backend works on this machine, or imageio and ffmpeg are missing.
    OSError
        The file cannot be written.
    """
    seen = np.asarray(times, dtype=np.float64)
    when = np.arange(seen[0], seen[-1] + 0.5 / rate, 1.0 / rate)
    # the last configuration that was there by then; times of steps are sums
    last = np.searchsorted(seen, when + 1e-9, side="right") - 1
    frames = np.asarray(qpos, dtype=np.float64)[last]
    return _draw_aside(model, frames, path, width, height, timeout, rate)


def _draw_aside(
    model: mujoco.MjModel,
    qpos: ArrayLike,
    path: str | PathLike[str],
    width: int,
    height: int,
    timeout: float,
    rate: float = 0.0,
) -> str:
    """Draw one configuration or many in a process of its own; return the backend that did."""
    import mujoco

    chosen = os.environ.get("MUJOCO_GL", "").lower()
    backends = (chosen,) if chosen else ("egl", "osmesa")
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        model_file, qpos_file = Path(folder, "model.mjb"), Path(folder, "qpos.npy")
        mujoco.mj_saveModel(model, str(model_file))
        np.save(qpos_file, np.asarray(qpos, dtype=np.float64))
        picture = Path(folder, f"picture{Path(path).suffix}")
        command = [sys.executable, "-P", "-m", "sapwood.rendering"]
        command += map(str, (model_file, qpos_file, picture, width, height, rate))
        reasons = []
        for backend in backends:
            reason = _attempt(command, backend, timeout)
            if reason is None:
                write_file(path, picture.read_bytes())
                return backend
            reasons.append(f"{backend}: {reason}")
    raise RenderingError(f"no off-screen drawing here ({'; '.join(reasons)}); {_HINT}")


def _attempt(command: list[str], backend: str, timeout: float) -> str | None:
    """Run one drawing process; return None, or in one line why it failed."""
    search_path = os.pathsep.join(entry for entry in sys.path if entry)
    environment = os.environ | {"MUJOCO_GL": backend, "PYTHONPATH": search_path}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no picture within {timeout:g} s"
    if done.returncode == 0:
        return None
    if done.returncode < 0:
        return f"the driver crashed ({signal.Signals(-done.returncode).name})"
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    # destructors of half-made renderers talk after the error itself: the error stands unindented
    errors = [line for line in said if line.split(":")[0].endswith(("Error", "Exception"))]
    return (errors or said or [f"exit code {done.returncode}"])[0]


def _draw(model_file: str, qpos_file: str, path: str, width: int, height: int, rate: float) -> None:
    """Draw in this process, with the backend of ``MUJOCO_GL``; a rate of 0 is for one picture."""
    import mujoco

    from sapwood.mujoco.results.drawing import needs_collision_shapes

    model = mujoco.MjModel.from_binary_path(model_file)
    model.vis.global_.offwidth = max(width, model.vis.global_.offwidth)
    model.vis.global_.offheight = max(height, model.vis.global_.offheight)
    has_sky = np.any(model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX)
    if model.nlight == 0:
        model.vis.headlight.ambient[:], model.vis.headlight.diffuse[:] = 0.4, 0.6
    data, shown = mujoco.MjData(model), mujoco.MjvOption()
    if needs_collision_shapes(model):
        shown.geomgroup[:] = 1
    configurations = np.load(qpos_file)
    with mujoco.Renderer(model, height=height, width=width) as renderer:

        def pixels(qpos: NDArray[np.float64]) -> NDArray[np.uint8]:
            data.qpos[:] = qpos
            mujoco.mj_forward(model, data)
            renderer.update_scene(data, 0 if model.ncam else -1, shown)
            if not has_sky and renderer.scene.ngeom < renderer.scene.maxgeom:
                _add_backdrop(renderer.scene)
            drawn: NDArray[np.uint8] = renderer.render()
            return drawn

        if rate == 0.0:
            from matplotlib.image import imsave

            imsave(path, pixels(configurations))
            return
        import imageio

        video: Any
        with imageio.get_writer(path, fps=rate) as video:
            for qpos in configurations:
                video.append_data(pixels(qpos))


def _add_backdrop(scene: mujoco.MjvScene) -> None:
    """A light plane behind all else, where MuJoCo would leave black."""
    import mujoco

    camera = scene.camera[0]
    forward, up = np.array(camera.forward, dtype=float), np.array(camera.up, dtype=float)
    far = 0.98 * float(camera.frustum_far)
    plane = scene.geoms[scene.ngeom]
    mujoco.mjv_initGeom(
        plane, mujoco.mjtGeom.mjGEOM_PLANE, np.full(3, 4.0 * far),
        np.array(camera.pos, dtype=float) + far * forward,
        np.column_stack([np.cross(forward, up), up, -forward]).ravel(), _BACKDROP,
    )  # fmt: skip
    plane.emission = 1.0
    scene.ngeom += 1


if __name__ == "__main__":
    _model, _qpos, _path, _width, _height, _rate = sys.argv[1:]
    _draw(_model, _qpos, _path, int(_width), int(_height), float(_rate))
