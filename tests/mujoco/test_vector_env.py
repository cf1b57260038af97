"""Vector environments over batches, beside Gymnasium's own SyncVectorEnv of single environments."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
gym = pytest.importorskip("gymnasium")

from gymnasium.vector import AutoresetMode

import sapwood
from mujoco_models import compiled
from sapwood.gymnasium import VectorEnv
from sapwood.mujoco import Batch, SimulationError, Stepper

N, LIMIT, NSTEP = 5, 12, 3
CART = """<geom type="plane" size="9 9 1"/>
  <body pos="0 0 .2"><joint type="slide" axis="1 0 0"/><geom type="box" size=".1 .1 .05" mass="1"/>
    <body><joint name="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .5" size=".02"/>
    </body></body>"""
MOTOR = '<actuator><motor joint="hinge" ctrllimited="true" ctrlrange="-1 2"/></actuator>'


def model():
    return compiled(CART, 0.01, MOTOR)


def start_of(rng):
    return rng.uniform(-0.2, 0.2, 2)


def is_down(angle):
    return np.abs(angle) > 0.25


class One(gym.Env):
    """One world, by a stepper."""

    def __init__(self):
        self.model = model()
        self.stepper, self.data = Stepper(self.model), mujoco.MjData(self.model)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,))
        self.action_space = gym.spaces.Box(-1, 2, (1,))

    def seen(self):
        return np.r_[self.data.qpos, self.data.qvel].astype(np.float32)

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = start_of(self.np_random)
        self.steps = 0
        return self.seen(), {}

    def step(self, action):
        self.data.ctrl[:] = action
        self.stepper.run(self.data, NSTEP)
        self.steps += 1
        angle = self.data.qpos[1]
        return self.seen(), 1.0 - angle * angle, bool(is_down(angle)), self.steps >= LIMIT, {}


def observe(batch):
    return np.concatenate([batch.qpos, batch.qvel], axis=1).astype(np.float32)


def reward(batch, actions):
    assert len(actions) == N
    angle = batch.qpos[:, 1]
    return 1.0 - angle * angle  # the power of a scalar may differ in its last bit


def done(batch):
    return is_down(batch.qpos[:, 1])


def start(batch, ids, rngs):
    batch.qpos[ids] = [start_of(rng) for rng in rngs]


def make(mode=AutoresetMode.NEXT_STEP, on_error="raise", **options):
    batch = Batch(model(), N, 2, on_error=on_error)
    options = {"reset": start, "nstep": NSTEP, "max_episode_steps": LIMIT, **options}
    return VectorEnv(batch, observe, reward, done, autoreset_mode=mode, **options)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, "SameStep"])
def test_it_is_gymnasiums_own_of_single_environments(mode, rng):
    """Bit by bit: observations, rewards, ends, final observations, seeds."""
    ours, theirs = make(mode), gym.vector.SyncVectorEnv([One] * N, autoreset_mode=mode)
    assert ours.single_observation_space.shape == theirs.single_observation_space.shape
    assert ours.observation_space.dtype == theirs.observation_space.dtype
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    for seed in (7, [3, 1, None, 4, 5]):
        if isinstance(seed, list):
            generator = np.random.PCG64(2)
            seed[2] = int(generator.random_raw() % 1000)
        for a, b in zip(ours.reset(seed=seed), theirs.reset(seed=seed), strict=True):
            np.testing.assert_equal(a, b)
        assert ours.np_random_seed == theirs.np_random_seed
        ends = 0
        for _ in range(60):
            actions = rng.uniform(-1, 2, (N, 1)).astype(np.float32)
            found, expected = ours.step(actions), theirs.step(actions)
            for a, b in zip(found[:4], expected[:4], strict=True):
                np.testing.assert_array_equal(a, b)
                assert a.dtype == b.dtype
            assert found[4].keys() == expected[4].keys()
            if "final_obs" in found[4]:
                np.testing.assert_array_equal(found[4]["_final_obs"], expected[4]["_final_obs"])
                for a, b in zip(found[4]["final_obs"], expected[4]["final_obs"], strict=True):
                    np.testing.assert_array_equal(a, b)
            ends += found[2].any() + found[3].any()
        assert ends > 4


def test_resets_of_some_worlds():
    env = make(AutoresetMode.DISABLED)
    first, _ = env.reset(seed=0)
    actions = np.zeros((N, 1), np.float32)
    ended = np.zeros(N, bool)
    while not ended.any():
        observations, _, terminated, truncated, _ = env.step(actions)
        ended = terminated | truncated
    with pytest.raises(ValueError, match="has ended"):
        env.step(actions)
    mask = ended.copy()
    again, info = env.reset(seed=0, options={"reset_mask": mask})
    assert info == {}
    np.testing.assert_array_equal(again[mask], first[mask])
    np.testing.assert_array_equal(again[~mask], observations[~mask])
    if mask.all():
        env.step(actions)


def test_generators_go_on_without_a_seed():
    one, two = make(), make()
    starts = [env.reset(seed=5)[0] for env in (one, two)]
    np.testing.assert_array_equal(*starts)
    later = [env.reset()[0] for env in (one, two)]
    np.testing.assert_array_equal(*later)
    assert not np.array_equal(starts[0], later[0])
    assert len(set(make().np_random_seed)) == N


def test_wrappers_of_gymnasium_take_it():
    env = gym.wrappers.vector.RecordEpisodeStatistics(make())
    env.reset(seed=1)
    lengths = []
    for _ in range(3 * LIMIT):
        info = env.step(np.zeros((N, 1), np.float32))[4]
        if "episode" in info:
            lengths += info["episode"]["l"][info["_episode"]].tolist()
    assert max(lengths) == LIMIT


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_world_that_fails_ends_its_episode(mode):
    def act(batch, actions):
        batch.ctrl[:] = actions
        batch.qfrc_applied[2] = np.inf if act.fails else 0.0

    act.fails = False
    env = make(mode, on_error="keep", act=act)
    env.reset(seed=1)
    actions = np.zeros((N, 1), np.float32)
    before = env.step(actions)[0]
    act.fails = True
    observations, rewards, terminated, _, info = env.step(actions)
    assert terminated[2]
    assert info["failed"].tolist() == [i == 2 for i in range(N)]
    assert np.isfinite(rewards).all()
    last = info["final_obs"][2] if mode == AutoresetMode.SAME_STEP else observations[2]
    np.testing.assert_array_equal(last, before[2])
    act.fails = False
    for _ in range(3):
        info = env.step(actions)[4]
        assert "failed" not in info
    act.fails = True
    strict = make(mode, act=act)
    strict.reset(seed=1)
    with pytest.raises(SimulationError):
        strict.step(actions)


def test_derived_fields_are_those_of_the_start_after_a_reset():
    batch = Batch(model(), N)
    env = VectorEnv(batch, lambda batch: batch.xpos[:, 2], lambda *_: np.zeros(N), done,
                    reset=start, autoreset_mode="SameStep", max_episode_steps=2)  # fmt: skip
    observations, _ = env.reset(seed=0)
    np.testing.assert_allclose(observations[:, 0], batch.qpos[:, 0], atol=1e-15)
    for _ in range(2):
        observations, *_ = env.step(np.zeros((N, 1)))
    np.testing.assert_allclose(observations[:, 0], batch.qpos[:, 0], atol=1e-15)
    # returned arrays stay as they are
    kept = observations.copy()
    env.step(np.ones((N, 1)))
    np.testing.assert_array_equal(observations, kept)


def test_frames_are_of_all_worlds():
    assert make().render() is None
    env = make(render_mode="rgb_array", width=32, height=24)
    try:
        frames = env.render()
    except Exception as error:  # without a driver there are no pictures
        pytest.skip(str(error))
    assert [frame.shape for frame in frames] == [(24, 32, 3)] * N
    env.close()
    assert env.closed


def wrong(function):
    return lambda: VectorEnv(Batch(model(), N), **{"observe": observe, "reward": reward,
                                                   "done": done, **function})  # fmt: skip


WRONG = [
    (lambda: VectorEnv(model(), observe, reward, done), TypeError, "batch must be"),
    (wrong({"observe": lambda _: 0.0}), ValueError, "observe: result has shape"),
    (wrong({"observe": lambda batch: batch.qpos[:3]}), ValueError, "observe: result has shape"),
    (wrong({"nstep": 0}), ValueError, "nstep"),
    (wrong({"max_episode_steps": 1.5}), TypeError, "max_episode_steps"),
    (wrong({"autoreset_mode": "never"}), ValueError, "never"),
    (wrong({"render_mode": "human"}), ValueError, "render_mode = 'human'"),
]


@pytest.mark.parametrize(("call", "error", "text"), WRONG)
def test_wrong_arguments_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_wrong_calls_are_named():
    env = make()
    env.reset(seed=0)
    for call, error, text in [
        (lambda: env.step(np.zeros(N)), ValueError, r"actions has shape \(5,\)"),
        (lambda: env.reset(seed=[1]), ValueError, "seed has length 1"),
        (lambda: env.reset(options={"reset_mask": [1]}), TypeError, "reset_mask"),
        (lambda: env.reset(options={"reset_mask": np.ones(2, bool)}), ValueError, "reset_mask"),
        (lambda: env.reset(options={"reset_mask": np.zeros(N, bool)}), ValueError, "reset_mask"),
    ]:
        with pytest.raises(error, match=text):
            call()
    bad = VectorEnv(env.batch, observe, lambda *_: np.zeros(2), done)
    bad.reset()
    with pytest.raises(ValueError, match="reward: result has shape"):
        bad.step(np.zeros((N, 1)))
    assert sapwood.gymnasium.VectorEnv is VectorEnv
