"""The models of the worlds of a batch as its user sees them: expanded fields and models."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.mujoco.batches.arrays import BatchArrays
from sapwood.mujoco.batches.errors import SimulationError
from sapwood.mujoco.batches.fields import read_only
from sapwood.mujoco.batches.ids import world_ids
from sapwood.mujoco.batches.named import NamedView

_Array = NDArray[Any]

_MUJOCO = 3  # status of a world in which MuJoCo raised an error


def _view_of(kind: str, words: str) -> Callable[[BatchModels, int | str], NamedView]:
    """The method that returns the view of one element of a kind."""

    def view(self: BatchModels, key: int | str) -> NamedView:
        return NamedView(self, kind, key, self._outputs.data)

    view.__name__, view.__qualname__ = kind, f"BatchModels.{kind}"
    view.__doc__ = f"""Return the view of one {words} in all worlds.

        Parameters
        ----------
        key : int or str
            Its index or name.

        Returns
        -------
        NamedView
            Its attributes of MjData and MjModel, as arrays (nsim, ...).

        Raises
        ------
        KeyError
            If there is none.
        """
    return view


class BatchModels(BatchArrays):
    """The models of a :class:`Batch`, whose constructor sets all attributes."""

    _on_error: str

    # ---- named views ----------------------------------------------------------------------------

    actuator = _view_of("actuator", "actuator")
    body = _view_of("body", "body")
    camera = _view_of("camera", "camera")
    equality = _view_of("equality", "equality constraint")
    geom = _view_of("geom", "geom")
    joint = _view_of("joint", "joint")
    keyframe = _view_of("keyframe", "keyframe")
    light = _view_of("light", "light")
    material = _view_of("material", "material")
    numeric = _view_of("numeric", "custom number")
    pair = _view_of("pair", "pair of geoms")
    sensor = _view_of("sensor", "sensor")
    site = _view_of("site", "site")
    tendon = _view_of("tendon", "tendon")

    # ---- parameters of worlds -------------------------------------------------------------------

    def expand(self, name: str) -> _Array:
        """Give a field of the model a value per world.

        Damping, ranges, gains, friction and other fields that the stepper reads take effect in the
        next call, which reads each changed world once, and refuses values that a stepper refuses.
        After a write to a field that ``mj_setConst`` reads, such as masses and sizes, call
        :meth:`set_const`.

        Parameters
        ----------
        name : str
            Name of an array of MjModel, or of an option as ``opt.NAME``; or
            "sapwood.contact_stiffness" (N/m), "sapwood.dissipation_time" (s), "sapwood.friction",
            "sapwood.static_friction" or "sapwood.restitution" of the geoms, frictions only where a
            material has one.

        Returns
        -------
        ndarray (nsim, ...)
            The live values.

        Raises
        ------
        ValueError
            For another name, and for fields by which models are laid out.
        """
        return self._worlds.expand(name)

    def expanded(self, name: str) -> _Array | None:
        """Return the values of a field per world, without expanding it.

        Parameters
        ----------
        name : str
            As for :meth:`expand`.

        Returns
        -------
        ndarray (nsim, ...) or None
            Read-only values that :meth:`expand` or :meth:`set_const` made; None if all worlds
            share one.

        Raises
        ------
        ValueError
            For another name.
        """
        rows = self._worlds.rows(name)
        return None if rows is None else read_only(rows)

    def set_const(self, ids: ArrayLike | None = None) -> None:
        """Run ``mj_setConst`` per world; fields that it derives become values per world.

        Parameters
        ----------
        ids : array_like, optional
            As for :meth:`step`.

        Raises
        ------
        SimulationError
            If MuJoCo refuses the parameters of worlds, such as masses of 0.
        NotSupported, ValueError
            If a stepper refuses them; the text names the world.
        """
        chosen = world_ids(ids, self._n)
        worlds = range(self._n) if chosen is None else chosen.tolist()
        with self._turn:
            failed = self._worlds.set_const(worlds)
            self._status[chosen if chosen is not None else slice(None)] = 0
            self._status[list(failed)] = _MUJOCO
            self._keep_errors(chosen, failed)
        if failed and self._on_error == "raise":
            ordered = np.array(sorted(failed))
            raise SimulationError.of(ordered, failed[int(ordered[0])], len(worlds))

    def is_expanded(self, name: str) -> bool:
        """Tell whether :meth:`expand` gave a field a value per world.

        Parameters
        ----------
        name : str
            As for :meth:`expand`.

        Returns
        -------
        bool
            The answer.
        """
        return name in self._worlds.expanded

    @property
    def models(self) -> mujoco.MjModel | tuple[mujoco.MjModel, ...] | None:
        """The models that :meth:`set_models` set: one for all worlds, one each, or None."""
        return self._worlds.models

    def set_models(self, models: mujoco.MjModel | Sequence[mujoco.MjModel] | None) -> None:
        """Run each world on the parameters of a model of its own.

        The models are read once: set them again after a change.

        Parameters
        ----------
        models : MjModel, sequence of MjModel, or None
            A model per world, or one for all, with the layout of the model of the batch; None is
            the model of the batch.

        Raises
        ------
        TypeError, ValueError
            If their number or the layout of one differs, or fields are expanded.
        """
        listed: list[mujoco.MjModel] | None = None
        if isinstance(models, mujoco.MjModel):
            listed = [models] * self._n
        elif models is not None:
            listed = list(models)
        with self._turn:
            had = self._worlds.models is not None
            if had:
                self._forget_parameters()
            if listed is not None:
                try:
                    self._worlds.set_models(listed)
                    self._worlds.refresh()
                except BaseException:
                    self._forget_parameters()
                    raise
                self._worlds.models = models if isinstance(models, mujoco.MjModel) else (*listed,)

    def _forget_parameters(self) -> None:
        """Give all worlds the model of the batch, with fresh models and steppers of the threads."""
        self._outputs.remove_inputs()
        self._worlds.clear()
        self._workers.forget()
        self._core = self._workers.loop(self._nthread)

    def get_model(self, sim: int, model: mujoco.MjModel | None = None) -> mujoco.MjModel:
        """Return the model of one world, for any function of MuJoCo.

        Parameters
        ----------
        sim : int
            The world.
        model : mujoco.MjModel, optional
            A model of the same layout to write the parameters of the world to; a copy by default.

        Returns
        -------
        mujoco.MjModel
            The model.

        Raises
        ------
        IndexError, TypeError
            For another world, or no model.
        """
        world = self._world(sim)
        if model is None:
            model = copy.copy(self.model)
        elif not isinstance(model, mujoco.MjModel):
            raise TypeError(f"model must be a mujoco.MjModel, not {type(model).__name__}")
        self._worlds.write_to(model, world)
        return model

    def _keep_errors(self, ids: NDArray[np.int32] | None, failed: dict[int, str]) -> None:
        if ids is None:
            self._errors = failed
        elif self._errors or failed:
            for world in ids.tolist():
                self._errors.pop(world, None)
            self._errors.update(failed)
