"""Plan through contact: iLQR lets a pusher bring a box to a target, and a hopper hop and land.

Each plan is found with three kinds of derivatives: those of steps by `linearize_batch`, central
differences of the same steps, and MuJoCo's own of MuJoCo's steps.
"""

import time

import mujoco
import numpy as np

import sapwood.mujoco

BOX = """
<mujoco>
  <option timestep="0.02"/>
  <worldbody>
    <geom type="plane" size="3 3 .1" friction="0.3"/>
    <body pos="0 0 .1">
      <joint name="pusher" type="slide" axis="1 0 0" damping="1"/>
      <geom type="sphere" size=".05" mass="1"/>
    </body>
    <body pos=".2 0 .1">
      <joint type="slide" axis="1 0 0"/>
      <joint type="slide" axis="0 0 1"/>
      <geom type="box" size=".1 .1 .1" mass="1" friction="0.3"/>
    </body>
  </worldbody>
  <actuator><motor joint="pusher" gear="10" ctrlrange="-3 3"/></actuator>
</mujoco>
"""
HOPPER = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    <body pos="0 0 .5">
      <joint type="slide" axis="1 0 0"/>
      <joint type="slide" axis="0 0 1"/>
      <joint type="hinge" axis="0 1 0"/>
      <geom type="box" size=".1 .05 .05" mass="3"/>
      <body>
        <joint name="hip" type="hinge" axis="0 1 0" damping=".1" armature=".02"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".03" mass=".5"/>
        <body pos="0 0 -.2">
          <joint name="leg" type="slide" axis="0 0 1" range="-.2 .1" stiffness="400" damping="4"/>
          <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass=".2"/>
          <geom type="sphere" pos="0 0 -.25" size=".05" mass=".3"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="hip" gear="20" ctrlrange="-1 1"/>
    <motor joint="leg" gear="200" ctrlrange="-1 1"/>
  </actuator>
