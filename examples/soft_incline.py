"""A soft cube on an incline: it sticks below the angle of friction and slides above it."""

import sys

import numpy as np

from sapwood import fem

MU, G, STEP = 0.5, 9.81, 0.005
foam = fem.Material(young=2e5, poisson=0.3, density=1000.0, stiffness_damping=0.02)


def slide(degrees, seconds):
    """Velocities down the incline after each step, and the forces of the last one."""
    angle = np.radians(degrees)
    pose = np.eye(4)
    pose[2, 3] = 0.05
    cube = fem.SoftBody(
        fem.box([0.1] * 3, cells=3), foam, friction=MU, dissipation_time=0.01, pose=pose
    )
    world = fem.World(
        [cube],
        planes=[fem.HalfSpace(friction=MU, dissipation_time=0.01)],
        gravity=[G * np.sin(angle), 0, -G * np.cos(angle)],
        time_step=STEP,
    )
    speeds = [0.0]
    for _ in range(round(seconds / STEP)):
        result = world.step()
        speeds.append(cube.momentum[0] / cube.vertex_mass.sum())
    return np.array(speeds), result.touches[0].force


print(f"friction {MU}: angle of friction {np.degrees(np.arctan(MU)):.2f} degrees")
curves = {}
for degrees in (20, 26, 27, 35):
    speeds, force = curves[degrees] = slide(degrees, 1.0)
    angle = np.radians(degrees)
    expected = max(0.0, G * (np.sin(angle) - MU * np.cos(angle)))
    found = (speeds[-1] - speeds[-41]) / (40 * STEP)
    print(
        f"{degrees} degrees: {found:.4f} m/s^2, expected {expected:.4f}; "
        f"moves at {speeds[-1]:.1e} m/s"
    )

if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(layout="constrained")
    colors = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
    for color, (degrees, (speeds, _)) in zip(colors, curves.items(), strict=True):
        time = STEP * np.arange(len(speeds))
        axes.plot(time, speeds, color=color, label=f"{degrees} degrees")
        angle = np.radians(degrees)
        slope = max(0.0, G * (np.sin(angle) - MU * np.cos(angle)))
        label = "slope by Coulomb's law" if degrees == 35 else None
        axes.plot(time, speeds[-1] + slope * (time - 1), "k:", label=label)
    axes.set_title(f"A cube on an incline, friction {MU}")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("speed down the incline (m/s)")
    axes.legend()
    figure.savefig(sys.argv[1], dpi=120)
