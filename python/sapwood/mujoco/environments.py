"""Environments of Gymnasium and dm_control whose steps a stepper takes.

An environment calls ``mujoco.mj_step`` in one of its methods. :func:`patch` replaces that method on
one object and its copies; classes and packages stay as they are.
"""

from __future__ import annotations

import copy
import functools
from types import TracebackType
from typing import Any, Literal, Self

import mujoco

from sapwood.mujoco.environment_copies import parts_of
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.stepper import Stepper


class Patch:
    """An environment whose steps a :class:`Stepper` takes; :func:`patch` makes it.

    As a context manager it undoes the patch at the end of the block.

    Parameters
    ----------
    env : object
        The environment, see :func:`patch`.
    options : dict
        Options of :class:`Stepper`.
    on_error : {"raise", "keep"}
        What becomes of a step that fails, see :func:`patch`.

    Raises
    ------
    TypeError, ValueError
        The same as for :func:`patch`.
    """

    def __init__(
        self, env: Any, options: dict[str, Any], on_error: Literal["raise", "keep"] = "raise"
    ) -> None:
        if on_error not in ("raise", "keep"):
            raise ValueError(f"on_error = {on_error!r}: must be 'raise' or 'keep'")
        self._options = options
        self._error: StepError | None = None
        self._keeps = on_error == "keep"
        self._target, self._methods = self._find(env)
        if self._keeps:
            if "step" in self._methods:
                raise ValueError(
                    "on_error = 'keep': dm_control ends episodes itself, by a PhysicsError"
                )
            self._methods["step"] = "_step_env"
        if self._is_in_place("__reduce_ex__", None):
            raise ValueError("env has a stepper already: undo that patch first")
        self._stepper: Stepper | None = None
        self._model: mujoco.MjModel | None = None
        self._make(self._model_of(self._target))
        self._attach(self._target, self._methods)

    def _find(self, env: Any) -> tuple[Any, dict[str, str]]:
        """The object whose method steps, and the replacements of its methods."""
        if hasattr(env, "_recompile_physics_and_update_observables"):
            raise TypeError(
                "env compiles its model anew in each reset: patch env.physics after each of them"
            )
        if hasattr(env, "envs") or hasattr(env, "num_envs"):
            raise TypeError("env holds several environments: patch each of them where it is made")
        physics = getattr(env, "physics", env)
        if hasattr(physics, "check_invalid_state") and hasattr(physics, "legacy_step"):
            return physics, {"step": "_step_physics", "copy": "_copy_physics"}
        base = getattr(env, "unwrapped", env)
        if isinstance(getattr(base, "model", None), mujoco.MjModel):
            if hasattr(base, "_step_mujoco_simulation"):
                return base, {"_step_mujoco_simulation": "_step_gymnasium"}
            if hasattr(base, "_mujoco_step"):
                return base, {"_mujoco_step": "_step_robot"}
        raise TypeError(
            "env must be a MuJoCo environment of gymnasium or gymnasium_robotics, a dm_control "
            f"environment, or its physics, not {type(env).__name__}"
        )

    # ---- in the environment and its copies ------------------------------------------------------

    def _attach(self, target: Any, methods: dict[str, str]) -> None:
        """Take the place of methods of an environment."""
        for name, own in {**methods, "__reduce_ex__": "_reduce"}.items():
            setattr(target, name, getattr(self, own))

    def _is_in_place(self, name: str, patch: Patch | None) -> bool:
        """Whether a method of the environment is patched; None: any method."""
        owner = getattr(vars(self._target).get(name), "__self__", None)
        return isinstance(owner, Patch) if patch is None else owner is patch

    def _reduce(self, protocol: int) -> tuple[Any, ...]:
        """The constructor and state of copies of the environment."""
        attach = functools.partial(Patch._attach_to_copy, self, self._methods)
        return parts_of(self._target, protocol, attach)

    def _attach_to_copy(self, methods: dict[str, str], target: Any) -> None:
        """Attach to a copy; this patch may be incomplete while both are copied."""
        mine = vars(self).get("_target", target) is target
        (self if mine else self._for(target))._attach(target, methods)

    def _for(self, target: Any) -> Patch:
        """Make the same patch for another environment."""
        other = copy.copy(self)
        other._target = target
        return other

    def _copy_physics(self, share_model: bool = False) -> Any:
        made = type(self._target).copy(self._target, share_model=share_model)
        self._for(made)._attach(made, self._methods)
        return made

    @staticmethod
    def _model_of(target: Any) -> mujoco.MjModel:
        """The model of an environment, or that behind the wrapper of a physics."""
        return getattr(target.model, "ptr", target.model)

    def __getstate__(self) -> dict[str, Any]:
        # a copy steps the model of its own environment
        return {**self.__dict__, "_stepper": None, "_model": None, "_error": None}

    # ---- the steps ------------------------------------------------------------------------------

    def _make(self, model: mujoco.MjModel) -> Stepper:
        self._stepper, self._model = Stepper(model, **self._options), model
        return self._stepper

    @property
    def stepper(self) -> Stepper:
        """The stepper, made anew where it cannot follow a change of the model."""
        model = self._model_of(self._target)
        if self._stepper is None or model is not self._model:
            return self._make(model)
        try:
            self._stepper.follow()
        except ValueError:
            # this stepper cannot follow the change; a new one decides
            return self._make(model)
        return self._stepper

    def _step_gymnasium(self, ctrl: Any, n_frames: int) -> None:
        env = self._target
        env.data.ctrl[:] = ctrl
        self._run(env.data, n_frames)
        # environments observe cfrc_ext and other derived arrays
        mujoco.mj_rnePostConstraint(env.model, env.data)

    def _step_robot(self, action: Any) -> None:
        del action  # it was applied
        self._run(self._target.data, self._target.n_substeps)

    def _run(self, data: mujoco.MjData, steps: int) -> None:
        """Take steps; a failure is kept for the step of the environment that ends the episode."""
        try:
            self.stepper.run(data, steps)
        except StepError as error:
            if not self._keeps:
                raise
            self._error = error

    def _step_env(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the environment, and end its episode where the stepper failed."""
        self._error = None
        observation, reward, terminated, truncated, info = type(self._target).step(
            self._target, action
        )
        if self._error is not None:
            terminated, info = True, {**info, "step_error": str(self._error)}
        return observation, reward, terminated, truncated, info

    def _step_physics(self, nstep: int = 1) -> None:
        physics = self._target
        model, data = physics.model.ptr, physics.data.ptr
        with physics.check_invalid_state():
            try:
                self.stepper.run(data, nstep)
            except StepError as error:
                from dm_control.rl.control import PhysicsError

                raise PhysicsError(str(error)) from error
            if physics.legacy_step:
                # quantities of positions and velocities are up to date here
                mujoco.mj_step1(model, data)

    # ---- the end --------------------------------------------------------------------------------

    def undo(self) -> None:
        """Undo the patch; a second call does nothing."""
        for name in (*self._methods, "__reduce_ex__"):
            if self._is_in_place(name, self):
                delattr(self._target, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"Patch({type(self._target).__name__}, {self._stepper!r})"


def patch(env: Any, *, on_error: Literal["raise", "keep"] = "raise", **options: Any) -> Patch:
    """Let a :class:`Stepper` take the steps of an environment.

    Observations, rewards, resets and rendering stay as they are. The stepper follows changes of the
    numbers of the model in place, as at resets; meshes and visual fields do not count. After
    changes of the structure of the model it is made anew.

    Parameters
    ----------
    env : object
        A MuJoCo environment of Gymnasium or Gymnasium-Robotics, wrapped or not; an environment of
        dm_control's suite, or any ``Physics`` of dm_control. Only this object changes; its copies,
        by ``copy`` or ``pickle``, get a patch with the same options.
    on_error : {"raise", "keep"}
        Whether a step that fails raises :class:`StepError`, or ends the episode: ``terminated`` is
        then true, the state is the last good one, and ``info["step_error"]`` has the text. Of
        dm_control a failed step is a ``PhysicsError``, and "keep" is refused.
    **options
        Options of :class:`Stepper`.

    Returns
    -------
    Patch
        The patch, with ``stepper`` and ``undo()``; also a context manager.

    Raises
    ------
    TypeError
        If the environment is of another kind.
    ValueError
        If it is patched already, or ``on_error`` is another one.
    NotSupported
        The same as for :class:`Stepper`.

    Examples
    --------
    >>> import gymnasium, sapwood.mujoco  # doctest: +SKIP
    >>> env = gymnasium.make("Ant-v5")  # doctest: +SKIP
    >>> with sapwood.mujoco.patch(env, friction="coulomb") as patched:  # doctest: +SKIP
    ...     env.reset(seed=0)
    ...     env.step(env.action_space.sample())
    ...     print(patched.stepper.contacts)
    """
    return Patch(env, options, on_error)
