"""Gradients of trajectories beside closed forms: the tasks of Zhong, Han and Dey (2022).

A bounce, a collision and a slide (arXiv 2207.05060), where simulators that lose the time of an
impact return gradients of a wrong size or sign. Impacts are elastic as the time step goes to zero,
in which a contact that is stepped implicitly loses energy.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from sapwood.studies.experiments.analytic_gradients import (
    GAP,
    GRAVITY,
    SECONDS,
    SPEED,
    bounce,
    collision,
    slide,
)


def errors(task, dt):
    """Relative, of the gradients by gap and speed: the mean over the way of a step."""
    _, gradients = task(dt, GAP + SPEED * dt * (np.arange(8) + 0.5) / 8)
    return np.abs([np.mean(found) / exact - 1.0 for found, exact in gradients.values()])


@pytest.mark.slow
@pytest.mark.parametrize("task", [bounce, collision])
def test_elastic_impacts_in_the_limit(task):
    """Errors go with the time step: 31 steps of an impact are few for its gradient, 314 are not."""
    coarse, fine = errors(task, 1e-3), errors(task, 1e-4)
    assert np.all(fine < 0.1)
    assert np.all(fine < 0.5 * coarse)


def test_slide():
    """v = v0 - mu g t: exact at any time step, where friction is Coulomb's."""
    dt, mu = 0.015, np.array([0.02, 0.1, 0.15])
    end, _, gradients = slide(dt, mu)
    # the sum over steps of dt k
    seconds = 0.5 * SECONDS * (SECONDS + dt)
    np.testing.assert_allclose(end, SPEED * SECONDS - mu * GRAVITY * seconds)
    np.testing.assert_allclose(gradients["speed"][0], SECONDS, rtol=1e-6)
    np.testing.assert_allclose(gradients["mu"][0], -GRAVITY * seconds, rtol=1e-6)
