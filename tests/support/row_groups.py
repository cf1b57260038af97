"""Groups of clamped rows for the tests: random ones, and a problem for every kind of constraint."""

from __future__ import annotations

import numpy as np

import helpers
from sapwood import (
    Bilaterals,
    ContactProblem,
    Controllers,
    DryFrictions,
    JointLimits,
    _core,
)
from sapwood.constraints import kinds

CHAIN = (3, 6, 1, 2, 6)
# the class of every kind that the core knows
KINDS = tuple({kind.kind: kind for kind in kinds.KINDS}[name] for name in _core.constraint_kinds())
ROW_FILES = sorted((helpers.DATA / "rows").glob("*.npz"))


def random_trees(rng, sizes, n):
    """Two trees of each of n constraints, a third of them with the world alone."""
    a = rng.integers(len(sizes), size=n)
    other = (a + rng.integers(1, max(len(sizes), 2), size=n)) % len(sizes)
    return a, np.where((rng.random(n) < 1 / 3) | (other == a), -1, other)


def random_rows(rng, kind, sizes, n):
    """Arguments J, tree_a, tree_b (and size) of n random constraints."""
    a, b = random_trees(rng, sizes, n)
    size = rng.integers(1, 7, n) if kind is Bilaterals else np.ones(n, int)
    nv = np.array([*sizes, 0])
    J = [rng.standard_normal(m * (nv[i] + nv[j])) for m, i, j in zip(size, a, b, strict=True)]
    arguments = {"J": np.concatenate([np.zeros(0), *J]), "tree_a": a, "tree_b": b}
    return {**arguments, "size": size} if kind is Bilaterals else arguments, int(size.sum())


# with 0 inside, at an end, and outside: cables that always pull, the last with one force alone
FORCE_BOUNDS = (
    (-np.inf, np.inf), (-5.0, 5.0), (-5.0, np.inf), (-np.inf, 5.0), (0.0, 5.0),
    (3.0, 8.0), (-20.0, -2.0), (3.0, np.inf), (-np.inf, -2.0), (4.0, 4.0),
)  # fmt: skip


def random_parameters(rng, kind, n):
    """Physical parameters of n rows: stiff and soft, with bounds that act and others."""

    def some(*choices):
        return rng.choice(choices, n)

    if kind is JointLimits:
        return {
            "phi0": rng.uniform(-0.02, 0.02, n),
            "k": some(1e2, 1e4, np.inf),
            "tau_d": some(0.0, 0.02),
        }
    if kind is Bilaterals:
        force_lower, force_upper = rng.choice(FORCE_BOUNDS, n).T
        return {
            "g": rng.uniform(-0.01, 0.01, n),
            "k": some(1e2, 1e4, np.inf),
            "tau_d": some(0.0, 0.02),
            "force_lower": force_lower,
            "force_upper": force_upper,
        }
    if kind is Controllers:
        return {
            "Kp": some(0.0, 1e2, 1e7),
            "Kd": some(1.0, 1e3),
            "q_0": rng.uniform(-0.1, 0.1, n),
            "q_d": rng.uniform(-0.1, 0.1, n),
            "v_d": rng.uniform(-1.0, 1.0, n),
            "u_ff": rng.uniform(-5.0, 5.0, n),
            "effort": some(3.0, 50.0, np.inf),
        }
    if kind is DryFrictions:
        return {"f": some(0.0, 2.0, 100.0, 1e5)}
    raise NotImplementedError(f"no random parameters of {kind.__name__}")


def random_group(rng, kind, sizes, n):
    """n random constraints of a kind."""
    shape, n_rows = random_rows(rng, kind, sizes, n)
    return kind(**shape, **random_parameters(rng, kind, n_rows))


def random_groups(rng, sizes=CHAIN, n=5):
    """All kinds, some of them twice and one of them empty, in random order."""
    groups = [random_group(rng, kind, sizes, n) for kind in (*KINDS, *KINDS[:2])]
    groups.append(random_group(rng, Controllers, sizes, 0))
    return [groups[i] for i in rng.permutation(len(groups))]


