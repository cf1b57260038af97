"""How fast complementarity problems and quadratic programs of random contacts are solved."""

from __future__ import annotations

import numpy as np

import sapwood
from benchmarks import complementarity, peer_times, program_peers


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
