"""Contact as a function of PyTorch, which `autograd` and `torch.func` differentiate.

The forward pass is a solve in C, on the CPU and in double precision; a backward pass is one
back-substitution for every number of the problem at once, see ``docs/explanation/derivatives.md``.
It works under ``torch.func``: ``grad``, ``jacrev``, ``jvp``, ``vmap`` and their combinations. There
are no second derivatives. PyTorch is imported with this module alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.base.optional import imported_for

with imported_for("sapwood.torch", "torch"):
    import torch

from sapwood.bridge import BridgedSolution, Form, Groups, form_of, with_parameters
from sapwood.settings import Friction, SapSettings

if TYPE_CHECKING:
    import mujoco

    from sapwood.mujoco.step_function import StepFunction
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
    """Solve a contact problem some of whose numbers are tensors.

    Tensors are what derivatives may be asked by; everything else is constant. They may have the
    dimensions of a batch in front, which are broadcast: then as many problems are solved, on all
    cores.

    {parameters}

    Returns
    -------
    BridgedSolution
        Tensors v, gamma, impulses of each group, spin_gamma, and status. Look at the status: a
        solve that has not converged has derivatives of no solution.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it.
    numpy.linalg.LinAlgError
        In a backward pass, if the linear system is singular to round-off.

    Examples
    --------
    How the speed of a mass that slides depends on the friction:

    >>> import torch
    >>> mu = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    >>> solution = solve([3], np.eye(3).ravel(), [1.0, 0.0, -1.0], [0], [-1], np.eye(3).ravel(), mu,
    ...                  dt=0.01, phi0=[0.0], k=[1e5], tau_d=[0.0])
    >>> solution.v[0].backward()
    >>> print(mu.grad.numpy().round(2))
    [-1.07]
    """
    own = {"tree_nv": tree_nv, "A": A, "v_star": v_star, "tree_a": tree_a, "tree_b": tree_b}
    own |= {"J": J, "mu": mu, "dt": dt, **numbers}
    form, tensors = form_of(own, constraints, torch.is_tensor, settings, friction,
                            frozen_regularization)  # fmt: skip
    for name, x in zip(form.names, tensors, strict=True):
        if x.dtype != torch.float64 or x.device.type != "cpu":
            raise TypeError(
                f"{name} must be a float64 tensor on the CPU, not {x.dtype}, {x.device}"
            )
        if x.ndim < name.rank:
            raise ValueError(f"{name} has {x.ndim} dimensions, expected at least {name.rank}")
    fronts = [x.shape[: x.ndim - name.rank] for x, name in zip(tensors, form.names, strict=True)]
    batch = np.broadcast_shapes(*fronts)
    whole = [
        x.expand((*batch, *x.shape[len(front) :])) for x, front in zip(tensors, fronts, strict=True)
    ]
    v, gamma, rows, spin, status = _Solve.apply(form, *whole)
    return BridgedSolution(v, gamma, torch.split(rows, form.rows, dim=-1), spin, status)


def step(
    stepper: Stepper, *, data: mujoco.MjData | None = None, soften: float = 1.0
) -> Callable[..., tuple[Any, ...]]:
    """One step of worlds of a MuJoCo model, as a function of tensors.

    Where a derivative is wanted the step is linearized as it is taken, by
    :func:`sapwood.mujoco.linearize`, and the backward pass is a product with its matrices.

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
        Of float64 tensors q (..., nq), v (..., nv) and u (..., nu) it returns q and v after the
        step. With a model that has activations, act (..., na) is its fourth argument and its third
        result. Derivatives by quaternions are orthogonal to them.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it.

    Examples
    --------
    How far a cart rolls in a step depends on the push:

    >>> import mujoco, sapwood.mujoco
    >>> model = mujoco.MjModel.from_xml_string('''
    ... <mujoco><worldbody><body><joint name="x" type="slide" axis="1 0 0"/>
    ... <geom size=".1" mass="2"/></body></worldbody><actuator><motor joint="x"/></actuator>
    ... </mujoco>''')
    >>> take_step = step(sapwood.mujoco.Stepper(model, time_step=0.1))
    >>> u = torch.zeros(1, 1, dtype=torch.float64, requires_grad=True)
    >>> q, v = take_step(torch.zeros_like(u), torch.ones_like(u), u)
    >>> q.sum().backward()
    >>> print(q.item(), u.grad.numpy().round(6))
    0.1 [[0.005]]
    """
    from sapwood.mujoco.step_function import StepFunction

    function = StepFunction(stepper, data, soften)

    def take_step(*states: Any) -> tuple[Any, ...]:
        for name, x in zip(function.sizes, states, strict=False):
            if not torch.is_tensor(x) or x.dtype != torch.float64 or x.device.type != "cpu":
                raise TypeError(f"{name} must be a float64 tensor on the CPU")
        function.check([tuple(x.shape) for x in states], "tensors")
        if torch.is_grad_enabled() and any(x.requires_grad for x in states):
            found: tuple[Any, ...] = _Step.apply(function, *states)
            return found
        return _tensors(function.step(*_arrays(states)))

    return take_step


def _arrays(tensors: Any) -> list[Any]:
    return [x.detach().numpy() for x in tensors]


def _tensors(arrays: Any) -> tuple[Any, ...]:
    return tuple(torch.from_numpy(x) for x in arrays)


def _in_front(in_dims: Any, tensors: Any) -> list[Any]:
    """Tensors with the dimension that is mapped over in front, of 1 where they have none."""
    return [
        x.unsqueeze(0) if dim is None else x.movedim(dim, 0)
        for x, dim in zip(tensors, in_dims, strict=True)
    ]


def _with_signature(forward: Any) -> Any:
    """Keep the signature, which torch would find anew in each call."""
    forward.__signature__ = inspect.signature(forward)
    return forward


class _Mapped(torch.autograd.Function):  # type: ignore[misc]
    """A function of a form and of tensors that all have the same dimensions in front."""

    @classmethod
    def vmap(cls, info: Any, in_dims: Any, form: Form, *tensors: Any) -> Any:
        del info
        found = cls.apply(form, *_in_front(in_dims[1:], tensors))
        return found, (0,) * len(found)


class _Once(_Mapped):
    """A derivative, which has none."""

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        raise NotImplementedError("contact has no second derivatives")

    jvp = backward


class _Reverse(_Once):
    @staticmethod
    @_with_signature
    def forward(form: Form, *tensors: Any) -> Any:
        return _tensors(form.vjp(*_arrays(tensors)))


class _Forward(_Once):
    @staticmethod
    @_with_signature
    def forward(form: Form, *tensors: Any) -> Any:
        return _tensors(form.jvp(*_arrays(tensors)))


class _Solve(_Mapped):
    @staticmethod
    @_with_signature
    def forward(form: Form, *numbers: Any) -> Any:
        return _tensors(form.solve(*_arrays(numbers)))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        form, *numbers = inputs
        v, _, _, _, status = output
        ctx.form = form
        ctx.mark_non_differentiable(status)
        ctx.save_for_backward(*numbers, v, status)
        ctx.save_for_forward(*numbers, v, status)

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        saved = ctx.saved_tensors
        found = _Reverse.apply(ctx.form, *saved, *bars[:4])
        return None, *(x.sum_to_size(y.shape) for x, y in zip(found, saved[:-2], strict=True))

    @staticmethod
    def jvp(ctx: Any, _: Any, *dots: Any) -> Any:
        return *_Forward.apply(ctx.form, *ctx.saved_tensors, *dots), None


class _Step(torch.autograd.Function):  # type: ignore[misc]
    """A step of worlds, whose derivatives are found with it."""

    @staticmethod
    def forward(ctx: Any, function: StepFunction, *states: Any) -> Any:
        after, slopes = function.step_with_slopes(*_arrays(states))
        ctx.function, ctx.slopes = function, slopes
        return _tensors(after)

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        reverse = _StepReverse.apply if torch.is_grad_enabled() else _StepReverse.forward
        return None, *reverse(ctx.function, ctx.slopes, *bars)


class _StepReverse(_Once):
    @staticmethod
    def forward(function: StepFunction, slopes: Any, *bars: Any) -> Any:
        return _tensors(function.pull(slopes, *_arrays(bars)))
