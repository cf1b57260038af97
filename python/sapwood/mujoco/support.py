"""What of a MuJoCo model the stepper can simulate; the rest is refused by name."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.faults import dimension_text
from sapwood.mujoco.names import name_of
from sapwood.mujoco.trees import is_supported, trees_of_equality, trees_of_tendon
from sapwood.stepping.schemes import Scheme

# the range whose arrays and stages the stepper knows, the same as in the extra `mujoco`; a test run
# is on the one version that is installed
OLDEST, TOO_NEW = (3, 12), (5, 0)

_DISABLE, _ENABLE, _OBJECT = mujoco.mjtDisableBit, mujoco.mjtEnableBit, mujoco.mjtObj

# constraints that may be left out on request: the flag that disables them
_IGNORABLE = {
    "limit": _DISABLE.mjDSBL_LIMIT,
    "equality": _DISABLE.mjDSBL_EQUALITY,
    "frictionloss": _DISABLE.mjDSBL_FRICTIONLOSS,
}

# flags that change what contact means; not every version of MuJoCo has all of them
_REFUSED_FLAGS = {
    int(getattr(_ENABLE, flag)): text
    for flag, text in (
        ("mjENBL_OVERRIDE", "override: contact parameters of the whole model"),
        ("mjENBL_SLEEP", "sleep: sleeping trees (disable it before MjData is made)"),
        ("mjENBL_SPECULATIVE", "speculative: MuJoCo's own contacts ahead of time; see Stepper"),
        ("mjENBL_IPC", "ipc: MuJoCo's incremental potential contact"),
    )
    if hasattr(_ENABLE, flag)
}
_ALL_REFUSED = sum(_REFUSED_FLAGS)


class NotSupported(ValueError):
    """The model needs something that this package does not simulate; the text names it."""


def check_version(version: str) -> None:
    """Raise ImportError when a version of MuJoCo lies outside the tested range."""
    major, minor = (int(part) for part in version.split(".")[:2])
    if not OLDEST <= (major, minor) < TOO_NEW:
        oldest, too_new = (".".join(map(str, bound)) for bound in (OLDEST, TOO_NEW))
        raise ImportError(
            f"sapwood.mujoco works with mujoco from {oldest} to before {too_new}, found {version}: "
            f"pip install 'mujoco>={oldest},<{too_new}'"
        )


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _named(
    model: mujoco.MjModel, kind: mujoco.mjtObj, indices: Iterable[int] | NDArray[np.integer]
) -> list[str]:
    return [name_of(model, kind, int(i)) for i in indices]


def _ignorable(model: mujoco.MjModel) -> dict[str, list[str]]:
    """Elements of the model by the word that leaves them out."""
    limits = _named(model, _OBJECT.mjOBJ_JOINT, np.flatnonzero(model.jnt_limited))
    limits += _named(model, _OBJECT.mjOBJ_TENDON, np.flatnonzero(model.tendon_limited))
    lossy = np.unique(model.dof_jntid[model.dof_frictionloss > 0])
    losses = _named(model, _OBJECT.mjOBJ_JOINT, lossy)
    losses += _named(model, _OBJECT.mjOBJ_TENDON, np.flatnonzero(model.tendon_frictionloss > 0))
    equalities = _named(model, _OBJECT.mjOBJ_EQUALITY, np.flatnonzero(model.eq_active0))
    found = {"limit": limits, "equality": equalities, "frictionloss": losses}
    return {
        word: names
        for word, names in found.items()
        if names and not model.opt.disableflags & _IGNORABLE[word]
    }


def _refused(model: mujoco.MjModel) -> dict[str, list[str]]:
    """Constraints that the C core lacks, with the reason, by the word that leaves them out."""
    many = "moves more than two trees"
    reasons: dict[str, list[str]] = {word: [] for word in _IGNORABLE}
    for tendon in range(model.ntendon):
        if trees_of_tendon(model, tendon) is None:
            label = name_of(model, _OBJECT.mjOBJ_TENDON, tendon)
            if model.tendon_limited[tendon]:
                reasons["limit"].append(f"{label} {many}")
            if model.tendon_frictionloss[tendon] > 0:
                reasons["frictionloss"].append(f"{label} {many}")
    for equality in np.flatnonzero(model.eq_active0).tolist():
        label = name_of(model, _OBJECT.mjOBJ_EQUALITY, equality)
        if not is_supported(model, equality):
            kind = mujoco.mjtEq(model.eq_type[equality]).name.removeprefix("mjEQ_").lower()
            reasons["equality"].append(f"{label} is of kind {kind}")
        elif trees_of_equality(model, equality) is None:
            reasons["equality"].append(f"{label} {many}")
    return reasons


def check_flags(model: mujoco.MjModel) -> None:
    """Raise NotSupported where an option flag is set that changes what contact means."""
    if model.opt.enableflags & _ALL_REFUSED:
        for bit, text in _REFUSED_FLAGS.items():
            if model.opt.enableflags & bit:
                raise NotSupported(f"option flag {text}")


def _check_flexes(model: mujoco.MjModel) -> None:
    # flex_internal went with MuJoCo 4.0
    fields = ("flex_contype", "flex_conaffinity", "flex_internal", "flex_selfcollide")
    settings = [np.asarray(getattr(model, name)) for name in fields if hasattr(model, name)]
    colliding = np.flatnonzero(np.any(settings, axis=0))
    if colliding.size:
        names = _listed(_named(model, _OBJECT.mjOBJ_FLEX, colliding))
        raise NotSupported(
            f"contacts of flexes: {names}; switch off contype, conaffinity and self-collision "
            "to simulate them without contact"
        )


def _collides(model: mujoco.MjModel, geom: int) -> NDArray[np.intp]:
    """Geoms that MuJoCo may bring into contact with this one by itself, not by an explicit pair."""
    body = model.geom_bodyid
    weld = model.body_weldid
    contype, affinity = model.geom_contype, model.geom_conaffinity
    may = (contype[geom] & affinity) | (contype & affinity[geom]) != 0
    may &= weld[body] != weld[body[geom]]
    # bodies without a joint in between, and parents with their children, except for the world
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


def _check_contacts(model: mujoco.MjModel) -> None:
    """Refuse what contacts would need and have not, where it can be seen beforehand."""
    if model.opt.disableflags & _DISABLE.mjDSBL_CONTACT:
        return
    for pair in range(model.npair):
        first, second = model.pair_friction[pair, :2]
        if model.pair_dim[pair] >= 3 and first != second:
            label = name_of(model, _OBJECT.mjOBJ_PAIR, pair)
            raise NotSupported(f"{label}: friction that differs between the two directions")
    moving = np.flatnonzero(np.any(model.geom_surfacevel, axis=1))
    if moving.size and not hasattr(mujoco.MjContact, "surfacevel"):
        names = _listed(_named(model, _OBJECT.mjOBJ_GEOM, moving))
        raise NotSupported(f"surfacevel: {names}; MuJoCo tells contacts of it from version 4.0 on")
    for kind, field in (
        (_OBJECT.mjOBJ_GEOM, "geom_adhesion"),
        (_OBJECT.mjOBJ_PAIR, "pair_adhesion"),
    ):
        sticky = np.flatnonzero(getattr(model, field, ()))
        if sticky.size:
            raise NotSupported(f"adhesion of contacts: {_listed(_named(model, kind, sticky))}")


def _wide_contacts(model: mujoco.MjModel) -> Iterator[tuple[str, int, NDArray[np.intp]]]:
    """What asks for torsional friction: its name, its condim, and pairs of geoms (n, 2)."""
    for pair in np.flatnonzero(model.pair_dim > 3).tolist():
        geoms = np.array([[model.pair_geom1[pair], model.pair_geom2[pair]]], np.intp)
        yield name_of(model, _OBJECT.mjOBJ_PAIR, pair), int(model.pair_dim[pair]), geoms
    for geom in np.flatnonzero(model.geom_condim > 3).tolist():
        # the condim of the higher priority counts, else the larger one
        others = _collides(model, geom)
        others = others[model.geom_priority[others] <= model.geom_priority[geom]]
        pairs = np.column_stack([np.full_like(others, geom), others])
        yield name_of(model, _OBJECT.mjOBJ_GEOM, geom), int(model.geom_condim[geom]), pairs


def check_wide_contacts(model: mujoco.MjModel, cores: NDArray[np.intp]) -> None:
    """Refuse torsional and rolling friction where a geom has a rigid core or its surface turns.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    cores : ndarray of int
        Geoms with a rigid core.

    Raises
    ------
    NotSupported
        With the name of the element.
    """
    if model.opt.disableflags & _DISABLE.mjDSBL_CONTACT:
        return
    kinds = {"a rigid core": cores, "a surface that turns": _turning(model)}
    kinds = {what: geoms for what, geoms in kinds.items() if len(geoms)}
    for label, condim, pairs in _wide_contacts(model) if kinds else ():
        for what, geoms in kinds.items():
            for geom in pairs[np.isin(pairs, geoms)][:1].tolist():
                other = name_of(model, _OBJECT.mjOBJ_GEOM, geom)
                raise NotSupported(f"{dimension_text(label, condim)}: {other} has {what}")


def _turning(model: mujoco.MjModel) -> NDArray[np.intp]:
    """Geoms whose surface velocity has an angular part."""
    return np.flatnonzero(np.any(model.geom_surfacevel[:, 3:], axis=1))


def check_model(model: mujoco.MjModel, ignore: Collection[str], stacklevel: int) -> int:
    """Refuse a model that cannot be simulated.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    ignore : collection of str
        Constraints to leave out with a warning: "limit", "equality", "frictionloss".
    stacklevel : int
        Of the warning, seen from here.

    Returns
    -------
    int
        Disable flags of the constraints to leave out.

    Raises
    ------
    NotSupported
        With the name of the element.
    TypeError, ValueError
        For a wrong ``ignore``.

    Warns
    -----
    UserWarning
        With the names of the elements that are left out.
    """
    if isinstance(ignore, str) or not isinstance(ignore, Collection):
        raise TypeError(f"ignore must be a collection of str, not {type(ignore).__name__}")
    for word in ignore:
        if word not in _IGNORABLE:
            raise ValueError(f"ignore: {word!r} must be one of {', '.join(_IGNORABLE)}")
    check_flags(model)
    refused = _refused(model)
    for word, names in _ignorable(model).items():
        if word not in ignore:
            if refused[word]:
                raise NotSupported(
                    f"{word} constraints: {_listed(refused[word])}; ignore=['{word}'] leaves all "
                    "of them out"
                )
            continue
        warnings.warn(f"{word} constraints are left out: {_listed(names)}", stacklevel=stacklevel)
    _check_flexes(model)
    _check_contacts(model)
    return sum(int(_IGNORABLE[word]) for word in set(ignore))


def check_scheme_model(model: mujoco.MjModel, scheme: Scheme, cores: NDArray[np.intp]) -> None:
    """Refuse rigid cores, and what has a state of its own that the stages of a step would change.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    scheme : Scheme
        For the text.
    cores : ndarray of int
        Geoms with a rigid core.

    Raises
    ------
    NotSupported
        With the name of the element.
    """
    kinds = {"jnt": "JOINT", "tendon": "TENDON", "flex": "FLEX"}
    refused = [
        f"plastic springs: {name_of(model, getattr(mujoco.mjtObj, f'mjOBJ_{word}'), int(i))}"
        for kind, word in kinds.items()
        for i in np.flatnonzero(np.asarray(getattr(model, f"{kind}_plasticadr", ())) >= 0)
    ]
    refused += [name_of(model, mujoco.mjtObj.mjOBJ_PLUGIN, i) for i in range(model.nplugin)]
    refused += [f"the rigid core of {name}" for name in _named(model, _OBJECT.mjOBJ_GEOM, cores)]
    if refused:
        raise NotSupported(f"scheme {scheme.name} cannot take {refused[0]}")
