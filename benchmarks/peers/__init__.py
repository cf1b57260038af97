"""The solvers that are compared, one module each, behind the interface of `base.Peer`.

A new peer is a module with a subclass of `Peer` and a line in `_MODULES`.
"""

from __future__ import annotations

import importlib

from benchmarks.peers.base import Answer, Peer, PeerError

# name on the command line: (module, class)
_MODULES = {
    "sapwood": ("sapwood_core", "Sapwood"),
    "sapwood-plain": ("sapwood_core", "SapwoodPlain"),
    "scipy": ("scipy_newton", "ScipyNewton"),
    "clarabel": ("clarabel_conic", "ClarabelConic"),
    "reference": ("sapwood_reference", "SapwoodReference"),
}
NAMES = tuple(_MODULES)

__all__ = ["NAMES", "Answer", "Peer", "PeerError", "load"]


def load(name: str) -> Peer:
    """Make the peer of this name.

    Raises
    ------
    ImportError
        A package it needs is not installed.
    """
    module, class_name = _MODULES[name]
    peer: Peer = getattr(importlib.import_module(f"benchmarks.peers.{module}"), class_name)()
    return peer
