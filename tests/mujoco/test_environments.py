"""Environments of Gymnasium and dm_control that are patched: 1000 steps of the same random actions,
returns near MuJoCo's, model changes seen, and all as it was behind them.

Seeds are fixed: a random policy's return has a spread, and these are compared for near equality.
"""

from __future__ import annotations

import copy
import functools
import pickle
import types

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
gym = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env

from sapwood.mujoco import StepError, Stepper, patch

pytestmark = [
    # warnings of the packages themselves
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*integrator.*"),
    pytest.mark.filterwarnings("ignore:.*friction_limit.*"),
]

STEPS = 1000

# reward per step, and how far it may be from MuJoCo's: the standard deviation of one episode's
# rewards is of the size of the tolerance
GYMNASIUM = {"Ant-v5": 0.3, "HalfCheetah-v5": 0.2, "Humanoid-v5": 0.5, "Hopper-v5": 0.3}


def rewards_of(env, seed, steps=STEPS):
    """Rewards of a random policy; every number that is observed is finite."""
    env.action_space.seed(seed)
    env.reset(seed=seed)
    rewards = []
    for i in range(steps):
        observed, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        for value in observed.values() if isinstance(observed, dict) else [observed]:
            assert np.all(np.isfinite(value))
        rewards.append(reward)
        if terminated or truncated:
            env.reset(seed=seed + i)
    return np.array(rewards)


@pytest.mark.slow
@pytest.mark.parametrize("name", GYMNASIUM)
def test_returns_are_near_those_of_mujoco(name):
    env = gym.make(name)
    theirs = rewards_of(env, seed=1)
    with patch(env) as patched:
        ours = rewards_of(env, seed=1)
        assert patched.stepper.steps == STEPS * env.unwrapped.frame_skip
    assert not np.array_equal(ours, theirs)
    assert abs(ours.mean() - theirs.mean()) < GYMNASIUM[name]
    # undone
    np.testing.assert_array_equal(rewards_of(env, seed=1, steps=20), theirs[:20])


class Numbers:
    """The module mujoco, with numbers in the place of two enums.

    gymnasium_robotics compares them with entries of arrays, which are no longer equal to them.
    """

    mjtJoint = types.SimpleNamespace(
        **{name: int(kind) for name, kind in mujoco.mjtJoint.__members__.items()}
    )
    mjtEq = types.SimpleNamespace(
        **{name: int(kind) for name, kind in mujoco.mjtEq.__members__.items()}
    )

    def __getattr__(self, name):
        return getattr(mujoco, name)


@pytest.fixture
def fetch(monkeypatch):
    """The arm that reaches."""
    robotics = pytest.importorskip("gymnasium_robotics")
    from gymnasium_robotics.utils import mujoco_utils

    monkeypatch.setattr(mujoco_utils, "mujoco", Numbers())
    gym.register_envs(robotics)
    return gym.make("FetchReach-v4", reward_type="dense")


@pytest.mark.slow
def test_an_arm_that_is_led_by_a_mocap_body_reaches(fetch):
    theirs = rewards_of(fetch, seed=2)
    with patch(fetch) as patched:
        ours = rewards_of(fetch, seed=2)
        assert patched.stepper.steps == STEPS * fetch.unwrapped.n_substeps
    # rewards are distances, m
    assert abs(ours.mean() - theirs.mean()) < 0.08


@pytest.fixture
def suite():
    """The suite of dm_control, where it can load a model."""
    module = pytest.importorskip("dm_control.suite")
    try:
        module.load("cheetah", "run")
    except AttributeError as error:
        pytest.skip(f"dm_control does not go with MuJoCo {mujoco.__version__}: {error}")
    return module


def suite_rewards(env, seed):
    """Rewards of a random policy of dm_control."""
    generator, spec, rewards = np.random.default_rng(seed), env.action_spec(), []
    step = env.reset()
    for _ in range(STEPS):
        step = env.step(generator.uniform(spec.minimum, spec.maximum))
        assert all(np.all(np.isfinite(value)) for value in step.observation.values())
        rewards.append(step.reward or 0.0)
    return np.array(rewards)