</mujoco>
"""


class Task:
    """A model, a first plan, and weights (2 nv) of the squares of x - target at its end."""

    def __init__(self, xml, first, target, weights, control_cost):
        self.model = mujoco.MjModel.from_xml_string(xml)
        self.data = mujoco.MjData(self.model)
        self.stepper = sapwood.mujoco.Stepper(self.model)
        self.first = first
        self.target, self.weights = np.array(target), np.array(weights)
        self.control_cost = control_cost

    def step(self):
        """Take a step."""
        self.stepper.step(self.data)

    def mujoco_step(self):
        """Take one of MuJoCo's own."""
        mujoco.mj_step(self.model, self.data)

    def roll(self, policy, step):
        """States x = (q, v) of a plan (steps + 1, 2 nv), and its controls u(i, x)."""
        mujoco.mj_resetData(self.model, self.data)
        x, u = [np.concatenate([self.data.qpos, self.data.qvel])], []
        for i in range(len(self.first)):
            u.append(np.clip(policy(i, x[-1]), *self.model.actuator_ctrlrange.T))
            self.data.ctrl[:] = u[-1]
            step()
            x.append(np.concatenate([self.data.qpos, self.data.qvel]))
        return np.array(x), np.array(u)

    def cost(self, x, u):
        """What a plan costs."""
        return self.weights @ (x[-1] - self.target) ** 2 + self.control_cost * np.sum(u**2)

    def gains(self, x, u, A, B, damping):
        """Feed-forward k and feedback K of each step, from the end to the start (Riccati)."""
        s, S = 2.0 * self.weights * (x[-1] - self.target), np.diag(2.0 * self.weights)
        k, K = np.empty_like(u), np.empty((len(u), u.shape[1], len(s)))
        for i in reversed(range(len(u))):
            Q_u = 2.0 * self.control_cost * u[i] + B[i].T @ s
            Q_uu = (2.0 * self.control_cost + damping) * np.eye(u.shape[1]) + B[i].T @ S @ B[i]
            Q_ux = B[i].T @ S @ A[i]
            k[i], K[i] = -np.linalg.solve(Q_uu, Q_u), -np.linalg.solve(Q_uu, Q_ux)
            s = A[i].T @ s + Q_ux.T @ k[i]
            S = A[i].T @ S @ A[i] + Q_ux.T @ K[i]
        return k, K

    def plan(self, step, derivatives):
        """The best plan, its cost, and the number of iterations."""
        x, u = self.roll(lambda i, _: self.first[i], step)
        best, before, damping, iterations = self.cost(x, u), np.inf, 1e-3, 0
        while before - best > 1e-3 * best and iterations < 100:
            A, B = derivatives(x, u)
            before, iterations = best, iterations + 1
            while best == before and damping < 1e4:
                k, K = self.gains(x, u, A, B, damping)
                for part in (1.0, 0.5, 0.25, 0.1, 0.03):
                    found = self.roll(
                        lambda i, now, x=x, u=u, k=k, K=K, part=part: (
                            u[i] + part * k[i] + K[i] @ (now - x[i])
                        ),
                        step,
                    )
                    if self.cost(*found) < best:
                        x, u = found
                        best, damping = self.cost(x, u), max(damping / 10.0, 1e-6)
                        break
                else:
                    damping *= 10.0
        return x, best, iterations

    def linearized(self, x, u):
        """A and B of all steps; softer contact in them leads through impacts."""
        nq = self.model.nq
        return sapwood.mujoco.linearize_batch(
            self.stepper, x[:-1, :nq], x[:-1, nq:], u, soften=10.0
        )[:2]

    def differences(self, x, u):
        """A and B of all steps by central differences of whole steps."""
        found = [
            sapwood.mujoco.linearize(self.stepper, data, mode="difference")
            for data in self.starts(x, u)
        ]
        return [one.A for one in found], [one.B for one in found]

    def mujoco_differences(self, x, u):
        """A and B of MuJoCo's steps, by its own central differences."""
        nx, nu = x.shape[1], u.shape[1]
        A, B = np.empty((len(u), nx, nx)), np.empty((len(u), nx, nu))
        for i, data in enumerate(self.starts(x, u)):
            mujoco.mjd_transitionFD(self.model, data, 1e-6, True, A[i], B[i], None, None)
        return A, B

    def starts(self, x, u):
        """The data at the start of each step of a plan."""
        for state, control in zip(x[:-1], u, strict=True):
            self.data.qpos[:], self.data.qvel[:] = np.split(state, 2)
            self.data.ctrl[:] = control
            yield self.data


TASKS = {
    "push a box by 0.5 m": Task(
        BOX, np.full((60, 1), 0.3), [0, 0.5, 0, 0, 0, 0], [0, 100, 0, 0, 10, 0], control_cost=1e-2
    ),
    "hop by 0.3 m": Task(
        HOPPER, np.outer(np.arange(100) < 15, [0.0, -0.5]), [0.3] + 9 * [0.0],
        [100, 100, 100, 10, 10] + 5 * [1], control_cost=1e-3,
    ),
}  # fmt: skip
print("task                 derivatives  iterations    cost  CPU time  comes to  highest")
for name, task in TASKS.items():
    moved = int(np.argmax(task.target))  # place in q of x, which has a target; z follows
    for way, step, derivatives in (
        ("linearize", task.step, task.linearized),
        ("differences", task.step, task.differences),
        ("MuJoCo's", task.mujoco_step, task.mujoco_differences),
    ):
        start = time.process_time()
        x, cost, iterations = task.plan(step, derivatives)
        taken = time.process_time() - start
        print(
            f"{name:20s} {way:12s} {iterations:10d} {cost:7.4f} {taken:7.2f} s "
            f"{x[-1, moved]:7.3f} m {x[:, moved + 1].max():6.3f} m"
        )
