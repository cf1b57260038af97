"""A state at rest, held against the estimates of section IX.

In the near-rigid regime of (21) the penetration of a contact in stiction follows from its impulse::

    -phi = (dt + tau_d) (R_n gamma_n + v_n) = (1 + tau_d/dt) beta^2/(4 pi^2) g dt^2 load + ...
    load = gamma_n w/(g dt)

with nothing behind the load for v_n = 0. A load of 1 is the weight of the effective mass 1/w: the
paper's point mass on the ground. The paper takes R_n^-1 ~ dt^2 k and so leaves out the factor
1 + tau_d/dt. The slip of a point mass in stiction is at most sigma mu dt g (23).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sapwood import ContactProblem, solve

#: A contact is at rest when its normal motion changes its penetration by less than this share.
MOTION = 0.01


@dataclass(frozen=True)
class RestingState:
    """Penetration of the contacts that carry load, and what section IX expects.

    Attributes
    ----------
    loaded_contacts
        Number of contacts with gamma_n > 0.
    resting_contacts
        Those of them at rest: (dt + tau_d) |v_n| is below 1 % of the estimate of the penetration.
        The rest is about these.
    max_penetration
        Largest penetration, m.
    load, estimate
        Load of that contact, and the penetration that section IX expects for it, m.
    largest_ratio
        Largest penetration over estimate of all contacts.
    slip_bound
        sigma mu dt g with the largest mu of all contacts, m/s.
    """

    loaded_contacts: int
    resting_contacts: int
    max_penetration: float
    load: float
    estimate: float
    largest_ratio: float
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
    dt, tau_d = problem.dt, problem.tau_d
    solution = solve(problem)
    gamma_n, v_n = solution.gamma[:, 2], solution.v_c[:, 2]

    w = problem.R_t / problem.sigma  # (22)
    load = gamma_n * w / (gravity * dt)
    estimate = (1 + tau_d / dt) * problem.beta**2 / (4 * math.pi**2) * gravity * dt**2 * load
    resting = (gamma_n > 0) & ((dt + tau_d) * np.abs(v_n) < MOTION * estimate)
    penetration = np.where(resting, -problem.phi0, 0.0)
    deepest = int(penetration.argmax()) if resting.any() else None
    return RestingState(
        loaded_contacts=int((gamma_n > 0).sum()),
        resting_contacts=int(resting.sum()),
        max_penetration=0.0 if deepest is None else float(penetration[deepest]),
        load=0.0 if deepest is None else float(load[deepest]),
        estimate=0.0 if deepest is None else float(estimate[deepest]),
        largest_ratio=float((penetration[resting] / estimate[resting]).max(initial=0.0)),
        slip_bound=problem.sigma * float(problem.mu.max(initial=0.0)) * dt * gravity,
    )
