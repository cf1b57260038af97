"""Arguments that NumPy would read as something else than their caller meant are refused by name."""

from __future__ import annotations

import copy
import math
import re
from fractions import Fraction

import numpy as np
import pytest

import sapwood
from sapwood import fem, lcp, qp
from sapwood.base import checks
from sapwood.base.processors import MOST_THREADS, thread_count

EYE = np.eye(3)
V_STAR = np.array([0.0, 0.0, -1.0])
M, Q = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-5.0, -6.0])


def masked(values, *index):
    found = np.ma.masked_array(np.array(values, float))
    found[index or ()] = np.ma.masked
    return found


def problem(**given):
    numbers = {"phi0": 0.0, "k": 1e5, "tau_d": 0.01, "dt": 0.01, "mu": 0.5} | given
    return sapwood.ContactProblem([3], EYE.ravel(), V_STAR, [0], [-1], EYE.ravel(), **numbers)


MASKED = {
    "M[1, 2]": lambda: sapwood.solve_dense(masked(EYE, 1, 2), V_STAR, EYE, 0.5, R=1e-4),
    "mu[0]": lambda: problem(mu=masked([0.5], 0)),
    "mu": lambda: sapwood.solve_dense(EYE, V_STAR, EYE, np.ma.masked, R=1e-4),
    "dt": lambda: problem(dt=masked(0.01)),
    "v_guess[2]": lambda: sapwood.solve(problem(), masked(V_STAR, 2)),
    "q[1]": lambda: lcp.solve(M, masked(Q, 1)),
    "z0[0]": lambda: lcp.solve(M, Q, "ppm", masked(Q, 0)),
    "upper[1]": lambda: qp.solve(M, Q, upper=masked(Q, 1)),
    "core": lambda: problem(core=np.ma.masked, kappa=1.0),
    "friction": lambda: sapwood.ContactMaterial(friction=np.ma.masked),
    "vertices[0, 0]": lambda: fem.Mesh(masked(EYE, 0, 0), np.zeros((0, 4), int)),
}


@pytest.mark.parametrize("name", MASKED)
def test_a_masked_entry_is_named(name):
    with pytest.raises(ValueError, match=f"^{re.escape(name)} is masked: fill it with a number$"):
        MASKED[name]()


def test_masked_arrays_without_masked_entries_are_arrays():
    given = (np.ma.masked_array(x) for x in (EYE, V_STAR, EYE, [0.5]))
    expected = sapwood.solve_dense(EYE, V_STAR, EYE, [0.5], R=1e-4)
    assert sapwood.solve_dense(*given, R=1e-4) == expected
    hard = np.ma.masked_array(V_STAR, mask=[False, False, False])
    assert sapwood.solve_dense(EYE, hard, EYE, [0.5], R=1e-4) == expected


RAGGED = {
    "mu": lambda: problem(mu=[[1], [1, 2]]),
    "tree_a": lambda: sapwood.ContactProblem(
        [3], EYE.ravel(), V_STAR, [[0], [1, 2]], [-1], EYE.ravel(), 0.5, dt=0.01, R_t=1, R_n=1
    ),
    "core": lambda: problem(core=[["log"], ["log", "exp"]]),
    "z0": lambda: lcp.solve(M, Q, "ppm", [[1], [1, 2]]),
    "lower": lambda: qp.solve(M, Q, lower=[[1], [1, 2]]),
}


@pytest.mark.parametrize("name", RAGGED)
def test_a_ragged_list_is_named(name):
    with pytest.raises(ValueError, match=f"^{name} cannot be read as an array: "):
        RAGGED[name]()


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (np.array([1.0, 2.0]), ValueError, "x has shape (2,), expected ()"),
        (np.array("1.0"), TypeError, "x must hold real numbers, not <U3"),
        (np.complex128(1j), TypeError, "x must hold real numbers, not complex128"),
        (np.array(None), TypeError, "x must hold real numbers, not object"),
        (np.bool_(1), TypeError, "x must hold real numbers, not bool"),
        (10**400, ValueError, "x: int too large to convert to float"),
        (1j, TypeError, "x must be a real number, not complex"),
        (True, TypeError, "x must be a real number, not bool"),
        ("1", TypeError, "x must be a real number, not str"),
    ],
)
def test_what_is_no_real_number(value, error, text):
    with pytest.raises(error, match=f"^{re.escape(text)}$"):
        checks.real(value, "x")


def test_real_numbers_of_any_kind():
    for value in (3, 3.0, np.float32(3), np.int8(3), np.array(3), Fraction(6, 2)):
        assert checks.real(value, "x") == 3.0


