"""Peers by name, and what they make of a problem."""

from __future__ import annotations

import pytest

import helpers
from sapwood.studies import peers

FRICTIONLESS = helpers.DATA / "clutter_8_frictionless_block.npz"


def load_peer(name: str) -> peers.Peer:
    try:
        return peers.load(name)
    except ImportError as error:
        pytest.skip(str(error))


def posed(peer, problem, tolerance, mode="cold"):
    form = peer.form(problem)
    call = peer.solve(form, tolerance, mode)
    call()
    return peer.answer(form, call())