def mixed_problem(seed, sizes=CHAIN, contacts=10, n=5):
    """Contacts and rows of all kinds on random trees."""
    rng = np.random.default_rng(seed)
    groups = random_groups(rng, sizes, n)
    return helpers.random_problem(rng, sizes, contacts, constraints=groups), rng


def cable_problem(seed, sizes=CHAIN, contacts=10, n=8):
    """Contacts, limits and cables that pull with 50 N and more, most of them slack: l_p < 0."""
    rng = np.random.default_rng(seed)
    shape, n_rows = random_rows(rng, Bilaterals, sizes, n)
    low = rng.uniform(50.0, 150.0, n_rows)
    cables = Bilaterals(
        **shape, g=rng.uniform(-0.2, 0.4, n_rows), k=1e4, tau_d=0.02, force_lower=low,
        force_upper=low + rng.choice([0.0, 100.0, np.inf], n_rows),
    )  # fmt: skip
    groups = [cables, random_group(rng, JointLimits, sizes, 3)]
    return helpers.random_problem(rng, sizes, contacts, constraints=groups), rng


# ---- one kind at a time -------------------------------------------------------------------------


def contact_case(rng):
    """Frictional contacts alone."""
    return helpers.random_problem(rng, (4, 3, 2), 24)


def case_of(kind):
    """A problem with constraints of one kind alone."""

    def make(rng):
        groups = [random_group(rng, kind, (4, 3, 2), 8)]
        return helpers.random_problem(rng, (4, 3, 2), 0, constraints=groups)

    return make


# every kind that the solver knows; a new one needs random parameters
CASES = {"contact": contact_case, **{kind.kind: case_of(kind) for kind in KINDS}}


# ---- what every solution must satisfy -------------------------------------------------------


def check_solution(problem, solution):
    """The accuracy that a solution states is right."""
    measured = helpers.momentum_error(problem, solution.v)
    assert measured <= 1e-6 * (1 + 1e-6)
    np.testing.assert_allclose(solution.momentum_error, measured, rtol=1e-3, atol=1e-11)
    cost = float(helpers.evaluate_wide(problem, solution.v)[0])
    # the terms gamma (v_hat - v_c) - R gamma^2/2 of the cost have either sign
    size = abs(cost) + sum(
        np.sum(np.abs(rows.gamma) * (np.abs(group.v_hat) + np.abs(rows.v_c)))
        + np.sum(group.R * rows.gamma**2)
        for group, rows in zip(problem.constraints, solution.constraints, strict=True)
    )
    np.testing.assert_allclose(solution.cost, cost, atol=1e-12 * size)
    assert solution.complementarity_error <= 1e-12 * size / abs(cost)
    for k, (group, rows) in enumerate(zip(problem.constraints, solution.constraints, strict=True)):
        expected, _, _ = helpers.rows_wide(problem, k, solution.v)
        v_c = problem.constraint_jacobian(k) @ solution.v
        speed = np.abs(problem.constraint_jacobian(k)) @ np.abs(solution.v) + np.abs(group.v_hat)
        np.testing.assert_allclose(rows.v_c, v_c, atol=1e-13 * speed.max(initial=0.0))
        error = np.abs(rows.gamma - expected.astype(float))
        assert np.all(error <= 100 * helpers.EPS * speed / group.R)
        assert np.all(group.lower <= rows.gamma)
        assert np.all(rows.gamma <= group.upper)
        inside = (group.lower < rows.gamma) & (rows.gamma < group.upper)
        np.testing.assert_array_equal(rows.active, inside)


# ---- by hand -------------------------------------------------------------------------------------


def free(mass, v_star, constraints, dt=0.01, **options):
    """Velocities with the given masses, each a tree of its own, without contacts."""
    mass = np.asarray(mass, dtype=float)
    trees = np.ones(len(mass), int)
    return ContactProblem(trees, mass, v_star, dt=dt, constraints=constraints, **options)
