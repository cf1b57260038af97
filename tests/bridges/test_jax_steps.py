"""Steps of MuJoCo models as functions of JAX."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="needs jax: make test-bridges")
pytest.importorskip("mujoco")
jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp

import sapwood.jax
from mujoco_steps import SLOW_MODEL, WORLDS, check_slope, final, make_stepper, starts


@pytest.mark.parametrize("platform", ["cpu", "gpu"])
def test_a_scan_and_its_gradient(rng, monkeypatch, platform):
    """Arrays of other platforms are copied to the CPU; the same callbacks stand in for those."""
    monkeypatch.setattr(jax, "default_backend", lambda: platform)
    stepper = make_stepper()
    q, take_step = starts(rng, stepper)[0], sapwood.jax.step(stepper)

    def end(v, controls):
        def advance(state, u):
            return take_step(*state, u), None

        return jax.lax.scan(advance, (jnp.asarray(q), v), controls)[0]

    run = jax.jit(end)
    gradient = jax.jit(jax.grad(lambda bar, v, u: jnp.sum(bar * end(v, u)[0]), argnums=(1, 2)))

    def case():
        v, controls = starts(rng, stepper)[1:]
        at, now = run(jnp.asarray(v), jnp.asarray(controls))
        expected = final(stepper, q, v, controls)
        np.testing.assert_allclose(at, expected[0], atol=1e-9)
        np.testing.assert_allclose(now, expected[1], atol=1e-8)
        bar = rng.standard_normal(q.shape)
        by_v, by_u = gradient(*map(jnp.asarray, (bar, v, controls)))
        dv, du = rng.standard_normal(v.shape), rng.standard_normal(controls.shape)
        slope = np.sum(by_v * dv) + np.sum(by_u * du)
        return slope, lambda h: np.sum(bar * final(stepper, q, v + h * dv, controls + h * du)[0])

    check_slope(case)


def test_vmap_is_a_batch(rng):
    stepper = make_stepper()
    q, v, controls = (jnp.asarray(x) for x in starts(rng, stepper))
    take_step = sapwood.jax.step(stepper)
    whole, mapped = take_step(q, v, controls[0]), jax.vmap(take_step)(q, v, controls[0])
    for one, other in zip(whole, mapped, strict=True):
        np.testing.assert_array_equal(one, other)
    shared = jax.vmap(take_step, in_axes=(None, 0, None))(q[0], v, controls[0, 0])
    np.testing.assert_array_equal(shared[1][0], take_step(q[0], v[0], controls[0, 0])[1])

    def speed(v, u):
        return take_step(q[0], v, u)[1]

    by_v = jax.jacrev(speed)(v[0], controls[0, 0])
    many = jax.vmap(jax.jacrev(speed), in_axes=(0, None))(v, controls[0, 0])
    np.testing.assert_allclose(many[0], by_v, rtol=1e-12, atol=1e-15)


def test_activations_are_states(rng):
    stepper = make_stepper(SLOW_MODEL)
    take_step = sapwood.jax.step(stepper)

    def case():
        q, v, controls = starts(rng, stepper)
        a, u = rng.standard_normal((WORLDS, stepper.model.na)), controls[0]
        after, pull = jax.vjp(take_step, *map(jnp.asarray, (q, v, u, a)))
        for found, expected in zip(after, final(stepper, q, v, controls[:1], a), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-9)
        bars = [rng.standard_normal(x.shape) for x in after]
        _, _, by_u, by_act = jax.vmap(pull)(tuple(jnp.asarray(bar)[None] for bar in bars))
        du, da = rng.standard_normal(u.shape), rng.standard_normal(a.shape)

        def loss(h):
            end = final(stepper, q, v, np.array([u + h * du]), a + h * da)
            return sum(np.sum(bar * x) for bar, x in zip(bars, end, strict=True))

        return np.sum(by_u[0] * du) + np.sum(by_act[0] * da), loss

    check_slope(case)


def test_wrong_arguments(rng):
    stepper = make_stepper()
    q, v, controls = starts(rng, stepper)
    take_step = sapwood.jax.step(stepper)
    with pytest.raises(TypeError, match="v must be float64, not float32: jax_enable_x64"):
        take_step(q, v.astype(np.float32), controls[0])
    with pytest.raises(ValueError, match=r"u has shape \(2, 1\), expected \(3, 1\)"):
        take_step(q, v, controls[0][:2])
    with pytest.raises(TypeError, match="a step takes q, v, u, not 2 arrays"):
        take_step(q, v)
    with pytest.raises(TypeError, match="stepper must be a Stepper, not int"):
        sapwood.jax.step(1)
