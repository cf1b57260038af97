"""Bad input of the theta-method: every error names the argument and the rule."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.stepping import Scheme, SpringCylinder, ThetaStepper

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
    ({"model": object()}, TypeError, "model must have nq"),
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
