"""A stack of three boxes from raw arrays: what every layer carries, and what a push moves."""

import numpy as np

import sapwood

dt, g, side = 0.01, 9.81, 0.2
masses = np.array([3.0, 2.0, 1.0])  # kg, from the floor up

# six velocities per box: of its centre, and about its axes
A = np.diag(np.concatenate([[m] * 3 + [m * side**2 / 6] * 3 for m in masses]))


def point_velocity(x, y, z):
    """Velocity of a point of a box, seen from its centre: v + omega x r, as a 3 x 6 matrix."""
    return np.hstack([np.eye(3), [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]])


# four corners touch in each layer: the box above moves over the one below, or over the floor
corners = [(x, y) for x in (-side / 2, side / 2) for y in (-side / 2, side / 2)]
J = np.zeros((3, 4, 3, 18))
for layer in range(3):
    for i, (x, y) in enumerate(corners):
        J[layer, i, :, 6 * layer : 6 * layer + 6] = point_velocity(x, y, -side / 2)
        if layer:
            J[layer, i, :, 6 * layer - 6 : 6 * layer] = -point_velocity(x, y, side / 2)
J = J.reshape(36, 18)


def slide(push, steps=100):
    """Push the box in the middle along x; velocities of the boxes, and forces of the layers."""
    force = np.zeros(18)
    force[2::6] = -masses * g
    force[6] = push
    v, phi = np.zeros(18), np.zeros(12)
    for _ in range(steps):
        problem = sapwood.ContactProblem.from_dense(
            A, v + dt * np.linalg.solve(A, force), J, phi, k=1e5, tau_d=dt, mu=0.5, dt=dt,
            trees=[6, 6, 6],
        )  # fmt: skip
        solution = sapwood.solve(problem, v_guess=v, friction="coulomb")
        v = solution.v
        phi += dt * solution.v_c[:, 2]  # the boxes hardly turn: J stays
    return v.reshape(3, 6)[:, 0], solution.gamma.reshape(3, 4, 3).sum(1) / dt


_, carried = slide(push=0.0)
weights = masses[::-1].cumsum()[::-1] * g
print("a layer carries", carried[:, 2].round(3), "N; above it weigh", weights.round(3), "N")
for push in (10.0, 25.0, 40.0):
    speed, force = slide(push)
    friction = abs(force[:, 0]).round(2)
    print(f"pushed by {push:.0f} N: {speed.round(3)} m/s after a second, friction {friction} N")
