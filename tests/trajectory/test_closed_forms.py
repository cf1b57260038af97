"""Gradients of trajectories beside closed forms: the tasks of Zhong, Han and Dey (2022).

A bounce, a slide and a collision of two bodies (arXiv 2207.05060), where simulators that lose the
time of an impact return gradients of a wrong size or sign. Without dissipation and gravity the
impacts are elastic as the time step goes to zero, in which a contact that is stepped implicitly
loses energy.
"""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapSettings
from sapwood.trajectory import FreeBodies, Sphere, simulate

GRAVITY = 9.81
RADIUS = 0.1


def gradients(run, body):
    """Of a coordinate of a body at the end, x along a line of motion, by q0 and v0."""
    q_bar = np.zeros_like(run.q)
    q_bar[-1][body] = 1.0
    return run.vjp(q_bar)


def bounce(dt, height=0.5, speed=1.0, seconds=1.0):
    """Errors of dx/dheight = -1 and dx/dspeed = T, relative: x = speed T - height at the end."""
    scene = FreeBodies(
        [Sphere(RADIUS)], mass=1.0, inertia=[1.0] * 3, dt=dt, k=1e4, tau_d=0.0, mu=0.0,
        normals=[[0.0, 0.0, 1.0]], height=0.0, gravity=(0.0, 0.0, 0.0),
    )  # fmt: skip
    q0 = [0.0, 0.0, RADIUS + height, 1.0, 0.0, 0.0, 0.0]
    run = simulate(scene, q0, [0.0, 0.0, -speed, 0.0, 0.0, 0.0], n_steps=round(seconds / dt))
    gradient = gradients(run, (0, 2))
    found = np.array([gradient.q0.ravel()[2], -gradient.v0.ravel()[2]])
    return np.abs(found / [-1.0, seconds] - 1.0)


def collision(dt, gap=0.5, speed=1.0, seconds=1.0):
    """Errors of the same of the body that was hit: it takes over all of the velocity."""
    scene = FreeBodies(
        [Sphere(RADIUS)] * 2, mass=1.0, inertia=[1.0] * 3, dt=dt, k=1e4, tau_d=0.0, mu=0.0,
        normals=[], gravity=(0.0, 0.0, 0.0),
    )  # fmt: skip
    q0 = np.array([[0.0, 0, 0, 1, 0, 0, 0], [2 * RADIUS + gap, 0, 0, 1, 0, 0, 0]])
    v0 = np.array([[speed, 0, 0, 0, 0, 0], np.zeros(6)])
    run = simulate(scene, q0, v0, n_steps=round(seconds / dt))
    struck, other = gradients(run, (1, 0)), gradients(run, (0, 0))
    # the end of the second body by the place and the speed of the first: 1 and T; of the first: 0
    by_struck = np.array([struck.q0[0, 0] - 1.0, struck.v0[0, 0] / seconds - 1.0])
    by_other = np.array([other.q0[0, 0], other.v0[0, 0] / seconds])
    return np.abs(np.concatenate([by_struck, by_other]))


@pytest.mark.slow
@pytest.mark.parametrize("task", [bounce, collision])
def test_elastic_impacts_in_the_limit(task):
    """An impact of 31 ms: 31 steps are far too few for its gradient, 314 give it to 10 %.

    Where the first step in contact falls is another one for every height; between two of these
    heights the time of the impact does not follow them, which the size of that step bounds.
    """
    coarse, fine = task(1e-3), task(1e-4)
    assert np.all(fine < 0.1)
    assert np.all(fine < 0.1 * coarse)


def test_slide():
    """v = v0 - mu g t: exact at any time step, where friction is Coulomb's."""
    mu, speed, dt, n = 0.3, 2.0, 0.01, 40
    mass, k = 2.0, 1e5
    scene = FreeBodies(
        [Sphere(RADIUS)], mass=mass, inertia=[1e6] * 3, dt=dt, k=k, tau_d=0.01, mu=mu,
        normals=[[0.0, 0.0, 1.0]], height=0.0,
        settings=SapSettings(relative_tolerance=1e-13, friction="coulomb"),
    )  # fmt: skip
    # at the depth where it rests
    q0 = [0.0, 0.0, RADIUS - mass * GRAVITY / k, 1.0, 0.0, 0.0, 0.0]
    run = simulate(scene, q0, [speed, 0.0, 0.0, 0.0, 0.0, 0.0], n_steps=n)
    steps = n * (n + 1) / 2
    np.testing.assert_allclose(run.q[-1, 0, 0], speed * n * dt - mu * GRAVITY * dt**2 * steps)
    gradient = gradients(run, (0, 0))
    np.testing.assert_allclose(gradient.v0.ravel()[0], n * dt, rtol=1e-6)
    np.testing.assert_allclose(gradient.parameters["mu"], -GRAVITY * dt**2 * steps, rtol=1e-6)
    np.testing.assert_allclose(gradient.q0.ravel()[0], 1.0, rtol=1e-6)
