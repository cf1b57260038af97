"""Threads: equal bits, released GIL; and scripts that need a process of their own."""

from __future__ import annotations

import copy
import importlib.util
import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import helpers
import sapwood
from sapwood import SapSettings, SapSolver

N_THREADS = 8
SETTINGS = SapSettings(record_history=True)


@pytest.fixture(scope="module")
def problems():
    files = [sapwood.load_problem(path) for path in helpers.small_paths()]
    return files + [helpers.random_problem(np.random.default_rng(seed)) for seed in range(6)]


@pytest.fixture(scope="module")
def serial(problems):
    return [SapSolver(SETTINGS).solve(problem) for problem in problems]


def run_in_threads(work):
    """Start work(thread) in all threads at the same time and give the results back."""
    barrier = threading.Barrier(N_THREADS)

    def start(thread):
        barrier.wait()
        return work(thread)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(start, range(N_THREADS)))


def shuffled(thread, n):
    """An order of its own for each thread, several times over."""
    return np.random.default_rng(thread).permutation(np.tile(np.arange(n), 5)).tolist()


@pytest.mark.parametrize("shared", [True, False], ids=["one-solver", "own-solvers"])
def test_threads_give_the_bits_of_a_serial_run(shared, problems, serial):
    common = SapSolver(SETTINGS)

    def work(thread):
        solver = common if shared else SapSolver(SETTINGS)
        order = shuffled(thread, len(problems))
        return [i for i in order if solver.solve(problems[i]) != serial[i]]

    assert run_in_threads(work) == [[]] * N_THREADS


def test_solvers_that_come_and_go_share_memory(problems, serial):
    """Memory of solvers that are gone serves the next ones, of any size, in any thread."""

    def work(thread):
        order = shuffled(thread, len(problems))
        return [i for i in order if sapwood.solve(problems[i], settings=SETTINGS) != serial[i]]

    assert run_in_threads(work) == [[]] * N_THREADS


def test_evaluations_share_a_solver_with_solves(problems, serial):
    solver = SapSolver(SETTINGS)
    expected = [SapSolver().evaluate(p, p.v_star) for p in problems]
    lines = [
        SapSolver().along_line(p, p.v_star, e.direction, 0.5)
        for p, e in zip(problems, expected, strict=True)
    ]

    def work(thread):
        wrong = []
        for i in shuffled(thread, len(problems)):
            problem, v = problems[i], problems[i].v_star
            if thread % 3 == 0:
                same = solver.solve(problem) == serial[i]
            elif thread % 3 == 1:
                same = solver.evaluate(problem, v) == expected[i]
            else:
                same = solver.along_line(problem, v, expected[i].direction, 0.5) == lines[i]
            if not same:
                wrong.append(i)
        return wrong

    assert run_in_threads(work) == [[]] * N_THREADS


# ---- threads of one solver -----------------------------------------------------------------------


def heaps(rng, n_heaps, rows, columns):
    """Free bodies in heaps on a floor."""
    tree_a, tree_b = [], []
    size = rows * columns
    for body in range(n_heaps * size):
        row, column = body % rows, body % size // rows
        others = [-1] if rng.random() < 0.7 else []
        others += [body - 1] if row > 0 else []
        others += [body - rows] if column > 0 else []
        tree_a += [body] * len(others)
        tree_b += others
    n, n_trees = len(tree_a), n_heaps * size
    A = np.stack([np.diag(rng.uniform(1, 2, 6)) for _ in range(n_trees)])
    sides = n + np.count_nonzero(np.array(tree_b) >= 0)
    return sapwood.ContactProblem(
        [6] * n_trees,
        A.ravel(),
        rng.uniform(-1, 1, 6 * n_trees),
        tree_a,
        tree_b,
        rng.uniform(-1, 1, 18 * sides),
        rng.uniform(0.2, 1, n),
        dt=0.01,
        R_t=rng.uniform(1e-5, 1e-4, n),
        R_n=rng.uniform(1e-3, 1e-2, n),
        v_hat_n=rng.uniform(-0.1, 0.5, n),
    )


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_threads_of_a_solver_change_no_bit(threads, problems, serial):
    solver = SapSolver(SETTINGS, threads=threads)
    assert [solver.solve(problem) for problem in problems] == serial


@pytest.mark.parametrize("path", helpers.all_files())
def test_threads_change_no_bit_on_problem_files(path):
    problem = sapwood.load_problem(path)
    expected = SapSolver(SETTINGS).solve(problem)
    solver = SapSolver(SETTINGS, threads=3)
    assert solver.solve(problem) == expected
    assert solver.solve(problem) == expected


@pytest.mark.parametrize("shape", [(7, 3, 20), (5, 7, 12), (150, 2, 1)])
def test_threads_change_no_bit_on_heaps(shape):
    problem = heaps(np.random.default_rng(shape), *shape)
    settings = SapSettings(record_history=True)
    expected = SapSolver(settings).solve(problem)
    assert expected.status == sapwood.Status.converged
    for threads in (2, 5):
        assert SapSolver(settings, threads=threads).solve(problem) == expected


