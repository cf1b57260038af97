"""The algebra of second-order cones |(x_2, x_3)| <= x_1, for many elements at once.

Elements are rows of arrays (m, 3). With the eigenvalues x_1 +- |(x_2, x_3)|, functions such as the
exponential act on an element through its spectrum, the identity is e = (1, 0, 0), and

    Q(x) = 2 x x^T - det(x) diag(1, -1, -1),   det(x) = x_1^2 - x_2^2 - x_3^2

is the quadratic representation: Q(x) e = x^2, and Q(x) maps the cone onto itself for x inside.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

REFLECTION = np.diag([1.0, -1.0, -1.0])


def eigenvalues(x: Array) -> Array:
    """Eigenvalues of each element, (m, 2), the larger one first."""
    r = np.hypot(x[:, 1], x[:, 2])
    return np.stack([x[:, 0] + r, x[:, 0] - r], axis=1)


def spectral(f: Callable[[Array], Array], x: Array) -> Array:
    """f(x) = f(lambda_1) c_1 + f(lambda_2) c_2 with idempotents c = (1, +-u)/2."""
    r = np.hypot(x[:, 1], x[:, 2])
    u = x[:, 1:] / np.where(r > 0.0, r, 1.0)[:, None]
    above, below = f(x[:, 0] + r), f(x[:, 0] - r)
    return np.concatenate([(above + below)[:, None], (above - below)[:, None] * u], axis=1) / 2.0


def quadratic(x: Array) -> Array:
    """Q(x), (m, 3, 3)."""
    det = eigenvalues(x).prod(axis=1)
    Q: Array = 2.0 * x[:, :, None] * x[:, None, :] - det[:, None, None] * REFLECTION
    return Q


def geometric_mean(x: Array, y: Array) -> Array:
    """The element w with Q(w) y^-1 = x, for x and y inside the cone."""
    root, inverse_root = spectral(np.sqrt, x), spectral(lambda t: 1.0 / np.sqrt(t), x)
    inner = apply(quadratic(inverse_root), y)
    return apply(quadratic(root), spectral(np.sqrt, inner))


def apply(matrices: Array, x: Array) -> Array:
    """Product of each matrix (m, 3, 3) with its element (m, 3)."""
    product: Array = np.einsum("ijk,ik->ij", matrices, x)
    return product
