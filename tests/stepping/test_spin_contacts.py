"""Torsional friction in models of one's own."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapSettings
from sapwood.stepping import Contacts, Dynamics, State, ThetaStepper

MASS, INERTIA, MU, MU_N, G = 2.0, 0.01, 0.4, 0.03, 9.81


class Discs:
    """Two discs of velocities (x, y, z, turn about z) on the floor, and a spring of torsion."""

    nq = 8

    def __init__(self, tree_nv, stiffness):
        self.tree_nv, self.stiffness = np.array(tree_nv, np.int32), stiffness

    def dynamics(self, q, _v):
        M = np.diag(np.tile([MASS, MASS, MASS, INERTIA], 2))
        K = np.zeros((8, 8))
        K[3::4, 3::4] = self.stiffness * np.array([[1, -1], [-1, 1]])
        weight = np.tile([0.0, 0.0, -MASS * G, 0.0], 2)
        return Dynamics(M, F1=-K @ q, F2=weight, K=K, D=np.zeros((8, 8)))

    def integrate(self, q, v, dt):
        return q + dt * v

    def contacts(self, q):
        J, turning = np.zeros((6, 8)), np.zeros((6, 8))
        for disc in range(2):
            J[3 * disc : 3 * disc + 3, 4 * disc : 4 * disc + 3] = np.eye(3)
            turning[3 * disc, 4 * disc + 3] = 1.0
        two = np.ones(2)
        return Contacts.from_dense(
            J, self.tree_nv, q[2::4], 1e6 * two, 0.01 * two, MU * two,
            spin_contact=np.arange(2, dtype=np.int32), spin_J=turning,
            spin_mu=np.tile([MU_N, 0.0, 0.0], (2, 1)),
        )  # fmt: skip


def run(model, scheme, omega, steps, dt=1e-3):
    """The last state after steps from these two spins, at rest on the floor."""
    q = np.tile([0.0, 0.0, -MASS * G / 1e6, 0.0], 2)
    v = np.zeros(8)
    v[3::4] = omega
    settings = SapSettings(friction="coulomb")
    stepper, state = ThetaStepper(model, dt, scheme=scheme, settings=settings), State(q, v)
    for _ in range(steps):
        state = stepper.step(state)
    return stepper, state


@pytest.mark.parametrize("scheme", ["symplectic_euler", "implicit_euler", "midpoint"])
def test_torsional_friction_of_a_model_of_ones_own(scheme):
    _, state = run(Discs([4, 4], 0.0), scheme, (12.0, -3.0), 100)
    slowing = MU_N * MASS * G / INERTIA  # stops the slower disc after 51 ms
    np.testing.assert_allclose(state.v[3::4], [12.0 - 0.1 * slowing, 0.0], atol=1e-3)
    np.testing.assert_allclose(state.q[7], -(3.0**2) / (2 * slowing), rtol=0.03)


@pytest.mark.parametrize("scheme", ["implicit_euler", "midpoint"])
def test_trees_that_springs_couple_keep_their_torques(scheme):
    """Two trees that are solved as one, and one tree from the start."""
    found = {
        tuple(tree_nv): run(Discs(tree_nv, 40.0), scheme, (12.0, -3.0), 30)
        for tree_nv in ([4, 4], [8])
    }
    (stepper, two), (_, one) = found.values()
    assert stepper.problem.tree_nv.tolist() == [8]
    np.testing.assert_allclose(two.v, one.v, rtol=0, atol=1e-9)
    assert np.abs(stepper.solution.spin_gamma[:, 0]).min() > 1e-5


def test_contacts_that_spin_must_be_there():
    model = Discs([4, 4], 40.0)
    contacts = model.contacts(np.zeros(8))

    class Wrong(Discs):
        def contacts(self, _q):
            fields = {**vars(contacts), "spin_contact": np.array([0, 2], np.int32)}
            return Contacts(**fields)

    with pytest.raises(RuntimeError, match=r"spin_contact\[1\] = 2: must be the index of a cont"):
        run(Wrong([4, 4], 40.0), "implicit_euler", (1.0, 1.0), 1)
    with pytest.raises(ValueError, match=r"spin_contact\[1\] = 2: must be the index of a cont"):
        Contacts.from_dense(
            np.zeros((3, 8)), model.tree_nv, *np.ones((4, 1)),
            spin_contact=np.array([0, 2], np.int32), spin_J=np.zeros((6, 8)),
            spin_mu=np.ones((2, 3)),
        )  # fmt: skip
