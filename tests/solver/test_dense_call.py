"""solve_dense: the solution of the same problem, one call, and errors by the names of arguments."""

from typing import Any

import numpy as np
import pytest

import sapwood

FRICTIONS = ("convex", "coulomb")


@pytest.fixture
def matrices(rng: np.random.Generator) -> dict[str, Any]:
    """Four contacts on a mass matrix of 18 velocities."""
    nv, n = 18, 4
    L = rng.normal(size=(nv, nv))
    return {
        "M": L @ L.T / nv + np.eye(nv),
        "v_star": rng.normal(size=nv),
        "J": rng.normal(size=(3 * n, nv)),
        "mu": rng.uniform(0.1, 1.0, n),
    }


def of_problem(matrices: dict[str, Any], friction: str, **numbers: Any) -> sapwood.Solution:
    """The solution of the same matrices by a problem."""
    problem = sapwood.ContactProblem.from_dense(
        matrices["M"], matrices["v_star"], matrices["J"], mu=matrices["mu"], **numbers
    )
    return sapwood.solve(problem, friction=friction)


@pytest.mark.parametrize("friction", FRICTIONS)
def test_given_regularization(
    matrices: dict[str, Any], friction: Any, rng: np.random.Generator
) -> None:
    R, v_hat = rng.uniform(1e-3, 1e-2, (4, 2)), rng.normal(size=4)
    solution = sapwood.solve_dense(**matrices, R=R, v_hat=v_hat, friction=friction)
    assert solution.status == sapwood.Status.converged
    assert solution == of_problem(
        matrices, friction, R_t=R[:, 0], R_n=R[:, 1], v_hat_n=v_hat, dt=0.01
    )
    one = sapwood.solve_dense(**matrices, R=1e-3, friction=friction)
    assert one == sapwood.solve_dense(**matrices, R=np.full(4, 1e-3), v_hat=0, friction=friction)
    assert one == sapwood.solve_dense(**matrices, R=np.float64(1e-3), friction=friction)


@pytest.mark.parametrize("friction", FRICTIONS)
@pytest.mark.parametrize("k", [1e5, np.inf])
def test_physical_regularization(matrices: dict[str, Any], friction: Any, k: float) -> None:
    phi0 = np.array([-1e-3, 0.0, 1e-3, -2e-3])
    solution = sapwood.solve_dense(
        **matrices, k=k, phi0=phi0, tau_d=0.02, dt=0.01, sigma=1e-2, beta=0.5, friction=friction
    )
    expected = of_problem(
        matrices, friction, k=k, phi0=phi0, tau_d=0.02, dt=0.01, sigma=1e-2, beta=0.5
    )
    assert np.abs(solution.v - expected.v).max() <= 1e-12
    assert np.array_equal(solution.regions, expected.regions)
    plain = sapwood.solve_dense(**matrices, k=k, dt=0.01, friction=friction)
    zeros = of_problem(matrices, friction, k=k, phi0=0.0, tau_d=0.0, dt=0.01)
    assert np.abs(plain.v - zeros.v).max() <= 1e-12


def test_momentum_and_contact_velocities(matrices: dict[str, Any]) -> None:
    solution = sapwood.solve_dense(**matrices, R=1e-3, friction="coulomb")
    M, v_star, J = matrices["M"], matrices["v_star"], matrices["J"]
    residual = M @ (solution.v - v_star) - J.T @ solution.gamma.ravel()
    assert np.abs(residual).max() <= 1e-10
    assert np.abs(solution.v_c.ravel() - J @ solution.v).max() <= 1e-12
    normal = solution.gamma[:, 2]
    assert np.all(normal >= 0.0)
    slack = np.linalg.norm(solution.gamma[:, :2], axis=1) - matrices["mu"] * normal
    assert slack.max() <= 1e-9 * normal.max()


def test_rigid_without_contacts_and_layouts(matrices: dict[str, Any]) -> None:
    M, v_star = matrices["M"], matrices["v_star"]
    free = sapwood.solve_dense(M, v_star, np.zeros((0, 18)), [], R=1.0)
    assert np.array_equal(free.v, v_star)
    assert free.gamma.shape == (0, 3)
    rigid = sapwood.solve_dense(**matrices, R=0.0, friction="coulomb")
    assert rigid.status == sapwood.Status.converged
    assert rigid.natural_residual <= 1e-9
    solution = sapwood.solve_dense(**matrices, R=1e-3)
    other = {**matrices, "M": np.asfortranarray(M), "J": matrices["J"][:, ::1].tolist()}
    assert solution == sapwood.solve_dense(**other, R=1e-3)
    assert solution == sapwood.solve_dense(**matrices, R=1e-3, v_guess=v_star)


