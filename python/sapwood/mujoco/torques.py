"""Inverse dynamics with contact of MuJoCo models."""

from __future__ import annotations

from collections import Counter
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.invdyn.controller import InverseDynamics
from sapwood.invdyn.options import Controller
from sapwood.invdyn.result import InverseDynamicsResult
from sapwood.invdyn.robot import actuated_dofs, bias_force, mass_matrix

Array = NDArray[np.float64]


def contact_jacobians(
    model: mujoco.MjModel, data: mujoco.MjData
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Jacobians of the contacts of `data`.

    Returns
    -------
    J_n : (n, nv) array
        Rows of the normal velocity of the second geom relative to the first, positive where they
        part.
    J_t : (n, 2, nv) array
        Rows along the second and third axis of the contact's frame.
    ids : (n,) array
        Names that stay the same while two geoms touch in the same order.
    """
    n = data.ncon
    J_n, J_t = np.zeros((n, model.nv)), np.zeros((n, 2, model.nv))
    ids = np.zeros(n, dtype=np.int64)
    touched: Counter[tuple[int, int]] = Counter()
    first, second = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    # read arrays of all contacts at once: a Python object each takes longer than its Jacobian
    contact = data.contact
    bodies = model.geom_bodyid[contact.geom]
    for i, (one, two) in enumerate(contact.geom.tolist()):
        mujoco.mj_jac(model, data, first, None, contact.pos[i], bodies[i, 0])
        mujoco.mj_jac(model, data, second, None, contact.pos[i], bodies[i, 1])
        rows = contact.frame[i].reshape(3, 3) @ (second - first)
        J_n[i], J_t[i] = rows[0], rows[1:]
        ids[i] = (one * model.ngeom + two) * 64 + touched[one, two] % 64
        touched[one, two] += 1
    return J_n, J_t, ids


def inverse_dynamics(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    qdd_desired: ArrayLike,
    controller: Controller | InverseDynamics = "qp_coulomb",
    *,
    actuated: ArrayLike | None = None,
    gaps: bool = False,
    **options: Any,
) -> InverseDynamicsResult:
    """Torques that realise desired accelerations of a model in contact, and the contact forces.

    Parameters
    ----------
    model : mujoco.MjModel
    data : mujoco.MjData
        Data after ``mujoco.mj_forward`` or ``mj_step1``: positions, velocities, contacts. They are
        not changed. ``xfrc_applied``, and ``qfrc_applied`` of velocities without a motor, act on
        the system. ``ctrl``, and ``qfrc_applied`` of actuated velocities, have no effect:
        ``tau`` replaces them.
    qdd_desired : (n_q,) array_like
        Accelerations of the actuated velocities.
    controller : str or InverseDynamics
        Name of a controller, or an :class:`InverseDynamics`, which starts from its last solution
        and allocates nothing.
    actuated : array_like, optional
        Velocities with a motor, as for :class:`sapwood.invdyn.InverseDynamics`; by default
        :func:`actuated_dofs`.
    gaps : bool
        Whether bodies may close open gaps and must leave overlaps: phi is the contact's ``dist``.
        Otherwise no contact approaches.
    **options
        Options of :class:`sapwood.invdyn.InverseDynamics`; ``dt`` is the model's time step by
        default.

    Returns
    -------
    InverseDynamicsResult
        ``tau`` acts on the actuated velocities as ``qfrc_applied`` does (N m at hinges, N at
        sliders). It may be written there: the next call gives the same result. ``apply`` writes
        the controls that give it. ``forces`` (n, 3) act on the second geom, along axes 2 and 3 of
        the contact's frame, then along its normal.

    Raises
    ------
    ValueError, TypeError
        If an argument is wrong; the message names it.
    """
    if isinstance(controller, InverseDynamics):
        if options or actuated is not None:
            raise ValueError("options are those of the controller that was made before")
        made = controller
    else:
        chosen = actuated_dofs(model) if actuated is None else actuated
        made = InverseDynamics(controller, actuated=chosen, **{"dt": model.opt.timestep, **options})
    J_n, J_t, ids = contact_jacobians(model, data)
    # a frictionless contact has one dimension
    mu = np.where(data.contact.dim > 1, data.contact.friction[:, 0], 0.0)
    return made.solve(
        mass_matrix(model, data), bias_force(model, data, made.actuated), data.qvel, qdd_desired,
        J_n, J_t, mu, data.contact.dist if gaps else None, ids,
    )  # fmt: skip
