"""Complementarity problems and quadratic programs: what is solved, how often not, and how fast.

Problems are files of a folder, and random contacts of a body in four classes. Beside ours: Siconos'
lexicographic Lemke, in a process of its own, and quadprog or DAQP where they are installed.
"""

from __future__ import annotations

import dataclasses
import importlib
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sapwood
from sapwood.studies.experiments.timing import no_garbage_collection

Problem = tuple[np.ndarray, np.ndarray]
KINDS = ("full rank", "rank deficient", "degenerate", "infeasible")
SICONOS = """
import sys, time
import numpy as np, siconos.numerics as sn
data = np.load(sys.argv[1])
times = []
for M, q in zip(data["M"], data["q"]):
    lcp, options = sn.LCP(M, q), sn.SolverOptions(sn.SICONOS_LCP_LEMKE)
    z, w = np.zeros_like(q), np.zeros_like(q)
    begin = time.perf_counter()
    code = sn.linearComplementarity_driver(lcp, z, w, options)
    times.append(time.perf_counter() - begin if code == 0 else np.nan)
np.save(sys.argv[2], times)
"""


@dataclasses.dataclass(frozen=True)
class Contacts:
    """Contacts of one body: rows in its base space."""

    N: np.ndarray
    F: np.ndarray
    K: np.ndarray
    mu: np.ndarray
    v: np.ndarray
    phi: np.ndarray


def draw(rng: np.random.Generator, kind: str, n: int) -> Contacts:
    """Random contacts of a class; see `KINDS`."""
    A = rng.normal(size=(6, 6))
    rank = 3 if kind == "rank deficient" else 6
    plane = rng.normal(size=(rank, 6)) if rank < 6 else np.eye(6)
    N, S, T = (rng.normal(size=(n, rank)) @ plane for _ in range(3))
    mu, v = rng.uniform(0.0, 1.0, n), rng.normal(size=6)
    phi = rng.uniform(0.0, 0.1, n)
    if kind == "degenerate":
        copies = rng.integers(n, size=n)
        N, S, T = N[copies], S[copies], T[copies]
        mu[rng.random(n) < 0.5], phi[rng.random(n) < 0.7] = 0.0, 0.0
        v *= rng.integers(2)
    if kind == "infeasible":
        N[1], phi[:2] = -N[0], -0.1
    return Contacts(N, np.vstack([S, T, -S, -T]), np.linalg.inv(A @ A.T + np.eye(6)), mu, v, phi)


def normal(c: Contacts) -> Problem:
    """Contact without friction."""
    return c.N @ c.K @ c.N.T, c.N @ c.v + c.phi


def friction(c: Contacts) -> Problem:
    """Contact with pyramids of four edges, (f_N, f_F, lambda)."""
    n, E = len(c.N), np.vstack([np.eye(len(c.N))] * 4)
    rows = np.vstack([c.N, c.F])
    M = np.zeros((6 * n, 6 * n))
    M[: 5 * n, : 5 * n] = rows @ c.K @ rows.T
    M[n : 5 * n, 5 * n :], M[5 * n :, n : 5 * n], M[5 * n :, :n] = E, -E.T, np.diag(c.mu)
    return M, np.concatenate([rows @ c.v + np.r_[c.phi, np.zeros(4 * n)], np.zeros(n)])


def program(c: Contacts) -> dict[str, Any]:
    """The same, convex: impulses z >= 0 (5 n), pyramids and normal velocities as rows."""
    n, rows = len(c.N), np.vstack([c.N, c.F])
    cone = np.hstack([np.diag(c.mu), -np.hstack([np.eye(n)] * 4)])
    velocity = c.N @ c.K @ rows.T
    C, d = np.vstack([cone, velocity]), np.concatenate([np.zeros(n), -c.N @ c.v - c.phi])
    return {"H": rows @ c.K @ rows.T, "g": rows @ c.v, "C": C, "d": d, "lower": np.zeros(5 * n)}


def read(path: Path) -> Problem:
    """M and q of a file."""
    words = path.read_text(encoding="utf-8").split()
    n = int(words[0])
    numbers = np.array(words[6 : 6 + n * n + n], dtype=float)
    return numbers[: n * n].reshape(n, n), numbers[n * n :]


# ---- what is solved ----------------------------------------------------------------------------


def of_files(folder: Path) -> list[str]:
    """A line per file: how each method ends."""
    lines = [f"{'file':24} {'n':>3}  {'lemke':>22} {'ppm':>22}"]
    for path in sorted(folder.glob("*.dat")):
        M, q = read(path)
        ends = []
        for method in ("lemke", "ppm"):
            s = sapwood.lcp.solve(M, q, method)  # type: ignore[arg-type]
            ends.append(f"{s.status.name.lower()} {s.pivots:>3} {s.residual:.0e}")
        lines.append(f"{path.stem:24} {len(q):>3}  {ends[0]:>22} {ends[1]:>22}")
    return lines


