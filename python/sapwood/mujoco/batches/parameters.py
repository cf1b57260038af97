"""Parameters of each world of a batch: rows of model fields, and what a stepper derives from them.

MuJoCo's stages alone read most fields: C copies their rows into the model of a thread ahead of each
world. The parameters of a stepper follow from the others, as in :mod:`sapwood.mujoco.following`:
after a write, a stepper of the batch reads the changed world once. The arrays that it finds become
rows too, which C copies into the arrays of the thread's stepper.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.batches.fields import aligned, data_fields, hint_of
from sapwood.mujoco.batches.model_fields import fixed_fields, is_asset, model_fields
from sapwood.mujoco.batches.outputs import Outputs
from sapwood.mujoco.batches.workers import Worker, Workers, as_rows
from sapwood.mujoco.reading.arrays import PLACES, check_finite
from sapwood.mujoco.reading.engine import options_in_memory
from sapwood.mujoco.reading.engine_fields import READ_AGAIN, fields_of
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.reading.support import NotSupported

_Array = NDArray[Any]
_Scratch = tuple[mujoco.MjModel, mujoco.MjData, dict[str, _Array]]

#: Materials of the geoms that worlds may differ in, by the names of :meth:`Batch.expand`.
MATERIALS = {
    "sapwood.contact_stiffness": "stiffness",
    "sapwood.dissipation_time": "dissipation_time",
    "sapwood.friction": "friction",
    "sapwood.static_friction": "static_friction",
    "sapwood.restitution": "restitution",
}

_RULES: dict[str, tuple[str, Callable[[_Array], _Array]]] = {
    "sapwood.contact_stiffness": ("must be > 0", lambda x: x > 0.0),
    "sapwood.dissipation_time": ("must be > 0", lambda x: x > 0.0),
    "sapwood.friction": ("must be finite and >= 0", lambda x: (x >= 0.0) & np.isfinite(x)),
    "sapwood.static_friction": ("must be finite and >= 0", lambda x: (x >= 0.0) & np.isfinite(x)),
    "sapwood.restitution": ("must be in [0, 1]", lambda x: (x >= 0.0) & (x <= 1.0)),
}

# fields that mj_setConst derives; not every version has all of them
DERIVED = (
    "actuator_acc0", "actuator_length0", "actuator_lengthrange", "body_conaffinity", "body_contype",
    "body_invweight0", "body_margin", "body_subtreemass", "bvh_aabb", "cam_mat0", "cam_pos0",
    "cam_poscom0", "dof_M0", "dof_invweight0", "dof_length", "efm0_L", "flexedge_invweight0",
    "flexedge_length0", "geom_aabb", "geom_rbound", "light_dir0", "light_pos0", "light_poscom0",
    "tendon_invweight0", "tendon_length0", "tendon_lengthspring",
)  # fmt: skip

# arrays of a stepper with these types may differ between worlds
_FLOAT = np.dtype(np.float64)


def field_in(model: mujoco.MjModel, name: str) -> _Array:
    """A field of a model where it lies in memory.

    Parameters
    ----------
    model : mujoco.MjModel
        The model, which must outlive the result.
    name : str
        A name of :func:`model_fields`.

    Returns
    -------
    ndarray
        The array; of a number an array without axes; of ``bvh_aabb`` the volumes of the bodies.
    """
    if name.startswith("opt."):
        value = getattr(model.opt, name[4:])
        if isinstance(value, np.ndarray):
            return value
        return options_in_memory(model.opt, (name[4:],))[name[4:]].reshape(())
    array: _Array = getattr(model, name)
    if name == "bvh_aabb" and model.nmesh:
        return array[: model.mesh_bvhadr[0]]
    return array


def not_expandable(model: mujoco.MjModel, name: str) -> ValueError:
    """The error for a name that `expand` does not accept; it says where the name belongs."""
    if name in data_fields():
        return ValueError(f"{name} is a field of MjData: use bind({name!r})")
    if name in fixed_fields():
        return ValueError(f"{name} is structural: it cannot differ between simulations")
    known = getattr(model, name, None) if not name.startswith("_") else None
    if isinstance(known, np.ndarray) and is_asset(name):
        return ValueError(
            f"{name} is asset data, shared by all simulations, and cannot be expanded"
        )
    return ValueError(
        f"{name} is no field of MjModel that can be expanded"
        f"{hint_of(name, model_fields(), model_fields() | fixed_fields())}"
    )


class Reader(Protocol):
    """A stepper, which reads the parameters of a model."""

    @property
    def model(self) -> mujoco.MjModel:
        """Its private copy of the model."""

    @property
    def parameters(self) -> StepParameters:
        """The parameters that it has read."""

    def follow(self) -> None:
        """Read the model again where it has changed."""


class WorldParameters:
    """The parameters of each world of a batch.

    Parameters
    ----------
    model : mujoco.MjModel
        The model of the batch.
    stepper : Stepper
        A stepper of that model, which belongs to the batch.
    workers : Workers
        The threads, each with a model of its own.
    outputs : Outputs
        The bound fields, to which rows are added.
    n_worlds : int
        Number of worlds.

    Attributes
    ----------
    release : ndarray (n_worlds, 2) or None
        Release speed and rate of each world; None while all have those of the stepper.
    expanded : dict
        Rows of the fields that the user expanded, by name.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        stepper: Reader,
        workers: Workers,
        outputs: Outputs,
        n_worlds: int,
    ) -> None:
        self._model, self._stepper, self._n = model, stepper, n_worlds
        self._base: StepParameters = stepper.parameters
        self._workers, self._outputs = workers, outputs
        read = (*fields_of("mjModel", *READ_AGAIN), "opt.gravity")
        read += tuple(f"opt.{name}" for name in fields_of("mjOption", "READ"))
        self._followed = frozenset(read)
        fixed = () if self._base.fields is None else ("FIXED_WITH_FIELDS", "READ_OR_FIXED",
                                                      "CHECKED_OR_FIXED")  # fmt: skip
        bounded = frozenset(self._base.released) if self._base.controlled else frozenset()
        self._fixed = frozenset(fields_of("mjModel", *fixed)) | bounded
        self.clear()

    def clear(self) -> None:
        """Give all worlds the model of the batch."""
        self.expanded: dict[str, _Array] = {}
        self.speeds: _Array | None = None
        self.models: tuple[mujoco.MjModel, ...] | mujoco.MjModel | None = None
        self._values: dict[str, _Array] = {}  # by name, also of fields that set_const derived
        self._loaded: dict[str, _Array] = {}  # rows of followed fields, as the stepper adapts them
        self._seen: dict[str, _Array] = {}  # values that the stepper has read
        self._arrays: dict[str, _Array] = {}  # rows of arrays of the stepper
        self._materials: dict[str, _Array] = {}
        self._sizes = np.full(self._n, self._model.stat.meansize)
        self._template: Reader | None = None
        self._scratch: _Scratch | None = None

    # ---- fields -----------------------------------------------------------------------------

    def expand(self, name: str) -> _Array:
        """The rows of a field; see :meth:`Batch.expand`."""
        if name in self.expanded:
            return self.expanded[name]
        if self.models is not None:
            raise ValueError("the caller's models are set (set_models): edit them and set again")
        if name in MATERIALS:
            rows = self._expand_material(name)
        else:
            if name not in model_fields():
                raise not_expandable(self._model, name)
            if name in self._fixed:
                raise ValueError(
                    f"{name} belongs to the stepper of this model, which has pressure fields or "
                    "implicit actuators of that range: it cannot differ between simulations"
                )
            rows = self._rows_of(name)
        self.expanded[name] = rows
        return rows

    def rows(self, name: str) -> _Array | None:
        """The values of a field that is expanded or derived; None if all worlds share it."""
        if name not in model_fields() and name not in MATERIALS:
            raise not_expandable(self._model, name)
        return self.expanded.get(name, self._values.get(name))

    def _rows_of(self, name: str) -> _Array:
        """Make rows of a field, and have C load them."""
        if name in self._values:
            return self._values[name]
        base = field_in(self._model, name)
        rows = aligned((self._n, *base.shape), base.dtype)
        rows[:] = base
        self._values[name] = rows
        loaded = rows
        if name in self._followed:
            loaded = aligned(rows.shape, rows.dtype)
            loaded[:] = field_in(self._base.model, name)
            self._loaded[name], self._seen[name] = loaded, rows.copy()
        if base.size:
            self._outputs.add_input(_model_getter(name), as_rows(loaded, self._n))
        return rows

    def _expand_material(self, name: str) -> _Array:
        is_friction = MATERIALS[name] in ("friction", "static_friction")
        if is_friction and not self._base.forest["friction_given"].any():
            raise ValueError(
                f"{name}: no material of the geoms has a friction; "
                "expand('geom_friction') is that of the model"
            )
        values = self._base.forest[MATERIALS[name]]
        rows = self._rows_of_array(MATERIALS[name], values)
        self._materials[name] = rows
        if name == "sapwood.friction":
            self._rows_of_array("static_friction", self._base.forest["static_friction"])
        return rows

    def _check_materials(self) -> None:
        """Check the materials of all worlds, and let static friction follow friction."""
        for name, rows in self._materials.items():
            rule, is_allowed = _RULES[name]
            allowed = is_allowed(rows)
            if not allowed.all():
                world, geom = np.argwhere(~allowed)[0]
                raise ValueError(f"{name}[{world}, {geom}] = {rows[world, geom]}: {rule}")
        if "static_friction" not in self._arrays:
            return
        base, static = self._base.forest, self._arrays["static_friction"]
        friction = self._arrays.get("friction", base["friction"][None])
        if "sapwood.static_friction" not in self._materials:
            given = base["static_friction"] > base["friction"]
            static[:] = np.where(given, base["static_friction"], friction)
        below = np.argwhere(static < friction)
        if len(below):
            world, geom = below[0]
            raise ValueError(
                f"sapwood.static_friction[{world}, {geom}] = {static[world, geom]}: must be >= the "
                "friction there"
            )

    def _rows_of_array(self, key: str, values: _Array) -> _Array:
        """Make rows of an array of the stepper, and have C load them."""
        if key not in self._arrays:
            rows = aligned((self._n, *values.shape), _FLOAT)
            rows[:] = values
            self._arrays[key] = rows
            self._outputs.add_input(_constant_getter(key), as_rows(rows, self._n))
        return self._arrays[key]

    # ---- what a stepper derives -------------------------------------------------------------

    def refresh(self) -> None:
        """Read worlds again whose parameters have changed.

        Raises
        ------
        NotSupported, ValueError
            If a stepper refuses the parameters of a world; the text names both.
        """
        for name in PLACES:
            if name in self._values:
                check_finite(name, self._values[name])
        if not self._seen and not self._materials:
            return
        self._check_materials()
        changed = np.zeros(self._n, bool)
        for name, rows in self._seen.items():
            if not np.array_equal(rows, self._values[name]):
                changed |= (rows != self._values[name]).reshape(self._n, -1).any(axis=1)
        for world in np.flatnonzero(changed):
            try:
                self._derive_one(int(world))
            except (NotSupported, ValueError) as error:
                raise type(error)(f"simulation {world}: {error}") from None

    def _derive_one(self, world: int) -> None:
        if self._template is None:
            self._template = copy.deepcopy(self._stepper)
        template = self._template
        for name in self._loaded:
            field_in(template.model, name)[...] = self._values[name][world]
        template.follow()
        found = template.parameters
        self._take(world, found)
        template.model.stat.meansize = self._sizes[world]
        speeds = _speeds_of(found, template.model)
        if self.speeds is None and speeds != self._base.speeds:
            self.speeds = np.tile(np.array(self._base.speeds), (self._n, 1))
        if self.speeds is not None:
            self.speeds[world] = speeds
        for name, loaded in self._loaded.items():
            loaded[world] = field_in(template.model, name)
            self._seen[name][world] = self._values[name][world]

    def _take(self, world: int, found: StepParameters) -> None:
        """Take the arrays over that a stepper of this world reads."""
        pairs = [("", self._base.forest, found.forest)]
        if (self._base.elements is None) != (found.elements is None):
            raise ValueError("has constraints that the model of the batch has not, or none of them")
        if self._base.elements is not None and found.elements is not None:
            pairs.append(("", self._base.elements, found.elements))
        for _, base, now in pairs:
            for key, values in now.items():
                self._take_array(world, key, base[key], values)
        if found.implicit != self._base.implicit or found.settings != self._base.settings:
            raise ValueError("its forces are implicit, and those of the model of the batch are not")

    def _take_array(self, world: int, key: str, base: Any, values: Any) -> None:
        same = values is base or np.array_equal(values, base)
        expanded = {MATERIALS[name] for name in self._materials}
        expanded |= {"static_friction"} if "friction" in expanded else set()
        if key in self._arrays and key not in expanded:
            self._arrays[key][world] = values
        elif not same:
            if not (isinstance(values, np.ndarray) and values.dtype == _FLOAT):
                raise ValueError(f"changes {key}, the layout of its constraints")
            if values.shape != base.shape:
                raise ValueError(f"changes {key}, the layout of its constraints")
            if key not in self._arrays:
                self._rows_of_array(key, base)[world] = values

    # ---- copies -----------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Values of all worlds, for :meth:`restore`."""
        return {
            "values": dict(self._values),
            "materials": dict(self._materials),
            "expanded": tuple(self.expanded),
            "sizes": self._sizes,
            "models": self.models,
            "speeds": self.speeds,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Take over the values of another batch of the same model and number of worlds."""
        for name, values in snapshot["values"].items():
            self._rows_of(name)[:] = values
        for name in snapshot["expanded"]:
            self.expand(name)
        for name, values in snapshot["materials"].items():
            self._materials[name][:] = values
        self._sizes[:] = snapshot["sizes"]
        self.speeds, self.models = snapshot["speeds"], snapshot["models"]

    # ---- models -----------------------------------------------------------------------------

    def write_to(self, model: mujoco.MjModel, world: int) -> None:
        """Write the parameters of a world to a model of the same layout."""
        for name, rows in self._values.items():
            field_in(model, name)[...] = rows[world]
        model.stat.meansize = self._sizes[world]

    def set_const(self, worlds: Sequence[int]) -> dict[int, str]:
        """Run mj_setConst for worlds; the errors of those that failed."""
        if self.models is not None:
            raise ValueError("the caller's models are set (set_models): edit them and set again")
        scratch, data, places = self._scratch = self._scratch or _scratch_of(self._model)
        found = {name: np.empty((len(worlds), *each.shape), each.dtype)
                 for name, each in places.items()}  # fmt: skip
        copies = [(place, found[name]) for name, place in places.items()]
        given = [(field_in(scratch, name), rows) for name, rows in self._values.items()]
        chosen, failed = np.asarray(worlds, np.intp), {}
        sizes = self._sizes[chosen]
        for i, world in enumerate(worlds):
            for place, rows in given:
                place[...] = rows[world]
            scratch.stat.meansize = sizes[i]
            try:
                mujoco.mj_setConst(scratch, data)
            except mujoco.FatalError as error:
                failed[world] = f"MuJoCo: {error}"
                continue
            for place, rows in copies:
                rows[i] = place
            sizes[i] = scratch.stat.meansize
        kept = [i for i, world in enumerate(worlds) if world not in failed]
        self._take_constants(chosen[kept], found, kept, sizes)
        if failed:
            self._scratch = None  # an error leaves memory of the data taken
        self.refresh()
        return failed

    def _take_constants(
        self, worlds: NDArray[np.intp], found: dict[str, _Array], rows: list[int], sizes: _Array
    ) -> None:
        """Take over what mj_setConst found for worlds, at some rows of `found` and `sizes`."""
        for name, values in found.items():
            derived = values[rows]
            if name in self._values or (derived != field_in(self._model, name)).any():
                self._rows_of(name)[worlds] = derived
        changed = np.flatnonzero(sizes[rows] != self._sizes[worlds])
        self._sizes[worlds] = sizes[rows]
        for world in worlds[changed]:
            self._derive_speeds(int(world))

    def _derive_speeds(self, world: int) -> None:
        """Find the speeds of a world whose size has changed."""
        model, _, _ = self._scratch = self._scratch or _scratch_of(self._model)
        self.write_to(model, world)
        if self.speeds is None:
            self.speeds = np.tile(np.array(self._base.speeds), (self._n, 1))
        self.speeds[world] = _speeds_of(self._base, model)

    def set_models(self, models: Sequence[mujoco.MjModel]) -> None:
        """Take the parameters of all worlds from models of the same layout."""
        if self.expanded or self._values:
            raise ValueError("per-simulation fields are expanded: models cannot be set beside them")
        if len(models) != self._n:
            raise ValueError(f"{len(models)} models, expected one per simulation, {self._n}")
        names = _differing(self._model, models)
        for name in names:
            rows = self._rows_of(name)
            for world, model in enumerate(models):
                rows[world] = field_in(model, name)
        sizes = np.array([model.stat.meansize for model in models])
        changed = np.flatnonzero(sizes != self._sizes)
        self._sizes[:] = sizes
        for changed_world in changed.tolist():
            self._derive_speeds(changed_world)


def _scratch_of(model: mujoco.MjModel) -> _Scratch:
    """A copy of a model to change, its data, and its fields that mj_setConst derives."""
    scratch = copy.copy(model)
    places = {name: field_in(scratch, name) for name in DERIVED if hasattr(scratch, name)}
    filled = {name: place for name, place in places.items() if place.size}
    return scratch, mujoco.MjData(scratch), filled


def _speeds_of(parameters: StepParameters, model: mujoco.MjModel) -> tuple[float, ...]:
    """Speeds of release and slip of a world's model."""
    found = parameters.reading.speeds(model, parameters.scheme)
    return *found["release"], *found["slip"]


def _model_getter(name: str) -> Callable[[Worker], _Array]:
    return lambda worker: field_in(worker[1], name)


def _constant_getter(key: str) -> Callable[[Worker], _Array]:
    return lambda worker: worker[0].constants()[key]


def _differing(base: mujoco.MjModel, models: Sequence[mujoco.MjModel]) -> list[str]:
    """Names of the fields in which models differ; ValueError for another layout."""
    names: dict[str, None] = {}
    known = [
        name
        for name in dir(base)
        if not name.startswith("_") and isinstance(getattr(base, name), np.ndarray)
    ]
    options = [name for name in model_fields() | fixed_fields() if name.startswith("opt.")]
    for world, model in enumerate(models):
        if not isinstance(model, mujoco.MjModel):
            raise TypeError(f"models[{world}] must be a mujoco.MjModel, not {type(model).__name__}")
        if model is base:
            continue
        for name in (*known, *options):
            if name in names:
                continue
            ours, theirs = (
                (getattr(base, name), getattr(model, name))
                if name in known
                else (field_in(base, name), field_in(model, name))
            )
            if np.array_equal(ours, theirs):
                continue
            if ours.shape != theirs.shape or name not in model_fields():
                raise ValueError(f"models[{world}] has another {name} than the model of the batch")
            names[name] = None
    return list(names)