@pytest.mark.parametrize(("domain", "task"), [("cheetah", "run"), ("finger", "spin")])
def test_tasks_of_dm_control(suite, domain, task):
    theirs = suite_rewards(suite.load(domain, task, task_kwargs={"random": 3}), seed=3)
    env = suite.load(domain, task, task_kwargs={"random": 3})
    with patch(env) as patched:
        ours = suite_rewards(env, seed=3)
        assert patched.stepper.time_step == env.physics.timestep()
        # quantities of position are up to date
        xpos = env.physics.data.xpos.copy()
        mujoco.mj_kinematics(env.physics.model.ptr, env.physics.data.ptr)
        np.testing.assert_array_equal(env.physics.data.xpos, xpos)
    assert abs(ours.mean() - theirs.mean()) < 0.1
    env.physics.step()
    assert "step" not in vars(env.physics)


@pytest.mark.parametrize(
    "way",
    [
        lambda physics: physics.copy(),
        lambda physics: physics.copy(share_model=True),
        lambda physics: pickle.loads(pickle.dumps(physics)),
        copy.deepcopy,
        copy.copy,
    ],
)
def test_copies_of_physics_have_a_stepper_of_their_own(suite, way):
    env = suite.load("cheetah", "run", task_kwargs={"random": 3})
    env.reset()
    patched = patch(env)
    env.physics.step(10)
    twin = way(env.physics)
    other = vars(twin)["step"].__self__
    assert other is not patched
    for physics in (twin, env.physics) if way is not copy.copy else (twin,):
        physics.step(3)
    assert (other.stepper.steps, patched.stepper.steps) == (3, 10 if way is copy.copy else 13)
    np.testing.assert_array_equal(twin.data.qpos, env.physics.data.qpos)


def test_a_step_that_fails_is_an_error_of_the_physics(suite):
    control = pytest.importorskip("dm_control.rl.control")
    env = suite.load("cheetah", "run")
    env.reset()
    patch(env.physics)
    env.physics.data.qfrc_applied[0] = np.inf
    with pytest.raises(control.PhysicsError, match="not finite"):
        env.physics.step(2)


# ---- one environment ----------------------------------------------------------------------------


@pytest.fixture
def hopper():
    """An environment after a reset."""
    env = gym.make("Hopper-v5")
    env.reset(seed=1)
    return env


def test_steps_are_those_of_the_stepper(hopper):
    model, data = hopper.unwrapped.model, copy.copy(hopper.unwrapped.data)
    patch(hopper, friction="convex")
    action = hopper.action_space.sample()
    hopper.step(action)
    data.ctrl[:] = action
    Stepper(model, friction="convex").run(data, hopper.unwrapped.frame_skip)
    np.testing.assert_array_equal(hopper.unwrapped.data.qpos, data.qpos)


def test_changes_of_the_model_are_seen(hopper):
    patched = patch(hopper)
    first = patched.stepper
    assert patched.stepper is first
    model = hopper.unwrapped.model
    model.geom_rgba[:] = 0.5
    assert patched.stepper is first
    model.geom_friction[:, 0] = 0.123
    model.opt.gravity[2] = -1.62
    assert patched.stepper is first
    assert first.model.geom_friction[0, 0] == 0.123
    assert first.model.opt.gravity[2] == -1.62
    # a new time step needs another stepper
    model.opt.timestep = 0.001
    second = patched.stepper
    assert second is not first
    assert second.time_step == 0.001
    hopper.unwrapped.model = copy.copy(model)
    assert patched.stepper is not second


def test_followed_are_all_numbers_of_the_motion():
    env = gym.make("Ant-v5")
    patched, model = patch(env), env.unwrapped.model
    for name in ("body_mass", "dof_damping", "jnt_range", "actuator_gear", "geom_size", "qpos0"):
        getattr(model, name).flat[-1] += 1.0
        followed = getattr(patched.stepper.model, name)
        np.testing.assert_array_equal(followed, getattr(model, name), name)


class Plain:
    """An environment of its own kind, that copies as it is."""

    def __init__(self):
        self.model = gym.make("Hopper-v5").unwrapped.model
        self.data = mujoco.MjData(self.model)

    def _step_mujoco_simulation(self, ctrl, n_frames):
        self.data.ctrl[:] = ctrl
        mujoco.mj_step(self.model, self.data, n_frames)


