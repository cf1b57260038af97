"""Problems with sparse mass matrices: equal to dense ones, and cheaper."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import sapwood
from point_masses import exactly
from sapwood import Bilaterals, ContactProblem, Differential, DryFrictions, JointLimits, SapSettings
from sapwood.reference import eliminate

sparse = pytest.importorskip("scipy.sparse")

TIGHT = 1e-14
FRICTIONS = ("convex", "lagged", "coulomb")


def coupled_matrix(rng, nv, density=0.05):
    """A random sparse SPD matrix, of one component or several."""
    factor = sparse.random(nv, nv, density, random_state=rng, format="csr")
    return (factor @ factor.T + sparse.diags(rng.uniform(0.2, 2.0, nv))).tocsr()


def rows(rng, n, nv, most, among):
    """n rows, each with up to `most` entries among the first velocities."""
    J = np.zeros((n, nv))
    for i in range(n):
        columns = rng.choice(among, rng.integers(1, most + 1), replace=False)
        J[i, columns] = rng.normal(size=len(columns))
    return J


def random_arguments(rng, nv=None, n_contacts=None):
    """Arguments of a random problem: contacts move up to nine velocities in each row."""
    nv = int(rng.integers(9, 40)) if nv is None else nv
    n = int(rng.integers(1, 6)) if n_contacts is None else n_contacts
    return {
        "A": coupled_matrix(rng, nv),
        "v_star": rng.normal(size=nv),
        "J": rows(rng, 3 * n, nv, 9, max(9, nv // 2)),
        "phi0": rng.uniform(-1e-3, 1e-3, n),
        "k": 10.0 ** rng.uniform(2, 6, n),
        "tau_d": 0.01,
        "mu": rng.uniform(0.0, 1.0, n),
        "dt": 0.01,
    }


def with_everything(rng):
    """A problem with torsional friction and groups of all shapes, of more than two components."""
    arguments = random_arguments(rng, 42, 4)
    groups = [
        JointLimits(rows(rng, 2, 42, 4, 20), phi0=-1e-3),
        Bilaterals(rows(rng, 6, 42, 5, 20), size=3, g=1e-3, k=1e5),
        DryFrictions(rows(rng, 1, 42, 3, 20), f=0.1),
    ]
    spins = {
        "spin_contact": [1, 3], "spin_J": rows(rng, 6, 42, 6, 20),
        "spin_mu": rng.uniform(0.0, 1e-2, (2, 3)), "v_hat_t": rng.normal(size=(4, 2)),
        "v_guess": rng.normal(size=42),
    }  # fmt: skip
    return {**arguments, **spins, "constraints": groups}


def both(arguments):
    """The same problem, sparse and as one dense tree."""
    return ContactProblem.from_sparse(**arguments), ContactProblem.from_dense(**arguments)


def norm(A, x):
    return float(np.sqrt(x @ (A @ x)))


def assert_same(found, expected, digits=1e-10):
    for name in ("v", "gamma", "v_c"):
        scale = max(1.0, float(np.abs(getattr(expected, name)).max(initial=0.0)))
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), atol=digits * scale, rtol=0
        )


def test_a_thousand_coupled_problems_equal_dense_ones_and_their_bounds_hold(rng):
    tight = {name: SapSettings(relative_tolerance=TIGHT, friction=name) for name in FRICTIONS}
    coarse = SapSettings(relative_tolerance=1e-2)
    n_eliminated = 0
    for i in range(1000):
        arguments, friction = random_arguments(rng), FRICTIONS[i % 3]
        if friction == "lagged":
            # unknown bounds that are found on the way may have several fixed points
            arguments["friction_bound"] = rng.uniform(0.0, 1.0, len(arguments["mu"]))
        problem, dense = both(arguments)
        n_eliminated += problem.nv - len(problem.touched)
        found = sapwood.solve(problem, settings=tight[friction])
        assert_same(found, sapwood.solve(dense, settings=tight[friction]))
        exact = sapwood.solve(problem, settings=tight["convex"])
        rough = sapwood.solve(problem, settings=coarse)
        error = norm(arguments["A"], rough.v - exact.v)
        floor = 1e-13 * norm(arguments["A"], exact.v)
        assert error <= rough.velocity_error_bound + exact.velocity_error_bound + floor
        assert rough.cost - exact.cost <= rough.cost_gap_bound + 1e-13 * abs(exact.cost)
    assert n_eliminated > 5000


@pytest.mark.parametrize("friction", FRICTIONS)
def test_every_constraint_acts_as_in_a_dense_problem(rng, friction):
    for _ in range(10):
        arguments = with_everything(rng)
        arguments["friction_bound"] = rng.uniform(0.0, 1.0, 4)
        problem, dense = both(arguments)
        settings = SapSettings(relative_tolerance=TIGHT, friction=friction)
        found, expected = (sapwood.solve(p, settings=settings) for p in (problem, dense))
        assert_same(found, expected)
        np.testing.assert_allclose(found.spin_gamma, expected.spin_gamma, atol=1e-10)
        for mine, theirs in zip(found.constraints, expected.constraints, strict=True):
            np.testing.assert_allclose(mine.gamma, theirs.gamma, atol=1e-10)
        assert found.velocity_error_bound < 1e-6


def test_a_constraint_may_join_nine_bodies(rng):
    """Nine bodies without coupling, which one contact touches, are one tree; the tenth is not."""
    J = np.zeros((6, 30))
    J[:3, :27] = rng.normal(size=(3, 27))
    J[3:, 27:] = np.eye(3)
    numbers = {"R_t": 1e-3, "R_n": 1e-3, "v_hat_n": 0.1, "mu": 0.5, "dt": 0.01}
    problem, dense = both({"A": np.eye(30), "v_star": np.zeros(30), "J": J, **numbers})
    assert problem.reduced.tree_nv.tolist() == [27, 3]
    solutions = [
        sapwood.solve(p, settings=SapSettings(relative_tolerance=TIGHT)) for p in (problem, dense)
    ]
    assert_same(*solutions)
    assert solutions[0].n_islands == 2


# ---- elimination -------------------------------------------------------------------------------


def test_the_elimination_is_that_of_the_reference(rng):
    for _ in range(30):
        arguments = random_arguments(rng)
        problem = ContactProblem.from_sparse(**arguments)
        S, P = eliminate(arguments["A"].toarray(), problem.touched)
        scale = np.abs(S).max()
        np.testing.assert_allclose(problem.reduced.to_dense()[0], S, atol=1e-13 * scale)
        x = rng.normal(size=problem.nv)
        np.testing.assert_allclose(problem.condense(x)[0], P @ x, atol=1e-12)
        np.testing.assert_allclose(
            problem.extend(x[problem.touched]), P.T @ x[problem.touched], atol=1e-12
        )


def test_velocities_that_nothing_touches_are_eliminated(rng):
    """A chain of 6,000 velocities, touched at one end, is as large as that end."""
    n = 6_000
    A = sparse.diags([2.1, -1.0, -1.0], [0, 1, -1], shape=(n, n))
    J = sparse.csr_matrix((np.ones(3), ([0, 1, 2], [n - 3, n - 2, n - 1])), shape=(3, n))
    v_star = rng.normal(size=n)
    problem = ContactProblem.from_sparse(A, v_star, J, 0.0, np.inf, 0.0, 0.5, 0.01)
    assert len(problem.touched) <= 6
    solution = sapwood.solve(problem, settings=SapSettings(relative_tolerance=TIGHT))
    momentum = A @ (solution.v - v_star) - J.T @ solution.gamma.ravel()
    assert np.abs(momentum).max() < 1e-12


def test_problems_without_contacts_or_velocities_keep_v_star():
    A = np.diag([1.0, 2.0, 3.0, 4.0])
    alone = ContactProblem.from_sparse(A, [1.0, 2.0, 3.0, 4.0], dt=0.1)
    assert alone.reduced.nv == 0
    np.testing.assert_array_equal(sapwood.solve(alone).v, [1.0, 2.0, 3.0, 4.0])
    still = ContactProblem.from_sparse(A, np.ones(4), np.zeros((3, 4)), R_t=1.0, R_n=1.0,
                                       v_hat_n=0.0, mu=0.5, dt=0.1)  # fmt: skip
    np.testing.assert_array_equal(sapwood.solve(still).v, np.ones(4))
    empty = ContactProblem.from_sparse(np.zeros((0, 0)), [], dt=0.1)
    assert sapwood.solve(empty).v.shape == (0,)


# ---- derivatives -------------------------------------------------------------------------------


@pytest.mark.parametrize("friction", ["convex", "coulomb"])
def test_derivatives_are_those_of_a_dense_problem(rng, friction):
    settings = SapSettings(relative_tolerance=TIGHT, friction=friction)
    for _ in range(5):
        problem, dense = both(with_everything(rng))
        nv = problem.nv
        found, expected = (
            sapwood.solve(p, settings=settings, sensitivity=True) for p in (problem, dense)
        )
        v_bar, gamma_bar = rng.normal(size=(2, nv)), rng.normal(size=(2, 4, 3))
        for frozen in (False, True):
            mine, theirs = (
                s.vjp(v_bar, gamma_bar, frozen_regularization=frozen) for s in (found, expected)
            )
            for name in ("v_star", "mu", "k", "phi0", "dt", "spin_mu", "v_hat_t"):
                assert_close(getattr(mine, name), getattr(theirs, name))
            for name, shape in (("A", (nv, nv)), ("J", (12, nv)), ("spin_J", (6, nv))):
                matrix = getattr(problem, name)
                whole = getattr(theirs, name).reshape(2, *shape)
                assert_close(getattr(mine, name), whole[:, matrix.rows, matrix.indices])
        change, whole = changes(rng, problem)
        mine, theirs = found.jvp(change), expected.jvp(whole)
        assert_close(mine.v, theirs.v)
        assert_close(mine.gamma, theirs.gamma)


def changes(rng, problem):
    """A change of a sparse problem, and of its dense twin."""
    given, dense = {}, {}
    for name in ("A", "J", "spin_J"):
        matrix = getattr(problem, name)
        given[name] = rng.normal(size=len(matrix.data))
        dense[name] = matrix._replace(data=given[name]).to_dense().ravel()
    others = {"v_star": rng.normal(size=problem.nv), "mu": rng.normal(size=4)}
    return Differential(**given, **others), Differential(**dense, **others)


def assert_close(found, expected, digits=1e-10):
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found, expected, atol=digits * scale, rtol=0)


def test_derivatives_agree_with_differences(rng):
    arguments = random_arguments(rng, 24, 3)
    settings = SapSettings(relative_tolerance=TIGHT)
    bar = rng.normal(size=24)
    problem = ContactProblem.from_sparse(**arguments)
    gradient = sapwood.solve(problem, settings=settings, sensitivity=True).vjp(bar)
    change = rng.normal(size=len(problem.A.data))
    matrix = problem.A._replace(data=change).to_dense()
    matrix = (matrix + matrix.T) / 2

    def loss(h):
        moved = arguments | {"A": arguments["A"] + h * matrix}
        return bar @ sapwood.solve(ContactProblem.from_sparse(**moved), settings=settings).v

    h = 1e-6
    difference = (loss(h) - loss(-h)) / (2 * h)
    assert abs(gradient.A @ change - difference) <= 1e-6 * max(1.0, abs(difference))


def test_pickled_solutions_have_no_derivatives(rng):
    problem = ContactProblem.from_sparse(**random_arguments(rng))
    solution = sapwood.solve(problem, sensitivity=True)
    assert pickle.loads(pickle.dumps(solution)).sensitivity is None
    with pytest.raises(ValueError, match=exactly("v_bar has shape (1,), expected (..., ")[:-1]):
        solution.vjp([1.0])


# ---- as a value --------------------------------------------------------------------------------


def test_all_forms_of_a_matrix_make_the_same_problem(rng):
    arguments = random_arguments(rng)
    A, J = arguments["A"], sparse.csr_matrix(arguments["J"])
    problem = ContactProblem.from_sparse(**arguments)
    forms = [
        (A.tocsc(), J.tocsc()),
        (A.tocoo(), sparse.coo_array(J)),
        (A.toarray(), J.toarray()),
        ((A.data, A.indices, A.indptr), (J.data, J.indices, J.indptr)),
        # duplicates add up, in any order
        ((np.repeat(A.data / 2, 2), np.repeat(A.indices, 2), 2 * A.indptr), J.tolil()),
    ]
    for A_form, J_form in forms:
        assert ContactProblem.from_sparse(**(arguments | {"A": A_form, "J": J_form})) == problem
    assert problem != ContactProblem.from_sparse(**(arguments | {"dt": 0.02}))
    assert problem != ContactProblem.from_sparse(**(arguments | {"A": 2 * A}))
    assert problem != 3


def test_files_and_pickles_give_an_equal_problem_back(rng, tmp_path):
    problem = ContactProblem.from_sparse(**with_everything(rng), source="mesh", sigma=1e-2)
    sapwood.save_problem(tmp_path / "problem.npz", problem)
    for again in (
        sapwood.load_problem(tmp_path / "problem.npz"),
        pickle.loads(pickle.dumps(problem)),
    ):
        assert again == problem
        np.testing.assert_array_equal(sapwood.solve(again).v, sapwood.solve(problem).v)
    assert f"SparseProblem(nv=42, n_touched={len(problem.touched)}, n_contacts=4" in repr(problem)


def test_damaged_files_are_refused_by_name(rng, tmp_path):
    sapwood.save_problem(
        tmp_path / "problem.npz", ContactProblem.from_sparse(**random_arguments(rng))
    )
    arrays = dict(np.load(tmp_path / "problem.npz"))
    changes = {
        "A_indices is missing": {"A_indices": None},
        "J_indptr is missing": {"J_indptr": None},
        "A_indices has shape": {"A_indices": np.zeros(10**4, np.int32)},
        "A_indptr has shape": {"A_indptr": np.zeros(10**4, np.int64)},
        "k has shape": {"k": np.ones(10**4)},
        "A.indices[0] = 1000000: must be the index of a column": {
            "A_indices": np.full_like(arrays["A_indices"], 10**6)
        },
    }
    for text, change in changes.items():
        damaged = {k: x for k, x in {**arrays, **change}.items() if x is not None}
        np.savez(tmp_path / "damaged.npz", **damaged)
        with pytest.raises(ValueError, match=re.escape(f"damaged.npz: {text}")):
            sapwood.load_problem(tmp_path / "damaged.npz")


def test_batches_take_both_kinds(rng):
    problems = [p for _ in range(3) for p in both(random_arguments(rng))]
    guesses = [np.ones(p.nv) for p in problems]
    found = sapwood.solve_batch(problems, guesses, threads=2, sensitivity=True)
    for solution, problem, guess in zip(found, problems, guesses, strict=True):
        assert solution == sapwood.solve(problem, guess)
        assert solution.vjp(np.ones(problem.nv)).v_star.shape == (problem.nv,)
    text = "solutions[0] is of a SparseProblem: its own vjp and jvp differentiate it"
    with pytest.raises(TypeError, match=exactly(text)):
        sapwood.vjp_batch(found)


# ---- bad input ---------------------------------------------------------------------------------

GOOD = {
    "A": np.diag([2.0, 3.0, 4.0, 5.0]), "v_star": np.zeros(4), "J": np.eye(3, 4), "mu": 0.5,
    "dt": 0.01, "R_t": 1e-3, "R_n": 1e-3, "v_hat_n": 0.0,
}  # fmt: skip
LOWER = np.diag([2.0, 3.0, 4.0, 5.0])
LOWER[3, 0] = 0.5
INDEFINITE = np.eye(4)
INDEFINITE[2, 3] = INDEFINITE[3, 2] = 1.5
ONES, FOUR = np.ones(4), [0, 1, 2, 3]
BAD = [
    ({"A": np.eye(3)}, ValueError, "A has shape (3, 3), expected (any, 4)"),
    ({"A": np.eye(3, 4)}, ValueError, "A has shape (3, 4), expected (4, 4)"),
    ({"A": sparse.eye(3)}, ValueError, "A has shape (3, 3), expected (any, 4)"),
    ({"A": np.diag([1.0, np.nan, 1.0, 1.0])}, ValueError, "A[1, 1] = nan: must be finite"),
    ({"A": np.diag([1.0, 1.0, 0.0, 1.0])}, ValueError, "A[2, 2] = 0: must be > 0"),
    ({"A": LOWER}, ValueError, "A[0, 3] and A[3, 0] differ by 0.5: A must be symmetric"),
    (
        {"A": INDEFINITE},
        ValueError,
        "A: must be positive definite, which it is not at row 2 or the next two",
    ),
    ({"A": (ONES, FOUR, [0, 1, 2, 3, 3])}, ValueError, "A.indptr ends with 3, expected 4"),
    (
        {"A": (ONES, FOUR, [0, 2, 1, 3, 4])},
        ValueError,
        "A.indptr[2] = 1: must not be below the last",
    ),
    ({"A": (ONES, FOUR, [1, 2, 3, 4])}, ValueError, "A.indptr must begin with 0"),
    ({"A": (ONES, FOUR[:3], [0, 4])}, ValueError, "A.indices has shape (3,), expected (4,)"),
    (
        {"A": (ONES, [0, 1, 2, 4], [0, 4])},
        ValueError,
        "A.indices[3] = 4: must be the index of a column",
    ),
    ({"A": (ONES * np.inf, FOUR, [0, 4])}, ValueError, "A.data[0] = inf: must be finite"),
    ({"A": (ONES, np.ones(4), [0, 4])}, TypeError, "A.indices must hold integers, not float64"),
    ({"v_star": [0.0, 0.0, np.nan, 0.0]}, ValueError, "v_star[2] = nan: must be finite"),
    ({"v_guess": np.zeros(3)}, ValueError, "v_guess has shape (3,), expected (4,)"),
    ({"J": np.eye(2, 4)}, ValueError, "J has shape (2, 4), expected (3 n_contacts, 4)"),
    ({"J": np.eye(3, 5)}, ValueError, "J has shape (3, 5), expected (any, 4)"),
    ({"mu": None}, TypeError, "from_sparse needs mu"),
    ({"mu": -1.0}, ValueError, "mu[0] = -1: must be >= 0"),
    ({"dt": None}, TypeError, "from_sparse needs dt"),
    ({"R_n": [1.0, 2.0]}, ValueError, "R_n has shape (2,), expected (1,)"),
    ({"constraints": [3]}, TypeError, "constraints[0] must be a group of constraints, not int"),
    (
        {"constraints": [JointLimits([1.0], [0], phi0=0.1)]},
        ValueError,
        "constraints[0].J has shape (1,), expected (1, 4): a matrix of all velocities, without ",
    ),
    (
        {"spin_contact": [1], "spin_J": np.eye(3, 4), "spin_mu": np.ones((1, 3))},
        ValueError,
        "spin_contact[0] = 1: must be the index of a contact",
    ),
    (
        {"spin_contact": [0], "spin_J": np.eye(6, 4), "spin_mu": np.ones((1, 3))},
        ValueError,
        "spin_J has shape (6, 4), expected (3, 4)",
    ),
    ({"trees": [4]}, TypeError, "ContactProblem.from_sparse has no argument 'trees'"),
]


@pytest.mark.parametrize(("changes", "kind", "text"), BAD, ids=[text for *_, text in BAD])
def test_wrong_arguments_are_named(changes, kind, text):
    ContactProblem.from_sparse(**GOOD)
    with pytest.raises(kind, match=exactly(text)[:-1]):
        ContactProblem.from_sparse(**{**GOOD, **changes})


def test_evaluations_want_the_reduced_problem():
    problem = ContactProblem.from_sparse(**GOOD)
    text = "problem must be a ContactProblem, not SparseProblem: take its `reduced`"
    with pytest.raises(TypeError, match=exactly(text)):
        sapwood.SapSolver().evaluate(problem, np.zeros(4))
    with pytest.raises(ValueError, match=exactly("v_guess has shape (3,), expected (4,)")):
        sapwood.solve(problem, np.zeros(3))
