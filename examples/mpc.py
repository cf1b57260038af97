"""Control through contact at 50 Hz: a pusher takes a box along a path, with a plan at every step.

Each 20 ms the controller linearizes its plan, improves it by one pass of iLQR over the next half
second, and applies its first control. Friction brakes the box, and the pusher cannot pull it.
"""

import time

import mujoco
import numpy as np

import sapwood.mujoco

model = mujoco.MjModel.from_xml_string("""
<mujoco>
  <option timestep="0.02"/>
  <worldbody>
    <geom type="plane" size="3 3 .1" friction="0.3"/>
    <body name="pusher" pos="0 0 .1">
      <joint name="pusher" type="slide" axis="1 0 0" damping="1"/>
      <geom type="sphere" size=".05" mass="1"/>
    </body>
    <body name="box" pos=".16 0 .1">
      <joint name="box" type="slide" axis="1 0 0"/>
      <joint type="slide" axis="0 0 1"/>
      <geom type="box" size=".1 .1 .1" mass="1" friction="0.3"/>
    </body>
  </worldbody>
  <actuator><motor joint="pusher" gear="10"/></actuator>
</mujoco>
""")
stepper = sapwood.mujoco.Stepper(model)
scratch = mujoco.MjData(model)
horizon, nv, dt = 25, model.nv, model.opt.timestep
place_cost, control_cost = 100.0, 1e-2
BOX = 1  # place of the box in qpos


def wanted(t):
    """Where the box should be, m: out by 0.4 m in two seconds, and there it stays."""
    part = np.clip(t / 2.0, 0.0, 1.0)
    return 0.4 * part**2 * (3.0 - 2.0 * part)


def follow(start, controls):
    """States (horizon + 1, 2, nv) of a plan; controls are an array, or a policy u(i, state)."""
    states, used = np.empty((horizon + 1, 2, nv)), np.empty((horizon, model.nu))
    scratch.qpos[:], scratch.qvel[:] = states[0] = start
    for i in range(horizon):
        used[i] = controls(i, states[i]) if callable(controls) else controls[i]
        scratch.ctrl[:] = used[i]
        stepper.step(scratch)
        states[i + 1] = scratch.qpos, scratch.qvel
    return states, used


def cost(states, controls, t):
    """What a plan that begins at time t costs."""
    off = states[:, 0, BOX] - wanted(t + dt * np.arange(horizon + 1))
    return place_cost * np.sum(np.square(off)) + control_cost * np.sum(controls**2)


def improve(states, controls, t):
    """One backward pass: the change of the controls (horizon, nu), and their feedback."""
    q, v = states[:-1, 0], states[:-1, 1]
    A, B, _ = sapwood.mujoco.linearize_batch(stepper, q, v, controls, soften=30.0)
    off = states[1:, 0, BOX] - wanted(t + dt * np.arange(1, horizon + 1))
    s, S = np.zeros(2 * nv), np.zeros((2 * nv, 2 * nv))
    changes, feedback = np.zeros_like(controls), np.zeros((horizon, model.nu, 2 * nv))
    for i in reversed(range(horizon)):
        s[BOX] += 2.0 * place_cost * off[i]
        S[BOX, BOX] += 2.0 * place_cost
        Q_u = 2.0 * control_cost * controls[i] + B[i].T @ s
        Q_uu = (2.0 * control_cost + 1e-4) * np.eye(model.nu) + B[i].T @ S @ B[i]
        Q_ux = B[i].T @ S @ A[i]
        changes[i] = -np.linalg.solve(Q_uu, Q_u)
        feedback[i] = -np.linalg.solve(Q_uu, Q_ux)
        s, S = A[i].T @ s + Q_ux.T @ changes[i], A[i].T @ S @ A[i] + Q_ux.T @ feedback[i]
    return changes, feedback


def better(states, controls, t):
    """The plan after one pass, or the same one where no part of the change pays."""
    changes, feedback = improve(states, controls, t)
    for part in (1.0, 0.5, 0.2):

        def policy(i, state, part=part):
            off = (state - states[i]).ravel()
            return np.clip(controls[i] + part * changes[i] + feedback[i] @ off, -3.0, 3.0)

        found, used = follow(states[0], policy)
        if cost(found, used, t) < cost(states, controls, t):
            return used
    return controls


data = mujoco.MjData(model)
controls, spent, errors = np.full((horizon, model.nu), 0.1), [], []
for step in range(150):
    begin = time.process_time()
    states, _ = follow((data.qpos, data.qvel), controls)
    controls = better(states, controls, data.time)
    data.ctrl[:] = controls[0]
    spent.append(time.process_time() - begin)
    stepper.step(data)
    errors.append(data.qpos[BOX] - wanted(data.time))
    controls = np.vstack([controls[1:], controls[-1:]])
    if step % 25 == 24:
        print(f"t {data.time:.1f} s: box at {data.qpos[BOX]:.3f} m of {wanted(data.time):.3f} m")
print(f"largest error {1e3 * np.abs(errors).max():.1f} mm, at the end {1e3 * errors[-1]:.1f} mm")
took = 1e3 * np.median(spent)
print(f"a plan takes {took:.1f} ms of the processor in the median, and has {1e3 * dt:.0f} ms")
