"""The whole solver, C core and NumPy mirror: derivatives, symmetries, outcomes.

`reference` is the mirror; every property is checked on both. Two solutions of one problem are
compared through their proved error bounds, so that no tolerance has to be guessed.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import helpers
import sapwood
from sapwood import SapSettings, Status, reference

SEEDS = [1, 2, 3]
TIGHT = SapSettings(relative_tolerance=1e-12)

implementations = pytest.mark.parametrize(
    "solver", [pytest.param(sapwood, id="core"), pytest.param(reference, id="reference")]
)
seeds = pytest.mark.parametrize("seed", SEEDS)
soft_norms = pytest.mark.parametrize("soft_norm", [0.0, 0.05])
small_files = pytest.mark.parametrize("path", helpers.small_files(), ids=lambda path: path.stem)


def make(seed, **options):
    """A random problem and the generator that made it."""
    rng = np.random.default_rng(seed)
    return helpers.random_problem(rng, **options), rng


def assert_same_solution(problem, one, two, v_two=None):
    """Both claim to be within their bounds of the one minimiser."""
    v_two = two.v if v_two is None else v_two
    distance = helpers.norm_A(problem, one.v - v_two)
    assert distance <= one.velocity_error_bound + two.velocity_error_bound
    # bounds that prove nothing must not pass
    size = helpers.norm_A(problem, one.v)
    assert one.velocity_error_bound <= 1e-6 * size
    assert two.velocity_error_bound <= 1e-6 * size


def smooth_velocity(problem, rng, soft_norm, h):
    """A velocity whose contacts keep their regions within steps of h."""
    R = np.stack([problem.R_t, problem.R_t, problem.R_n], axis=1)
    _, J = problem.to_dense()

    def regions(v):
        y = (helpers.bias(problem) - (J @ v).reshape(-1, 3)) / R
        return reference.project(y, problem.mu, problem.R_t, problem.R_n, soft_norm)[2]

    for _ in range(200):
        v = rng.standard_normal(problem.nv) * 0.3
        here = regions(v)
        steps = np.vstack([np.eye(problem.nv), -np.eye(problem.nv)]) * 2.0 * h
        if len(set(here)) == 3 and all(np.array_equal(regions(v + step), here) for step in steps):
            return v
    raise AssertionError("no smooth point with all three regions found")


# ---- derivatives -------------------------------------------------------------------------------


@implementations
@seeds
@soft_norms
def test_gradient_and_hessian(solver, seed, soft_norm):
    """grad l_p and H (VIII-A) by central differences."""
    problem, rng = make(seed)
    h = 1e-6
    v = smooth_velocity(problem, rng, soft_norm, h)
    sap = solver.SapSolver(SapSettings(soft_norm=soft_norm))
    at = sap.evaluate(problem, v)
    gradient, hessian = np.empty(problem.nv), np.empty((problem.nv, problem.nv))
    for j in range(problem.nv):
        step = np.zeros(problem.nv)
        step[j] = h
        plus, minus = sap.evaluate(problem, v + step), sap.evaluate(problem, v - step)
        gradient[j] = (plus.cost - minus.cost) / (2.0 * h)
        hessian[:, j] = (plus.gradient - minus.gradient) / (2.0 * h)
    rounding = helpers.EPS * abs(at.cost) / h
    np.testing.assert_allclose(
        at.gradient, gradient, atol=1e-9 * np.abs(at.gradient).max() + 10 * rounding
    )
    np.testing.assert_allclose(at.hessian, hessian, atol=1e-6 * np.abs(at.hessian).max())
    np.testing.assert_allclose(at.hessian, at.hessian.T, atol=1e-14 * np.abs(at.hessian).max())


@implementations
@seeds
def test_cost_and_gradient_in_extended_precision(solver, seed):
    """Cost, gradient and impulses against formulas that share no code with the solver."""
    problem, rng = make(seed)
    v = rng.standard_normal(problem.nv)
    at = solver.SapSolver().evaluate(problem, v)
    cost, gradient, _, _, _ = helpers.evaluate_wide(problem, v)
    np.testing.assert_allclose(at.cost, float(cost), rtol=1e-13)
    scale = np.abs(gradient).max()
    np.testing.assert_allclose(at.gradient, gradient.astype(float), atol=1e-12 * float(scale))


@implementations
@seeds
def test_newton_direction(solver, seed):
    """H dv = -grad, by every factorization."""
    problem, rng = make(seed)
    v = rng.standard_normal(problem.nv)
    available = [f for f in sapwood.factorizations() if solver is sapwood or f != "cholmod"]
    for factorization in available:
        at = solver.SapSolver(SapSettings(factorization=factorization)).evaluate(problem, v)
        residual = at.hessian @ at.direction + at.gradient
        size = np.abs(at.hessian) @ np.abs(at.direction)
        assert np.all(np.abs(residual) <= 100 * helpers.EPS * size.max()), factorization


@implementations
@small_files
@pytest.mark.parametrize("factorization", ["dense", "cholmod"])
def test_factorizations_agree(solver, path, factorization):
    """One direction to round-off, and the same solution."""
    if solver is reference and factorization == "cholmod":
        pytest.skip("the mirror has no CHOLMOD")
    if factorization not in sapwood.factorizations():
        pytest.skip(f"built without {factorization}")
    problem = sapwood.load_problem(path)
    other = SapSettings(factorization=factorization)
    at = solver.SapSolver().evaluate(problem, problem.v_guess)
    at_other = solver.SapSolver(other).evaluate(problem, problem.v_guess)
    np.testing.assert_array_equal(at.hessian, at_other.hessian)
    d = at.direction - at_other.direction
    energy = at.direction @ at.hessian @ at.direction
    # |d|_H / |dv|_H <= eps cond(D H D), D = diag(H)^-1/2
    D = 1.0 / np.sqrt(np.diag(at.hessian))
    condition = np.linalg.cond(D[:, None] * at.hessian * D)
    assert d @ at.hessian @ d <= (problem.nv * helpers.EPS * condition) ** 2 * energy

    ours = solver.solve(problem)
    theirs = solver.solve(problem, settings=other)
    assert ours.status == theirs.status == Status.converged
    assert abs(ours.iterations - theirs.iterations) <= 1
    assert_same_solution(problem, ours, theirs)


@implementations
@seeds
@soft_norms
def test_along_a_line(solver, seed, soft_norm):
    """Difference, slope and curvature (VIII-C) against cost, gradient and Hessian off the line."""
    problem, rng = make(seed)
    v, dv = rng.standard_normal((2, problem.nv))
    sap = solver.SapSolver(SapSettings(soft_norm=soft_norm))
    alpha = np.array([0.0, 1e-3, 0.3, 1.0, 1.5, -0.7])
    difference, slope, curvature = sap.along_line(problem, v, dv, alpha)
    start = sap.evaluate(problem, v)
    assert difference[0] == 0.0
    for k, a in enumerate(alpha):
        there = sap.evaluate(problem, v + a * dv)
        scale = abs(start.cost) + abs(there.cost)
        np.testing.assert_allclose(difference[k], there.cost - start.cost, atol=1e-13 * scale)
        np.testing.assert_allclose(
            slope[k], there.gradient @ dv, atol=1e-12 * np.abs(there.gradient) @ np.abs(dv)
        )
        np.testing.assert_allclose(curvature[k], dv @ there.hessian @ dv, rtol=1e-11)


@implementations
@seeds
def test_differences_keep_their_digits(solver, seed):
    """Close to the minimiser, where costs agree to the last bit, their difference still counts.

    The mirror keeps the digits of the difference itself; the core, which compares no costs below
    that, a few units in the last place of the cost.
    """
    problem, rng = make(seed)
    sap = solver.SapSolver(TIGHT)
    v = sap.solve(problem).v + 1e-10 * rng.standard_normal(problem.nv)
    at = sap.evaluate(problem, v)
    alpha = np.array([0.5, 1.0, 1.5])
    difference, _, _ = sap.along_line(problem, v, at.direction, alpha)
    slope, curvature = (x[0] for x in sap.along_line(problem, v, at.direction, [0.0])[1:])
    assert abs(slope) < helpers.EPS * at.cost
    expected = alpha * slope + alpha**2 / 2.0 * curvature
    rounding = 0.0 if solver is reference else 4.0 * helpers.EPS * at.cost
    np.testing.assert_allclose(difference, expected, rtol=1e-4, atol=rounding)


# ---- symmetries --------------------------------------------------------------------------------


@implementations
@seeds
def test_order_of_trees_and_contacts_does_not_matter(solver, seed):
    problem, rng = make(seed)
    trees = rng.permutation(problem.n_trees)  # new tree k is old tree trees[k]
    contacts = rng.permutation(problem.n_contacts)
    at = helpers.sections(problem)
    columns = np.concatenate([np.arange(at[t].start, at[t].stop) for t in trees])
    new_index = np.append(np.argsort(trees), -1)  # tree_b = -1 stays -1
    blocks = helpers.jacobian_blocks(problem)
    other = helpers.rebuild(
        problem,
        tree_nv=problem.tree_nv[trees],
        A=np.concatenate([problem.A_block(t).ravel() for t in trees]),
        v_star=problem.v_star[columns],
        tree_a=new_index[problem.tree_a[contacts]],
        tree_b=new_index[problem.tree_b[contacts]],
        J=helpers.pack_J([blocks[i] for i in contacts]),
        mu=problem.mu[contacts],
        R_t=problem.R_t[contacts],
        R_n=problem.R_n[contacts],
        v_hat_n=problem.v_hat_n[contacts],
    )
    one, two = (solver.solve(p, settings=TIGHT) for p in (problem, other))
    back = np.empty(problem.nv)
    back[columns] = two.v
    assert_same_solution(problem, one, two, back)
    order = np.argsort(contacts)
    np.testing.assert_allclose(one.gamma, two.gamma[order], atol=1e-8 * np.abs(one.gamma).max())


@implementations
@seeds
def test_order_of_the_two_trees_does_not_matter(solver, seed):
    problem, _ = make(seed)
    two_trees = problem.tree_b >= 0
    blocks = helpers.jacobian_blocks(problem)
    other = helpers.rebuild(
        problem,
        tree_a=np.where(two_trees, problem.tree_b, problem.tree_a),
        tree_b=np.where(two_trees, problem.tree_a, -1),
        J=helpers.pack_J([(J_a, None) if J_b is None else (J_b, J_a) for J_a, J_b in blocks]),
    )
    one, two = (solver.solve(p, settings=TIGHT) for p in (problem, other))
    assert_same_solution(problem, one, two)


@implementations
@seeds
def test_change_of_units(solver, seed):
    """Other units of mass and of every velocity leave the iterates the same.

    All factors are powers of two (of four for the mass, whose root is taken), so every operation
    scales exactly. The absolute tolerance has units and is switched off.
    """
    problem, rng = make(seed)
    settings = SapSettings(relative_tolerance=1e-9, absolute_tolerance=0.0)
    mass = 16.0
    S = 2.0 ** rng.integers(-3, 4, problem.nv)
    at = helpers.sections(problem)
    scaled_A = [mass * problem.A_block(t) / np.outer(S[here], S[here]) for t, here in enumerate(at)]
    blocks = []
    for i in range(problem.n_contacts):
        scaled = [J / S[at[t]] for t, J in helpers.contact_jacobian(problem, i)]
        blocks.append((scaled[0], scaled[1] if len(scaled) == 2 else None))
    other = helpers.rebuild(
        problem,
        A=np.concatenate([A.ravel() for A in scaled_A]),
        v_star=S * problem.v_star,
        J=helpers.pack_J(blocks),
        R_t=problem.R_t / mass,
        R_n=problem.R_n / mass,
    )
    one, two = (solver.solve(p, settings=settings) for p in (problem, other))
    assert one.status == two.status == Status.converged
    assert one.iterations == two.iterations
    assert one.line_search_trials == two.line_search_trials
    np.testing.assert_array_equal(two.v, S * one.v)
    np.testing.assert_array_equal(two.gamma, mass * one.gamma)
    assert two.cost == mass * one.cost
    assert two.momentum_error == one.momentum_error


@implementations
@seeds
def test_moving_frame(solver, seed):
    """Seen from a frame moving with w, surfaces move with -J w and nothing else changes.

    A conveyor: v_hat is biased by -J w (tangential part included) where v and v* lose w.
    """
    problem, rng = make(seed)
    w = rng.standard_normal(problem.nv)
    _, J = problem.to_dense()
    shift = (J @ w).reshape(-1, 3)
    other = helpers.rebuild(
        problem,
        v_star=problem.v_star - w,
        v_hat_n=problem.v_hat_n - shift[:, 2],
        v_hat_t=-shift[:, :2],
    )
    one, two = (solver.solve(p, settings=TIGHT) for p in (problem, other))
    assert_same_solution(problem, one, two, two.v + w)
    np.testing.assert_allclose(two.gamma, one.gamma, atol=1e-8 * np.abs(one.gamma).max())
    np.testing.assert_allclose(two.v_c + shift, one.v_c, atol=1e-9)


@implementations
@seeds
def test_untouched_trees_keep_their_free_motion(solver, seed):
    """Trees no contact touches get v*, whatever the guess, and change nothing else."""
    problem, rng = make(seed, sizes=(6, 4, 9, 6, 2), touched=[0, 2, 3])
    at = helpers.sections(problem)
    guess = problem.v_star + rng.standard_normal(problem.nv)
    whole = solver.solve(problem, guess)
    for t in (1, 4):
        np.testing.assert_array_equal(whole.v[at[t]], problem.v_star[at[t]])

    keep = np.concatenate([np.arange(at[t].start, at[t].stop) for t in (0, 2, 3)])
    new_index = np.array([0, -1, 1, 2, -1, -1])
    part = helpers.rebuild(
        problem,
        tree_nv=problem.tree_nv[[0, 2, 3]],
        A=np.concatenate([problem.A_block(t).ravel() for t in (0, 2, 3)]),
        v_star=problem.v_star[keep],
        tree_a=new_index[problem.tree_a],
        tree_b=new_index[problem.tree_b],
    )
    alone = solver.solve(part, guess[keep])
    np.testing.assert_array_equal(whole.v[keep], alone.v)
    np.testing.assert_array_equal(whole.gamma, alone.gamma)
    assert whole.iterations == alone.iterations
    assert whole.velocity_error_bound == alone.velocity_error_bound


@implementations
@seeds
def test_splitting_a_contact(solver, seed):
    """Two contacts in one place, each half as stiff (2 R), share the impulse of one."""
    problem, _ = make(seed)
    i = int(np.flatnonzero(problem.tree_b < 0)[0])
    again = np.append(np.arange(problem.n_contacts), i)
    half = np.ones(problem.n_contacts + 1)
    half[[i, -1]] = 2.0
    blocks = helpers.jacobian_blocks(problem)
    other = helpers.rebuild(
        problem,
        tree_a=problem.tree_a[again],
        tree_b=problem.tree_b[again],
        J=helpers.pack_J([blocks[k] for k in again]),
        mu=problem.mu[again],
        R_t=problem.R_t[again] * half,
        R_n=problem.R_n[again] * half,
        v_hat_n=problem.v_hat_n[again],
    )
    one, two = (solver.solve(p, settings=TIGHT) for p in (problem, other))
    assert_same_solution(problem, one, two)
    size = np.abs(one.gamma).max()
    np.testing.assert_allclose(two.gamma[i], one.gamma[i] / 2.0, atol=1e-8 * size)
    np.testing.assert_array_equal(two.gamma[i], two.gamma[-1])


@implementations
@seeds
def test_two_trees_as_one(solver, seed):
    """A contact between two trees is a contact inside one tree with both their velocities."""
    problem, _ = make(seed, sizes=(6, 3), contacts=9)
    A, J = problem.to_dense()
    other = helpers.rebuild(
        problem,
        tree_nv=[9],
        A=A.ravel(),
        tree_a=np.zeros(9, dtype=np.int32),
        tree_b=np.full(9, -1, dtype=np.int32),
        J=J.ravel(),
    )
    one, two = (solver.solve(p, settings=TIGHT) for p in (problem, other))
    assert_same_solution(problem, one, two)


# ---- islands -----------------------------------------------------------------------------------


def several_islands(seed):
    """Four islands (one of a single tree, one of world contacts only) and an untouched tree."""
    rng = np.random.default_rng(seed)
    parts = [
        helpers.random_problem(rng, sizes=(6, 6, 3), contacts=9),
        helpers.random_problem(rng, sizes=(4,), contacts=2),
        helpers.random_problem(rng, sizes=(6,), contacts=0),
        helpers.random_problem(rng, sizes=(9, 2), contacts=5),
        helpers.random_problem(rng, sizes=(6, 6), contacts=7),
    ]
    first = np.cumsum([0] + [p.n_trees for p in parts[:-1]])
    joined = {
        name: np.concatenate([getattr(p, name) for p in parts])
        for name in "tree_nv A v_star J mu R_t R_n v_hat_n".split()
    }
    joined["tree_a"] = np.concatenate([p.tree_a + f for p, f in zip(parts, first, strict=True)])
    joined["tree_b"] = np.concatenate(
        [np.where(p.tree_b < 0, -1, p.tree_b + f) for p, f in zip(parts, first, strict=True)]
    )
    return sapwood.ContactProblem(**joined, dt=0.01)


@implementations
@seeds
@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6, 1e-10])
def test_islands_one_by_one_or_all_at_once(solver, seed, tolerance):
    """Both satisfy (20) for the whole problem and end at the same minimiser."""
    problem = several_islands(seed)
    settings = SapSettings(relative_tolerance=tolerance)
    apart = solver.solve(problem, settings=settings)
    together = solver.solve(problem, settings=dataclasses.replace(settings, islands=False))
    _, n_islands = reference.islands(problem.n_trees, problem.tree_a, problem.tree_b)
    assert apart.n_islands == n_islands > 1
    assert together.n_islands == 1
    for solution in (apart, together):
        assert solution.status == Status.converged
        assert helpers.momentum_error(problem, solution.v) <= tolerance * (1.0 + 1e-6)
    distance = helpers.norm_A(problem, apart.v - together.v)
    assert distance <= apart.velocity_error_bound + together.velocity_error_bound


@implementations
def test_iterations_of_islands(solver):
    """Each island takes the iterations it would take alone with the sharper rule of several."""
    problem = several_islands(5)
    solution = solver.solve(problem, settings=SapSettings(record_history=True))
    history = solution.history
    islands = np.unique(history["island"])
    assert islands.tolist() == list(range(solution.n_islands))
    taken = np.array([history["iteration"][history["island"] == k].max() for k in islands])
    assert solution.iterations == taken.max()
    assert solution.total_iterations == taken.sum()
    assert solution.line_search_trials == history["trials"].sum()
    assert len(history) == solution.total_iterations + solution.n_islands


# ---- how a solve goes --------------------------------------------------------------------------


@implementations
@small_files
@pytest.mark.parametrize("line_search", ["exact", "backtracking"])
def test_cost_never_increases(solver, path, line_search):
    """Monotone, and the recorded decreases add up to what was gained."""
    problem = sapwood.load_problem(path)
    settings = SapSettings(
        line_search=line_search,
        record_history=True,
        islands=False,
        relative_tolerance=1e-8,
    )
    solution = solver.solve(problem, settings=settings)
    assert solution.status == Status.converged
    history = solution.history
    assert history["iteration"].tolist() == list(range(len(history)))
    assert np.all(history["decrease"][1:] > 0.0)
    assert np.all(history["step"][1:] > 0.0)
    assert np.all(history["step"] <= settings.max_step)
    drop = -np.diff(history["cost"])
    rounding = 1e-12 * history["cost"][0]
    np.testing.assert_allclose(history["decrease"][1:], drop, atol=rounding)
    assert history["cost"][-1] == pytest.approx(solution.cost, rel=1e-12)
    e_m = helpers.momentum_error(problem, solution.v)
    np.testing.assert_allclose(history["momentum_error"][-1], e_m, rtol=1e-3, atol=1e-11)


@implementations
@small_files
def test_exact_guess_takes_no_iteration(solver, path):
    """Whatever the limit, 0 included; the guess is returned to the bit."""
    problem = sapwood.load_problem(path)
    for max_iterations in (0, 1, 100):
        settings = SapSettings(max_iterations=max_iterations)
        solution = solver.solve(problem, problem.v_ref, settings)
        assert solution.status == Status.converged
        assert solution.iterations == solution.total_iterations == 0
        touched = helpers.touched_trees(problem)
        for t, here in enumerate(helpers.sections(problem)):
            expected = problem.v_ref if touched[t] else problem.v_star
            np.testing.assert_array_equal(solution.v[here], expected[here])


@implementations
def test_no_contacts(solver):
    problem, rng = make(1, contacts=0)
    solution = solver.solve(problem, rng.standard_normal(problem.nv))
    assert solution.status == Status.converged
    np.testing.assert_array_equal(solution.v, problem.v_star)
    assert solution.gamma.shape == (0, 3)
    assert solution.iterations == solution.n_islands == 0
    assert solution.velocity_error_bound == solution.momentum_error == solution.cost == 0.0


@implementations
def test_contacts_that_do_not_act(solver):
    """All contacts separate: v = v* and nothing pushes."""
    problem, rng = make(2)
    problem = helpers.rebuild(problem, v_hat_n=np.full(problem.n_contacts, -100.0))
    solution = solver.solve(problem, rng.standard_normal(problem.nv))
    assert solution.status == Status.converged
    np.testing.assert_array_equal(solution.regions, 3)
    np.testing.assert_array_equal(solution.gamma, 0.0)
    np.testing.assert_allclose(solution.v, problem.v_star, atol=1e-14)


@implementations
def test_iteration_limit_is_reported(solver):
    problem = sapwood.load_problem(helpers.DATA / "clutter_12_impact_block.npz")
    guess = solver.solve(problem, settings=SapSettings(max_iterations=0))
    assert guess.status == Status.iteration_limit
    assert guess.iterations == 0
    one = solver.solve(problem, settings=SapSettings(max_iterations=1))
    assert one.status == Status.iteration_limit
    assert one.iterations == 1
    assert one.cost < guess.cost
    assert 1e-6 < one.momentum_error < guess.momentum_error
    np.testing.assert_allclose(
        one.momentum_error, helpers.momentum_error(problem, one.v), rtol=1e-8
    )


@implementations
@small_files
def test_round_off_is_reported(solver, path):
    """A tolerance nobody can reach: stalled (or lucky), soon, near the minimiser, never a loop."""
    problem = sapwood.load_problem(path)
    sharp = SapSettings(relative_tolerance=1e-12)
    impossible = SapSettings(relative_tolerance=0.0, absolute_tolerance=0.0)
    converged = solver.solve(problem, settings=sharp)
    solution = solver.solve(problem, settings=impossible)
    assert solution.status == Status.stalled
    assert solution.iterations <= converged.iterations + 20
    assert helpers.momentum_error(problem, solution.v) <= 1e-12
    assert_same_solution(problem, converged, solution)


@implementations
def test_overflow_is_reported(solver):
    """Finite input, infinite cost: a status of its own, no exception and no crash."""
    problem, _ = make(3)
    problem = helpers.rebuild(problem, v_star=np.full(problem.nv, 1e200))
    solution = solver.solve(problem)
    assert solution.status == Status.non_finite


@implementations
@small_files
def test_line_searches_agree(solver, path):
    problem = sapwood.load_problem(path)
    exact = solver.solve(problem, settings=TIGHT)
    settings = SapSettings(relative_tolerance=1e-10, line_search="backtracking")
    armijo = solver.solve(problem, settings=settings)
    assert exact.status == armijo.status == Status.converged
    assert_same_solution(problem, exact, armijo)


@implementations
@seeds
def test_exact_search_finds_the_root(solver, seed):
    """The recorded step zeroes the slope along the first direction, or is alpha_max."""
    problem, rng = make(seed)
    guess = rng.standard_normal(problem.nv)
    settings = SapSettings(record_history=True, islands=False, max_iterations=1, start="newton")
    sap = solver.SapSolver(settings)
    history = sap.solve(problem, guess).history
    direction = sap.evaluate(problem, guess).direction
    step = history["step"][1]
    _, slope, _ = sap.along_line(problem, guess, direction, [0.0, step])
    if step == settings.max_step:
        assert slope[1] <= 0.0
    else:
        assert abs(slope[1]) <= 2.0 * settings.line_search_tolerance * abs(slope[0])


@implementations
@seeds
def test_backtracking_step(solver, seed):
    """The longest alpha_max rho^k that decreases l enough and that the next one does not beat."""
    problem, rng = make(seed)
    guess = rng.standard_normal(problem.nv)
    settings = SapSettings(
        record_history=True,
        islands=False,
        max_iterations=1,
        start="newton",
        line_search="backtracking",
    )
    sap = solver.SapSolver(settings)
    history = sap.solve(problem, guess).history
    direction = sap.evaluate(problem, guess).direction
    tried = settings.max_step * settings.armijo_rho ** np.arange(history["trials"][1])
    difference, _, _ = sap.along_line(problem, guess, direction, tried)
    _, slope, _ = sap.along_line(problem, guess, direction, [0.0])
    enough = difference[:-1] < settings.armijo_c * tried[:-1] * slope[0]
    accepted = enough & (difference[1:] >= difference[:-1])
    assert np.flatnonzero(accepted).tolist() == [len(accepted) - 1]
    assert history["step"][1] == pytest.approx(tried[-2], rel=1e-14)


@implementations
@seeds
def test_soft_norm(solver, seed):
    """The smoothed problem is solved to its own minimiser, close to the exact one."""
    problem, _ = make(seed)
    exact = solver.solve(problem, settings=TIGHT)
    soft = solver.solve(problem, settings=dataclasses.replace(TIGHT, soft_norm=1e-4))
    assert soft.status == Status.converged
    gap = np.abs(soft.v - exact.v).max()
    assert 0.0 < gap < 1e-2
    at = solver.SapSolver(SapSettings(soft_norm=1e-4)).evaluate(problem, soft.v)
    D = 1.0 / np.sqrt(np.concatenate([np.diag(problem.A_block(t)) for t in range(problem.n_trees)]))
    A, _ = problem.to_dense()
    assert np.linalg.norm(D * at.gradient) <= 1e-11 * np.linalg.norm(D * (A @ soft.v))


# ---- both implementations ----------------------------------------------------------------------


@small_files
@pytest.mark.parametrize("islands", [True, False])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("plain", [True, False], ids=["algorithm-1", "default"])
def test_core_iterates_like_its_mirror(path, islands, tolerance, plain):
    """The same algorithm: as many iterations (one more or less by round-off) and islands."""
    problem = sapwood.load_problem(path)
    settings = SapSettings(islands=islands, relative_tolerance=tolerance, record_history=True)
    if plain:
        settings = dataclasses.replace(settings, start="newton", turning=False)
    core = sapwood.solve(problem, settings=settings)
    mirror = reference.solve(problem, settings=settings)
    assert core.status == mirror.status
    assert core.n_islands == mirror.n_islands
    assert abs(core.iterations - mirror.iterations) <= 1
    # islands may be numbered differently; the first iterates agree before round-off can grow
    for iteration in (0, 1):
        ours, theirs = (s.history[s.history["iteration"] == iteration] for s in (core, mirror))
        assert len(ours) == len(theirs)
        for name in ("step", "cost", "momentum_error"):
            np.testing.assert_allclose(
                np.sort(ours[name]), np.sort(theirs[name]), rtol=1e-5, atol=1e-12
            )


@seeds
def test_core_evaluates_like_its_mirror(seed):
    problem, rng = make(seed)
    v, dv = rng.standard_normal((2, problem.nv))
    core, mirror = sapwood.SapSolver(), reference.SapSolver()
    for one, two in zip(core.evaluate(problem, v), mirror.evaluate(problem, v), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-11 * np.abs(two).max())
    alpha = np.linspace(-0.5, 1.5, 7)
    lines = (s.along_line(problem, v, dv, alpha) for s in (core, mirror))
    for one, two in zip(*lines, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-12 * np.abs(two).max())
