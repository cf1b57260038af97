"""ContactProblem: checks, memory, blocks, dense form, copies."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest

import helpers
import sapwood
from point_masses import ALL, EYE, GIVEN, POINTS, REMOVED, changed, exactly, points, with_given
from sapwood import ContactProblem

# ---- checks ------------------------------------------------------------------------------------

VALUES = [
    (changed("mu", 1, -0.5), "mu[1] = -0.5: must be >= 0"),
    (changed("mu", 0, np.nan), "mu[0]: must be finite"),
    (changed("k", 1, 0.0), "k[1] = 0: must be > 0"),
    (changed("k", 0, -1e3), "k[0] = -1000: must be > 0"),
    (changed("k", 1, np.nan), "k[1] = nan: must be > 0"),
    (changed("tau_d", 1, -0.1), "tau_d[1] = -0.1: must be finite and >= 0"),
    (changed("phi0", 0, np.inf), "phi0[0] = inf: must be finite"),
    ({"dt": 0.0}, "dt = 0: must be finite and > 0"),
    ({"dt": -0.01}, "dt = -0.01: must be finite and > 0"),
    ({"dt": np.nan}, "dt = nan: must be finite and > 0"),
    ({"dt": np.inf}, "dt = inf: must be finite and > 0"),
    ({"sigma": 0.0}, "sigma = 0: must be finite and > 0"),
    ({"beta": -1.0}, "beta = -1: must be finite and >= 0"),
    ({"delassus": "drake"}, "delassus = 'drake': must be one of block, diagonal"),
    (changed("v_star", 4, np.nan), "v_star[4]: must be finite"),
    (changed("J", 5, np.inf), "J[5] = inf: must be finite"),
    (changed("A", 2, np.nan), "A[2]: must be finite"),
    (changed("A", 10, 0.5), "A: the block of tree 1 must be symmetric"),
    (changed("A", 9, -1.0), "A: the block of tree 1 must be positive definite"),
    ({"J": np.zeros(27)}, "J: the rows of contact 0 must give an effective mass"),
    (changed("tree_nv", 1, 0), "tree_nv[1] = 0: must be >= 1"),
    (changed("tree_a", 1, 2), "tree_a[1] = 2: must be the index of a tree"),
    (changed("tree_a", 0, -1), "tree_a[0] = -1: must be the index of a tree"),
    (changed("tree_b", 1, 2), "tree_b[1] = 2: must be the index of a tree, or -1"),
    (changed("tree_b", 0, -2), "tree_b[0] = -2: must be the index of a tree, or -1"),
    (changed("tree_b", 1, 0), "tree_b[1] = 0: must differ from tree_a"),
    ({"tree_a": [0, 2**32]}, "tree_a[1] = 4294967296: does not fit in int32"),
    ({"tree_b": np.array([1, 2**32 - 1], np.uint32)}, "tree_b[1] = 4294967295: does not fit in"),
    ({"tree_nv": np.array([3, 2**63 + 3], np.uint64)}, "tree_nv[1] = 9223372036854775811: does"),
    (with_given(**changed("R_t", 1, -0.5)), "R_t[1] = -0.5: must be 0, or positive"),
    (with_given(**changed("R_n", 0, -1.0)), "R_n[0] = -1: must be 0, or positive"),
    (with_given(**changed("R_n", 0, np.inf)), "R_n[0] = inf: must be finite"),
    (with_given(**changed("v_hat_n", 1, np.nan)), "v_hat_n[1]: must be finite"),
    (with_given(**changed("k", 1, -1.0)), "k[1] = -1: must be > 0"),
    ({"v_hat_t": [[0.0, 0.0], [0.0, np.nan]]}, "v_hat_t[1, 1] = nan: must be finite"),
    ({"v_guess": [0.0, 0.0, np.inf, 0.0, 0.0, 0.0]}, "v_guess[2] = inf: must be finite"),
]


@pytest.mark.parametrize(("changes", "text"), VALUES, ids=[text for _, text in VALUES])
def test_wrong_value_is_named_with_its_index(changes, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}"):
        points(**changes)


SHAPES = [
    ({"J": np.ones(18)}, "J has shape (18,), expected (27,)"),
    ({"A": np.ones(9)}, "A has shape (9,), expected (18,)"),
    ({"A": np.ones((3, 6))}, "A has shape (3, 6), expected (18,)"),
    ({"v_star": np.ones(5)}, "v_star has shape (5,), expected (6,)"),
    ({"mu": [0.5]}, "mu has shape (1,), expected (2,)"),
    ({"tree_b": [-1]}, "tree_b has shape (1,), expected (2,)"),
    ({"tree_nv": [[3, 3]]}, "tree_nv has shape (1, 2), expected (any,)"),
    ({"phi0": [0.0]}, "phi0 has shape (1,), expected (2,)"),
    ({"v_hat_t": np.zeros(4)}, "v_hat_t has shape (4,), expected (2, 2)"),
    ({"v_guess": np.zeros(3)}, "v_guess has shape (3,), expected (6,)"),
    ({"v_ref": np.zeros(3)}, "v_ref has shape (3,), expected (6,)"),
    ({"gamma_ref": np.zeros(6)}, "gamma_ref has shape (6,), expected (2, 3)"),
    (with_given(R_n=[1.0]), "R_n has shape (1,), expected (2,)"),
]


@pytest.mark.parametrize(("changes", "text"), SHAPES, ids=[text for _, text in SHAPES])
def test_wrong_shape_is_named_with_the_expected_one(changes, text):
    with pytest.raises(ValueError, match=exactly(text)):
        points(**changes)


FLOATS = ["A", "v_star", "J", "mu", "phi0", "k", "tau_d", "R_t", "R_n", "v_hat_n", "dt", "sigma"]
DTYPES = [
    (np.complex128, "complex128"),
    (bool, "bool"),
    (object, "object"),
    ("U3", "<U3"),
    ("S3", "|S3"),
    ("M8[s]", "datetime64[s]"),
    ("m8[s]", "timedelta64[s]"),
    ([("x", float)], "[('x', '<f8')]"),
]


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize(("dtype", "text"), DTYPES, ids=[text for _, text in DTYPES])
def test_wrong_dtype_of_a_float_array_is_named(name, dtype, text):
    value = np.zeros(np.shape({**POINTS, **GIVEN, "sigma": 1.0}[name]), dtype)
    with pytest.raises(TypeError, match=exactly(f"{name} must hold real numbers, not {text}")):
        points(**with_given(**{name: value}))


@pytest.mark.parametrize("name", ["tree_nv", "tree_a", "tree_b"])
@pytest.mark.parametrize(("dtype", "text"), [(float, "float64"), *DTYPES])
def test_wrong_dtype_of_an_index_array_is_named(name, dtype, text):
    with pytest.raises(TypeError, match=exactly(f"{name} must hold integers, not {text}")):
        points(**{name: np.zeros(2, dtype)})


def test_ragged_list_is_named():
    with pytest.raises(ValueError, match=r"^A cannot be read as an array: .*inhomogeneous"):
        points(A=[[1.0, 2.0], [3.0]])


GROUPS = [
    ({"k": REMOVED}, "phi0, k and tau_d must be given together"),
    ({"R_t": [1.0, 1.0]}, "R_t, R_n and v_hat_n must be given together"),
    (
        {"phi0": REMOVED, "k": REMOVED, "tau_d": REMOVED},
        "give phi0, k and tau_d, or R_t, R_n and v_hat_n",
    ),
    ({"source": 3}, "source must be a str, not int"),
    ({"delassus": None}, "delassus must be a str, not NoneType"),
]


@pytest.mark.parametrize(("changes", "text"), GROUPS, ids=[text for _, text in GROUPS])
def test_missing_or_wrong_arguments_are_type_errors(changes, text):
    with pytest.raises(TypeError, match=exactly(text)):
        points(**changes)


def test_error_of_an_array_like_keeps_its_kind():
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("broken on purpose")

    with pytest.raises(RuntimeError, match="broken on purpose"):
        points(mu=Broken())


# ---- regularization ----------------------------------------------------------------------------


def test_regularization_of_a_point_mass_on_the_ground():
    # W = I / m with m = 1, so w = sqrt(3)/3; Eqs. (21) and (22)
    problem = points(sigma=1e-2)
    w = np.sqrt(3.0) / 3.0
    assert problem.R_t[0] == pytest.approx(1e-2 * w, rel=1e-14)
    near_rigid = w / (4 * np.pi**2)
    assert problem.R_n[0] == pytest.approx(max(near_rigid, 1 / (0.01 * 1e5 * 0.02)), rel=1e-14)
    assert problem.v_hat_n[1] == pytest.approx(1e-3 / 0.01, rel=1e-14)


def test_delassus_estimates_differ_where_mass_is_coupled():
    A = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]).ravel()
    block = points(A=[*A, *EYE])
    diagonal = points(A=[*A, *EYE], delassus="diagonal")
    W = np.linalg.inv(A.reshape(3, 3))
    assert block.R_t[0] == pytest.approx(1e-3 * np.linalg.norm(W) / 3, rel=1e-13)
    W = np.diag(1 / np.diag(A.reshape(3, 3)))
    assert diagonal.R_t[0] == pytest.approx(1e-3 * np.linalg.norm(W) / 3, rel=1e-13)


def test_given_regularization_is_used_as_it_is():
    problem = points(**GIVEN)
    for name, value in GIVEN.items():
        assert np.array_equal(getattr(problem, name), value)
    assert np.array_equal(problem.k, POINTS["k"])
    without = points(**GIVEN, phi0=REMOVED, k=REMOVED, tau_d=REMOVED)
    assert without.phi0 is without.k is without.tau_d is None


# ---- memory ------------------------------------------------------------------------------------

IN_PLACE = ["A", "v_star", "J", "mu", "phi0", "k", "tau_d", "R_t", "R_n", "v_hat_n", "v_hat_t"]
IN_PLACE += ["v_guess", "v_ref", "gamma_ref", "spin_J", "spin_mu", "friction_bound"]


@pytest.mark.parametrize("name", IN_PLACE)
def test_contiguous_float64_is_used_in_place_and_read_only(name):
    array = np.array(ALL[name])
    view = getattr(points(**{**ALL, name: array}), name)
    assert np.shares_memory(view, array)
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[...] = 0.0
    assert array.flags.writeable


@pytest.mark.parametrize(
    "convert",
    [
        pytest.param(lambda a: a.astype(np.float32), id="float32"),
        pytest.param(lambda a: a.astype(np.longdouble), id="longdouble"),
        pytest.param(lambda a: a.astype(">f8"), id="big-endian"),
        pytest.param(
            lambda a: np.asfortranarray(a) if a.ndim > 1 else a.repeat(2)[::2], id="strided"
        ),
        pytest.param(
            lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(float), id="odd"
        ),
        pytest.param(lambda a: a.tolist(), id="list"),
        pytest.param(lambda a: a.view(type("Sub", (np.ndarray,), {})), id="subclass"),
    ],
)
@pytest.mark.parametrize("name", IN_PLACE)
def test_everything_else_is_converted(name, convert):
    array = np.array(ALL[name])
    converted = convert(array)
    if isinstance(converted, np.ndarray):
        converted = converted.reshape(array.shape)
    view = getattr(points(**{**ALL, name: converted}), name)
    assert type(view) is np.ndarray
    assert view.dtype == np.float64
    assert view.flags.c_contiguous
    assert view.flags.aligned
    np.testing.assert_allclose(view, array, rtol=1e-7)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">i8"])
def test_index_arrays_of_every_integer_type(dtype):
    a, b = np.array([0, 0], dtype), np.array([1, 1], dtype)
    problem = points(tree_nv=np.array([3, 3], dtype), tree_a=a, tree_b=b, J=[*EYE, *-EYE] * 2)
    assert [problem.tree_nv.dtype, problem.tree_a.dtype, problem.tree_b.dtype] == [np.int32] * 3
    assert problem.tree_b.tolist() == [1, 1]


def test_index_arrays_are_copied():
    arrays = {name: np.array(POINTS[name], np.int32) for name in ("tree_nv", "tree_a", "tree_b")}
    problem = points(**arrays)
    expected = sapwood.solve(problem)
    for name, array in arrays.items():
        exposed = getattr(problem, name)
        assert not np.shares_memory(exposed, array)
        assert not exposed.flags.writeable
        array[:] = 10**6
        # even one who insists cannot reach what the core reads
        exposed.flags.writeable = True
        exposed[:] = 10**6
    assert sapwood.solve(problem) == expected


def test_change_of_an_array_changes_the_problem_and_is_checked_again():
    mu = np.array([0.5, 0.7])
    problem = points(mu=mu)
    mu[1] = 0.2
    assert problem.mu[1] == 0.2
    mu[1] = np.nan
    with pytest.raises(ValueError, match=r"^mu\[1\]: must be finite$"):
        sapwood.solve(problem)


def test_no_contacts():
    problem = ContactProblem(
        [2], np.eye(2).ravel(), [1.0, 2.0], [], [], [], [], dt=0.1, phi0=[], k=[], tau_d=[]
    )
    assert problem.n_contacts == 0
    assert problem.to_dense()[1].shape == (0, 2)


def test_contacts_may_be_left_out():
    """The same as with empty arrays; of some of them, what is missing is named."""
    empty = ContactProblem(
        [2], np.eye(2).ravel(), [1.0, 2.0], [], [], [], [], dt=0.1, R_t=[], R_n=[], v_hat_n=[]
    )
    left_out = ContactProblem([2], np.eye(2).ravel(), [1.0, 2.0], dt=0.1)
    assert left_out == empty
    assert ContactProblem.from_dense(np.eye(2), [1.0, 2.0], dt=0.1) == empty
    assert sapwood.solve(left_out).v.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=exactly("mu has shape (0,), expected (1,)")):
        ContactProblem([1], [1.0], [0.0], [0], [-1], [1.0] * 3, dt=0.1)
    with pytest.raises(TypeError, match=exactly("from_dense needs mu")):
        ContactProblem.from_dense(np.eye(3), [0.0] * 3, np.eye(3), dt=0.1)
    with pytest.raises(TypeError, match=exactly("from_dense needs dt")):
        ContactProblem.from_dense(np.eye(3), [0.0] * 3)


def test_attributes_cannot_be_set():
    problem = points()
    for name in ("A", "dt", "nv", "anything"):
        with pytest.raises(AttributeError):
            setattr(problem, name, 1.0)


# ---- blocks and dense form ---------------------------------------------------------------------


def test_blocks_are_views_in_the_order_of_the_arrays(rng):
    problem = helpers.random_problem(rng)
    A = np.concatenate([problem.A_block(t).ravel() for t in range(problem.n_trees)])
    assert np.array_equal(A, problem.A)
    J = [
        block.ravel()
        for pair in helpers.jacobian_blocks(problem)
        for block in pair
        if block is not None
    ]
    assert np.array_equal(np.concatenate(J), problem.J)
    assert np.shares_memory(problem.A_block(2), problem.A)
    for i in range(problem.n_contacts):
        J_a, J_b = problem.J_blocks(i)
        assert J_a.shape == (3, problem.tree_nv[problem.tree_a[i]])
        assert np.shares_memory(J_a, problem.J)
        assert (J_b is None) == (problem.tree_b[i] < 0)
    assert problem.tree_offsets.tolist() == [0, *np.cumsum(problem.tree_nv)]


@pytest.mark.parametrize("index", [-1, 2, 10**30])
def test_blocks_out_of_range(index):
    with pytest.raises(IndexError, match=f"tree {index} is out of range: there are 2"):
        points().A_block(index)
    with pytest.raises(IndexError, match=f"contact {index} is out of range: there are 2"):
        points().J_blocks(index)


def dense(problem, **changes):
    """The problem by way of its dense form."""
    A, J = problem.to_dense()
    names = ("v_star", "mu", "dt", "R_t", "R_n", "v_hat_n")
    arguments = {name: getattr(problem, name) for name in names}
    return ContactProblem.from_dense(**{"A": A, "J": J, **arguments, **changes})


def test_one_number_is_that_of_every_contact():
    numbers = {"mu": 0.5, "phi0": 0, "k": np.float32(1e5), "tau_d": np.array(0.01)}
    arrays = {name: np.full(2, value, np.float64) for name, value in numbers.items()}
    problem = points(**numbers)
    assert problem == points(**arrays)
    given = {"R_t": 1e-3, "R_n": 1e-4, "v_hat_n": 0.1, "friction_bound": 0.2}
    spread = {name: np.full(2, value) for name, value in given.items()}
    assert points(**numbers, **given) == points(**arrays, **spread)
    with pytest.raises(ValueError, match=exactly("mu[0] = -1: must be >= 0")):
        points(mu=-1.0)


def test_infinite_stiffness_is_the_limit_of_stiffness():
    rigid, stiff = points(k=np.inf), points(k=1e300)
    for name in ("R_t", "R_n", "v_hat_n"):
        np.testing.assert_array_equal(getattr(rigid, name), getattr(stiff, name))
    assert sapwood.solve(rigid) == sapwood.solve(stiff)
    assert pickle.loads(pickle.dumps(rigid)) == rigid


def test_matrices_are_sent_to_from_dense():
    for make in (
        lambda: points(A=np.eye(6)),
        lambda: ContactProblem(A=np.eye(3)),
        lambda: ContactProblem([3], np.eye(3)),
    ):
        with pytest.raises(TypeError, match=r"ContactProblem\.from_dense"):
            make()


def test_from_dense_takes_sparse_matrices():
    sparse = pytest.importorskip("scipy.sparse")
    numbers = {"mu": 0.5, "phi0": 0.0, "k": 1e5, "tau_d": 0.01, "dt": 0.01}
    A, J, v_star = 2 * np.eye(6), np.eye(3, 6), np.arange(6.0)
    dense = ContactProblem.from_dense(A, v_star, J, trees=[3, 3], **numbers)
    for kind in (sparse.csr_matrix, sparse.coo_array):
        assert ContactProblem.from_dense(kind(A), v_star, kind(J), trees=[3, 3], **numbers) == dense


def test_from_dense_with_trees_gives_the_tree_form_back(rng):
    problem = helpers.random_problem(rng)
    again = dense(problem, trees=problem.tree_nv)
    A, J = again.to_dense()
    assert np.array_equal(A, problem.to_dense()[0])
    assert np.array_equal(J, problem.to_dense()[1])
    assert np.array_equal(again.A, problem.A)
    # the two trees of a contact may have changed places
    pairs = np.sort([problem.tree_a, problem.tree_b], axis=0)
    assert np.array_equal(np.sort([again.tree_a, again.tree_b], axis=0), pairs)


def test_from_dense_without_trees_makes_one_and_copies_nothing(rng):
    problem = helpers.random_problem(rng)
    A, J = problem.to_dense()
    again = dense(problem, A=A, J=J)
    assert again.n_trees == 1
    assert np.all(again.tree_b == -1)
    assert np.shares_memory(again.A, A)
    assert np.shares_memory(again.J, J)


def test_from_dense_by_position():
    problem = ContactProblem.from_dense(
        np.eye(3), [0.0, 0.0, -1.0], np.eye(3), [0.0], [1e5], [0.01], [0.5], 0.01
    )
    assert problem.mu.tolist() == [0.5]
    assert problem.dt == 0.01


def test_an_empty_matrix_is_a_problem_without_trees():
    problem = ContactProblem.from_dense(np.zeros((0, 0)), [], mu=0.5, dt=0.01)
    assert (problem.n_trees, problem.nv, problem.n_contacts) == (0, 0, 0)
    for solution in (sapwood.solve(problem), sapwood.reference.solve(problem)):
        assert solution.status is sapwood.Status.converged
        assert solution.v.shape == (0,)


J_WIDE = np.zeros((3, 9))
J_WIDE[:, [0, 3, 6]] = 1.0
DENSE = [
    ({"A": np.eye(3)[:2]}, ValueError, "A has shape (2, 3), expected (2, 2)"),
    ({"A": [1.0]}, ValueError, "A has shape (1,), expected (any, any)"),
    ({"J": np.ones((4, 9))}, ValueError, "J has shape (4, 9), expected (3 n_contacts, 9)"),
    ({"J": np.ones((3, 8))}, ValueError, "J has shape (3, 8), expected (any, 9)"),
    ({"J": np.full((3, 9), np.nan)}, ValueError, "J[0, 0] = nan: must be finite"),
    ({"J": J_WIDE}, ValueError, "J: contact 0 touches 3 trees, at most 2 are possible"),
    ({"trees": [3, 3]}, ValueError, "trees sum to 6, expected 9 as A has"),
    ({"trees": [3, 0, 6]}, ValueError, "trees[1] = 0: must be >= 1"),
    ({"trees": [9.0]}, TypeError, "trees must hold integers, not float64"),
    (
        {"A": np.eye(9) + 0.25 * np.eye(9, k=3)},
        ValueError,
        "A[0, 3] = 0.25: must be 0 between trees 0 and 1",
    ),
    ({"mu": None}, TypeError, "from_dense needs mu"),
    ({"dt": None}, TypeError, "from_dense needs dt"),
]


@pytest.mark.parametrize(("changes", "kind", "text"), DENSE, ids=[text for *_, text in DENSE])
def test_from_dense_checks(changes, kind, text):
    arguments = {
        "A": np.eye(9),
        "v_star": np.zeros(9),
        "J": np.eye(3, 9),
        "mu": [0.5],
        "dt": 0.01,
        "trees": [3, 3, 3],
        "R_t": [1e-3],
        "R_n": [1e-2],
        "v_hat_n": [0.0],
    }
    ContactProblem.from_dense(**arguments)
    with pytest.raises(kind, match=exactly(text)):
        ContactProblem.from_dense(**{**arguments, **changes})


# ---- as a value --------------------------------------------------------------------------------


def test_repr():
    assert repr(points()) == "ContactProblem(n_trees=2, nv=6, n_contacts=2, dt=0.01)"
    assert repr(points(source="me")).endswith(", dt=0.01, source='me')")


def test_equality():
    assert points() == points()
    assert points() != points(dt=0.02)
    assert points() != points(v_guess=np.zeros(6))
    assert points() != points(**changed("mu", 1, 0.8))
    assert points() != 3


def test_a_problem_is_mutable_and_has_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(points())


@pytest.mark.parametrize("arguments", [POINTS, ALL], ids=["physical", "all"])
def test_pickle_and_copies(arguments):
    problem = ContactProblem(**arguments, source="me", delassus="diagonal", sigma=1e-2, beta=0.5)
    again = pickle.loads(pickle.dumps(problem))
    deep = copy.deepcopy(problem)
    shallow = copy.copy(problem)
    assert problem == again == deep == shallow
    assert np.shares_memory(shallow.A, problem.A)
    assert not np.shares_memory(deep.A, problem.A)
    assert again.delassus == "diagonal"
