"""Plan through contact: iLQR lets a pusher bring a box to a target, and stop it there."""

import mujoco
import numpy as np

import sapwood.mujoco

model = mujoco.MjModel.from_xml_string("""
<mujoco>
  <option timestep="0.02"/>
  <worldbody>
    <geom type="plane" size="3 3 .1" friction="0.3"/>
    <body pos="0 0 .1">
      <joint name="pusher" type="slide" axis="1 0 0" damping="1"/>
      <geom type="sphere" size=".05" mass="1"/>
    </body>
    <body name="box" pos=".2 0 .1">
      <freejoint/>
      <geom type="box" size=".1 .1 .1" mass="1" friction="0.3"/>
    </body>
  </worldbody>
  <actuator><motor joint="pusher" gear="10"/></actuator>
</mujoco>
""")
stepper = sapwood.mujoco.Stepper(model)
data = mujoco.MjData(model)
steps, target, nv = 60, 0.7, model.nv
control_cost, end_cost = 1e-2, 100.0
x_box, v_box = 1, nv + 1  # in the tangent space: the first of the box's own, after the pusher's


def roll(controls, start):
    """States (steps + 1, nq + nv) under controls, or under a policy u(i, q, v)."""
    mujoco.mj_resetData(model, data)
    data.qpos[:], data.qvel[:] = start
    states, used = [(data.qpos.copy(), data.qvel.copy())], []
    for i in range(steps):
        data.ctrl[:] = controls(i, data.qpos, data.qvel) if callable(controls) else controls[i]
        used.append(data.ctrl.copy())
        stepper.step(data)
        states.append((data.qpos.copy(), data.qvel.copy()))
    return states, np.array(used)


def cost(states, used):
    """What the plan costs."""
    q, v = states[-1]
    return end_cost * ((q[1] - target) ** 2 + 0.1 * v[1] ** 2) + control_cost * np.sum(used**2)


def derivatives(states, used):
    """A and B of every step."""
    q, v = (np.array(part) for part in zip(*states[:-1], strict=True))
    A, B, _ = sapwood.mujoco.linearize_batch(stepper, q, v, used, soften=10.0)
    return A, B


def gains(states, used, damping):
    """Feed-forward k and feedback K of each step, from the end to the start (Riccati)."""
    A, B = derivatives(states, used)
    q, v = states[-1]
    s, S = np.zeros(2 * nv), np.zeros((2 * nv, 2 * nv))
    s[x_box], s[v_box] = 2.0 * end_cost * (q[1] - target), 0.2 * end_cost * v[1]
    S[x_box, x_box], S[v_box, v_box] = 2.0 * end_cost, 0.2 * end_cost
    k, K = [], []
    for i in reversed(range(steps)):
        Q_u = 2.0 * control_cost * used[i] + B[i].T @ s
        Q_uu = (2.0 * control_cost + damping) * np.eye(model.nu) + B[i].T @ S @ B[i]
        Q_ux = B[i].T @ S @ A[i]
        k.insert(0, -np.linalg.solve(Q_uu, Q_u))
        K.insert(0, -np.linalg.solve(Q_uu, Q_ux))
        s = A[i].T @ s + Q_ux.T @ k[0]
        S = A[i].T @ S @ A[i] + Q_ux.T @ K[0]
        S = 0.5 * (S + S.T)
    return k, K


start = data.qpos.copy(), data.qvel.copy()
states, used = roll(np.full((steps, model.nu), 0.3), start)
best, damping, iterations = cost(states, used), 1e-3, 0
print(f"start: cost {best:.2f}, the box comes to {states[-1][0][1]:.3f} m")
for _ in range(60):
    iterations += 1
    k, K = gains(states, used, damping)

    def policy(i, q, v, part=1.0, states=states, used=used, k=k, K=K):
        """The new control of a step: the old one, a part of the change, and feedback."""
        apart = np.zeros(nv)
        mujoco.mj_differentiatePos(model, apart, 1.0, states[i][0], q)
        return used[i] + part * k[i] + K[i] @ np.concatenate([apart, v - states[i][1]])

    before = best
    for part in (1.0, 0.5, 0.25, 0.1, 0.03):
        found = roll(lambda i, q, v, part=part: policy(i, q, v, part), start)
        if cost(*found) < best:
            states, used = found
            best, damping = cost(states, used), max(damping / 3.0, 1e-6)
            break
    else:
        damping *= 10.0
    if damping > 1e3 or (best < before and before - best < 1e-4 * best):
        break
q, v = states[-1]
print(f"iteration {iterations}: cost {best:.3f}")
print(f"box at {q[1]:.3f} m of {target} m, with {v[1]:.3f} m/s")
