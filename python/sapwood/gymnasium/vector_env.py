"""A vector environment of Gymnasium on a batch of worlds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import gymnasium
import mujoco
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from sapwood.base.checks import integer
from sapwood.gymnasium.pictures import Pictures
from sapwood.mujoco.batch import Batch

_Array: TypeAlias = NDArray[Any]
_Mask: TypeAlias = NDArray[np.bool_]

Observe: TypeAlias = Callable[[Batch], ArrayLike]
Reward: TypeAlias = Callable[[Batch, _Array], ArrayLike]
Done: TypeAlias = Callable[[Batch], ArrayLike]
Act: TypeAlias = Callable[[Batch, _Array], None]
Reset: TypeAlias = Callable[[Batch, NDArray[np.int64], list[np.random.Generator]], None]

_NONE = int(mujoco.mjtStage.mjSTAGE_NONE)


class VectorEnv(gymnasium.vector.VectorEnv[_Array, _Array, _Array]):
    """Worlds of a batch as a vector environment, with the resets of Gymnasium's own ones.

    A step sets the actions, advances all worlds by ``nstep`` substeps, and asks for observations,
    rewards and ends of all worlds at once. After it, derived fields of the batch (``xpos``,
    ``sensordata``, ...) describe the state before the last substep, as in Gymnasium's environments.

    A world whose step fails ends its episode if the batch has ``on_error="keep"``: it is terminated
    in its last good state, and ``info["failed"]`` marks it.

    Parameters
    ----------
    batch : Batch
        The worlds.
    observe : callable
        ``observe(batch)`` returns the observations (nsim, ...); views of the batch are copied.
    reward : callable
        ``reward(batch, actions)`` returns the rewards (nsim,).
    done : callable
        ``done(batch)`` returns which worlds are terminated (nsim,).
    reset : callable, optional
        ``reset(batch, ids, rngs)`` sets starts of the worlds ``ids`` (n,), which are at the start
        of the model, by writing to ``batch.qpos[ids]`` and other fields, with a random generator
        for each of them.
    act : callable, optional
        ``act(batch, actions)`` writes the actions to the batch; None writes them to ``ctrl``.
    nstep : int
        Substeps of a step.
    max_episode_steps : int, optional
        Steps after which an episode is truncated.
    action_space, observation_space : gymnasium.Space, optional
        Spaces of one world. None: controls in their ranges, as float32, and a box without bounds.
    autoreset_mode : AutoresetMode or str
        ``NEXT_STEP``: an ended world is reset by the next step, which ignores its action.
        ``SAME_STEP``: by the same step; ``info["final_obs"]`` has its last observation.
        ``DISABLED``: by ``reset(options={"reset_mask": mask})``.
    render_mode : {None, "rgb_array"}
        Whether :meth:`render` draws the worlds.
    width, height : int
        Size of a drawn frame.

    Raises
    ------
    TypeError, ValueError
        For wrong arguments, and for functions whose results have the wrong shape; the text names
        the argument.

    Examples
    --------
    >>> import numpy as np, sapwood.gymnasium, sapwood.mujoco
    >>> model = sapwood.studies.scenes.sphere_on_floor(1.0).compile()
    >>> batch = sapwood.mujoco.Batch(model, nsim=4, on_error="keep")
    >>> env = sapwood.gymnasium.VectorEnv(
    ...     batch,
    ...     observe=lambda batch: np.concatenate([batch.qpos, batch.qvel], axis=1),
    ...     reward=lambda batch, actions: -batch.qpos[:, 2],
    ...     done=lambda batch: batch.qpos[:, 2] < 0.5,
    ...     nstep=10,
    ... )
    >>> observations, info = env.reset(seed=0)
    >>> observations, rewards, terminated, truncated, info = env.step(env.action_space.sample())
    >>> observations.shape, rewards.shape
    ((4, 13), (4,))
    """

    def __init__(
        self,
        batch: Batch,
        observe: Observe,
        reward: Reward,
        done: Done,
        *,
        reset: Reset | None = None,
        act: Act | None = None,
        nstep: int = 1,
        max_episode_steps: int | None = None,
        action_space: gymnasium.Space[Any] | None = None,
        observation_space: gymnasium.Space[Any] | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 480,
    ) -> None:
        super().__init__()
        if not isinstance(batch, Batch):
            raise TypeError(f"batch must be a sapwood.mujoco.Batch, not {type(batch).__name__}")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode = {render_mode!r}: must be None or 'rgb_array'")
        self.batch, self.num_envs, self.render_mode = batch, len(batch.status), render_mode
        self._observe, self._reward, self._done = observe, reward, done
        self._set_starts, self._act = reset, _set_controls if act is None else act
        self._nstep = integer(nstep, "nstep", 1)
        self._limit = max_episode_steps and integer(max_episode_steps, "max_episode_steps", 1)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        dt = batch.model.opt.timestep * self._nstep
        self.metadata = {
            "autoreset_mode": self.autoreset_mode,
            "render_modes": ["rgb_array"],
            "render_fps": round(1.0 / dt),
        }
        self._pictures = Pictures(batch, width, height) if render_mode else None
        self.single_action_space = _controls(batch.model) if action_space is None else action_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        # the first use of a field binds it; its values are those of the next call of the batch
        observe(batch)
        reward(batch, np.zeros_like(self.action_space.sample()))
        done(batch)
        batch.forward()
        seen = self._observations()
        if observation_space is None:
            observation_space = gymnasium.spaces.Box(-np.inf, np.inf, seen.shape[1:], seen.dtype)
        self.single_observation_space = observation_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._rngs: list[tuple[np.random.Generator, int]] = []
        self._ended = np.zeros(self.num_envs, bool)
        self._length = np.zeros(self.num_envs, np.int64)

    # ---- random numbers -------------------------------------------------------------------------

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The random generator of each world."""
        self._seed([None] * self.num_envs, np.arange(self.num_envs))
        return tuple(rng for rng, _ in self._rngs)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seed of each world."""
        self._seed([None] * self.num_envs, np.arange(self.num_envs))
        return tuple(seed for _, seed in self._rngs)

    def _seed(self, seeds: Sequence[int | None], ids: NDArray[np.int64]) -> None:
        """Make generators for the worlds `ids` that get a seed, and for all that have none."""
        if not self._rngs:
            self._rngs = [gymnasium.utils.seeding.np_random() for _ in range(self.num_envs)]
        for i in ids.tolist():
            seed = seeds[i]
            if seed is not None:
                self._rngs[i] = gymnasium.utils.seeding.np_random(seed)

    # ---- calls ----------------------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[_Array, dict[str, Any]]:
        """Begin episodes in all worlds, or in some.

        Parameters
        ----------
        seed : int or sequence of int, optional
            World i gets ``seed + i``, or its own; None goes on with the generators of before.
        options : dict, optional
            ``reset_mask``, a bool array (nsim,): only these worlds are reset.

        Returns
        -------
        observations : ndarray (nsim, ...)
            Observations of all worlds.
        info : dict
            Empty.

        Raises
        ------
        TypeError, ValueError
            For wrong arguments; no world has changed.
        """
        n = self.num_envs
        seeds = [seed] * n if seed is None else seed
        if isinstance(seeds, int | np.integer):
            seeds = [int(seeds) + i for i in range(n)]
        if len(seeds) != n:
            raise ValueError(f"seed has length {len(seeds)}, expected {n}")
        mask = (options or {}).get("reset_mask")
        if mask is None:
            mask = np.ones(n, bool)
        elif not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError("options['reset_mask'] must be a NumPy array of bool")
        elif mask.shape != (n,):
            raise ValueError(f"options['reset_mask'] has shape {mask.shape}, expected ({n},)")
        elif not mask.any():
            raise ValueError("options['reset_mask'] must be true for a world")
        self._seed(seeds, np.flatnonzero(mask))
        self._begin(mask)
        return self._observations(), {}

    def _begin(self, mask: _Mask) -> None:
        """Set worlds to the start of an episode."""
        self._seed([None] * self.num_envs, np.flatnonzero(mask))
        ids = np.flatnonzero(mask)
        self.batch.reset(ids, stage=_NONE)
        if self._set_starts is not None:
            self._set_starts(self.batch, ids, [self._rngs[i][0] for i in ids])
        self.batch.forward(ids)
        self._ended[mask] = False
        self._length[mask] = 0

    def step(self, actions: ArrayLike) -> tuple[_Array, _Array, _Array, _Array, dict[str, Any]]:
        """Take an action in each world.

        Parameters
        ----------
        actions : array_like (nsim, ...)
            Action of each world.

        Returns
        -------
        observations : ndarray (nsim, ...)
            Observations.
        rewards : ndarray (nsim,)
            Rewards; 0 in worlds that this step resets, with ``NEXT_STEP``.
        terminated, truncated : ndarray of bool (nsim,)
            Worlds whose episode ended, by ``done`` or a failure, or by its length.
        info : dict
            ``final_obs`` and ``final_info`` of ended worlds with ``SAME_STEP``, and ``failed``,
            each with a mask ``_final_obs``, ... (nsim,).

        Raises
        ------
        ValueError
            For actions of the wrong shape, and for a step of an ended world with ``DISABLED``.
        SimulationError
            If worlds failed and the batch has ``on_error="raise"``.
        """
        given = np.asarray(actions)
        if given.shape != self.action_space.shape:
            raise ValueError(f"actions has shape {given.shape}, expected {self.action_space.shape}")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._ended.any():
            worlds = np.flatnonzero(self._ended)
            raise ValueError(f"world {worlds[0]} has ended: reset it with options['reset_mask']")
        fresh = self._ended.copy()
        self._act(self.batch, given)
        self.batch.step(~fresh, nstep=self._nstep)
        failed = (self.batch.status != 0) & ~fresh
        if fresh.any():
            self._begin(fresh)
        rewards = self._values(self._reward(self.batch, given), "reward", np.float64)
        terminated = self._values(self._done(self.batch), "done", np.bool_) | failed
        self._length += ~fresh
        truncated = np.zeros(self.num_envs, bool)
        if self._limit is not None:
            truncated = self._length >= self._limit
        rewards[fresh], terminated[fresh] = 0.0, False
        info = {"failed": failed, "_failed": failed.copy()} if failed.any() else {}
        return self._end(rewards, terminated, truncated, info)

    def _end(
        self, rewards: _Array, terminated: _Mask, truncated: _Mask, info: dict[str, Any]
    ) -> tuple[_Array, _Array, _Array, _Array, dict[str, Any]]:
        """Find observations, and reset ended worlds where the mode says so."""
        observations = self._observations()
        self._ended = terminated | truncated
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._ended.any():
            ended, final = self._ended.copy(), np.full(self.num_envs, None, dtype=object)
            for i in np.flatnonzero(ended):
                final[i] = observations[i]
            info |= {"final_obs": final, "_final_obs": ended}
            info |= {"final_info": {}, "_final_info": ended.copy()}
            self._begin(ended)
            observations = self._observations()
        return observations, rewards, terminated, truncated, info

    def _observations(self) -> _Array:
        """A copy of the present observations."""
        found = np.array(self._observe(self.batch))
        if found.ndim == 0 or len(found) != self.num_envs:
            expected = f"({self.num_envs}, ...)"
            raise ValueError(f"observe: result has shape {found.shape}, expected {expected}")
        return found

    def _values(self, values: ArrayLike, name: str, dtype: type[Any]) -> _Array:
        """A copy of one value per world."""
        found = np.array(values, dtype)
        if found.shape != (self.num_envs,):
            raise ValueError(f"{name}: result has shape {found.shape}, expected ({self.num_envs},)")
        return found

    def render(self) -> tuple[_Array, ...] | None:
        """Draw all worlds.

        Returns
        -------
        tuple of ndarray (height, width, 3), or None
            A frame of each world; None without a ``render_mode``.
        """
        return None if self._pictures is None else self._pictures.of_all()

    def close_extras(self, **kwargs: Any) -> None:
        """Release what draws; see ``gymnasium.vector.VectorEnv.close``."""
        del kwargs
        if self._pictures is not None:
            self._pictures.close()


def _set_controls(batch: Batch, actions: _Array) -> None:
    batch.ctrl[:] = actions


def _controls(model: mujoco.MjModel) -> gymnasium.spaces.Box:
    """The space of controls, within the ranges of the model."""
    limited = model.actuator_ctrllimited.astype(bool)
    low = np.where(limited, model.actuator_ctrlrange[:, 0], -np.inf)
    high = np.where(limited, model.actuator_ctrlrange[:, 1], np.inf)
    return gymnasium.spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