def test_copies_step_their_own_data():
    env = Plain()
    patched = patch(env)
    twin = copy.deepcopy(env)
    before = env.data.qpos.copy()
    twin._step_mujoco_simulation(0.3, 4)
    np.testing.assert_array_equal(env.data.qpos, before)
    env._step_mujoco_simulation(0.3, 4)
    np.testing.assert_array_equal(env.data.qpos, twin.data.qpos)
    # each sees changes of its own model
    other, first = twin._step_mujoco_simulation.__self__, patched.stepper
    second = other.stepper
    assert second is not first
    twin.model.geom_friction[:] = 0.2
    assert other.stepper.model.geom_friction[0, 0] == 0.2
    assert patched.stepper.model.geom_friction[0, 0] != 0.2


COPIES = {
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "old pickle": lambda env: pickle.loads(pickle.dumps(env, protocol=2)),
    "pickle in Python": lambda env: pickle._loads(pickle._dumps(env)),
    "deep": copy.deepcopy,
    "shallow": lambda env: copy.copy(env.unwrapped),
    "by the patch": lambda env: pickle.loads(pickle.dumps(patch_of(env)))._target,
    "a copy's copy": lambda env: copy.deepcopy(pickle.loads(pickle.dumps(env))),
}


def patch_of(env):
    """The patch of an environment, None where it steps by itself."""
    step = vars(env.unwrapped).get("_step_mujoco_simulation")
    return getattr(step, "__self__", None)


@pytest.mark.parametrize("way", COPIES)
def test_copies_have_a_stepper_of_their_own(hopper, way):
    theirs = rewards_of(hopper, seed=1, steps=20)
    patched = patch(hopper, friction="convex")
    ours = rewards_of(hopper, seed=1, steps=20)
    steps = patched.stepper.steps
    twin = COPIES[way](hopper)
    assert twin.unwrapped is not hopper.unwrapped
    other = patch_of(twin)
    assert other is not patched
    assert other.stepper.settings.friction == "convex"
    np.testing.assert_array_equal(rewards_of(twin, seed=1, steps=20), ours)
    assert not np.array_equal(ours, theirs)
    assert other.stepper.steps == 20 * hopper.unwrapped.frame_skip
    assert patched.stepper.steps == steps
    # each is undone by itself
    other.undo()
    assert patch_of(twin) is None
    assert patch_of(hopper) is patched
    np.testing.assert_array_equal(rewards_of(twin, seed=1, steps=20), theirs)
    assert patch_of(COPIES["pickle"](twin)) is None


def test_an_environment_and_its_patch_are_copied_together(hopper):
    patched = patch(hopper)
    for order in ((hopper, patched), (patched, hopper)):
        for pair in (pickle.loads(pickle.dumps(order)), copy.deepcopy(order)):
            env, other = pair if order[0] is hopper else pair[::-1]
            assert patch_of(env) is other is not patched
            with pytest.raises(ValueError, match="env has a stepper already"):
                patch(env)


class Part:
    """With a state in slots, and without one."""

    __slots__ = ("__dict__", "data", "model")

    def __init__(self):
        self.model = gym.make("Hopper-v5").unwrapped.model
        self.data = mujoco.MjData(self.model)

    _step_mujoco_simulation = Plain._step_mujoco_simulation


@pytest.mark.parametrize("make", [Plain, Part])
@pytest.mark.parametrize("way", ["pickle", "deep"])
def test_copies_of_what_copies_as_it_is(make, way):
    env = make()
    patch(env)
    env._step_mujoco_simulation(0.3, 4)
    twin = COPIES[way](env)
    assert patch_of(as_env(twin))._target is twin
    for each in (env, twin):
        each._step_mujoco_simulation(0.2, 4)
    np.testing.assert_array_equal(env.data.qpos, twin.data.qpos)


def as_env(plain):
    return types.SimpleNamespace(unwrapped=plain)


def test_undoing(hopper):
    patched = patch(hopper)
    with pytest.raises(ValueError, match="env has a stepper already: undo that patch first"):
        patch(hopper)
    assert repr(patched).startswith("Patch(HopperEnv, Stepper('hopper'")
    patched.undo()
    patched.undo()
    assert "_step_mujoco_simulation" not in vars(hopper.unwrapped)
    with patch(hopper):
        patched.undo()  # of another patch
        assert "_step_mujoco_simulation" in vars(hopper.unwrapped)


def test_what_is_no_environment_is_refused():
    for wrong in (None, gym.make("CartPole-v1") if "CartPole-v1" in gym.registry else 3, object()):
        with pytest.raises(TypeError, match="env must be a MuJoCo environment of gymnasium"):
            patch(wrong)
    many = gym.vector.SyncVectorEnv([lambda: gym.make("Hopper-v5")])
    with pytest.raises(TypeError, match="patch each of them where it is made"):
        patch(many)


