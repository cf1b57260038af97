"""MINDIFF: among all solutions of a complementarity problem, that next to a given point.

Solutions are the union of a polyhedron for each complementary basis: z_i free and w_i = 0, or the
other way round. The given point is projected on each (2^n of them), and the nearest one counts.
"""

from __future__ import annotations

import itertools

import numpy as np

import sapwood


def nearest_solution(M, q, z_given):
    """The solution z next to `z_given`, and its distance; None where there is no solution."""
    n = len(q)
    found = None
    for basis in itertools.product([False, True], repeat=n):
        b = np.array(basis)
        # z = 0 beside the basis, w = 0 in it
        projection = sapwood.qp.solve(
            np.eye(n), -np.asarray(z_given), A=M[b], b=-q[b], C=M[~b], d=-q[~b], lower=0.0,
            upper=np.where(b, np.inf, 0.0),
        )  # fmt: skip
        if not projection.solved:
            continue
        distance = float(np.linalg.norm(projection.x - z_given))
        if found is None or distance < found[1]:
            found = projection.x, distance
    return found
