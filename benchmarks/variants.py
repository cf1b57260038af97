"""Newton iterations of the printed algorithm, and of each piece that the defaults add to it.

Every problem is solved from its v_guess. Where islands are solved by themselves the iterations are
those of the island that took most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sapwood import SapSettings, SapSolver, Status, load_problem

TOLERANCE = 1e-6
LEAST_CONTACTS = 20
#: Algorithm 1 of the paper, in one precision and with an exact line search.
PRINTED = {
    "islands": False,
    "start": "newton",
    "turning": False,
    "mixed_precision": False,
    "line_search_tolerance": 1e-8,
}
#: Settings by the names of the table.
VARIANTS: dict[str, dict[str, Any]] = {
    "Algorithm 1": PRINTED,
    "stick start": PRINTED | {"start": "sticking"},
    "stick start, primal-dual friction": PRINTED | {"start": "sticking", "turning": True},
    "islands": PRINTED | {"islands": True},
    "islands, stick start": PRINTED | {"islands": True, "start": "sticking"},
    "default": {},
}


def run(files: Sequence[Path], progress: Callable[[str], None]) -> dict[str, list[int]]:
    """Iterations of each variant on each problem of at least `LEAST_CONTACTS` contacts."""
    found: dict[str, list[int]] = {name: [] for name in VARIANTS}
    for file in files:
        problem = load_problem(file)
        if len(problem.mu) >= LEAST_CONTACTS:
            for name, chosen in VARIANTS.items():
                settings = SapSettings(relative_tolerance=TOLERANCE, **chosen)
                solution = SapSolver(settings).solve(problem)
                if solution.status is not Status.converged:
                    raise ArithmeticError(f"{file.name}: {name}: {solution.status.name}")
                found[name].append(int(solution.iterations))
        progress(file.stem)
    return found


def table(found: dict[str, list[int]]) -> str:
    """A line per variant."""
    lines = [f"{'iterations, e_m <= 1e-6':36}problems    mean  geometric mean    most"]
    for name, counts in found.items():
        # an island that is solved at its guess takes no iteration
        mean = np.exp(np.log(np.maximum(counts, 1)).mean()) if counts else np.nan
        most = max(counts, default=0)
        lines.append(f"{name:36}{len(counts):8}{np.mean(counts):8.1f}{mean:16.1f}{most:8}")
    return "\n".join(lines)
