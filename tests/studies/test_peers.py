"""The solvers that we are compared with get the problem that they are said to get."""

from __future__ import annotations

import numpy as np
import pytest

import helpers
import row_groups
import sapwood
from peer_cases import load_peer, posed
from sapwood.studies import peers
from sapwood.studies.peers.accuracy import Accuracy
from sapwood.studies.peers.kinematics import WORLD, Forest
from sapwood.studies.peers.tree_order import minimum_degree

small_files = helpers.small_files


# ---- all of them -------------------------------------------------------------------------------


@small_files
@pytest.mark.parametrize(
    ("name", "tolerance", "limit"),
    [
        ("sapwood-plain", 1e-11, 1e-9),
        ("scipy", 1e-11, 1e-9),
        ("mujoco", 1e-17, 1e-7),
        ("mujoco-mindeg", 1e-17, 1e-7),
        ("scs", 1e-11, 1e-7),
        ("clarabel", 1e-11, 1e-4),
        ("qoco", 1e-10, 1e-3),
        ("ecos", 1e-10, 1e-3),
        ("geodesic", 1e-12, 1e-4),
    ],
)
def test_every_variant_and_mode_agrees_with_sapwood(name, tolerance, limit, path):
    """The same velocity, in the norm of A, and impulses that give the same, in that of A^-1."""
    peer = load_peer(name)
    problem = sapwood.load_problem(path)
    settings = sapwood.SapSettings(relative_tolerance=1e-11)
    ours = sapwood.solve(problem, settings=settings)
    A, J = problem.to_dense()

    def inverse_norm(p):
        return np.sqrt(p @ np.linalg.solve(A, p))

    pushed = inverse_norm(J.T @ ours.gamma.ravel())
    for variant in peer.variants(problem):
        for mode in peer.modes:
            answer = posed(variant, problem, tolerance, mode)
            distance = helpers.norm_A(problem, answer.v - ours.v)
            assert distance <= limit * helpers.norm_A(problem, ours.v), (variant.variant, mode)
            # impulses where they change velocities
            change = J.T @ (answer.gamma - ours.gamma).ravel()
            assert inverse_norm(change) <= limit * pushed


# ---- constraints of other kinds ------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(set(row_groups.CASES) - {"contact"}))
def test_other_constraints_are_measured_and_refused(kind):
    """Accuracy counts all kinds; a solver that is given contacts only says so."""
    seed = 5
    problem = row_groups.CASES[kind](np.random.default_rng(seed))
    accuracy = Accuracy(problem)
    solution = sapwood.solve(problem)
    for v in (solution.v, problem.v_star):
        np.testing.assert_allclose(
            accuracy.momentum_error(v), helpers.momentum_error(problem, v), rtol=1e-6, atol=1e-11
        )
    errors = accuracy.errors(solution.v, solution.gamma)
    assert errors.momentum <= 1e-6
    assert errors.complementarity <= 1e-12
    refused = 0
    for name in peers.NAMES:
        if name.startswith("sapwood") or name == "reference":
            continue
        try:
            peer = peers.load(name)
        except ImportError:
            continue
        with pytest.raises(peers.PeerError, match="compliant contacts only"):
            peer.form(problem)
        refused += 1
    assert refused


def test_rigid_cores_are_measured_and_refused(rng):
    problem = helpers.random_problem(rng, core="log", kappa=10.0)
    accuracy = Accuracy(problem)
    solution = sapwood.solve(problem, settings=sapwood.SapSettings(relative_tolerance=1e-10))
    assert accuracy.errors(solution.v).momentum <= 1e-9
    nearby = solution.v + 1e-6 * (problem.v_star - solution.v)
    assert accuracy.errors(nearby).momentum > 1e-8
    with pytest.raises(ValueError, match="gamma"):
        accuracy.errors(solution.v, solution.gamma)
    for name in ("scipy", "mujoco"):
        with pytest.raises(peers.PeerError, match="compliant contacts only"):
            load_peer(name).form(problem)


