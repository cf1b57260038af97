"""Ctrl-C ends a solve that lasts, and leaves everything usable; other signals are let in."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.undisturbed

PREPARE = """
    import signal, sys, threading, time
    sys.path.insert(0, {support!r})
    import numpy as np
    import helpers, sapwood
    from sapwood import SapSettings, SapSolver

    signal.signal(signal.SIGINT, signal.default_int_handler)
    # minutes: a million steps are tried in each iteration
    ENDLESS = SapSettings(
        line_search="backtracking", armijo_rho=1.0 - 1e-9, line_search_max_trials=1_000_000
    )
    problem = helpers.random_problem(np.random.default_rng(0), sizes=(6,) * 40, contacts=200)
    many = helpers.random_problem(np.random.default_rng(1), sizes=(6,) * 400, contacts=300)
    answer = sapwood.solve(problem).v

    def interrupted(call):
        start = time.monotonic()
        try:
            print("ready", flush=True)
            call()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        assert time.monotonic() - start < 20
"""

LASTS = {
    "solve": """
        interrupted(lambda: sapwood.solve(problem, settings=ENDLESS))
        assert sapwood.solve(problem).status == 0
    """,
    "solver": """
        solver = SapSolver(ENDLESS)
        expected = solver.solve(problem, answer)
        interrupted(lambda: solver.solve(problem))
        assert solver.solve(problem, answer) == expected
    """,
    "threads": """
        solver = SapSolver(ENDLESS, threads=3)
        start = sapwood.solve(many).v
        expected = solver.solve(many, start)
        interrupted(lambda: solver.solve(many))
        assert solver.solve(many, start) == expected
    """,
    "batch": """
        interrupted(lambda: sapwood.solve_batch([problem] * 4, settings=ENDLESS, threads=1))
        assert sapwood.solve_batch([problem], threads=1)[0].status == 0
    """,
    "batch on threads": """
        interrupted(lambda: sapwood.solve_batch([problem] * 7, settings=ENDLESS, threads=3))
        assert [s.status for s in sapwood.solve_batch([problem] * 7, threads=3)] == [0] * 7
    """,
    "batch that waits": """
        call = lambda: sapwood.solve_batch(
            [problem] * 2, v_guesses=[answer, None], settings=ENDLESS, threads=2
        )
        interrupted(call)
        assert sapwood.solve_batch([problem] * 2, threads=2)[1].status == 0
    """,
    "handler that uses the solver": """
        solver, told = SapSolver(ENDLESS), []

        def handler(number, frame):
            try:
                solver.solve(problem, answer)
            except RuntimeError as error:
                told.append(str(error))
            sapwood.solve(problem)
            raise KeyboardInterrupt

        signal.signal(signal.SIGINT, handler)
        interrupted(lambda: solver.solve(problem))
        assert told == ["a signal handler must not use what was at work when the signal came"]
        assert solver.solve(problem, answer).status == 0
    """,
    "handler that returns": """
        came = []

        def handler(number, frame):
            came.append(number)
            signal.setitimer(signal.ITIMER_REAL, 0.5)

        signal.signal(signal.SIGINT, handler)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        interrupted(lambda: sapwood.solve(problem, settings=ENDLESS))
        assert came == [signal.SIGINT]
    """,
    "step": """
        import mujoco
        from sapwood.studies import scenes
        from sapwood.mujoco import Stepper

        model = scenes.clutter(8, seed=1).compile()
        data = mujoco.MjData(model)
        Stepper(model).run(data, 100)
        data.qvel -= 1.0  # into the floor
        stepper, before = Stepper(model, settings=ENDLESS, friction="convex"), data.time
        interrupted(lambda: stepper.step(data))
        assert data.time == before
        stepper = Stepper(model, settings=ENDLESS, friction="convex")
        interrupted(lambda: stepper.run(data, 10))
    """,
}


@contextlib.contextmanager
def started(code):
    """A process that has said that it is ready, and is killed behind the block."""
    support = str(Path(__file__).parents[1] / "support")
    text = textwrap.dedent(PREPARE.format(support=support)) + textwrap.dedent(code)
    line = [sys.executable, "-c", text]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()


def interrupt(process):
    """Send Ctrl-C to what is ready, and wait until it says that it was interrupted."""
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals between processes")
@pytest.mark.parametrize("name", LASTS)
def test_ctrl_c_ends_what_lasts(name):
    if name == "step":
        pytest.importorskip("mujoco")
    with started(LASTS[name]) as process:
        for _ in range(2 if name == "step" else 1):
            interrupt(process)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals between processes")
def test_signals_are_for_the_main_thread():
    """A solve in another thread goes on, and does not wait for the GIL again and again."""
    code = """
        done = []
        settings = SapSettings(
            line_search="backtracking", armijo_rho=1.0 - 1e-9, line_search_max_trials=20_000
        )
        work = lambda: done.append(sapwood.solve(problem, settings=settings))
        thread = threading.Thread(target=work)
        thread.start()
        interrupted(lambda: time.sleep(60))
        thread.join()
        assert done[0].iterations > 0
    """
    with started(code) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
