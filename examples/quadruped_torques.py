"""Torques with which a robot rises on its feet, from arrays alone."""

import numpy as np

from sapwood.invdyn import InverseDynamics, forward

# a base of 10 kg on four legs, each a slider along x, y and z: 6 + 12 velocities
feet = np.array([[0.2, 0.1, -0.3], [0.2, -0.1, -0.3], [-0.2, 0.1, -0.3], [-0.2, -0.1, -0.3]])
M = np.diag([10.0] * 3 + [0.1, 0.2, 0.2] + [0.1] * 12)
h = np.zeros(18)
h[2] = 10.0 * 9.81
J = np.zeros((4, 3, 18))
for i, (x, y, z) in enumerate(feet):
    J[i, :, :3] = np.eye(3)
    J[i, :, 3:6] = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]
    J[i, :, 6 + 3 * i : 9 + 3 * i] = np.eye(3)

controller = InverseDynamics("qp_coulomb", actuated=range(6, 18), dt=1e-3)
# all feet push downwards with the same acceleration: the base rises
wanted = np.tile([0.0, 0.0, -1.0], 4)
result = controller.solve(M, h, np.zeros(18), wanted, J[:, 2], J[:, :2], np.full(4, 0.8))
print(result)
print("torques, N      ", result.tau.round(2))
print("normal forces, N", result.forces[:, 2].round(2))

step = forward(
    M, h, np.zeros(18), result.tau, J[:, 2], J[:, :2], np.full(4, 0.8),
    actuated=range(6, 18), dt=1e-3, model="qp",
)  # fmt: skip
print("accelerations in the forward step", (step.v_plus[6:] / 1e-3).round(6))
print("the base rises with", round(step.v_plus[2] / 1e-3, 6), "m/s^2")