@pytest.mark.parametrize(
    "remake", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_copies_have_as_many_threads(remake):
    solver = remake(SapSolver(SapSettings(soft_norm=1e-9), threads=3))
    assert solver.threads == 3
    assert solver.settings == SapSettings(soft_norm=1e-9)
    assert repr(solver) == "SapSolver(SapSettings(soft_norm=1e-09), threads=3)"


@pytest.mark.parametrize(
    ("threads", "error", "text"),
    [
        (0, ValueError, "threads = 0: must be from 1 to 256"),
        (257, ValueError, "threads = 257: must be from 1 to 256"),
        (2**40, ValueError, "threads = 1099511627776: does not fit in int32"),
        (True, TypeError, "threads must be an integer, not bool"),
        (2.0, TypeError, "threads must be an integer, not float"),
        (None, TypeError, "threads must be an integer, not NoneType"),
    ],
)
def test_wrong_number_of_threads(threads, error, text):
    with pytest.raises(error, match=f"^{text}$"):
        SapSolver(threads=threads)


def threads_of_this_process():
    return set(os.listdir("/proc/self/task"))


def test_threads_come_with_work_and_go_with_the_solver():
    # a thread that has ended, also one of another test, may be listed for a moment more
    before = threads_of_this_process()
    solver = SapSolver(threads=4)
    small = heaps(np.random.default_rng(0), 1, 2, 1)
    solver.solve(small)
    assert threads_of_this_process() <= before
    solver.solve(heaps(np.random.default_rng(0), 7, 3, 20))
    assert len(threads_of_this_process() - before) == 3
    del solver
    deadline = time.monotonic() + 60.0
    while not threads_of_this_process() <= before:
        assert time.monotonic() < deadline
        time.sleep(1e-3)


def test_a_forked_process_solves_with_threads_of_its_own():
    problem = heaps(np.random.default_rng(3), 7, 3, 20)
    solver = SapSolver(threads=3)
    expected = solver.solve(problem)
    pid = os.fork()
    if pid == 0:
        # nothing of pytest may run here
        code = 1
        try:
            code = int(solver.solve(problem) != expected or len(threads_of_this_process()) != 3)
            del solver
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert solver.solve(problem) == expected


# ---- the GIL -------------------------------------------------------------------------------------


def calls_without_gil(problem):
    """Calls into the core that should let other threads run, by name."""
    settings = SapSettings(relative_tolerance=0.0, absolute_tolerance=0.0, max_iterations=2)
    solver = SapSolver(settings)
    y = np.tile([[0.3, 0.4, 0.5]], (100_000, 1))
    names = ("tree_nv", "A", "v_star", "tree_a", "tree_b", "J", "mu", "dt", "sigma", "beta")
    arguments = {name: getattr(problem, name) for name in (*names, "delassus")}
    given = {name: getattr(problem, name) for name in ("R_t", "R_n", "v_hat_n")}
    zeros = np.zeros(problem.n_contacts)
    physical = {"phi0": zeros, "k": zeros + 1e5, "tau_d": zeros}
    return {
        "solve": lambda: solver.solve(problem),
        "evaluate": lambda: solver.evaluate(problem, problem.v_star),
        "along_line": lambda: solver.along_line(
            problem, problem.v_star, problem.v_star, np.ones(500)
        ),
        "project": lambda: sapwood._core.project(
            y, y[:, 0].copy(), y[:, 1].copy(), y[:, 2].copy(), 0.0
        ),
        "check": lambda: sapwood._core.Problem(**arguments, **given),
        "regularize": lambda: sapwood._core.Problem(**arguments, **physical),
    }


CALLS = ["solve", "evaluate", "along_line", "project", "check", "regularize"]


@pytest.fixture(scope="module")
def long_calls():
    problem = helpers.random_problem(np.random.default_rng(7), sizes=[256] * 9, contacts=100)
    return calls_without_gil(problem)


@pytest.mark.parametrize("name", CALLS)
def test_gil_is_released(name, long_calls):
    call = long_calls[name]
    interval = sys.getswitchinterval()
    other_ran = False
    # with this interval, nothing but a voluntary release lets the other thread run
    sys.setswitchinterval(1e3)
    try:
        for _ in range(300):
            go, ran = threading.Event(), threading.Event()

            def other(go=go, ran=ran):
                go.wait()
                ran.set()

            thread = threading.Thread(target=other)
            thread.start()
            go.set()
            assert not ran.is_set()
            call()
            other_ran = ran.is_set()
            thread.join()
            if other_ran:
                break
    finally:
        sys.setswitchinterval(interval)
    assert other_ran


def test_what_calls_share_serves_many_threads(rng):
    """Solvers, settings, threads of batches and answers that are made once, all at once."""
    problems = [helpers.random_problem(rng, (3, 6, 3)) for _ in range(6)]
    settings = [sapwood.SapSettings(friction=law) for law in ("convex", "coulomb")]
    expected = [[sapwood.solve(p, settings=s).v for p in problems] for s in settings]
    shared = [sapwood.solve(p, settings=settings[1]) for p in problems]
    start, wrong = threading.Barrier(8), []

    def work(k: int) -> None:
        start.wait()
        for round_ in range(40):
            law = (k + round_) % 2
            one = sapwood.solve(problems[round_ % 6], settings=settings[law])
            many = sapwood.solve_batch(problems, settings=settings[law], threads=1 + k % 3)
            found = [one.v, *(solution.v for solution in many)]
            right = [expected[law][round_ % 6], *expected[law]]
            if not all(map(np.array_equal, found, right)):
                wrong.append((k, round_))
            solution = shared[round_ % 6]
            if solution.timing is not solution.timing or not solution.algorithm:
                wrong.append((k, round_, "answers"))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# without a GIL NumPy itself hangs or crashes where allocations fail (3.13.5, NumPy 2.4.6)
needs_test_api = pytest.mark.skipif(
    importlib.util.find_spec("_testcapi") is None
    or not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="this Python comes without its tests, or without a GIL",
)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("leaks.py", marks=pytest.mark.slow),
        pytest.param("hostile_threads.py", marks=pytest.mark.slow),
        pytest.param("no_memory.py", marks=needs_test_api),
    ],
)
@pytest.mark.undisturbed
def test_script_in_its_own_process(script):
    path = Path(__file__).parents[1] / "isolated" / script
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
