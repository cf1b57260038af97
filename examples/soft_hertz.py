"""A soft ball pressed between two planes: its force beside Hertz' theory."""

import sys

import numpy as np

from sapwood import fem

RADIUS, YOUNG, POISSON = 0.05, 1e5, 0.3
DEPTHS = RADIUS * np.array([0.01, 0.02, 0.03, 0.045, 0.06])  # approach of each plane


def hertz(depth):
    """Force of a ball on a plane, frictionless: 4/3 Y/(1 - nu^2) sqrt(R) depth^(3/2)."""
    return 4 / 3 * YOUNG / (1 - POISSON**2) * np.sqrt(RADIUS) * depth**1.5


foam = fem.Material(
    young=YOUNG, poisson=POISSON, density=1000.0, mass_damping=20.0, stiffness_damping=0.05
)
smooth = {"friction": 0.0, "dissipation_time": 0.0}
# with a stiff surface, all of the depth is that of the ball
ball = fem.SoftBody(fem.ball(RADIUS, cells=10), foam, contact_stiffness=1e9, **smooth)
planes = [fem.HalfSpace([0, 0, sign], **smooth) for sign in (1, -1)]
world = fem.World([ball], planes=planes, gravity=[0, 0, 0], time_step=0.05)
forces = []
for depth in DEPTHS:
    for plane in planes:
        plane.offset = depth - RADIUS
    result = world.step(20)
    forces.append(result.touches[0].force[2])
    print(
        f"approach {1e3 * depth:.2f} mm: {forces[-1]:.3f} N on {len(result.touches[0].forces)} "
        f"faces, Hertz {hertz(depth):.3f} N"
    )

if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(9, 4))
    axes = figure.add_subplot(1, 2, 1)
    curve = np.linspace(0, DEPTHS[-1], 100)
    axes.plot(1e3 * curve, hertz(curve), label="Hertz")
    axes.plot(1e3 * DEPTHS, forces, "o", label="10 cells across")
    axes.set_xlabel("approach of each plane (mm)")
    axes.set_ylabel("force (N)")
    axes.legend()
    shown = ball.plot(figure.add_subplot(1, 2, 2, projection="3d"))
    shown.view_init(elev=50)
    shown.set_axis_off()
    figure.tight_layout()
    figure.savefig(sys.argv[1], dpi=120)
