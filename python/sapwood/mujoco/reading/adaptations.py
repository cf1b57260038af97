"""Changes of the private model where the stepper differs from MuJoCo, each with a warning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import mujoco
import numpy as np

from sapwood.mujoco.reading.flexes import elastic_flexes
from sapwood.mujoco.reading.names import listed, name_of, named
from sapwood.mujoco.reading.support import (
    FLAGS,
    FLEX_CONTACT,
    IGNORABLE,
    colliding_flexes,
)

_OBJECT, _INTEGRATOR = mujoco.mjtObj, mujoco.mjtIntegrator
#: Since MuJoCo 3.13.
_DISCRETE = int(getattr(_INTEGRATOR, "mjINT_DISCRETE", -1))
_IMPLICIT = {int(_INTEGRATOR.mjINT_IMPLICIT), int(_INTEGRATOR.mjINT_IMPLICITFAST)}


def _elements(model: mujoco.MjModel) -> dict[str, Callable[[], list[str]]]:
    """Elements of the model, by the word that ignores them."""

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
    """Disable constraints that the user ignores.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper, which is changed.
    ignore : collection of str
        Words of :data:`sapwood.mujoco.reading.support.IGNORABLE`.

    Yields
    ------
    str
        Text that names the elements left out.
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
    """Clear the flags that change contact or a step in MuJoCo.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper, which is changed.

    Yields
    ------
    str
        Text on the purpose of the flag, and on the stepper's substitute.
    """
    for bit, (name, instead) in FLAGS.items():
        if model.opt.enableflags & bit:
            model.opt.enableflags &= ~bit
            yield f"option flag {name} is cleared: {instead}"


def make_isotropic(model: mujoco.MjModel) -> Iterator[str]:
    """Give pairs with two coefficients of sliding friction their geometric mean.

    The circle with this radius has the area of the ellipse of MuJoCo's cone.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper, which is changed.

    Yields
    ------
    str
        Text with the names of the pairs.
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
    """Whether the integrator takes all smooth forces implicitly, and not joint damping alone."""
    return int(model.opt.integrator) in _IMPLICIT


def is_discrete(model: mujoco.MjModel) -> bool:
    """Whether the integrator takes springs and position gains implicitly."""
    return int(model.opt.integrator) == _DISCRETE


def _explicit_springs(model: mujoco.MjModel) -> Iterator[str]:
    """Name the springs that `discrete` takes implicitly and the stepper does not."""
    stiff = (model.tendon_stiffness != 0.0) | model.tendon_stiffnesspoly.any(axis=1)
    across = np.flatnonzero(stiff & (model.tendon_treenum > 1))
    if across.size:
        names = named(model, _OBJECT.mjOBJ_TENDON, across)
        yield (
            f"integrator DISCRETE: springs of tendons between trees are explicit: {listed(names)}"
        )


def choose_integrator(model: mujoco.MjModel) -> Iterator[str]:
    """Replace `discrete`, and an integrator that the stepper lacks, by `implicitfast`.

    The forest of the stepper has the implicit springs of `discrete`.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper, which is changed.

    Yields
    ------
    str
        Text with the name of the integrator and the way to choose another one.
    """
    if is_discrete(model):
        yield from _explicit_springs(model)
        model.opt.integrator = _INTEGRATOR.mjINT_IMPLICITFAST
    elif not is_implicit(model) and model.opt.integrator != _INTEGRATOR.mjINT_EULER:
        name = _INTEGRATOR(model.opt.integrator).name.removeprefix("mjINT_")
        model.opt.integrator = _INTEGRATOR.mjINT_IMPLICITFAST
        yield (
            f"integrator {name}: steps are those of implicitfast; model.opt.integrator = "
            "mujoco.mjtIntegrator.mjINT_IMPLICITFAST asks for them, mjINT_EULER for explicit "
            "forces"
        )


def report_flexes(model: mujoco.MjModel) -> Iterator[str]:
    """Report flexes whose elastic forces are explicit.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper.

    Yields
    ------
    str
        Text with the names of the flexes, each with the reason.
    """
    outside = [
        f"{name_of(model, _OBJECT.mjOBJ_FLEX, flex)} {why}"
        for flex, why in elastic_flexes(model).items()
        if why
    ]
    if outside:
        yield f"elastic forces of flexes are explicit: {listed(outside)}"
