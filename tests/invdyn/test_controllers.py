"""Controllers of inverse dynamics: what they promise, and that a forward step gives it back."""

from pathlib import Path

import numpy as np
import pytest

from invdyn_systems import Case, feet_on_flat_ground, legged, random_case, splayed
from sapwood.invdyn import ContactState, InvdynStatus, InverseDynamics, forward

CONTROLLERS = ["lcp_noslip", "lcp_coulomb", "qp_noslip", "qp_coulomb", "one_stage"]
MODEL = {
    "lcp_noslip": "noslip", "lcp_coulomb": "lcp", "qp_noslip": "noslip", "qp_coulomb": "qp",
    "one_stage": "qp",
}  # fmt: skip


def control(case, controller, **options):
    made = InverseDynamics(controller, actuated=case.actuated, dt=case.dt, **options)
    return made.solve(**case.arguments())


def step(case, tau, model):
    a = case.arguments()
    del a["qdd_desired"]
    return forward(**a, tau=tau, actuated=case.actuated, dt=case.dt, model=model)


def uneven(rng):
    points = feet_on_flat_ground(4)
    points[:, 2] += 0.04 * rng.uniform(-1, 1, 4)
    normals = 0.15 * rng.normal(size=(4, 3)) * [1, 1, 0] + [0, 0, 1]
    return legged(rng, points=points, normals=normals / np.linalg.norm(normals, axis=1)[:, None])


@pytest.fixture(params=["flat", "uneven", "slippery"])
def standing(request, rng) -> Case:
    if request.param == "uneven":
        return uneven(rng)
    return legged(rng, mu=0.02 if request.param == "slippery" else 0.7)


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_conditions_hold(standing, controller):
    result = control(standing, controller)
    accepted = {InvdynStatus.solved}
    if controller == "lcp_noslip":
        accepted.add(InvdynStatus.degenerate_noslip)
    assert result.status in accepted
    r = result.residuals
    force = np.abs(result.impulses).max()
    assert max(r.dynamics, r.tension, r.cone) <= 1e-9 * force
    assert r.acceleration <= 1e-8
    assert max(r.penetration, r.slip) <= 1e-9
    if controller.startswith("lcp"):
        assert r.complementarity <= 1e-9 * force
        assert r.friction <= 1e-9 * force
    assert np.abs(result.slack).max() <= 1e-4


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_forward_step_gives_accelerations_back(standing, controller):
    result = control(standing, controller, smoothing=0.0)
    back = step(standing, result.tau, MODEL[controller])
    assert back.status in (InvdynStatus.solved, InvdynStatus.degenerate_noslip)
    if controller == "lcp_coulomb" and not np.allclose(back.v_plus, result.v_plus, atol=1e-9):
        # one of several motions: that of the torques obeys all conditions too
        assert max(result.residuals.friction, result.residuals.complementarity) <= 1e-12
        assert max(back.residuals.friction, back.residuals.complementarity) <= 1e-12
        return
    q = standing.actuated
    wanted = standing.v[q] + standing.dt * standing.qdd_desired
    assert np.allclose(back.v_plus[q], wanted, atol=1e-9)
    assert np.allclose(back.v_plus, result.v_plus, atol=1e-9)


@pytest.mark.parametrize("controller", ["qp_coulomb", "one_stage"])
def test_forward_step_of_sliding_contacts_gives_accelerations_back(rng, controller):
    case = random_case(rng, 2, 6, 8)
    result = control(case, controller, smoothing=0.0)
    assert result.status == InvdynStatus.solved
    back = step(case, result.tau, "qp")
    assert np.allclose(back.v_plus, result.v_plus, atol=1e-7)
    assert np.allclose(back.impulses, result.impulses, atol=1e-6 * np.abs(result.impulses).max())


def test_first_stages_compared(rng):
    """The paper's takes more energy from the body; the forward step gives back the other's."""
    returned = 0
    for _ in range(20):
        case = random_case(rng, 2, 6, 8)
        consistent, paper = (
            control(case, "one_stage", stage_one=form) for form in ("contact_consistent", "paper")
        )
        assert consistent.status == paper.status == InvdynStatus.solved
        energies = [r.v_plus @ case.M @ r.v_plus for r in (consistent, paper)]
        assert energies[1] <= energies[0] * (1 + 1e-9)
        assert np.allclose(step(case, consistent.tau, "qp").v_plus, consistent.v_plus, atol=1e-7)
        returned += np.allclose(step(case, paper.tau, "qp").v_plus, paper.v_plus, atol=1e-7)
    # by chance alone, where nothing has to be held
    assert returned < 15


def test_convex_model_without_friction_is_the_complementarity_problem(rng):
    case = random_case(rng, 4, 6, 12, mu=0.0)
    convex, complementary = control(case, "one_stage"), control(case, "lcp_coulomb")
    assert np.allclose(convex.v_plus, complementary.v_plus, atol=1e-8)
    assert np.allclose(convex.impulses, complementary.impulses, atol=1e-8)


