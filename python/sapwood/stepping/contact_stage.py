"""Stage 2 of a step: contact in the linearized momentum, Eq. (14)."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from sapwood.dense import diagonal_blocks, offsets
from sapwood.problem import ContactProblem, Delassus
from sapwood.stepping.free_motion import FreeMotion
from sapwood.stepping.model import Contacts
from sapwood.stepping.schemes import Scheme

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


def contact_problem(
    free: FreeMotion,
    contacts: Contacts,
    tree_nv: _Index,
    scheme: Scheme,
    dt: float,
    v_0: _Float,
    *,
    sigma: float,
    beta: float,
    delassus: Delassus,
    source: str,
) -> ContactProblem:
    """The convex problem (17) with v* and A of the free motion.

    The contact law takes the signed distance at the start of the step, phi_0, and predicts phi_0 +
    dt v_n for its end. As contacts are found at q^θq, phi_0 is phi(q^θq) - θ_q dt J_n v^θvq.

    Parameters
    ----------
    free : FreeMotion
        Stage 1.
    contacts : Contacts
        The contacts at q^θq, at least one.
    tree_nv : ndarray of int (n_trees,)
        Velocities of each tree. Trees that K or D couples count as one, with all between them.
    scheme : Scheme
        The thetas of Eq. (6).
    dt : float
        Time step, s.
    v_0 : ndarray (nv,)
        Velocity at the start of the step, from which the solver starts.
    sigma, beta, delassus, source
        As for :class:`sapwood.ContactProblem`.

    Returns
    -------
    ContactProblem
        The problem.

    Raises
    ------
    ValueError
        Where A is not positive definite or an array of the contacts is wrong; the text names it.
    """
    phi_0 = contacts.phi
    if scheme.theta_q > 0.0:
        v_n = contacts.normal_velocities(tree_nv, scheme.position_velocity(free.v, v_0))
        phi_0 = phi_0 - scheme.theta_q * dt * v_n
    tree_nv, contacts = _merge_coupled(free.A, tree_nv, contacts)
    return ContactProblem(
        tree_nv,
        diagonal_blocks(free.A, tree_nv),
        free.v,
        contacts.tree_a,
        contacts.tree_b,
        contacts.J,
        contacts.mu,
        dt=dt,
        phi0=phi_0,
        k=contacts.k,
        tau_d=contacts.tau_d,
        v_hat_t=contacts.v_hat_t,
        sigma=sigma,
        beta=beta,
        delassus=delassus,
        v_guess=v_0,
        source=source,
    )


def _merge_coupled(A: _Float, tree_nv: _Index, contacts: Contacts) -> tuple[_Index, Contacts]:
    """Trees and contacts with those trees as one that A couples."""
    if len(tree_nv) == 1:
        return tree_nv, contacts
    tree_of = np.repeat(np.arange(len(tree_nv)), tree_nv)
    rows, columns = np.nonzero(A)
    a, b = tree_of[rows], tree_of[columns]
    if np.array_equal(a, b):
        return tree_nv, contacts
    # a group ends before a tree that nothing up to there reaches
    reach = np.arange(len(tree_nv))
    np.maximum.at(reach, a, b)
    first_of_group = np.ones(len(tree_nv), np.bool_)
    first_of_group[1:] = np.maximum.accumulate(reach)[:-1] < np.arange(1, len(tree_nv))
    group = np.cumsum(first_of_group) - 1
    merged_nv = np.bincount(group, tree_nv).astype(np.int32)

    old, new = offsets(tree_nv), offsets(merged_nv)
    blocks, end = [np.zeros(0)], 0
    tree_b = np.full(len(contacts.phi), -1, np.int32)
    for i, trees in enumerate(zip(contacts.tree_a, contacts.tree_b, strict=True)):
        parts: dict[int, _Float] = {}
        for t in trees:
            if t < 0:
                continue
            g, size = int(group[t]), int(tree_nv[t])
            part = parts.setdefault(g, np.zeros((3, int(merged_nv[g]))))
            at = int(old[t] - new[g])
            part[:, at : at + size] += contacts.J[end : end + 3 * size].reshape(3, size)
            end += 3 * size
        blocks += [part.ravel() for part in parts.values()]
        tree_b[i] = [*parts, -1][1]
    tree_a = group[contacts.tree_a].astype(np.int32)
    return merged_nv, dataclasses.replace(
        contacts, tree_a=tree_a, tree_b=tree_b, J=np.concatenate(blocks)
    )
