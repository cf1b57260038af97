"""Contact as a function of PyTorch, which `autograd` and `torch.func` differentiate.

The forward pass is a solve in C, on the CPU and in double precision; a backward pass is one
back-substitution for every number of the problem at once, see ``docs/derivatives.md``. It works
under ``torch.func``: ``grad``, ``jacrev``, ``jvp``, ``vmap`` and their combinations. There are no
second derivatives. PyTorch is imported with this module alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.base.optional import imported_for

with imported_for("sapwood.torch", "torch"):
    import torch

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
        In a backward pass, where the linear system is singular to round-off.

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
    def forward(form: Form, *tensors: Any) -> Any:
        return _tensors(form.vjp(*_arrays(tensors)))


class _Forward(_Once):
    @staticmethod
    def forward(form: Form, *tensors: Any) -> Any:
        return _tensors(form.jvp(*_arrays(tensors)))


class _Solve(_Mapped):
    @staticmethod
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
