"""Other solvers of the same contact problem, to compare with, behind the interface of `base.Peer`.

A new peer is a module with a subclass of `Peer` and a line in `_MODULES`.
"""

from __future__ import annotations

import importlib
import math

from sapwood.studies.peers.base import Answer, Peer, PeerError

# name on the command line: (module, class)
_MODULES = {
    "sapwood": ("sapwood_solver", "Sapwood"),
    "sapwood-plain": ("sapwood_solver", "SapwoodPlain"),
    "mujoco": ("mujoco_newton", "MujocoNewton"),
    "mujoco-mindeg": ("mujoco_newton", "MujocoNewtonMinimumDegree"),
    "clarabel": ("clarabel_conic", "ClarabelConic"),
    "qoco": ("qoco_conic", "QocoConic"),
    "scs": ("scs_conic", "ScsConic"),
    "ecos": ("ecos_conic", "EcosConic"),
    "geodesic": ("geodesic", "Geodesic"),
    "scipy": ("scipy_newton", "ScipyNewton"),
    "reference": ("sapwood_reference", "SapwoodReference"),
}

# solvers that Python cannot give a problem to, and why
_OUT_OF_REACH = {
    "drake": "pydrake runs SapSolver inside a MultibodyPlant only, on contacts that the plant "
    "finds itself; times recorded with its C++ library can stand beside the others",
}
NAMES = (*_MODULES, *_OUT_OF_REACH)

__all__ = ["NAMES", "Answer", "Peer", "PeerError", "load"]


def load(name: str, patience: float = math.inf) -> Peer:
    """Make the peer of this name.

    Parameters
    ----------
    name
        One of `NAMES`.
    patience
        See `Peer`, s.

    Raises
    ------
    ImportError
        A package it needs is not installed, or gives no access to the solver.
    """
    if name in _OUT_OF_REACH:
        raise ImportError(_OUT_OF_REACH[name])
    module, class_name = _MODULES[name]
    peer: Peer = getattr(importlib.import_module(f"sapwood.studies.peers.{module}"), class_name)()
    peer.patience = patience
    return peer
