"""Inverse dynamics beside other solvers on the same programs and complementarity problems.

What a controller solves for a standing quadruped is written out for the others: Stages I and II as
quadratic programs in normal forces and four edges of friction for each contact, complementarity
problems with and without slip as such. Others are given the matrices, and so are `sapwood.lcp` and
`sapwood.qp`; the times of controllers are those of a whole call from Python, the reduction to these
problems with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

import sapwood
from benchmarks import complementarity, peer_times, program_peers
from sapwood.invdyn import InverseDynamics, InverseDynamicsResult
from sapwood.studies.experiments.invdyn_times import CONTROLLERS, quadruped

Array = NDArray[np.float64]

DT = 1e-3


@dataclasses.dataclass(frozen=True)
class Instant:
    """One instant of the robot at rest, which is to stay so: arrays, and contacts in base space."""

    system: dict[str, Array]
    h: Array
    contacts: complementarity.Contacts
    edges_of_motors: Array  # (5 n, 12)

    def call(
        self, controller: InverseDynamics, ids: NDArray[np.intp] | None = None
    ) -> Callable[[], InverseDynamicsResult]:
        """A call of the controller, by names of contacts where there are."""
        s = self.system
        return lambda: controller.solve(
            s["M"], self.h, np.zeros(18), np.zeros(12), s["J_n"], s["J_t"], s["mu"], ids=ids
        )

    def stage_one(self) -> program_peers.Program:
        """Contact-consistent Stage I: impulses z >= 0 in pyramids."""
        program = complementarity.program(self.contacts)
        n = len(self.contacts.N)
        return program | {"C": program["C"][:n], "d": program["d"][:n]}

    def stage_two(self, z: Array) -> program_peers.Program:
        """Least motor impulses among those that move the base as z does."""
        first, c = self.stage_one(), self.contacts
        rows = np.vstack([c.N, c.F])
        motors = self.system["M"][:6, 6:].T @ (c.v + c.K @ rows.T @ z) + DT * self.h[6:]
        H = self.edges_of_motors @ self.edges_of_motors.T
        return first | {"H": H, "g": -self.edges_of_motors @ motors, "A": rows.T, "b": rows.T @ z}

    def noslip(self) -> complementarity.Problem:
        """Normal impulses of contacts that hold: Q = N P N^T, P beside the span of tangents."""
        c = self.contacts
        T = c.F[: len(c.F) // 2]
        held = c.K @ T.T @ np.linalg.pinv(T @ c.K @ T.T, rcond=1e-10) @ T
        return c.N @ (c.K - held @ c.K) @ c.N.T, c.N @ (c.v - held @ c.v)


def instants(n: int, samples: int) -> list[Instant]:
    """The robot on `n` points, with bias forces that vary."""
    rng = np.random.default_rng(n)
    system = quadruped(n, rng)
    S, T = system["J_t"][:, 0], system["J_t"][:, 1]
    F = np.vstack([S, T, -S, -T])
    motors = np.vstack([system["J_n"], F])[:, 6:]
    K = np.linalg.inv(system["M"][:6, :6])
    found = []
    for _ in range(samples):
        h = system["h"] * (1.0 + 0.05 * rng.normal(size=18))
        contacts = complementarity.Contacts(
            system["J_n"][:, :6], F[:, :6], K, system["mu"], -DT * K @ h[:6], np.zeros(n)
        )
        found.append(Instant(system, h, contacts, motors))
    return found


def _two_stages(name: str, at: list[Instant]) -> tuple[Array | str, Array | str]:
    """Times of a peer of Stage I, and of both."""
    ones = [instant.stage_one() for instant in at]
    solved = [sapwood.qp.solve(**program) for program in ones]
    twos = [instant.stage_two(s.x) for instant, s in zip(at, solved, strict=True)]
    first = peer_times.of_peer(name, ones, [s.objective for s in solved])
    objectives = [sapwood.qp.solve(**program).objective for program in twos]
    second = peer_times.of_peer(name, twos, objectives)
    if isinstance(first, str) or isinstance(second, str):
        return first, second
    both = min(len(first), len(second))
    return first, first[:both] + second[:both]


def _complementarity(
    table: peer_times.Comparison, n: int, problems: list[complementarity.Problem]
) -> None:
    """Times of solvers that are given matrices: ours too, so that like stands beside like."""
    solves = [lambda p=p: sapwood.lcp.solve(*p, "auto") for p in problems]
    table.peer("  its problem, sapwood.lcp", n, peer_times.seconds(solves))
    table.peer("  its problem, Siconos", n, peer_times.of_siconos(problems))


def compare(sizes: Sequence[int], samples: int) -> list[str]:
    """Lines of times over the number of contacts."""
    table = peer_times.Comparison()
    peers = program_peers.installed()

    def ours(name: str, n: int, at: list[Instant]) -> None:
        controller = InverseDynamics(name, actuated=range(6, 18), dt=DT)  # type: ignore[arg-type]
        table.ours(name, n, peer_times.seconds([instant.call(controller) for instant in at]))

    for n in sizes:
        at = instants(n, samples)
        stages = {name: _two_stages(name, at) for name in peers}
        ours("lcp_noslip", n, at)
        _complementarity(table, n, [i.noslip() for i in at])
        ours("lcp_coulomb", n, at)
        _complementarity(table, n, [complementarity.friction(i.contacts) for i in at])
        ours("one_stage", n, at)
        programs = [i.stage_one() for i in at]
        solves = [lambda p=p: sapwood.qp.solve(**p) for p in programs]
        table.peer("  its program, sapwood.qp", n, peer_times.seconds(solves))
        for name in peers:
            table.peer(f"  its program, {name}", n, stages[name][0])
        ours("qp_coulomb", n, at)
        for name in peers:
            table.peer(f"  its two programs, {name}", n, stages[name][1])
    return table.lines


def starts(sizes: Sequence[int], samples: int) -> list[str]:
    """Lines of mean pivots of a call, by the names of contacts of the last one and anew."""
    lines = [f"{'mean pivots':<14}{'contacts':>9}{'by names':>10}{'anew':>8}"]
    for n in sizes:
        at, names = instants(n, samples), np.arange(n)
        for name in CONTROLLERS:
            warm, cold = (InverseDynamics(name, actuated=range(6, 18), dt=DT) for _ in range(2))
            pivots = [(i.call(warm, names)().pivots, i.call(cold)().pivots) for i in at]
            by_names, anew = np.mean(pivots, axis=0)
            lines.append(f"{name:<14}{n:>9}{by_names:>10.1f}{anew:>8.1f}")
    return lines
