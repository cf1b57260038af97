"""Contributions of each body to the mass matrix and the bias forces, for mass derivatives."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.base.blocks import offsets
from sapwood.derivatives.differential import Gradient
from sapwood.mujoco.gradients.snapshots import Snapshot

_Float = NDArray[np.float64]


class BodyInertias:
    """M = sum_b m J_p^T J_p + J_r^T I J_r, and the bias forces, body by body.

    J_p and J_r (3, nv) are the Jacobians of the centre of mass and of the rotation, I is the
    inertia in the world, and the bias is J_p^T m (dJ_p/dt v - g) + J_r^T (I dJ_r/dt v + w x I w).

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    data : mujoco.MjData
        Data with positions, velocities and the quantities that MuJoCo derives from them.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        n, nv = model.nbody, model.nv
        self._J, self._Jdot = np.zeros((n, 2, 3, nv)), np.zeros((n, 2, 3, nv))
        for b in range(1, n):
            mujoco.mj_jacBodyCom(model, data, *self._J[b], b)
            mujoco.mj_jacDot(model, data, *self._Jdot[b], data.xipos[b], b)
        R = data.ximat.reshape(n, 3, 3)
        self._mass = np.array(model.body_mass)
        self._inertia = R * model.body_inertia[:, None, :] @ R.transpose(0, 2, 1)
        off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        gravity = np.zeros(3) if off else np.array(model.opt.gravity)
        self._gravity = (1.0 - model.body_gravcomp)[:, None] * gravity

    def pull(self, at: Snapshot, gradient: Gradient, v: _Float, dt: float) -> _Float:
        """Derivatives by factors of mass and inertia, from derivatives by A and v*.

        A depends on the factors as M does, and A v* as M v - dt bias.

        Parameters
        ----------
        at : Snapshot
            The problem of the state.
        gradient : Gradient
            The gradient by its numbers.
        v : ndarray (nv,)
            Velocity before the step.
        dt : float
            Time step, s.

        Returns
        -------
        ndarray (nbody,)
            The derivative by the factor of each body.
        """
        tree_nv = at.arrays["tree_nv"]
        A, A_bar = (dense_blocks(x, tree_nv) for x in (at.arrays["A"], gradient.A))
        impulse = np.linalg.solve(A, np.asarray(gradient.v_star))
        gained = v - at.arrays["v_star"]
        J_p, J_r = self._J[:, 0], self._J[:, 1]
        accelerations = self._Jdot @ v
        omega = J_r @ v
        spin = (self._inertia @ omega[..., None])[..., 0]
        force = self._mass[:, None] * (J_p @ gained - dt * (accelerations[:, 0] - self._gravity))
        turning = (self._inertia @ (J_r @ gained - dt * accelerations[:, 1])[..., None])[..., 0]
        torque = turning - dt * np.cross(omega, spin)
        found: _Float = np.einsum("bi,bi->b", J_p @ impulse, force)
        found += np.einsum("bi,bi->b", J_r @ impulse, torque)
        found += self._mass * np.einsum("biv,vw,biw->b", J_p, A_bar, J_p, optimize=True)
        found += np.einsum("biv,vw,bjw,bij->b", J_r, A_bar, J_r, self._inertia, optimize=True)
        return found


def dense_blocks(blocks: object, tree_nv: NDArray[np.int32]) -> _Float:
    """A (nv, nv) from its blocks, flat.

    Parameters
    ----------
    blocks : ndarray (sum(tree_nv**2),)
        The blocks of the trees.
    tree_nv : ndarray of int (n_trees,)
        Number of velocities of each tree.

    Returns
    -------
    ndarray (nv, nv)
        The matrix, 0 between trees.
    """
    values, first = np.asarray(blocks), offsets(tree_nv)
    found, begin = np.zeros((first[-1], first[-1])), 0
    for t, n in enumerate(tree_nv):
        of = slice(first[t], first[t + 1])
        found[of, of] = values[begin : begin + n * n].reshape(n, n)
        begin += n * n
    return found