def test_settings_and_history(matrices: dict[str, Any]) -> None:
    settings = sapwood.SapSettings(record_history=True, max_iterations=1, start="newton")
    solution = sapwood.solve_dense(**matrices, R=1e-3, settings=settings)
    assert solution.history is not None
    assert len(solution.history) >= 2
    assert solution.status == sapwood.Status.iteration_limit
    assert sapwood.solve_dense(**matrices, R=1e-3).history is None
    lagged = sapwood.SapSettings(friction="coulomb")
    assert sapwood.solve_dense(**matrices, R=1e-3, settings=lagged) == sapwood.solve_dense(
        **matrices, R=1e-3, friction="coulomb"
    )
    with pytest.raises(ValueError, match="no derivatives"):
        solution.vjp(np.zeros(18))


NAN = np.where(np.arange(18 * 18).reshape(18, 18) == 20, np.nan, np.eye(18))


@pytest.mark.parametrize(
    ("change", "kind", "text"),
    [
        ({"M": np.eye(18)[:, :17]}, ValueError, r"M has shape \(18, 17\), expected \(18, 18\)"),
        ({"M": np.ones(18)}, ValueError, r"M has shape \(18,\), expected"),
        ({"M": np.zeros((0, 0))}, ValueError, "M must have from 1"),
        ({"M": NAN}, ValueError, r"M\[1, 2\] = nan: must be finite"),
        ({"M": np.eye(18) + np.eye(18, k=1)}, ValueError, "M: must be symmetric"),
        ({"M": np.diag(np.arange(18.0))}, ValueError, "M: must be positive definite"),
        ({"M": "text"}, TypeError, "M must hold real numbers"),
        ({"v_star": np.zeros(17)}, ValueError, r"v_star has shape \(17,\), expected \(18,\)"),
        ({"v_star": np.full(18, np.inf)}, ValueError, r"v_star\[0\] = inf: must be finite"),
        ({"J": np.zeros((4, 18))}, ValueError, r"J has shape \(4, 18\), expected \(3 n_contacts"),
        ({"J": np.zeros((3, 17))}, ValueError, r"J has shape \(3, 17\), expected \(any, 18\)"),
        ({"J": np.full((12, 18), np.nan)}, ValueError, r"J\[0, 0\] = nan: must be finite"),
        ({"mu": [0.5] * 3}, ValueError, r"mu has shape \(3,\), expected \(4,\)"),
        ({"mu": [0.5, -1, 0, 0]}, ValueError, r"mu\[1\] = -1: must be"),
        ({"mu": True}, TypeError, "mu must hold real numbers"),
        ({"R": [1.0, 1.0, -1.0, 1.0]}, ValueError, r"R\[2\] = -1: must be"),
        ({"R": np.ones((4, 3))}, ValueError, r"R has shape \(4, 3\), expected \(4, 2\)"),
        ({"R": None}, TypeError, "give R, or k and dt"),
        ({"k": 1.0}, TypeError, "R and k exclude each other"),
        ({"R": None, "k": 1.0}, TypeError, "k needs dt"),
        ({"dt": 0.1}, TypeError, "dt goes with k"),
        ({"phi0": 0.1}, TypeError, "phi0 goes with k"),
        ({"tau_d": 0.1}, TypeError, "tau_d goes with k"),
        ({"R": None, "k": 1.0, "dt": 0.1, "v_hat": 0.0}, TypeError, "v_hat goes with R"),
        ({"v_hat": [0.0, np.nan, 0.0, 0.0]}, ValueError, r"v_hat\[1\]"),
        ({"R": None, "k": 0.0, "dt": 0.1}, ValueError, r"k\[0\] = 0: must be > 0"),
        ({"R": None, "k": 1.0, "dt": 0.0}, ValueError, "dt = 0: must be finite and > 0"),
        ({"R": None, "k": 1.0, "dt": 0.1, "tau_d": -1.0}, ValueError, r"tau_d\[0\] = -1"),
        ({"R": None, "k": 1.0, "dt": 0.1, "sigma": 0.0}, ValueError, "sigma = 0: must be"),
        ({"R": None, "k": 1.0, "dt": 0.1, "beta": -1.0}, ValueError, "beta = -1: must be"),
        ({"v_guess": np.zeros(3)}, ValueError, r"v_guess has shape \(3,\)"),
        ({"v_guess": np.full(18, np.nan)}, ValueError, r"v_guess\[0\] = nan|v_guess\[0\]: must be"),
        ({"friction": "sticky"}, ValueError, "friction = 'sticky': must be one of convex"),
        ({"friction": 1}, TypeError, "friction must be a str"),
        ({"settings": 1}, TypeError, "settings must be a SapSettings"),
    ],
)
def test_bad_input(
    matrices: dict[str, Any], change: dict[str, Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        sapwood.solve_dense(**{**matrices, "R": 1e-3, **change})
