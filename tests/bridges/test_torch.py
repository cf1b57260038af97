"""Contact as a function of PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: make test-bridges")

from torch import func

import sapwood
from bridged import SMALL, SMALL_NUMBERS, linearizations_counted, number_of, opened, small_solve
from differentials import CASES, settings_of
from sapwood.torch import solve

SETTINGS = settings_of()
# torch loads parts of its own on first use, in a way that it calls deprecated
pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:`torch.jit.script:FutureWarning"),
]


def tensor(x):
    return torch.tensor(x, dtype=torch.float64, requires_grad=True)


def values(*names):
    return [torch.from_numpy(SMALL_NUMBERS[name].copy()) for name in names]


def velocities(v_star, mu):
    """Velocities of the small problem as a function of these arguments."""
    others = {n: x for n, x in SMALL_NUMBERS.items() if n not in ("v_star", "mu")}
    return solve(**SMALL, **others, v_star=v_star, mu=mu, settings=SETTINGS).v


def several(rng, n=4):
    """Free motions (n, nv) near that of the small problem."""
    v_star = SMALL_NUMBERS["v_star"]
    return torch.from_numpy(v_star + 0.5 * rng.standard_normal((n, len(v_star))))


@pytest.mark.parametrize("name", CASES)
def test_solutions_and_gradients_are_those_of_numpy(name, rng):
    case = CASES[name](rng)
    arguments, numbers = opened(case, tensor)
    found = solve(**arguments)
    expected = case.solve(sensitivity=True)
    assert int(found.status) == expected.status
    pairs = [(found.v, expected.v), (found.gamma, expected.gamma)]
    pairs += [(a, b.gamma) for a, b in zip(found.constraints, expected.constraints, strict=True)]
    if expected.spin_gamma is not None:
        pairs.append((found.spin_gamma, expected.spin_gamma))
    for ours, theirs in pairs:
        np.testing.assert_array_equal(ours.detach().numpy(), theirs)

    bars = [rng.standard_normal(x.shape) for x, _ in pairs]
    sum(
        (x * torch.from_numpy(bar)).sum() for (x, _), bar in zip(pairs, bars, strict=True)
    ).backward()
    rows = len(expected.constraints)
    gradient = expected.vjp(
        bars[0],
        bars[1],
        constraint_gamma_bars=bars[2 : 2 + rows],
        spin_gamma_bar=None if expected.spin_gamma is None else bars[-1],
    )
    for group, field, x in numbers:
        theirs = number_of(gradient, group, field)
        ours = x.grad.numpy()
        # information has no gradient
        theirs = np.zeros(ours.shape) if theirs is None else theirs
        size = np.abs(theirs).max(initial=0.0)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12 * size)


def test_gradcheck():
    numbers = [tensor(x) for x in SMALL_NUMBERS.values()]

    def function(*numbers):
        return small_solve(solve, SETTINGS, *numbers)

    assert torch.autograd.gradcheck(function, numbers, eps=1e-7, atol=1e-5, rtol=1e-5,
                                    check_forward_ad=True)  # fmt: skip
    regions = sapwood.solve(sapwood.ContactProblem(**SMALL, **SMALL_NUMBERS)).regions
    assert set(regions) == {sapwood.Region.stiction, sapwood.Region.sliding}


def test_jacobians_of_both_modes():
    v_star, mu = values("v_star", "mu")
    reverse = func.jacrev(velocities, argnums=(0, 1))(v_star, mu)
    forward = func.jacfwd(velocities, argnums=(0, 1))(v_star, mu)
    for one, other in zip(reverse, forward, strict=True):
        torch.testing.assert_close(one, other)


def test_maps_of_jacobians_and_jacobians_of_maps(rng):
    v_stars, (mu,) = several(rng), values("mu")
    mapped = func.vmap(func.jacrev(velocities), in_dims=(0, None))(v_stars, mu)
    whole = func.jacrev(func.vmap(velocities, in_dims=(0, None)))(v_stars, mu)
    for i, v_star in enumerate(v_stars):
        alone = func.jacrev(velocities)(v_star, mu)
        torch.testing.assert_close(mapped[i], alone, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(whole[i, :, i], alone, rtol=1e-12, atol=1e-12)


def test_a_map_over_another_dimension_and_a_map_of_maps(rng):
    v_stars, (mu,) = several(rng, 6), values("mu")
    mus = mu * torch.tensor([[0.5], [1.0]], dtype=torch.float64)
    grid = func.vmap(func.vmap(velocities, in_dims=(1, None)), in_dims=(None, 0))(v_stars.T, mus)
    assert grid.shape == (2, 6, 6)
    for i, j in np.ndindex(2, 6):
        torch.testing.assert_close(grid[i, j], velocities(v_stars[j], mus[i]), rtol=0, atol=0)


def test_the_gradient_of_what_a_batch_shares_is_a_sum(rng):
    v_stars, (mu,) = several(rng), values("mu")

    def mapped(mu):
        return func.vmap(velocities, in_dims=(0, None))(v_stars, mu).square().sum()

    def batched(mu):
        return velocities(v_stars, mu).square().sum()

    def looped(mu):
        return sum(velocities(v_star, mu).square().sum() for v_star in v_stars)

    expected = func.grad(looped)(mu)
    assert torch.all(expected != 0.0)
    torch.testing.assert_close(func.grad(mapped)(mu), expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(func.grad(batched)(mu), expected, rtol=1e-10, atol=1e-12)


def test_one_solution_with_many_losses_is_linearized_once(monkeypatch):
    calls = linearizations_counted(monkeypatch)
    func.jacrev(velocities)(*values("v_star", "mu"))
    assert calls == [1]


def test_there_are_no_second_derivatives():
    v_star, mu = values("v_star", "mu")
    with pytest.raises(NotImplementedError, match="no second derivatives"):
        func.hessian(lambda mu: velocities(v_star, mu).sum())(mu)
    mu.requires_grad_()
    (slope,) = torch.autograd.grad(velocities(v_star, mu).sum(), mu, create_graph=True)
    with pytest.raises(NotImplementedError, match="no second derivatives"):
        slope.sum().backward()


def test_wrong_tensors_are_named():
    v_star, mu = values("v_star", "mu")
    with pytest.raises(TypeError, match=r"mu must be a float64 tensor .* not torch\.float32"):
        velocities(v_star, mu.float())
    with pytest.raises(ValueError, match="v_star has 0 dimensions, expected at least 1"):
        velocities(v_star.sum(), mu)
    with pytest.raises(ValueError, match="mu"):
        velocities(v_star, -mu)
    with pytest.raises(TypeError, match="beta has no derivatives"):
        solve(**SMALL, **SMALL_NUMBERS, beta=torch.tensor(1.0, dtype=torch.float64))
