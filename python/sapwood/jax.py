"""Contact as a function of JAX, which `grad`, `jit` and `vmap` transform.

The forward pass is a solve in C, called back from XLA, on the CPU and in double precision; a
backward pass is one back-substitution for every number of the problem at once, see
``docs/explanation/derivatives.md``. There is only the reverse mode, and there are no second
derivatives. JAX is imported with this module alone, and must compute in double precision:
``jax.config.update("jax_enable_x64", True)`` before its first array.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.base.optional import imported_for

with imported_for("sapwood.jax", "jax"):
    import jax
    import jax.numpy as jnp
    from jax.experimental.buffer_callback import buffer_callback

from sapwood.bridge import BridgedSolution, Form, Groups, form_of, with_parameters
from sapwood.settings import Friction, SapSettings

if TYPE_CHECKING:
    import mujoco

    from sapwood.mujoco.stepper import Stepper

__all__ = ["BridgedSolution", "solve", "step"]


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


def step(
    stepper: Stepper, *, data: mujoco.MjData | None = None, soften: float = 1.0
) -> Callable[..., tuple[Any, ...]]:
    """One step of worlds of a MuJoCo model, as a function of arrays of JAX.

    Within ``jax.grad`` the step is linearized as it is taken, by :func:`sapwood.mujoco.linearize`;
    its matrices stay in JAX until the reverse pass. `jax.vmap` and `jax.jit` apply.

    Parameters
    ----------
    stepper : Stepper
        As for :func:`sapwood.mujoco.linearize`.
    data : mujoco.MjData, optional
        The rest of the state of all worlds; by default that of a model after a reset.
    soften : float
        Factor of R in the derivatives, as for :func:`sapwood.mujoco.linearize`.

    Returns
    -------
    callable
        Of float64 arrays q (..., nq), v (..., nv) and u (..., nu) it returns q and v after the
        step. With a model that has activations, act (..., na) is its fourth argument and its third
        result. Derivatives by quaternions are orthogonal to them.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it.

    Examples
    --------
    How far a cart rolls in a step depends on the push:

    >>> import jax, mujoco, sapwood.mujoco
    >>> jax.config.update("jax_enable_x64", True)
    >>> model = mujoco.MjModel.from_xml_string('''
    ... <mujoco><worldbody><body><joint name="x" type="slide" axis="1 0 0"/>
    ... <geom size=".1" mass="2"/></body></worldbody><actuator><motor joint="x"/></actuator>
    ... </mujoco>''')
    >>> take_step = step(sapwood.mujoco.Stepper(model, time_step=0.1))
    >>> place = lambda u: take_step(jax.numpy.zeros(1), jax.numpy.ones(1), u)[0][0]
    >>> print(jax.grad(place)(jax.numpy.zeros(1)).round(6))
    [0.005]
    """
    from sapwood.mujoco.step_function import Slopes, StepFunction

    function = StepFunction(stepper, data, soften)
    sizes, n_results = function.sizes, function.n_results
    ends = [(size,) for size in sizes.values()]
    nv, n_u, n_act = sizes["v"], sizes["u"], sizes.get("act", 0)
    n = 2 * nv + n_act
    after_ends = [ends[0], ends[1], *ends[3:]]

    def take(*states: Any) -> Any:
        return function.step(*_in_front(states, [1] * len(ends)))

    def take_with_slopes(*states: Any) -> Any:
        after, slopes = function.step_with_slopes(*_in_front(states, [1] * len(ends)))
        return *after, slopes.A, slopes.B

    def pull(*arrays: Any) -> Any:
        q, q_next, A, B, *bars = _in_front(arrays, [1, 1, 2, 2] + [1] * n_results)
        return function.pull(Slopes(q, q_next, A, B), *bars)

    def compute(*states: Any) -> Any:
        return _called_back(take, _float_shapes(states[0], *after_ends), *states)

    def forward(*states: Any) -> Any:
        shapes = _float_shapes(states[0], *after_ends, (n, n), (n, n_u))
        *after, A, B = _called_back(take_with_slopes, shapes, *states)
        return tuple(after), (states[0], after[0], A, B)

    def backward(kept: Any, bars: Any) -> Any:
        return _called_back(pull, _float_shapes(kept[0], *ends), *kept, *bars)

    call = jax.custom_vjp(compute)
    call.defvjp(forward, backward)

    def take_step(*states: Any) -> tuple[Any, ...]:
        arrays = [jnp.asarray(x) for x in states]
        for name, x in zip(sizes, arrays, strict=False):
            if x.dtype != jnp.float64:
                raise TypeError(
                    f"{name} must be float64, not {x.dtype}: jax_enable_x64 makes it so"
                )
        function.check([x.shape for x in arrays], "arrays")
        found: tuple[Any, ...] = call(*arrays)
        return found

    return take_step


def _float_shapes(q: Any, *ends: tuple[int, ...]) -> tuple[Any, ...]:
    """Shapes of results with the dimensions in front of those of one state."""
    return tuple(jax.ShapeDtypeStruct((*q.shape[:-1], *end), jnp.float64) for end in ends)


def _in_front(arrays: Any, ranks: Any) -> list[Any]:
    """Arrays of NumPy with the dimensions of their batch, before those of one world, broadcast."""
    own = [np.asarray(x) for x in arrays]
    fronts = [x.shape[: x.ndim - rank] for x, rank in zip(own, ranks, strict=True)]
    front = np.broadcast_shapes(*fronts)
    return [
        np.broadcast_to(x, (*front, *x.shape[x.ndim - rank :]))
        for x, rank in zip(own, ranks, strict=True)
    ]


@dataclasses.dataclass(frozen=True)
class _InPlace:
    """A function of NumPy arrays that reads and writes the memory of XLA."""

    function: Callable[..., tuple[Any, ...]]

    def __call__(self, _: Any, results: Any, *arrays: Any) -> None:
        found = self.function(*map(np.asarray, arrays))
        for result, x in zip(results, found, strict=True):
            np.asarray(result)[...] = x


def _called_back(
    function: Callable[..., tuple[Any, ...]], shapes: tuple[Any, ...], *arrays: Any
) -> Any:
    """Results of a function of NumPy arrays, which XLA calls.

    `jax.vmap` puts the mapped dimension first; an unmapped array gets one of length 1. Only on the
    CPU are the arrays where the function is; it then takes them without the conversions of
    `jax.pure_callback`, which cost ten times as much.
    """
    mapped = "expand_dims"
    if jax.default_backend() != "cpu":
        return jax.pure_callback(function, shapes, *arrays, vmap_method=mapped)
    return buffer_callback(_InPlace(function), shapes, vmap_method=mapped)(*arrays)


def _shapes(form: Form) -> tuple[Any, ...]:
    """Shapes of the results of a solve."""
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
