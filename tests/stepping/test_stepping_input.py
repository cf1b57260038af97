"""Bad input of the theta-method: every error names the argument and the rule."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import JointLimits
from sapwood.stepping import (
    Contacts,
    Dynamics,
    Scheme,
    SpringCylinder,
    State,
    SteppingError,
    ThetaStepper,
    integrate_quaternion,
)

BAD = [
    ({"dt": 0.0}, ValueError, "dt"),
    ({"dt": "x"}, TypeError, "dt"),
    ({"scheme": "leapfrog"}, ValueError, "scheme = 'leapfrog': must be one of explicit_euler, "),
    ({"scheme": 2}, TypeError, "scheme must be a str or a Scheme, not int"),
    ({"sigma": 0.0}, ValueError, "sigma"),
    ({"beta": -1.0}, ValueError, "beta"),
    ({"delassus": "no"}, ValueError, "delassus = 'no'"),
    ({"settings": 3}, TypeError, "settings must be a SapSettings"),
    ({"tolerance": np.nan}, ValueError, "tolerance"),
    ({"max_iterations": 0}, ValueError, "max_iterations = 0: must be >= 1"),
    ({"model": 3}, TypeError, "model must have nq"),
]


@pytest.mark.parametrize(("changes", "kind", "text"), BAD, ids=[str(b[0]) for b in BAD])
def test_bad_arguments_are_named(changes, kind, text):
    arguments = {"model": SpringCylinder(), "dt": 0.01, **changes}
    with pytest.raises(kind, match=text):
        ThetaStepper(**arguments)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"q": np.zeros(2)}, "state.q"),
        ({"q": np.array([0.0, np.nan, 0.0])}, r"state\.q\[1\]"),
        ({"v": np.zeros(4)}, "state.v"),
        ({"time": np.inf}, "state.time"),
    ],
)
def test_bad_states_are_named(changes, text):
    model = SpringCylinder()
    with pytest.raises(ValueError, match=text):
        ThetaStepper(model, 0.01).step(model.start()._replace(**changes))


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("M", np.eye(2), r"model\.dynamics\(\)\.M"),
        ("M", -np.eye(3), r"model\.dynamics\(\)\.M\[0, 0\] = -1"),
        ("F2", np.array([0.0, np.inf, 0.0]), r"model\.dynamics\(\)\.F2\[1\]"),
        ("D", np.zeros(3), r"model\.dynamics\(\)\.D"),
    ],
)
def test_bad_arrays_of_a_model_are_named(monkeypatch, field, value, text):
    good = SpringCylinder.dynamics
    monkeypatch.setattr(
        SpringCylinder, "dynamics", lambda self, q, v: good(self, q, v)._replace(**{field: value})
    )
    model = SpringCylinder()
    with pytest.raises(ValueError, match=text):
        ThetaStepper(model, 0.01).step(model.start())


@pytest.mark.parametrize("name", ["m", "R", "k_s", "k", "tau_d", "mu", "g", "n_contacts"])
def test_bad_parameters_of_the_cylinder_are_named(name):
    with pytest.raises(ValueError, match=name):
        SpringCylinder(**{name: -1})


@pytest.mark.parametrize("theta", [-0.1, 1.1, np.nan])
@pytest.mark.parametrize("name", ["theta_q", "theta_v", "theta_vq"])
def test_thetas_out_of_range_are_named(name, theta):
    thetas = {"theta_q": 0.5, "theta_v": 0.5, "theta_vq": 0.5, name: theta}
    with pytest.raises(ValueError, match=name):
        Scheme("own", **thetas)


class TwoMasses:
    """Two point masses on a floor, alone or tied by a spring, which makes one tree of them."""

    nq, tree_nv = 6, np.array([3, 3], np.int32)

    def __init__(self, coupled, **changes):
        self.stiffness, self.changes = 40.0 * coupled, changes

    def dynamics(self, q, _v):
        K = self.stiffness * np.kron([[1.0, -1.0], [-1.0, 1.0]], np.eye(3))
        return Dynamics(np.eye(6), -K @ q, np.full(6, -1.0), K, np.zeros((6, 6)))

    def integrate(self, q, v, dt):
        return q + dt * v

    def contacts(self, q):
        arrays = {
            "tree_a": np.array([0, 1], np.int32),
            "tree_b": np.array([-1, -1], np.int32),
            "J": np.tile(np.eye(3).ravel(), 2),
            "phi": q[2::3],
            "k": np.full(2, 1e4),
            "tau_d": np.full(2, 0.01),
            "mu": np.full(2, 0.5),
        }
        return Contacts(**{**arrays, **self.changes})


INDEX = "must be the index of a tree"
BAD_CONTACTS = [
    ({"tree_a": np.array([0, -1], np.int32)}, rf"tree_a\[1\] = -1: {INDEX}"),
    ({"tree_a": np.array([2, 1], np.int32)}, rf"tree_a\[0\] = 2: {INDEX}"),
    ({"tree_b": np.array([-1, -5], np.int32)}, rf"tree_b\[1\] = -5: {INDEX}, or -1"),
    ({"tree_b": np.array([7, -1], np.int32)}, rf"tree_b\[0\] = 7: {INDEX}, or -1"),
    ({"tree_b": np.array([-1, 1], np.int32)}, r"tree_b\[1\] = 1: must differ from tree_a"),
    ({"tree_b": np.array([-1], np.int32)}, r"tree_b has shape \(1,\), expected \(2,\)"),
    ({"J": np.zeros(17)}, r"J has shape \(17,\), expected \(18,\)"),
    ({"J": np.zeros((6, 3))}, r"J has shape \(6, 3\), expected \(18,\)"),
    ({"J": np.array([*np.zeros(17), np.nan])}, r"J\[17\]"),
    ({"phi": np.zeros(3)}, r"phi has shape \(3,\), expected \(2,\)"),
    ({"phi": np.zeros(0)}, r"phi has shape \(0,\), expected \(2,\)"),
    ({"phi": np.array([0.0, np.inf])}, r"phi\[1\]"),
    ({"mu": np.array([0.1, -1.0])}, r"mu\[1\]"),
    ({"k": np.zeros(1)}, r"k has shape \(1,\), expected \(2,\)"),
    (
        {
            "constraints": (
                JointLimits(np.ones(3), phi0=np.zeros(1), tree_a=[4], tree_b=[-1], k=[1e5]),
            )
        },
        rf"constraints\[0\]\.tree_a\[0\] = 4: {INDEX}",
    ),
    (
        {
            "constraints": (
                JointLimits(np.ones(2), phi0=np.zeros(1), tree_a=[1], tree_b=[-1], k=[1e5]),
            )
        },
        r"constraints\[0\]\.J has shape \(2,\), expected \(3,\)",
    ),
]


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("scheme", ["symplectic_euler", "midpoint"])
@pytest.mark.parametrize(("changes", "text"), BAD_CONTACTS)
def test_bad_contacts_of_a_model_are_named(coupled, scheme, changes, text):
    """By every scheme, and where K ties trees together, as by ContactProblem itself."""
    start = State(np.zeros(6), np.zeros(6))
    ThetaStepper(TwoMasses(coupled), 0.01, scheme).step(start)
    with pytest.raises(SteppingError, match=f"step 0 at time 0 s: contact problem: {text}"):
        ThetaStepper(TwoMasses(coupled, **changes), 0.01, scheme).step(start)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"quaternion": np.zeros(4)}, "quaternion has length 0"),
        ({"quaternion": np.ones(3)}, r"quaternion has shape \(3,\)"),
        ({"omega": np.array([0.0, np.nan, 0.0])}, r"omega\[1\]"),
        ({"dt": np.nan}, "dt"),
    ],
)
def test_bad_rotations_are_named(changes, text):
    arguments = {"quaternion": np.array([1.0, 0, 0, 0]), "omega": np.ones(3), "dt": 0.1, **changes}
    with pytest.raises(ValueError, match=text):
        integrate_quaternion(**arguments)


@pytest.mark.parametrize("length", [1e-200, 5.0, 1e200])
def test_the_length_of_a_quaternion_does_not_count(length):
    unit, omega = np.array([0.6, 0.0, 0.8, 0.0]), np.array([1.0, 2.0, 3.0])
    expected = integrate_quaternion(unit, omega, 0.1)
    assert np.allclose(integrate_quaternion(length * unit, omega, 0.1), expected, rtol=1e-15)
