"""Torque limits of the convex controllers: what binds, what does not, and what cannot be held."""

import numpy as np
import pytest

from invdyn_systems import legged, splayed
from sapwood import qp
from sapwood.invdyn import InvdynStatus, InverseDynamics
from sapwood.reference.invdyn.invdyn_solver import solve as solve_in_numpy
from sapwood.reference.invdyn.unactuated import System

CONVEX = ["qp_noslip", "qp_coulomb", "one_stage"]


def made(case, controller, **options):
    return InverseDynamics(controller, actuated=case.actuated, dt=case.dt, **options)


def control(case, controller, **options):
    return made(case, controller, **options).solve(**case.arguments())


def limits_that_bind(rng, case, controller):
    """Limits of 0.5 to 0.95 of the largest torque, and of some motors next to none."""
    largest = np.abs(control(case, controller).tau).max()
    limit = np.full(len(case.actuated), rng.uniform(0.5, 0.95) * largest)
    return np.where(rng.random(len(limit)) < 0.2, rng.choice([np.inf, 1e6]), limit)


class Programs:
    """Both stages as quadratic programs in shares of edges, straight from the equations of motion.

    Impulses and motors' impulses are in units of the largest of dt h.
    """

    def __init__(self, case, controller):
        n, q = len(case.mu), case.actuated
        b = np.setdiff1d(np.arange(len(case.v)), q)
        J, unit = case.J.reshape(3 * n, -1), np.abs(case.h).max() * case.dt
        v, c = case.v + 0.0, case.M @ case.v - case.dt * case.h
        v[q] += case.dt * case.qdd_desired
        A, B = case.M[np.ix_(b, b)], case.M[np.ix_(b, q)]
        v[b] = np.linalg.solve(A, c[b] - B @ v[q])
        change = np.zeros((len(v), 3 * n))
        change[b] = np.linalg.solve(A, unit * J[:, b].T)
        self.force, self.holds = unit / case.dt, controller == "qp_noslip"
        self.edges, self.free = self._edges(case.mu)
        # velocities of contacts are G z + u; motors' impulses tau - T z
        self.G, self.u = J @ change, J @ v
        self.u[2::3] += case.phi / case.dt
        self.tau = (case.M @ v - c)[q] / unit
        self.T = J[:, q].T - (case.M @ change)[q] / unit

    def _edges(self, mu):
        n = len(mu)
        if self.holds:
            return np.eye(3 * n), np.tile([True, True, False], n)
        directions = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]]).T
        pyramids = [np.vstack([m * directions, np.ones(4)]) for m in mu]
        edges = np.zeros((3 * n, 4 * n))
        for i, pyramid in enumerate(pyramids):
            edges[3 * i : 3 * i + 3, 4 * i : 4 * i + 4] = pyramid
        return edges, np.zeros(4 * n, dtype=bool)

    def minimise(self, limit, H, g, held):
        """Impulses within limits by which no contact approaches; rows of `held` are equalities."""
        E, limit = self.edges, limit / self.force
        C = np.vstack([self.G[2::3], self.T, -self.T]) @ E
        d = np.concatenate([-self.u[2::3], self.tau - limit, -self.tau - limit])
        A, b = held
        lower = np.where(self.free, -np.inf, 0.0)
        found = qp.solve(E.T @ H @ E, E.T @ g, A=A @ E, b=b, C=C, d=d, lower=lower, tolerance=1e-8)
        return found, E @ found.x

    def first(self, limit):
        tangents = np.arange(len(self.u)) % 3 < 2
        rows = tangents if self.holds else np.zeros_like(tangents)
        return self.minimise(limit, self.G, self.u, (self.G[rows], -self.u[rows]))

    def torques(self, z):
        return (self.tau - self.T @ z) * self.force

    def second(self, limit, z):
        return self.minimise(limit, self.T.T @ self.T, -self.T.T @ self.tau, (self.G, self.G @ z))


