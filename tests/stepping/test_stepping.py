"""The theta-method: order, energy, invariants, and what goes wrong."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

pytest.importorskip("scipy")

import sapwood
from sapwood.stepping import (
    SCHEMES,
    Contacts,
    Dynamics,
    FreeMotionError,
    Scheme,
    SpringCylinder,
    State,
    SteppingError,
    ThetaStepper,
    free_motion,
    integrate_quaternion,
)
from sapwood.stepping.contact_stage import row_velocities
from stepping_models import (
    ORDERS,
    DoublePendulum,
    Flat,
    Oscillator,
    Pendulum,
    Pucks,
    Top,
    advance,
    no_contacts,
)

all_schemes = pytest.mark.parametrize("scheme", SCHEMES)

# ---- orders ------------------------------------------------------------------------------------


def final_errors(model, scheme, duration, steps):
    """|q - q_e| at the end, for several numbers of steps."""
    exact = model.exact(duration)
    errors = []
    for n in steps:
        stepper = ThetaStepper(model, duration / n, scheme)
        errors.append(np.linalg.norm(advance(stepper, model.start(), n).q - exact))
    return np.array(errors)


MODELS = {
    "spring": Oscillator(),
    "spring with damper": Oscillator(d=4.0),
    "pendulum": Pendulum(),
    "double pendulum": DoublePendulum(),
    "top": Top(),
}


@pytest.mark.slow
@all_schemes
@pytest.mark.parametrize("name", MODELS)
def test_order_of_free_motion(name, scheme):
    """The error falls with the order of the scheme; what the next order leaves is within 0.15."""
    errors = final_errors(MODELS[name], scheme, 0.5, (200, 400, 800))
    orders = np.log2(errors[:-1] / errors[1:])
    np.testing.assert_allclose(orders, ORDERS[scheme], atol=0.15)


@pytest.mark.parametrize("scheme", ["symplectic_euler", "implicit_euler", "midpoint"])
def test_order_in_rolling_contact(scheme):
    """Position error of the rolling cylinder at t = 1 s."""
    model = SpringCylinder()
    omega = model.angular_frequency(rolling=True)
    errors = []
    for n in (400, 800, 1600):
        state = advance(ThetaStepper(model, 1.0 / n, scheme), model.start(), n)
        errors.append(abs(state.q[0] - 0.1 * np.cos(omega)))
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, ORDERS[scheme], atol=0.15)


def test_momentum_is_linearized_to_first_order():
    """Proposition 1: dm/dv = A + O(dt), with a mass matrix that turns with q and forces of both
    kinds; the second difference quotient of the residual is formed here anew."""
    model, midpoint = DoublePendulum(), SCHEMES["midpoint"]
    q_0, v_0, _ = model.start()
    differences = []
    for dt in (0.02, 0.01, 0.005):
        found = free_motion(model, midpoint, dt, q_0, v_0)

        def m(v, dt=dt):
            dynamics = model.dynamics(q_0 + 0.25 * dt * (v + v_0), 0.5 * (v + v_0))
            return dynamics.M @ (v - v_0) - dt * (dynamics.F1 + dynamics.F2)

        h = 1e-5
        columns = [(m(found.v + h * e) - m(found.v - h * e)) / (2 * h) for e in np.eye(2)]
        differences.append(np.linalg.norm(np.stack(columns, axis=1) - found.A))
        assert np.linalg.norm(m(found.v)) < 1e-11
    ratios = np.divide(differences[:-1], differences[1:])
    np.testing.assert_allclose(ratios, 2.0, atol=0.3)


# ---- energy and other invariants ---------------------------------------------------------------


@all_schemes
def test_energy_of_a_spring_changes_by_the_known_factor(scheme):
    """Per step by 1 + (omega dt)^2, its inverse, and 1; symplectic Euler conserves
    E + dt k x v/2 instead, as its matrix has determinant 1."""
    model, dt = Oscillator(), 0.02
    gain = 1.0 + model.k / model.m * dt**2
    state = State(np.array([0.2]), np.array([-0.7]))
    after = ThetaStepper(model, dt, scheme).step(state)

    def conserved(s):
        extra = -0.5 * dt * model.k * float(s.q @ s.v) if scheme == "symplectic_euler" else 0.0
        return model.energy(s) + extra

    factor = {"explicit_euler": gain, "implicit_euler": 1 / gain}.get(scheme, 1.0)
    assert conserved(after) == pytest.approx(factor * conserved(state), rel=1e-13)


@all_schemes
def test_energy_of_a_pendulum(scheme):
    """Bounded over 60 periods by the schemes that are symplectic, and not by the others."""
    model, dt, steps = Pendulum(amplitude=1.0), 0.05, 2000
    state, energies = model.start(), []
    stepper = ThetaStepper(model, dt, scheme)
    for _ in range(steps):
        state = stepper.step(state)
        energies.append(model.energy(state))
    energies = np.array(energies) / model.energy(model.start())
    early, late = energies[:200], energies[-200:]
    if scheme == "explicit_euler":
        assert late.min() > 3.0
    elif scheme == "implicit_euler":
        assert late.max() < 0.01
    else:
        band = 0.25 if scheme == "symplectic_euler" else 0.01
        assert np.ptp(energies) < band
        assert abs(late.mean() - early.mean()) < 0.02 * band


def test_midpoint_conserves_energy_and_momentum_of_a_top():
    """Both are quadratic in the angular velocity, and the midpoint rule keeps such invariants."""
    model = Top()
    state = model.start()
    stepper = ThetaStepper(model, 0.1, "midpoint")
    after = advance(stepper, state, 200)
    for power in (1, 2):
        at = [float(np.sum(model.inertia**power * s.v**2)) for s in (state, after)]
        assert at[1] == pytest.approx(at[0], rel=1e-11)
    assert np.linalg.norm(after.q) == pytest.approx(1.0, abs=1e-14)


@all_schemes
def test_contact_between_two_trees_conserves_momentum(scheme):
    model = Pucks()
    stepper, state = ThetaStepper(model, 0.002, scheme), model.start()
    touched = False
    for _ in range(60):
        state = stepper.step(state)
        touched |= bool(np.any(stepper.solution.gamma != 0.0))
    p_start, p_end = (
        (model.masses * s.v).reshape(2, 3).sum(axis=0) for s in (model.start(), state)
    )
    assert touched
    assert state.v[3] > state.v[0]
    np.testing.assert_allclose(p_end, p_start, rtol=0, atol=1e-13)


@all_schemes
def test_contact_keeps_a_weight_where_it_rests(scheme):
    """The signed distance is that of the start of the step, wherever contacts are looked for."""
    model = SpringCylinder(k_s=1e-9)
    start = model.start(x=0.0)
    state = advance(ThetaStepper(model, 0.01, scheme), start, 50)
    np.testing.assert_allclose(state.q, start.q, rtol=0, atol=1e-12)


class Hanging(Flat):
    """Two weights: the first rests on a limit of some stiffness, the second one hangs on it."""

    def __init__(self, coupled=False):
        super().__init__(2)
        self.tree_nv = np.array([1, 1], np.int32)
        self.k = 1e3
        self.K = 40.0 * np.array([[1.0, -1.0], [-1.0, 1.0]]) * coupled

    def dynamics(self, q, _v):
        M, zero = np.diag([1.0, 2.0]), np.zeros((2, 2))
        return Dynamics(M, -self.K @ q, -9.81 * np.diag(M), self.K, zero)

    def contacts(self, q):
        limit = sapwood.JointLimits([[1.0, 0.0]], phi0=q[0], k=self.k, tau_d=0.05)
        rope = sapwood.Bilaterals([[1.0, -1.0]], g=q[0] - q[1], k=self.k, tau_d=0.05)
        return dataclasses.replace(no_contacts(), constraints=(limit, rope))

    def start(self):
        x = -3.0 * 9.81 / self.k
        # the coupling takes its part of the rope's own stretch
        stretch = 2.0 * 9.81 / (self.k + self.K[0, 0])
        return State(np.array([x, x - stretch]), np.zeros(2))


@all_schemes
@pytest.mark.parametrize("coupled", [False, True])
def test_other_constraints_keep_weights_where_they_rest(scheme, coupled):
    """A spring between trees makes them one, as contacts do."""
    model = Hanging(coupled)
    start = model.start()
    stepper = ThetaStepper(model, 0.01, scheme)
    state = advance(stepper, start, 50)
    np.testing.assert_allclose(state.q, start.q, rtol=0, atol=1e-11)
    implicit = SCHEMES[scheme].theta_q * SCHEMES[scheme].theta_vq > 0
    assert len(stepper.problem.tree_nv) == (1 if coupled and implicit else 2)
    force = np.concatenate([group.gamma for group in stepper.solution.constraints]) / 0.01
    rope = 2 * 9.81 - model.K[0, 0] * (start.q[0] - start.q[1])
    np.testing.assert_allclose(force, [3 * 9.81, -rope], rtol=1e-9)


def test_order_with_a_rigid_rope():
    """Two masses that a rope holds together swing as one; its slack is near rigid."""

    class Pair(Oscillator):
        def __init__(self):
            super().__init__(m=1.0, k=60.0)
            self.nq, self.tree_nv = 2, np.array([2], np.int32)

        def dynamics(self, q, _v):
            K = np.diag([self.k, 0.0])
            return Dynamics(np.diag([1.0, 0.5]), -K @ q, np.zeros(2), K, np.zeros((2, 2)))

        def contacts(self, q):
            rope = sapwood.Bilaterals([[1.0, -1.0]], g=q[0] - q[1])
            return dataclasses.replace(no_contacts(), constraints=(rope,))

    model = Pair()
    errors = []
    for n in (100, 200, 400):
        start = State(np.full(2, 0.3), np.zeros(2))
        state = advance(ThetaStepper(model, 1.0 / n, "midpoint"), start, n)
        errors.append(abs(state.q[0] - 0.3 * np.cos(np.sqrt(60.0 / 1.5))))
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, 2.0, atol=0.1)


# ---- the two stages ----------------------------------------------------------------------------


def test_dynamics_are_taken_within_the_step():
    """The mass matrix and the position of stage 1 are those of q^θq(v*)."""
    model, scheme = DoublePendulum(), Scheme("own", 0.3, 0.6, 0.8)
    q_0, v_0, _ = model.start()
    found = free_motion(model, scheme, 0.02, q_0, v_0)
    v_vq = 0.8 * found.v + 0.2 * v_0
    np.testing.assert_allclose(found.q_theta, q_0 + 0.3 * 0.02 * v_vq, rtol=1e-14)
    there = model.dynamics(found.q_theta, 0.6 * found.v + 0.4 * v_0)
    np.testing.assert_array_equal(found.dynamics.M, there.M)
    A = there.M + 0.02**2 * 0.3 * 0.8 * there.K + 0.02 * 0.6 * there.D
    np.testing.assert_allclose(found.A, A, rtol=1e-14)
    assert found.residual <= 1e-12


def test_explicit_schemes_take_one_solve():
    for name in ("explicit_euler", "symplectic_euler"):
        found = free_motion(Pendulum(), SCHEMES[name], 0.01, np.array([1.0]), np.zeros(1))
        assert found.iterations == 0
        assert not SCHEMES[name].implicit
    assert SCHEMES["midpoint"].implicit
    assert Scheme("damping", 0.0, 1.0, 0.0).implicit
    assert not Scheme("positions", 1.0, 0.0, 0.0).implicit


def test_newton_forms_the_jacobian_where_A_is_a_poor_one():
    """At a step of a whole period A, which knows nothing of gravity, leads nowhere."""
    model = Pendulum()
    found = free_motion(model, SCHEMES["implicit_euler"], 1.5, np.array([2.0]), np.array([3.0]))
    assert 1 <= found.iterations <= 20
    q = 2.0 + 1.5 * found.v[0]
    gain = model.l * (found.v[0] - 3.0) + 1.5 * model.g * np.sin(q)
    assert abs(gain) < 1e-8


class NoSolution(Flat):
    """v - v_0 = dt (1 + v^2) c has no solution once dt c > 1/2 or so."""

    def __init__(self, c):
        super().__init__(1)
        self.c = c

    def dynamics(self, _q, v):
        zero = np.zeros((1, 1))
        return Dynamics(np.eye(1), np.zeros(1), self.c * (1 + v**2), zero, zero)


def test_newton_failure_tells_step_time_and_residual():
    stepper = ThetaStepper(NoSolution(4.0), 0.05, "implicit_euler")
    state = State(np.zeros(1), np.zeros(1), 2.0)
    states = [state]

    def run():
        while True:
            states.append(stepper.step(states[-1]))

    with pytest.raises(FreeMotionError, match=r": free motion \(implicit_euler\)") as raised:
        run()
    error = raised.value
    steps = len(states) - 1
    assert steps >= 2
    assert (error.step, error.time) == (steps, states[-1].time)
    assert str(error).startswith(f"step {steps} at time {error.time:.6g} s: ")
    assert error.residual > 0.01
    assert f"{error.residual:.2g}" in str(error)
    assert isinstance(error, SteppingError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.residual, again.step) == (str(error), error.residual, steps)
    # the stepper goes on from where there is a solution
    assert stepper.steps == steps
    assert stepper.step(state).v == states[1].v


@pytest.mark.parametrize("scheme", ["implicit_euler", "midpoint"])
def test_a_stiff_spring_at_rest_is_no_failure(scheme):
    """All that is left is round-off of its position, which no step can reduce."""

    class FarSpring(Oscillator):
        def dynamics(self, q, v):
            return super().dynamics(q - 0.3, v)

    model = FarSpring(m=1.0, k=1e9, d=10.0)
    state = State(np.array([np.nextafter(0.3, 1.0)]), np.zeros(1))
    state = advance(ThetaStepper(model, 0.01, scheme), state, 50)
    assert state.q[0] == pytest.approx(0.3, rel=1e-14)


class Beside(Flat):
    """A stiff hinge, beside a slide that nothing holds."""

    def __init__(self):
        super().__init__(2)

    def dynamics(self, q, _v):
        hinge = np.array([0.0, 1.0])
        F1, F2 = -50.0 * q * hinge, -10.0 * np.sin(q) * hinge
        return Dynamics(np.diag([1.0, 1e-3]), F1, F2, np.diag(50.0 * hinge), np.zeros((2, 2)))


@pytest.mark.parametrize("far", [1e3, 1e9])
def test_a_coordinate_far_away_does_not_end_the_iterations(far):
    """Its unit and its round-off are not those of the others."""
    ends = [
        advance(
            ThetaStepper(Beside(), 1e-3, "midpoint"), State(np.array([x, 1e-6]), np.zeros(2)), 100
        )
        for x in (0.0, far)
    ]
    assert abs(ends[0].q[1]) > 1e-8
    assert ends[1].q[1] == ends[0].q[1]
    assert ends[1].v[1] == ends[0].v[1]


def test_limit_of_iterations():
    model = DoublePendulum()
    with pytest.raises(FreeMotionError, match="after 1 Newton iterations"):
        advance(ThetaStepper(model, 0.05, "midpoint", max_iterations=1), model.start(), 1)


class BreaksDown(Flat):
    """Forces that are no numbers, or too large ones, away from the start."""

    def __init__(self, force):
        super().__init__(2)
        self.force = force

    def dynamics(self, q, _v):
        zero = np.zeros((2, 2))
        force = self.force if q[0] > 1.0 else 1.0
        return Dynamics(np.eye(2), np.full(2, -force), np.full(2, 2.0 * force), zero, zero)


@all_schemes
@pytest.mark.parametrize("force", [np.nan, np.inf, 1e300])
def test_forces_that_are_not_finite(scheme, force):
    stepper = ThetaStepper(BreaksDown(force), 0.1, scheme)
    with pytest.raises(FreeMotionError, match="step"):
        advance(stepper, State(np.array([0.99, 0.0]), np.array([1.0, 0.0])), 2)


class Indefinite(SpringCylinder):
    """A spring of negative stiffness, which would need a time step below a bound."""

    def dynamics(self, q, v):
        dynamics = super().dynamics(q, v)
        return dynamics._replace(F1=-dynamics.F1, K=-dynamics.K)


def test_a_matrix_that_is_not_positive_definite_is_told():
    model = Indefinite(k_s=1e4)
    with pytest.raises(SteppingError, match=r"step 0 at time 0 s: .*tree 0"):
        ThetaStepper(model, 0.1, "implicit_euler").step(model.start())


# ---- parts -------------------------------------------------------------------------------------


def test_blocks_of_trees_are_the_dense_jacobian():
    model = Pucks()
    v = np.random.default_rng(5).standard_normal(6)
    expected = model.dense_jacobian() @ v
    for trees in (model.tree_nv, np.array([6], np.int32)):
        found = Contacts.from_dense(model.dense_jacobian(), trees, *[np.zeros(1)] * 4)
        size = np.array([3], np.int32)
        rows = row_velocities(found.J, size, found.tree_a, found.tree_b, trees, v)
        np.testing.assert_allclose(rows, expected, rtol=1e-14)


def test_quaternions_turn_as_rotations_do():
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(7)
    for size in (0.0, 1e-9, 1e-3, 1.0, 10.0):
        start = Rotation.random(rng=rng)
        omega = size * rng.standard_normal(3)
        found = integrate_quaternion(start.as_quat(scalar_first=True), omega, 0.3)
        expected = start * Rotation.from_rotvec(0.3 * omega)
        difference = Rotation.from_quat(found, scalar_first=True).inv() * expected
        assert difference.magnitude() < 1e-14
        assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-15)


def test_a_stepper_keeps_what_the_last_step_found():
    model = SpringCylinder(n_contacts=2)
    stepper = ThetaStepper(model, 0.02)
    assert stepper.solution is stepper.problem is stepper.free_motion is None
    state = stepper.step(model.start())
    assert (stepper.steps, stepper.dt, stepper.scheme) == (1, 0.02, SCHEMES["midpoint"])
    assert stepper.problem.n_contacts == 2
    np.testing.assert_array_equal(stepper.solution.v, state.v)
    assert state.time == 0.02
    assert repr(stepper) == (
        "ThetaStepper(SpringCylinder(mu=1, n_contacts=2), dt=0.02, scheme='midpoint')"
    )
    free = ThetaStepper(Pendulum(), 0.02)
    free.step(Pendulum().start())
    assert free.solution is None
    assert free.free_motion is not None


def test_states_are_not_changed():
    model = SpringCylinder()
    state = model.start()
    before = copy.deepcopy(state)
    after = ThetaStepper(model, 0.02).step(state)
    np.testing.assert_array_equal(state.q, before.q)
    np.testing.assert_array_equal(state.v, before.v)
    assert not np.shares_memory(after.q, state.q)
    assert not np.shares_memory(after.v, state.v)
