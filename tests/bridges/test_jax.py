"""Contact as a function of JAX."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="needs jax: make test-bridges")

import jax.numpy as jnp
from jax.test_util import check_grads

from bridged import (
    SMALL,
    SMALL_NUMBERS,
    linearizations_counted,
    number_of,
    opened,
    small_solve,
)
from differentials import CASES, settings_of
from sapwood.jax import solve

SETTINGS = settings_of()


@pytest.fixture(autouse=True)
def _double_precision():
    with jax.enable_x64(True):
        yield


def values(*names):
    return [jnp.asarray(SMALL_NUMBERS[name]) for name in names]


def velocities(v_star, mu):
    """Velocities of the small problem as a function of these arguments."""
    others = {n: x for n, x in SMALL_NUMBERS.items() if n not in ("v_star", "mu")}
    return solve(**SMALL, **others, v_star=v_star, mu=mu, settings=SETTINGS).v


def several(rng, n=4):
    """Free motions (n, nv) near that of the small problem."""
    v_star = SMALL_NUMBERS["v_star"]
    return jnp.asarray(v_star + 0.5 * rng.standard_normal((n, len(v_star))))


@pytest.mark.parametrize("name", CASES)
def test_solutions_and_gradients_are_those_of_numpy(name, rng):
    case = CASES[name](rng)
    arguments, numbers = opened(case, jnp.asarray)
    expected = case.solve(sensitivity=True)
    bars = {
        "v": rng.standard_normal(expected.v.shape),
        "gamma": rng.standard_normal(expected.gamma.shape),
        "rows": [rng.standard_normal(x.gamma.shape) for x in expected.constraints],
        "spin": rng.standard_normal((case.problem().n_spins, 3)),
    }

    def loss(given):
        own = {n: given.get((-1, n), x) for n, x in arguments.items()}
        own["constraints"] = [
            (kind, {n: given.get((k, n), x) for n, x in group.items()})
            for k, (kind, group) in enumerate(arguments["constraints"])
        ]
        found = solve(**own)
        total = (found.v * bars["v"]).sum() + (found.gamma * bars["gamma"]).sum()
        total += sum(
            (x * bar).sum() for x, bar in zip(found.constraints, bars["rows"], strict=True)
        )
        return total + (found.spin_gamma * bars["spin"]).sum(), found

    given = {(group, field): x for group, field, x in numbers}
    found_gradient, found = jax.jit(jax.grad(loss, has_aux=True))(given)
    assert int(found.status) == expected.status
    np.testing.assert_array_equal(found.v, expected.v)
    np.testing.assert_array_equal(found.gamma, expected.gamma)
    gradient = expected.vjp(
        bars["v"],
        bars["gamma"],
        constraint_gamma_bars=bars["rows"],
        spin_gamma_bar=None if expected.spin_gamma is None else bars["spin"],
    )
    for (group, field), ours in found_gradient.items():
        theirs = number_of(gradient, group, field)
        theirs = np.zeros(ours.shape) if theirs is None else theirs
        size = np.abs(theirs).max(initial=0.0)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12 * size)


def test_check_grads():
    # differences are made with arrays of NumPy
    check_grads(
        lambda *numbers: small_solve(solve, SETTINGS, *map(jnp.asarray, numbers)),
        values(*SMALL_NUMBERS),
        order=1,
        modes=["rev"],
        eps=1e-6,
        atol=1e-5,
        rtol=1e-5,
    )


@pytest.mark.parametrize("compiled", [False, True])
def test_maps_of_jacobians_and_jacobians_of_maps(compiled, rng):
    wrap = jax.jit if compiled else lambda function: function
    v_stars, (mu,) = several(rng), values("mu")
    mapped = wrap(jax.vmap(jax.jacrev(velocities), in_axes=(0, None)))(v_stars, mu)
    whole = wrap(jax.jacrev(jax.vmap(velocities, in_axes=(0, None))))(v_stars, mu)
    for i, v_star in enumerate(v_stars):
        alone = jax.jacrev(velocities)(v_star, mu)
        np.testing.assert_allclose(mapped[i], alone, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(whole[i, :, i], alone, rtol=1e-12, atol=1e-12)


def test_a_map_over_another_dimension_and_a_map_of_maps(rng):
    v_stars, (mu,) = several(rng, 6), values("mu")
    mus = mu * jnp.array([[0.5], [1.0]])
    grid = jax.vmap(jax.vmap(velocities, in_axes=(1, None)), in_axes=(None, 0))(v_stars.T, mus)
    assert grid.shape == (2, 6, 6)
    for i, j in np.ndindex(2, 6):
        np.testing.assert_array_equal(grid[i, j], velocities(v_stars[j], mus[i]))


def test_the_gradient_of_what_a_batch_shares_is_a_sum(rng):
    v_stars, (mu,) = several(rng), values("mu")
    mapped = jax.grad(lambda mu: (jax.vmap(velocities, in_axes=(0, None))(v_stars, mu) ** 2).sum())
    looped = jax.grad(lambda mu: sum((velocities(v_star, mu) ** 2).sum() for v_star in v_stars))
    assert np.all(looped(mu) != 0.0)
    np.testing.assert_allclose(mapped(mu), looped(mu), rtol=1e-10, atol=1e-12)


def test_one_solution_with_many_losses_is_linearized_once(monkeypatch):
    calls = linearizations_counted(monkeypatch)
    jax.block_until_ready(jax.jacrev(velocities)(*values("v_star", "mu")))
    assert calls == [1]


def test_wrong_arrays_are_named():
    v_star, mu = values("v_star", "mu")
    with pytest.raises(TypeError, match="mu must be float64, not float32"):
        velocities(v_star, mu.astype(jnp.float32))
    with pytest.raises(ValueError, match="v_star has 2 dimensions, expected 1"):
        velocities(v_star[None], mu)
    with pytest.raises(jax.errors.JaxRuntimeError, match="must be >= 0"):
        velocities(v_star, -mu)
    with pytest.raises(TypeError, match="beta has no derivatives"):
        solve(**SMALL, **SMALL_NUMBERS, beta=jnp.asarray(1.0))
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(lambda mu: velocities(v_star, mu), (mu,), (mu,))