@pytest.mark.parametrize("feet", [2, 4])
@pytest.mark.parametrize("controller", CONVEX)
def test_limits_that_bind_leave_the_optimum_of_a_quadratic_program(rng, controller, feet):
    for _ in range(10):
        case = legged(rng, feet)
        limit = limits_that_bind(rng, case, controller)
        result = control(case, controller, torque_limit=limit)
        programs, reached = Programs(case, controller), np.where(limit < 1e5, limit, np.inf)
        program, z = programs.first(reached)
        if result.status == InvdynStatus.torque_limited:
            # one call of a thousand ends a little beyond limits that can be held
            is_close = 0.0 < result.residuals.torque <= 1e-3 * limit.min()
            assert program.status == qp.QpStatus.INFEASIBLE or is_close
            continue
        assert result.status == InvdynStatus.solved
        assert program.status == qp.QpStatus.SOLVED
        assert (np.abs(result.tau) <= limit * (1 + 1e-9)).all()
        assert max(result.residuals.slip, result.residuals.penetration) <= 1e-9
        velocity = (case.J @ result.v_plus).ravel()
        assert np.allclose(velocity, programs.G @ z + programs.u, atol=1e-5)
        program, z = programs.second(reached, result.forces.ravel() / programs.force)
        assert program.status == qp.QpStatus.SOLVED
        least = np.linalg.norm(programs.torques(z))
        assert np.linalg.norm(result.tau) >= least * (1 - 1e-6)
        if controller != "one_stage" and np.abs(velocity).max() <= 1e-9:  # no edge is left out
            assert np.linalg.norm(result.tau) <= least * (1 + 1e-6)


@pytest.mark.parametrize("most", [1.001, 1e9])
@pytest.mark.parametrize("controller", CONVEX)
def test_limits_that_do_not_bind_change_nothing(rng, controller, most):
    case = legged(rng)
    free = control(case, controller)
    held = control(case, controller, torque_limit=most * np.abs(free.tau).max() * np.ones(12))
    assert free.status == held.status == InvdynStatus.solved
    assert np.array_equal(free.tau, held.tau)
    assert np.array_equal(free.forces, held.forces)
    assert free.pivots == held.pivots


@pytest.mark.parametrize("most", [0.99, 1e9])
def test_limits_hide_no_inconsistent_accelerations(rng, most):
    """Legs that part where contacts hold: limits made a solution of them, in which feet slip."""
    case = splayed(rng)
    free = control(case, "qp_noslip")
    limit = most * np.abs(free.tau).max() * np.ones(6)
    held = control(case, "qp_noslip", torque_limit=limit)
    assert free.status == held.status == InvdynStatus.inconsistent_accelerations
    assert np.allclose(held.slack, free.slack, atol=1e-9 * np.abs(free.slack).max())
    assert held.residuals.slip <= 1e-7


@pytest.mark.parametrize("controller", CONVEX)
def test_torques_that_are_too_weak_are_said(rng, controller):
    case = legged(rng)
    result = control(case, controller, torque_limit=np.full(12, 1e-3))
    assert result.status == InvdynStatus.torque_limited
    assert result.residuals.torque > 0.0


@pytest.mark.parametrize("stage_one", ["contact_consistent", "paper"])
@pytest.mark.parametrize("controller", CONVEX)
def test_mirror_with_limits(rng, controller, stage_one):
    for _ in range(3):
        case = legged(rng, 2)
        limit = limits_that_bind(rng, case, controller)
        control = made(case, controller, torque_limit=limit, stage_one=stage_one)
        a = case.arguments()
        ours = control.solve(**a)
        mirror = solve_in_numpy(
            System(
                a["M"], a["h"], a["v"], a["qdd_desired"], a["J_n"], a["J_t"], a["mu"], a["phi"],
                case.dt, case.actuated,
            ),
            control.options,
        )  # fmt: skip
        assert ours.status == mirror.status
        if ours.status != InvdynStatus.solved:
            continue
        assert np.allclose(ours.v_plus, mirror.v_plus, atol=1e-6 * np.abs(mirror.v_plus).max())
        if controller != "one_stage":
            assert np.allclose(ours.tau, mirror.tau, atol=1e-5 * np.abs(mirror.tau).max())
