"""Trajectories with derivatives: n steps, and reverse mode through all of them.

Free bodies of simple shapes have analytic derivatives from end to end: contact geometry, dynamics
and solve::

    scene = sapwood.trajectory.FreeBodies([Box((0.05, 0.05, 0.05))], mass=0.4, inertia=[7e-4] * 3,
                                          dt=0.01, k=1e4, tau_d=0.01, mu=0.3)
    run = sapwood.trajectory.simulate(scene, q0, v0, n_steps=100)
    gradient = run.vjp(q_bar)      # dL/d of the first state, forces, masses, contact parameters

See ``docs/how-to/derivatives.md``.
"""

from sapwood.trajectory.free_bodies import FreeBodies
from sapwood.trajectory.shapes import Box, Capsule, Points, Shape, Sphere
from sapwood.trajectory.simulation import (
    Trajectory,
    TrajectoryGradient,
    TrajectoryJacobians,
    simulate,
)
from sapwood.trajectory.soft_worlds import DifferentiableWorld
from sapwood.trajectory.system import Jacobian, Pulled, Step, System, TrajectoryError

__all__ = [
    "Box",
    "Capsule",
    "DifferentiableWorld",
    "FreeBodies",
    "Jacobian",
    "Points",
    "Pulled",
    "Shape",
    "Sphere",
    "Step",
    "System",
    "Trajectory",
    "TrajectoryError",
    "TrajectoryGradient",
    "TrajectoryJacobians",
    "simulate",
]
