"""The midpoint rule with equality constraints: second order by one correction of v*."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from sapwood.mujoco import Stepper
from sapwood.stepping import Contacts, Dynamics, State, ThetaStepper, free_motion
from sapwood.stepping.free_motion import corrected_velocity
from sapwood.studies.conservation import floating_loop_change, four_bar_energy_error

TOP = """<mujoco><option timestep="{dt}"/><worldbody><body name="top" euler="30 0 0"><freejoint/>
  <inertial pos="0 0 .05" mass=".5" diaginertia="5e-4 5e-4 8e-4"/></body></worldbody>
  <equality><connect body1="top" anchor="0 0 0"/></equality></mujoco>"""


def precession_error(dt):
    """Relative error of the steady precession of a top that a connect holds at its tip."""
    along, across, load, spin = 8e-4, 5e-4 + 0.5 * 0.05**2, 0.5 * 9.81 * 0.05, 200.0
    a = across * np.cos(np.pi / 6)
    rate = (along * spin - np.sqrt((along * spin) ** 2 - 4.0 * a * load)) / (2.0 * a)
    model = mujoco.MjModel.from_xml_string(TOP.format(dt=dt))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    data.qvel[3:] = rate * data.xmat[1].reshape(3, 3)[2]
    data.qvel[5] = spin
    stepper, azimuth = Stepper(model, scheme="midpoint"), []
    for _ in range(round(0.3 / dt)):
        stepper.step(data)
        mujoco.mj_kinematics(model, data)
        axis = data.xmat[1].reshape(3, 3)[:, 2]
        azimuth.append(np.arctan2(axis[1], axis[0]))
    turned = np.unwrap(azimuth)
    return abs((turned[-1] - turned[0]) / ((len(turned) - 1) * dt) / rate - 1.0)


def test_a_top_on_a_connect_precesses_to_second_order():
    errors = [precession_error(dt) for dt in (2e-3, 1e-3, 5e-4)]
    assert errors[0] < 0.02
    assert min(np.array(errors[:-1]) / errors[1:]) > 3.0


def test_the_energy_error_of_a_four_bar_falls_by_four_per_halved_step():
    errors = [four_bar_energy_error(dt) for dt in (4e-3, 2e-3, 1e-3)]
    assert min(np.array(errors[:-1]) / errors[1:]) > 3.5


@pytest.mark.parametrize("loop", ["bars", "welded", "four-bar"])
def test_floating_loops_change_their_energy_to_second_order(loop):
    errors = [floating_loop_change(loop, dt, scheme="midpoint") for dt in (2e-3, 1e-3)]
    assert errors[0] / errors[1] > 3.5


class Charged:
    """A charge in a magnetic field on a line that leans, held there by an equality constraint."""

    nq = 2
    tree_nv = np.array([2], np.int32)
    line = np.array([0.6, 0.8])

    def dynamics(self, q, v):
        zero = np.zeros((2, 2))
        force = 3.0 * np.array([v[1], -v[0]]) - 5.0 * q
        return Dynamics(np.diag([1.0, 2.0]), np.zeros(2), force, zero, zero)

    def integrate(self, q, v, dt):
        return q + dt * v

    def contacts(self, q):
        held = sapwood.Bilaterals(
            tree_a=[0], tree_b=[-1], J=self.line, g=[self.line @ q], k=[np.inf], tau_d=[0.0]
        )
        none = np.zeros(0)
        return Contacts(
            np.zeros(0, np.int32), np.zeros(0, np.int32), none, none, none, none, none,
            constraints=[held],
        )  # fmt: skip


def test_the_last_problem_starts_from_the_corrected_velocity():
    """Both solves, from their formulas: A (v - v*') = J^T gamma with v*' = v_1 - A^-1 m(v_1)."""
    model, dt = Charged(), 0.01
    stepper = ThetaStepper(model, dt, "midpoint")
    q_0, v_0 = np.array([0.4, -0.3]), np.array([0.8, -0.6])
    stepper.step(State(q_0, v_0))
    free = stepper.free_motion
    again = free_motion(model, stepper.scheme, dt, q_0, v_0)
    np.testing.assert_allclose(free.v, again.v, rtol=0, atol=1e-14)
    # the first solve: the same constraint, from v* itself
    problem = stepper.problem
    J = problem.to_dense()[1] if problem.n_contacts else model.line[None]
    group = problem.constraints[0]
    w = J @ np.linalg.solve(free.A, J.T)
    gamma = np.linalg.solve(w + np.diag(group.R), group.v_hat - J @ free.v)
    first = free.v + np.linalg.solve(free.A, J.T @ gamma)
    expected = corrected_velocity(model, stepper.scheme, dt, q_0, v_0, free.A, first)
    np.testing.assert_allclose(problem.v_star, expected, rtol=0, atol=1e-9)
    assert np.abs(expected - free.v).max() > 1e-5


@pytest.mark.parametrize("scheme", ["explicit_euler", "symplectic_euler", "implicit_euler"])
def test_schemes_of_first_order_are_not_corrected(scheme):
    stepper = ThetaStepper(Charged(), 0.01, scheme)
    stepper.step(State(np.array([0.4, -0.3]), np.array([0.8, -0.6])))
    np.testing.assert_array_equal(stepper.problem.v_star, stepper.free_motion.v)