def test_second_stage_changes_no_motion_and_lowers_torques(rng):
    case = legged(rng, 6)
    one, two = control(case, "one_stage"), control(case, "qp_coulomb")
    assert np.allclose(one.v_plus, two.v_plus, atol=1e-10)
    assert np.linalg.norm(two.tau) <= np.linalg.norm(one.tau) * (1 + 1e-12)


@pytest.mark.parametrize("controller", ["lcp_noslip", "qp_noslip"])
def test_inconsistent_accelerations_are_said_and_replaced_by_the_nearest(rng, controller):
    case = splayed(rng)
    result = control(case, controller)
    assert result.status == InvdynStatus.inconsistent_accelerations
    assert np.linalg.norm(result.slack) > 1.0
    assert max(result.residuals.slip, result.residuals.penetration) <= 1e-7
    # the added part is orthogonal to the motions that the contacts leave free
    allowed = np.linalg.svd(case.J.reshape(6, -1))[2][6:]
    motions = allowed[:, case.actuated]
    assert np.abs(motions @ result.slack).max() <= 1e-5 * np.linalg.norm(result.slack)
    only_said = control(case, controller, on_inconsistent="report")
    assert only_said.status == InvdynStatus.inconsistent_accelerations
    assert not only_said.forces.any()


@pytest.mark.parametrize("controller", ["lcp_noslip", "qp_noslip"])
def test_feet_of_nearly_equal_heights_hold_no_turn(rng, controller):
    """A weight beside the line of two feet could be carried by 10^6 times its torque."""
    points = np.array([[0.25, 0.05, -0.3], [-0.25, 0.05, -0.3 + 1e-6]])
    case = legged(rng, 2, points=points)
    weight = np.abs(case.h).max()
    free = control(case, controller)
    assert np.abs(free.forces).max() < 10.0 * weight
    if controller == "lcp_noslip":  # Stage II of the other finds that least torques need no more
        held = control(case, controller, rank_tolerance=1e-8)
        assert np.abs(held.forces).max() > 1e3 * weight


def test_a_foot_that_is_lifted_holds_nothing(rng):
    case = legged(rng, 6)
    # by the least acceleration of its joints, whatever that does along the ground
    up = case.J_n[0, 6:9]
    case.qdd_desired = case.qdd_desired + np.r_[2.0 * up / (up @ up), np.zeros(15)]
    result = control(case, "lcp_noslip")
    assert result.status == InvdynStatus.solved
    u = case.J @ result.v_plus
    assert u[0, 2] > 0.0
    assert not result.forces[0].any()
    assert result.states[0] == ContactState.separate
    pushes = result.forces[:, 2] > 0.0
    assert pushes.sum() >= 3
    assert np.abs(u[pushes]).max() <= 1e-9
    assert np.abs(u[0, :2]).max() > 1e-7


@pytest.mark.parametrize("instant", ["first", "last"])
def test_forces_that_motors_hardly_feel_are_left_out(instant):
    """Four fingers of one joint pinch a box: motors and box determine few of the forces."""
    path = Path(__file__).parents[1] / "data" / "invdyn" / f"pinch_{instant}.npz"
    with np.load(path) as file:
        arrays = dict(file)
    largest = {}
    for tolerance in (1e-3, 1e-6):
        made = InverseDynamics(
            "qp_noslip", actuated=range(len(arrays["qdd_desired"])), dt=1e-3,
            rank_tolerance=tolerance,
        )  # fmt: skip
        largest[tolerance] = np.abs(made.solve(**arrays).forces).max()
    # the box weighs 8 N
    assert largest[1e-3] < 1e4
    if instant == "first":  # round-off decides what the last would have
        assert largest[1e-6] > 1e5


def test_no_slip_on_tilted_ground_is_called_degenerate(rng):
    normals = rng.uniform(0.1, 0.3, size=(4, 1)) * [[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]]
    normals = normals + [0, 0, 1]
    case = legged(rng, normals=normals / np.linalg.norm(normals, axis=1)[:, None])
    result = control(case, "lcp_noslip")
    assert result.status == InvdynStatus.degenerate_noslip
    assert not result.forces[:, 2].any()
    assert result.residuals.slip <= 1e-9


@pytest.mark.parametrize("controller", ["qp_coulomb", "one_stage"])
def test_torque_limits(rng, controller):
    case = legged(rng)
    free = control(case, controller)
    limit = np.full(12, 0.9 * np.abs(control(case, "qp_coulomb").tau).max())
    held = control(case, controller, torque_limit=limit)
    assert held.status in (InvdynStatus.solved, InvdynStatus.torque_limited)
    if held.status == InvdynStatus.solved:
        assert np.all(np.abs(held.tau) <= limit * (1 + 1e-5))
    assert np.abs(held.tau).max() < np.abs(free.tau).max()
    none = control(case, controller, torque_limit=np.full(12, 1e-3))
    assert none.status == InvdynStatus.torque_limited
    assert none.residuals.torque > 0.0


