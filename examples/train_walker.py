"""A legged robot learns to walk: PPO over a batch of worlds, in NumPy alone.

    python examples/train_walker.py                      # some minutes on two cores
    python examples/train_walker.py --engine mujoco      # the same over mujoco.batch
    python examples/train_walker.py --load walker.npz --engine mujoco    # moves the policy there

The policy corrects the set points of a gait that steps in place. The gait stands in the model: its
keyframes named "gait ..." are the set points that a period passes through. A model without them
learns from its first keyframe on. Friction, masses, gains and pushes differ from world to world and
from episode to episode. Training ends when 9 of 10 of forty worlds walk for 10 s without a fall;
then forty other worlds judge the policy.

Writes walker.npz (the policy), walker.csv (the learning curve), walker.png and walker.mp4.
"""

import argparse
import csv
import time
from pathlib import Path

import mujoco
import numpy as np

SPEED = 0.5  # m/s that a walk has at least
WANTED = 0.8  # m/s at which the reward is largest
PUSH = 0.4  # m/s: largest change of each horizontal velocity by a push, every 2.5 s in the mean
RAMP = 100  # improvements until pushes have grown to PUSH
SECONDS = 10.0  # length of an episode
CONTROL_STEP = 0.02  # s between actions
GAIT_PERIOD = 0.5  # s
DISCOUNT, TRACE = 0.98, 0.95  # gamma of PPO, and lambda of its advantages


# ---- worlds -------------------------------------------------------------------------------------


