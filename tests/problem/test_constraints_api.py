"""Groups of constraints: arguments, errors, memory, copies, files."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import helpers
import sapwood
from point_masses import POINTS, exactly, points
from row_groups import KINDS, free, mixed_problem
from sapwood import Bilaterals, ContactProblem, Controllers, DryFrictions, JointLimits

ROW = [[1.0, 0.0, 0.0, 0.0, 0.0, -1.0]]
FLAT = [1.0, 0.0, 0.0, 0.0, 0.0, -1.0]


def with_groups(*groups, **changes):
    """The two point masses of three velocities with groups."""
    return points(constraints=groups, **changes)


# ---- errors when a group is made ----------------------------------------------------------------

VALUES = [
    (lambda: JointLimits(ROW, phi0=np.nan), "phi0[0] = nan: must be finite"),
    (lambda: JointLimits(ROW * 2, phi0=[0, np.inf]), "phi0[1] = inf: must be finite"),
    (lambda: JointLimits(ROW, phi0=0, k=0.0), "k[0] = 0: must be > 0"),
    (lambda: JointLimits(ROW, phi0=0, k=np.nan), "k[0] = nan: must be > 0"),
    (lambda: JointLimits(ROW, phi0=0, tau_d=-1), "tau_d[0] = -1: must be finite and >= 0"),
    (lambda: JointLimits(ROW, phi0=0, beta=-1), "beta = -1: must be finite and >= 0"),
    (lambda: JointLimits([[np.nan]], phi0=0), "J[0, 0] = nan: must be finite"),
    (lambda: JointLimits(ROW, R=-0.5, v_hat=0.0), "R[0] = -0.5: must be finite and >= 0"),
    (lambda: JointLimits(ROW, R=np.inf, v_hat=0.0), "R[0] = inf: must be finite and >= 0"),
    (lambda: JointLimits(ROW, R=1.0, v_hat=np.nan), "v_hat[0] = nan: must be finite"),
    (lambda: JointLimits(ROW, R=1, v_hat=0, lower=1), "lower[0] = 1: must be 0"),
    (lambda: JointLimits(ROW, R=1, v_hat=0, lower=-1), "lower[0] = -1: must be 0"),
    (lambda: JointLimits(ROW, R=1, v_hat=0, upper=-1), "upper[0] = -1: must be >= 0"),
    (lambda: DryFrictions(ROW, R=1, v_hat=0, lower=1), "lower[0] = 1: must be <= 0"),
    (lambda: Controllers(ROW, R=1, v_hat=0, upper=-1), "upper[0] = -1: must be >= 0"),
    (
        lambda: Bilaterals(ROW * 2, g=0, force_lower=[0, 2], force_upper=1),
        "force_lower[1] = 2: must be <= force_upper",
    ),
    (
        lambda: Bilaterals(ROW, g=0, force_upper=np.nan),
        "force_upper[0] = nan: must be above -infin",
    ),
    (
        lambda: Bilaterals(ROW, g=0, force_upper=-np.inf),
        "force_upper[0] = -inf: must be above -inf",
    ),
    (
        lambda: Bilaterals(ROW, g=0, force_lower=np.inf),
        "force_lower[0] = inf: must be below infini",
    ),
    (
        lambda: Bilaterals(ROW, g=0, force_lower=np.nan),
        "force_lower[0] = nan: must be below infini",
    ),
    (lambda: Bilaterals(ROW, R=1, v_hat=0, lower=2, upper=1), "lower[0] = 2: must be <= upper"),
    (lambda: Bilaterals(ROW, R=1, v_hat=0, lower=np.inf), "lower[0] = inf: must be below infinity"),
    (
        lambda: Bilaterals(ROW, R=1, v_hat=0, upper=np.nan),
        "upper[0] = nan: must be above -infinity",
    ),
    (lambda: Bilaterals(ROW * 7, g=0, size=7), "size[0] = 7: must be from 1 to 6"),
    (lambda: Bilaterals(ROW * 3, g=0, size=[1, 0, 2]), "size[1] = 0: must be from 1 to 6"),
    (lambda: Bilaterals(ROW * 3, g=0, size=2), "size sums to 4, but J has 3 rows"),
    (lambda: Bilaterals(ROW * 3, g=0, size=[1, 1]), "size sums to 2, but J has 3 rows"),
    (lambda: Bilaterals(ROW, g=0, size=0), "size = 0: must be >= 1"),
    (lambda: Bilaterals(FLAT, [0], g=0, size=[1, 1]), "size has shape (2,), expected (1,)"),
    (lambda: Controllers(ROW, Kp=-1, Kd=0), "Kp[0] = -1: must be finite and >= 0"),
    (lambda: Controllers(ROW, Kp=1, Kd=np.inf), "Kd[0] = inf: must be finite and >= 0"),
    (lambda: Controllers(ROW, Kp=1, Kd=1, effort=-1), "effort[0] = -1: must be >= 0"),
    (lambda: Controllers(ROW, Kp=1, Kd=1, u_ff=np.inf), "u_ff[0] = inf: must be finite"),
    (lambda: DryFrictions(ROW, f=-1), "f[0] = -1: must be finite and >= 0"),
    (lambda: DryFrictions(ROW, f=np.inf), "f[0] = inf: must be finite and >= 0"),
    (lambda: DryFrictions(ROW, f=[1, 2]), "f has shape (2,), expected (1,)"),
    (lambda: DryFrictions(FLAT, f=1), "J has shape (6,), expected (any, any)"),
    (lambda: DryFrictions(ROW, [0], f=1), "J has shape (1, 6), expected (any,)"),
    (lambda: DryFrictions(FLAT, [0], [1, 1], f=1), "tree_b has shape (2,), expected (1,)"),
    (lambda: DryFrictions(FLAT, [2**32], f=1), "tree_a[0] = 4294967296: does not fit in int32"),
]


@pytest.mark.parametrize(("make", "text"), VALUES, ids=[text for _, text in VALUES])
def test_wrong_value_is_named(make, text):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        make()
    assert str(caught.value).startswith(text)


TYPES = [
    (lambda: JointLimits(ROW), "give phi0, or R and v_hat"),
    (lambda: JointLimits(ROW, k=1.0), "give phi0, or R and v_hat"),
    (lambda: JointLimits(ROW, phi0=0, R=1.0), "R and v_hat must be given together"),
    (lambda: JointLimits(ROW, v_hat=1.0), "R and v_hat must be given together"),
    (
        lambda: JointLimits(ROW, phi0=0, upper=1.0),
        "lower and upper are bounds of impulses, given with R and v_hat only",
    ),
    (lambda: Bilaterals(ROW, k=1.0), "give g, or R and v_hat"),
    (lambda: Controllers(ROW, Kp=1.0), "give Kp and Kd, or R and v_hat"),
    (lambda: Controllers(ROW, Kp=1.0, R=1.0, v_hat=0.0), "Kp and Kd must be given together"),
    (lambda: DryFrictions(ROW), "give f, or R and v_hat"),
    (lambda: DryFrictions(FLAT, tree_b=[0], f=1), "tree_b needs tree_a"),
    (lambda: DryFrictions(ROW, f="1"), "f must hold real numbers, not <U1"),
    (lambda: DryFrictions(ROW, f=[None]), "f must hold real numbers, not object"),
    (lambda: DryFrictions(FLAT, [0.0], f=1), "tree_a must hold integers, not float64"),
    (lambda: Bilaterals(ROW, g=0, size=1.0), "size must be an integer, not float"),
    (lambda: Bilaterals(ROW, g=0, size=[1.0]), "size must hold integers, not float64"),
]


@pytest.mark.parametrize(("make", "text"), TYPES, ids=[text for _, text in TYPES])
def test_missing_or_wrong_argument_is_a_type_error(make, text):
    with pytest.raises(TypeError, match=exactly(text)):
        make()


# ---- errors in a problem ------------------------------------------------------------------------

J6 = [1.0] * 6
PROBLEMS = [
    (DryFrictions([[1.0]], f=1), "constraints[1].J has shape (1, 1), expected (1, 6)"),
    (DryFrictions([1.0], [0], f=1), "constraints[1].J has shape (1,), expected (3,)"),
    (DryFrictions(J6, [0], [2], f=1), "constraints[1].tree_b[0] = 2: must be the index of a tree"),
    (DryFrictions(J6, [5], [1], f=1), "constraints[1].tree_a[0] = 5: must be the index of a tree"),
    (DryFrictions(J6, [-1], [1], f=1), "constraints[1].tree_a[0] = -1: must be the index of a"),
    (DryFrictions(J6, [1], [1], f=1), "constraints[1].tree_b[0] = 1: must differ from tree_a"),
    (DryFrictions([0.0] * 3, [0], f=1), "constraints[1].J: the rows of constraint 0 must give"),
    (Controllers(ROW, Kp=0, Kd=0), "constraints[1].Kp[0] = 0: must give a finite R"),
    (JointLimits(ROW, phi0=1e308, tau_d=0), "constraints[1].phi0[0] = 1e+308: must give a finite"),
    (JointLimits(ROW, phi0=0, beta=0), "constraints[1].k[0] = inf: must give a finite R > 0"),
]


@pytest.mark.parametrize(("group", "text"), PROBLEMS, ids=[text for _, text in PROBLEMS])
def test_group_that_does_not_fit_is_named(group, text):
    fine = DryFrictions(ROW, f=1.0)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        with_groups(fine, group)
    assert str(caught.value).startswith(text)


def test_constraint_on_three_trees_is_refused():
    with pytest.raises(ValueError, match=r"^constraints\[0\]\.J: constraint 1 touches 3 trees"):
        free([1.0] * 3, np.zeros(3), [DryFrictions([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], f=1.0)])


@pytest.mark.parametrize("kind", KINDS)
def test_problem_without_trees_has_no_room_for_a_row(kind):
    text = "constraints[0].J: constraint 0 touches no tree, since there are none"
    with pytest.raises(ValueError, match=exactly(text)):
        ContactProblem([], [], [], dt=0.01, constraints=[kind(np.zeros((1, 0)), R=1.0, v_hat=0.0)])
    empty = kind(np.zeros((0, 0)), R=[], v_hat=[])
    assert len(ContactProblem([], [], [], dt=0.01, constraints=[empty]).constraints[0]) == 0


@pytest.mark.parametrize("tree_nv", [[3, -3], [0, 6]])
def test_wrong_tree_is_named_before_its_rows(tree_nv):
    k = 0 if tree_nv[0] < 1 else 1
    with pytest.raises(ValueError, match=exactly(f"tree_nv[{k}] = {tree_nv[k]}: must be >= 1")):
        with_groups(DryFrictions(np.eye(sum(tree_nv)), f=1.0), tree_nv=tree_nv)


def test_error_of_the_iteration_is_the_users():
    def groups():
        yield DryFrictions(ROW, f=1.0)
        raise TypeError("mine")

    with pytest.raises(TypeError, match=exactly("mine")):
        points(constraints=groups())


@pytest.mark.parametrize(
    ("constraints", "text"),
    [
        (3, "constraints must be a sequence of groups, not int"),
        (DryFrictions(ROW, f=1), "constraints must be a sequence of groups, not a single one"),
        (
            [DryFrictions(ROW, f=1), "x"],
            f"constraints[1] must be one of {', '.join(k.__name__ for k in KINDS)}, not str",
        ),
    ],
)
def test_wrong_groups_are_type_errors(constraints, text):
    with pytest.raises(TypeError, match=exactly(text)):
        points(constraints=constraints)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (
            "R",
            -0.5,
            "constraints[1].R[0] = -0.5: must be 0, or positive and finite with a finite inverse",
        ),
        (
            "R",
            np.nan,
            "constraints[1].R[0]: must be 0, or positive and finite with a finite inverse",
        ),
        ("v_hat", np.inf, "constraints[1].v_hat[0] = inf: must be finite"),
        ("lower", 2.0, "constraints[1].lower[0] = 2: must be finite or -infinity, and <= upper"),
        ("lower", np.nan, "constraints[1].lower[0]: must be finite or -infinity, and <= upper"),
        ("upper", -2.0, "constraints[1].lower[0] = -1: must be finite or -infinity, and <= upper"),
        ("upper", np.nan, "constraints[1].upper[0]: must be above -infinity"),
        ("J", np.nan, "constraints[1].J[0]: must be finite"),
    ],
)
def test_array_that_was_changed_is_checked_again(name, value, text):
    """Contiguous float64 arrays are used in place, and errors of a solve name group and index."""
    arrays = {"R": [1.0], "v_hat": [0.0], "lower": [-1.0], "upper": [1.0], "J": FLAT}
    arrays = {key: np.array(array) for key, array in arrays.items()}
    J = arrays["J"]
    group = Bilaterals(J, [0], [1], **{key: x for key, x in arrays.items() if key != "J"})
    problem = with_groups(DryFrictions(ROW, f=1), group)
    for key, array in arrays.items():
        view = getattr(problem.constraints[1], key)
        assert np.shares_memory(view, array)
        assert not view.flags.writeable
    sapwood.solve(problem)
    arrays[name][0] = value
    with pytest.raises(ValueError, match=exactly(text)):
        sapwood.solve(problem)
    with pytest.raises(ValueError, match=exactly(text)):
        sapwood.SapSolver().evaluate(problem, problem.v_star)


def test_index_arrays_are_copied():
    a, b, size = np.array([0], np.int32), np.array([1], np.int32), np.array([1], np.int32)
    problem = with_groups(Bilaterals(FLAT, a, b, size=size, g=0.1))
    expected = sapwood.solve(problem)
    group = problem.constraints[0]
    for name, array in (("tree_a", a), ("tree_b", b), ("size", size)):
        exposed = getattr(group, name)
        assert not np.shares_memory(exposed, array)
        assert not exposed.flags.writeable
        exposed.flags.writeable = True
        exposed[:] = 10**6
        array[:] = 10**6
    assert sapwood.solve(problem) == expected


# ---- groups as values ---------------------------------------------------------------------------


def test_problem_finds_what_was_left_open():
    limit = JointLimits(ROW, phi0=0.1)
    assert limit.k.tolist() == [np.inf]
    assert limit.tau_d is None
    with pytest.raises(AttributeError, match="R is known of the groups of a problem"):
        _ = limit.R
    placed = with_groups(limit).constraints[0]
    assert placed.tau_d is None
    assert placed.tree_a.tolist() == [0]
    assert placed.tree_b.tolist() == [1]
    assert placed.lower.tolist() == [0.0]
    assert placed.upper.tolist() == [np.inf]
    assert placed.v_hat.tolist() == [-0.1 / 0.02]


@pytest.mark.parametrize("solver", [sapwood, sapwood.reference], ids=["core", "reference"])
def test_groups_in_another_problem(solver):
    """They keep their R, v_hat and bounds; without them the problem finds its own."""
    groups = [JointLimits(ROW, phi0=0.1), DryFrictions(ROW, f=2.0), Controllers(ROW, Kp=1, Kd=3)]
    groups.append(Bilaterals(ROW, R=2.0, v_hat=0.3, k=10.0))
    first = with_groups(*groups)
    kept = with_groups(*first.constraints, dt=0.05)
    assert kept.constraints == first.constraints
    physical = [group.physical() for group in first.constraints]
    again, expected = with_groups(*physical, dt=0.05), with_groups(*groups, dt=0.05)
    assert again.constraints == expected.constraints
    assert solver.solve(again) == solver.solve(expected)
    for before, after in zip(kept.constraints[:3], again.constraints[:3], strict=True):
        assert before != after
    for group in physical[:3]:
        for name in ("R", "v_hat", "lower", "upper"):
            assert not hasattr(group, name)
    # a stiffness is not enough to find R and v_hat
    assert physical[3] is first.constraints[3]
    flat = JointLimits(FLAT, [0], [1], phi0=0.1)
    assert with_groups(flat).constraints[0].physical() == flat


def test_numbers_stand_for_all_rows():
    group = Controllers(np.eye(6), Kp=1.0, Kd=[1, 2, 3, 4, 5, 6], effort=2)
    assert group.Kp.tolist() == [1.0] * 6
    assert group.Kd.dtype == np.float64
    assert group.q_0.tolist() == [0.0] * 6
    assert len(group) == group.n_rows == 6


@pytest.mark.parametrize("name", ["J", "R", "beta", "phi0", "anything"])
def test_groups_are_immutable(name):
    group = JointLimits(ROW, R=1.0, v_hat=0.0)
    with pytest.raises(AttributeError, match="immutable"):
        setattr(group, name, 1.0)
    with pytest.raises(AttributeError, match="immutable"):
        delattr(group, name)


def test_given_regularization_is_used_as_it_is():
    group = JointLimits(ROW, phi0=0.3, R=2.0, v_hat=0.5, upper=7.0)
    placed = with_groups(group).constraints[0]
    assert (placed.R, placed.v_hat, placed.lower, placed.upper) == (2.0, 0.5, 0.0, 7.0)
    assert placed.phi0 == 0.3
    without = with_groups(JointLimits(ROW, R=2.0, v_hat=0.5)).constraints[0]
    assert without.phi0 is without.k is without.tau_d is None


def test_equality():
    one = JointLimits(ROW, phi0=0.3)
    assert one == JointLimits(ROW, phi0=[0.3])
    assert one != JointLimits(ROW, phi0=0.4)
    assert one != JointLimits(ROW, phi0=0.3, beta=0.2)
    assert one != DryFrictions(ROW, f=0.3)
    assert one != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    assert with_groups(one) == with_groups(one)
    assert with_groups(one) != with_groups(JointLimits(ROW, phi0=0.4))
    assert with_groups(one) != points()
    assert with_groups(one) != with_groups(one, one)


@pytest.mark.parametrize("kind", KINDS)
def test_texts(kind):
    group = kind(np.zeros((0, 6)), R=[], v_hat=[])
    assert repr(group) == f"{kind.__name__}(n=0, n_rows=0)"
    assert f"constraints=[{group!r}]" in repr(with_groups(group))
    assert "constraints" not in repr(points())
    assert "0 rows of 1 group: 0 active" in str(sapwood.solve(with_groups(group)))
    assert "rows" not in str(sapwood.solve(points()))


def test_solution_of_groups_is_a_value():
    problem, _ = mixed_problem(3)
    one, two = sapwood.solve(problem), sapwood.solve(problem)
    assert one.constraints == two.constraints
    assert one.constraints[0] == two.constraints[0]
    assert one.constraints[0] != one.constraints[1]
    assert pickle.loads(pickle.dumps(one)) == one
    assert sapwood.solve(points()).constraints == ()
    assert one != sapwood.solve(points())


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_equal(duplicate):
    problem, _ = mixed_problem(1)
    again = duplicate(problem)
    assert again == problem
    assert sapwood.solve(again) == sapwood.solve(problem)
    for group in problem.constraints:
        assert duplicate(group) == group


# ---- blocks --------------------------------------------------------------------------------------


def test_blocks_and_matrices_of_groups(rng):
    problem, _ = mixed_problem(2)
    v = rng.standard_normal(problem.nv)
    at = helpers.sections(problem)
    solution = sapwood.solve(problem, v, sapwood.SapSettings(max_iterations=0))
    for k, group in enumerate(problem.constraints):
        J = problem.constraint_jacobian(k)
        assert J.shape == (group.n_rows, problem.nv)
        speeds = [np.zeros(0)]
        for i in range(len(group)):
            J_a, J_b = problem.constraint_blocks(k, i)
            assert np.shares_memory(J_a, group.J)
            assert (J_b is None) == (group.tree_b[i] < 0)
            speed = J_a @ v[at[group.tree_a[i]]]
            speeds.append(speed if J_b is None else speed + J_b @ v[at[group.tree_b[i]]])
        np.testing.assert_allclose(J @ v, np.concatenate(speeds), atol=1e-13)
        np.testing.assert_allclose(solution.constraints[k].v_c, J @ solution.v, atol=1e-12)


def test_matrix_is_split_by_its_trees(rng):
    """Into the trees that each constraint touches, from which the same matrix is made again."""
    tree_nv = rng.integers(1, 4, 30)
    start = np.concatenate([[0], np.cumsum(tree_nv)])
    size = rng.integers(1, 7, 200)
    J, pairs = np.zeros((size.sum(), start[-1])), []
    for end, n in zip(np.cumsum(size), size, strict=True):
        trees = sorted(rng.choice(30, rng.integers(0, 3), replace=False))
        pairs.append([*trees, -1, -1][:2] if trees else [0, -1])
        for t in trees:
            # one entry alone, or a block with zeros in it
            J[end - 1, start[t]] = 1.0
            J[end - n : end, start[t] : start[t + 1]] += rng.integers(0, 2, (n, tree_nv[t]))
    A = np.concatenate([np.eye(n).ravel() for n in tree_nv])
    group = Bilaterals(J, size=size, R=np.ones(len(J)), v_hat=np.zeros(len(J)))
    problem = ContactProblem(tree_nv, A, np.zeros(start[-1]), dt=0.01, constraints=[group])
    placed = problem.constraints[0]
    np.testing.assert_array_equal(np.stack([placed.tree_a, placed.tree_b], axis=1), pairs)
    np.testing.assert_array_equal(problem.constraint_jacobian(0), J)


def test_blocks_out_of_range():
    problem = with_groups(DryFrictions(ROW, f=1))
    with pytest.raises(IndexError, match="group 1 is out of range: there are 1"):
        problem.constraint_jacobian(1)
    with pytest.raises(IndexError, match="group -1 is out of range: there are 1"):
        problem.constraint_blocks(-1, 0)
    with pytest.raises(IndexError, match="constraint 1 is out of range: there are 1"):
        problem.constraint_blocks(0, 1)


def test_groups_in_from_dense():
    """The same problem as with flat blocks."""
    rows = DryFrictions(ROW, f=1.0)
    A = np.diag(np.repeat([1.0, 2.0], 3))
    v_star = POINTS["v_star"]
    made = ContactProblem.from_dense(A, v_star, dt=0.01, trees=[3, 3], constraints=[rows])
    assert made.constraints == with_groups(DryFrictions(FLAT, [0], [1], f=1.0)).constraints
    whole = ContactProblem.from_dense(A, v_star, dt=0.01, constraints=[rows])
    assert np.shares_memory(whole.constraints[0].J, rows.J)
    np.testing.assert_allclose(sapwood.solve(made).v, sapwood.solve(whole).v, rtol=1e-12)


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_saved_groups_are_equal(seed, tmp_path):
    problem, _ = mixed_problem(seed)
    sapwood.save_problem(tmp_path / "p.npz", problem)
    again = sapwood.load_problem(tmp_path / "p.npz")
    assert again == problem
    assert [type(group) for group in again.constraints] == [
        type(group) for group in problem.constraints
    ]


def test_more_than_ten_groups_keep_their_order(tmp_path):
    groups = [DryFrictions(ROW, f=float(k)) for k in range(12)]
    sapwood.save_problem(tmp_path / "p.npz", with_groups(*groups))
    loaded = sapwood.load_problem(tmp_path / "p.npz")
    assert [group.f[0] for group in loaded.constraints] == list(range(12))


def test_file_with_physical_parameters_alone(tmp_path):
    keys = {"kind": "controller", "J": ROW, "Kp": [1e3], "Kd": [10.0]}
    np.savez(tmp_path / "p.npz", **POINTS, **{f"constraints.0.{k}": v for k, v in keys.items()})
    expected = with_groups(Controllers(ROW, Kp=1e3, Kd=10.0))
    assert sapwood.load_problem(tmp_path / "p.npz") == expected


FILES = [
    ({"0.kind": "spring", "0.J": ROW}, "constraints.0.kind = 'spring': must be one of limit, bil"),
    ({"0.J": ROW}, "constraints.0.kind = '': must be one of limit"),
    ({"0.kind": "limit"}, "constraints.0.J is missing"),
    ({"1.kind": "limit"}, "constraints.0.kind is missing"),
    ({"x": ROW}, "constraints.x: must be constraints.NUMBER.ARGUMENT"),
    ({"0": ROW}, "constraints.0: must be constraints.NUMBER.ARGUMENT"),
    ({"0.": ROW}, "constraints.0.: must be constraints.NUMBER.ARGUMENT"),
    ({"-1.J": ROW}, "constraints.-1.J: must be constraints.NUMBER.ARGUMENT"),
    ({"00.J": ROW}, "constraints.00.J: must be constraints.NUMBER.ARGUMENT"),
    ({"².J": ROW}, "constraints.².J: must be constraints.NUMBER.ARGUMENT"),
    (
        {"0.kind": "controller", "0.J": ROW, "0.Kp": [1.0], "0.Kd": [1.0], "0.kp": [2.0]},
        "constraints.0.kp: must be an argument of Controllers",
    ),
    ({"0.kind": "limit", "0.J": ROW, "0.phi0": [np.nan]}, "constraints.0.phi0[0] = nan: must be f"),
    ({"0.kind": "dry_friction", "0.J": FLAT, "0.f": [1.0]}, "constraints.0.J has shape (6,)"),
    ({"0.kind": "dry_friction", "0.J": [[1.0]], "0.f": [1.0]}, "constraints[0].J has shape (1, 1)"),
]


def test_number_of_a_group_that_is_no_int_is_named(tmp_path):
    """Longer than what Python turns into an int."""
    path, key = tmp_path / "p.npz", f"constraints.{'1' * 5000}.J"
    np.savez(path, **POINTS, **{key: ROW})
    text = f"{path}: {key}: must be constraints.NUMBER.ARGUMENT"
    with pytest.raises(ValueError, match=exactly(text)):
        sapwood.load_problem(path)


@pytest.mark.parametrize(("keys", "text"), FILES, ids=[text for _, text in FILES])
def test_wrong_group_in_a_file_is_named(keys, text, tmp_path):
    path = tmp_path / "p.npz"
    np.savez(path, **POINTS, **{f"constraints.{key}": value for key, value in keys.items()})
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        sapwood.load_problem(path)
    assert str(caught.value).startswith(f"{path}: {text}")
