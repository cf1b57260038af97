"""Equality of the public results that hold arrays."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re

import numpy as np
import pytest

import sapwood
from sapwood.base.equality import equal_values

# PyTorch and JAX compare their own arrays with ==
OTHERS = {"BridgedSolution"}


def public_classes():
    """Public named tuples and dataclasses with a field whose annotation is an array."""
    pytest.importorskip("mujoco")
    modules = [sapwood, *(getattr(sapwood, name) for name in ("fem", "geometry", "invdyn", "laws"))]
    modules += [getattr(sapwood, name) for name in ("mujoco", "problem", "qp", "reference")]
    modules += [sapwood.stepping, sapwood.trajectory]
    names = [getattr(module, name) for module in modules for name in module.__all__]
    found = {*filter(inspect.isclass, names), sapwood.lcp.LcpSolution}
    for kind in sorted(found, key=lambda kind: kind.__name__):
        fields = " ".join(map(str, inspect.get_annotations(kind).values()))
        holds = re.search(r"Array|_Float|_Index|_Real|_Fields|Index", fields)
        tuples = issubclass(kind, tuple) and hasattr(kind, "_fields")
        if holds and (tuples or dataclasses.is_dataclass(kind)) and kind.__name__ not in OTHERS:
            yield kind


def filled(kind, value):
    """An object whose fields are arrays."""
    if issubclass(kind, tuple):
        return kind(*(np.full(2, value) for _ in kind._fields))
    made = object.__new__(kind)
    for field in dataclasses.fields(kind):
        object.__setattr__(made, field.name, np.full(2, value))
    return made


def test_public_results_compare_without_an_error():
    kinds, by_value = list(public_classes()), 0
    for kind in kinds:
        if kind is sapwood.Solution:
            continue
        one = filled(kind, np.nan)
        assert one == one, kind
        assert isinstance(one == filled(kind, np.nan), bool), kind
        assert one != filled(kind, 1.0), kind
        assert one != 3, kind
        if kind.__eq__ is not object.__eq__:
            by_value += 1
            assert one == filled(kind, np.nan), kind
            with pytest.raises(TypeError, match="unhashable"):
                hash(one)
    assert len(kinds) > by_value > 15


def test_values_within_values_are_compared():
    arrays = {"a": (np.arange(3.0), {"b": np.array([np.nan, 1.0])}), "c": "text"}
    other = copy.deepcopy(arrays)
    assert equal_values(arrays, other)
    other["a"][1]["b"][1] = 2.0
    assert not equal_values(arrays, other)
    assert not equal_values(arrays, {"a": arrays["a"]})
    assert not equal_values((np.zeros(2), 1), (np.zeros(3), 1))
    assert not equal_values((np.zeros(2),), np.zeros(2))


def test_results_of_equal_steps_are_equal():
    mujoco = pytest.importorskip("mujoco")
    model = sapwood.studies.scenes.sphere_on_floor(0.1).compile()
    stepper, data = sapwood.mujoco.Stepper(model), mujoco.MjData(model)
    one, other = (sapwood.mujoco.linearize(stepper, data) for _ in range(2))
    assert one == other
    data.qvel[0] = 1.0
    assert one != sapwood.mujoco.linearize(stepper, data)

    def soft_step(speed):
        body = sapwood.fem.SoftBody(
            sapwood.fem.box([0.1] * 3, 1),
            sapwood.fem.Material(young=1e5, poisson=0.3, density=1000.0),
        )
        body.velocities[:, 0] = speed
        world = sapwood.fem.World([body], time_step=0.01)
        return world.step()

    assert soft_step(0.0) == soft_step(0.0)
    assert soft_step(0.0) != soft_step(0.1)
