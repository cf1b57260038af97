"""The two forms of an FCLIB problem: contact with Coulomb friction, without any compliance.

Contacts have rows (n, t1, t2), as in the files; an impulse r_i obeys

    0 <= r_n  perp  u_n >= 0,   |r_t| <= mu r_n,   r_t = -mu r_n u_t/|u_t| where u_t != 0
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LocalProblem:
    """u = W r + q."""

    W: sparse.csr_array
    """Delassus operator (3 n_contacts, 3 n_contacts), 1/kg; a file's is not always symmetric."""
    q: Array
    """Contact velocities of free motion (3 n_contacts,), m/s."""
    mu: Array
    """Friction coefficients (n_contacts,)."""
    title: str = ""

    @property
    def local(self) -> LocalProblem:
        """The problem itself."""
        return self


@dataclass(frozen=True, eq=False)
class GlobalProblem:
    """M v = H r + f,  u = H^T v + w."""

    M: sparse.csc_array
    """Mass matrix (nv, nv)."""
    H: sparse.csc_array
    """Transposed contact Jacobian (nv, 3 n_contacts)."""
    f: Array
    """Momentum of free motion (nv,)."""
    w: Array
    """Bias of the contact velocities (3 n_contacts,), m/s."""
    mu: Array
    """Friction coefficients (n_contacts,)."""
    title: str = ""

    @cached_property
    def local(self) -> LocalProblem:
        """The same problem without v: W = H^T M^-1 H, q = H^T M^-1 f + w."""
        solve = splu(self.M).solve
        inverse = sparse.csc_array(solve(self.H.toarray()))
        return LocalProblem(
            W=sparse.csr_array(self.H.T @ inverse),
            q=self.H.T @ solve(self.f) + self.w,
            mu=self.mu,
            title=self.title,
        )
