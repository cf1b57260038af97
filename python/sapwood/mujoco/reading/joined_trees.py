"""The trees of the contact problem: those of MuJoCo, some of which count as one.

A constraint of the problem moves one or two trees. Where an element moves more of MuJoCo's trees,
these are one tree of the problem, with all trees between them, as the velocities of a tree follow
each other. Its mass matrix has blocks of zeros, so the solution is the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.reading.support import IGNORABLE, SELF_CONTACT, colliding_flexes
from sapwood.mujoco.reading.trees import (
    has_nodes,
    trees_of_equality,
    trees_of_flex,
    trees_of_tendon,
)

_EQUALITY, _GEOM = mujoco.mjtEq, mujoco.mjtGeom


def joined_trees(model: mujoco.MjModel, elsewhere: Collection[int] = ()) -> NDArray[np.int32]:
    """Tree of the problem that each tree of MuJoCo belongs to.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    elsewhere : collection of int
        Flexes whose contacts are not for the C core.

    Returns
    -------
    ndarray of int32 (ntree,)
        Numbers from 0 on, ascending.
    """
    follows = np.zeros(model.ntree, bool)  # is the tree joined to the one before it?
    for trees in _sets(model, elsewhere):
        if len(trees) > 2:
            follows[min(trees) + 1 : max(trees) + 1] = True
    return (np.cumsum(~follows) - 1).astype(np.int32)


def trees_of_problem(joined: NDArray[np.int32], trees: Collection[int]) -> set[int]:
    """Trees of the problem that some trees of MuJoCo belong to.

    Parameters
    ----------
    joined : ndarray of int32 (ntree,)
        Of :func:`joined_trees`.
    trees : collection of int
        Trees of MuJoCo.

    Returns
    -------
    set of int
        Trees of the problem.
    """
    return set(joined[list(trees)].tolist())


def _sets(model: mujoco.MjModel, elsewhere: Collection[int]) -> Iterator[set[int]]:
    """Trees that rows of a constraint may move."""
    off = model.opt.disableflags
    holds = np.zeros(model.ntendon, bool)
    if not off & IGNORABLE["limit"]:
        holds |= np.asarray(model.tendon_limited, bool)
    if not off & IGNORABLE["frictionloss"]:
        holds |= np.asarray(model.tendon_frictionloss) > 0
    for tendon in np.flatnonzero(holds & (model.tendon_treenum > 2)).tolist():
        yield trees_of_tendon(model, tendon)
    for i in range(0 if off & IGNORABLE["equality"] else model.neq):
        # an edge is between two vertices
        is_edges = model.eq_type[i] == _EQUALITY.mjEQ_FLEX
        if not is_edges or has_nodes(model, int(model.eq_obj1id[i])):
            yield trees_of_equality(model, i)
    for flex in np.setdiff1d(colliding_flexes(model), list(elsewhere)).tolist():
        if has_nodes(model, flex) or meets_more_than_planes(model, flex):
            yield trees_of_flex(model, flex)


def meets_more_than_planes(model: mujoco.MjModel, flex: int) -> bool:
    """Whether contacts may be with elements of a flex; those with planes are with vertices.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    flex : int
        A flex with contacts.

    Returns
    -------
    bool
        Whether there may be contacts of more trees than two.
    """
    kind, bits = model.flex_contype[flex], model.flex_conaffinity[flex]
    geoms = (model.geom_contype & bits | model.geom_conaffinity & kind) != 0
    flexes = (model.flex_contype & bits | model.flex_conaffinity & kind) != 0
    flexes[flex] &= any(getattr(model, name)[flex] for name in SELF_CONTACT)
    return bool(flexes.any() or (geoms & (model.geom_type != _GEOM.mjGEOM_PLANE)).any())
