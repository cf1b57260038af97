"""Shared by the tests: problem files, random problems and formulas independent of both solvers.

The formulas are written contact by contact in extended precision (NumPy's longdouble), from the
definitions of the problem file format, and share no code with the package.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import sapwood
from sapwood import SapSettings, reference

DATA = Path(__file__).parents[1] / "data"
EPS = np.finfo(float).eps
WIDE = np.longdouble
TIGHT = SapSettings(relative_tolerance=1e-12)

# every property of the solver is checked on both implementations
implementations = pytest.mark.parametrize(
    "solver", [pytest.param(sapwood, id="core"), pytest.param(reference, id="reference")]
)
seeds = pytest.mark.parametrize("seed", [1, 2, 3])


# ---- problem files -----------------------------------------------------------------------------


def small_paths() -> list[Path]:
    """Problem files kept beside the tests."""
    return sorted(DATA.glob("*.npz"))


small_files = pytest.mark.parametrize("path", small_paths(), ids=lambda path: path.stem)


def all_files() -> list:
    """Parameters: the small files, then the set in the folder named by SAPWOOD_DATA."""
    parameters = [pytest.param(path, id=path.stem) for path in small_paths()]
    folder = os.environ.get("SAPWOOD_DATA")
    if folder is None:
        reason = "SAPWOOD_DATA names no folder with sap_problems/*.npz"
        skip = pytest.param(None, id="whole-set", marks=pytest.mark.skip(reason=reason))
        return [*parameters, skip]
    found = sorted((Path(folder) / "sap_problems").glob("*.npz"))
    if not found:
        raise FileNotFoundError(f"SAPWOOD_DATA={folder} holds no sap_problems/*.npz")
    slow = pytest.mark.slow
    return parameters + [pytest.param(path, id=path.stem, marks=slow) for path in found]


def delassus_of(path: Path) -> str:
    """Which estimate of the Delassus blocks a problem file was made with, from its name."""
    diagonal = path.stem.startswith("drake_") or path.stem.endswith("_diagonal")
    return "diagonal" if diagonal else "block"


# ---- independent formulas ----------------------------------------------------------------------


def impulse(y, mu, R_t, R_n):
    """P_F(y) of one contact in the norm of diag(R_t, R_t, R_n), in the precision of y.

    Geometric form: scaled by sqrt(R) the projection is Euclidean, and in the plane through the axis
    and the point the cone is the ray along f = (mu~, 1) / sqrt(1 + mu~^2).
    """
    y = np.asarray(y)
    root = np.sqrt(np.array([R_t, R_t, R_n], dtype=y.dtype))
    scaled = root * y
    radial, axial = np.sqrt(scaled[0] ** 2 + scaled[1] ** 2), scaled[2]
    mu_tilde = y.dtype.type(mu) * root[0] / root[2]
    if axial >= 0 and radial <= mu_tilde * axial:
        return y.copy()
    f = np.array([mu_tilde, 1], dtype=y.dtype) / np.sqrt(1 + mu_tilde**2)
    length = f[0] * radial + f[1] * axial
    if length <= 0:
        return np.zeros_like(y)
    unit = scaled[:2] / radial if radial > 0 else np.zeros_like(scaled[:2])
    return np.array([length * f[0] * unit[0], length * f[0] * unit[1], length * f[1]]) / root


def bias(problem):
    """v_hat (n_contacts, 3)."""
    v_hat = np.zeros((problem.n_contacts, 3))
    v_hat[:, 2] = problem.v_hat_n
    if problem.v_hat_t is not None:
        v_hat[:, :2] = problem.v_hat_t
    return v_hat


def sections(problem) -> list[slice]:
    """Where the velocities of each tree lie."""
    ends = np.cumsum(problem.tree_nv)
    return [slice(int(e - n), int(e)) for e, n in zip(ends, problem.tree_nv, strict=True)]


def contact_jacobian(problem, i):
    """[(tree, J block)] of contact i."""
    a, b = int(problem.tree_a[i]), int(problem.tree_b[i])
    J_a, J_b = problem.J_blocks(i)
    return [(a, J_a)] if J_b is None else [(a, J_a), (b, J_b)]


def row_jacobian(problem, k, i):
    """[(tree, J block)] of constraint i of group k."""
    group = problem.constraints[k]
    J_a, J_b = problem.constraint_blocks(k, i)
    first = (int(group.tree_a[i]), J_a)
    return [first] if J_b is None else [first, (int(group.tree_b[i]), J_b)]


def rows_wide(problem, k, v):
    """Impulses, cost and J^T gamma of group k at v, in extended precision."""
    v, at = np.asarray(v, dtype=WIDE), sections(problem)
    group = problem.constraints[k]
    R, v_hat, lower, upper = (
        np.split(x.astype(WIDE), np.cumsum(group.size)[:-1])
        for x in (group.R, group.v_hat, group.lower, group.upper)
    )
    gamma, cost, j_c = [np.zeros(0, dtype=WIDE)], WIDE(0), np.zeros_like(v)
    for i in range(len(group)):
        blocks = [(t, J.astype(WIDE)) for t, J in row_jacobian(problem, k, i)]
        z = v_hat[i] - sum(J @ v[at[t]] for t, J in blocks)
        g = np.minimum(np.maximum(z / R[i], lower[i]), upper[i])
        # the integral of the impulse over z, from 0
        cost += np.sum(g * z - R[i] * g**2 / 2)
        for t, J in blocks:
            j_c[at[t]] += J.T @ g
        gamma.append(g)
    return np.concatenate(gamma), cost, j_c


def evaluate_wide(problem, v):
    """Cost, gradient, A v and J^T gamma at v, and contact impulses, in extended precision."""
    v = np.asarray(v, dtype=WIDE)
    at = sections(problem)
    difference = v - problem.v_star.astype(WIDE)
    momentum, A_v = np.zeros_like(v), np.zeros_like(v)
    for t, here in enumerate(at):
        A = problem.A_block(t).astype(WIDE)
        momentum[here], A_v[here] = A @ difference[here], A @ v[here]

    cost = difference @ momentum / 2
    v_hat = bias(problem).astype(WIDE)
    j_c = np.zeros_like(v)
    gamma = np.zeros((problem.n_contacts, 3), dtype=WIDE)
    for i in range(problem.n_contacts):
        blocks = [(t, J.astype(WIDE)) for t, J in contact_jacobian(problem, i)]
        v_c = sum(J @ v[at[t]] for t, J in blocks)
        R = np.array([problem.R_t[i], problem.R_t[i], problem.R_n[i]], dtype=WIDE)
        gamma[i] = impulse((v_hat[i] - v_c) / R, problem.mu[i], R[0], R[2])
        cost += np.sum(R * gamma[i] ** 2) / 2
        for t, J in blocks:
            j_c[at[t]] += J.T @ gamma[i]
    for k in range(len(problem.constraints)):
        _, cost_k, j_c_k = rows_wide(problem, k, v)
        cost, j_c = cost + cost_k, j_c + j_c_k
    return cost, momentum - j_c, A_v, j_c, gamma


def touched_trees(problem) -> np.ndarray:
    """True for each tree that a contact or another constraint lies on."""
    groups = (problem, *problem.constraints)
    touched = [t for group in groups for t in (*group.tree_a, *group.tree_b)]
    return np.isin(np.arange(problem.n_trees), touched)


def contact_speed_scale(problem, v) -> np.ndarray:
    """|J| |v| + |v_hat| (n_contacts, 3): what round-off of v_hat - v_c is relative to."""
    v, at = np.abs(v), sections(problem)
    scale = np.abs(bias(problem))
    for i in range(problem.n_contacts):
        for t, J in contact_jacobian(problem, i):
            scale[i] += np.abs(J) @ v[at[t]]
    return scale


def momentum_error(problem, v) -> float:
    """e_m (24) of v in extended precision, over the trees that a constraint lies on."""
    _, gradient, A_v, j_c, _ = evaluate_wide(problem, v)
    touched = touched_trees(problem)
    D = np.concatenate(
        [touched[t] / np.sqrt(np.diag(problem.A_block(t))) for t in range(problem.n_trees)]
    )

    def norm(x):
        return float(np.linalg.norm((D * x).astype(float)))

    scale = max(norm(A_v), norm(j_c))
    return norm(gradient) / scale if scale > 0 else norm(gradient)


def moved_columns(problem) -> list[np.ndarray]:
    """Which velocities of each tree some constraint moves: columns of J that are not zero."""
    moved = [np.zeros(n, dtype=bool) for n in problem.tree_nv]
    for k, group in enumerate(problem.constraints):
        for i in range(len(group)):
            for t, J in row_jacobian(problem, k, i):
                moved[t] |= (J != 0).any(axis=0)
    for i in range(problem.n_contacts):
        for t, J in contact_jacobian(problem, i):
            moved[t] |= (J != 0).any(axis=0)
    return moved


def settled(problem, v) -> np.ndarray:
    """v with the velocities that no constraint moves at their best, where the solver keeps them.

    Their gradient A_uu (v_u - v*_u) + A_ut (v_t - v*_t) is zero.
    """
    v = np.array(v)
    for t, (here, stays) in enumerate(zip(sections(problem), moved_columns(problem), strict=True)):
        if stays.any() and not stays.all():
            A, dw = problem.A_block(t), (v - problem.v_star)[here]
            momentum = A[np.ix_(~stays, stays)] @ dw[stays]
            dw[~stays] = -np.linalg.solve(A[np.ix_(~stays, ~stays)], momentum)
            v[here] = problem.v_star[here] + dw
    return v


def norm_A(problem, x) -> float:
    """|x|_A, root joules."""
    total = WIDE(0)
    x = np.asarray(x, dtype=WIDE)
    for t, here in enumerate(sections(problem)):
        total += x[here] @ problem.A_block(t).astype(WIDE) @ x[here]
    return float(np.sqrt(total))


def assert_both_converged(problem, tolerance, one, two):
    """Two solutions meet (20), and are as close to each other as their certificates say."""
    for solution in (one, two):
        assert solution.status == sapwood.Status.converged
        assert momentum_error(problem, solution.v) <= tolerance * (1.0 + 1e-6)
    distance = norm_A(problem, one.v - two.v)
    assert distance <= one.velocity_error_bound + two.velocity_error_bound


def assert_same_solution(problem, one, two, v_two=None):
    """Both claim to be within their proved bounds of the one minimiser."""
    v_two = two.v if v_two is None else v_two
    distance = norm_A(problem, one.v - v_two)
    bound = one.velocity_error_bound + two.velocity_error_bound
    assert distance <= bound, f"{distance} apart, proved at most {bound}"
    # bounds that prove nothing must not pass
    size = norm_A(problem, one.v)
    assert bound <= 1e-6 * size, f"bound {bound} is loose for a velocity of {size}"


# ---- random problems ---------------------------------------------------------------------------


def random_spd(rng, n, spread=2.0):
    """Symmetric positive definite (n, n) with eigenvalues over about `spread` decades."""
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    A = (Q * 10.0 ** rng.uniform(-spread / 2, spread / 2, n)) @ Q.T
    return (A + A.T) / 2.0


def random_problem(rng, sizes=(6, 6, 1, 9, 6, 3), contacts=20, *, touched=None, **overrides):
    """A contact problem on random trees with every kind of contact in it.

    Trees of the given sizes; `touched` (default all) are the trees contacts may lie on. A third of
    the contacts touch the world. Friction coefficients include 0; stabilization pushes apart.
    """
    touched = np.arange(len(sizes)) if touched is None else np.asarray(touched)
    a = rng.choice(touched, contacts)
    b = np.full(contacts, -1)
    for i in range(contacts):
        others = touched[touched != a[i]]
        if len(others) and rng.random() < 2 / 3:
            b[i] = rng.choice(others)
    J = []
    for i in range(contacts):
        J.append(rng.standard_normal((3, sizes[a[i]])).ravel())
        if b[i] >= 0:
            J.append(rng.standard_normal((3, sizes[b[i]])).ravel())
    nv = sum(sizes)
    arguments = {
        "tree_nv": np.array(sizes, dtype=np.int32),
        "A": np.concatenate([random_spd(rng, n).ravel() for n in sizes]),
        "v_star": rng.standard_normal(nv),
        "tree_a": a.astype(np.int32),
        "tree_b": b.astype(np.int32),
        "J": np.concatenate(J) if J else np.zeros(0),
        "mu": rng.choice([0.0, 0.3, 0.5, 1.0, 1.7], contacts),
        "dt": 0.01,
        "R_t": 10.0 ** rng.uniform(-3.0, -1.0, contacts),
        "R_n": 10.0 ** rng.uniform(-2.0, 0.0, contacts),
        "v_hat_n": rng.uniform(-0.2, 0.5, contacts),
    }
    arguments.update(overrides)
    return sapwood.ContactProblem(**arguments)


def random_spinning_problem(rng, share=0.6, **options):
    """A random problem; about this share of its contacts have torsional and rolling friction.

    A third of the lengths mu_k are 0. Half of the contacts are pressed together, so that some of
    them stick in all that they resist.
    """
    problem = random_problem(rng, **options)
    contact = np.flatnonzero(rng.random(problem.n_contacts) < share).astype(np.int32)
    mu = np.array(problem.mu)
    mu[contact] = rng.choice([0.3, 0.5, 1.0, 1.7], len(contact))
    blocks = [problem.J_blocks(i) for i in contact]
    return rebuild(
        problem,
        mu=mu,
        v_hat_n=problem.v_hat_n + 3.0 * (rng.random(problem.n_contacts) < 0.5),
        spin_contact=contact,
        spin_J=rng.standard_normal(sum(J.size for pair in blocks for J in pair if J is not None)),
        spin_mu=rng.uniform(0.01, 1.0, (len(contact), 3)) * (rng.random((len(contact), 3)) < 2 / 3),
    )


def seeded_problem(seed, **options):
    """A random problem and the generator that made it."""
    rng = np.random.default_rng(seed)
    return random_problem(rng, **options), rng


def arguments_of(problem) -> dict:
    """Arguments that make an equal problem, without the physical parameters and reference."""
    names = "tree_nv A v_star tree_a tree_b J mu dt R_t R_n v_hat_n v_hat_t v_guess".split()
    names += "constraints spin_contact spin_J spin_mu friction_bound".split()
    return {name: getattr(problem, name) for name in names}


def rebuild(problem, **changes):
    """A copy of a problem with some arrays changed."""
    return sapwood.ContactProblem(**{**arguments_of(problem), **changes})


def pack_J(blocks) -> np.ndarray:
    """Flat J from [(J_a, J_b or None)] per contact."""
    parts = [J.ravel() for pair in blocks for J in pair if J is not None]
    return np.concatenate(parts) if parts else np.zeros(0)


def jacobian_blocks(problem) -> list:
    """[(J_a, J_b or None)] of all contacts."""
    return [problem.J_blocks(i) for i in range(problem.n_contacts)]
