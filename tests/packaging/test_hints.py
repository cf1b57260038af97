"""Errors that newcomers meet say what to write instead."""

from __future__ import annotations

import inspect
import math
import pickle
import re

import numpy as np
import pytest

import sapwood
from sapwood import qp
from sapwood.base.checks import stiffness
from sapwood.base.hints import MEANT, explained, nearest
from sapwood.constraints.materials import custom_stiffness, element_stiffness
from sapwood.laws.materials import Geoms, custom_materials, geom_materials

M = np.eye(3)
ZERO = np.zeros(3)
POINT = {"phi0": 0.0, "k": 1e5, "tau_d": 0.01, "dt": 0.01}

UNKNOWN_ARGUMENTS = {
    "SapSettings has no argument 'tolerance': write relative_tolerance=": (
        lambda: sapwood.SapSettings(tolerance=1e-6)
    ),
    "SapSettings has no argument 'max_iter': write max_iterations=": (
        lambda: sapwood.SapSettings(max_iter=5)
    ),
    "ContactMaterial has no argument 'mu': write friction=": (
        lambda: sapwood.ContactMaterial(mu=0.5)
    ),
    "ContactMaterial has no argument 'damping': write dissipation_time=": (
        lambda: sapwood.ContactMaterial(damping=0.5)
    ),
    "ConstraintMaterial has no argument 'k': write stiffness=": (
        lambda: sapwood.ConstraintMaterial(k=1e5)
    ),
    "ContactProblem.from_dense has no argument 'friction': write mu=": (
        lambda: sapwood.ContactProblem.from_dense(M, ZERO, M, friction=0.5, **POINT)
    ),
    "ContactProblem.from_dense has no argument 'time_step': write dt=": (
        lambda: sapwood.ContactProblem.from_dense(M, ZERO, time_step=0.1)
    ),
    "ContactProblem.from_dense has no argument 'phi'; did you mean 'phi0'?": (
        lambda: sapwood.ContactProblem.from_dense(M, ZERO, M, phi=0.0)
    ),
    "solve has no argument 'rtol': write settings=sapwood.SapSettings(relative_tolerance=...)": (
        lambda: sapwood.solve(None, rtol=1.0)
    ),
    "solve has no argument 'G': write C=-G, d=-h: inequalities are C x >= d": (
        lambda: qp.solve(M, ZERO, G=M, h=ZERO)
    ),
    "solve has no argument 'lb': write lower=": (lambda: qp.solve(M, ZERO, lb=0.0)),
    "solve has no argument 'P': write H=": (lambda: qp.solve(P=M, q=ZERO)),
    "solve_batch has no argument 'tol': write tolerance=": (
        lambda: qp.solve_batch([M], [ZERO], tol=1e-3)
    ),
}


@pytest.mark.parametrize("text", UNKNOWN_ARGUMENTS)
def test_an_unknown_argument_says_which_was_meant(text):
    with pytest.raises(TypeError) as caught:
        UNKNOWN_ARGUMENTS[text]()
    assert str(caught.value) == text


@explained(order="write one, two")
def of_two(one, two=0, *, three=0):
    if three:
        raise TypeError("of its own")
    return one + two


def test_other_errors_pass():
    assert of_two(1, two=2) == 3
    with pytest.raises(TypeError, match="of its own"):
        of_two(1, three=1)
    with pytest.raises(TypeError, match="missing 1 required"):
        of_two()
    with pytest.raises(TypeError, match=r"^write one, two$"):
        of_two(1, 2, 3)
    with pytest.raises(TypeError, match=r"has no argument 'x'; there are 'one', 'two', 'three'$"):
        of_two(1, x=1)


def test_decorated_classes_stay_what_they_are():
    assert list(inspect.signature(of_two).parameters) == ["one", "two", "three"]
    settings = sapwood.SapSettings(relative_tolerance=1e-9)
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert "relative_tolerance" in inspect.signature(sapwood.SapSettings).parameters


