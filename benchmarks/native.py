"""The compiled part of the benchmarks: peaks of this core, phases of a solve, and gradients.

Built with CMake from the sources beside this file and the core of the checkout, at first use.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import machine
from sapwood import ContactProblem

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "benchmarks"
PHASES = ("law", "gradient", "assembly", "factorization", "solves", "direction", "trial")
"""The timed parts of :meth:`Native.phases`: ``gradient`` is an evaluation without the law,
``direction`` are the products with A and J and the step along a new direction."""

Array = NDArray[np.float64]
_LONG, _INT, _DOUBLE = ctypes.c_long, ctypes.c_int32, ctypes.c_double
_POINTER = ctypes.c_void_p

# struct island_work in csrc/work.h
_ISLAND_WORK = np.dtype(
    [("events", np.int32, 3), ("resident", np.float64), ("operations", np.float64, (6, 3))],
    align=True,
)


class BuildError(Exception):
    """The compiled part could not be built; the text is what the build said last."""


class Native:
    """Functions of the compiled part.

    Parameters
    ----------
    folder
        Where it is built, or lies built already.

    Raises
    ------
    BuildError
        There is no CMake, no compiler, or the sources do not compile.
    """

    def __init__(self, folder: Path = BUILD) -> None:
        library = ctypes.CDLL(str(_build(folder)))
        self._library = library
        for name, result, arguments in (
            ("multiply_add", _DOUBLE, [_LONG]),
            ("multiply_add_flops", _DOUBLE, []),
            ("roots", _DOUBLE, [_LONG]),
            ("roots_count", _DOUBLE, []),
            ("read", _DOUBLE, [_LONG, _POINTER, _LONG]),
            ("copy", _DOUBLE, [_LONG, _POINTER, _POINTER, _LONG]),
            ("triad", _DOUBLE, [_LONG, _POINTER, _POINTER, _POINTER, _LONG]),
            ("multiply", _DOUBLE, [_INT] * 4 + [_POINTER] * 3 + [_LONG]),
            ("factor", _DOUBLE, [_INT, _INT, _POINTER, _POINTER, _INT, _LONG]),
            ("instruction_set", ctypes.c_char_p, []),
            ("phase_count", ctypes.c_int, []),
            ("problem", _POINTER, [_INT, _INT] + [_POINTER] * 11),
            ("problem_release", None, [_POINTER]),
            ("phases", ctypes.c_int, [_POINTER, _POINTER, _INT, ctypes.c_int, _POINTER]),
            ("panels", _INT, [_POINTER, _INT, _POINTER, _POINTER]),
            ("work", ctypes.c_int, [_POINTER] * 2 + [_INT] + [_POINTER] * 2 + [_INT, _POINTER]),
            ("gradient", ctypes.c_int, [_POINTER] * 3 + [_INT, ctypes.c_int] + [_POINTER] * 2),
        ):
            function = getattr(library, f"benchmark_{name}")
            function.restype, function.argtypes = result, arguments
        self.instruction_set: str = library.benchmark_instruction_set().decode()
        if library.benchmark_phase_count() != len(PHASES):
            raise BuildError(f"{folder} was built from other sources: delete it")

    # ---- peaks ----------------------------------------------------------------------------------

    def multiply_add(self, rounds: int) -> tuple[float, float]:
        """Seconds and flops of a loop of independent multiply-adds."""
        flops = rounds * self._library.benchmark_multiply_add_flops()
        return self._library.benchmark_multiply_add(rounds), flops

    def roots(self, rounds: int) -> tuple[float, float]:
        """Seconds and number of square roots and divisions of a loop of both."""
        count = rounds * self._library.benchmark_roots_count()
        return self._library.benchmark_roots(rounds), count

    def read(self, size: int, rounds: int) -> tuple[float, float]:
        """Seconds and bytes of summing up an array of `size` bytes."""
        n = max(1, size // 8)
        a = np.ones(n)
        return self._library.benchmark_read(n, _at(a), rounds), 8.0 * n * rounds

    def copy(self, size: int, rounds: int) -> tuple[float, float]:
        """Seconds and bytes of copying within `size` bytes, both arrays together."""
        n = max(1, size // 16)
        a, b = np.ones(n), np.zeros(n)
        return self._library.benchmark_copy(n, _at(a), _at(b), rounds), 16.0 * n * rounds

    def triad(self, size: int, rounds: int) -> tuple[float, float]:
        """Seconds and bytes of a = b + s c within `size` bytes, the three arrays together."""
        n = max(1, size // 24)
        a, b, c = np.zeros(n), np.ones(n), np.ones(n)
        seconds = self._library.benchmark_triad(n, _at(a), _at(b), _at(c), rounds)
        return seconds, 24.0 * n * rounds

    def multiply(self, m: int, n: int, k: int, lower: bool, rounds: int) -> float:
        """Seconds of C (m, n) -= A (m, k) B (n, k)^T by our kernel."""
        # far from denormal numbers, however often it is repeated
        A, B, C = np.full(m * k, 1e-3), np.full(n * k, 1e-3), np.ones(m * n)
        return float(
            self._library.benchmark_multiply(m, n, k, lower, _at(A), _at(B), _at(C), rounds)
        )

    def factor(self, rows: int, cols: int, rounds: int, copy_only: bool = False) -> float:
        """Seconds of copying a panel (rows, cols), and of our Cholesky factorization of it."""
        P = np.full((cols, rows), 0.1)
        P[:, :cols] += np.eye(cols) * cols
        scratch = np.empty_like(P)
        return float(
            self._library.benchmark_factor(rows, cols, _at(P), _at(scratch), not copy_only, rounds)
        )

    # ---- phases ---------------------------------------------------------------------------------

    def phases(self, problem: ContactProblem, v: Array, n_islands: int, repeat: int) -> Array:
        """Seconds (n_islands, 7) of one of each of `PHASES` at the velocity v.

        Raises
        ------
        ValueError
            The problem has another number of islands, or cannot be factored at v.
        """
        seconds = np.zeros((n_islands, len(PHASES)))
        v = np.ascontiguousarray(v, dtype=np.float64)
        handle, _keep = self._problem(problem)
        try:
            status = self._library.benchmark_phases(handle, _at(v), n_islands, repeat, _at(seconds))
        finally:
            self._library.benchmark_problem_release(handle)
        if status != 0:
            raise ValueError(f"the phases of this problem cannot be timed (status {status})")
        return seconds

    def panels(self, problem: ContactProblem) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows below and columns (n, 2) of every panel of the Cholesky factor; its island (n,)."""
        most = len(problem.tree_nv)
        sizes, islands = np.zeros((most, 2), dtype=np.int32), np.zeros(most, dtype=np.int32)
        handle, _keep = self._problem(problem)
        try:
            n = self._library.benchmark_panels(handle, most, _at(sizes), _at(islands))
        finally:
            self._library.benchmark_problem_release(handle)
        return sizes[:n], islands[:n]

    # ---- work -----------------------------------------------------------------------------------

    def work(
        self,
        problem: ContactProblem,
        regions: NDArray[np.int8],
        island: NDArray[np.int32],
        trials: NDArray[np.int32],
        n_islands: int,
    ) -> tuple[NDArray[np.int32], Array, Array]:
        """Events (n_islands, 3), operations (n_islands, 6, 3) and resident bytes (n_islands,).

        See `benchmarks.work`; each record of a solve has its island and its trials.

        Raises
        ------
        ValueError
            The problem has another number of islands.
        """
        counted = np.zeros(n_islands, _ISLAND_WORK)
        regions = np.ascontiguousarray(regions, dtype=np.int8)
        island, trials = (np.ascontiguousarray(x, dtype=np.int32) for x in (island, trials))
        if np.any((island < 0) | (island >= n_islands)) or np.any(trials < 0):
            raise ValueError("the records are not those of a solve of this problem")
        handle, _keep = self._problem(problem)
        try:
            status = self._library.benchmark_work(
                handle, _at(regions), len(island), _at(island), _at(trials), n_islands, _at(counted)
            )
        finally:
            self._library.benchmark_problem_release(handle)
        if status != 0:
            raise ValueError(f"n_islands = {n_islands}: must be that of the problem")
        return counted["events"], counted["operations"], counted["resident"]

    # ---- derivatives ----------------------------------------------------------------------------

    def gradient(self, problem: ContactProblem, v: Array, v_bar: Array, repeat: int) -> Array:
        """Seconds (2,) of one gradient at the velocity v, and of the linearization before it.

        Raises
        ------
        ValueError
            The problem has no derivatives at v.
        """
        seconds = np.zeros(2)
        v, v_bar = (np.ascontiguousarray(x, dtype=np.float64) for x in (v, v_bar))
        handle, _keep = self._problem(problem)
        try:
            status = self._library.benchmark_gradient(
                handle, _at(v), _at(v_bar), len(v), repeat, _at(seconds[:1]), _at(seconds[1:])
            )
        finally:
            self._library.benchmark_problem_release(handle)
        if status != 0:
            raise ValueError(f"gradients of this problem cannot be timed (status {status})")
        return seconds

    def _problem(self, problem: ContactProblem) -> tuple[int, list[NDArray[np.generic] | None]]:
        """A problem of the core, and the arrays that it reads."""
        indices = {"tree_nv", "tree_a", "tree_b"}
        names = "tree_nv A v_star tree_a tree_b J mu R_t R_n v_hat_n v_hat_t".split()
        arrays: list[NDArray[np.generic] | None] = []
        for name in names:
            value = getattr(problem, name)
            dtype = np.int32 if name in indices else np.float64
            arrays.append(None if value is None else np.ascontiguousarray(value, dtype=dtype))
        handle = self._library.benchmark_problem(
            len(problem.tree_nv), problem.n_contacts, *map(_at, arrays)
        )
        if handle is None:
            raise MemoryError
        return handle, arrays


def _at(array: NDArray[np.generic] | None) -> int | None:
    return None if array is None else array.ctypes.data


def _build(folder: Path) -> Path:
    """Build what has changed and return the library."""
    environment = machine.build_environment()
    source = ROOT / "benchmarks" / "csrc"
    for command in (
        ["cmake", "-S", str(source), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release"],
        ["cmake", "--build", str(folder), "--parallel", "2"],
    ):
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
        except OSError as error:
            raise BuildError(f"cmake: {error}") from error
        if done.returncode != 0:
            last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
            raise BuildError(last)
    return folder / "benchmark.so"
