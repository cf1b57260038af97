"""Variants of a model for MuJoCo's own step: as its manual recommends, and with our regularization.

A variant is a copy; the model that is given stays as it is.
"""

from __future__ import annotations

import copy
import math

import mujoco


def recommended_model(given: mujoco.MjModel) -> mujoco.MjModel:
    """Set the options that MuJoCo's manual recommends for contact.

    The integrator is implicitfast; models with flexes keep theirs, as MuJoCo 4 refuses to integrate
    elastic flexes by it. Elliptic cones, Newton's method and impratio of 10 at least reduce slip.
    The solver may take as many iterations as by default: some models cut them to one, which is too
    few for elliptic cones. Contacts, those of listed pairs and of flexes too, are as stiff as the
    time step allows: a time constant of two steps, 5 ms at least. Stiffer ones stay as they are.

    Parameters
    ----------
    given
        Any model.

    Returns
    -------
    mujoco.MjModel
        The copy.
    """
    model = copy.copy(given)
    option = model.opt
    if not model.nflex:
        option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    option.impratio = max(10.0, option.impratio)
    option.iterations = max(100, option.iterations)
    option.ls_iterations = max(50, option.ls_iterations)
    constant = max(5e-3, 2.0 * option.timestep)
    for solref in (model.geom_solref, model.pair_solref, model.flex_solref):
        solref[solref[:, 0] > constant] = (constant, 1.0)
    return model


def matched_model(given: mujoco.MjModel, sigma: float = 1e-3, beta: float = 1.0) -> mujoco.MjModel:
    """Set contact parameters that give MuJoCo's Newton our regularization.

    With the estimate A of the effective mass, R_n = beta^2/(4 pi^2) A and R_t = sigma A, Eqs. (21)
    and (22) for near-rigid contact: constant impedance d = A/(A + R_n), impratio = R_n/R_t, and the
    reference -phi0/(dt + tau_d) with tau_d = dt. A is MuJoCo's own estimate.

    Parameters
    ----------
    given
        A model whose contacts are between geoms, without listed pairs.
    sigma
        Tangential regularization, Eq. (22).
    beta
        Normal regularization, Eq. (21).

    Returns
    -------
    mujoco.MjModel
        The copy.
    """
    model = copy.copy(given)
    dt = model.opt.timestep
    ratio = beta**2 / (4.0 * math.pi**2)
    d = 1.0 / (1.0 + ratio)
    model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.impratio = ratio / sigma
    model.geom_solref[:] = (-d / (2.0 * dt * dt), -d / dt)
    model.geom_solimp[:, :3] = (d, d, 0.001)
    return model
