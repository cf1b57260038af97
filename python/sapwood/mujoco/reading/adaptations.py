"""What the stepper takes in another way than MuJoCo, changed on its own copy, with a warning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import mujoco
import numpy as np

from sapwood.mujoco.reading.names import listed, named
from sapwood.mujoco.reading.support import (
    FLAGS,
    FLEX_CONTACT,
    IGNORABLE,
    ahead_of_contact,
    colliding_flexes,
)

_OBJECT, _INTEGRATOR = mujoco.mjtObj, mujoco.mjtIntegrator
_IMPLICIT = {int(_INTEGRATOR.mjINT_IMPLICIT), int(_INTEGRATOR.mjINT_IMPLICITFAST)}


def _elements(model: mujoco.MjModel) -> dict[str, Callable[[], list[str]]]:
    """Elements of the model by the word that leaves them out."""

    def limits() -> list[str]:
        joints = named(model, _OBJECT.mjOBJ_JOINT, np.flatnonzero(model.jnt_limited))
        return joints + named(model, _OBJECT.mjOBJ_TENDON, np.flatnonzero(model.tendon_limited))

    def equalities() -> list[str]:
        return named(model, _OBJECT.mjOBJ_EQUALITY, np.flatnonzero(model.eq_active0))

    def losses() -> list[str]:
        joints = np.unique(model.dof_jntid[model.dof_frictionloss > 0])
        tendons = np.flatnonzero(model.tendon_frictionloss > 0)
        return named(model, _OBJECT.mjOBJ_JOINT, joints) + named(
            model, _OBJECT.mjOBJ_TENDON, tendons
        )

    return {"limit": limits, "equality": equalities, "frictionloss": losses}


def leave_out(model: mujoco.MjModel, ignore: Collection[str]) -> Iterator[str]:
    """Leave constraints out.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper; changed.
    ignore : collection of str
        Words of :data:`sapwood.mujoco.reading.support.IGNORABLE`.

    Yields
    ------
    str
        What is left out, with the names of the elements.
    """
    for word, elements in _elements(model).items():
        flag = int(IGNORABLE[word])
        if word in ignore:
            names = elements()
            if names and not model.opt.disableflags & flag:
                yield f"{word} constraints are left out: {listed(names)}"
            model.opt.disableflags |= flag
    flexes = colliding_flexes(model)
    if "flex" in ignore and flexes.size:
        yield f"contacts of flexes are left out: {listed(named(model, _OBJECT.mjOBJ_FLEX, flexes))}"
        for name in FLEX_CONTACT:
            getattr(model, name)[:] = 0


def clear_flags(model: mujoco.MjModel) -> Iterator[str]:
    """Clear the flags by which MuJoCo would do something of its own.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper; changed.

    Yields
    ------
    str
        What a flag asked for, and what is done in its place.
    """
    for bit, (name, instead) in FLAGS.items():
        if model.opt.enableflags & bit:
            model.opt.enableflags &= ~bit
            yield f"option flag {name} is cleared: {instead}"


def make_isotropic(model: mujoco.MjModel) -> Iterator[str]:
    """Give pairs with two coefficients of sliding friction their geometric mean.

    That is the circle with the area of the ellipse of MuJoCo's cone.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper; changed.

    Yields
    ------
    str
        The names of the pairs.
    """
    friction = model.pair_friction
    unequal = np.flatnonzero((model.pair_dim >= 3) & (friction[:, 0] != friction[:, 1]))
    if unequal.size and not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
        friction[unequal, :2] = np.sqrt(friction[unequal, 0] * friction[unequal, 1])[:, None]
        yield (
            "friction that differs between two directions is their geometric mean in both: "
            f"{listed(named(model, _OBJECT.mjOBJ_PAIR, unequal))}"
        )


def is_implicit(model: mujoco.MjModel) -> bool:
    """Whether the integrator takes all smooth forces implicitly; else joint damping alone is."""
    return int(model.opt.integrator) in _IMPLICIT


def choose_integrator(model: mujoco.MjModel) -> Iterator[str]:
    """Put `implicitfast` in the place of an integrator that the stepper does not have.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper; changed.

    Yields
    ------
    str
        The name of the integrator, and how to choose another one.
    """
    if not is_implicit(model) and model.opt.integrator != _INTEGRATOR.mjINT_EULER:
        name = _INTEGRATOR(model.opt.integrator).name.removeprefix("mjINT_")
        model.opt.integrator = _INTEGRATOR.mjINT_IMPLICITFAST
        yield (
            f"integrator {name}: steps are those of implicitfast; model.opt.integrator = "
            "mujoco.mjtIntegrator.mjINT_IMPLICITFAST asks for them, mjINT_EULER for explicit "
            "forces"
        )


def hold_ahead(model: mujoco.MjModel) -> Iterator[str]:
    """Tell of constraints that contacts do not know.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper.

    Yields
    ------
    str
        The names of the elements.
    """
    names = ahead_of_contact(model)
    if names:
        yield f"constraints are held ahead of contact, not together with it: {listed(names)}"
