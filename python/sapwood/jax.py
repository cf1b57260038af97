"""Contact as a function of JAX, which `grad`, `jit` and `vmap` transform.

The forward pass is a solve in C, called back from XLA, on the CPU and in double precision; a
backward pass is one back-substitution for every number of the problem at once, see
``docs/derivatives.md``. Reverse mode alone: there are no second derivatives. JAX is imported with
this module alone, and must compute in double precision: ``jax.config.update("jax_enable_x64",
True)`` before its first array.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from sapwood.base.optional import imported_for

with imported_for("sapwood.jax", "jax"):
    import jax
    import jax.numpy as jnp

from sapwood.bridge import BridgedSolution, Form, Groups, form_of, with_parameters
from sapwood.settings import Friction, SapSettings

__all__ = ["BridgedSolution", "solve"]


@with_parameters
def solve(
    tree_nv: Any,
    A: Any,
    v_star: Any,
    tree_a: Any = (),
    tree_b: Any = (),
    J: Any = (),
    mu: Any = (),
    *,
    dt: Any,
    constraints: Groups = (),
    settings: SapSettings | None = None,
    friction: Friction | None = None,
    frozen_regularization: bool = False,
    **numbers: Any,
) -> BridgedSolution:
    """Solve a contact problem some of whose numbers are arrays of JAX.

    Arrays of JAX are what derivatives may be asked by; everything else is constant. `jax.vmap`
    makes batches: their problems are solved together, on all cores.

    {parameters}

    Returns
    -------
    BridgedSolution
        Arrays v, gamma, impulses of each group, spin_gamma, and status. Look at the status: a solve
        that has not converged has derivatives of no solution.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it. What only the solve finds, and a system that is
        singular to round-off, becomes an error of JAX with the same text.

    Examples
    --------
    How the speed of a mass that slides depends on the friction:

    >>> import jax
    >>> jax.config.update("jax_enable_x64", True)
    >>> def speed(mu):
    ...     return solve([3], np.eye(3).ravel(), [1.0, 0.0, -1.0], [0], [-1], np.eye(3).ravel(), mu,
    ...                  dt=0.01, phi0=[0.0], k=[1e5], tau_d=[0.0]).v[0]
    >>> print(jax.jit(jax.grad(speed))(jax.numpy.array([0.5])).round(2))
    [-1.07]
    """
    own = {"tree_nv": tree_nv, "A": A, "v_star": v_star, "tree_a": tree_a, "tree_b": tree_b}
    own |= {"J": J, "mu": mu, "dt": dt, **numbers}
    form, arrays = form_of(own, constraints, lambda x: isinstance(x, jax.Array), settings, friction,
                           frozen_regularization)  # fmt: skip
    for name, x in zip(form.names, arrays, strict=True):
        if x.dtype != jnp.float64:
            raise TypeError(f"{name} must be float64, not {x.dtype}: jax_enable_x64 makes it so")
        if x.ndim != name.rank:
            raise ValueError(
                f"{name} has {x.ndim} dimensions, expected {name.rank}: jax.vmap makes batches"
            )
    v, gamma, rows, spin, status = _solve(form, *arrays)
    groups = jnp.split(rows, np.cumsum(form.rows[:-1]), axis=-1) if form.groups else ()
    return BridgedSolution(v, gamma, tuple(groups), spin, status)


# a dimension that is mapped over comes in front, of 1 in what has none
_called_back = functools.partial(jax.pure_callback, vmap_method="expand_dims")


def _shapes(form: Form) -> tuple[Any, ...]:
    """Of what a solve returns."""
    types = [jnp.float64] * 4 + [jnp.int8]
    return tuple(map(jax.ShapeDtypeStruct, form.shapes, types))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _solve(form: Form, *numbers: Any) -> Any:
    return _called_back(form.solve, _shapes(form), *numbers)


def _forward(form: Form, *numbers: Any) -> Any:
    found = _solve(form, *numbers)
    v, _, _, _, status = found
    return found, (*numbers, v, status)


def _backward(form: Form, kept: Any, bars: Any) -> Any:
    shapes = tuple(jax.ShapeDtypeStruct(x.shape, jnp.float64) for x in kept[:-2])
    return _called_back(form.vjp, shapes, *kept, *bars[:4])


_solve.defvjp(_forward, _backward)
