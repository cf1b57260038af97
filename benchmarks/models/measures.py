"""Measures of a state of a simulation: energy, overlap, violated limits and loops.

States of both engines are measured by the same functions of MuJoCo, on data of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

_HINGE, _SLIDE, _BALL = (
    int(getattr(mujoco.mjtJoint, f"mjJNT_{name}")) for name in ("HINGE", "SLIDE", "BALL")
)


class Reading(NamedTuple):
    """Measures of one state; lengths in m, angles in rad, energies in J."""

    kinetic: float
    potential: float
    """Potential energy of gravity and of springs."""
    penetration: float
    """Depth of the deepest contact."""
    limit: float
    """The largest violation of a range of a joint or tendon, rad or m."""
    equality: float
    """Largest residual of an equality constraint, m or rad; of a weld's rotation sin(angle/2)."""


class Gauge:
    """Measures states of one model.

    Parameters
    ----------
    model
        As it was loaded.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._data = mujoco.MjData(model)
        limited = model.jnt_limited.astype(bool)
        if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_LIMIT:
            limited[:] = False
        scalar = limited & np.isin(model.jnt_type, (_HINGE, _SLIDE))
        self._scalars = model.jnt_qposadr[scalar]
        self._ranges = model.jnt_range[scalar]
        balls = limited & (model.jnt_type == _BALL)
        self._balls = model.jnt_qposadr[balls][:, None] + np.arange(4)
        self._angles = model.jnt_range[balls, 1]
        self._tendons = np.flatnonzero(model.tendon_limited)

    def read(self, state: mujoco.MjData) -> Reading:
        """Measure where the data of a simulation are now; they are not changed."""
        model, data = self._model, self._data
        data.time = state.time
        for name in ("qpos", "qvel", "mocap_pos", "mocap_quat", "eq_active"):
            getattr(data, name)[:] = getattr(state, name)
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
        potential, kinetic = data.energy
        held = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        return Reading(
            kinetic=float(kinetic),
            potential=float(potential),
            penetration=float(max(0.0, -data.contact.dist[self._overlapping()].min(initial=0.0))),
            limit=self._beyond_limits(),
            equality=float(np.abs(data.efc_pos[held]).max(initial=0.0)),
        )

    def positions(self) -> NDArray[np.float64]:
        """Positions of all bodies in the state that was measured last (nbody, 3), m."""
        return self._data.xpos.copy()

    def touching(self) -> NDArray[np.bool_]:
        """Which bodies have a contact that overlaps, in the state that was measured last."""
        found = np.zeros(self._model.nbody, dtype=bool)
        geoms = self._data.contact.geom[self._overlapping()].ravel()
        found[self._model.geom_bodyid[geoms[geoms >= 0]]] = True
        return found

    def slip(self) -> float:
        """Mean tangential speed of overlapping contacts in that state, m/s; NaN where none is."""
        model, data = self._model, self._data
        mujoco.mj_fwdVelocity(model, data)
        which = self._overlapping()
        if not which.any():
            return np.nan
        places, frames = data.contact.pos[which], data.contact.frame[which].reshape(-1, 3, 3)
        bodies = model.geom_bodyid[data.contact.geom[which]]
        # spatial velocities are at the centre of mass of the tree
        arms = places[:, None] - data.subtree_com[model.body_rootid[bodies]]
        speeds = data.cvel[bodies, 3:] + np.cross(data.cvel[bodies, :3], arms)
        across = np.einsum("kij,kj->ki", frames[:, 1:], speeds[:, 1] - speeds[:, 0])
        return float(np.linalg.norm(across, axis=1).mean())

    def _overlapping(self) -> NDArray[np.bool_]:
        contact = self._data.contact
        return (contact.dist < 0.0) & (contact.exclude == 0)

    def _beyond_limits(self) -> float:
        qpos = self._data.qpos
        found = [0.0]
        for values, ranges in (
            (qpos[self._scalars], self._ranges),
            (self._data.ten_length[self._tendons], self._model.tendon_range[self._tendons]),
        ):
            found.append(np.max(ranges[:, 0] - values, initial=0.0))
            found.append(np.max(values - ranges[:, 1], initial=0.0))
        if len(self._balls):
            quaternions = qpos[self._balls]
            sines = np.linalg.norm(quaternions[:, 1:], axis=1)
            turned = 2.0 * np.arctan2(sines, np.abs(quaternions[:, 0]))
            found.append(np.max(turned - self._angles, initial=0.0))
        return float(max(found))
