"""Torsional and rolling friction, and bounds of friction, as a problem holds them."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest

import helpers
import sapwood
from point_masses import ALL, EYE, POINTS, REMOVED, SPIN, exactly, points
from sapwood import ContactProblem

TURNING = {**POINTS, **SPIN}
BOTH = {
    "spin_contact": [0, 1],
    "spin_J": np.concatenate([EYE, EYE, -EYE]),
    "spin_mu": np.full((2, 3), 1e-2),
}


def spinning(**changes):
    """The point masses whose contact with each other resists turning, with some changes."""
    return points(**{**SPIN, **changes})


VALUES = [
    ({"spin_contact": [2]}, "spin_contact[0] = 2: must be the index of a contact"),
    ({"spin_contact": [-1]}, "spin_contact[0] = -1: must be the index of a contact"),
    ({**BOTH, "spin_contact": [1, 0]}, "spin_contact[1] = 0: must be ascending"),
    ({**BOTH, "spin_contact": [1, 1]}, "spin_contact[1] = 1: must be ascending"),
    ({"spin_contact": [2**32]}, "spin_contact[0] = 4294967296: does not fit in int32"),
    ({"spin_J": np.full(18, np.nan)}, "spin_J[0]: must be finite"),
    ({"spin_J": [*np.ones(17), np.inf]}, "spin_J[17] = inf: must be finite"),
    ({"spin_mu": [[1e-2, -1e-3, 0.0]]}, "spin_mu[0, 1] = -0.001: must be finite and >= 0"),
    ({"spin_mu": [[0.0, 0.0, np.nan]]}, "spin_mu[0, 2] = nan: must be finite and >= 0"),
    ({"spin_mu": [[np.inf, 0.0, 0.0]]}, "spin_mu[0, 0] = inf: must be finite and >= 0"),
    ({"friction_bound": [0.0, -1.0]}, "friction_bound[1] = -1: must be finite and >= 0, or NaN"),
    ({"friction_bound": [np.inf, 0.0]}, "friction_bound[0] = inf: must be finite and >= 0, or NaN"),
    ({"spin_contact": [0, 1, 1]}, "spin_contact has shape (3,), expected at most (2,)"),
    ({"spin_contact": [[1]]}, "spin_contact has shape (1, 1), expected (any,)"),
    ({"spin_J": np.ones(9)}, "spin_J has shape (9,), expected (18,)"),
    ({"spin_J": np.ones((3, 6))}, "spin_J has shape (3, 6), expected (18,)"),
    ({"spin_mu": np.ones(3)}, "spin_mu has shape (3,), expected (1, 3)"),
    ({"spin_mu": np.ones((2, 3))}, "spin_mu has shape (2, 3), expected (1, 3)"),
    ({"friction_bound": [0.1]}, "friction_bound has shape (1,), expected (2,)"),
]


@pytest.mark.parametrize(("changes", "text"), VALUES, ids=[text for _, text in VALUES])
def test_wrong_value_or_shape_is_named(changes, text):
    with pytest.raises(ValueError, match=exactly(text)):
        spinning(**changes)


@pytest.mark.parametrize("missing", SPIN)
def test_three_arguments_come_together(missing):
    text = "spin_contact, spin_J and spin_mu must be given together"
    with pytest.raises(TypeError, match=exactly(text)):
        spinning(**{missing: REMOVED})


@pytest.mark.parametrize("dtype", [float, complex, bool, object, "U3"])
def test_indices_are_integers(dtype):
    text = f"spin_contact must hold integers, not {np.dtype(dtype)}"
    with pytest.raises(TypeError, match=f"^{re.escape(text)}"):
        spinning(spin_contact=np.zeros(1, dtype))


def test_a_problem_without_says_so():
    problem = points()
    assert problem.spin_contact is problem.spin_J is problem.spin_mu is None
    assert problem.friction_bound is None
    assert problem.n_spins == 0
    assert problem.spin_jacobian().shape == (0, 6)


def test_no_contact_of_many_that_turn():
    problem = points(spin_contact=np.zeros(0, int), spin_J=[], spin_mu=np.zeros((0, 3)))
    assert problem.n_spins == 0
    solution = sapwood.solve(problem)
    assert solution.spin_gamma.shape == solution.spin_v_c.shape == (0, 3)
    assert np.array_equal(solution.v, sapwood.solve(points()).v)


def test_a_solution_without_says_so():
    solution = sapwood.solve(points())
    assert solution.spin_gamma is solution.spin_v_c is None


def test_indices_are_copied():
    contact = np.array([1], np.int32)
    problem = spinning(spin_contact=contact)
    expected = sapwood.solve(problem)
    exposed = problem.spin_contact
    assert not np.shares_memory(exposed, contact)
    assert not exposed.flags.writeable
    contact[:] = 10**6
    # even one who insists cannot reach what the core reads
    exposed.flags.writeable = True
    exposed[:] = 10**6
    assert sapwood.solve(problem) == expected


def test_blocks_and_the_dense_form_hold_the_given_numbers():
    problem = spinning()
    J_a, J_b = problem.spin_blocks(0)
    np.testing.assert_array_equal(np.concatenate([J_a.ravel(), J_b.ravel()]), SPIN["spin_J"])
    np.testing.assert_array_equal(problem.spin_jacobian(), np.hstack([J_a, J_b]))
    assert np.shares_memory(J_a, problem.spin_J)
    with pytest.raises(ValueError, match="read-only"):
        J_a[0, 0] = 0.0
    # the first contact is with the world, and its mass is the first one
    both = points(**BOTH)
    assert both.spin_blocks(0)[1] is None
    np.testing.assert_array_equal(
        both.spin_jacobian(), np.block([[np.eye(3), np.zeros((3, 3))], [np.eye(3), -np.eye(3)]])
    )


@pytest.mark.parametrize("index", [-1, 1, 10**30])
def test_blocks_out_of_range(index):
    text = f"contact with spin {index} is out of range: there are 1"
    with pytest.raises(IndexError, match=exactly(text)):
        spinning().spin_blocks(index)


# ---- as a value --------------------------------------------------------------------------------


def test_copies_are_equal_and_differences_are_seen():
    problem = ContactProblem(**ALL)
    assert copy.deepcopy(problem) == problem
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert ContactProblem(**{**ALL, "friction_bound": [0.1, np.nan]}) != problem
    assert ContactProblem(**{**ALL, "spin_mu": [[1e-2, 0.0, 2e-3]]}) != problem
    assert points() != problem
    assert spinning() != points()


def test_text_counts_them():
    assert repr(spinning()) == "ContactProblem(n_trees=2, nv=6, n_contacts=2, n_spins=1, dt=0.01)"
    assert "spin" not in repr(points())


# ---- files -------------------------------------------------------------------------------------


def test_saved_problem_is_equal(tmp_path):
    problem = ContactProblem(**ALL)
    sapwood.save_problem(tmp_path / "p.npz", problem)
    with np.load(tmp_path / "p.npz") as archive:
        np.testing.assert_array_equal(archive["spin_mu"], SPIN["spin_mu"])
        np.testing.assert_array_equal(archive["friction_bound"], ALL["friction_bound"])
    assert sapwood.load_problem(tmp_path / "p.npz") == problem


def test_a_file_without_has_no_key_of_it(tmp_path):
    sapwood.save_problem(tmp_path / "p.npz", points())
    with np.load(tmp_path / "p.npz") as archive:
        assert not [name for name in archive.files if "spin" in name or "bound" in name]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"spin_mu": np.ones((3, 3))}, "spin_mu has shape (3, 3): the problem takes 6 numbers"),
        ({"spin_J": np.ones(28)}, "spin_J has shape (28,): the problem takes 27 numbers"),
        ({"spin_contact": [0, 1, 1]}, "spin_contact has shape (3,): the problem takes 2 numbers"),
        ({"friction_bound": [0.0] * 3}, "friction_bound has shape (3,): the problem takes 2"),
        ({"spin_contact": [2]}, "spin_contact[0] = 2: must be the index of a contact"),
    ],
)
def test_wrong_arrays_of_a_file_are_named(changes, text, tmp_path):
    path = tmp_path / "p.npz"
    np.savez(path, **{**TURNING, **changes})
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path}: {text}')}"):
        sapwood.load_problem(path)


# ---- dense form --------------------------------------------------------------------------------


def dense(problem, **changes):
    """The problem by way of its dense form."""
    A, J = problem.to_dense()
    names = ("v_star", "mu", "dt", "R_t", "R_n", "v_hat_n", "spin_contact", "spin_mu")
    arguments = {name: getattr(problem, name) for name in names}
    arguments |= {"A": A, "J": J, "spin_J": problem.spin_jacobian(), "trees": problem.tree_nv}
    return ContactProblem.from_dense(**{**arguments, **changes})


def test_from_dense_gives_the_tree_form_back(rng):
    problem = helpers.random_spinning_problem(rng)
    again = dense(problem)
    assert again.spin_contact.tolist() == problem.spin_contact.tolist()
    np.testing.assert_array_equal(again.spin_jacobian(), problem.spin_jacobian())
    np.testing.assert_array_equal(again.to_dense()[1], problem.to_dense()[1])
    one = dense(problem, trees=None)
    np.testing.assert_array_equal(one.spin_J.reshape(-1, problem.nv), problem.spin_jacobian())


def test_from_dense_finds_a_tree_that_only_turns():
    """A wheel on its axle: the contact point moves the ground, and the wheel turns below it."""
    J, spin_J = np.zeros((3, 4)), np.zeros((3, 4))
    J[:, :3], spin_J[0, 3] = np.eye(3), 1.0
    problem = ContactProblem.from_dense(
        np.eye(4), np.zeros(4), J, [0.0], [1e5], [0.01], [0.5], 0.01, trees=[3, 1],
        spin_contact=[0], spin_J=spin_J, spin_mu=[[0.1, 0.0, 0.0]],
    )  # fmt: skip
    assert (problem.tree_a.tolist(), problem.tree_b.tolist()) == ([0], [1])
    np.testing.assert_array_equal(problem.spin_jacobian(), spin_J)


def test_from_dense_refuses_by_name():
    problem = points(**BOTH)
    J = problem.spin_jacobian()
    with pytest.raises(ValueError, match=exactly("spin_J has shape (5, 6), expected (6, 6)")):
        dense(problem, spin_J=J[:5])
    text = "spin_contact[1] = 7: must be the index of a contact"
    with pytest.raises(ValueError, match=exactly(text)):
        dense(problem, spin_contact=[0, 7])
    text = "spin_contact, spin_J and spin_mu must be given together"
    with pytest.raises(TypeError, match=exactly(text)):
        dense(problem, spin_J=None)
    text = "J: contact 0 touches 3 trees, at most 2 are possible"
    with pytest.raises(ValueError, match=exactly(text)):
        dense(problem, spin_J=J + 1.0, trees=[3, 2, 1])
