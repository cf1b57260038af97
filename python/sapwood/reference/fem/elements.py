"""Elastic tetrahedra in plain NumPy, by the definitions.

P and dP/dF are written as derivatives of the energy density, the nearest rotation comes from
LAPACK's singular values, and the projection from eigenvalues of the 9 x 9 matrix: none of the
closed forms of the core is used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Float = NDArray[np.float64]

_I = np.eye(3)
_EPSILON = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _EPSILON[_i, _j, _k], _EPSILON[_i, _k, _j] = 1, -1


def nearest_rotations(F: _Float) -> _Float:
    """Rotation nearest to each F (m, 3, 3), with determinant +1."""
    U, _, Vt = np.linalg.svd(F)
    U[..., 2] *= np.linalg.det(U @ Vt)[:, None]
    rotations: _Float = U @ Vt
    return rotations


def deformation(vertices: _Float, tetrahedra: NDArray[np.int32], x: _Float) -> _Float:
    """F (m, 3, 3) = [x1 - x0, x2 - x0, x3 - x0] [X1 - X0, X2 - X0, X3 - X0]^-1."""
    rest, now = vertices[tetrahedra], x[tetrahedra]
    edges = np.swapaxes(now[:, 1:] - now[:, :1], 1, 2)
    found: _Float = edges @ np.linalg.inv(np.swapaxes(rest[:, 1:] - rest[:, :1], 1, 2))
    return found


def _cofactor(F: _Float) -> _Float:
    cofactor: _Float = 0.5 * np.einsum("ikm,jln,zkl,zmn->zij", _EPSILON, _EPSILON, F, F)
    return cofactor


def _cofactor_slope(F: _Float) -> _Float:
    slope: _Float = np.einsum("ikm,jln,zmn->zijkl", _EPSILON, _EPSILON, F)
    return slope


def _rotation_slope(F: _Float, R: _Float) -> _Float:
    """dR_ij/dF_kl: R W with (tr(S) I - S) w = axial(R^T dF - dF^T R)."""
    S = np.swapaxes(R, 1, 2) @ F
    S = (S + np.swapaxes(S, 1, 2)) / 2
    system = np.trace(S, axis1=1, axis2=2)[:, None, None] * _I - S
    M = np.einsum("zka,lb->zabkl", R, _I) - np.einsum("zkb,la->zabkl", R, _I)
    axial = -0.5 * np.einsum("cab,zabkl->zckl", _EPSILON, M)
    w = np.linalg.solve(system, axial.reshape(-1, 3, 9)).reshape(-1, 3, 3, 3)
    W = -np.einsum("abc,zckl->zabkl", _EPSILON, w)
    slope: _Float = np.einsum("zia,zajkl->zijkl", R, W)
    return slope


def density_and_stress(
    model: str, mu: float, lam: float, F: _Float, R0: _Float | None
) -> tuple[_Float, _Float, _Float]:
    """Energy density (m,), P (m, 3, 3) and dP/dF (m, 3, 3, 3, 3) of a model."""
    same = np.einsum("ik,jl->ijkl", _I, _I)
    if model in ("linear", "linear_corotated"):
        R = np.broadcast_to(_I, F.shape) if model == "linear" else R0
        if R is None:
            raise ValueError("rotations: must be given for this model")
        G = np.swapaxes(R, 1, 2) @ F
        e = (G + np.swapaxes(G, 1, 2)) / 2 - _I
        trace = np.trace(e, axis1=1, axis2=2)
        density = mu * np.sum(e * e, axis=(1, 2)) + lam / 2 * trace**2
        P = R @ (2 * mu * e + lam * trace[:, None, None] * _I)
        slope = mu * (same + np.einsum("zil,zkj->zijkl", R, R))
        return density, P, slope + lam * np.einsum("zij,zkl->zijkl", R, R)
    J, cof = np.linalg.det(F), _cofactor(F)
    both = np.einsum("zij,zkl->zijkl", cof, cof)
    if model == "corotated":
        R = nearest_rotations(F)
        density = mu * np.sum((F - R) ** 2, axis=(1, 2)) + lam / 2 * (J - 1) ** 2
        P = 2 * mu * (F - R) + lam * (J - 1)[:, None, None] * cof
        slope = 2 * mu * (same - _rotation_slope(F, R)) + lam * both
        return density, P, slope + (lam * (J - 1))[:, None, None, None, None] * _cofactor_slope(F)
    if model == "neo_hookean":
        L = lam + mu
        a = mu / L
        squares = np.sum(F * F, axis=(1, 2))
        density = mu / 2 * (squares - 3) + L / 2 * ((J - 1 - a) ** 2 - a**2)
        P = mu * F + L * (J - 1 - a)[:, None, None] * cof
        slope = mu * same + L * both
        return density, P, slope + (L * (J - 1 - a))[:, None, None, None, None] * _cofactor_slope(F)
    if model != "st_venant_kirchhoff":
        raise ValueError(f"model = {model!r}: is unknown")
    E = (np.swapaxes(F, 1, 2) @ F - _I) / 2
    trace = np.trace(E, axis1=1, axis2=2)
    S = 2 * mu * E + lam * trace[:, None, None] * _I
    density = mu * np.sum(E * E, axis=(1, 2)) + lam / 2 * trace**2
    dE = (np.einsum("zka,lb->zabkl", F, _I) + np.einsum("zkb,la->zabkl", F, _I)) / 2
    dS = 2 * mu * dE + lam * np.einsum("ab,zcckl->zabkl", _I, dE)
    slope = np.einsum("ik,zlj->zijkl", _I, S) + np.einsum("zia,zajkl->zijkl", F, dS)
    return density, F @ S, slope


def projected(slope: _Float) -> _Float:
    """Replace the negative eigenvalues of dP/dF, as a 9 x 9 matrix, by zero."""
    matrix = slope.reshape(-1, 9, 9)
    values, vectors = np.linalg.eigh((matrix + np.swapaxes(matrix, 1, 2)) / 2)
    kept = (vectors * np.maximum(values, 0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    found: _Float = kept.reshape(slope.shape)
    return found


def evaluate_elements(
    vertices: ArrayLike,
    tetrahedra: ArrayLike,
    model: str,
    mu: float,
    lam: float,
    x: ArrayLike,
    rotations: ArrayLike | None = None,
    *,
    exact: bool = False,
) -> tuple[float, _Float, _Float, _Float]:
    """Energy, forces (n, 3), dense stiffness (3 n, 3 n) and Cauchy stresses (m, 3, 3) of a mesh.

    Parameters
    ----------
    vertices : array_like (n, 3)
        Reference positions, m.
    tetrahedra : array_like of int (m, 4)
        Corners of each tetrahedron.
    model : str
        A model of :class:`sapwood.fem.Material`.
    mu, lam : float
        Lame's constants, Pa.
    x : array_like (n, 3)
        Positions, m.
    rotations : array_like (m, 3, 3), optional
        R0 of "linear_corotated", by default the nearest rotations at x.
    exact : bool
        Whether dP/dF is left as it is.

    Returns
    -------
    tuple
        The energy (J), forces (N), stiffness (N/m) and stresses (Pa).
    """
    X, cells, now = np.asarray(vertices, float), np.asarray(tetrahedra), np.asarray(x, float)
    n = len(X)
    F = deformation(X, cells, now)
    R0 = nearest_rotations(F) if rotations is None else np.asarray(rotations, float)
    density, P, slope = density_and_stress(model, mu, lam, F, R0)
    if not exact:
        slope = projected(slope)
    rest = X[cells]
    Dm = np.swapaxes(rest[:, 1:] - rest[:, :1], 1, 2)
    V = np.linalg.det(Dm) / 6
    b = np.linalg.inv(Dm)
    b = np.concatenate([-np.sum(b, axis=1, keepdims=True), b], axis=1)
    force, K = np.zeros((n, 3)), np.zeros((3 * n, 3 * n))
    np.add.at(force, cells, -V[:, None, None] * np.einsum("zij,zaj->zai", P, b))
    blocks = np.einsum("z,zaj,zijkl,zbl->zabik", V, b, slope, b)
    index = 3 * cells[:, :, None] + np.arange(3)
    rows, columns = index[:, :, None, :, None], index[:, None, :, None, :]
    np.add.at(K, (rows, columns), blocks)
    stress = P @ np.swapaxes(F, 1, 2) / np.linalg.det(F)[:, None, None]
    return float(V @ density), force, K, stress