def test_what_is_written_instead_exists():
    """Each text begins with an argument of something public."""
    pytest.importorskip("mujoco")
    decorated = [
        sapwood.SapSettings, sapwood.ContactMaterial, sapwood.ContactProblem.from_dense,
        sapwood.solve, qp.solve, sapwood.mujoco.Stepper, sapwood.mujoco.Rollout,
        sapwood.mujoco.rollout, qp.solve_batch,
    ]  # fmt: skip
    arguments = {name for f in decorated for name in inspect.signature(f).parameters}
    begin = {text: re.match(r"\w+", text)[0] for texts in MEANT.values() for text in texts}
    assert {text: name for text, name in begin.items() if name not in arguments} == {}
    for text in begin:
        for kind, field in re.findall(r"sapwood\.(\w+)\((\w+)=", text):
            assert field in inspect.signature(getattr(sapwood, kind)).parameters


def test_names_of_other_modules_are_told():
    pytest.importorskip("mujoco")
    for name in ("Stepper", "Rollout", "rollout", "patch", "NotSupported", "DifferentiableModel"):
        with pytest.raises(AttributeError, match=rf"write sapwood\.mujoco\.{name}$"):
            getattr(sapwood, name)
        assert hasattr(sapwood.mujoco, name)
    with pytest.raises(AttributeError, match=r"write sapwood\.invdyn\.InverseDynamics$"):
        sapwood.InverseDynamics  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'solv'$"):
        sapwood.solv  # noqa: B018


@pytest.mark.parametrize("call", [sapwood.solve, sapwood.SapSolver().solve], ids=["solve", "kept"])
def test_arrays_in_the_place_of_a_problem(call):
    arrays = (M, ZERO, M) if call is sapwood.solve else (M,)
    with pytest.raises(TypeError, match=r"must be a ContactProblem, not ndarray: .*from_dense\(A,"):
        call(*arrays)


@pytest.mark.parametrize("value", [0.5, 1])
def test_a_number_is_no_law_of_friction(value):
    problem = sapwood.ContactProblem.from_dense(M, ZERO, M, mu=0.5, **POINT)
    for call in (
        lambda: sapwood.SapSettings(friction=value),
        lambda: sapwood.solve(problem, friction=value),
    ):
        with pytest.raises(TypeError, match=rf"must be a law, .* not {value}: .*friction=\.\.\."):
            call()


@pytest.mark.parametrize("value", [-1.0, 0.0, math.nan])
def test_stiffness_may_be_infinite_and_the_error_says_so(value):
    assert stiffness(math.inf, "k") == math.inf
    for make in (
        lambda: sapwood.ContactMaterial(stiffness=value),
        lambda: sapwood.ConstraintMaterial(stiffness=value),
    ):
        with pytest.raises(ValueError, match=rf"stiffness = {value:g}: must be > 0; inf is rigid"):
            make()
    with pytest.raises(ValueError, match=r"rotational_stiffness = .*; inf is rigid"):
        sapwood.ConstraintMaterial(1.0, rotational_stiffness=value)


# ---- names of a model --------------------------------------------------------------------------


def test_the_nearest_name_is_told():
    assert nearest("flor", ["", "floor", "crate"]) == "; did you mean 'floor'?"
    assert nearest("x", ["a", "b"]) == "; there are 'a', 'b'"
    assert nearest("x", [""]) == ""
    assert nearest("x", "abcdefg").endswith("'e' and 2 more")


def test_names_of_materials():
    soft = sapwood.ContactMaterial(1e5)
    geoms = Geoms(["floor", "foot"], np.zeros(2, np.int32), np.ones(2), {})
    wrong = geoms.__class__(geoms.names, geoms.groups, geoms.friction, {"sapwood/geom/fot": [1e5]})
    spring = sapwood.ConstraintMaterial(1e5)
    names = {"joint": ["knee"], "tendon": [], "equality": []}
    for call, name in (
        (lambda: geom_materials(geoms, None, {"fot": soft}, 0.01), "foot"),
        (lambda: custom_materials(wrong), "foot"),
        (lambda: element_stiffness(names, {}, None, {"joint/kne": spring}, 0.01), "knee"),
        (lambda: custom_stiffness(names, {"sapwood/joint/kne": [1e5]}), "knee"),
    ):
        with pytest.raises(ValueError, match=rf"; did you mean '{name}'\?$"):
            call()
