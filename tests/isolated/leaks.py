"""Runs every kind of call many times: nothing may be left behind.

Three counts must stay: Python's own allocated blocks, references to the caller's arrays, and the
resident memory of the process (for memory outside Python: the core's and the arrays'). Exits with 1
and a line per leak.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import sapwood
import sapwood.invdyn
from sapwood.geometry import FieldShape, PressureField, contact_surfaces

WARM_UP, ROUNDS, CYCLES = 50, 10, 150
MOST_BLOCKS, MOST_MEMORY = 0.8 * CYCLES, 1_000_000

# the smallest piece outside of Python, the private indices of a problem, is 4.8 kB: a leak of the
# three that construct() makes is 2.2 MB a round
N_TREES = 400
TREES = np.full(N_TREES, 10, np.int32)
A = np.tile(np.eye(10).ravel(), N_TREES)
v_star = -np.ones(10 * N_TREES)
tree_a = np.arange(N_TREES, dtype=np.int32)
tree_b = np.full(N_TREES, -1, np.int32)
J = np.tile(np.eye(3, 10).ravel(), N_TREES)
mu = np.full(N_TREES, 0.5)
ARRAYS = {"tree_nv": TREES, "A": A, "v_star": v_star, "tree_a": tree_a, "tree_b": tree_b}
ARRAYS |= {"J": J, "mu": mu, "phi0": np.zeros(N_TREES), "k": np.full(N_TREES, 1e5)}
ARRAYS |= {"tau_d": np.zeros(N_TREES)}
PROBLEM = sapwood.ContactProblem(**ARRAYS, dt=0.01)
ROWS = {"J": np.tile(np.eye(1, 10).ravel(), N_TREES), "tree_a": tree_a, "tree_b": tree_b}
SPINS = {"spin_contact": tree_a, "spin_J": J, "spin_mu": np.full((N_TREES, 3), 1e-2)}
SETTINGS = sapwood.SapSettings(record_history=True)
SOLVER = sapwood.SapSolver(SETTINGS)
POSE = np.eye(4)
POSE[2, 3] = 0.03
FEW = dict(list(ARRAYS.items())[:7])


def refused(call: Callable[[], object]) -> None:
    """Run a call that must fail."""
    try:
        call()
    except (TypeError, ValueError):
        return
    raise AssertionError("a wrong argument was accepted")


def construct() -> None:
    """Problems in place, converted, and copied."""
    sapwood.ContactProblem(**ARRAYS, dt=0.01)
    converted = {name: array.astype(np.float32) for name, array in ARRAYS.items()}
    converted |= {name: ARRAYS[name].astype(np.int64) for name in ("tree_nv", "tree_a", "tree_b")}
    sapwood.ContactProblem(**converted, dt=0.01)
    pickle.loads(pickle.dumps(PROBLEM))


def construct_wrongly() -> None:
    """One wrong argument after the other, so that construction stops at every point."""
    for name, array in ARRAYS.items():
        refused(lambda name=name: sapwood.ContactProblem(**{**ARRAYS, name: "x"}, dt=0.01))
        short = array[:-1]
        refused(lambda n=name, s=short: sapwood.ContactProblem(**{**ARRAYS, n: s}, dt=0.01))
        wrong = array.astype(np.int64) if array.dtype == np.int32 else array.copy()
        wrong[-1] = 2**40 if array.dtype == np.int32 else np.nan
        refused(lambda n=name, w=wrong: sapwood.ContactProblem(**{**ARRAYS, n: w}, dt=0.01))
    refused(lambda: sapwood.ContactProblem(**ARRAYS, dt=-1.0))
    refused(lambda: sapwood.ContactProblem(**ARRAYS, dt=0.01, R_t=mu))
    refused(lambda: sapwood.ContactProblem(**FEW, dt=0.01, R_t=mu, R_n=mu, v_hat_n=-mu * np.nan))
    refused(
        lambda: sapwood.ContactProblem(**ARRAYS, dt=0.01, v_hat_t=np.full((N_TREES, 2), np.inf))
    )
    refused(lambda: sapwood.ContactProblem(**ARRAYS, dt=0.01, delassus="x"))
    refused(lambda: sapwood.ContactProblem(**{**ARRAYS, "mu": [[1.0], 2.0]}, dt=0.01))


def construct_groups() -> None:
    """Groups in flat and in dense form, from parameters and given, copied, and solved."""
    problem = with_groups(
        sapwood.JointLimits(**ROWS, phi0=0.0),
        sapwood.Bilaterals(**ROWS, size=1, R=mu, v_hat=mu),
        sapwood.Controllers(np.eye(4, 10 * N_TREES), Kp=1.0, Kd=1.0),
        sapwood.DryFrictions(**ROWS, f=1.0),
    )
    solution = SOLVER.solve(pickle.loads(pickle.dumps(problem)))
    pickle.loads(pickle.dumps(solution))
    sapwood.solve_batch([problem, PROBLEM], threads=2)


def construct_groups_wrongly() -> None:
    """Groups that are refused at every point, and arrays that turn wrong."""
    fine = sapwood.DryFrictions(**ROWS, f=1.0)
    refused(lambda: sapwood.DryFrictions(**ROWS, f="x"))
    refused(lambda: sapwood.Bilaterals(**ROWS, g=0.0, size=7))
    refused(lambda: with_groups(fine, 3))
    refused(lambda: with_groups(fine, sapwood.DryFrictions([[1.0]], f=1.0)))
    refused(lambda: with_groups(fine, sapwood.DryFrictions(mu, tree_a, f=1.0)))
    refused(lambda: with_groups(fine, sapwood.DryFrictions(**{**ROWS, "tree_a": -tree_a}, f=1.0)))
    refused(lambda: with_groups(fine, sapwood.Controllers(**ROWS, Kp=0.0, Kd=0.0)))
    refused(lambda: with_groups(fine, sapwood.DryFrictions(**{**ROWS, "J": 0 * ROWS["J"]}, f=1.0)))
    R = mu.copy()
    problem = with_groups(fine, sapwood.DryFrictions(**ROWS, R=R, v_hat=mu))
    R[3] = -1.0
    refused(lambda: SOLVER.solve(problem))
    refused(lambda: sapwood.clamp(mu, mu, 2.0, 1.0))
    sapwood.clamp(mu, mu, -1.0, 1.0)


def construct_spins() -> None:
    """Contacts that resist turning, and bounds: copied, solved, and refused at every point."""
    problem = sapwood.ContactProblem(**ARRAYS, **SPINS, dt=0.01, friction_bound=mu)
    solution = SOLVER.solve(pickle.loads(pickle.dumps(problem)))
    pickle.loads(pickle.dumps(solution))
    for name, array in SPINS.items():
        wrong = np.full_like(array, -1 if array.dtype == np.int32 else np.nan)
        for value in ("x", array[:-1], wrong, None):
            refused(lambda n=name, v=value: with_spins(**{n: v}))
    refused(lambda: with_spins(friction_bound=-mu))
    refused(lambda: with_spins(mu=0.0 * mu))


def with_spins(**changes: object) -> sapwood.ContactProblem:
    """The problem with contacts that resist turning."""
    return sapwood.ContactProblem(**{**ARRAYS, **SPINS, **changes}, dt=0.01)


def with_groups(*groups: object) -> sapwood.ContactProblem:
    """The problem with groups."""
    return sapwood.ContactProblem(**ARRAYS, dt=0.01, constraints=groups)


def solve() -> None:
    """Solves with a kept solver and with new ones."""
    SOLVER.solve(PROBLEM)
    SOLVER.solve(PROBLEM, v_star.tolist())
    sapwood.solve(PROBLEM, settings=SETTINGS)


def solve_wrongly() -> None:
    """Calls that are refused before, and by, the core."""
    refused(lambda: SOLVER.solve(PROBLEM, v_star[:-1]))
    refused(lambda: SOLVER.solve(PROBLEM, v_star * np.inf))
    refused(lambda: SOLVER.solve(None))
    broken = mu.copy()
    problem = sapwood.ContactProblem(**{**ARRAYS, "mu": broken}, dt=0.01)
    broken[3] = -1.0
    refused(lambda: SOLVER.solve(problem))
    refused(lambda: SOLVER.along_line(PROBLEM, v_star, v_star, "x"))
    refused(lambda: sapwood.SapSettings(line_search="x"))
    refused(lambda: sapwood.SapSettings(max_iterations=2**40))
    refused(lambda: sapwood._core.Solver(3))


def solve_many() -> None:
    """Batches on several threads, one of them with a wrong guess."""
    sapwood.solve_batch([PROBLEM] * 3, [None, v_star, None], SETTINGS, threads=2)
    refused(lambda: sapwood.solve_batch([PROBLEM] * 3, [None, v_star, v_star[:-1]], threads=2))


SMALL = sapwood.ContactProblem(
    [10], np.eye(10).ravel(), -np.ones(10), [0], [-1], np.eye(3, 10).ravel(), [0.5], dt=0.01,
    phi0=[0.0], k=[1e5], tau_d=[0.0],
)  # fmt: skip


G = np.random.default_rng(0).normal(size=(4, 60, 6))
LCPS = {"M": G @ G.transpose(0, 2, 1), "q": np.linspace(-1.0, 1.0, 240).reshape(4, 60)}
QPS = {"H": LCPS["M"], "g": LCPS["q"], "C": G.transpose(0, 2, 1), "d": np.full((4, 6), -1.0)}


def complementarity() -> None:
    """Problems and programs, one and many, from starts, and refused at every point."""
    M, q = LCPS["M"], LCPS["q"]
    first = sapwood.lcp.solve(M[0], q[0], "auto")
    sapwood.lcp.solve_batch(**LCPS, z0=np.tile(first.basis, (4, 1)), threads=2)
    programs = sapwood.qp.solve_batch(**QPS, lower=np.zeros((4, 60)), threads=2)
    sapwood.qp.solve_batch(**QPS, lower=np.zeros((4, 60)), start=programs, threads=2)
    sapwood.qp.solve(M[0], q[0], lower=0.0, start=sapwood.qp.solve(M[0], q[0], lower=0.0))
    refused(lambda: sapwood.lcp.solve(M[0], q[0], z0=[1.0]))
    for name, array in LCPS.items():
        for wrong in ("x", array[:, 1:], np.nan * array):
            refused(lambda n=name, w=wrong: sapwood.lcp.solve_batch(**{**LCPS, n: w}))
    for name, array in QPS.items():
        for wrong in ("x", array[:, 1:], np.nan * array):
            refused(lambda n=name, w=wrong: sapwood.qp.solve_batch(**{**QPS, n: w}))
    refused(lambda: sapwood.qp.solve(M[0, :2, :2], q[0, :2], start=programs[0]))


INVDYN = {
    "M": np.eye(18), "h": np.linspace(-1.0, 1.0, 18), "v": np.zeros(18),
    "qdd_desired": np.ones(12), "J_n": G[0, :20, :].repeat(3, axis=1),
    "J_t": G[1, :40].repeat(3, axis=1).reshape(20, 2, 18), "mu": np.full(20, 0.5),
}  # fmt: skip


def inverse_dynamics() -> None:
    """Every controller, made and called, and refused at every point."""
    for name in ("lcp_noslip", "lcp_coulomb", "qp_noslip", "qp_coulomb", "one_stage"):
        made = sapwood.invdyn.InverseDynamics(name, actuated=range(6, 18), dt=1e-3)
        made.solve(**INVDYN, phi=np.zeros(20), ids=range(20))
        for argument, array in INVDYN.items():
            for wrong in ("x", array[1:], np.nan * array):
                refused(lambda m=made, a=argument, w=wrong: m.solve(**{**INVDYN, a: w}))
        refused(lambda m=made: m.solve(**INVDYN, ids=[0.5]))
    refused(lambda: sapwood.invdyn.InverseDynamics(actuated=[0, 0], dt=1e-3))
    refused(lambda: sapwood.invdyn.InverseDynamics(actuated=[0], dt=-1.0))


def surfaces() -> None:
    """Shapes and surfaces of pressure fields, and what is refused of both."""
    soft = PressureField(1e5, resolution=0.02).sphere(0.05)
    floor = FieldShape.half_space()
    pairs = [(soft, POSE, soft, None), (soft, None, floor, POSE.tolist())]
    contact_surfaces(pairs)
    contact_surfaces(pairs, faces="triangles")
    pickle.loads(pickle.dumps(soft))
    refused(
        lambda: FieldShape.tetrahedra(soft.vertices, soft.cells[:, [1, 0, 2, 3]], soft.pressure)
    )
    refused(lambda: FieldShape.triangles(soft.vertices, [[0, 0, 1]]))
    refused(lambda: contact_surfaces([*pairs, (floor, None, floor, None)]))
    refused(lambda: contact_surfaces([*pairs, (soft, None, soft, 2 * POSE)]))
    refused(lambda: contact_surfaces([*pairs, (soft, "x", soft, None)]))


def evaluate() -> None:
    """The objective and the contact law."""
    SOLVER.evaluate(SMALL, np.zeros(10))
    SOLVER.along_line(PROBLEM, v_star, v_star, [0.0, 0.5, 1.0])
    y = np.ones((20_000, 3))
    sapwood.project(y, 0.5, 1.0, 1.0)
    sapwood.contact_cost(y, 0.5, 1.0, 1.0)
    refused(lambda: sapwood.project(y, -0.5, 1.0, 1.0))
    refused(lambda: sapwood.project(y, 0.5, 1.0, 1.0, "x"))


def resident() -> int:
    """Bytes of memory the process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def growth(scenario: Callable[[], object]) -> tuple[int, int]:
    """Blocks and bytes that a round of the scenario leaves behind."""
    gc.collect()
    blocks, memory = sys.getallocatedblocks(), resident()
    for _ in range(CYCLES):
        scenario()
    gc.collect()
    return sys.getallocatedblocks() - blocks, resident() - memory


