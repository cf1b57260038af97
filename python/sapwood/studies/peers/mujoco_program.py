"""A contact problem as MuJoCo's data structures hold it, made from the problem alone.

With a = (v - v_guess)/dt, MuJoCo minimizes over accelerations a

    1/2 |a - a*|_M^2 + sum_i s_i(J_i a - aref_i)  =  l_p(v)/dt^2        (17)

once M = A, a* = (v* - v_guess)/dt, aref = (v_hat - J v_guess)/dt, efc_R = R, and the parameter of
the elliptic cone contact.mu = mu (R_t/R_n)^(1/2) = mu~. A model of hinges with the kinematic trees
that the zeros of A and J show has M and the contact Jacobian in the pattern that they had in a
scene; only their numbers are overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from sapwood import ContactProblem
from sapwood.studies.peers.base import PeerError, contacts_alone
from sapwood.studies.peers.kinematics import WORLD, Forest
from sapwood.studies.peers.sparse import bias, matrices, ranges

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Program:
    """A model and its data, ready for `mj_island` and `mj_fwdConstraint`."""

    model: mujoco.MjModel
    data: mujoco.MjData
    columns: Index
    """(nv,) velocity of the problem that each of MuJoCo's is."""
    rows: Index
    """(nefc,) row (t1, t2, n) of all contacts that each of MuJoCo's is."""
    v_guess: Array
    dt: float

    @classmethod
    def pose(cls, problem: ContactProblem, trees: Iterable[int], dense: bool) -> Program:
        """Make model and data.

        Parameters
        ----------
        problem
            The problem.
        trees
            Order in which the model lists the trees.
        dense
            Whether MuJoCo stores a dense Jacobian.

        Raises
        ------
        PeerError
            There is more than compliant contacts, or MuJoCo has no room.
        """
        contacts_alone(problem)
        forest = Forest.from_problem(problem)
        joints = list(_joints(problem, forest, trees))
        model = _model(problem, forest, joints)
        kind = mujoco.mjtJacobian
        model.opt.jacobian = kind.mjJAC_DENSE if dense else kind.mjJAC_SPARSE

        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        _add_contacts(model, data, problem, forest, joints)
        v_guess = problem.v_star if problem.v_guess is None else problem.v_guess
        columns = np.concatenate([np.zeros(0, dtype=np.intp), *joints])
        # rows (n, t1, t2) of each contact, or n alone
        frictional = problem.mu > 0.0
        rows = np.arange(3 * problem.n_contacts).reshape(-1, 3)[:, [2, 0, 1]]
        rows = rows[np.stack([np.ones_like(frictional), frictional, frictional], axis=1)]
        if data.nefc != len(rows):
            raise PeerError(f"MuJoCo made {data.nefc} rows instead of {len(rows)}")
        program = cls(model, data, columns, rows, np.array(v_guess), problem.dt)
        program._overwrite(problem)
        return program

    def velocity(self) -> Array:
        """v (nv,) of the problem at the acceleration in the data."""
        v = self.v_guess.copy()
        v[self.columns] += self.dt * self.data.qacc
        return v

    def impulses(self) -> Array:
        """Impulses (n_contacts, 3) of the forces in the data."""
        gamma = np.zeros(3 * len(self.data.contact.mu))
        gamma[self.rows] = self.dt * self.data.efc_force
        return gamma.reshape(-1, 3)

    def _overwrite(self, problem: ContactProblem) -> None:
        """Write the problem over what MuJoCo computed from the model."""
        model, data = self.model, self.data
        A, J = matrices(problem)

        # mass matrix: the lower triangle of each tree, row by row
        M = A[self.columns][:, self.columns]
        model.stat.meaninertia = M.diagonal().mean()
        lower = sparse.csr_array(sparse.tril(M))
        _fill(data.M, model.M_rownnz, model.M_rowadr, model.M_colind, lower)
        mujoco.mj_factorM(model, data)

        # constraints
        rows = self.rows
        mine = J[rows][:, self.columns]
        if mujoco.mj_isSparse(model):
            _fill(data.efc_J.ravel(), data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind, mine)
        else:
            data.efc_J.reshape(mine.shape)[:] = mine.toarray()

        R = np.stack([problem.R_t, problem.R_t, problem.R_n], axis=1).ravel()[rows]
        data.efc_R[:] = R
        data.efc_D[:] = 1.0 / R
        data.efc_aref[:] = (bias(problem).ravel() - J @ self.v_guess)[rows] / self.dt
        data.contact.mu[:] = problem.mu * np.sqrt(problem.R_t / problem.R_n)
        data.contact.friction[:] = problem.mu[:, None]
        data.qacc_smooth[:] = (problem.v_star - self.v_guess)[self.columns] / self.dt
        data.qfrc_smooth[:] = M @ data.qacc_smooth