# ---- kinematics --------------------------------------------------------------------------------


def ancestors(parent, j):
    """J and all above it."""
    chain = []
    while j != WORLD:
        chain.append(int(j))
        j = parent[j]
    return chain


def mechanism(rng, n, extra_roots=0.1):
    """Random parents of n velocities, and a matrix that couples ancestors with descendants."""
    parent = np.array(
        [WORLD if j == 0 or rng.random() < extra_roots else rng.integers(j) for j in range(n)]
    )
    related = np.zeros((n, n), dtype=bool)
    for j in range(n):
        related[j, ancestors(parent, j)] = True
    related |= related.T
    A = np.where(related, rng.uniform(0.1, 1.0, (n, n)), 0.0)
    A = (A + A.T) / 2.0
    A += n * np.eye(n)
    return parent, A


def contact_problem(rng, blocks, contacts):
    """Trees with these blocks; contacts are [(tree, columns), ...] with one or two entries."""
    sizes = [len(A) for A in blocks]
    J = []
    for sides in contacts:
        for tree, columns in sides:
            block = np.zeros((3, sizes[tree]))
            block[:, columns] = rng.standard_normal((3, len(columns)))
            J.append(block.ravel())
    return sapwood.ContactProblem(
        tree_nv=np.array(sizes, dtype=np.int32),
        A=np.concatenate([A.ravel() for A in blocks]),
        v_star=rng.standard_normal(sum(sizes)),
        tree_a=np.array([sides[0][0] for sides in contacts], dtype=np.int32),
        tree_b=np.array(
            [sides[1][0] if len(sides) > 1 else -1 for sides in contacts], dtype=np.int32
        ),
        J=np.concatenate(J),
        mu=rng.uniform(0.2, 1.0, len(contacts)),
        dt=0.01,
        R_t=np.full(len(contacts), 1e-2),
        R_n=np.full(len(contacts), 1e-1),
        v_hat_n=rng.uniform(0.0, 0.3, len(contacts)),
        v_guess=rng.standard_normal(sum(sizes)),
    )


def branched_problem(rng):
    """Two mechanisms; contacts with the world, with themselves, and with each other."""
    (parent_a, A_a), (parent_b, A_b) = mechanism(rng, 12), mechanism(rng, 7)
    contacts = [
        [(0, ancestors(parent_a, 11))],
        # between two bodies of a tree: what both hang on does not count
        [(0, sorted({*ancestors(parent_a, 10)} ^ {*ancestors(parent_a, 9)}))],
        [(0, ancestors(parent_a, 8)), (1, ancestors(parent_b, 6))],
        [(1, ancestors(parent_b, 5))],
    ]
    return contact_problem(rng, [A_a, A_b], contacts), [parent_a, parent_b]


@small_files
def test_forest_covers_the_files(path):
    """Velocities that A couples are related; those of a contact lie on the chains of its ends."""
    problem = sapwood.load_problem(path)
    forest = Forest.from_problem(problem)
    A, J = problem.to_dense()
    assert np.all(forest.parent < np.arange(problem.nv))
    above = [set(ancestors(forest.parent, j)) for j in range(problem.nv)]
    for i, j in zip(*np.nonzero(A), strict=True):
        assert i in above[j] or j in above[i]
    for i, ends in enumerate(forest.ends):
        allowed = set().union(*(above[end] for end in ends if end != WORLD))
        assert set(np.flatnonzero(J[3 * i : 3 * i + 3].any(axis=0))) <= allowed


# ---- order of trees ----------------------------------------------------------------------------


def fill(order, pairs, n):
    """Couplings that elimination in this order creates."""
    near = [set() for _ in range(n)]
    for a, b in pairs:
        near[a].add(b)
        near[b].add(a)
    count = 0
    for t in order:
        around = near[t]
        for a in around:
            new = around - near[a] - {a}
            count += len(new)
            near[a] = (near[a] | around) - {a, t}
        near[t] = set()
    return count // 2


