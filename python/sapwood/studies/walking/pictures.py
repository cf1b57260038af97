"""Pictures of the robots of Zapolsky and Drumwright and of their ground: Figures 8, 9 and 13."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco import Stepper
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.grasping.scene import arm, gripping
from sapwood.studies.plotting import read_steps, select
from sapwood.studies.plotting.dual_arm import keyframes_figure
from sapwood.studies.walking.robot import crouched, robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = np.dtype([("qpos", np.float64)])

#: Scenes by name, and what stands above their pictures.
SCENES = {
    "level": "the quadruped on level ground",
    "grasp": "the arm with a box between its four fingertips",
    "rough": "the quadruped on rough ground, 0 to 30 mm high",
}
_DT, _MU = 1e-3, 1.0
# feedback that holds the joints of the quadruped, N m/rad and N m s/rad, and time to settle, s
_GAINS, _SETTLE = (20.0, 0.1), 0.5


def scene(name: str) -> mujoco.MjModel:
    """Return the model of one of `SCENES`, with a camera."""
    return arm(_MU, _DT) if name == "grasp" else robot(_MU, _DT, rough=name == "rough")


def posture(scene_name: str) -> NDArray[np.void]:
    """Find the configuration of a scene at rest.

    Parameters
    ----------
    scene_name
        Of `SCENES`.

    Returns
    -------
    ndarray of `ROWS`, shape (nq,)
        The quadruped has settled while feedback holds its joints; the arm is as it begins.
    """
    model = scene(scene_name)
    if scene_name == "grasp":
        data = gripping(model)
    else:
        stepper = Stepper(model)
        data = crouched(stepper.model)
        held = data.qpos[7:].copy()
        for _ in range(round(_SETTLE / _DT)):
            data.ctrl[:] = _GAINS[0] * (held - data.qpos[7:]) - _GAINS[1] * data.qvel[6:]
            stepper.step(data)
    return np.array([(value,) for value in data.qpos.tolist()], ROWS)


def _plan(name: str) -> Plan:
    points = [{"scene_name": name}]
    return Plan(
        sweeps=(Sweep(f"posture_{name}", posture, points, ROWS),),
        draw=lambda files, path: _draw(files, path, name),
    )


def figure_8(_quick: bool) -> Plan:
    """The quadruped on level ground.

    One sweep, ``posture_level``.
    """
    return _plan("level")


def figure_9(_quick: bool) -> Plan:
    """The arm with a box.

    One sweep, ``posture_grasp``.
    """
    return _plan("grasp")


def figure_13(_quick: bool) -> Plan:
    """The quadruped on rough ground.

    One sweep, ``posture_rough``.
    """
    return _plan("rough")


def _draw(files: Files, path: Path, name: str) -> Figure:
    qpos = select(read_steps(files[f"posture_{name}"]), scene_name=name)["qpos"]
    return keyframes_figure(scene(name), [(SCENES[name], qpos)], path)
