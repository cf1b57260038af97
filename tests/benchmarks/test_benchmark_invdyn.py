"""The benchmark of inverse dynamics, quickly."""

from __future__ import annotations

import numpy as np

import sapwood
from benchmarks import complementarity, invdyn, invdyn_peers
from sapwood.invdyn import InverseDynamics


def test_rows_are_of_solved_problems(tmp_path):
    rows = invdyn.run([1, 4], 5, tmp_path / "invdyn.csv", lambda _: None)
    assert len(rows) == 2 * len(invdyn.CONTROLLERS)
    for row in rows:
        assert row.solved == row.samples
        assert 0.0 < row.median <= row.p99 <= row.most
    assert len(invdyn.table(rows).splitlines()) == len(rows) + 1


def made(name):
    return InverseDynamics(name, actuated=range(6, 18), dt=invdyn_peers.DT)


def test_others_are_given_what_controllers_solve():
    (instant,) = invdyn_peers.instants(5, 1)
    c = instant.contacts

    def base_after(z):
        """The base's velocity by impulses of edges, or by forces (n, 3) of a result."""
        rows = np.vstack([c.N, c.F])
        return c.v + c.K @ rows.T @ z

    one = sapwood.qp.solve(**instant.stage_one())
    np.testing.assert_allclose(
        base_after(one.x), instant.call(made("one_stage"))().v_plus[:6], atol=1e-8
    )
    two = sapwood.qp.solve(**instant.stage_two(one.x))
    assert two.solved
    motors = instant.system["M"][:6, 6:].T @ base_after(one.x) + invdyn_peers.DT * instant.h[6:]
    tau = (motors - instant.edges_of_motors.T @ two.x) / invdyn_peers.DT
    np.testing.assert_allclose(tau, instant.call(made("qp_coulomb"))().tau, atol=1e-4)
    normal = sapwood.lcp.solve(*instant.noslip(), "ppm")
    forces = instant.call(made("lcp_noslip"))().forces[:, 2]
    Q = instant.noslip()[0]
    np.testing.assert_allclose(Q @ normal.z, Q @ forces * invdyn_peers.DT, atol=1e-8)
    friction = sapwood.lcp.solve(*complementarity.friction(c))
    np.testing.assert_allclose(
        base_after(friction.z[:25]), instant.call(made("lcp_coulomb"))().v_plus[:6], atol=1e-7
    )
