"""Elements of a MuJoCo model that the stepper simulates; others are refused by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.reading.names import listed, name_of, named
from sapwood.stepping.schemes import Scheme

_DISABLE, _ENABLE, _OBJECT = mujoco.mjtDisableBit, mujoco.mjtEnableBit, mujoco.mjtObj

# constraints that may be ignored on request, with the flag that disables them; 0: flex contacts
IGNORABLE = {
    "limit": int(_DISABLE.mjDSBL_LIMIT),
    "equality": int(_DISABLE.mjDSBL_EQUALITY),
    "frictionloss": int(_DISABLE.mjDSBL_FRICTIONLOSS),
    "flex": 0,
}

# flags that change contact or a step, and the stepper's substitute; versions of MuJoCo differ
FLAGS = {
    int(getattr(_ENABLE, f"mjENBL_{name.upper()}")): (name, instead)
    for name, instead in (
        ("override", "contacts have the parameters of their geoms"),
        ("sleep", "trees never sleep"),
        ("speculative", "the stepper finds contacts ahead of time itself; see its argument"),
        ("ipc", "contacts are those of the stepper"),
    )
    if hasattr(_ENABLE, f"mjENBL_{name.upper()}")
}
_ALL_FLAGS = sum(FLAGS)

# MuJoCo 3.17 and later have no flex_internal
SELF_CONTACT = tuple(
    name for name in ("flex_internal", "flex_selfcollide") if hasattr(mujoco.MjModel, name)
)
FLEX_CONTACT = ("flex_contype", "flex_conaffinity", *SELF_CONTACT)


class NotSupported(ValueError):
    """The model needs an element that this package does not simulate; the message names it.

    Parameters
    ----------
    *reasons : str
        Reasons, each with the names of the elements and a way to run the model without them.
    """

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons, one text each."""
        return tuple(map(str, self.args))

    def __str__(self) -> str:
        if len(self.args) == 1:
            return self.reasons[0]
        return "".join((f"{len(self.args)} reasons:", *(f"\n- {text}" for text in self.reasons)))


def check_ignore(ignore: Collection[str]) -> None:
    """Raise TypeError or ValueError for a word that ignores nothing."""
    if isinstance(ignore, str) or not isinstance(ignore, Collection):
        raise TypeError(f"ignore must be a collection of str, not {type(ignore).__name__}")
    for word in ignore:
        if word not in IGNORABLE:
            raise ValueError(f"ignore: {word!r} must be one of {', '.join(IGNORABLE)}")


def check_flags(model: mujoco.MjModel) -> None:
    """Raise NotSupported if a flag is set that changes contact in MuJoCo."""
    if model.opt.enableflags & _ALL_FLAGS:
        raise NotSupported(
            *(
                f"option flag {name}: {instead}; clear it"
                for bit, (name, instead) in FLAGS.items()
                if model.opt.enableflags & bit
            )
        )


# ---- reasons -------------------------------------------------------------------------------------


def colliding_flexes(model: mujoco.MjModel) -> NDArray[np.intp]:
    """Flexes that may have contacts."""
    if model.opt.disableflags & (_DISABLE.mjDSBL_CONTACT | _DISABLE.mjDSBL_CONSTRAINT):
        return np.zeros(0, dtype=np.intp)
    settings = [np.asarray(getattr(model, name)) for name in FLEX_CONTACT]
    return np.flatnonzero(np.any(settings, axis=0))


def _contacts(model: mujoco.MjModel) -> Iterator[str]:
    """Requirements of contacts that the stepper lacks, as far as the model shows them."""
    if model.opt.disableflags & _DISABLE.mjDSBL_CONTACT:
        return
    moving = np.flatnonzero(np.any(model.geom_surfacevel, axis=1))
    if moving.size and not hasattr(mujoco.MjContact, "surfacevel"):
        names = listed(named(model, _OBJECT.mjOBJ_GEOM, moving))
        yield (
            f"surfacevel: {names}; MuJoCo tells contacts of it from version 4.0 on, and "
            "model.geom_surfacevel[:] = 0 stops it"
        )


def geoms_that_meet(model: mujoco.MjModel, geom: int) -> NDArray[np.intp]:
    """Geoms that MuJoCo may pair with this one automatically, without an explicit pair."""
    body = model.geom_bodyid
    weld = model.body_weldid
    contype, affinity = model.geom_contype, model.geom_conaffinity
    may = (contype[geom] & affinity) | (contype & affinity[geom]) != 0
    may &= weld[body] != weld[body[geom]]
    # bodies without a joint between them, and parent and child, except for the world
    parent = weld[model.body_parentid[weld]]
    if not model.opt.disableflags & _DISABLE.mjDSBL_FILTERPARENT:
        mine = weld[body[geom]]
        related = (parent[mine] == weld[body]) & (weld[body] != 0)
        related |= (parent[weld[body]] == mine) & (mine != 0)
        may &= ~related
    signature = np.minimum(body, body[geom]).astype(np.int64) << 16
    signature += np.maximum(body, body[geom])
    may &= ~np.isin(signature, model.exclude_signature)
    may[model.pair_geom1[model.pair_geom2 == geom]] = False
    may[model.pair_geom2[model.pair_geom1 == geom]] = False
    return np.flatnonzero(may)