def test_contacts_that_open_have_no_force(rng):
    case = legged(rng)
    case.phi = np.full(4, 1.0)
    result = control(case, "qp_coulomb")
    assert not result.forces.any()
    assert (result.states == ContactState.separate).all()


def test_nothing_unactuated(rng):
    case = random_case(rng, 1, 0, 5)
    result = control(case, "qp_coulomb")
    assert np.isfinite(result.tau).all()
    assert np.allclose(result.v_plus[case.actuated], case.v[case.actuated] + 0.1 * (
        case.qdd_desired + result.slack
    ))  # fmt: skip


@pytest.mark.parametrize("name", ["M", "h", "v", "qdd_desired", "J_n", "J_t", "mu", "phi"])
def test_arguments_are_named(rng, name):
    case = legged(rng)
    a = case.arguments()
    a[name] = np.full_like(a[name], np.nan)
    made = InverseDynamics(actuated=case.actuated, dt=case.dt)
    with pytest.raises(ValueError, match=rf"^{name}\["):
        made.solve(**a)
    a[name] = np.zeros((2, *a[name].shape))
    with pytest.raises(ValueError, match=rf"^{name}"):
        made.solve(**a)


@pytest.mark.parametrize("wrong", [-1e-3, 1.0, np.nan, np.inf])
def test_rank_tolerance_is_a_part(rng, wrong):
    case = legged(rng)
    with pytest.raises(ValueError, match="rank_tolerance"):
        control(case, "lcp_noslip", rank_tolerance=wrong)


def test_selection(rng):
    case = legged(rng)
    m = len(case.v)
    results = [
        InverseDynamics(actuated=chosen, dt=case.dt).solve(**case.arguments())
        for chosen in (range(6, m), np.arange(m) >= 6, np.eye(m)[6:])
    ]
    assert all(np.array_equal(r.tau, results[0].tau) for r in results)
    for wrong in ([0, 0], [-1], np.ones((2, 3)), [0.5]):
        with pytest.raises(ValueError, match="actuated"):
            InverseDynamics(actuated=wrong, dt=case.dt)


def test_order_of_coordinates_does_not_matter(rng):
    case = legged(rng)
    order = rng.permutation(len(case.v))
    place = np.argsort(order)
    a = case.arguments()
    a["M"] = a["M"][np.ix_(order, order)]
    for name in ("h", "v"):
        a[name] = a[name][order]
    a["J_n"], a["J_t"] = a["J_n"][:, order], a["J_t"][:, :, order]
    other = InverseDynamics(actuated=place[case.actuated], dt=case.dt).solve(**a)
    assert np.allclose(other.tau, control(case, "qp_coulomb").tau, atol=1e-7)


@pytest.mark.parametrize("ground", ["flat", "uneven"])
def test_nearly_rigid_compliant_contact_gives_accelerations_back(rng, ground):
    """The forward step of `sapwood.solve`, whose friction is convex as that of Stage I."""
    import sapwood

    case = legged(rng, mu=0.5) if ground == "flat" else uneven(rng)
    result = control(case, "qp_coulomb")
    m, h = len(case.v), case.h.copy()
    h[case.actuated] -= result.tau
    problem = sapwood.ContactProblem(
        [m], case.M.ravel(), case.v - case.dt * np.linalg.solve(case.M, h), [0] * 4, [-1] * 4,
        case.J.ravel(), case.mu, dt=case.dt, R_t=np.full(4, 1e-7), R_n=np.full(4, 1e-7),
        v_hat_n=np.zeros(4),
    )  # fmt: skip
    settings = sapwood.SapSettings(relative_tolerance=1e-12, max_iterations=500)
    v = sapwood.solve(problem, settings=settings).v
    wanted = case.v[case.actuated] + case.dt * case.qdd_desired
    assert np.allclose(v[case.actuated], wanted, atol=1e-5)


def test_second_stage_does_no_work_that_the_first_does_not(rng):
    case = legged(rng, 6, mu=0.05)
    case.qdd_desired = case.qdd_desired + 50.0 * rng.normal(size=18)
    result = control(case, "qp_coulomb", smoothing=0.0)
    assert result.status == InvdynStatus.solved
    u = case.J @ result.v_plus
    work = np.abs(result.impulses * u).sum()
    assert work > 0.0
    assert abs((result.impulses * u).sum()) <= 1e-6 * work
    back = step(case, result.tau, "qp")
    assert np.allclose(back.v_plus, result.v_plus, atol=1e-7)
