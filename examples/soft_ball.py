"""A soft ball falls into the corner of two planes, and comes to rest there."""

import sys

import numpy as np

from sapwood import fem

rubber = fem.Material(young=3e4, poisson=0.4, density=1000.0, stiffness_damping=0.01)
pose = np.eye(4)
pose[:3, 3] = [0.0, 0.0, 0.12]  # m
ball = fem.SoftBody(
    fem.ball(0.05, cells=8), rubber, friction=0.4, dissipation_time=0.01, pose=pose, name="ball"
)
planes = [
    fem.HalfSpace([1, 0, 2], friction=0.4, dissipation_time=0.01, name="slope"),
    fem.HalfSpace([-1, 0, 1], offset=-0.1, friction=0.4, dissipation_time=0.01, name="wall"),
]
world = fem.World([ball], planes=planes, time_step=0.005)

weight = 9.81 * ball.vertex_mass.sum()
for _ in range(6):
    result = world.step(50)
    sums = ", ".join(f"{touch.other} {np.round(touch.force, 2)} N" for touch in result.touches)
    print(f"{world.time:.2f} s: {ball.kinetic_energy:8.2e} J; {sums}")
total = sum(touch.force for touch in result.touches)
print(f"forces add up to {np.round(total, 3)} N; the ball weighs {weight:.3f} N")
stress = ball.evaluate().von_mises
print(f"largest von Mises stress {stress.max():.0f} Pa; residual {result.residual:.1e}")

if len(sys.argv) > 1:
    axes = ball.plot()
    axes.view_init(elev=-25)
    axes.figure.savefig(sys.argv[1], dpi=120)
