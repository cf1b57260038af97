"""Pictures of a scene without a screen.

MuJoCo draws off screen through EGL or OSMesa, native libraries that may be missing, and whose
drivers may crash. Each attempt therefore runs in a process of its own (``python -m
sapwood.studies.rendering``): whatever happens there, the caller gets a picture or a
`RenderingError` with the reason.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sapwood.files import write_file

if TYPE_CHECKING:
    import mujoco

_HINT = (
    "on Debian, install libegl1 libopengl0 libgl1-mesa-dri (EGL), or libosmesa6 (OSMesa, software)"
)


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
    import mujoco

    chosen = os.environ.get("MUJOCO_GL", "").lower()
    backends = (chosen,) if chosen else ("egl", "osmesa")
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        model_file, qpos_file = Path(folder, "model.mjb"), Path(folder, "qpos.npy")
        mujoco.mj_saveModel(model, str(model_file))
        np.save(qpos_file, np.asarray(qpos, dtype=np.float64))
        picture = Path(folder, "picture.png")
        command = [sys.executable, "-P", "-m", "sapwood.studies.rendering"]
        command += [str(model_file), str(qpos_file), str(picture), str(width), str(height)]
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


def _draw(model_file: str, qpos_file: str, path: str, width: int, height: int) -> None:
    """Draw in this process, with the backend of ``MUJOCO_GL``."""
    import mujoco
    from matplotlib.image import imsave

    model = mujoco.MjModel.from_binary_path(model_file)
    model.vis.global_.offwidth = max(width, model.vis.global_.offwidth)
    model.vis.global_.offheight = max(height, model.vis.global_.offheight)
    data = mujoco.MjData(model)
    data.qpos[:] = np.load(qpos_file)
    mujoco.mj_forward(model, data)
    with mujoco.Renderer(model, height=height, width=width) as renderer:
        renderer.update_scene(data, camera=0 if model.ncam else -1)
        pixels = renderer.render()
    imsave(path, pixels)


if __name__ == "__main__":
    _model, _qpos, _path, _width, _height = sys.argv[1:]
    _draw(_model, _qpos, _path, int(_width), int(_height))
