"""Contacts with torsional and rolling friction as the objective sees them: any law, lifted."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import Region

from .disk_pool import DiskPool
from .pools import ContactPool, Dual, Everywhere, State, make_patches, projection_error
from .torsional import NORMAL, TANGENTIAL, lift_impulse, lift_matrix, radial, radial_step

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class WidePool(Everywhere):
    """Contacts with torsional and rolling friction, six rows each, see `torsional`.

    Parameters
    ----------
    problem : ContactProblem
    law : ContactPool
        These contacts without it: the law of three rows that is lifted.

    Examples
    --------
    Of a contact with mu = 0.5 and mu_n = 2 cm, which is turned about its normal, the scaled row is
    on the cone of mu, and the impulse itself mu_n gamma_n:

    >>> problem = ContactProblem.from_dense(
    ...     np.eye(6), np.zeros(6), np.eye(3, 6), mu=0.5, R_t=1.0, R_n=1.0, v_hat_n=0.0, dt=0.01,
    ...     spin_contact=[0], spin_J=np.eye(6)[[5, 3, 4]], spin_mu=[[0.02, 0.0, 0.0]])
    >>> pool = WidePool(problem, ContactPool(problem, np.array([0])))
    >>> gamma = pool.at(np.array([[0.0, 0.0, 1.0, 1.0, 0.0, 0.0]])).gamma
    >>> print(gamma.round(12), pool.own(gamma).round(12))
    [[0.  0.  1.2 0.6 0.  0. ]] [[0.024 0.    0.   ]]
    """

    def __init__(self, problem: ContactProblem, law: ContactPool) -> None:
        self.law, self.members = law, law.members
        every = cast("NDArray[np.int32]", problem.spin_contact)
        #: which of the contacts in spin_contact these are
        self.spins: Index = np.searchsorted(every, self.members)
        lengths = np.asarray(problem.spin_mu)[self.spins]
        self.scale = lengths / law.mu[:, None]
        self.R = np.concatenate([law.R, np.repeat(law.R_t[:, None], 3, axis=1)], axis=1)
        self.v_hat = np.concatenate([law.v_hat, np.zeros(law.v_hat.shape)], axis=1)
        self.patches = make_patches(
            (int(problem.tree_a[i]), int(problem.tree_b[i]), *self._rows(problem, i, k, scale))
            for i, k, scale in zip(self.members, self.spins, self.scale, strict=True)
        )

    @staticmethod
    def _rows(problem: ContactProblem, i: int, k: int, scale: Array) -> tuple[Array, Array | None]:
        """Rows of contact i, and its angular rows times mu_k/mu."""
        (J_a, J_b), (spin_a, spin_b) = problem.J_blocks(i), problem.spin_blocks(k)
        rows_a = np.concatenate([J_a, scale[:, None] * spin_a])
        if J_b is None or spin_b is None:
            return rows_a, None
        return rows_a, np.concatenate([J_b, scale[:, None] * spin_b])

    def own(self, gamma: Array) -> Array:
        """Impulses (n, 3) about (n, t1, t2), N m s, from impulses of scaled rows (n, 6)."""
        return np.asarray(self.scale * gamma[:, 3:])

    def at(self, y: Array) -> State:
        """The law at |y_t| and y_n, lifted."""
        at = radial(y)
        state = self.law.at(at.y)
        regions = cast("NDArray[np.int8]", state.regions)
        gamma = lift_impulse(y, at.e, state.gamma, regions)
        return state._replace(gamma=gamma, G=lift_matrix(at.e, state.G))

    def cost_difference(self, y: Array, dy: Array) -> Array:
        """The difference of the law, along the change of the length."""
        return self.law.cost_difference(radial(y).y, radial_step(y, dy))

    def sticking(self, y: Array, state: State) -> tuple[Array, Array]:
        """Let the touching contacts stick in all rows, as ContactPool."""
        del state
        touching = self.v_hat[:, [NORMAL]] > 0.0
        G = np.where(touching, 1.0 / self.R, 0.0)[:, :, None] * np.eye(6)
        return G, np.where(touching, y, 0.0)

    def predict(self, gamma: Array, G: Array, dv_c: Array) -> Dual:
        """gamma - G dv_c brought into the set that the law projects onto; w (n, 5)."""
        at = radial(gamma - np.einsum("ijk,ik->ij", G, dv_c))
        none = np.zeros(at.y.shape)
        dual = self.law.predict(at.y, none[:, :, None] * none[:, None, :], none)
        return dual._replace(w=dual.w[:, :1] * at.e)

    def blend(self, y: Array, state: State, dual: Dual | None) -> Array:
        """Primal-dual friction, see `direction`: I - m m^T of five components.

        Along e it is the matrix of the law with the part of w along e; the rest p of m has

            m = m_1 e + p,    m m^T = m_1^2 e e^T + m_1 (e p^T + p e^T) + p p^T
        """
        if dual is None:
            return state.G
        at = radial(y)
        along = np.sum(dual.w * at.e, axis=1)
        w = np.stack([along, np.zeros(len(y))], axis=1)
        radial_G = self.law.blend(at.y, self.law.at(at.y), dual._replace(w=w))
        G = lift_matrix(at.e, radial_G)
        length = at.y[:, 0]
        sliding = (state.regions == Region.sliding) & (length > 0.0)
        y_r = np.where(sliding, np.hypot(length, self.law.soft_norm), 1.0)
        m_1 = (length / y_r + along) / 2.0
        p = np.where(sliding[:, None], (dual.w - along[:, None] * at.e) / 2.0, 0.0)
        e_p = m_1[:, None, None] * at.e[:, :, None] * p[:, None, :]
        rest = e_p + np.swapaxes(e_p, 1, 2) + p[:, :, None] * p[:, None, :]
        rows, columns = np.ix_(TANGENTIAL, TANGENTIAL)
        G[:, rows, columns] -= radial_G[:, 1:2, 1:2] * rest
        return G

    def impulse_error(self, y: Array, state: State, e: Array) -> Array:
        """A projection too: as of ContactPool, over six rows."""
        del state
        return projection_error(y, e, self.R)

    def complementarity(self, y: Array, state: State) -> Array:
        """The complementarity of the law: of lengths, and of products of vectors along e."""
        del state
        at = radial(y)
        return self.law.complementarity(at.y, self.law.at(at.y))

    def coupling(self, y: Array) -> Array:
        """The addition of Coulomb's law to G, lifted: U_tn (n, 6, 6)."""
        if not isinstance(self.law, DiskPool):
            raise TypeError("friction of these contacts is convex")
        at = radial(y)
        return lift_matrix(at.e, self.law.coupling(at.y))