def failure_rates(count: int) -> list[str]:
    """A line per class: how solves of so many random problems end."""
    lines = []
    for kind in KINDS:
        rng = np.random.default_rng(0)
        ends: dict[str, Counter[str]] = {"friction lemke": Counter()}
        for _ in range(count):
            contacts = draw(rng, kind, int(rng.integers(2, 11)))
            for method in ("lemke", "ppm"):
                s = sapwood.lcp.solve(*normal(contacts), method)  # type: ignore[arg-type]
                ends.setdefault(f"normal {method}", Counter())[s.status.name.lower()] += 1
            s = sapwood.lcp.solve(*friction(contacts))
            ends["friction lemke"][s.status.name.lower()] += 1
        for name, counter in sorted(ends.items()):
            found = ", ".join(f"{status} {n}" for status, n in counter.most_common())
            lines.append(f"{kind:16} {name:16} {found}")
    return lines


# ---- how fast ----------------------------------------------------------------------------------


def milliseconds(call: Callable[[Any], Any], problems: list[Any]) -> list[float]:
    """Time of each call, the least of three."""
    times = []
    with no_garbage_collection():
        for problem in problems:
            samples = []
            for _ in range(3):
                begin = time.perf_counter()
                call(problem)
                samples.append(time.perf_counter() - begin)
            times.append(1e3 * min(samples))
    return times


def summary(times: list[float]) -> str:
    """Median, 99th percentile and largest."""
    return (
        f"{statistics.median(times):8.3f} {float(np.percentile(times, 99)):8.3f} {max(times):8.3f}"
    )


def by_siconos(problems: list[Problem]) -> list[float] | str:
    """Milliseconds of Siconos on those that it solves, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.npz"), Path(folder, "found.npy")
        M, q = (np.array(arrays) for arrays in zip(*problems, strict=True))
        np.savez(given, M=M, q=q)
        try:
            subprocess.run(
                ["/usr/bin/python3", "-c", SICONOS, str(given), str(found)],
                check=True,
                capture_output=True,
                timeout=600,
            )
        except (OSError, subprocess.SubprocessError):
            return "Siconos is not installed for /usr/bin/python3 (apt install python3-siconos)"
        times = np.load(found)
    solved = times[np.isfinite(times)]
    return (1e3 * solved).tolist() or "solves none"


def quadprog_solve(p: dict[str, Any]) -> Any:
    """By Goldfarb and Idnani's method, which needs a definite H."""
    quadprog = importlib.import_module("quadprog")
    n = len(p["g"])
    rows = np.vstack([p["C"], np.eye(n)])
    return quadprog.solve_qp(p["H"] + 1e-8 * np.eye(n), -p["g"], rows.T, np.r_[p["d"], p["lower"]])


def daqp_solve(p: dict[str, Any]) -> Any:
    """By DAQP, a dual active-set method."""
    daqp = importlib.import_module("daqp")
    n, m = len(p["g"]), len(p["d"])
    upper, lower = np.full(n + m, 1e30), np.r_[p["lower"], p["d"]]
    return daqp.solve(
        p["H"], p["g"], p["C"], upper, lower, np.zeros(n + m, np.int32), eps_prox=1e-6
    )


def speed(count: int, sizes: tuple[int, ...]) -> list[str]:
    """Lines of times over the number of contacts."""
    lines = [f"{'ms':24} {'contacts':>8}   median      p99      max"]

    def add(name: str, n: int, times: list[float] | str) -> None:
        lines.append(f"{name:24} {n:>8} {times if isinstance(times, str) else summary(times)}")

    for n in sizes:
        rng = np.random.default_rng(n)
        contacts = [draw(rng, "full rank", n) for _ in range(count)]
        frictionless, pyramids = [normal(c) for c in contacts], [friction(c) for c in contacts]
        programs = [program(c) for c in contacts]
        add("normal ppm", n, milliseconds(lambda p: sapwood.lcp.solve(*p, "ppm"), frictionless))
        add("friction lemke", n, milliseconds(lambda p: sapwood.lcp.solve(*p), pyramids))
        add("friction Siconos", n, by_siconos(pyramids))
        add("program", n, milliseconds(lambda p: sapwood.qp.solve(**p), programs))
        for name, peer in (("quadprog", quadprog_solve), ("daqp", daqp_solve)):
            try:
                add(f"program {name}", n, milliseconds(peer, programs))
            except ImportError:
                add(f"program {name}", n, "is not installed")
            except ValueError as error:
                add(f"program {name}", n, f"fails: {error}")
    return lines
