"""A state at rest, held against the estimates of section IX.

A contact at rest in stiction has v_n = 0, so that its penetration follows from its impulse::

    -phi = (dt + tau_d) R_n gamma_n = (1 + tau_d/dt) beta^2/(4 pi^2) g dt^2 load,
    load = gamma_n w/(g dt)

in the near-rigid regime of (21). A load of 1 is the weight of the effective mass 1/w: the paper's
point mass on the ground. The paper takes R_n^-1 ~ dt^2 k and so leaves out the factor 1 + tau_d/dt.
The slip of a point mass in stiction is at most sigma mu dt g (23).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sapwood import ContactProblem, solve
from sapwood.experiments.measured_steps import mean_slip


@dataclass(frozen=True)
class RestingState:
    """Penetration and slip of the contacts that carry load, and what section IX expects.

    Attributes
    ----------
    loaded_contacts
        Number of contacts with gamma_n > 0; the rest is about these.
    max_penetration
        Largest penetration, m.
    load
        Load of that contact.
    penetration_bound
        Estimate of section IX times that load, m.
    penetration_ratio
        Largest penetration over bound of all contacts; at most 1 up to the motion that is left.
    mean_slip, slip_bound
        Mean slip and sigma mu dt g with the largest mu, m/s.
    """

    loaded_contacts: int
    max_penetration: float
    load: float
    penetration_bound: float
    penetration_ratio: float
    mean_slip: float
    slip_bound: float


def resting_state(problem: ContactProblem, gravity: float) -> RestingState:
    """Solve the contact problem of a state and compare it with the estimates for a state at rest.

    Parameters
    ----------
    problem
        Contact problem of the state, with its physical parameters.
    gravity
        g, m/s^2.

    Raises
    ------
    ValueError
        The problem comes without its physical parameters.
    """
    if problem.phi0 is None or problem.tau_d is None:
        raise ValueError("problem: phi0 and tau_d are needed")
    dt = problem.dt
    solution = solve(problem)
    gamma_n = solution.gamma[:, 2]
    loaded = gamma_n > 0
    slip_bound = problem.sigma * float(problem.mu.max(initial=0.0)) * dt * gravity
    if not loaded.any():
        return RestingState(0, 0.0, 0.0, 0.0, 0.0, 0.0, slip_bound)

    w = problem.R_t[loaded] / problem.sigma  # (22)
    load = gamma_n[loaded] * w / (gravity * dt)
    unit = (1 + problem.tau_d[loaded] / dt) * problem.beta**2 / (4 * math.pi**2) * gravity * dt**2
    bound = unit * load
    penetration = np.maximum(-problem.phi0[loaded], 0.0)
    deepest = int(penetration.argmax())
    # beta = 0 leaves nothing to hold a penetration against
    ratio = np.divide(penetration, bound, out=np.zeros_like(bound), where=bound > 0)
    return RestingState(
        loaded_contacts=int(loaded.sum()),
        max_penetration=float(penetration[deepest]),
        load=float(load[deepest]),
        penetration_bound=float(bound[deepest]),
        penetration_ratio=float(ratio.max()),
        mean_slip=mean_slip(solution.v_c, gamma_n),
        slip_bound=slip_bound,
    )