class Walkers:
    """Worlds of one model, each with parameters of its own, and their episodes."""

    def __init__(self, model, engine, n, threads, seed):
        if model.njnt == 0 or model.jnt_type[0] != mujoco.mjtJoint.mjJNT_FREE or model.nu == 0:
            raise SystemExit("the model needs a free joint first, and actuators")
        if engine == "sapwood":
            from sapwood.mujoco import Batch, SimulationError
        else:
            from mujoco.batch import Batch, SimulationError
        self.batch, self.failure = Batch(model, n, threads), SimulationError
        self.model, self.n, self.rng = model, n, np.random.default_rng(seed)
        self.substeps = max(1, round(CONTROL_STEP / model.opt.timestep))
        self.keyframe = 0 if model.nkey else -1
        start = mujoco.MjData(model)
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, start, 0)
        self.home, self.height = start.qpos[7:].copy(), start.qpos[2]
        names = [model.key(i).name for i in range(model.nkey)]
        gait = [model.key_ctrl[i] for i, name in enumerate(names) if name.startswith("gait")]
        self.gait = np.array(gait or [start.ctrl])
        low, high = model.actuator_ctrlrange.T
        self.scale = np.where(model.actuator_ctrllimited, 0.25 * (high - low), 0.3)
        varied = ("geom_friction", "body_mass", "body_inertia", "actuator_gainprm",
                  "actuator_biasprm")  # fmt: skip
        self.varied = {name: self.batch.expand(name) for name in varied}
        self.action, self.age, self.push = np.zeros((n, model.nu)), np.zeros(n), PUSH
        self.reset(np.arange(n))
        self.n_observed = self.observe().shape[1]

    def reset(self, ids):
        """New parameters and a new episode for some worlds."""
        if len(ids) == 0:
            return
        spread = {
            "geom_friction": self.rng.uniform(0.5, 1.25, len(ids)),
            "body_mass": self.rng.uniform(0.8, 1.2, len(ids)),
            "actuator_gainprm": self.rng.uniform(0.8, 1.2, len(ids)),
        }
        spread["body_inertia"] = spread["body_mass"]
        spread["actuator_biasprm"] = spread["actuator_gainprm"]
        for name, rows in self.varied.items():
            nominal = getattr(self.model, name)
            rows[ids] = nominal * spread[name].reshape(-1, *[1] * nominal.ndim)
        self.batch.set_const(ids)
        self.batch.reset(ids, self.keyframe, int(mujoco.mjtStage.mjSTAGE_NONE))
        self.batch.qpos[ids, 7:] += self.rng.uniform(-0.1, 0.1, (len(ids), len(self.home)))
        self.batch.qvel[ids, :2] += self.rng.uniform(-0.3, 0.3, (len(ids), 2))
        self.age[ids], self.action[ids] = 0.0, 0.0

    def rotation(self):
        """Columns of the rotation of each base: (n, 3, 3)."""
        w, x, y, z = self.batch.qpos[:, 3:7].T
        return np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]).transpose(2, 0, 1)  # fmt: skip

    def observe(self):
        """Observations (n, columns), velocities in the frame of the base."""
        b, rotation = self.batch, self.rotation()
        phase = 2 * np.pi * self.age / GAIT_PERIOD
        return np.column_stack([
            b.qpos[:, 2] - self.height, rotation[:, 2], rotation[:, 0, 0], rotation[:, 1, 0],
            np.einsum("nij,ni->nj", rotation, b.qvel[:, :3]), b.qvel[:, 3:6],
            b.qpos[:, 7:] - self.home, 0.1 * b.qvel[:, 6:], self.action,
            np.sin(phase), np.cos(phase),
        ])  # fmt: skip

    def set_points(self):
        """The gait of each world at its age, between its keyframes."""
        at = self.age / GAIT_PERIOD * len(self.gait)
        first, part = np.floor(at).astype(int), (at % 1.0)[:, None]
        now, then = self.gait[first % len(self.gait)], self.gait[(first + 1) % len(self.gait)]
        return (1 - part) * now + part * then

    def step(self, action):
        """Act; returns rewards, which worlds fell, and which episodes are over."""
        b, before = self.batch, self.action
        self.action = np.clip(action, -3.0, 3.0)
        b.ctrl[:] = self.set_points() + self.scale * self.action
        pushed = self.rng.random(self.n) < CONTROL_STEP / 2.5
        b.qvel[pushed, :2] += self.rng.uniform(-self.push, self.push, (pushed.sum(), 2))
        fell = np.zeros(self.n, bool)
        try:
            b.step(nstep=self.substeps)
        except self.failure as error:
            fell[error.ids] = True
        self.age += self.substeps * self.model.opt.timestep
        rotation = self.rotation()
        fell |= (rotation[:, 2, 2] < 0.5) | (b.qpos[:, 2] < 0.55 * self.height)
        speed, heading = b.qvel[:, :2], np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])
        reward = 0.5 + 1.5 * np.maximum(-1.0, 1.0 - np.abs(speed[:, 0] / WANTED - 1.0))
        reward += 0.5 * np.exp(-5.0 * heading**2) - 0.5 * speed[:, 1] ** 2
        reward -= 0.5 * b.qvel[:, 2] ** 2 + 0.02 * np.square(b.qvel[:, 3:5]).sum(1)
        reward -= 0.01 * (np.square(self.action).sum(1) + np.square(self.action - before).sum(1))
        return np.where(fell, -5.0, reward), fell, fell | (self.age >= SECONDS)


# ---- networks -----------------------------------------------------------------------------------


