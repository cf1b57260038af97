"""Arguments of every kind: an error by name or a result, never a crash."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sapwood
from point_masses import POINTS
from row_groups import KINDS
from sapwood import SapSettings, SapSolver, Status, _core

ANY_ARRAY = hnp.arrays(
    dtype=st.one_of(hnp.scalar_dtypes(), hnp.array_dtypes(max_size=2), st.just(np.dtype(object))),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7),
)
NUMBERS = st.one_of(st.integers(), st.floats(), st.integers(-2, 7), st.floats(-2.0, 2.0))
GARBAGE = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    st.complex_numbers(),
    st.text(max_size=3),
    st.binary(max_size=20),
    st.lists(NUMBERS, max_size=12),
    st.lists(st.lists(NUMBERS, max_size=4), max_size=4),
    st.dictionaries(st.text(max_size=2), NUMBERS, max_size=2),
    ANY_ARRAY,
    st.sampled_from(
        [object(), np.float64, [[]], np.array(None), range(6), memoryview(b"abcdefgh")]
    ),
)
ARGUMENTS = list(inspect.signature(sapwood.ContactProblem).parameters)
FLOAT_ARRAYS = ["A", "v_star", "J", "mu", "phi0", "k", "tau_d"]

# the casts of NumPy warn where a number overflows
overflow_is_fine = pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")


def attempt(call):
    """Result of a call and None, or None and the text of its TypeError or ValueError."""
    try:
        return call(), None
    except (TypeError, ValueError) as error:
        return None, str(error)


@overflow_is_fine
@given(changes=st.dictionaries(st.sampled_from(ARGUMENTS), GARBAGE, min_size=1, max_size=4))
def test_garbage_problem_is_refused_or_solved(changes):
    problem, refusal = attempt(lambda: sapwood.ContactProblem(**{**POINTS, **changes}))
    if problem is None:
        assert refusal
    else:
        assert sapwood.solve(problem).v.shape == (problem.nv,)


@given(
    st.dictionaries(
        st.sampled_from(FLOAT_ARRAYS), st.lists(st.floats(), min_size=1, max_size=8), min_size=1
    )
)
def test_wild_numbers_in_the_right_shape_are_refused_or_solved(wild):
    changes = {name: np.resize(values, np.shape(POINTS[name])) for name, values in wild.items()}
    problem, refusal = attempt(lambda: sapwood.ContactProblem(**{**POINTS, **changes}))
    if problem is None:
        # k stands for all parameters of a contact that give no finite R and v_hat together
        names = (*wild, "J", "R_t", "R_n", "v_hat_n", "k")
        assert any(refusal.startswith(name) for name in names)
    else:
        assert sapwood.solve(problem).status in Status


FINE = {
    "J": np.eye(2, 6), "phi0": 0.0, "g": 0.0, "k": 1e3, "tau_d": 0.01, "force_upper": 1.0,
    "Kp": 1.0, "Kd": 1.0, "effort": 2.0, "f": 1.0,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_fine_arguments_are_fine(kind):
    """So that what is refused below is so for the garbage in it."""
    fine = {name: FINE[name] for name in inspect.signature(kind).parameters if name in FINE}
    problem = sapwood.ContactProblem(**POINTS, constraints=[kind(**fine)])
    assert sapwood.solve(problem).status == Status.converged


@overflow_is_fine
@given(kind=st.sampled_from(KINDS), data=st.data())
def test_garbage_groups_are_refused_or_solved(kind, data):
    names = list(inspect.signature(kind).parameters)
    fine = {name: value for name, value in FINE.items() if name in names}
    changes = data.draw(st.dictionaries(st.sampled_from(names), GARBAGE, min_size=1, max_size=3))
    group, refusal = attempt(lambda: kind(**{**fine, **changes}))
    if group is None:
        assert refusal
        return
    problem, refusal = attempt(lambda: sapwood.ContactProblem(**POINTS, constraints=[group]))
    if problem is None:
        assert refusal.startswith("constraints[0].")
    else:
        assert len(sapwood.solve(problem).constraints[0].gamma) == group.n_rows


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_controller_without_gains_is_refused_by_its_gain(zero):
    with pytest.raises(ValueError, match=r"^constraints\[0\]\.Kp\[0\]"):
        sapwood.ContactProblem(
            **POINTS, constraints=[sapwood.Controllers(np.eye(2, 6), Kp=zero, Kd=zero, effort=2.0)]
        )


@given(kind=st.sampled_from(KINDS), data=st.data())
def test_wild_numbers_of_groups_are_refused_or_solved(kind, data):
    names = [name for name in inspect.signature(kind).parameters if name in FINE and name != "J"]
    wild = {name: data.draw(st.floats(), name) for name in names}
    given_rows = {
        "R": st.floats(),
        "v_hat": st.floats(),
        "lower": st.floats(),
        "upper": st.floats(),
    }
    if data.draw(st.booleans()):
        wild = {name: data.draw(values, name) for name, values in given_rows.items()}
    problem, refusal = attempt(
        lambda: sapwood.ContactProblem(**POINTS, constraints=[kind(np.eye(2, 6), **wild)])
    )
    if problem is None:
        assert any(name in refusal for name in (*wild, "R and v_hat"))
    else:
        assert sapwood.solve(problem).status in Status


@given(st.dictionaries(st.sampled_from(list(_core.default_settings())), GARBAGE, min_size=1))
def test_garbage_settings_are_refused_or_work(changes):
    settings, refusal = attempt(lambda: SapSettings(**changes))
    if settings is None:
        assert any(refusal.startswith(name) for name in changes)
    else:
        few = dataclasses.replace(settings, max_iterations=min(settings.max_iterations, 100))
        solution = sapwood.solve(sapwood.ContactProblem(**POINTS), settings=few)
        assert solution.v.shape == (6,)


@overflow_is_fine
@given(y=GARBAGE, mu=GARBAGE, R_t=GARBAGE, R_n=GARBAGE, soft_norm=GARBAGE)
def test_garbage_contacts_are_refused_or_projected(y, mu, R_t, R_n, soft_norm):
    law, refusal = attempt(lambda: sapwood.project(y, mu, R_t, R_n, soft_norm))
    if law is None:
        assert refusal
    else:
        assert law.gamma.shape[-1] == 3


@overflow_is_fine
@given(v=GARBAGE, alpha=GARBAGE)
def test_garbage_velocities_are_refused_or_used(v, alpha):
    problem, solver = sapwood.ContactProblem(**POINTS), SapSolver()
    v_star = problem.v_star
    for call in (
        lambda: solver.solve(problem, v).v,
        lambda: solver.evaluate(problem, v).gradient,
        lambda: solver.along_line(problem, v_star, v_star, alpha).slope,
    ):
        result, refusal = attempt(call)
        assert refusal or isinstance(result, np.ndarray)