def _torsional_contacts(model: mujoco.MjModel) -> Iterator[tuple[str, int, NDArray[np.intp]]]:
    """Geoms and pairs with torsional friction: name, condim, pairs of geoms (n, 2)."""
    for pair in np.flatnonzero(model.pair_dim > 3).tolist():
        geoms = np.array([[model.pair_geom1[pair], model.pair_geom2[pair]]], np.intp)
        yield name_of(model, _OBJECT.mjOBJ_PAIR, pair), int(model.pair_dim[pair]), geoms
    for geom in np.flatnonzero(model.geom_condim > 3).tolist():
        # the condim of the higher priority counts, else the larger one
        others = geoms_that_meet(model, geom)
        others = others[model.geom_priority[others] <= model.geom_priority[geom]]
        pairs = np.column_stack([np.full_like(others, geom), others])
        yield name_of(model, _OBJECT.mjOBJ_GEOM, geom), int(model.geom_condim[geom]), pairs


def dimension_text(label: str, condim: int) -> str:
    """Text for torsional and rolling friction where there is none."""
    return (
        f"{label}: condim {condim}, torsional and rolling friction, goes with no rigid core and no "
        "surface that turns; use condim 3"
    )


def _torsional_friction(model: mujoco.MjModel, cores: NDArray[np.intp]) -> Iterator[str]:
    """Torsional and rolling friction of a geom with a rigid core or a turning surface."""
    if model.opt.disableflags & _DISABLE.mjDSBL_CONTACT:
        return
    kinds = {"a rigid core": cores, "a surface that turns": _turning(model)}
    kinds = {what: geoms for what, geoms in kinds.items() if len(geoms)}
    for label, condim, pairs in _torsional_contacts(model) if kinds else ():
        for what, geoms in kinds.items():
            for geom in pairs[np.isin(pairs, geoms)][:1].tolist():
                other = name_of(model, _OBJECT.mjOBJ_GEOM, geom)
                yield f"{dimension_text(label, condim)}: {other} has {what}"


def _turning(model: mujoco.MjModel) -> NDArray[np.intp]:
    """Geoms whose surface velocity has an angular part."""
    return np.flatnonzero(np.any(model.geom_surfacevel[:, 3:], axis=1))


def _scheme(
    model: mujoco.MjModel, scheme: Scheme, materials: Mapping[str, NDArray[np.intp]]
) -> Iterator[str]:
    """Materials and elements whose forces another scheme would find at a different time."""
    kinds = {"jnt": "JOINT", "tendon": "TENDON", "flex": "FLEX"}
    found = [
        f"plastic springs: {name_of(model, getattr(mujoco.mjtObj, f'mjOBJ_{word}'), int(i))}"
        for kind, word in kinds.items()
        for i in np.flatnonzero(np.asarray(getattr(model, f"{kind}_plasticadr", ())) >= 0)
    ]
    found += [name_of(model, _OBJECT.mjOBJ_PLUGIN, i) for i in range(model.nplugin)]
    for kind, geoms in materials.items():
        found += [f"the {kind} of {name}" for name in named(model, _OBJECT.mjOBJ_GEOM, geoms)]
    # this force of contacts is unknown to the free motion
    for kind, field in (
        (_OBJECT.mjOBJ_GEOM, "geom_adhesion"),
        (_OBJECT.mjOBJ_PAIR, "pair_adhesion"),
    ):
        sticky = np.flatnonzero(getattr(model, field, ()))
        found += [f"adhesion of {name}" for name in named(model, kind, sticky)]
    if found:
        yield (f"scheme {scheme.name} cannot take {listed(found)}; scheme='symplectic_euler' can")


def check_model(
    model: mujoco.MjModel,
    scheme: Scheme | None,
    materials: Mapping[str, NDArray[np.intp]],
    faults: Collection[str],
) -> None:
    """Refuse a model that cannot be simulated, for all reasons at once.

    Parameters
    ----------
    model : mujoco.MjModel
        The model without the ignored elements.
    scheme : Scheme or None
        Scheme of the steps; None is the default one.
    materials : mapping of str to ndarray of int
        Geoms with a "rigid core", a "restitution" and a "static friction".
    faults : collection of str
        Faults of the model's custom numbers.

    Raises
    ------
    NotSupported
        The reasons, each with the names of the elements and a way to run without them.
    """
    reasons = [*faults, *_contacts(model), *_torsional_friction(model, materials["rigid core"])]
    if scheme is not None:
        reasons += _scheme(model, scheme, materials)
    if reasons:
        raise NotSupported(*reasons)