def leaks_of(scenario: Callable[[], object]) -> list[str]:
    """The memory that many runs of the scenario leave behind."""
    for _ in range(WARM_UP):
        scenario()
    references = {name: sys.getrefcount(array) for name, array in ARRAYS.items()}
    # a leak shows in every round, a cache or a heap that fills up does not
    blocks = memory = sys.maxsize
    for _ in range(ROUNDS):
        more_blocks, more_memory = growth(scenario)
        blocks, memory = min(blocks, more_blocks), min(memory, more_memory)
        if blocks < MOST_BLOCKS and memory < MOST_MEMORY:
            break
    found = []
    if blocks >= MOST_BLOCKS:
        found.append(f"{scenario.__name__}: {blocks} blocks in {CYCLES} cycles")
    if memory >= MOST_MEMORY:
        found.append(f"{scenario.__name__}: {memory} bytes in {CYCLES} cycles")
    for name, array in ARRAYS.items():
        extra = sys.getrefcount(array) - references[name]
        if extra != 0:
            found.append(f"{scenario.__name__}: {extra} references to {name}")
    return found


def leak_on_purpose(kept: list[object] = []) -> None:  # noqa: B006
    """Keep one array per cycle, to see that the counts see it."""
    kept.append(np.ones_like(A))


def main() -> int:
    """Run all scenarios."""
    scenarios = [construct, construct_wrongly, construct_groups, construct_groups_wrongly]
    scenarios += [construct_spins, solve, solve_wrongly, solve_many, evaluate]
    scenarios += [complementarity, inverse_dynamics, surfaces]
    found = [line for scenario in scenarios for line in leaks_of(scenario)]
    if len(leaks_of(leak_on_purpose)) < 2:
        found.append("the counts did not see a leak on purpose")
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