def test_steps_that_cannot_be_taken_are_errors(hopper):
    patch(hopper)
    hopper.unwrapped.data.qfrc_applied[0] = np.inf
    with pytest.raises(StepError, match="not finite"):
        hopper.step(hopper.action_space.sample())


def test_a_failed_step_may_end_the_episode(hopper):
    """In its last good state; the next episode is as any other."""
    patched = patch(hopper, on_error="keep")
    action = np.zeros(hopper.action_space.shape, np.float32)
    first, _ = hopper.reset(seed=3)
    before = hopper.step(action)
    assert not before[2]
    data = hopper.unwrapped.data
    state = np.r_[data.qpos, data.qvel]
    data.qfrc_applied[0] = np.inf
    observed, reward, terminated, _, info = hopper.step(action)
    assert terminated
    assert "not finite" in info["step_error"]
    np.testing.assert_array_equal(np.r_[data.qpos, data.qvel], state)
    np.testing.assert_array_equal(observed, before[0])
    assert np.isfinite(reward)
    data.qfrc_applied[0] = 0.0
    np.testing.assert_array_equal(hopper.reset(seed=3)[0], first)
    assert "step_error" not in hopper.step(action)[4]
    # copies do the same, and so does what is left by undoing
    twin = copy.deepcopy(hopper)
    twin.unwrapped.data.qfrc_applied[0] = np.inf
    assert twin.step(action)[2]
    patched.undo()
    assert "step" not in vars(hopper.unwrapped)
    with pytest.raises(ValueError, match="on_error = 'end'"):
        patch(hopper, on_error="end")


@pytest.mark.filterwarnings("ignore:.*(ERROR|WARN).*")
@pytest.mark.parametrize("name", ["Ant-v5", "Hopper-v5"])
@pytest.mark.parametrize("on_error", ["raise", "keep"])
def test_gymnasiums_checker_passes(name, on_error):
    env = gym.make(name).unwrapped
    patch(env, on_error=on_error)
    check_env(env, skip_render_check=True)


def make_hopper():
    """An environment that is patched where it is made."""
    env = gym.make("Hopper-v5")
    patch(env)
    return env


class Failing(gym.Wrapper):
    """An environment whose second step cannot be taken."""

    steps = 0

    def step(self, action):
        self.steps += 1
        self.unwrapped.data.qfrc_applied[0] = np.inf if self.steps == 2 else 0.0
        return super().step(action)


@pytest.mark.filterwarnings("ignore:.*(ERROR|WARN).*")  # by which Gymnasium logs
@pytest.mark.parametrize("kind", ["SyncVectorEnv", "AsyncVectorEnv"])
def test_errors_of_many_environments_are_step_errors(kind):
    """Also of worker processes, whose errors are made again from their texts."""
    many = getattr(gym.vector, kind)([lambda: Failing(make_hopper())] * 2)
    try:
        many.reset(seed=4)
        actions = np.zeros(many.action_space.shape, dtype=np.float32)
        many.step(actions)
        with pytest.raises(StepError, match=r"step 0 at time .* is not finite"):
            many.step(actions)
    finally:
        many.close(terminate=True)


@pytest.mark.slow  # processes that are spawned import all anew
def test_workers_keep_the_steppers_of_environments_that_they_are_sent(hopper):
    patch(hopper)
    one = functools.partial(copy.copy, hopper)
    check_second_alone(gym.vector.AsyncVectorEnv([one] * 2, context="spawn"))


@pytest.mark.parametrize("kind", ["SyncVectorEnv", "AsyncVectorEnv"])
def test_many_environments(kind):
    check_second_alone(getattr(gym.vector, kind)([make_hopper] * 2))


def check_second_alone(many):
    """Steps of two hoppers, of which the second one observes what it does alone."""
    alone = make_hopper()
    try:
        many.reset(seed=[4, 5])
        alone.reset(seed=5)
        actions = np.full(many.action_space.shape, 0.3, dtype=np.float32)
        for _ in range(10):
            observed, *_ = many.step(actions)
            expected, *_ = alone.step(actions[1])
            np.testing.assert_array_equal(observed[1], expected)
    finally:
        many.close()
