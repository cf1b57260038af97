"""The paper's set-up on the unactuated coordinates."""

import numpy as np
import pytest

from invdyn_systems import feet_on_flat_ground, legged, random_case
from sapwood.reference.invdyn.noslip import find_indices, noslip_problem, tangents
from sapwood.reference.invdyn.unactuated import Reduction, System


def reduced(case):
    a = case.arguments()
    return Reduction(
        System(
            a["M"], a["h"], a["v"], a["qdd_desired"], a["J_n"], a["J_t"], a["mu"], a["phi"],
            case.dt, case.actuated,
        )
    )  # fmt: skip


@pytest.fixture(params=["floating", "nothing actuated", "two bodies", "nothing unactuated"])
def case(request, rng):
    n_b, n_q = {
        "floating": (6, 9), "nothing actuated": (7, 0), "two bodies": (12, 5),
        "nothing unactuated": (0, 8),
    }[request.param]  # fmt: skip
    return random_case(rng, 3, n_b, n_q)


def test_constrained_inverse_inertia_is_that_of_the_base(case):
    r = reduced(case)
    M, m = case.M, len(case.M)
    P = np.eye(m)[case.actuated]
    inverse = np.linalg.inv(M)
    G = inverse @ P.T
    K = inverse - G @ np.linalg.solve(P @ G, G.T) if len(P) else inverse
    expected = np.zeros((m, m))
    expected[np.ix_(r.b, r.b)] = np.linalg.inv(r.A)
    scale = np.abs(inverse).max()
    assert np.allclose(K, expected, atol=1e-9 * scale)
    assert np.allclose(K @ M @ K, K, atol=1e-7 * scale)
    L = np.zeros((m, len(P)))
    L[r.b], L[r.q] = -np.linalg.solve(r.A, r.B), np.eye(len(P))
    assert np.allclose(K @ M @ L, 0.0, atol=1e-7 * scale)
    rows, whole = r.J_y.reshape(9, len(r.b)), case.J.reshape(9, m)
    assert np.allclose(rows @ rows.T, whole @ K @ whole.T)


def test_next_velocity_and_torques_obey_the_equations_of_motion(case, rng):
    r = reduced(case)
    z = rng.normal(size=(3, 3))
    v, motors = r.recover(z)
    m, q = len(case.M), len(case.actuated)
    # the whole saddle-point system of Eqs. (37), (38) with the sign of P^T tau put right
    P = np.eye(m)[case.actuated]
    saddle = np.block([[case.M, -P.T], [P, np.zeros((q, q))]])
    right = np.concatenate(
        [
            case.M @ case.v - case.dt * case.h + np.einsum("cij,ci->j", case.J, z),
            case.v[case.actuated] + case.dt * case.qdd_desired,
        ]
    )
    expected = np.linalg.solve(saddle, right)
    assert np.allclose(np.concatenate([v, motors]), expected)
    offset, X = r.motor_map()
    assert np.allclose(motors, offset - np.einsum("cij,ci->j", X, z))


def rank(Q):
    return np.linalg.matrix_rank(Q, tol=1e-9 * max(1.0, np.abs(Q).max()))


def noslip_rank(rng, points, normals=None):
    return rank(noslip_problem(reduced(legged(rng, len(points), points=points, normals=normals))).Q)


def test_rank_of_normals_without_slip(rng):
    four = feet_on_flat_ground(4)
    uneven = four + [[0, 0, 0.02], [0, 0, 0.0], [0, 0, -0.03], [0, 0, 0.05]]
    tilted = rng.normal(size=(4, 3)) * [0.2, 0.2, 0] + [0, 0, 1]
    tilted /= np.linalg.norm(tilted, axis=1)[:, None]
    assert noslip_rank(rng, four) == 3
    assert noslip_rank(rng, four[:2]) == 2
    assert noslip_rank(rng, uneven) == 1
    assert noslip_rank(rng, four, tilted) == 0
    assert noslip_rank(rng, uneven, tilted) == 0
    # a box between four fingertips, two on each of two opposite faces
    tips = [[0.05, 0.01, 0.02], [0.05, -0.01, -0.01], [-0.05, 0.02, 0.0], [-0.05, -0.02, 0.01]]
    faces = [[-1.0, 0, 0]] * 2 + [[1.0, 0, 0]] * 2
    assert noslip_rank(rng, np.array(tips), faces) == 1


def test_span_of_tangents_is_what_found_indices_span(rng):
    r = reduced(legged(rng, 4))
    rows, _ = tangents(r)
    kept = find_indices(rows)
    assert list(kept) == [0, 1, 2]  # of eight rows: all load on the first contacts
    problem = noslip_problem(r)
    # Eq. (44) with those rows kept, K_X = M^-1 - M^-1 X^T (X M^-1 X^T)^-1 X M^-1
    case = r.system
    X = np.vstack([np.eye(len(case.M))[case.actuated], case.J_t.reshape(8, -1)[kept]])
    W = np.linalg.inv(case.M)
    K_X = W - W @ X.T @ np.linalg.solve(X @ W @ X.T, X @ W)
    assert np.allclose(case.J_n @ K_X @ case.J_n.T, problem.Q, atol=1e-8)
    given = np.concatenate([r.v_q, np.zeros(len(kept))])
    v = K_X @ r.c + W @ X.T @ np.linalg.solve(X @ W @ X.T, given)  # Eq. (45)
    assert np.allclose(case.J_n @ v + r.gap_rate, problem.r, atol=1e-8)
