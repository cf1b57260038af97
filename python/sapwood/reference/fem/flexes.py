"""Elasticity by lengths of edges in plain NumPy, by the definitions: ``sapwood/fem.h``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


def matrix_of(upper: _Float, n: int) -> _Float:
    """Symmetric matrix (n, n) of its upper triangle by rows."""
    M = np.zeros((n, n))
    M[np.triu_indices(n)] = upper[: n * (n + 1) // 2]
    return M + np.triu(M, 1).T


def energy(
    tables: dict[str, _Index],
    numbers: dict[str, _Float],
    last: tuple[_Float, _Float, float, float],
    x: _Float,
) -> float:
    """Energy whose negative gradient are the forces, J.

    Parameters
    ----------
    tables : dict
        ``edges``, ``element_edges`` and ``hinges``.
    numbers : dict
        ``stiffness``, ``bending``, ``rest`` and ``edge_stiffness``.
    last : tuple of ndarray (n, 3), ndarray (n_edges,), float and float
        Positions and lengths a time step ago, m, and the rates c, and r in N/m.
    x : ndarray (n, 3)
        Positions, m.

    Returns
    -------
    float
        1/4 (e^T M e + c f^T M f), e = L^2 - L0^2, f = L^2 - L_last^2, and so on.
    """
    x_last, L_last, c, r = last
    L, L0 = lengths(tables["edges"], x), numbers["rest"]
    total = numbers["edge_stiffness"] / 2 * np.sum((L - L0) ** 2) + r / 2 * np.sum(
        (L - L_last) ** 2
    )
    for of, upper in zip(tables["element_edges"], numbers["stiffness"], strict=True):
        M = matrix_of(upper, len(of))
        e, f = L[of] ** 2 - L0[of] ** 2, L[of] ** 2 - L_last[of] ** 2
        total += (e @ M @ e + c * (f @ M @ f)) / 4
    for of, B in zip(tables["hinges"], numbers["bending"], strict=True):
        change = x[of] - x_last[of]
        total += (np.sum(x[of] * (B @ x[of])) + c * np.sum(change * (B @ change))) / 2
    return float(total)


def lengths(edges: _Index, x: _Float) -> _Float:
    """Lengths of edges (n_edges,), m."""
    found: _Float = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
    return found


def force_and_stiffness(
    tables: dict[str, _Index],
    numbers: dict[str, _Float],
    last: tuple[_Float, _Float, float, float],
    x: _Float,
) -> tuple[_Float, _Float, _Float]:
    """Tensions (n_edges,), forces (n, 3), and K (3 n, 3 n); arguments as of :func:`energy`."""
    x_last, L_last, c, r = last
    edges, n = tables["edges"], len(x)
    k, L, L0 = float(numbers["edge_stiffness"]), lengths(edges, x), numbers["rest"]
    slopes = np.zeros((len(edges), n, 3))  # derivatives of L^2/2 by x
    for row, (a, b) in zip(slopes, edges, strict=True):
        row[a], row[b] = x[a] - x[b], x[b] - x[a]
    rows = slopes.reshape(len(edges), 3 * n)
    tension = (k * (L - L0) + r * (L - L_last)) / L
    K = np.einsum("e,ei,ej->ij", (k * L0 + r * L_last) / L**3, rows, rows)
    for of, upper in zip(tables["element_edges"], numbers["stiffness"], strict=True):
        M = matrix_of(upper, len(of))
        tension[of] += M @ (L[of] ** 2 - L0[of] ** 2 + c * (L[of] ** 2 - L_last[of] ** 2))
        K += 2 * (1 + c) * rows[of].T @ M @ rows[of]
    force = -np.einsum("e,eni->ni", tension, slopes)
    for T, differences in zip(tension, _differences(edges, n), strict=True):
        K += max(T, 0.0) * np.kron(np.outer(differences, differences), np.eye(3))
    for of, B in zip(tables["hinges"], numbers["bending"], strict=True):
        force[of] -= B @ (x[of] + c * (x[of] - x_last[of]))
        whole = np.zeros((n, n))
        whole[np.ix_(of, of)] = B
        K += (1 + c) * np.kron(whole, np.eye(3))
    return tension, force, K


def _differences(edges: _Index, n: int) -> Iterator[_Float]:
    for a, b in edges:
        row = np.zeros(n)
        row[a], row[b] = 1.0, -1.0
        yield row
