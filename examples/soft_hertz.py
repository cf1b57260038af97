"""A soft ball pressed between two planes: its force beside theories of contact."""

import sys

import numpy as np

from sapwood import fem

RADIUS, YOUNG, POISSON = 0.05, 1e5, 0.3
CELLS = 12  # across
DEPTHS = RADIUS * np.array([0.01, 0.02, 0.03, 0.045, 0.06])  # approach of each plane, m


def hertz(depth):
    """Force of a half space under a ball, frictionless: 4/3 Y/(1 - nu^2) sqrt(R) depth^(3/2)."""
    return 4 / 3 * YOUNG / (1 - POISSON**2) * np.sqrt(RADIUS) * depth**1.5


def tatara(depth):
    """Force of a ball, whose far plane presses too (Tatara, J. Eng. Mater. Technol. 113, 1991)."""
    force = np.linspace(1e-9, 2 * np.max(hertz(depth)), 10000)
    patch = np.cbrt(3 / 4 * (1 - POISSON**2) * force * RADIUS / YOUNG)
    far = np.hypot(patch, 2 * RADIUS)
    approach = 3 / 4 * (1 - POISSON**2) * force / (YOUNG * patch)
    shift = 2 * (1 + POISSON) * RADIUS**2 / far**3 + (1 - POISSON**2) / far
    approach -= force / (np.pi * YOUNG) * shift
    return np.interp(depth, approach, force)


foam = fem.Material(
    young=YOUNG, poisson=POISSON, density=1000.0, mass_damping=20.0, stiffness_damping=0.05
)
smooth = {"friction": 0.0, "dissipation_time": 0.0}
# with a stiff surface, all of the depth is that of the ball
ball = fem.SoftBody(fem.ball(RADIUS, CELLS), foam, contact_stiffness=1e9, **smooth)
# smooth planes would roll the ball onto one of its flat faces
ball.fix(np.linalg.norm(ball.mesh.vertices, axis=1) < 2.1 * RADIUS / CELLS)
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
        f"faces, Hertz {hertz(depth):.3f} N, Tatara {tatara(depth):.3f} N"
    )

if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 4), layout="constrained")
    axes = figure.add_subplot(1, 2, 1)
    curve = np.linspace(0, 1.05 * DEPTHS[-1], 100)
    label = "Hertz: patch much smaller than the ball"
    axes.plot(1e3 * curve, hertz(curve), "--", color="#0072b2", label=label)
    label = "Tatara: ball between two planes"
    axes.plot(1e3 * curve, tatara(curve), color="#d55e00", label=label)
    axes.plot(1e3 * DEPTHS, forces, "o", color="black", label=f"sapwood, {CELLS} cells across")
    axes.set_title(f"Radius {1e3 * RADIUS:.0f} mm, {YOUNG / 1e3:.0f} kPa, $\\nu$ = {POISSON}")
    axes.set_xlabel("approach of each plane (mm)")
    axes.set_ylabel("force (N)")
    axes.legend()
    shown = ball.plot(figure.add_subplot(1, 2, 2, projection="3d"))
    shown.view_init(elev=50)
    shown.set_title(f"Pressed by {1e3 * DEPTHS[-1]:.0f} mm on each side")
    shown.set_axis_off()
    figure.savefig(sys.argv[1], dpi=120)
