"""The solution with Coulomb friction nearest to the last torques (MINDIFF)."""

import itertools

import numpy as np
import pytest

import sapwood
from invdyn_systems import legged, random_case
from sapwood.invdyn import InvdynStatus, InverseDynamics
from sapwood.reference.invdyn.coulomb_lcp import coulomb_problem
from sapwood.reference.invdyn.invdyn_solver import solve
from sapwood.reference.invdyn.nearest_lcp import motor_impulses
from sapwood.reference.invdyn.unactuated import Reduction, System


def system_of(case):
    a = case.arguments()
    return System(
        a["M"], a["h"], a["v"], a["qdd_desired"], a["J_n"], a["J_t"], a["mu"], a["phi"], case.dt,
        case.actuated,
    )  # fmt: skip


def controller_of(case, name="lcp_nearest"):
    return InverseDynamics(name, actuated=case.actuated, dt=case.dt)


def enumerated(case, last):
    """Least distance of motor impulses over all choices x_i = 0 or w_i = 0, by projections."""
    reduction = Reduction(system_of(case))
    Q, r = coulomb_problem(reduction, 4)
    start, D = motor_impulses(reduction, 4)
    least = np.inf
    for choice in itertools.product([False, True], repeat=len(r)):
        b = np.array(choice)
        found = sapwood.qp.solve(
            D.T @ D, D.T @ (start - last), A=Q[b], b=-r[b], C=Q[~b], d=-r[~b], lower=0.0,
            upper=np.where(b, np.inf, 0.0),
        )  # fmt: skip
        if found.solved:
            least = min(least, float(np.linalg.norm(start + D @ found.x - last)))
    return least


@pytest.mark.parametrize("mu", [0.0, 0.02, 0.7])
def test_nothing_is_nearer_among_all_choices(rng, mu):
    """The first call is nearest to no torque, the second one to the torques of the first."""
    case = legged(rng, 1, mu=mu)
    made = controller_of(case)
    last = np.zeros(len(case.actuated))
    for _ in range(2):
        result = made.solve(**case.arguments())
        assert result.status is InvdynStatus.solved
        distance = np.linalg.norm(case.dt * result.tau - last)
        assert distance == pytest.approx(enumerated(case, last), rel=1e-6, abs=1e-9)
        last = case.dt * result.tau
        case.h = case.h * (1.0 + 0.2 * rng.normal(size=len(case.h)))


@pytest.mark.slow
def test_nothing_is_nearer_among_the_choices_of_two_contacts(rng):
    case = legged(rng, 2)
    result = controller_of(case).solve(**case.arguments())
    least = enumerated(case, np.zeros(len(case.actuated)))
    assert np.linalg.norm(case.dt * result.tau) == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("kind", ["standing", "sliding"])
def test_mirror(rng, kind, n):
    case = legged(rng, n) if kind == "standing" else random_case(rng, n, 6, 5)
    made, last = controller_of(case), None
    for _ in range(2):
        ours = made.solve(**case.arguments())
        mirror = solve(system_of(case), made.options, last)
        assert ours.status == mirror.status
        np.testing.assert_allclose(
            ours.tau, mirror.tau, atol=1e-5 * (1.0 + np.abs(mirror.tau).max())
        )
        last = mirror.tau
        case.h = case.h * 1.1


def test_the_first_torques_of_feet_that_stick_are_the_least(rng):
    """Stage II finds the least torques of the same forces."""
    case = legged(rng, 2)
    nearest = controller_of(case).solve(**case.arguments())
    least = controller_of(case, "qp_coulomb").solve(**case.arguments())
    assert nearest.success
    np.testing.assert_allclose(nearest.tau, least.tau, atol=1e-6 * np.abs(least.tau).max())


def jumps_of_turned_contacts(case):
    """Changes of torques, by controller, where contacts are listed otherwise; the nearest result.

    The changes are of calls with the contacts in the other order and with turned tangents.
    """
    turned = dict(case.arguments())
    angle = np.array([0.3, 2.0])
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    t1, t2 = case.J_t[:, 0], case.J_t[:, 1]
    turned["J_t"] = np.stack([c * t1 + s * t2, c * t2 - s * t1], axis=1)[::-1].copy()
    turned["J_n"] = case.J_n[::-1].copy()
    jumps = {}
    for name in ("lcp_coulomb", "lcp_nearest"):
        made = controller_of(case, name)
        first, second = made.solve(**case.arguments()), made.solve(**turned)
        assert first.success
        assert second.success
        jumps[name] = np.abs(second.tau - first.tau).max()
        assert max(second.residuals.friction, second.residuals.complementarity) < 1e-12
    return jumps, first


def test_torques_do_not_depend_on_order_and_tangents(rng):
    """Lemke's method finds other forces where contacts are listed otherwise; these stay.

    The pyramid of friction turns with the tangents, so forces must lie in all of its positions. In
    one of ten cases Lemke's method finds the same forces again.
    """
    for _ in range(20):
        case = legged(rng, 2)
        jumps, first = jumps_of_turned_contacts(case)
        friction, load = np.abs(first.forces[:, :2]).sum(axis=1), first.forces[:, 2]
        if np.all(friction < case.mu / np.sqrt(2) * load):
            assert jumps["lcp_nearest"] < 1e-6 * np.abs(first.tau).max()
            if np.abs(first.tau).max() < 1e3 * jumps["lcp_coulomb"]:
                break
    assert jumps["lcp_nearest"] < 1e-6 * np.abs(first.tau).max() < 1e-3 * jumps["lcp_coulomb"]


def test_contacts_may_come_and_go(rng):
    """Torques of a call are remembered while there is one contact less."""
    case, fewer = legged(rng, 2), legged(rng, 2)
    made = controller_of(case)
    assert made.solve(**case.arguments()).success
    arguments = fewer.arguments()
    for name in ("J_n", "J_t", "mu", "phi"):
        arguments[name] = arguments[name][:0]
    assert made.solve(**arguments).forces.shape == (0, 3)
    assert made.solve(**case.arguments()).success


def test_three_contacts_are_refused(rng):
    case = legged(rng, 3)
    with pytest.raises(ValueError, match=r"^n = 3: must be at most 2"):
        controller_of(case).solve(**case.arguments())