@pytest.mark.parametrize(
    ("pairs", "n"),
    [
        ([(0, k) for k in range(1, 8)], 8),  # a star, its hub first
        ([(3, 1), (1, 4), (4, 0), (0, 2)], 5),  # a path
        ([(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)], 7),  # a binary tree, root first
    ],
)
def test_minimum_degree_of_a_tree_fills_in_nothing(rng, pairs, n):
    blocks = [np.diag(rng.uniform(1.0, 2.0, 6)) for _ in range(n)]
    contacts = [[(a, range(6)), (b, range(6))] for a, b in pairs]
    order = minimum_degree(contact_problem(rng, blocks, contacts))
    assert sorted(order) == list(range(n))
    assert fill(order, pairs, n) == 0
    if len(pairs) == n - 1 and pairs[0][0] == 0:
        assert fill(range(n), pairs, n) > 0


# ---- MuJoCo ------------------------------------------------------------------------------------


def dense_parts(program):
    """M and J of MuJoCo's data, in the order of the problem."""
    mujoco = pytest.importorskip("mujoco")
    model, data = program.model, program.data
    M = np.zeros((model.nv, model.nv))
    for i, (begin, n) in enumerate(zip(model.M_rowadr, model.M_rownnz, strict=True)):
        M[i, model.M_colind[begin : begin + n]] = data.M[begin : begin + n]
    M = M + np.tril(M, -1).T
    J = np.zeros((data.nefc, model.nv))
    if mujoco.mj_isSparse(model):
        mujoco.mju_sparse2dense(
            J, data.efc_J.ravel(), data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
        )
    else:
        J[:] = data.efc_J.reshape(J.shape)
    back = np.argsort(program.columns)
    return M[np.ix_(back, back)], J[:, back]


@pytest.mark.parametrize("name", ["mujoco", "mujoco-mindeg"])
def test_mujoco_holds_the_problem(name, rng):
    peer = load_peer(name)
    files = [sapwood.load_problem(path) for path in helpers.small_paths()[::4]]
    bias = rng.standard_normal((20, 2))
    for problem in [*files, branched_problem(rng)[0], helpers.random_problem(rng, v_hat_t=bias)]:
        A, J = problem.to_dense()
        rows = [
            row
            for i, mu in enumerate(problem.mu)
            for row in ([3 * i + 2, 3 * i, 3 * i + 1] if mu > 0.0 else [3 * i + 2])
        ]
        for variant in peer.variants(problem):
            program = variant.form(problem)
            M, rows_of_J = dense_parts(program)
            assert np.array_equal(M, A)
            assert np.array_equal(rows_of_J, J[rows])


def test_mujoco_finds_the_impulses_of_the_law(rng):
    """Its forces times dt are the impulses at its velocity: the same law, in every region."""
    peer = load_peer("mujoco")
    regions = set()
    for problem in (helpers.random_problem(rng, contacts=60), branched_problem(rng)[0]):
        for variant in peer.variants(problem):
            program = variant.form(problem)
            variant.solve(program, 1e-17, "cold")()
            v = variant.answer(program, program).v
            _, J = problem.to_dense()
            R = np.stack([problem.R_t, problem.R_t, problem.R_n], axis=1)
            y = (helpers.bias(problem) - (J @ v).reshape(-1, 3)) / R
            law = sapwood.project(y, problem.mu, problem.R_t, problem.R_n)
            regions |= set(law.regions.tolist())
            force = iter(problem.dt * program.data.efc_force)
            gamma = np.zeros_like(y)
            for i, mu in enumerate(problem.mu):
                gamma[i, 2] = next(force)
                if mu > 0.0:
                    gamma[i, :2] = next(force), next(force)
            scale = np.abs(law.gamma).max()
            np.testing.assert_allclose(gamma, law.gamma, atol=1e-9 * scale)
    assert len(regions) == 3
