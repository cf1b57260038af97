"""Queries of the worlds of a batch: states, contacts, Jacobians and rays."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base import checks
from sapwood.base.checks import boolean
from sapwood.base.model_data import check_data
from sapwood.fem.state import SoftState
from sapwood.mujoco.batches.contacts import ContactLists
from sapwood.mujoco.batches.fields import WHOLE_STATE
from sapwood.mujoco.batches.ids import bounded, world_ids
from sapwood.mujoco.batches.models import BatchModels
from sapwood.mujoco.batches.parameters import Reader
from sapwood.mujoco.results.contact_reader import ContactReader
from sapwood.mujoco.results.contacts import StepContacts
from sapwood.mujoco.stepping.soft_memory import memory_size, state_in_row

_Float = NDArray[np.float64]


def broadcast(value: ArrayLike, shape: tuple[int, ...], name: str) -> _Float:
    """Numbers as float64, broadcast to a shape.

    Parameters
    ----------
    value : array_like
        The numbers.
    shape : tuple of int
        Shape of the result.
    name : str
        Name of the argument in errors.

    Returns
    -------
    ndarray
        A contiguous array.

    Raises
    ------
    TypeError, ValueError
        If they are no numbers, or the shape does not fit.
    """
    array = _core.as_float64(value, name)
    try:
        return np.ascontiguousarray(np.broadcast_to(array, shape))
    except ValueError:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}") from None


def _check_rays(points: _Float, directions: _Float) -> None:
    """Refuse rays that would make MuJoCo end the process."""
    length = np.linalg.norm(directions, axis=-1)
    for name, array, holds, rule in (
        ("pnt", points, np.isfinite(points).all(axis=-1), "finite"),
        (
            "vec",
            directions,
            np.isfinite(length) & (length >= mujoco.mjMINVAL),
            f"finite and at least {mujoco.mjMINVAL:g} long",
        ),
    ):
        for i, k in np.argwhere(~holds):
            raise ValueError(f"{name} = {array[i, k].tolist()} of ray {k}: must be {rule}")


Places = Iterable[tuple[int, mujoco.MjModel, mujoco.MjData]]
"""The position of each world of a call, its model, and data in its state."""


def jacobians(
    places: Places, bodies: NDArray[np.int32], points: _Float, nv: int
) -> tuple[_Float, _Float]:
    """Jacobians of a point on a body of each world.

    Parameters
    ----------
    places : iterable
        The worlds.
    bodies : ndarray of int (n,)
        Body of each world.
    points : ndarray (n, 3)
        Point of each world, in its frame, m.
    nv : int
        Number of velocities.

    Returns
    -------
    tuple of ndarray (n, 3, nv)
        Translational and rotational Jacobians.
    """
    found = np.zeros((2, len(points), 3, nv))
    for i, model, data in places:
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_jac(model, data, found[0, i], found[1, i], points[i], int(bodies[i]))
    return found[0], found[1]


def cast_rays(
    places: Places,
    points: _Float,
    directions: _Float,
    groups: NDArray[np.uint8] | None,
    with_static: bool,
    excluded: NDArray[np.int32],
    normals: _Float | None,
) -> tuple[_Float, NDArray[np.int32]]:
    """Distances along rays to the geoms of each world, as ``mj_ray`` has them.

    Parameters
    ----------
    places : iterable
        The worlds.
    points, directions : ndarray (n, n_rays, 3)
        Origins, m, and directions.
    groups : ndarray of uint8 (mjNGROUP,), optional
        Geom groups to hit; None is all.
    with_static : bool
        Whether static geoms are hit.
    excluded : ndarray of int (n, n_rays)
        Bodies to miss; -1 is none.
    normals : ndarray (n, n_rays, 3), optional
        Receives normals of the surfaces, 0 where nothing is hit.

    Returns
    -------
    distance : ndarray (n, n_rays)
        In units of the direction; -1 where nothing is hit.
    geom : ndarray of int (n, n_rays)
        The geoms; -1 where nothing is hit.
    """
    distance = np.zeros(points.shape[:2])
    geoms = np.zeros(points.shape[:2], np.int32)
    geom = np.zeros(1, np.int32)
    ray: Callable[..., Any] = mujoco.mj_ray
    for i, model, data in places:
        mujoco.mj_kinematics(model, data)
        if model.nflex:
            mujoco.mj_flex(model, data)
        for k in range(points.shape[1]):
            given = (
                model, data, points[i, k], directions[i, k], groups, with_static,
                int(excluded[i, k]), geom,
            )  # fmt: skip
            distance[i, k] = ray(*given) if normals is None else ray(*given, normals[i, k])
            geoms[i, k] = geom[0]
    return distance, geoms


class BatchQueries(BatchModels):
    """States and contacts of a :class:`Batch` and functions of them; its constructor sets all."""

    _stepper: Reader
    _lists: ContactLists | None

    # ---- states ---------------------------------------------------------------------------------

    def get_state(self) -> NDArray[np.float64]:
        """Return a copy of all states.

        Returns
        -------
        ndarray (nsim, nstate)
            The states, for :meth:`set_state` and :meth:`reset`.
        """
        return self.state.copy()

    def set_state(self, state: ArrayLike) -> None:
        """Set all states.

        Parameters
        ----------
        state : array_like (nsim, nstate)
            States, as :meth:`get_state` returns them.

        Raises
        ------
        ValueError
            If the shape is another one.
        """
        self.state[:] = _core.as_float64(state, "state", (self._n, self.nstate))

    def get_data(self, sim: int, data: mujoco.MjData | None = None) -> mujoco.MjData:
        """Return the state of one world in an MjData, for any function of MuJoCo.

        Parameters
        ----------
        sim : int
            The world.
        data : mujoco.MjData, optional
            Data of the model to write to; new ones by default.

        Returns
        -------
        mujoco.MjData
            Data with the state; derived fields follow from ``mj_forward`` or a stepper.

        Raises
        ------
        IndexError, TypeError, ValueError
            For another world or data of another model.
        """
        row = self._outputs.engine_state[self._world(sim)]
        if data is None:
            data = mujoco.MjData(self.model)
        else:
            check_data(self.model, data)
        mujoco.mj_setState(self.model, data, row, WHOLE_STATE)
        return data

    def soft_state(self, sim: int) -> SoftState:
        """Return the state of the soft bodies of one world.

        Parameters
        ----------
        sim : int
            The world.

        Returns
        -------
        SoftState
            Copies, as ``Stepper.soft_state`` has them; the time is NaN before the first step.

        Raises
        ------
        IndexError
            For another world.
        """
        row, soft = self.state[self._world(sim)], self._stepper.parameters.soft
        if soft is None:
            return SoftState.of(())
        behind = row[self._outputs.engine_state.shape[1] :]
        found = state_in_row(soft, behind[: memory_size(soft)])
        return SoftState.of(soft.bodies) if found is None else found

    # ---- contacts -------------------------------------------------------------------------------

    def _contact_lists(self) -> ContactLists:
        if self._lists is None:
            self._lists = ContactLists(self._n)
        return self._lists

    @property
    def contacts(self) -> tuple[NDArray[np.int64], NDArray[np.void]]:
        """Contacts of the last substep of all worlds: offsets (nsim + 1), and one array of records.

        Contacts of world i are the records ``offsets[i]`` to ``offsets[i + 1] - 1``, with the
        fields of :attr:`StepContacts.records`. They are kept from the first use of this property,
        :meth:`contacts_of` or :meth:`contact_reader` on; until the next call there are none.
        """
        return self._contact_lists().gathered()

    def contacts_of(self, sim: int) -> StepContacts:
        """Return the contacts of one world, as ``Stepper.contacts`` has them.

        Parameters
        ----------
        sim : int
            The world.

        Returns
        -------
        StepContacts
            Contacts of its last substep, see :attr:`contacts`.

        Raises
        ------
        IndexError
            For another world.
        """
        log = self._contact_lists().logs[self._world(sim)]
        return StepContacts(log.array(), self._stepper.parameters.geom_names)

    def contact_reader(
        self, geoms: Sequence[str | int], others: Sequence[str | int] | None = None
    ) -> ContactReader:
        """Prepare a reader of the contact forces on geoms; a geom touches by force alone.

        Parameters
        ----------
        geoms : sequence of str or int
            Names or indices of geoms, such as feet.
        others : sequence of str or int, optional
            Geoms that they touch, such as the floor; None is all.

        Returns
        -------
        ContactReader
            Its ``read()`` sets ``acting``, ``force`` and ``air_time`` of all worlds.

        Raises
        ------
        TypeError, ValueError
            If there is no such geom; the text names it.
        """
        names = self._stepper.parameters.geom_names
        return ContactReader(self._logs, names, geoms, others, self._n, self._times)

    def _logs(self) -> tuple[_core.ContactLog, ...]:
        return self._contact_lists().logs

    def _times(self) -> _Float:
        return self._outputs.part_of_state("time")

    # ---- queries --------------------------------------------------------------------------------

    def _places(self, ids: NDArray[np.int32] | None) -> Places:
        """The worlds of a query, one after the other, with their models and states."""
        model = copy.copy(self.model)
        data = mujoco.MjData(model)
        for i, world in enumerate(range(self._n) if ids is None else ids.tolist()):
            self._worlds.write_to(model, world)
            mujoco.mj_setState(model, data, self._outputs.engine_state[world], WHOLE_STATE)
            yield i, model, data

    def jac(
        self, body: ArrayLike, point: ArrayLike, ids: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute Jacobians of a point on a body of each world, as ``mj_jac``.

        Parameters
        ----------
        body : int or array_like (n,)
            Index of the body, or one per world of the call.
        point : array_like (3,) or (n, 3)
            Point in the frame of the world, m.
        ids : array_like, optional
            As for :meth:`step`.

        Returns
        -------
        tuple of ndarray (n, 3, nv)
            Translational and rotational Jacobians; states and bound fields stay.

        Raises
        ------
        TypeError, ValueError
            For wrong arguments; the text names the argument.
        """
        chosen = world_ids(ids, self._n)
        n = self._n if chosen is None else len(chosen)
        bodies = bounded(body, (n,), 0, self.model.nbody, "body")
        points = broadcast(point, (n, 3), "point")
        return jacobians(self._places(chosen), bodies, points, self.model.nv)

    def ray(
        self,
        pnt: ArrayLike,
        vec: ArrayLike,
        geomgroup: ArrayLike | None = None,
        flg_static: bool = True,
        bodyexclude: ArrayLike = -1,
        ids: ArrayLike | None = None,
        normal: bool = False,
    ) -> tuple[NDArray[Any], ...]:
        """Intersect rays with the geoms of each world, as ``mj_ray``.

        Parameters
        ----------
        pnt, vec : array_like (3,), (nray, 3) or (n, nray, 3)
            Origins, m, and directions, for one ray, for the same rays in all worlds of the call, or
            for each world.
        geomgroup : array_like (mjNGROUP,), optional
            Which geom groups are hit; None is all.
        flg_static : bool
            Whether static geoms are hit.
        bodyexclude : int or array_like (n, nray)
            Body that a ray misses; -1 is none.
        ids : array_like, optional
            As for :meth:`step`.
        normal : bool
            Whether to return normals of the surfaces too; MuJoCo 3.15 or later has them.

        Returns
        -------
        tuple of ndarray
            Distances (n, nray) in units of the direction, -1 where nothing is hit; geoms (n, nray);
            and normals (n, nray, 3) if asked for.

        Raises
        ------
        TypeError, ValueError
            For wrong arguments; the text names the argument.
        """
        chosen = world_ids(ids, self._n)
        n = self._n if chosen is None else len(chosen)
        shapes = [np.shape(pnt), np.shape(vec)]
        n_rays = max([shape[-2] for shape in shapes if len(shape) > 1], default=1)
        points = broadcast(pnt, (n, n_rays, 3), "pnt")
        directions = broadcast(vec, (n, n_rays, 3), "vec")
        _check_rays(points, directions)
        excluded = bounded(bodyexclude, (n, n_rays), -1, self.model.nbody, "bodyexclude")
        groups = None if geomgroup is None else checks.array(geomgroup, "geomgroup")
        if groups is not None and groups.shape != (mujoco.mjNGROUP,):
            raise ValueError(f"geomgroup has shape {groups.shape}, expected ({mujoco.mjNGROUP},)")
        if groups is not None and groups.dtype.kind not in "biu":
            raise TypeError(f"geomgroup must hold integers or booleans, not {groups.dtype}")
        normals = np.zeros((n, n_rays, 3)) if normal else None
        distance, geoms = cast_rays(
            self._places(chosen),
            points,
            directions,
            None if groups is None else (groups != 0).astype(np.uint8),
            boolean(flg_static, "flg_static"),
            excluded,
            normals,
        )
        return (distance, geoms) if normals is None else (distance, geoms, normals)
