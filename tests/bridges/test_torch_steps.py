"""Steps of MuJoCo models as functions of PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: make test-bridges")
mujoco = pytest.importorskip("mujoco")

import sapwood.torch
from mujoco_steps import SLOW_MODEL, WORLDS, check_slope, final, make_stepper, starts


def test_a_run_and_its_gradient(rng):
    stepper = make_stepper()
    take_step = sapwood.torch.step(stepper)

    def case():
        q, v, controls = starts(rng, stepper)
        at, speed = torch.from_numpy(q), torch.tensor(v, requires_grad=True)
        u = torch.tensor(controls, requires_grad=True)
        now = speed
        for k in range(len(controls)):
            at, now = take_step(at, now, u[k])
        expected = final(stepper, q, v, controls)
        np.testing.assert_allclose(at.detach(), expected[0], atol=1e-9)
        np.testing.assert_allclose(now.detach(), expected[1], atol=1e-8)
        bar = rng.standard_normal(q.shape)
        (torch.from_numpy(bar) * at).sum().backward()
        dv, du = rng.standard_normal(v.shape), rng.standard_normal(controls.shape)
        slope = np.sum(speed.grad.numpy() * dv) + np.sum(u.grad.numpy() * du)
        return slope, lambda h: np.sum(bar * final(stepper, q, v + h * dv, controls + h * du)[0])

    check_slope(case)


def test_derivatives_by_positions(rng):
    """By translations and turns; a change along a quaternion has no derivative."""
    stepper = make_stepper()
    q, v, controls = starts(rng, stepper)
    at = torch.tensor(q, requires_grad=True)
    place, _ = sapwood.torch.step(stepper)(at, torch.from_numpy(v), torch.from_numpy(controls[0]))
    bar = rng.standard_normal(q.shape)
    (torch.from_numpy(bar) * place).sum().backward()
    grad = at.grad.numpy()
    assert np.abs(np.sum(grad[:, 3:7] * q[:, 3:7], axis=1)).max() <= 1e-12
    motion, h = rng.standard_normal((WORLDS, stepper.model.nv)), 1e-7
    ends = []
    for s in (h, -h):
        moved = q.copy()
        for k in range(WORLDS):
            mujoco.mj_integratePos(stepper.model, moved[k], motion[k], s)
        ends.append((final(stepper, moved, v, controls[:1])[0], moved))
    slope = np.sum(grad * (ends[0][1] - ends[1][1])) / (2 * h)
    assert slope == pytest.approx(np.sum(bar * (ends[0][0] - ends[1][0])) / (2 * h), rel=1e-5)


def test_activations_are_states(rng):
    stepper = make_stepper(SLOW_MODEL)
    take_step = sapwood.torch.step(stepper)

    def case():
        q, v, controls = starts(rng, stepper)
        a = rng.standard_normal((WORLDS, stepper.model.na))
        act, u = torch.tensor(a, requires_grad=True), torch.tensor(controls, requires_grad=True)
        state = torch.from_numpy(q), torch.from_numpy(v), act
        for k in range(len(controls)):
            state = take_step(state[0], state[1], u[k], state[2])
        for found, expected in zip(state, final(stepper, q, v, controls, a), strict=True):
            np.testing.assert_allclose(found.detach(), expected, atol=1e-8)
        bars = [rng.standard_normal(x.shape) for x in state]
        losses = [(torch.from_numpy(bar) * x).sum() for bar, x in zip(bars, state, strict=True)]
        sum(losses).backward()
        da, du = rng.standard_normal(a.shape), rng.standard_normal(controls.shape)
        slope = np.sum(act.grad.numpy() * da) + np.sum(u.grad.numpy() * du)

        def loss(h):
            end = final(stepper, q, v, controls + h * du, a + h * da)
            return sum(np.sum(bar * x) for bar, x in zip(bars, end, strict=True))

        return slope, loss

    check_slope(case)


def test_a_step_without_derivatives_has_activations(rng):
    stepper = make_stepper(SLOW_MODEL)
    q, v, controls = starts(rng, stepper)
    a = rng.standard_normal((WORLDS, stepper.model.na))
    with torch.no_grad():
        plain = sapwood.torch.step(stepper)(*map(torch.from_numpy, (q, v, controls[0], a)))
    for found, expected in zip(plain, final(stepper, q, v, controls[:1], a), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_without_derivatives_it_is_a_step(rng):
    stepper = make_stepper()
    q, v, controls = starts(rng, stepper)
    with torch.no_grad():
        at, _ = sapwood.torch.step(stepper)(*map(torch.from_numpy, (q, v, controls[0])))
    np.testing.assert_array_equal(at, final(stepper, q, v, controls[:1])[0])


def test_second_derivatives_are_refused(rng):
    stepper = make_stepper()
    q, v, controls = starts(rng, stepper)
    u = torch.tensor(controls[0], requires_grad=True)
    _, now = sapwood.torch.step(stepper)(torch.from_numpy(q), torch.from_numpy(v), u)
    (slope,) = torch.autograd.grad(torch.sum(now**2), u, create_graph=True)
    with pytest.raises(NotImplementedError, match="contact has no second derivatives"):
        slope.sum().backward()


def test_soften_leaves_the_step(rng):
    stepper = make_stepper()
    q, v, controls = starts(rng, stepper)
    gradients = []
    for soften in (1.0, 100.0):
        u = torch.tensor(controls[0], requires_grad=True)
        take_step = sapwood.torch.step(stepper, soften=soften)
        at, now = take_step(torch.from_numpy(q), torch.from_numpy(v), u)
        np.testing.assert_allclose(at.detach(), final(stepper, q, v, controls[:1])[0], atol=1e-10)
        now.sum().backward()
        gradients.append(u.grad.numpy())
    assert np.abs(gradients[0] - gradients[1]).max() > 1e-3 * np.abs(gradients[0]).max()


def test_wrong_arguments(rng):
    stepper = make_stepper()
    q, v, controls = starts(rng, stepper)
    take_step = sapwood.torch.step(stepper)
    q, v, u = map(torch.from_numpy, (q, v, controls[0]))
    with pytest.raises(TypeError, match="v must be a float64 tensor on the CPU"):
        take_step(q, v.float(), u)
    with pytest.raises(ValueError, match=r"u has shape \(2, 1\), expected \(3, 1\)"):
        take_step(q, v, u[:2])
    with pytest.raises(TypeError, match="stepper must be a Stepper, not MjModel"):
        sapwood.torch.step(stepper.model)
    with pytest.raises(ValueError, match="soften = 0: must be"):
        sapwood.torch.step(stepper, soften=0.0)
    with pytest.raises(TypeError, match="a step takes q, v, u, not 4 tensors"):
        take_step(q, v, u, u)
    with pytest.raises(TypeError, match="a step takes q, v, u, act, not 3 tensors"):
        sapwood.torch.step(make_stepper(SLOW_MODEL))(q, v, u)
    v = v.clone().requires_grad_()
    q[1, 0] = np.nan
    with pytest.raises(RuntimeError, match="qpos") as raised:
        take_step(q, v, u)
    assert "in world (1,)" in raised.value.__notes__
