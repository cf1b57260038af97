"""Stage 2 of a step: contact in the linearized momentum, Eq. (14)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.blocks import diagonal_blocks, offsets
from sapwood.constraints.group import ConstraintGroup
from sapwood.problem.arrays import Delassus
from sapwood.problem.contact_problem import ContactProblem
from sapwood.problem.merged_trees import MergedTrees, checked_blocks
from sapwood.stepping.free_motion import FreeMotion
from sapwood.stepping.model import Contacts
from sapwood.stepping.schemes import Scheme

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

# parameters of other constraints that are positions, whose rate is J v
_POSITIONS = {"limit": "phi0", "bilateral": "g", "controller": "q_0"}


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
    slip_ratio: _Float | None = None,
    v_star: _Float | None = None,
) -> ContactProblem:
    """The convex problem (17) with v* and A of the free motion.

    The contact law takes the signed distance at the start of the step, phi_0, and predicts phi_0 +
    dt v_n for its end. As contacts are found at q^θq, phi_0 is phi(q^θq) - θ_q dt J_n v^θvq. The
    same holds for the positions of other constraints, where they are given by physical parameters.

    Parameters
    ----------
    free : FreeMotion
        Stage 1.
    contacts : Contacts
        Contacts and other constraints at q^θq.
    tree_nv : ndarray of int (n_trees,)
        Velocities of each tree. Trees that K or D couples count as one, with all between them.
    scheme : Scheme
        The thetas of Eq. (6).
    dt : float
        Time step, s.
    v_0 : ndarray (nv,)
        Velocity at the start of the step, from which the solver starts.
    sigma, beta, delassus, source, slip_ratio
        The same as for :class:`sapwood.ContactProblem`.
    v_star : ndarray (nv,), optional
        Velocity in place of v*, corrected by constraints; the contacts stay those at v*.

    Returns
    -------
    ContactProblem
        The problem.

    Raises
    ------
    TypeError, ValueError
        If A is not positive definite or an array of the contacts is wrong; the message names it.

    Examples
    --------
    A step of the cylinder by hand, its two stages one after the other:

    >>> from sapwood import SapSolver
    >>> from sapwood.stepping import SCHEMES, SpringCylinder, ThetaStepper, free_motion
    >>> model, scheme = SpringCylinder(), SCHEMES["midpoint"]
    >>> q, v, _ = model.start()
    >>> free = free_motion(model, scheme, 0.02, q, v)
    >>> contacts = model.contacts(free.q_theta)
    >>> problem = contact_problem(free, contacts, model.tree_nv, scheme, 0.02, v, sigma=1e-3,
    ...                           beta=1.0, delassus="block", source="")
    >>> state = ThetaStepper(model, 0.02, scheme).step(model.start())
    >>> np.allclose(SapSolver().solve(problem).v, state.v, rtol=1e-6)
    True
    """
    groups = [group.placed(tree_nv) for group in contacts.constraints]
    # their arrays are used before the problem has checked them
    tree_a = _core.as_int32(contacts.tree_a, "tree_a")
    tree_b = _core.as_int32(contacts.tree_b, "tree_b")
    threes = np.full(len(tree_a), 3, np.int32)
    J = checked_blocks(contacts.J, threes, tree_a, tree_b, tree_nv, "")
    phi_0 = _core.as_float64(contacts.phi, "phi", (len(tree_a),), "finite")
    for k, group in enumerate(groups):
        shape = group.size, group.tree_a, group.tree_b
        checked_blocks(group.J, *shape, tree_nv, f"constraints[{k}].")
    if scheme.theta_q > 0.0:
        moved = scheme.theta_q * dt * scheme.position_velocity(free.v, v_0)
        rows = row_velocities(J, threes, tree_a, tree_b, tree_nv, moved)
        phi_0 = phi_0 - rows[2::3]
        groups = [_moved_back(group, tree_nv, moved) for group in groups]
    spin_contact, spin_J = contacts.spin_contact, contacts.spin_J
    merged = _coupled(free.A, tree_nv) if len(tree_nv) > 1 else None
    if merged is not None:
        if spin_contact is not None and spin_J is not None:
            spin_J = merged.spins(spin_contact, spin_J, tree_a, tree_b)
        tree_a, tree_b, J = merged.blocks(J, threes, tree_a, tree_b)
        groups = [merged.constraints(group) for group in groups]
        tree_nv = merged.tree_nv
    return ContactProblem(
        tree_nv,
        diagonal_blocks(free.A, tree_nv),
        free.v if v_star is None else v_star,
        tree_a,
        tree_b,
        J,
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
        constraints=groups,
        source=source,
        spin_contact=spin_contact,
        spin_J=spin_J,
        spin_mu=contacts.spin_mu,
        slip_ratio=slip_ratio,
    )


def needs_correction(scheme: Scheme, contacts: Contacts) -> bool:
    """Whether a step is solved once more with a velocity v* that constraints correct.

    Parameters
    ----------
    scheme : Scheme
        The thetas of Eq. (6).
    contacts : Contacts
        Contacts and other constraints of the step.

    Returns
    -------
    bool
        True with equality constraints under the midpoint rule; other schemes have the first order.
    """
    is_midpoint = scheme.theta_q == scheme.theta_v == scheme.theta_vq == 0.5
    return is_midpoint and any(group.kind == "bilateral" for group in contacts.constraints)


def row_velocities(
    J: _Float, size: _Index, tree_a: _Index, tree_b: _Index, tree_nv: _Index, v: _Float
) -> _Float:
    """J v of blocks by trees.

    Parameters
    ----------
    J : ndarray
        Blocks (size, tree_nv[tree_a]), then, if tree_b >= 0, (size, tree_nv[tree_b]), flat.
    size, tree_a, tree_b : ndarray of int (n,)
        Rows and trees of each constraint.
    tree_nv : ndarray of int (n_trees,)
        Velocities of each tree.
    v : ndarray (nv,)
        Generalized velocities.

    Returns
    -------
    ndarray (sum(size),)
        Velocity of each row.
    """
    if len(tree_nv) == 1:
        rows: _Float = J.reshape(-1, len(v)) @ v
        return rows
    first, row = offsets(tree_nv), offsets(size)
    found, end = np.zeros(row[-1]), 0
    for i, trees in enumerate(zip(tree_a, tree_b, strict=True)):
        for t in trees:
            if t >= 0:
                block = J[end : end + size[i] * tree_nv[t]].reshape(size[i], tree_nv[t])
                found[row[i] : row[i + 1]] += block @ v[first[t] : first[t + 1]]
                end += block.size
    return found


def _moved_back(group: ConstraintGroup, tree_nv: _Index, moved: _Float) -> ConstraintGroup:
    """Constraints with their positions before a motion of the velocities."""
    name = _POSITIONS.get(group.kind)
    position = None if name is None else group.parameters[name]
    # with R and v_hat given, positions are information only
    if name is None or position is None or hasattr(group, "R"):
        return group
    rows = row_velocities(group.J, group.size, group.tree_a, group.tree_b, tree_nv, moved)
    return group.with_fields(**{name: position - rows})


def _coupled(A: _Float, tree_nv: _Index) -> MergedTrees | None:
    """Trees that A couples as one, with all between them; None where there are none."""
    n = len(tree_nv)
    tree_of = np.repeat(np.arange(n), tree_nv)
    rows, columns = np.nonzero(A)
    a, b = tree_of[rows], tree_of[columns]
    if np.array_equal(a, b):
        return None
    # a group ends before a tree that nothing up to there reaches
    reach = np.arange(n)
    np.maximum.at(reach, a, b)
    first = np.ones(n, np.bool_)
    first[1:] = np.maximum.accumulate(reach)[:-1] < np.arange(1, n)
    return MergedTrees(tree_nv, np.cumsum(first) - 1)
