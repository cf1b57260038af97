"""Energy, forces, stiffness and stresses of a mesh, in the C core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import boolean, instance, integers, real
from sapwood.base.equality import compared_by_value

from .material import Material
from .meshes.mesh import Mesh

_Float = NDArray[np.float64]

#: "lumped" (rho V/4 at each corner), "consistent" (rho V/20 (1 + d_ab)), or "one_point" (rho V/16
#: for all corners a, b: singular in each tetrahedron, for comparisons with Drake)
MassKind = Literal["lumped", "consistent", "one_point"]


@compared_by_value
@dataclass(frozen=True, eq=False)
class Evaluation:
    """A mesh at given positions.

    Attributes
    ----------
    energy : float
        Elastic energy, J.
    turned_over : int
        Number of tetrahedra with det F <= 0.
    force : ndarray (n, 3)
        Elastic forces at the vertices, N.
    K : ndarray (n, 3, 3)
        Diagonal blocks of the stiffness, N/m.
    K_pairs : ndarray (p, 3, 3)
        Blocks of the stiffness for the pairs of the mesh, rows of the lower vertex, N/m.
    energies : ndarray (m,)
        Elastic energies of the tetrahedra, J.
    deformation : ndarray (m, 3, 3)
        Deformation gradients F.
    stress : ndarray (m, 3, 3)
        Cauchy stresses P F^T/det F, Pa.
    """

    energy: float
    turned_over: int
    force: _Float
    K: _Float
    K_pairs: _Float
    energies: _Float
    deformation: _Float
    stress: _Float

    @property
    def von_mises(self) -> _Float:
        """Von Mises' equivalent stresses of the tetrahedra (m,), Pa."""
        deviator = (
            self.stress - np.eye(3) * (self.stress.trace(axis1=1, axis2=2) / 3)[:, None, None]
        )
        found: _Float = np.sqrt(1.5 * np.sum(deviator * deviator, axis=(1, 2)))
        return found


def evaluate(
    mesh: Mesh,
    material: Material,
    x: ArrayLike,
    rotations: ArrayLike | None = None,
    *,
    exact: bool = False,
) -> Evaluation:
    """Evaluate a mesh at positions of its vertices.

    Parameters
    ----------
    mesh : Mesh
        The mesh.
    material : Material
        The material; density and damping are not used.
    x : array_like (n, 3)
        Positions of the vertices, m.
    rotations : array_like (m, 3, 3), optional
        The rotation R0 of each tetrahedron for the model "linear_corotated", by default those
        nearest to the deformation at x. Other models do not read them.
    exact : bool, optional
        Whether K is the Hessian of the energy. By default its negative eigenvalues are replaced by
        zero, tetrahedron by tetrahedron.

    Returns
    -------
    Evaluation
        The results.

    Raises
    ------
    TypeError, ValueError
        For arrays of wrong type or shape, or values that are not finite.
    """
    instance(material, Material, "material")
    n, cells = len(instance(mesh, Mesh, "mesh").vertices), len(mesh.tetrahedra)
    if rotations is None and material.model == "linear_corotated":
        rotations = _core.fem_rotations(mesh._mesh, x)
    force, K, K_pairs = np.empty((n, 3)), np.empty((n, 3, 3)), np.empty((len(mesh.pairs), 3, 3))
    energies = np.empty(cells)
    deformation, stress = np.empty((cells, 3, 3)), np.empty((cells, 3, 3))
    energy, turned_over = _core.fem_evaluate(
        mesh._mesh,
        material.model,
        material.young,
        material.poisson,
        x,
        rotations,
        boolean(exact, "exact"),
        (force, K, K_pairs, energies, deformation, stress),
    )
    return Evaluation(energy, turned_over, force, K, K_pairs, energies, deformation, stress)


def rotations(mesh: Mesh, x: ArrayLike) -> _Float:
    """Find the rotation nearest to the deformation of each tetrahedron.

    Parameters
    ----------
    mesh : Mesh
        The mesh.
    x : array_like (n, 3)
        Positions of the vertices, m.

    Returns
    -------
    ndarray (m, 3, 3)
        Rotations, of determinant +1 even where a tetrahedron has turned over.

    Raises
    ------
    TypeError, ValueError
        For an argument of wrong type or shape.
    """
    return _core.fem_rotations(instance(mesh, Mesh, "mesh")._mesh, x)


def mass_matrix(mesh: Mesh, density: float, kind: MassKind = "lumped") -> tuple[_Float, _Float]:
    """Compute the mass matrix of a mesh.

    Parameters
    ----------
    mesh : Mesh
        The mesh.
    density : float
        Density, kg/m^3, > 0.
    kind : str
        "lumped", "consistent" or "one_point".

    Returns
    -------
    diagonal : ndarray (n,)
        Masses of the vertices, kg; the mass of a vertex is the same in x, y and z.
    pairs : ndarray (p,)
        Masses that couple the pairs of the mesh, kg.

    Raises
    ------
    TypeError, ValueError
        For a density that is not positive, an unknown kind, or what is no mesh.
    """
    return _core.fem_mass(instance(mesh, Mesh, "mesh")._mesh, real(density, "density"), kind)


def scatter_blocks(pairs: ArrayLike, diagonal: ArrayLike, off_diagonal: ArrayLike) -> _Float:
    """Write a symmetric matrix of blocks as one dense array.

    Parameters
    ----------
    pairs : array_like of int (p, 2)
        Row and column of each block.
    diagonal : array_like (n, 3, 3)
        Diagonal blocks.
    off_diagonal : array_like (p, 3, 3)
        The blocks of the pairs.

    Returns
    -------
    ndarray (3 n, 3 n)
        The matrix.

    Raises
    ------
    TypeError, ValueError
        For an array of wrong type or shape, or a pair that is not there.
    """
    index = integers(pairs, "pairs", 2)
    blocks = _core.as_float64(diagonal, "diagonal", (-1, 3, 3))
    coupling = _core.as_float64(off_diagonal, "off_diagonal", (len(index), 3, 3))
    n = len(blocks)
    wrong = np.flatnonzero(np.any((index < 0) | (index >= n), axis=1))
    if wrong.size:
        raise ValueError(f"pairs[{wrong[0]}] = {index[wrong[0]]}: names no diagonal block")
    dense = np.zeros((n, 3, n, 3))
    dense[np.arange(n), :, np.arange(n)] = blocks
    dense[index[:, 0], :, index[:, 1]] = coupling
    dense[index[:, 1], :, index[:, 0]] = np.swapaxes(coupling, 1, 2)
    return dense.reshape(3 * n, 3 * n)