class Network:
    """Two hidden layers of tanh, with their gradient and Adam's rule."""

    def __init__(self, sizes, last, rng, extra=0):
        gains = [1.0] * (len(sizes) - 2) + [last]
        self.p = [np.full(extra, -0.8, np.float32)]  # logarithm of the spread of actions
        for n, m, gain in zip(sizes, sizes[1:], gains, strict=False):
            w = gain * rng.standard_normal((n, m)) / np.sqrt(n)
            self.p += [w.astype(np.float32), np.zeros(m, np.float32)]
        self.mean, self.square, self.t = [0 * p for p in self.p], [0 * p for p in self.p], 0

    def __call__(self, x):
        """Outputs; the layers are kept for :meth:`descend`."""
        self.layers = [x]
        for k in range(1, len(self.p), 2):
            x = x @ self.p[k] + self.p[k + 1]
            if k + 2 < len(self.p):
                x = np.tanh(x)
            self.layers.append(x)
        return x

    def descend(self, by_output, by_extra, rate):
        """Take a step of Adam against the gradient of the loss of the last call."""
        gradient = [by_extra]
        for k in range(len(self.p) - 2, 0, -2):
            x = self.layers[k // 2]
            gradient[1:1] = [x.T @ by_output, by_output.sum(0)]
            if k > 1:
                by_output = (by_output @ self.p[k].T) * (1 - x * x)
        norm = np.sqrt(sum(float((g * g).sum()) for g in gradient))
        self.t += 1
        rate *= np.sqrt(1 - 0.999**self.t) / (1 - 0.9**self.t)
        for p, g, m, s in zip(self.p, gradient, self.mean, self.square, strict=True):
            g = g * min(1.0, 1.0 / (norm + 1e-8))
            m += 0.1 * (g - m)
            s += 0.001 * (g * g - s)
            p -= rate * m / (np.sqrt(s) + 1e-8)


class Policy:
    """Mean and spread of the actions, value of a state, and scale of the observations."""

    def __init__(self, n_observed, n_actions, rng):
        self.actor = Network([n_observed, 64, 64, n_actions], 0.01, rng, n_actions)
        self.critic = Network([n_observed, 64, 64, 1], 1.0, rng)
        self.count, self.shift, self.square = 1e-4, np.zeros(n_observed), np.ones(n_observed)

    def see(self, observed, learn=False):
        """Normalized observations; the scale follows them if it is to learn."""
        if learn:
            self.count += len(observed)
            part = len(observed) / self.count
            self.shift += part * (observed.mean(0) - self.shift)
            self.square += part * (np.square(observed).mean(0) - self.square)
        spread = np.sqrt(np.maximum(self.square - self.shift**2, 1e-4))
        return np.clip((observed - self.shift) / spread, -8, 8).astype(np.float32)

    def save(self, path):
        """Write all numbers to a file."""
        networks = {f"{name}{i}": p for name in ("actor", "critic")
                    for i, p in enumerate(getattr(self, name).p)}  # fmt: skip
        np.savez(path, count=self.count, shift=self.shift, square=self.square, **networks)

    def load(self, path):
        """Read all numbers from a file."""
        with np.load(path) as file:
            if file["shift"].shape != self.shift.shape:
                raise SystemExit(f"{path} is a policy for another model")
            self.count, self.shift, self.square = file["count"], file["shift"], file["square"]
            for name in ("actor", "critic"):
                network = getattr(self, name)
                network.p = [file[f"{name}{i}"] for i in range(len(network.p))]


def log_probability(action, mean, log_spread):
    """Logarithm of the density of actions, without its constant."""
    return -0.5 * np.square((action - mean) / np.exp(log_spread)).sum(1) - log_spread.sum()


# ---- PPO ----------------------------------------------------------------------------------------


def collect(walkers, policy, horizon, rng):
    """Act for some steps; returns the samples, the mean reward and the part of falls."""
    seen, actions, chances, rewards, values, ends, fell = ([] for _ in range(7))
    for _ in range(horizon):
        x = policy.see(walkers.observe(), learn=True)
        mean, log_spread = policy.actor(x), policy.actor.p[0]
        action = mean + np.exp(log_spread) * rng.standard_normal(mean.shape, np.float32)
        values.append(policy.critic(x)[:, 0])
        reward, down, over = walkers.step(action.astype(float))
        reward *= 1 - DISCOUNT
        if (over & ~down).any():  # an episode cut by the clock goes on in its value
            after = policy.critic(policy.see(walkers.observe()))[:, 0]
            reward += DISCOUNT * after * (over & ~down)
        seen.append(x)
        actions.append(action)
        chances.append(log_probability(action, mean, log_spread))
        rewards.append(reward)
        ends.append(over)
        fell.append(down)
        walkers.reset(np.flatnonzero(over))
    values.append(policy.critic(policy.see(walkers.observe()))[:, 0])
    advantages, ahead = [], 0.0
    for t in reversed(range(horizon)):
        goes_on = DISCOUNT * ~ends[t]
        ahead = rewards[t] + goes_on * values[t + 1] - values[t] + goes_on * TRACE * ahead
        advantages.append(ahead)
    advantages = np.array(advantages[::-1], np.float32)
    flat = [np.concatenate(part) for part in (seen, actions, chances)]
    learned = [*flat, advantages.ravel(), (advantages + np.array(values[:-1])).ravel()]
    return learned, np.mean(rewards) / (1 - DISCOUNT), np.sum(fell) / max(1, np.sum(ends))


def improve(policy, learned, rate, rng, epochs=4, size=2048):
    """PPO's clipped steps; returns the divergence of the new policy from the old one."""
    n, divergence = len(learned[0]), []
    for _ in range(epochs):
        order = rng.permutation(n)
        for begin in range(0, n, size):
            x, action, old, advantage, target = (
                part[order[begin : begin + size]] for part in learned
            )
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
            mean, log_spread = policy.actor(x), policy.actor.p[0]
            off = (action - mean) / np.exp(log_spread)
            change = log_probability(action, mean, log_spread) - old
            ratio = np.exp(np.clip(change, -20.0, 20.0))
            divergence.append(float(np.mean(ratio - 1 - change)))
            cut = np.where(advantage > 0, ratio > 1.2, ratio < 0.8)
            weight = (-(advantage * ratio * ~cut) / len(x))[:, None].astype(np.float32)
            by_spread = (weight * (off * off - 1)).sum(0)
            policy.actor.descend(weight * off / np.exp(log_spread), by_spread, rate)
            error = policy.critic(x)[:, 0] - target
            by_value = (error / len(x))[:, None].astype(np.float32)
            policy.critic.descend(by_value, np.zeros(0, np.float32), 3 * rate)
    return np.mean(divergence[-max(1, n // size) :])


def evaluate(walkers, policy):
    """An episode of each world without noise of actions: mean speed, and whether it fell."""
    ids = np.arange(walkers.n)
    walkers.reset(ids)
    start, down = walkers.batch.qpos[:, 0].copy(), np.zeros(walkers.n, bool)
    end = start.copy()
    over = np.zeros(walkers.n, bool)
    while not over.all():
        mean = policy.actor(policy.see(walkers.observe()))
        _, fell, ends = walkers.step(mean.astype(float))
        end[~over] = walkers.batch.qpos[~over, 0]
        down |= fell & ~over
        over |= ends
        walkers.reset(np.flatnonzero(fell))
    return (end - start) / SECONDS, down


def train(walkers, policy, judges, arguments):
    """Improve the policy until it walks; returns the learning curve."""
    rng, rate, curve, stepping = np.random.default_rng(arguments.seed), 1e-3, [], 0.0
    start, work = time.perf_counter(), time.process_time()
    for iteration in range(1, arguments.iterations + 1):
        walkers.push = PUSH * min(1.0, 0.25 + iteration / RAMP)
        began = time.process_time()
        learned, reward, falls = collect(walkers, policy, arguments.horizon, rng)
        stepping += time.process_time() - began
        divergence = improve(policy, learned, rate, rng)
        rate = np.clip(rate * (0.7 if divergence > 0.02 else 1.15), 1e-4, 2e-3)
        row = {
            "seconds": time.perf_counter() - start,
            "cpu": time.process_time() - work,
            "steps": iteration * arguments.horizon * walkers.n,
            "reward": reward,
            "falls": falls,
            "walk": np.nan,
            "speed": np.nan,
        }
        if iteration % 20 == 0 or iteration == arguments.iterations:
            speed, down = evaluate(judges, policy)
            row["walk"], row["speed"] = np.mean(~down & (speed >= SPEED)), speed.mean()
            print(
                f"{iteration:4d}  {row['seconds']:6.1f} s, {row['cpu']:.1f} s of CPU time  "
                f"{row['steps']:8d} steps, {row['steps'] / stepping:.0f} per CPU second  "
                f"reward {reward:6.3f}  falls {falls:.2f}  "
                f"walks {row['walk']:.0%} at {row['speed']:.2f} m/s",
                flush=True,
            )
        curve.append(row)
        if row["walk"] >= 0.9 and not arguments.go_on:
            break
    return curve


# ---- files --------------------------------------------------------------------------------------


def write_curve(curve, path):
    """The learning curve as a table and, with Matplotlib, as a picture."""
    with path.with_suffix(".csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(curve[0]))
        table.writeheader()
        table.writerows(curve)
    try:
        import matplotlib

        matplotlib.use("agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return
    figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
    steps = [row["steps"] / 1e6 for row in curve]
    axes.plot(steps, [row["reward"] for row in curve], label="reward per step")
    axes.plot(steps, [row["falls"] for row in curve], label="part of episodes that end by a fall")
    judged = [(x, row["walk"]) for x, row in zip(steps, curve, strict=True)]
    judged = [pair for pair in judged if np.isfinite(pair[1])]
    axes.plot(*zip(*judged, strict=True), "o", label=f"part of worlds that walk {SPEED} m/s")
    axes.set(xlabel="million steps of all worlds", ylim=(-0.2, 3.0))
    axes.legend()
    figure.savefig(path.with_suffix(".png"), dpi=110)


def write_video(walkers, policy, path):
    """Film an episode of the first world, if imageio is installed."""
    from sapwood.rendering import RenderingError, render_video

    walkers.reset(np.arange(walkers.n))
    seen = [walkers.batch.qpos[0].copy()]
    while walkers.age[0] < SECONDS - CONTROL_STEP:
        _, fell, _ = walkers.step(policy.actor(policy.see(walkers.observe())).astype(float))
        if fell[0]:
            break
        seen.append(walkers.batch.qpos[0].copy())
        walkers.reset(np.flatnonzero(fell))
    times = walkers.substeps * walkers.model.opt.timestep * np.arange(len(seen))
    try:
        render_video(walkers.model, times, seen, path.with_suffix(".mp4"), width=640, height=368)
    except RenderingError as error:
        print(f"no video: {error}")


def main():
    """Train, judge and film, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).parent
    parser.add_argument("--model", type=Path, default=here / "quadruped.xml", help="MJCF file")
    parser.add_argument("--engine", choices=["sapwood", "mujoco"], default="sapwood")
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--horizon", type=int, default=32, help="steps between two improvements")
    parser.add_argument("--iterations", type=int, default=1000, help="improvements at most")
    parser.add_argument("--go-on", action="store_true", help="continue to train once it walks")
    parser.add_argument("--threads", type=int, default=0, help="0: all cores")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--load", type=Path, help="a trained policy to judge")
    parser.add_argument("--out", type=Path, default=Path("walker"), help="files, without suffix")
    parser.add_argument("--no-video", action="store_true")
    arguments = parser.parse_args()

    model = mujoco.MjModel.from_xml_path(str(arguments.model))
    judges = Walkers(model, arguments.engine, 40, arguments.threads, arguments.seed + 1000)
    policy = Policy(judges.n_observed, model.nu, np.random.default_rng(arguments.seed))
    if arguments.load:
        policy.load(arguments.load)
    else:
        walkers = Walkers(
            model, arguments.engine, arguments.worlds, arguments.threads, arguments.seed
        )
        curve = train(walkers, policy, judges, arguments)
        policy.save(arguments.out.with_suffix(".npz"))
        write_curve(curve, arguments.out)
    others = Walkers(model, arguments.engine, 40, arguments.threads, arguments.seed + 2000)
    speed, down = evaluate(others, policy)
    walks = ~down & (speed >= SPEED)
    print(f"{walks.sum()} of {len(walks)} worlds walk, {down.sum()} fall; speeds, m/s:")
    print(np.sort(speed).round(2))
    if not arguments.no_video:
        write_video(others, policy, arguments.out)


if __name__ == "__main__":
    main()