# ---- the model ---------------------------------------------------------------------------------


def _joints(problem: ContactProblem, forest: Forest, trees: Iterable[int]) -> Iterator[Index]:
    """Velocities of each joint, in the order of the model; six of them are a free joint."""
    for tree in trees:
        first, end = problem.tree_offsets[tree : tree + 2]
        if _is_free_body(problem, tree):
            yield np.arange(first, end)
            continue
        # depth first, as MuJoCo numbers bodies
        children: dict[int, list[int]] = {}
        for j in range(first, end):
            children.setdefault(int(forest.parent[j]), []).append(j)
        stack = children[WORLD][::-1]
        while stack:
            j = stack.pop()
            yield np.array([j], dtype=np.intp)
            stack += children.get(j, [])[::-1]


def _is_free_body(problem: ContactProblem, tree: int) -> bool:
    """Whether the tree is a body of diagonal mass matrix, of which MuJoCo stores the diagonal."""
    begin = int(np.square(problem.tree_nv[:tree].astype(np.intp)).sum())
    block = problem.A[begin : begin + 36]
    return bool(problem.tree_nv[tree] == 6 and np.count_nonzero(block) == 6)


def _model(problem: ContactProblem, forest: Forest, joints: Sequence[Index]) -> mujoco.MjModel:
    """A body with a geom for each joint, hung up as the forest says."""
    spec = mujoco.MjSpec()
    # room for contacts, sparse rows, and a factor that fills in completely
    spec.memory = 100_000_000 + 20_000 * problem.n_contacts + 64 * problem.nv**2
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    spec.option.gravity = [0.0, 0.0, 0.0]
    bodies = {WORLD: spec.worldbody}
    _add_geom(spec.worldbody)
    for joint in joints:
        first = int(joint[0])
        free = len(joint) > 1
        body = bodies[WORLD if free else int(forest.parent[first])].add_body()
        body.explicitinertial = True
        body.mass, body.inertia = 1.0, [1.0, 1.0, 1.0]
        # a hinge beside the centre of mass, or MuJoCo stores less than the full row of M
        body.ipos = [0.0, 0.0, 0.0] if free else [0.1, 0.2, 0.3]
        kind = mujoco.mjtJoint.mjJNT_FREE if free else mujoco.mjtJoint.mjJNT_HINGE
        body.add_joint(type=kind)
        _add_geom(body)
        bodies[first] = body
    return spec.compile()


def _add_geom(body: Any) -> None:
    """Add something that a contact can name but nothing collides with."""
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.01, 0.0, 0.0], contype=0, conaffinity=0
    )


def _add_contacts(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    problem: ContactProblem,
    forest: Forest,
    joints: Sequence[Index],
) -> None:
    """Contacts between the bodies that the forest names; a geom has the number of its body."""
    body = {WORLD: 0}
    for k, joint in enumerate(joints):
        body.update(dict.fromkeys(joint.tolist(), k + 1))
    for mu, ends in zip(problem.mu, forest.ends.tolist(), strict=True):
        contact = mujoco.MjContact()
        contact.dim = 3 if mu > 0.0 else 1
        contact.geom[:] = contact.geom1, contact.geom2 = body[ends[0]], body[ends[1]]
        contact.flex[:] = contact.elem[:] = contact.vert[:] = -1
        # any values that MuJoCo accepts: what follows from them is overwritten
        contact.dist = -1e-3
        contact.frame[:] = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
        contact.friction[:] = 1.0
        contact.solref[:] = [0.02, 1.0]
        contact.solimp[:] = [0.9, 0.95, 0.001, 0.5, 2.0]
        if mujoco.mj_addContact(model, data, contact):
            raise PeerError("MuJoCo has no room for all contacts")
    mujoco.mj_makeConstraint(model, data)


def _fill(
    values: Array,
    length: NDArray[np.int32],
    begin: NDArray[np.int32],
    column: NDArray[np.int32],
    matrix: sparse.csr_array,
) -> None:
    """Write a matrix into compressed rows of a pattern that covers it."""
    place = ranges(begin.astype(np.intp), begin.astype(np.intp) + length)
    row = np.repeat(np.arange(len(length)), length)
    values[place] = matrix[row, column.ravel()[place]]
    written = np.count_nonzero(values[place])
    if written != np.count_nonzero(matrix.data):
        raise PeerError(f"MuJoCo's pattern has room for {written} of {matrix.nnz} entries")
