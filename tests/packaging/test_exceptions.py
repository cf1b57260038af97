"""Exceptions travel: by pickle between processes, and through what raises their texts again."""

from __future__ import annotations

import importlib
import pickle
import pkgutil

import pytest

import sapwood
from sapwood.reference.linalg.cholesky import NotPositiveDefinite
from sapwood.stepping import FreeMotionError, SteppingError
from sapwood.trajectory import TrajectoryError


def own_exceptions():
    """All exception classes that the package defines, where their modules can be imported."""
    names = [module.name for module in pkgutil.walk_packages(sapwood.__path__, "sapwood.")]
    for name in names:
        if name != "sapwood.__main__":
            try:
                importlib.import_module(name)
            except ImportError:
                continue  # the module needs a package that is not installed
    found, waiting = [], [BaseException]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            if kind.__module__.split(".")[0] == "sapwood":
                found.append(kind)
    return sorted(set(found), key=lambda kind: (kind.__module__, kind.__qualname__))


KINDS = own_exceptions()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__qualname__)
def test_a_text_alone_makes_one(kind):
    """An exception is made from another one, as by `exctype(value)` in AsyncVectorEnv."""
    for value in ("no more", kind("no more"), RuntimeError("no more")):
        error = kind(value)
        assert str(error) == "no more"
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is kind
        assert str(copy) == "no more"


COMPLETE = [
    SteppingError("too far", 3, 0.25),
    FreeMotionError("too far", 3, 0.25, 1e-3, 7),
    TrajectoryError("too far", 3),
    NotPositiveDefinite.at(2),
]


@pytest.mark.parametrize("error", COMPLETE, ids=lambda error: type(error).__name__)
def test_pickles_keep_text_and_attributes(error):
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
    assert vars(error)
