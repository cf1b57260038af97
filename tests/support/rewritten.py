"""The same problem written in another way."""

from __future__ import annotations

import numpy as np

import helpers
import sapwood


def reordered(problem, rng):
    """Trees and contacts in another order.

    Returns
    -------
    other : ContactProblem
        The problem.
    columns : ndarray (nv)
        Velocity ``v[columns]`` of the problem is ``v`` of the other.
    contacts : ndarray (n_contacts)
        Contact ``contacts[i]`` is number i of the other.
    """
    trees = rng.permutation(problem.n_trees)  # new tree k is old tree trees[k]
    contacts = rng.permutation(problem.n_contacts)
    at = helpers.sections(problem)
    columns = np.concatenate([np.arange(at[t].start, at[t].stop) for t in trees])
    new_index = np.append(np.argsort(trees), -1)  # tree_b = -1 stays -1
    blocks = helpers.jacobian_blocks(problem)
    other = helpers.rebuild(
        problem,
        tree_nv=problem.tree_nv[trees],
        A=np.concatenate([problem.A_block(t).ravel() for t in trees]),
        v_star=problem.v_star[columns],
        tree_a=new_index[problem.tree_a[contacts]],
        tree_b=new_index[problem.tree_b[contacts]],
        J=helpers.pack_J([blocks[i] for i in contacts]),
        mu=problem.mu[contacts],
        R_t=problem.R_t[contacts],
        R_n=problem.R_n[contacts],
        v_hat_n=problem.v_hat_n[contacts],
    )
    return other, columns, contacts


def in_other_units(problem, rng):
    """Other units of mass and of every velocity.

    All factors are powers of two (of four for the mass, whose root is taken), so every operation
    scales exactly. Absolute tolerances have units: they must be off.

    Returns
    -------
    other : ContactProblem
        The problem.
    mass : float
        Impulses, costs and bounds are as many times larger.
    S : ndarray (nv)
        Velocities are.
    """
    mass, S = 16.0, 2.0 ** rng.integers(-3, 4, problem.nv)
    at = helpers.sections(problem)
    scaled_A = [mass * problem.A_block(t) / np.outer(S[here], S[here]) for t, here in enumerate(at)]
    blocks = []
    for i in range(problem.n_contacts):
        scaled = [J / S[at[t]] for t, J in helpers.contact_jacobian(problem, i)]
        blocks.append((scaled[0], scaled[1] if len(scaled) == 2 else None))
    bound = problem.friction_bound
    other = helpers.rebuild(
        problem,
        A=np.concatenate([A.ravel() for A in scaled_A]),
        v_star=S * problem.v_star,
        J=helpers.pack_J(blocks),
        R_t=problem.R_t / mass,
        R_n=problem.R_n / mass,
        friction_bound=None if bound is None else mass * bound,
    )
    return other, mass, S


def side_by_side(problems):
    """One problem of several, none of which touches another; without rows of other kinds."""
    trees = np.cumsum([0] + [p.n_trees for p in problems])
    contacts = np.cumsum([0] + [p.n_contacts for p in problems])
    names = "tree_nv A v_star J mu R_t R_n v_hat_n".split()
    names += [n for n in ("v_hat_t", "friction_bound") if getattr(problems[0], n) is not None]
    joined = {name: np.concatenate([getattr(p, name) for p in problems]) for name in names}
    joined["tree_a"] = np.concatenate([p.tree_a + t for p, t in zip(problems, trees, strict=False)])
    joined["tree_b"] = np.concatenate(
        [np.where(p.tree_b < 0, -1, p.tree_b + t) for p, t in zip(problems, trees, strict=False)]
    )
    spun = [
        (p, first)
        for p, first in zip(problems, contacts, strict=False)
        if p.spin_contact is not None
    ]
    if spun:
        joined["spin_contact"] = np.concatenate([p.spin_contact + first for p, first in spun])
        for name in ("spin_J", "spin_mu"):
            joined[name] = np.concatenate([getattr(p, name) for p, _ in spun])
    return sapwood.ContactProblem(**joined, dt=problems[0].dt)