@pytest.mark.parametrize(
    "value", [np.array([1, 2]), np.array(1.0), np.ma.masked_array(1), np.bool_(1), True, None, 1.0]
)
def test_what_is_no_integer(value):
    with pytest.raises(TypeError, match=f"^n must be an integer, not {type(value).__name__}$"):
        checks.integer(value, "n")


def test_integers_of_any_kind():
    assert [checks.integer(n, "n", 3, 3) for n in (3, np.int8(3), np.array(3))] == [3, 3, 3]
    for n in (2, 4):
        with pytest.raises(ValueError, match=f"n = {n}: must be from 3 to 3"):
            checks.integer(n, "n", 3, 3)


def test_friction_is_never_left_out():
    with pytest.raises(TypeError, match="mu must hold real numbers"):
        sapwood.solve_dense(EYE, V_STAR, EYE, None, R=1e-4)


THREADS = {
    "solve_batch": lambda n: sapwood.solve_batch([problem()], threads=n),
    "vjp_batch": lambda n: sapwood.vjp_batch(
        sapwood.solve_batch([problem()], sensitivity=True), [V_STAR], threads=n
    ),
    "lcp": lambda n: lcp.solve_batch(M[None], Q[None], threads=n),
    "qp": lambda n: qp.solve_batch(M[None], Q[None], threads=n),
}


@pytest.mark.parametrize("call", THREADS)
def test_any_number_of_threads_may_share_problems(call):
    for allowed in (MOST_THREADS + 1, 2**31, 10**30):
        assert len(THREADS[call](allowed)) == 1
    with pytest.raises(ValueError, match=r"^threads = 0: must be >= 1$"):
        THREADS[call](0)
    with pytest.raises(TypeError, match="threads must be an integer, not float"):
        THREADS[call](1.0)


def test_a_world_has_as_many_threads_as_a_solver():
    for wrong in (0, MOST_THREADS + 1, 10**30):
        with pytest.raises(ValueError, match=f"^threads = {wrong}: must be from 1 to 256$"):
            fem.World([], threads=wrong)


def test_the_default_number_of_threads():
    assert thread_count(None, default=3) == 3
    assert thread_count(None, default=1000) == MOST_THREADS
    assert thread_count(5, default=3) == 5


@pytest.mark.parametrize(
    ("name", "good", "wrong"),
    [
        ("passes", 3, 0), ("sigma", 1e-4, -1.0), ("beta", 0.0, math.nan), ("time_step", 0.1, 0.0),
        ("nonlinear_tolerance", 1e-6, math.inf), ("delassus", "diagonal", "dense"),
        ("gravity", (0.0, 0.0, 1.0), (0.0, 0.0, math.nan)), ("scheme", "midpoint", "euler"),
        ("free_motion_first", True, 1), ("time", 2.0, math.inf),
    ],
)  # fmt: skip
def test_attributes_of_a_world_obey_the_rules_of_its_arguments(name, good, wrong):
    """A value that is refused leaves the one before, and a copy obeys them, too."""
    world = copy.deepcopy(fem.World([]))
    setattr(world, name, good)
    kept = getattr(world, name)
    if name != "time":
        with pytest.raises((ValueError, TypeError)) as expected:
            fem.World([], **{name: wrong})
        with pytest.raises(type(expected.value), match=f"^{re.escape(str(expected.value))}$"):
            setattr(world, name, wrong)
    else:
        with pytest.raises(ValueError, match=r"^time = inf: must be finite$"):
            world.time = wrong
    assert getattr(world, name) is kept
    if name != "time":
        np.testing.assert_array_equal(kept, getattr(fem.World([], **{name: good}), name))


@pytest.mark.parametrize("name", ["rigid", "settings", "threads"])
def test_what_a_world_is_made_with_stays(name):
    world = fem.World([])
    kept = getattr(world, name)
    with pytest.raises(AttributeError, match=f"^{name}: a World is made with it"):
        setattr(world, name, kept)
    assert getattr(world, name) is kept


def test_bodies_of_a_world_may_be_others():
    """A world steps the bodies that it has got, and none that it cannot take."""
    rubber = fem.Material(young=1e5, poisson=0.3, density=1000.0)
    first, second = (fem.SoftBody(fem.box([0.1] * 3, 1), rubber) for _ in range(2))
    world = fem.World([first])
    world.bodies = [second]
    world.step()
    assert not first.velocities.any()
    np.testing.assert_allclose(second.velocities, [[0.0, 0.0, -0.0981]] * 8, atol=1e-12)
    with pytest.raises(ValueError, match="bodies: has the same body twice"):
        world.bodies = [first, first]
    with pytest.raises(TypeError, match=r"planes\[0\]"):
        world.planes = [first]
    assert world.bodies == (second,)
    with pytest.raises(ValueError, match="read-only"):
        world.gravity[2] = math.nan
