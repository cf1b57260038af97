"""A Gymnasium environment whose physics are stepped by sapwood: one line is new."""

import warnings

import gymnasium
import numpy as np

import sapwood.mujoco

warnings.simplefilter("ignore")  # Gymnasium's, about versions


def episode(env, steps=200):
    """Sum of the rewards of random actions, the same in every run."""
    env.reset(seed=1)
    random = np.random.default_rng(1)
    total = 0.0
    for _ in range(steps):
        low, high = env.action_space.low, env.action_space.high
        _, reward, terminated, _, _ = env.step(random.uniform(low, high))
        total += reward
        if terminated:
            env.reset()
    return total


env = gymnasium.make("HalfCheetah-v5")
print(f"mj_step {episode(env):8.1f}")
with sapwood.mujoco.patch(env) as patched:
    print(f"sapwood {episode(env):8.1f}")
    contacts = patched.stepper.contacts
    print(contacts)
print(f"mj_step {episode(env):8.1f}, again")
