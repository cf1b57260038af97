"""Times of complementarity problems and quadratic programs: contacts and dense ones."""

from __future__ import annotations

import numpy as np

import sapwood
from benchmarks import complementarity, peer_times, program_peers

# sizes of dense programs: variables from, to
DENSE = ((10, 40), (40, 70), (70, 100))


def draw_dense(rng: np.random.Generator, n: int) -> program_peers.Program:
    """A strictly convex program of n variables, equalities and n/2 to 2 n inequalities."""
    equalities, inequalities = int(rng.integers(0, n // 4)), int(rng.integers(n // 2, 2 * n))
    G, x_0 = rng.normal(size=(n, n)), rng.normal(size=n)
    A, C = rng.normal(size=(equalities, n)), rng.normal(size=(inequalities, n))
    slack = np.where(rng.random(inequalities) < 0.5, 0.0, rng.random(inequalities))
    return {
        "H": G @ G.T / n + 0.1 * np.eye(n), "g": n * rng.normal(size=n), "A": A, "b": A @ x_0,
        "C": C, "d": C @ x_0 - slack, "lower": np.full(n, -np.inf),
    }  # fmt: skip


def dense_speed(count: int) -> list[str]:
    """Lines of times of dense programs over the largest number of variables."""
    table = peer_times.Comparison("variables")
    peers = program_peers.installed()
    for least, most in DENSE:
        rng = np.random.default_rng(most)
        programs = [draw_dense(rng, int(n)) for n in rng.integers(least, most, count)]
        solutions = [sapwood.qp.solve(**p) for p in programs]
        table.ours(
            "dense", most, peer_times.seconds([lambda p=p: sapwood.qp.solve(**p) for p in programs])
        )
        for name in peers:
            times = peer_times.of_peer(name, programs, [s.objective for s in solutions])
            table.peer(f"dense {name}", most, times)
        starts = [
            lambda p=p, s=s: sapwood.qp.solve(**p, start=s)
            for p, s in zip(programs, solutions, strict=True)
        ]
        table.peer("dense from its own solution", most, peer_times.seconds(starts))
    return table.lines


def speed(count: int, sizes: tuple[int, ...]) -> list[str]:
    """Lines of times over the number of contacts."""
    table = peer_times.Comparison()
    peers = program_peers.installed()
    for n in sizes:
        rng = np.random.default_rng(n)
        contacts = [complementarity.draw(rng, "full rank", n) for _ in range(count)]
        for name, method, problem in (
            ("normal", "ppm", complementarity.normal),
            ("friction", "lemke", complementarity.friction),
        ):
            problems = [problem(c) for c in contacts]
            calls = [lambda p=p, m=method: sapwood.lcp.solve(*p, m) for p in problems]
            table.ours(f"{name} {method}", n, peer_times.seconds(calls))
            table.peer(f"{name} Siconos", n, peer_times.of_siconos(problems))
        programs = [complementarity.program(c) for c in contacts]
        solutions = [sapwood.qp.solve(**p) for p in programs]
        solves = [lambda p=p: sapwood.qp.solve(**p) for p in programs]
        table.ours("program", n, peer_times.seconds(solves))
        for name in peers:
            times = peer_times.of_peer(name, programs, [s.objective for s in solutions])
            table.peer(f"program {name}", n, times)
        starts = [
            lambda p=p, s=s: sapwood.qp.solve(**p, start=s)
            for p, s in zip(programs, solutions, strict=True)
        ]
        table.peer("program from its own solution", n, peer_times.seconds(starts))
    return table.lines
